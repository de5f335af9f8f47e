"""The ledger as a file: it outlives processes, threads share it, and what is wrong with it is said in one line."""

import contextlib
import copy
import errno
import json
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from rich.console import Console

import soundsum as ss
from soundsum.budget import Budget, BudgetExceeded, Cost, ledger_file
from soundsum.budget.ledger_tables import VERSION
from soundsum.budget.limit import Limit
from soundsum.cli.commands.budget_commands import ledger_table, ledger_to_json
from soundsum.refusals import Reason
from tests.refusing import refused


def spend(budget, cost, what="a sum"):
    return budget.charge(cost, what)


@pytest.fixture
def path(tmp_path):
    """A ledger with epsilon 1 promised and a quarter spent."""
    spend(Budget(epsilon=1, path=tmp_path / "ledger.db"), Cost(epsilon="1/4"))
    return tmp_path / "ledger.db"


def test_it_goes_on_where_it_was_left(path):
    for budget in (Budget(path=path), Budget(epsilon="1.0", path=str(path))):
        assert (budget.epsilon, budget.spent, budget.left) == (1, Cost(epsilon="1/4"), Cost(epsilon="3/4"))
        (entry,) = budget.entries()
        assert (entry.what, entry.cost) == ("a sum", Cost(epsilon="1/4"))
        assert timedelta(0) <= datetime.now(UTC) - entry.at < timedelta(minutes=5)


def test_every_kind_of_cost_comes_back_as_it_was(tmp_path):
    costs = [Cost("1/3"), Cost("0.1", "1e-7"), Cost("0.1", "1e-7", "1/300"), Cost(rho="1/1000"), Cost(0.001)]
    kept, memory = (Budget(2, "1e-6", path=path) for path in (tmp_path / "ledger.db", None))
    for cost in costs:
        spend(kept, cost)
        spend(memory, cost)
    again = Budget(path=tmp_path / "ledger.db")
    assert [entry.cost for entry in again.entries()] == [entry.cost for entry in memory.entries()] == costs
    assert (again.spent, again.left) == (memory.spent, memory.left)


ACTS = {
    "open": lambda budget: Budget(path=budget.path),
    "charge": lambda budget: spend(budget, Cost(epsilon="1/9")),
    "charge by rho": lambda budget: spend(budget, Cost(rho="1e-9")),
    "settle": lambda budget: budget.settle(spend(budget, Cost(epsilon="1/9"))),
    "fail": lambda budget: budget.fail(spend(budget, Cost(epsilon="1/9"))),
    "withdraw": lambda budget: budget.withdraw(spend(budget, Cost(rho="1e-9"))),
    "refund": lambda budget: refund_old(budget),
    "reopen": lambda budget: budget.reopen(),
    "look": lambda budget: (budget.left, budget.is_closed, budget.spent),
}


def refund_old(budget):
    """Of all that have failed, the first."""
    with contextlib.suppress(StopIteration):
        budget.refund(next(budget.failed))


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_nothing_takes_more_work_in_a_long_ledger(tmp_path, monkeypatch, act):
    """Counted in the steps of SQLite's machine: no line is looked at that need not be."""
    steps, connect = [0], sqlite3.connect

    def connect_and_count(*arguments, **options):
        db = connect(*arguments, **options)
        db.set_progress_handler(lambda: steps.append(steps.pop() + 1), 1)
        return db

    monkeypatch.setattr(ledger_file.sqlite3, "connect", connect_and_count)
    budget = Budget(epsilon=1000, delta="1e-6", path=tmp_path / "ledger.db", max_failures=10**6)
    failed = [spend(budget, Cost(epsilon="1/9")) for _ in range(4)]
    for number in failed:
        budget.fail(number)
    budget.failed = iter(failed)

    def count_steps(act):
        ACTS["settle"](budget)  # the last line is then of one kind
        steps[0] = 0
        act(budget)
        return steps[0]

    count_steps(act)
    first = count_steps(act)
    for other in list(ACTS.values()) * 5:
        if other is not ACTS["refund"]:
            other(budget)
    assert 0 < count_steps(act) < 1.1 * first


