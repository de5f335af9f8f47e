"""Threads that charge at the same time share a transaction; each is told what became of its own charge."""

import os
import shutil
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from soundsum.budget import Budget, BudgetExceeded, Cost, ledger
from soundsum.budget.shared_transaction import SharedTransactions

MANY = 24


def count_transactions(path):
    """SQLite's own count of the transactions that changed a file."""
    return int.from_bytes(path.read_bytes()[24:28])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def charge_at_once(budget, path, costs):
    """Charge while somebody else holds the ledger, so that all of them wait; what each returned or raised."""

    def charge(cost):
        try:
            return budget.charge(Cost(cost), "a sum")
        except Exception as error:
            return error

    with sqlite3.connect(path, isolation_level=None) as other, ThreadPoolExecutor(len(costs)) as pool:
        other.execute("BEGIN EXCLUSIVE")
        asked = [pool.submit(charge, cost) for cost in costs]
        time.sleep(0.5)
        other.execute("ROLLBACK")
        told = [one.result() for one in asked]
    other.close()
    return told


def test_who_waits_together_is_charged_together(path):
    budget = Budget(epsilon=MANY, path=path)
    before = count_transactions(path)
    told = charge_at_once(budget, path, [1] * MANY)
    assert sorted(told) == list(range(1, MANY + 1))
    assert count_transactions(path) - before < MANY / 2
    assert ledger.read(path).spent.epsilon == MANY


def test_what_is_refused_leaves_the_others_charged(path):
    budget = Budget(epsilon=10, path=path)
    told = charge_at_once(budget, path, [1, 50] * 12)
    refused = [one for one in told if isinstance(one, BudgetExceeded)]
    assert all(isinstance(one, BudgetExceeded) for one in told[1::2])
    assert len(refused) == 14
    assert len({id(one) for one in refused}) == 14
    found = ledger.read(path)
    assert (found.spent.epsilon, len(found.entries)) == (10, 10)


def test_without_a_transaction_nobody_is_charged(path):
    budget = Budget(epsilon=MANY, path=path)
    older = path.with_name("older")
    shutil.copy(path, older)
    budget.charge(Cost(1), "a sum")
    path.rename(path.with_name("own"))
    shutil.copy(older, path)
    told = charge_at_once(budget, path, [1] * 8)
    assert all(isinstance(one, ValueError) for one in told)
    assert ledger.read(path).entries == []
    path.with_name("own").replace(path)
    assert budget.charge(Cost(1), "a sum") == 2


def carry_out_all(acts):
    for act in acts:
        act.outcome = act.do()


def test_a_fork_has_turns_of_its_own():
    shared = SharedTransactions(carry_out_all)
    shared._is_led = True  # by a thread, which the child does not have
    child = os.fork()
    if child == 0:
        signal.alarm(10)
        os._exit(shared.run(lambda: 7, True))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


class SlowlyMade(SharedTransactions):
    def __init__(self, transact):
        time.sleep(0.2)
        super().__init__(transact)


def test_threads_of_a_fork_take_turns_too():
    """Also if several come before one of them has been there."""
    inside, told = [], []

    def carry_out_alone(acts):
        inside.append(len(acts))
        time.sleep(0.5)
        told.append(len(inside))
        inside.pop()
        carry_out_all(acts)

    shared = SlowlyMade(carry_out_alone)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        threads = [threading.Thread(target=lambda: told.append(shared.run(lambda: 7, True))) for _ in range(3)]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        os._exit(sorted(told) != [1, 1, 7, 7, 7])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


class Interrupted(Exception):
    pass


def interrupt(*_):
    raise Interrupted


def test_who_gives_up_waiting_is_not_carried_out_and_the_others_are():
    first, carried_out = threading.Event(), []

    def wait_and_carry_out(acts):
        first.wait(10)
        carried_out.extend(act.do() for act in acts)

    def wait_for(count):
        while len(shared._waiting) < count or not shared._is_led:
            time.sleep(0.01)

    shared = SharedTransactions(wait_and_carry_out)
    with ThreadPoolExecutor(3) as pool:
        leads = pool.submit(shared.run, lambda: "a", True)
        wait_for(0)
        before = signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        later = pool.submit(lambda: (wait_for(1), shared.run(lambda: "b", True)))
        with pytest.raises(Interrupted):
            shared.run(lambda: "never", True)
        signal.signal(signal.SIGALRM, before)
        first.set()
        leads.result(10)
        later.result(10)
    assert carried_out == ["a", "b"]
