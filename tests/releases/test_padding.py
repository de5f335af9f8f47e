"""A padded table keeps its time whatever one record makes a reader do, and a late answer is a failed read."""

import contextlib
import gc
import io
import logging
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.budget import BudgetClosed
from soundsum.refusals import Reason
from soundsum.releases import pipeline
from soundsum.releases.child import sleep_until
from soundsum.releases.padding import TURN
from tests.refusing import refused
from tests.releases import odd_tables
from tests.releases.odd_tables import ROWS, Odd

LONG = 120
"""Seconds that a test waits for what a loaded machine does late; the reads themselves never end."""


def own(data, pad="1s", max_failures=1, **options):
    return ss.Private(data, budget=ss.Budget(epsilon=10**9, max_failures=max_failures), pad=pad, **options)


def insist(ask):
    """The answer to a query that can be answered in time, although a loaded machine may be late now and then."""
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        with contextlib.suppress(ss.ReadFailed):
            return ask()
    raise TimeoutError


MANY = 10**9


def states(owner):
    return [entry.state for entry in owner.budget.entries()]


def children(owner):
    return [child.number for child in owner._children._idle]


def is_running(number):
    """Whether there is such a process, other than one that nobody has waited for."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_until(condition):
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def flag(tmp_path):
    return tmp_path / "flag"


@pytest.mark.parametrize("where", ["while_opening", "while_reading"])
@pytest.mark.parametrize("what", ["sleep", "hold_everything", "crash", "fail", "panic"])
def test_a_read_that_does_not_end_well_has_failed(flag, where, what, capfd):
    owner = own(Odd(flag, **{where: getattr(odd_tables, what)}))
    assert len(children(owner)) == 1
    flag.touch()
    with pytest.raises(ss.ReadFailed) as failed:
        owner.sum("x", 0, 3, epsilon=1)
    assert failed.value.__cause__ is failed.value.__context__ is None
    assert states(owner) == ["failed"]
    assert owner.budget.spent.epsilon == 1
    with pytest.raises(BudgetClosed):
        owner.sum("x", 0, 3, epsilon=1)
    assert states(owner) == ["failed"]
    assert capfd.readouterr() == ("", "")


def test_an_answer_that_would_come_late_is_a_failure_that_is_counted():
    """So many groups are not encoded, named and sent within the pad, whatever the data."""
    owner = own(ROWS, pad="20ms")
    with pytest.raises(ss.ReadFailed):
        owner.sum("x", 0, 3, epsilon=1, by="g", groups=[f"g{place}" for place in range(600_000)])
    assert states(owner) == ["failed"]
    with pytest.raises(BudgetClosed):
        owner.count(1)


def test_an_answer_that_is_made_too_late_is_a_failure_that_is_counted(monkeypatch):
    """The noisy sums came in time, and what is made of them does not."""

    def release(*arguments):
        sleep_until(TURN.get().due + 0.01)
        return real(*arguments)

    real = pipeline._release
    monkeypatch.setattr(pipeline, "_release", release)
    owner = own(ROWS, pad="3s")
    with pytest.raises(ss.ReadFailed):
        owner.count(1)
    assert states(owner) == ["failed"]
    with pytest.raises(BudgetClosed):
        owner.count(1)


def test_the_decision_is_one():
    """Queries that take about as long as the pad: what the analyst gets is what the ledger says, each time."""
    owner = own(ROWS, pad="10ms", max_failures=MANY)
    got = []
    for _ in range(10):
        try:
            owner.sum("x", 0, 3, epsilon=1)
            got.append("released")
        except ss.ReadFailed:
            got.append("failed")
    assert states(owner) == got


def test_a_charge_comes_when_the_pad_says_however_long_the_table_takes_to_open(flag, monkeypatch):
    moments = []
    charge = ss.Budget.charge

    def note(budget, *arguments):
        moments.append(time.monotonic() - TURN.get().charge)
        return charge(budget, *arguments)

    monkeypatch.setattr(ss.Budget, "charge", note)
    owner = own(Odd(flag, while_opening=odd_tables.sleep), pad="2s", max_failures=MANY)
    insist(lambda: owner.count(1))
    flag.touch()
    with pytest.raises(ss.ReadFailed):
        owner.count(1)
    assert states(owner)[-1] == "failed"
    assert min(moments) >= 0


def test_a_child_that_was_killed_is_replaced(flag):
    owner = own(Odd(flag, while_reading=odd_tables.hold_everything), max_failures=MANY)
    (first,) = children(owner)
    flag.touch()
    with pytest.raises(ss.ReadFailed):
        owner.count(1)
    assert children(owner) == []
    flag.unlink()
    insist(lambda: owner.count(1))
    assert children(owner) != [first]
    assert states(owner)[0] == "failed"
    assert states(owner)[-1] == "released"
    wait_until(lambda: not is_running(first))


def test_a_child_that_dies_between_queries_is_replaced():
    owner = own(ROWS, max_failures=MANY)
    (first,) = children(owner)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not is_running(first))
    insist(lambda: owner.count(1))
    assert children(owner) != [first]


def test_a_child_ends_with_its_table():
    owner = own(ROWS)
    (child,) = children(owner)
    del owner
    gc.collect()
    wait_until(lambda: not is_running(child))


@pytest.mark.parametrize("what", ["sleep", "hold_everything"])
def test_the_interpreter_ends_in_peace_while_a_read_hangs(flag, what):
    """Also where another thread still waits for the answer."""
    program = f"""
    import sys, threading, pathlib
    import soundsum as ss
    from tests.releases import odd_tables
    flag = pathlib.Path({str(flag)!r})
    owner = ss.Private(
        odd_tables.Odd(flag, while_reading=odd_tables.{what}), budget=ss.Budget(epsilon=9, max_failures=9), pad="1s"
    )
    flag.touch()
    try:
        owner.count(1)
    except ss.ReadFailed:
        print("failed")
    thread = threading.Thread(target=owner.count, args=(1,), daemon=True)
    thread.start()
    while len(owner.budget.entries()) < 2:
        thread.join(0.01)
    """
    ended = run(program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "failed\n", "")


@pytest.mark.parametrize("what", ["sleep", "hold_everything"])
def test_no_child_outlives_its_parent(flag, what):
    """One that is killed cannot end its children."""
    program = f"""
    import os, pathlib, signal, threading
    import soundsum as ss
    from tests.releases import odd_tables
    flag = pathlib.Path({str(flag)!r})
    owner = ss.Private(
        odd_tables.Odd(flag, while_reading=odd_tables.{what}), budget=ss.Budget(epsilon=9), pad="3s"
    )
    print(owner._children._idle[0].number, flush=True)
    flag.touch()
    threading.Thread(target=owner.count, args=(1,), daemon=True).start()
    while not owner.budget.entries():
        pass
    os.kill(os.getpid(), signal.SIGKILL)
    """
    ended = run(program)
    assert ended.returncode == -signal.SIGKILL
    wait_until(lambda: not is_running(int(ended.stdout)))


def run(program):
    path = os.pathsep.join(sys.path)
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )


def test_ctrl_c_is_not_held_back(flag):
    """The charge stays, and the child is killed."""
    program = f"""
    import os, pathlib, signal, threading
    import soundsum as ss
    from tests.releases import odd_tables
    flag = pathlib.Path({str(flag)!r})
    owner = ss.Private(
        odd_tables.Odd(flag, while_reading=odd_tables.sleep), budget=ss.Budget(epsilon=9), pad="600s"
    )
    flag.touch()
    def interrupt():
        while not owner.budget.entries():
            pass
        os.kill(os.getpid(), signal.SIGINT)
    threading.Thread(target=interrupt).start()
    try:
        owner.count(1)
    except KeyboardInterrupt:
        print([entry.state for entry in owner.budget.entries()], owner._children._idle)
    """
    assert run(program).stdout == "['charged'] []\n"


def test_every_kind_of_table_is_sent_or_opened_again(tmp_path):
    plain = {"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]}
    pa.parquet.write_table(ROWS, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("x,g\n1,a\n2,b\n3,a\n")
    lazy = pl.scan_parquet(tmp_path / "t.parquet")
    arrays = {"x": np.array(plain["x"]), "g": np.array(plain["g"])}
    frames = (pd.DataFrame(plain), pl.DataFrame(plain), lazy, ROWS, plain, arrays)
    for data in (*frames, tmp_path / "t.parquet", str(tmp_path / "t.csv"), [tmp_path / "t.parquet"]):
        owner = own(data, max_failures=MANY)
        made = insist(lambda owner=owner: owner.sum("x", 0, 3, epsilon=10**6, by="g", groups=iter("ab")))
        values = {group: release.value for group, release in made.items()}
        assert values == pytest.approx({"a": 4, "b": 2}, abs=0.01)  # noise of scale 3e-6


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_that_read_files(tmp_path, engine):
    pa.parquet.write_table(ROWS, tmp_path / "t.parquet")
    owner = own(tmp_path / "t.parquet", max_failures=MANY, engine=engine)
    assert insist(lambda: owner.count(1)).epsilon == 1


def test_a_relative_path_is_the_owner_s(tmp_path, monkeypatch):
    pa.parquet.write_table(ROWS, tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    owner = own("t.parquet", max_failures=MANY)
    monkeypatch.chdir("/")
    (first,) = children(owner)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not is_running(first))
    assert insist(lambda: owner.count(1)).epsilon == 1


def test_what_no_other_process_can_read_is_refused():
    import duckdb

    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT 1.0 AS x")
    for data, options in (
        (connection, {"table": "t"}),
        (connection.sql("SELECT 1.0 AS x"), {}),
        ([threading.Lock()], {}),
        (Local(), {}),
    ):
        with pytest.raises(TypeError, match=r"process that reads a padded table.*; (give|define)"):
            own(data, **options)


class Local:
    """A table that pretends to be of a module that nobody can import."""

    columns = ROWS.column_names

    def __arrow_c_stream__(self, requested_schema=None):
        return ROWS.__arrow_c_stream__(requested_schema)

    def __reduce__(self):
        return pickle.loads, (b"cnowhere\nNothing\n.",)


def test_spark_is_refused(tmp_path):
    with refused("data", Reason.UNSUPPORTED, TypeError, kind="spark"):
        own(tmp_path / "t.parquet", engine="spark")


def test_a_query_that_cannot_be_sent_is_refused():
    owner = own(ROWS, max_failures=MANY)
    with refused(None, Reason.UNSUPPORTED, TypeError):
        owner.count(1, by="g", groups=["a", lambda: None])
    assert owner.budget.entries() == []
    assert insist(lambda: owner.count(1)).epsilon == 1


def test_refusals_say_what_they_say_without_a_pad(tmp_path):
    with refused("column", Reason.UNKNOWN, ValueError, names="it has x, g"):
        own(ROWS, privacy_unit="id")
    with pytest.raises(FileNotFoundError, match="no such file"):
        own(tmp_path / "t.csv")
    for pad in (None, "1s"):
        owner = own(ROWS, pad=pad, max_failures=MANY)
        for ask, error, words in (
            (lambda owner: owner.sum("g", 0, 1, epsilon=1), TypeError, "column 'g' is text, not numbers"),
            (lambda owner: owner.sum("y", 0, 1, epsilon=1), ValueError, "column 'y' is not in the table; it has x, g"),
            (lambda owner: owner.sum("y", epsilon=1), ValueError, "column 'y' is not in the table; it has x, g"),
            (lambda owner: owner.sum("x", epsilon=1), ValueError, "column 'x' has no bounds"),
            (lambda owner: owner.count(10**10), ss.BudgetExceeded, "the budget is exceeded"),
        ):
            with pytest.raises(error, match=words) as caught:
                insist(lambda ask=ask, owner=owner: ask(owner))
            assert caught.value.__cause__ is None
        assert "released" not in states(owner)


def test_what_went_wrong_is_in_the_operator_s_log(flag):
    log, text = logging.getLogger("soundsum.operator"), io.StringIO()
    handler = logging.StreamHandler(text)
    log.addHandler(handler)
    try:
        owner = own(Odd(flag, while_reading=odd_tables.fail))
        flag.touch()
        with pytest.raises(ss.ReadFailed) as failed:
            owner.count(1)
    finally:
        log.removeHandler(handler)
    assert "OSError: HIV positive" in text.getvalue()
    frames = []
    trace = failed.value.__traceback__
    while trace is not None:
        frames.append(repr(trace.tb_frame.f_locals))
        trace = trace.tb_next
    assert "HIV" not in "".join(frames)


def test_plans_and_sizes_come_from_the_child():
    budget = ss.Budget(epsilon=9, relation="change_one", max_failures=MANY)
    owner = ss.Private(ROWS, budget=budget, relation="change_one", pad="1s")
    assert insist(lambda: owner.plan("x", 0, 3)).sensitivity == 3
    assert insist(lambda: owner.plan("x", 0, 3, method="kahan")).problem.size == 3
    assert insist(lambda: owner.count(1)).value == 3
    with refused("size", Reason.MISMATCH, ValueError):
        insist(lambda: owner.release([ss.Sum("x", 0, 3, size=4)], epsilon="1/100"))
    assert states(owner)[-1] == "refunded"


def test_exact_totals_stay_in_the_child(monkeypatch):
    """What the parent receives is the noisy sums, and no number of rows where that is private."""
    from soundsum.releases.child import Child

    received, ask = [], Child.ask
    monkeypatch.setattr(
        Child,
        "ask",
        lambda self, *arguments, **options: received.append(ask(self, *arguments, **options)) or received[-1],
    )
    owner = own(ROWS, max_failures=MANY)
    made = insist(lambda: owner.sum("x", 0, 3, epsilon=1))
    assert received[-1] == ([[[*made.noisy]]], None)


def test_queries_at_the_same_time_are_all_answered():
    owner, got = own(ROWS, max_failures=MANY), []
    threads = [threading.Thread(target=lambda: got.append(insist(lambda: owner.count(1)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == states(owner).count("released") == 3


def test_a_fork_has_children_of_its_own(tmp_path):
    """Two processes that asked one child would get each other's answers."""
    owner = ss.Private(ROWS, budget=ss.Budget(epsilon=10**9, path=tmp_path / "l.db", max_failures=MANY), pad="1s")
    (before,) = children(owner)
    forked = os.fork()
    if forked == 0:
        with contextlib.suppress(BaseException):
            insist(lambda: owner.count(1))
            os._exit(int(children(owner) == [before]))
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert children(owner) == [before]
    insist(lambda: owner.count(1))
    assert states(owner).count("released") == 2


def test_a_private_table_is_still_not_pickled():
    with refused(None, Reason.UNSUPPORTED, TypeError):
        pickle.dumps(own(ROWS))


def test_a_long_record_in_an_error_delays_nothing(flag):
    """The operator's log gets the end of what a reader said, so that writing it takes no longer for one record."""
    from soundsum.releases.child_main import LONGEST

    text = io.StringIO()
    log, handler = logging.getLogger("soundsum.operator"), logging.StreamHandler(text)
    log.addHandler(handler)
    try:
        owner = own(Odd(flag, while_reading=odd_tables.fail_at_length))
        flag.touch()
        with pytest.raises(ss.ReadFailed):
            owner.count(1)
    finally:
        log.removeHandler(handler)
    assert text.getvalue().count("y") < LONGEST + 1_000


def test_the_traceback_of_a_refusal_has_no_data():
    with pytest.raises(TypeError) as refused:
        own({"x": ["HIV positive"], "y": [threading.Lock()]})
    trace, seen = refused.value.__traceback__, []
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith("child.py"):
            seen.append(repr(trace.tb_frame.f_locals))
        trace = trace.tb_next
    assert seen
    assert "HIV" not in "".join(seen)
