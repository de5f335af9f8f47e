"""Real processes on one ledger, raced and killed: more is never let out than was promised, nor anything uncharged."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from soundsum.budget import Budget, Cost

HERE = Path(__file__).parent


class Bank:
    """A ledger, the file its releases go to, and processes that spend."""

    def __init__(self, folder, epsilon):
        self.ledger, self.released = folder / "ledger.db", folder / "released.txt"
        self.budget = Budget(epsilon=epsilon, path=self.ledger)

    def spender(self, cost="1", hook=""):
        command = [sys.executable, HERE / "spender.py", self.ledger, self.released, cost, hook]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        return process

    def spend(self, *processes):
        """Let them all go at once; how each ended and what it said."""
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60)[0] for process in processes]
        return [process.returncode for process in processes], said

    def released_so_far(self):
        return len(self.released.read_text().splitlines()) if self.released.exists() else 0

    def charged(self):
        return len(Budget(path=self.ledger).entries())  # opening it checks that it adds up


@pytest.fixture
def bank(tmp_path):
    return Bank(tmp_path, epsilon=1)


def test_of_two_that_race_for_the_last_unit_one_wins(bank):
    codes, said = bank.spend(bank.spender(hook="slow"), bank.spender(hook="slow"))
    assert sorted(codes) == [0, 2]
    assert "asked for epsilon = 1, but epsilon = 0 is left of epsilon = 1" in "".join(said)
    assert bank.released_so_far() == bank.charged() == 1


@pytest.mark.parametrize(
    "hook, charged",
    [
        ("kill before BEGIN IMMEDIATE", 0),
        ("kill after BEGIN IMMEDIATE", 0),
        ("kill before INSERT INTO lines", 0),
        ("kill after INSERT INTO lines", 0),
        ("kill before COMMIT", 0),
        ("kill after COMMIT", 1),
        ("kill before sum", 1),
        ("kill before release", 1),
    ],
)
def test_killed_on_the_way_nothing_is_released_and_the_ledger_goes_on(bank, hook, charged):
    codes, _ = bank.spend(bank.spender(cost="1/2", hook=hook))
    assert codes == [-signal.SIGKILL]
    assert (bank.released_so_far(), bank.charged()) == (0, charged)
    codes, _ = bank.spend(bank.spender(cost="1/2"))
    assert codes == [0]
    assert (bank.released_so_far(), bank.charged()) == (1, charged + 1)
    assert bank.budget.left == Cost(epsilon=(1 - charged) / 2)


def test_many_processes_killed_at_random_never_let_out_more_than_the_budget(bank):
    command = [sys.executable, HERE / "hammer.py", bank.ledger, bank.released, "1/150", "4", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    kills = int(done.stdout)
    assert kills > 5  # how many there are depends on how busy the machine is
    assert bank.charged() == 150
    assert bank.budget.left == Cost(epsilon=0)
    assert 150 - kills <= bank.released_so_far() <= 150  # a kill loses one release at most


FORK = """
import os, sys
from soundsum.budget import Budget, Cost
def spend(budget):
    budget.charge(Cost(epsilon="1/4"), "a sum")
kept, memory = Budget(path=sys.argv[1]), Budget(epsilon=1)
if not os.fork():
    spend(kept)
    try: spend(memory)
    except TypeError as error: print(error, flush=True)
    os._exit(0)
os.wait()
spend(kept)
spend(memory)
"""


def test_a_budget_goes_with_a_fork_only_if_it_has_a_ledger(bank):
    done = subprocess.run([sys.executable, "-c", FORK, bank.ledger], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("could be spent twice; give the budget a path=\n")
    assert bank.charged() == 2
