"""A read that failed while the ledger could not be written: not written means closed."""

import multiprocessing
import sqlite3
import subprocess
import sys
import threading

import pytest

import soundsum as ss
from soundsum.budget import BudgetClosed, ledger, ledger_file
from soundsum.budget.ledger import read
from soundsum.refusals import Reason
from tests.refusing import refused


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.1)
    return tmp_path / "ledger.db"


class Locked:
    """Records whose reading finds the ledger locked by another connection, and ends well or not."""

    def __init__(self, path, fails):
        self.path, self.fails, self.holder = path, fails, None

    def records(self):
        self.holder = sqlite3.connect(self.path, isolation_level=None)
        self.holder.execute("BEGIN IMMEDIATE")
        if self.fails:
            raise OSError("disk")
        yield 1.0

    def release(self):
        self.holder.execute("ROLLBACK")
        self.holder.close()


def ask(records, budget):
    return ss.sum(records, 0, 1, 1, budget=budget)


def states(path):
    return [entry.state for entry in read(path).entries]


@pytest.mark.parametrize("fails", [True, False])
def test_what_could_not_be_written_closes_the_budget(path, fails):
    """Whether the failure or the release could not be noted: the analyst sees the same, and so does the next query."""
    budget, locked = ss.Budget(epsilon=9, path=path), Locked(path, fails)
    with pytest.raises(ss.ReadFailed):
        ask(locked.records(), budget)
    assert states(path) == ["charged"]
    assert budget.is_closed
    with pytest.raises(TimeoutError, match="nothing was charged"):
        ask([1.0], budget)
    locked.release()
    with refused("budget", Reason.CLOSED, BudgetClosed, failures=1):
        ask([1.0], budget)
    assert states(path) == ["failed"]
    budget.reopen()
    ask([1.0], budget)
    assert states(path) == ["failed", "released"]


def test_a_second_name_while_the_read_fails_closes_the_budget(path):
    """Whatever keeps the ledger from being written to, and whatever kind of error says so."""
    budget, other = ss.Budget(epsilon=9, path=path), path.with_name("backup.db")

    def records():
        other.hardlink_to(path)
        yield 1.0 / 0

    with pytest.raises(ss.ReadFailed):
        ask(records(), budget)
    with refused("path", Reason.UNSOUND, ValueError, names=2):
        ask([1.0], budget)
    other.unlink()
    with refused("budget", Reason.CLOSED, BudgetClosed, failures=1):
        ask([1.0], budget)
    assert states(path) == ["failed"]


def test_an_interrupt_while_the_failure_is_written_closes_the_budget(path, monkeypatch):
    budget = ss.Budget(epsilon=9, path=path)

    def interrupt(*line):
        monkeypatch.undo()
        raise KeyboardInterrupt

    def records():
        monkeypatch.setattr(ledger, "write_line", interrupt)
        yield 1.0 / 0

    with pytest.raises(KeyboardInterrupt):
        ask(records(), budget)
    assert budget.is_closed
    with refused("budget", Reason.CLOSED, BudgetClosed, failures=1):
        ask([1.0], budget)
    assert states(path) == ["failed"]


def test_every_budget_on_the_same_ledger_knows(path):
    locked = Locked(path, fails=True)
    with pytest.raises(ss.ReadFailed):
        ask(locked.records(), ss.Budget(epsilon=9, path=path))
    locked.release()
    (path.parent / "same.db").symlink_to(path)
    other = ss.Budget(path=path.parent / "same.db")
    assert other.is_closed
    with pytest.raises(BudgetClosed):
        ask([1.0], other)
    assert read(path).failures == 1


def test_failures_are_still_counted_one_by_one(path):
    budget, locked = ss.Budget(epsilon=9, path=path, max_failures=2), Locked(path, fails=True)
    with pytest.raises(ss.ReadFailed):
        ask(locked.records(), budget)
    assert not budget.is_closed
    locked.release()
    ask([1.0], budget)
    assert states(path) == ["failed", "released"]


def test_reopening_comes_after_what_was_not_written(path):
    """Otherwise the failure would be written after the owner has looked into it, and close the budget again."""
    budget, locked = ss.Budget(epsilon=9, path=path), Locked(path, fails=True)
    with pytest.raises(ss.ReadFailed):
        ask(locked.records(), budget)
    locked.release()
    budget.reopen()
    assert not budget.is_closed
    ask([1.0], budget)


def test_a_process_that_ends_writes_it_down(path):
    """Other processes learn of it: as soon as this one can write, or when it ends."""
    program = f"""
import sqlite3, soundsum as ss
from soundsum.budget import ledger_file
ledger_file.PATIENCE = 0.1
def records():
    global holder
    holder = sqlite3.connect({str(path)!r}, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield 1.0 / 0
try:
    ss.sum(records(), 0, 1, 1, budget=ss.Budget(epsilon=9, path={str(path)!r}))
except ss.ReadFailed:
    holder.close()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert states(path) == ["failed"]
    with pytest.raises(BudgetClosed):
        ask([1.0], ss.Budget(path=path))


def test_analysts_who_ask_at_the_same_time_do_not_close_it(path, monkeypatch):
    """A charge that is still being read for is no failure."""
    monkeypatch.setattr(ledger_file, "PATIENCE", 60)
    budget = ss.Budget(epsilon=9, path=path)
    number = budget.charge(ss.Cost(epsilon=1), "a read in progress")
    threads = [threading.Thread(target=ask, args=([1.0], budget)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(ask, ([1.0], ss.Budget(path=path)))
    budget.settle(number)
    assert states(path) == ["released"] * 6
