"""Whom a budget protects: costs for another unit, relation or data are refused, and failed reads are counted."""

import json
import sqlite3
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.budget import Binding, BudgetClosed, BudgetMismatch, Cost
from soundsum.budget.ledger import read
from soundsum.budget.ledger_tables import VERSION
from soundsum.budget.scope import VALUES, Same
from soundsum.cli import app
from soundsum.refusals import Reason
from tests.refusing import refused

VISITS = {"cost": np.array([10.0, 20.0, 30.0]), "patient": [1, 1, 2], "ward": ["a", "b", "a"]}
SECOND = "make a second budget for "
BY_PATIENT = {"column": "cost", "privacy_unit": "patient", "max_rows": 2}


@pytest.fixture(params=[True, False], ids=["ledger", "memory"])
def kept(request, tmp_path):
    """Options for a budget in a file or in memory."""
    return {"path": tmp_path / "ledger.db"} if request.param else {}


def soundsum(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


class TestBinding:
    def test_epsilons_for_persons_and_for_records_do_not_add_up(self, kept):
        """A victim with many rows shows in a release for records at the same epsilon; so it has its own budget."""
        budget = ss.Budget(epsilon=2, privacy_unit="patient", **kept)
        ss.sum(VISITS, 0, 100, 1, budget=budget, **BY_PATIENT)
        with refused(
            "privacy_unit",
            Reason.MISMATCH,
            BudgetMismatch,
            theirs="records",
            ours="persons (by patient)",
            own="'patient'",
        ):
            ss.sum(VISITS, 0, 100, 1, column="cost", budget=budget)
        assert len(budget.entries()) == 1
        assert budget.left.epsilon == 1

    def test_a_ledger_is_for_records_under_symmetric_unless_it_says_otherwise(self, kept):
        budget = ss.Budget(epsilon=2, **kept)
        ss.sum([1.0], 0, 1, 1, budget=budget)
        assert budget.binding == Binding()
        sized = ss.plan(ss.Problem("float64", 0, 1, "hamming", size=1))
        for option, asked in (
            ("privacy_unit", lambda: ss.sum(VISITS, 0, 1, 1, budget=budget, **BY_PATIENT)),
            ("relation", lambda: ss.sum([1.0], 0, 1, 1, relation="change_one", budget=budget)),
            ("name", lambda: ss.sum([1.0], 0, 1, 1, budget=budget, name="visits")),
            ("relation", lambda: ss.count([1.0], 1, relation="change_one", budget=budget)),
            ("relation", lambda: sized.release([1.0], 1, budget=budget)),
            ("name", lambda: ss.private_max_size([1.0], 1, budget=budget, name="other")),
        ):
            with refused(option, Reason.MISMATCH, BudgetMismatch):
                asked()
        assert len(budget.entries()) == 1

    def test_a_budget_in_memory_is_bound_by_its_first_charge(self):
        budget = ss.Budget(epsilon=3)
        assert budget.binding is None
        ss.sum([1.0], 0, 1, 1, relation="change_one", name="a", budget=budget)
        assert budget.binding == Binding(None, ss.Relation.CHANGE_ONE, "a")
        with refused("name", Reason.MISMATCH, BudgetMismatch, ours="the data 'a'", theirs="the data 'b'"):
            ss.sum([1.0], 0, 1, 1, relation="change_one", name="b", budget=budget)

    def test_ids_given_as_values_need_a_budget_in_memory(self, tmp_path):
        column, ids = np.array([1.0, 2.0]), [7, 8]
        ss.sum(column, 0, 1, 1, privacy_unit=ids, budget=ss.Budget(epsilon=1))
        ledger = ss.Budget(epsilon=1, path=tmp_path / "ledger.db", privacy_unit="id")
        with refused("privacy_unit", Reason.UNSUPPORTED, BudgetMismatch):
            ss.sum(column, 0, 1, 1, privacy_unit=ids, budget=ledger)
        assert ledger.entries() == []

    def test_other_ids_given_as_values_are_another_unit(self):
        column, ids = np.ones(100), [1] * 100
        budget = ss.Budget(epsilon=3)
        ss.sum(column, 0, 1, 1, privacy_unit=ids, budget=budget)
        ss.sum(column, 0, 1, 1, privacy_unit=ids, budget=budget)
        with refused("privacy_unit", Reason.MISMATCH, BudgetMismatch) as caught:
            ss.sum(column, 0, 1, 1, privacy_unit=list(range(100)), budget=budget)
        assert caught.value.facts["ours"] == f"other {caught.value.facts['theirs']}"

    @pytest.mark.parametrize(
        "bound, asked, remedy",
        [
            (Binding(), Binding("patient"), SECOND + "persons (by patient) with {}, privacy_unit='patient'"),
            (
                Binding("patient"),
                Binding(),
                "ask with the budget's privacy_unit='patient', or " + SECOND + "records with {}",
            ),
            (
                Binding(VALUES, ids=Same(VISITS)),
                Binding(),
                "ask with the budget's privacy_unit=..., or " + SECOND + "records with {}",
            ),
            (
                Binding(),
                Binding(relation="hamming"),
                "ask with the budget's relation='symmetric', or " + SECOND + "hamming with {}, relation='hamming'",
            ),
            (Binding(relation="change_one"), Binding(), SECOND + "symmetric with {}"),
            (Binding(relation="insert_delete"), Binding(), SECOND + "symmetric with {}"),
            (
                Binding(data="visits"),
                Binding(),
                "ask with the budget's name='visits', or " + SECOND + "data without a name with {}",
            ),
            (
                Binding(),
                Binding(data="visits"),
                "ask without name=, or " + SECOND + "the data 'visits' with {}, data='visits'",
            ),
        ],
    )
    def test_a_refusal_says_what_to_do_that_protects_nobody_less(self, bound, asked, remedy):
        """Never to leave the persons out, nor to make the size or the order of the table public."""
        budget = ss.Budget(epsilon=1)
        budget.bind(bound)
        option = next(
            name for name in ("privacy_unit", "relation", "data") if getattr(bound, name) != getattr(asked, name)
        )
        with refused("name" if option == "data" else option, Reason.MISMATCH, BudgetMismatch) as caught:
            budget.charge(Cost(epsilon=1), "a sum", asked)
        said = f"nothing was charged: {remedy.format('ss.Budget(epsilon=...')}) (the release was: a sum)"
        assert str(caught.value).endswith(said)

    def test_a_relation_that_was_given_binds(self):
        budget = ss.Budget(epsilon=1, relation="symmetric")
        with pytest.raises(BudgetMismatch):
            ss.count([1.0], 1, relation="change_one", budget=budget)

    def test_what_needs_no_noise_is_written_down_at_no_cost(self, kept):
        budget = ss.Budget(epsilon=1, relation="change_one", **kept)
        ss.sum([1.0], 0, 1, 1, relation="change_one", budget=budget)
        assert ss.count([1.0, 2.0], 1, relation="change_one", budget=budget).value == 2
        assert [entry.cost.epsilon for entry in budget.entries()] == [1, 0]
        assert "count" in budget.entries()[-1].what
        rho = ss.Budget(rho=1, relation="change_one")
        ss.count([1.0], 1, relation="change_one", budget=rho)
        assert rho.spent == Cost(rho=0)

    def test_what_needs_noise_in_one_part_alone_is_charged(self, kept):
        """The sum of a mean between equal bounds needs none, but its count does, and is released beside it."""
        budget = ss.Budget(epsilon=9, **kept)
        mean = ss.mean([1.0, 2.0], 3, 3, epsilon=1, budget=budget)
        assert mean.value == 3
        assert budget.spent == Cost(epsilon=1)
        two = {"none": ss.Sum("x", 0, 0), "some": ss.Sum("x", 0, 1)}
        ss.release({"x": [1.0, 2.0]}, two, epsilon=1, budget=budget)
        assert budget.spent == Cost(epsilon=2)

    def test_another_binding_for_a_ledger_there_is(self, tmp_path):
        path = tmp_path / "ledger.db"
        ss.Budget(epsilon=1, path=path, privacy_unit="patient", data="visits")
        assert ss.Budget(path=path).binding == ss.Budget(epsilon=1, path=path).binding
        for other in ({"privacy_unit": "doctor"}, {"data": "other"}, {"relation": "hamming"}):
            with refused("privacy_unit", Reason.MISMATCH, BudgetMismatch, path=str(path)) as caught:
                ss.Budget(path=path, **other)
            assert caught.value.facts["own"].startswith("persons (by patient) of 'visits', ")
        with refused("data", Reason.MISMATCH, BudgetMismatch):
            ss.Budget(path=path, privacy_unit="patient", data="other")

    def test_another_number_of_failures_for_a_ledger_there_is(self, tmp_path):
        path = tmp_path / "ledger.db"
        ss.Budget(epsilon=1, path=path, max_failures=3)
        assert not ss.Budget(path=path).is_closed
        assert not ss.Budget(path=path, max_failures=3).is_closed
        with refused("max_failures", Reason.MISMATCH, ValueError, own=3, asked=5):
            ss.Budget(path=path, max_failures=5)

    def test_nonsense(self):
        with refused("relation", Reason.UNKNOWN, ValueError, given="'nearby'"):
            Binding(relation="nearby")
        with refused("relation", Reason.CONFLICT, ValueError, relation="change_one"):
            ss.Budget(epsilon=1, privacy_unit="id", relation="change_one")
        with refused("data", Reason.WRONG_TYPE, TypeError, given="5"):
            ss.Budget(epsilon=1, data=5)
        for bad, reason in (
            (0, Reason.TOO_SMALL),
            (-1, Reason.TOO_SMALL),
            (True, Reason.NOT_WHOLE),
            (1.5, Reason.NOT_WHOLE),
        ):
            with refused("max_failures", reason, ValueError):
                ss.Budget(epsilon=1, max_failures=bad)


OLD = {
    1: """
        CREATE TABLE promise (epsilon TEXT, delta TEXT NOT NULL, rho TEXT);
        CREATE TABLE charges (number INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL, epsilon TEXT,
            delta TEXT NOT NULL, rho TEXT, total_epsilon TEXT, total_delta TEXT NOT NULL, total_rho TEXT);
        INSERT INTO promise VALUES ('1', '0', NULL);
        INSERT INTO charges VALUES
            (1, '2025-01-01T00:00:00+00:00', 'sum of pay', '1/4', '0', NULL, '1/4', '0', NULL);
        """,
    2: """
        CREATE TABLE promise (epsilon TEXT, delta TEXT NOT NULL, rho TEXT,
            privacy_unit TEXT, relation TEXT NOT NULL, data TEXT, max_failures INTEGER NOT NULL);
        CREATE TABLE lines (number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, about INTEGER,
            what TEXT NOT NULL, epsilon TEXT, delta TEXT, rho TEXT,
            total_epsilon TEXT, total_delta TEXT NOT NULL, total_rho TEXT);
        INSERT INTO promise VALUES ('1', '0', NULL, NULL, 'symmetric', NULL, 1);
        INSERT INTO lines VALUES
            (1, '2025-01-01T00:00:00+00:00', 'charge', NULL, 'sum of pay', '1/4', '0', NULL, '1/4', '0', NULL);
        """,
}


class TestOldLedgers:
    @pytest.mark.parametrize("version", OLD)
    def test_an_old_ledger_is_refused_by_its_number_and_stays_as_it_is(self, tmp_path, version):
        path = tmp_path / "old.db"
        db = sqlite3.connect(path)
        db.executescript(f"PRAGMA application_id = 1936946541; PRAGMA user_version = {version}; {OLD[version]}")
        db.close()
        before = path.read_bytes()
        for act in (lambda: ss.Budget(path=path), lambda: ss.Budget(epsilon=1, path=path), lambda: read(path)):
            with refused("path", Reason.UNSUPPORTED, ValueError, path=str(path), found=version, known=VERSION):
                act()
        assert path.read_bytes() == before

    def test_the_application_s_mark(self):
        from soundsum.budget.ledger_tables import APPLICATION

        assert APPLICATION == 1936946541


class TestFailures:
    def test_a_failed_read_stays_charged_and_closes_the_budget(self, kept):
        budget = ss.Budget(epsilon=1, **kept)
        number = budget.charge(Cost(epsilon="1/4"), "a sum")
        budget.fail(number)
        assert (budget.left.epsilon, budget.is_closed) == (0.75, True)
        with refused("budget", Reason.CLOSED, BudgetClosed, reads="1 failed read", failures=1, asked_epsilon="1/4"):
            budget.charge(Cost(epsilon="1/4"), "another")
        budget.reopen()
        budget.charge(Cost(epsilon="1/4"), "another")
        assert [entry.state for entry in budget.entries()] == ["failed", "charged"]

    def test_only_what_failed_is_given_back(self, kept):
        budget = ss.Budget(epsilon=1, max_failures=2, **kept)
        good, bad = (budget.charge(Cost(epsilon="1/4"), what) for what in ("good", "bad"))
        with refused("number", Reason.CLOSED, ValueError, number=good, state="charged"):
            budget.refund(good)
        budget.fail(bad)
        assert not budget.is_closed
        budget.refund(bad)
        assert budget.left.epsilon == 0.75
        with refused("number", Reason.CLOSED, ValueError, number=bad, state="refunded"):
            budget.refund(bad)
        with refused("number", Reason.UNKNOWN, ValueError, number="99"):
            budget.refund(99)
        budget.charge(Cost(epsilon="3/4"), "the rest")
        assert budget.left.epsilon == 0

    def test_a_refund_of_a_rho_is_as_if_it_had_not_been(self, kept):
        budget = ss.Budget(epsilon=1, delta="1e-6", max_failures=5, **kept)
        budget.charge(Cost(epsilon="1/4"), "first")
        left = budget.left
        budget.fail(number := budget.charge(Cost(rho="1/1000"), "by rho"))
        assert budget.left != left
        budget.refund(number)
        assert budget.left == left

    def test_commands_for_the_owner(self, tmp_path):
        path = tmp_path / "ledger.db"
        made = soundsum(
            "budget", "create", path, "--epsilon", 3, "--privacy-unit", "patient", "--data", "visits",
            "--max-failures", 2,
        )  # fmt: skip
        assert made.exit_code == 0, made.output
        budget = ss.Budget(path=path)
        for _ in range(2):
            budget.fail(budget.charge(Cost(epsilon="1/2"), "a sum", Binding("patient", data="visits")))
        shown = json.loads(soundsum("budget", "show", path, "--json").stdout)
        assert shown["bound"] == {"privacy_unit": "patient", "relation": "symmetric", "data": "visits"}
        assert (shown["failures"], shown["max_failures"]) == (2, 2)
        assert "closed after failed reads" in soundsum("budget", "show", path).stdout
        first = shown["charges"][0]["number"]
        assert soundsum("budget", "refund", path, first).exit_code == 0
        assert soundsum("budget", "reopen", path).exit_code == 0
        found = read(path)
        assert [entry.state for entry in found.entries] == ["refunded", "failed"]
        assert (found.spent.epsilon, found.failures) == (0.5, 0)

    def test_a_size_that_is_not_the_public_one_takes_its_charge_back(self, kept):
        budget = ss.Budget(epsilon=1, relation="change_one", **kept)
        with refused("size", Reason.MISMATCH, ValueError):
            ss.sum([1.0, 2.0], 0, 1, 1, relation="change_one", size=5, budget=budget)
        assert (budget.left.epsilon, budget.is_closed) == (1, False)

    def test_what_was_let_out_can_neither_fail_nor_be_given_back(self, kept):
        budget = ss.Budget(epsilon=1, **kept)
        r = ss.sum([1.0], 0, 1, 1, budget=budget)
        assert budget.entries()[0].state == "released"
        for give_back in (budget.withdraw, budget.fail, budget.refund):
            with refused("number", Reason.CLOSED, ValueError, number=1, state="released"):
                give_back(r.origin.entry)
        assert budget.left.epsilon == 0

    def test_a_refund_never_makes_a_budget_unusable(self, kept):
        budget = ss.Budget(epsilon=1, delta="1e-6", max_failures=5, **kept)
        budget.fail(first := budget.charge(Cost(rho="1/1000"), "by rho"))
        for _ in range(100):
            budget.charge(Cost(epsilon="1/50"), "a sum")
        left = budget.left.rho
        budget.refund(first)
        assert budget.left == Cost(rho=left + Fraction(1, 1000))
        budget.charge(Cost(epsilon="1/50"), "one more")

    @pytest.mark.parametrize(
        "later",
        [[Cost("1/50")] * 49 + [Cost(rho="1/1000")], [Cost("1/1000", 0, "1e-9")] * 20],
        ids=["rho", "both"],
    )
    def test_what_came_after_a_refunded_rho_stays_counted_by_rho(self, later, kept):
        """A block of releases is counted by rho whether or not its first one released anything."""
        budget = ss.Budget(epsilon=1, delta="1e-6", max_failures=5, **kept)
        budget.charge(Cost("1/4"), "before")
        budget.fail(first := budget.charge(Cost(rho="1/1000"), "by rho"))
        for cost in later:
            budget.charge(cost, "a sum")
        budget.refund(first)
        assert budget.spent == Cost("1/4", 0, sum(cost.zcdp for cost in later))

    def test_a_block_of_which_nothing_is_left_is_dissolved(self, kept):
        budget = ss.Budget(epsilon=1, delta="1e-6", max_failures=5, **kept)
        numbers = [budget.charge(cost, "a sum") for cost in (Cost("1/4"), Cost(rho="1/1000"), Cost("1/50"))]
        for number in numbers[1:]:
            budget.withdraw(number)
        assert budget.spent == Cost("1/4")
        budget.charge(Cost("3/4"), "the rest")
        assert budget.left.epsilon == 0

    def test_a_ledger_that_is_locked_while_a_read_fails(self, tmp_path, monkeypatch):
        from soundsum.budget import ledger_file

        monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
        budget = ss.Budget(epsilon=1, path=tmp_path / "ledger.db")

        def column():
            holder.execute("BEGIN EXCLUSIVE")
            yield 1.0
            raise ValueError("SECRET")

        holder = sqlite3.connect(tmp_path / "ledger.db", isolation_level=None)
        with pytest.raises(ss.ReadFailed):
            ss.sum(column(), 0, 1, 1, budget=budget)
        holder.execute("ROLLBACK")
        holder.close()
        assert budget.left.epsilon == 0


class TestDecimals:
    def test_ten_tenths_are_one(self, kept):
        budget = ss.Budget(epsilon=1, **kept)
        for _ in range(10):
            ss.count([1.0], 0.1, budget=budget)
        assert budget.left.epsilon == 0
        assert ss.sum([1.0], 0, 1, 0.1).epsilon == ss.Cost(epsilon=np.float32(0.1)).epsilon == ss.Cost("1/10").epsilon
        assert "epsilon=0.1" in repr(ss.sum([1.0], 0, 1, 0.1))

    def test_bounds_stay_at_their_binary_value(self):
        assert ss.Problem("float64", 0, 0.1).upper == ss.Problem("float64", 0, np.float64(0.1)).upper != 0.1 * 10 / 100

    def test_a_ledger_made_with_a_float_s_binary_value_is_the_same(self, tmp_path):
        path = tmp_path / "ledger.db"
        ss.Budget(epsilon=Fraction(0.1), path=path)
        assert ss.Budget(epsilon=0.1, path=path).epsilon == Fraction(0.1)
        with refused("epsilon", Reason.MISMATCH, ValueError, own="epsilon = 0.1", asked="epsilon = 0.2"):
            ss.Budget(epsilon=0.2, path=path)


def test_a_table_by_its_name(tmp_path):
    pa.parquet.write_table(pa.table({"x": [1.0]}), tmp_path / "x.parquet")
    ledger = tmp_path / "ledger.db"
    soundsum("budget", "create", ledger, "--epsilon", 1, "--data", "visits")
    options = ("--column", "x", "--bounds", 0, 1, "--epsilon", "1/2", "--budget", ledger)
    without = soundsum("sum", tmp_path / "x.parquet", *options)
    assert isinstance(without.exception, BudgetMismatch)
    assert soundsum("sum", tmp_path / "x.parquet", *options, "--data", "visits").exit_code == 0


@pytest.mark.parametrize(
    "given, said",
    [
        ({}, ""),
        ({"privacy_unit": "id"}, ", privacy_unit='id'"),
        ({"privacy_unit": VALUES}, ""),
        ({"data": "staff"}, ", data='staff'"),
        ({"relation": "hamming"}, ", relation='hamming'"),
        ({"privacy_unit": "id", "data": "staff"}, ", privacy_unit='id', data='staff'"),
    ],
)
def test_how_a_budget_for_the_same_is_made(given, said):
    assert Binding(**given).options == said
