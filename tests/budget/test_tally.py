"""What each line of a budget says is spent is what all charges that stand amount to, whatever became of the others."""

import sqlite3
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from soundsum.budget import Budget, Cost, ledger_tables
from soundsum.budget.history import OUTCOMES, History
from soundsum.budget.ledger import read
from soundsum.budget.limit import Limit
from soundsum.cli import app
from soundsum.privacy.cost import LONGEST
from soundsum.refusals import Reason, RefusedValue
from tests.refusing import refused

LIMITS = [{"epsilon": 3}, {"epsilon": 2, "delta": "1e-5"}, {"rho": "1/5"}]
COSTS = [
    Cost("1/3"),
    Cost("1/70"),
    Cost(0),
    Cost("1/9", "1e-7"),
    Cost("1/20", "1e-7", "1/900"),
    Cost(1, "1e-6", 0),
    Cost(rho="1/1000"),
    Cost(rho=0),
    Cost("1/7", 0, "1/4"),
]
ACTS = st.one_of(
    st.tuples(st.just("charge"), st.sampled_from(COSTS)),
    st.tuples(st.sampled_from([*OUTCOMES, "reopen"]), st.integers(1, 12)),
)


class Replay:
    """The same from its definition: all charges that stand are gone through anew for every question."""

    def __init__(self, limit):
        self.limit = Limit.of(limit.get("epsilon"), limit.get("delta", 0), limit.get("rho"))
        self.charges, self.states, self.by_rho, self.failures = {}, {}, {}, 0

    @property
    def spent(self):
        standing = [number for number, state in self.states.items() if state != "refunded"]
        by_rho = [self.charges[number].zcdp or 0 for number in standing if self.by_rho[number]]
        others = [self.charges[number] for number in standing if not self.by_rho[number]]
        epsilon, delta = (sum(getattr(cost, name) or 0 for cost in others) for name in ("epsilon", "delta"))
        if self.limit.rho is not None:
            return Cost(rho=sum(by_rho))
        return Cost(epsilon, delta, sum(by_rho) if any(by_rho) else None)

    def charge(self, number, cost):
        in_block = self.spent.rho is not None
        self.charges[number], self.states[number] = cost, "charged"
        self.by_rho[number] = in_block or (cost.epsilon is None and cost.rho != 0)

    def note(self, kind, number):
        """Whether this can become of a charge."""
        if kind == "reopen":
            self.failures = 0
            return True
        before, after = OUTCOMES[kind]
        if self.states.get(number) != before:
            return False
        self.states[number] = after
        self.failures += kind == "failure"
        return True


def act(budget, replay, kind, given):
    if kind == "charge":
        with suppress(ValueError):  # what does not fit
            replay.charge(budget.charge(given, "a sum"), given)
        return
    notes = {"release": budget.settle, "failure": budget.fail, "withdrawal": budget.withdraw, "refund": budget.refund}
    if not replay.note(kind, given):
        reason = Reason.CLOSED if given in replay.states else Reason.UNKNOWN
        with refused("number", reason, ValueError):
            notes[kind](given)
    elif kind == "reopen":
        budget.reopen()
    else:
        notes[kind](given)


def compare(budget, replay):
    assert budget.spent == replay.spent
    assert budget._store.failures() == replay.failures
    assert [(entry.number, entry.cost, entry.state) for entry in budget.entries()] == [
        (number, replay.charges[number], state) for number, state in replay.states.items()
    ]
    spent, limit = budget.spent, replay.limit
    if limit.rho is not None:
        assert spent.rho <= limit.rho
    else:
        assert (spent.epsilon <= limit.epsilon, spent.delta <= limit.delta) == (True, True)


@settings(max_examples=400)
@given(st.sampled_from(LIMITS), st.lists(ACTS, max_size=25))
def test_the_running_total_is_that_of_all_charges_that_stand(limit, acts):
    budget, replay = Budget(**limit, max_failures=10**6), Replay(limit)
    for one in acts:
        act(budget, replay, *one)
        compare(budget, replay)


@settings(max_examples=12)
@given(limit=st.sampled_from(LIMITS), acts=st.lists(ACTS, max_size=14))
def test_so_it_is_in_a_ledger_which_reads_through(tmp_path_factory, limit, acts):
    path = tmp_path_factory.mktemp("ledger") / "ledger.db"
    budget, replay = Budget(**limit, max_failures=10**6, path=path), Replay(limit)
    for one in acts:
        act(budget, replay, *one)
    compare(budget, replay)
    found = read(path)
    assert (found.spent, found.failures) == (replay.spent, replay.failures)
    assert found.entries == budget.entries() == Budget(path=path).entries()