@pytest.mark.parametrize("kept", [False, True])
def test_threads_never_overspend(tmp_path, monkeypatch, kept):
    after = Limit.after

    def slow(*arguments):  # so that others run between a decision and what follows from it
        total = after(*arguments)
        time.sleep(0.001)
        return total

    monkeypatch.setattr(Limit, "after", slow)
    budget = Budget(epsilon=1, path=tmp_path / "ledger.db" if kept else None)
    together, won = threading.Barrier(8), []

    def work():
        together.wait()
        for _ in range(5):
            try:
                spend(budget, Cost(epsilon="1/20"))
                won.append(1)
            except BudgetExceeded:
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == len(budget.entries()) == 20
    assert budget.left == Cost(epsilon=0)


def test_of_many_that_start_a_ledger_one_does(tmp_path):
    def start(n):
        try:
            spend(Budget(epsilon=1 + n % 2, path=tmp_path / "ledger.db"), Cost(epsilon="1/100"))
        except ValueError as error:
            return error.reason

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(start, range(16)))
    assert said.count(None) == len(Budget(path=tmp_path / "ledger.db").entries()) == 8
    assert os.listdir(tmp_path) == ["ledger.db"]


def test_its_mode_is_that_of_other_new_files(tmp_path):
    before = os.umask(0)
    try:
        Budget(epsilon=1, path=tmp_path / "ledger.db")
    finally:
        os.umask(before)
    assert (tmp_path / "ledger.db").stat().st_mode & 0o777 == 0o666


def test_its_directory_is_synced_and_let_go(tmp_path, monkeypatch):
    """Otherwise a power cut could take the whole file away after a charge."""
    synced, fsync = {}, os.fsync

    def watched(file):
        synced[file] = os.fstat(file).st_ino
        fsync(file)

    monkeypatch.setattr(os, "fsync", watched)
    Budget(epsilon=1, path=tmp_path / "ledger.db")
    ((directory, inode),) = synced.items()
    assert inode == tmp_path.stat().st_ino
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(directory)


def test_where_files_cannot_be_linked_it_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(OSError, match=r"started at .*ledger\.db: Operation not permitted; give a path on a local disk"):
        Budget(epsilon=1, path=tmp_path / "ledger.db")
    assert os.listdir(tmp_path) == []


def test_another_total_is_an_error_that_names_both(path):
    own = "epsilon = 1"
    with refused("delta", Reason.MISMATCH, ValueError, path=str(path), own=own, asked="epsilon = 1, delta = 1e-06"):
        Budget(epsilon=1, delta="1e-6", path=path)
    with refused("rho", Reason.MISMATCH, ValueError, own=own, asked="rho = 1"):
        Budget(rho=1, path=path)
    with refused("epsilon", Reason.MISSING, ValueError):
        Budget(delta="1e-6", path=path)


def test_a_ledger_can_be_sent_and_memory_cannot(path):
    spend(pickle.loads(pickle.dumps(Budget(path=path))), Cost(epsilon="1/4"))
    assert Budget(path=path).left == Cost(epsilon="1/2")
    for way in (pickle.dumps, copy.deepcopy):
        with refused("path", Reason.MISSING, TypeError):
            way(Budget(epsilon=1))


def test_every_charge_is_synced_to_the_disk_and_its_directory(path, monkeypatch):
    seen = []

    class Watched(sqlite3.Connection):
        def execute(self, sql, *parameters):
            if sql == "COMMIT":
                pragmas = ("synchronous", "journal_mode")
                seen.append([super(Watched, self).execute(f"PRAGMA {p}").fetchone()[0] for p in pragmas])
            return super().execute(sql, *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Watched))
    spend(Budget(path=path), Cost(epsilon="1/4"))
    assert seen
    assert all(s == [3, "delete"] for s in seen)  # 3 is EXTRA


# What can be wrong with the file.


def is_refused(path, reason):
    """Opening, and reading, the ledger is refused, and the file stays as it is."""
    before = path.read_bytes() if path.is_file() else None
    for act in (lambda: Budget(path=path), lambda: Budget(epsilon=1, path=path), lambda: ledger_to_json(path)):
        with refused("path", reason, ValueError, path=str(path)) as caught:
            act()
        assert str(path) in str(caught.value)
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("content", [b"", b"epsilon,1\n" * 1000, bytes(8192)])
def test_a_file_that_is_no_ledger(tmp_path, content):
    (tmp_path / "data.csv").write_bytes(content)
    is_refused(tmp_path / "data.csv", Reason.UNREADABLE)


def test_a_directory(tmp_path):
    is_refused(tmp_path, Reason.UNREADABLE)


