"""Shares: what analysts may spend of a ledger, charged with it in one transaction, and the answers that it keeps."""

import json
import sqlite3
import threading
from contextlib import closing, suppress
from fractions import Fraction
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from soundsum.budget import Budget, BudgetClosed, BudgetExceeded, Cost
from soundsum.budget.history import Asker, CannotFollow
from soundsum.budget.ledger import AT_ONCE, read
from soundsum.budget.shares import AlreadyAsked, Question
from soundsum.cli import app
from soundsum.refusals import Reason, Refusal
from tests.refusing import refused

ALICE, BOB = Asker("alice", "visits"), Asker("bob", "visits")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


@pytest.fixture
def budget(path):
    budget = Budget(epsilon=1, path=path, max_failures=5)
    budget.set_share(ALICE, epsilon="3/4", max_failures=2)
    budget.set_share(BOB, epsilon="3/4")
    return budget


def ask(budget, asker=ALICE, epsilon="1/4", key=None, body=None):
    return budget.on_behalf_of(Question(asker, key, body)).charge(Cost(epsilon), "a sum")


def test_a_charge_counts_against_the_share_and_the_whole(budget):
    number = ask(budget)
    assert budget.share(ALICE).left.epsilon == Fraction(1, 2)
    assert (budget.share(BOB).left.epsilon, budget.left.epsilon) == (Fraction(3, 4), Fraction(3, 4))
    assert budget.asked(number).charge.asker == ALICE
    assert [entry.asker for entry in budget.entries()] == [ALICE]


def test_a_share_that_is_spent_refuses_and_charges_nothing(budget):
    for _ in range(3):
        ask(budget)
    with refused("epsilon", Reason.EXCEEDED, BudgetExceeded) as caught:
        ask(budget)
    assert (caught.value.left.epsilon, budget.left.epsilon) == (0, Fraction(1, 4))


def test_analysts_together_get_no_more_than_the_whole(budget):
    for _ in range(2):
        ask(budget, ALICE)
        ask(budget, BOB)
    for asker in (ALICE, BOB):
        assert budget.share(asker).left.epsilon == Fraction(1, 4)
        with refused("epsilon", Reason.EXCEEDED, BudgetExceeded):
            ask(budget, asker)
    assert budget.spent.epsilon == 1


def test_who_has_no_share_is_refused(budget):
    for asker in (Asker("carol", "visits"), Asker("alice", "staff")):
        with refused("budget", Reason.ABSENT):
            ask(budget, asker)
    assert budget.spent.epsilon == 0


def test_a_share_counts_as_the_whole_does(budget, tmp_path):
    with refused("rho", Reason.MISMATCH):
        budget.set_share(ALICE, rho="1/10")
    with refused("epsilon", Reason.MISMATCH):
        Budget(rho=1, path=tmp_path / "other.db").set_share(ALICE, epsilon=1)


def test_an_analyst_cannot_turn_the_whole_to_rho(path):
    budget = Budget(epsilon=1, delta="1e-6", path=path)
    budget.set_share(ALICE, epsilon=1, delta="1e-6")
    with refused("rho", Reason.MISMATCH):
        budget.on_behalf_of(Question(ALICE)).charge(Cost(rho="1/1000"), "a sum")
    assert budget.left.epsilon == 1
    budget.charge(Cost(rho="1/1000"), "the owner's own, which may")
    ask(budget, epsilon="1/1000")
    assert budget.share(ALICE).spent.epsilon == Fraction(1, 1000)


def test_a_new_share_keeps_what_was_spent(budget):
    ask(budget)
    budget.set_share(ALICE, epsilon="1/3")
    assert budget.share(ALICE).left.epsilon == Fraction(1, 12)


def test_nothing_is_left_of_a_new_share_below_what_was_spent(budget):
    ask(budget)
    given = CliRunner().invoke(app, ["budget", "share", str(budget.path), "alice", "visits", "--epsilon", "1/9"])
    assert given.output == "alice may spend epsilon = 1/9 on visits; epsilon = 0 left\n"
    with refused("epsilon", Reason.EXCEEDED, BudgetExceeded) as caught:
        ask(budget)
    assert (caught.value.left.epsilon, budget.left.epsilon) == (0, Fraction(3, 4))