def test_where_digits_would_grow_without_end_the_total_is_never_below():
    """Sums are rounded up, and so is what is left after a charge was given back."""
    costs = [Cost(Fraction(1, 2 ** (LONGEST - 1) + k)) for k in (1, 3, 7, 9, 13)]
    budget = Budget(epsilon=1)
    numbers = [budget.charge(cost, "tiny") for cost in costs]
    exact = sum(cost.epsilon for cost in costs)
    for number, cost in zip(numbers, costs, strict=True):
        assert exact <= budget.spent.epsilon <= exact + Fraction(20, 2**LONGEST)
        budget.withdraw(number)
        exact -= cost.epsilon
    assert 0 <= budget.spent.epsilon <= Fraction(20, 2**LONGEST)


TAMPERED = [
    "UPDATE lines SET total_epsilon = '0' WHERE number = 2",
    "UPDATE lines SET epsilon = '1/100' WHERE number = 1",
    "UPDATE lines SET failures = 0 WHERE number = 4",
    "UPDATE lines SET kind = 'release' WHERE number = 4",
    "UPDATE lines SET about = 2 WHERE number = 4",
    "UPDATE lines SET what = NULL WHERE number = 1",
    "UPDATE lines SET query = '{}', what = NULL WHERE number = 1",
    "UPDATE lines SET at = 'then' WHERE number = 2",
    "UPDATE lines SET number = 99 WHERE number = 3",
    "DELETE FROM lines WHERE number = 2",
    "DELETE FROM lines WHERE number = 1",
]
AT_ONCE = [
    "UPDATE lines SET total_epsilon = '0' WHERE number = 6",
    "UPDATE lines SET failures = 0 WHERE number = 6",
    "UPDATE lines SET number = 99 WHERE number = 6",
    "DELETE FROM lines WHERE number = 6",
    "DELETE FROM lines WHERE number > 2",
    "DELETE FROM lines",
    "DELETE FROM sqlite_sequence",
    "INSERT INTO promise SELECT * FROM promise",
]


@pytest.fixture
def path(tmp_path):
    """A ledger of six lines: three charges, of which one failed, a refund and another charge."""
    path = tmp_path / "ledger.db"
    budget = Budget(epsilon=3, path=path, max_failures=5)
    for _ in range(3):
        budget.charge(Cost("1/4"), "a sum")
    budget.fail(1)
    budget.refund(1)
    budget.charge(Cost("1/4"), "a sum")

    def change(statement):
        with sqlite3.connect(path) as db:
            db.execute(statement)
        db.close()

    return path, change


def check(path):
    return CliRunner().invoke(app, ["budget", "check", str(path)])


def test_a_ledger_that_adds_up(path):
    done = check(path[0])
    assert (done.exit_code, done.stdout) == (0, "adds up: 4 charges, epsilon = 2.25 left\n")


@pytest.mark.parametrize("statement", [*TAMPERED, *AT_ONCE])
def test_what_does_not_follow_is_found_by_going_through_all_lines(path, statement):
    path, change = path
    change(statement)
    done = check(path)
    assert (done.exception.option, done.exception.reason) == ("path", Reason.UNREADABLE)


@pytest.mark.parametrize("statement", AT_ONCE)
def test_what_the_last_lines_show_is_found_at_once(path, statement):
    path, change = path
    budget = Budget(path=path)
    change(statement)
    for act in (lambda: Budget(path=path), lambda: budget.charge(Cost("1/4"), "a sum"), lambda: budget.fail(6)):
        with pytest.raises(RefusedValue) as caught:
            act()
        assert caught.value.option == "path"
        assert caught.value.reason in (Reason.UNREADABLE, Reason.MISMATCH)


@pytest.mark.parametrize("look", [lambda path: Budget(path=path).entries(), read])
def test_others_can_write_while_lines_are_gone_through(path, look, monkeypatch):
    """That takes the longer the more there are, and who waits too long for the file gives up."""
    (path, _), seen = path, []

    def begin(limit):
        with sqlite3.connect(path, timeout=0, isolation_level=None) as db:
            db.execute("BEGIN EXCLUSIVE")
            db.execute("ROLLBACK")
        seen.append(limit)
        return History(limit)

    monkeypatch.setattr(ledger_tables, "History", begin)
    look(path)
    assert seen