def test_somebody_else_s_database(tmp_path):
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE charges (x)")
    db.close()
    is_refused(tmp_path / "other.db", Reason.UNREADABLE)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE lines SET epsilon = '1/5'",
        "UPDATE lines SET total_epsilon = '0'",
        "UPDATE lines SET total_epsilon = 'none'",
        "UPDATE lines SET at = 'yesterday'",
        "UPDATE promise SET epsilon = '-1'",
        "UPDATE promise SET epsilon = NULL",
        "DELETE FROM promise",
        "DROP TABLE lines",
        "DROP TABLE promise",
    ],
)
def test_a_ledger_that_does_not_add_up(path, statement):
    with sqlite3.connect(path) as db:
        db.execute(statement)
    db.close()
    is_refused(path, Reason.UNREADABLE)


DAMAGES = {
    "cut after a page": lambda b: b[:4096],
    "cut within a page": lambda b: b[:5000],
    "overwritten": lambda b: b[:8192] + b"x" * 99 + b[8291:],
    "a page that says it has no rows": lambda b: b[:8195] + bytes(2) + b[8197:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_ledger(path, damage):
    path.write_bytes(damage(path.read_bytes()))
    is_refused(path, Reason.UNREADABLE)


def test_a_ledger_of_a_later_soundsum(path):
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA user_version = {VERSION + 1}")
    db.close()
    is_refused(path, Reason.UNSUPPORTED)


def test_a_locked_ledger(path, monkeypatch):
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.1)
    budget, holder = Budget(path=path), sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    for act in (lambda: Budget(path=path), lambda: Budget(epsilon=1, path=path), lambda: ledger_to_json(path)):
        with pytest.raises(
            TimeoutError, match=r"was locked by another process for 0\.1 seconds; nothing was"
        ) as caught:
            act()
        assert str(path) in str(caught.value)
    with pytest.raises(OSError, match="locked"):
        spend(budget, Cost(epsilon="1/4"))
    holder.execute("ROLLBACK")
    holder.execute("BEGIN IMMEDIATE")  # others may read now, not write
    assert ledger_to_json(path)["left"]["epsilon"] == "3/4"
    with pytest.raises(TimeoutError):
        spend(budget, Cost(epsilon="1/4"))
    holder.close()
    assert len(budget.entries()) == 1


def test_a_short_lock_is_waited_for(path):
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    timer = threading.Timer(0.3, holder.close)
    timer.start()
    spend(Budget(path=path), Cost(epsilon="1/4"))
    timer.join()
    assert Budget(path=path).left == Cost(epsilon="1/2")


def test_no_directory_and_no_ledger(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere is not a directory; make it first"):
        Budget(epsilon=1, path=tmp_path / "nowhere" / "ledger.db")
    with pytest.raises(FileNotFoundError, match=r"there is no ledger at .*; make one: soundsum budget create"):
        Budget(path=tmp_path / "ledger.db")
    with pytest.raises(FileNotFoundError, match="there is no ledger at"):
        ledger_to_json(tmp_path / "ledger.db")
    assert os.listdir(tmp_path) == []


def test_a_ledger_taken_away_is_not_started_again(path):
    budget = Budget(path=path)
    path.rename(path.with_name("elsewhere.db"))
    with pytest.raises(FileNotFoundError, match="there is no ledger"):
        spend(budget, Cost(epsilon="1/4"))
    assert not path.exists()
    assert len(Budget(path=path.with_name("elsewhere.db")).entries()) == 1


READ_ONLY = """
import os, sys
from soundsum.budget import Budget, Cost
from soundsum.budget.limit import Limit
from soundsum.cli.commands.budget_commands import ledger_to_json
path, started = sys.argv[1:]
budget = Budget(path=path)
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
def attempt(act):
    try: act()
    except OSError as error: print(type(error).__name__, error)
def spend():
    budget.charge(Cost(epsilon="1/4"), "a sum")
attempt(lambda: Budget(path=path))
attempt(spend)
attempt(lambda: Budget(epsilon=1, path=started))
print(ledger_to_json(path)["left"]["epsilon"])
"""


def test_a_read_only_ledger_is_shown_and_not_spent_from(path):
    """In a folder of its own: pytest's are for one user, and a second run of pytest makes them so again."""
    with tempfile.TemporaryDirectory() as folder:
        own = Path(shutil.copy(path, folder))
        own.chmod(0o444)
        os.chmod(folder, 0o555)
        command = [sys.executable, "-c", READ_ONLY, own, own.with_name("new.db")]
        done = subprocess.run(command, capture_output=True, text=True)
        os.chmod(folder, 0o755)
    assert done.returncode == 0, done.stderr
    opened, spent, started, left = done.stdout.splitlines()
    assert opened == spent
    assert opened.startswith("PermissionError")
    assert "cannot be written to; nothing was charged: make the file and its directory writable" in opened
    assert "a ledger cannot be started" in started
    assert "Permission denied; give a path on a local disk you may write to" in started
    assert left == "3/4"


# What people see.


ASKED = {
    "total": ss.Sum("pay", -1000, 2000, weight=2),
    "a; b, called c": ss.Mean("pay", Fraction(1, 3), 5),
    "n": ss.Count(),
    "ages": ss.Histogram("age", [0, 50, 100]),
}


@pytest.mark.parametrize(
    "options, rows",
    [
        ({}, ""),
        ({"where": [("age", ">=", 18), ("pay", "<", 5)]}, " where age >= 18 and pay < 5"),
        ({"by": "k", "groups": ["x"], "privacy_unit": "age", "max_rows": 1000}, " by k"),
        ({"by": ["k", "age"], "groups": [["x"], [30]], "where": [("k", "==", "x")]}, " by k, age, where k == 'x'"),
        ({"relation": "change_one", "missing": "zero"}, ""),
    ],
)
def test_a_charge_in_a_few_words(options, rows):
    table = {"pay": [1.0, 2.0], "age": [30, 40], "k": ["x", "y"]}
    whom = {"privacy_unit": "age"} if "privacy_unit" in options else {}
    budget = Budget(epsilon=9, **whom, relation=options.get("relation"))
    ss.release(table, ASKED, epsilon=1, budget=budget, **options)
    ss.sum(table, 1500, 2000, epsilon=1, column="pay", budget=budget, **options)
    several, one = budget.entries()
    names = "total: sum of pay; a; b, called c: mean of pay; n: count; ages: histogram of age"
    assert several.brief() == f"{names}{'; all' if rows else ''}{rows}"
    assert one.brief() == f"sum of pay{rows}"
    assert one.brief(with_source=True) == f"sum of pay from a dict{rows}"
    assert "protecting" not in budget._repr_html_()
    budget.charge(Cost(1), "a thing, protecting one record", budget.binding)
    assert budget.entries()[-1].brief() == "a thing, protecting one record"


def test_a_ledger_below_where_one_is_goes_by_its_short_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    budget = Budget(epsilon=1, path="ledger.db")
    assert "epsilon = 1 left in ledger.db;" in repr(budget)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert f"epsilon = 1 left in {tmp_path / 'ledger.db'};" in repr(budget)


def test_it_is_shown(tmp_path):
    path = tmp_path / "ledger.db"
    budget = Budget(epsilon=1, delta="1e-6", path=path)
    spend(budget, Cost(epsilon="1/3"), "sum of [red]pay[/red] <b>")
    assert repr(budget).startswith(
        "Budget(epsilon = 1, delta = 1e-06: 1 charge, epsilon = 2/3, delta = 1e-06, rho = 0.0"
    )
    html = budget._repr_html_()
    assert "sum of [red]pay[/red] &lt;b&gt;" in html
    assert html.count("<tr>") == 2
    console = Console(width=120, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(ledger_table(path))
    console.file.close()
    shown = console.export_text()
    assert "left of epsilon = 1, delta = 1e-06" in " ".join(shown.split())
    assert "sum of [red]pay[/red] <b>" in shown
    budget.settle(1)
    spend(budget, Cost(epsilon="1/3"), "sum of age")
    with (console := Console(width=120)).capture() as capture:
        console.print(ledger_table(path))
    rows = [line.split() for line in capture.get().splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == ["1", "3"]  # what is between is explained
    assert any(row and row[0] == "line" for row in rows)
    assert "Lines between these say what became of a charge." in capture.get()
    shown = json.loads(json.dumps(ledger_to_json(path)))
    assert shown["promised"] == {"epsilon": "1", "delta": "1/1000000", "rho": None}
    assert shown["spent"] == {"epsilon": "2/3", "delta": "0", "rho": None}
    assert shown["charges"][0]["what"] == "sum of [red]pay[/red] <b>"
    assert shown["path"] == str(path)


def test_text_that_is_no_unicode_is_refused_and_not_charged(path):
    budget = Budget(path=path)
    with pytest.raises(ValueError, match="surrogates"):
        spend(budget, Cost(epsilon="1/4"), "column \udcff")
    assert len(budget.entries()) == 1