def test_nothing_is_left_of_a_new_share_with_a_smaller_delta(path):
    budget = Budget(epsilon=1, delta="1e-6", path=path)
    budget.set_share(ALICE, epsilon=1, delta="1e-6")
    budget.on_behalf_of(Question(ALICE)).charge(Cost("1/4", "1e-7"), "a sum")
    budget.set_share(ALICE, epsilon=1, delta="1e-8")
    assert budget.share(ALICE).left.delta == 0
    assert read(path).shares[ALICE].left.delta == 0


def test_a_key_is_charged_once(budget):
    first = ask(budget, key="k", body="b")
    with refused("key", Reason.REPEATED, AlreadyAsked, number=first):
        ask(budget, key="k", body="other")
    other = ask(budget, BOB, key="k")
    assert (budget.find_key(Question(ALICE, "k")), budget.find_key(Question(BOB, "k"))) == (first, other)
    assert budget.find_key(Question(ALICE, "other")) is None
    assert budget.asked(first).body == "b"
    assert budget.spent.epsilon == Fraction(1, 2)


def test_an_answer_is_stored_as_the_charge_is_settled(budget):
    number = ask(budget, key="k")
    assert budget.asked(number).answer is None
    budget.settle(number, "the answer")
    asked = Budget(path=budget.path).asked(number)
    assert (asked.charge.state, asked.answer) == ("released", "the answer")
    assert [entry.number for entry in budget.asked_by(Asker("alice", "visits"), 9)] == [number]
    assert budget.asked_by(Asker("bob", "visits"), 9) == []


def test_charges_are_listed_from_the_first_to_the_last_however_many(budget):
    numbers = [ask(budget, epsilon="1/1000") for _ in range(2 * AT_ONCE + 1)]
    budget.settle(numbers[0], "the answer")
    listed = budget.asked_by(Asker("alice", "visits"), 99)
    assert [one.number for one in listed] == numbers
    assert [one.state for one in listed] == ["released", *["charged"] * 2 * AT_ONCE]
    assert [one.number for one in budget.asked_by(Asker("alice", "visits"), 3)] == numbers[-3:]


def test_what_another_asked_is_as_if_it_were_not_there(budget):
    number = ask(budget)
    assert budget.asked(number, Asker("alice", "visits")).charge.number == number
    assert budget.asked(number, Asker("bob", "visits")) is None
    assert budget.asked(10**6, Asker("bob", "visits")) is None


def test_an_answer_that_cannot_be_stored_settles_nothing(budget):
    number = ask(budget)
    with closing(sqlite3.connect(budget.path)) as db, db:
        db.execute("CREATE TABLE beside (x)")  # the ledger is refused as damaged
    with pytest.raises(Refusal):
        budget.settle(number, "the answer")
    with closing(sqlite3.connect(budget.path)) as db, db:
        db.execute("DROP TABLE beside")
    budget._catch_up()
    assert budget.asked(number).charge.state == "failed"


def test_a_share_closes_before_the_whole(budget):
    for _ in range(2):
        budget.fail(ask(budget, epsilon="1/8"))
    with refused("budget", Reason.CLOSED, BudgetClosed, failures=2):
        ask(budget, epsilon="1/8")
    ask(budget, BOB)
    budget.reopen()
    assert budget.share(ALICE).failures == 0
    ask(budget, epsilon="1/8")


def test_the_owner_gives_back_what_was_never_answered(budget):
    lost, failed = ask(budget), ask(budget)
    budget.fail(failed)
    budget.refund(lost)
    budget.refund(failed)
    assert (budget.share(ALICE).spent.epsilon, budget.spent.epsilon) == (0, 0)
    with refused("number", Reason.CLOSED, CannotFollow):  # a release that was still being made
        budget.settle(lost, "late")
    assert budget.asked(lost).answer is None


def test_the_owners_own_charge_is_given_back_only_if_its_read_failed(budget):
    number = budget.charge(Cost("1/4"), "the owner's")
    with refused("number", Reason.CLOSED, CannotFollow):
        budget.refund(number)
    assert budget.asked(number) is None


def test_a_budget_in_memory_has_no_shares():
    budget = Budget(epsilon=1)
    with refused("path", Reason.MISSING):
        budget.set_share(ALICE, epsilon=1)
    with refused("path", Reason.MISSING):
        budget.on_behalf_of(Question(ALICE))


