"""The ledger's file does what Coq defines, whatever is asked of it and whenever its processes are killed.

Random histories of charges, releases, failures, withdrawals, refunds and reopenings, by several with the file open.
Every fourth operation is made by a process of its own, which is killed before or after one of its SQL statements. After
each operation the whole file is read and checked.
"""

import os
import random
import signal
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import pytest

from soundsum.budget import Budget, BudgetExceeded, Cost
from soundsum.budget.history import CannotFollow
from soundsum.budget.ledger import read
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import RefusedValue

from .oracle import ask, words

HISTORIES, LENGTH = 20, 40
LIMITS = {
    "epsilon": {"epsilon": 3},
    "epsilon and delta": {"epsilon": 3, "delta": Fraction(1, 1000)},
    "rho": {"rho": Fraction(1, 2)},
}
LETTERS = {"charged": "c", "released": "r", "failed": "f", "refunded": "b"}


@dataclass
class Ended:
    """How an operation ended: refused, killed before it was committed, or done."""

    refused: bool = False
    killed: bool = False
    committed: bool = True


def some_cost(rng):
    epsilon = rng.choice([None, 0, Fraction(rng.randint(0, 8), 8), Fraction(rng.randint(1, 9), rng.randint(1, 9))])
    rho = rng.choice([None, None, 0, Fraction(rng.randint(1, 6), 64), Fraction(1, rng.randint(3, 99))])
    if epsilon is None and rho is None:
        rho = Fraction(1, 50)
    delta = 0 if epsilon is None else rng.choice([0, 0, 0, Fraction(1, 10**4), Fraction(rng.randint(1, 9), 10**5)])
    return Cost(epsilon, delta, rho)


def some_operation(rng, lines):
    """On a line that is there, if there is any, most often one of the last."""
    kind = rng.choice(["pay", "pay", "pay", "settle", "fail", "withdraw", "refund", "reopen"])
    if kind == "pay":
        return kind, some_cost(rng)
    return kind, None if kind == "reopen" else rng.choice(
        [lines, max(lines - rng.randint(0, 5), 0), rng.randint(0, 40)]
    )


def perform(budget, kind, about):
    match kind:
        case "pay":
            budget.charge(about, "a release")
        case "reopen":
            budget.reopen()
        case _:
            getattr(budget, kind)(about)


def attempt(budget, kind, about):
    try:
        perform(budget, kind, about)
    except (BudgetExceeded, CannotFollow, RefusedValue):
        return Ended(refused=True, committed=False)
    return Ended()


class Watched(sqlite3.Connection):
    """Tells the parent when a line is committed, and is killed on the way."""

    left, when, wire, writes = 0, "before", 0, False

    def execute(self, sql, *parameters):
        cls = type(self)
        cls.left -= 1
        if cls.left == 0 and cls.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = super().execute(sql, *parameters)
        cls.writes = cls.writes or sql.startswith("INSERT INTO lines")
        is_written = sql == "COMMIT" and cls.writes
        if is_written:
            os.write(cls.wire, b"committed")
        if cls.left == 0 or (is_written and cls.when == "at once"):
            os.kill(os.getpid(), signal.SIGKILL)
        return result


def attempt_and_die(budget, kind, about, left, when):
    """The same in a process that is killed before or after so many statements, or at once when it has committed."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            Watched.left, Watched.when, Watched.wire = left, when, theirs
            sqlite3.connect = partial(sqlite3.connect, factory=Watched)
            code = 3 if attempt(budget, kind, about).refused else 0
        finally:
            os._exit(code)
    os.close(theirs)
    _, status = os.waitpid(child, 0)
    committed = os.read(ours, 16) == b"committed"
    os.close(ours)
    killed = os.WIFSIGNALED(status)
    assert killed or os.WEXITSTATUS(status) in (0, 3)
    return Ended(not killed and os.WEXITSTATUS(status) == 3, killed, committed)


def show(path):
    """Everything the file says, read from its first line to its last."""
    found = read(path)
    with sqlite3.connect(path) as db:
        ((lines,),) = db.execute("SELECT count(*) FROM lines")
    states = ",".join(f"{entry.number}{LETTERS[entry.state]}" for entry in found.entries)
    return f"{lines}:{found.failures}:{say(found.spent)}:{states}", lines, found.spent


def say(amounts):
    return ":".join("none" if x is None else words(Fraction(x)) for x in (amounts.epsilon, amounts.delta, amounts.rho))


def say_operation(kind, about):
    return "reopen" if kind == "reopen" else f"{kind}:{say(about) if kind == 'pay' else about}"


def live_through(path, rng, limit, most):
    """A history: its operations that were not lost with a process, what each left behind, and what had been spent."""
    Budget(path=path, max_failures=most, **limit)
    budgets = [Budget(path=path) for _ in range(3)]
    done, lines, spent, kills = [], 0, budgets[0].spent, {True: 0, False: 0}
    before, spends = show(path)[0], [spent]
    for _ in range(LENGTH):
        kind, about = some_operation(rng, lines)
        if rng.random() < 0.25:
            when = rng.choice(["before", "after", "at once", "at once"])
            left = 0 if when == "at once" else rng.randint(1, 24)
            ended = attempt_and_die(rng.choice(budgets), kind, about, left, when)
        else:
            ended = attempt(rng.choice(budgets), kind, about)
        after, lines, spent = show(path)
        if ended.killed:
            kills[ended.committed] += 1
        if ended.committed or ended.refused:
            done.append((say_operation(kind, about), "refused" if ended.refused else after))
        if not ended.committed:
            assert after == before  # whatever was killed or refused on the way has written nothing
        before = after
        spends.append(spent)
    return done, spends, kills


def implied(limit, spends):
    """The rho that each epsilon and delta implies, of those that are ever left."""
    if limit.rho is not None or not limit.delta:
        return "none"
    left = {(limit.epsilon - (spent.epsilon or 0), limit.delta - spent.delta) for spent in spends}
    found = [(e, d, zcdp_rho(e, d)) for e, d in left if e > 0 and d > 0]
    return ",".join(":".join(map(words, one)) for one in found) or "none"


@pytest.mark.parametrize("kind", LIMITS)
def test_a_history_of_the_file_is_as_defined(kind, tmp_path):
    rng, lines, stories, kills = random.Random(f"ledger {kind}"), [], [], {True: 0, False: 0}
    for i in range(HISTORIES):
        path, most = tmp_path / f"{i}.db", rng.choice([1, 1, 2, 5])
        done, spends, killed = live_through(path, rng, LIMITS[kind], most)
        limit = read(path).terms.limit
        lines.append(words("ledger", most, say(limit), implied(limit, spends), *(what for what, _ in done)))
        stories.append(done)
        kills = {committed: kills[committed] + killed[committed] for committed in kills}
    endings = {"refused": 0, "done": 0}
    for done, answer in zip(stories, ask(lines), strict=True):
        for (what, found), defined in zip(done, answer.split(), strict=True):
            assert found == defined, (what, done)
            endings["refused" if found == "refused" else "done"] += 1
    assert min(*endings.values(), *kills.values()) > HISTORIES  # each often enough