def test_many_at_once_never_overspend(budget):
    together, won = threading.Barrier(6), []

    def work(asker):
        together.wait()
        for _ in range(8):
            with suppress(BudgetExceeded):
                won.append((asker, ask(budget, asker, "1/16")))

    threads = [threading.Thread(target=work, args=(asker,)) for asker in (ALICE, BOB) * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 16
    assert all(budget.share(asker).spent.epsilon <= Fraction(3, 4) for asker in (ALICE, BOB))
    assert budget.spent.epsilon == 1


def test_the_ledger_shows_who_asked(budget):
    ask(budget)
    budget.charge(Cost("1/8"), "the owner's own")
    shown = CliRunner().invoke(app, ["budget", "show", str(budget.path)]).stdout
    assert [word for line in shown.splitlines() for word in line.split() if word in ("who", "alice")] == [
        "who",
        "alice",
        "alice",
    ]
    assert "alice may spend epsilon = 0.75 on visits; epsilon = 0.5 left" in shown
    found = json.loads(CliRunner().invoke(app, ["budget", "show", str(budget.path), "--json"]).stdout)
    assert [charge["asker"] for charge in found["charges"]] == [{"analyst": "alice", "source": "visits"}, None]
    assert found["shares"][0]["left"]["epsilon"] == "1/2"


def test_a_command_gives_a_share(budget):
    given = CliRunner().invoke(app, ["budget", "share", str(budget.path), "carol", "visits", "--epsilon", "1/3"])
    assert given.output == "carol may spend epsilon = 1/3 on visits; epsilon = 1/3 left\n"
    assert budget.share(Asker("carol", "visits")).left.epsilon == Fraction(1, 3)


CHANGES = {
    "spent less": "UPDATE questions SET total_epsilon = '1/8' WHERE line = 2",
    "another analyst": "UPDATE questions SET analyst = 'bob' WHERE line = 2",
    "an outcome forgotten": "DELETE FROM questions WHERE line = 2",
    "an outcome of nothing": "UPDATE questions SET line = 9 WHERE line = 2",
    "an answer to a charge": "UPDATE questions SET answer = '7' WHERE line = 1",
    "a key of an outcome": "UPDATE questions SET key = 'k' WHERE line = 2",
    "a failure less": "UPDATE questions SET failures = 0 WHERE line = 4",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_damage_is_noticed(budget, change):
    budget.settle(ask(budget), "the answer")
    budget.fail(ask(budget))
    assert read(budget.path).shares[ALICE].spent.epsilon == Fraction(1, 2)
    with closing(sqlite3.connect(budget.path)) as db, db:
        assert db.execute(change).rowcount == 1
    with refused("path", Reason.UNREADABLE):
        read(budget.path)


ASKERS = [None, ALICE, BOB, Asker("alice", "staff")]
ACTS = st.one_of(
    st.tuples(
        st.just("charge"), st.sampled_from(ASKERS), st.sampled_from([Cost("1/5"), Cost("1/9"), Cost("1/7", "1e-7")])
    ),
    st.tuples(st.sampled_from(["settle", "fail", "withdraw", "refund"]), st.integers(1, 12)),
    st.tuples(st.just("reopen")),
)


@given(st.lists(ACTS, max_size=14))
@settings(max_examples=60)
def test_a_share_is_what_its_charges_that_stand_amount_to(acts):
    """Against the definition: every charge of the analyst that stands, gone through anew."""
    with TemporaryDirectory() as folder:
        budget = Budget(epsilon=2, delta="1e-6", path=f"{folder}/ledger.db", max_failures=3)
        for asker in ASKERS[1:]:
            budget.set_share(asker, epsilon="1/2", delta="1e-6", max_failures=2)
        failures = dict.fromkeys(ASKERS, 0)
        for name, *arguments in acts:
            with suppress(Refusal):
                if name == "charge":
                    asker, cost = arguments
                    whose = budget if asker is None else budget.on_behalf_of(Question(asker))
                    whose.charge(cost, "a sum")
                    continue
                getattr(budget, name)(*arguments)
                if name == "fail":
                    entry = next(one for one in budget.entries() if one.number == arguments[0])
                    failures[entry.asker] += 1
                if name == "reopen":
                    failures = dict.fromkeys(ASKERS, 0)
        standing = [entry for entry in budget.entries() if entry.state != "refunded"]
        shares = read(budget.path).shares
        for asker in ASKERS[1:]:
            own = [entry.cost for entry in standing if entry.asker == asker]
            spent = budget.share(asker).spent
            assert (spent.epsilon, spent.delta) == (sum(one.epsilon for one in own), sum(one.delta for one in own))
            assert budget.share(asker).failures == failures[asker]
            assert shares[asker] == budget.share(asker)
