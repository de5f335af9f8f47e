"""The owner's table: queries choose a statistic and its cost, and nothing else."""

import contextlib
import json
import pickle
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.budget import BudgetMismatch, ledger
from soundsum.budget.history import Asker
from soundsum.budget.shares import Question
from soundsum.refusals import Reason
from soundsum.releases import pipeline
from tests.refusing import refused

VISITS = pa.table(
    {
        "cost": [10.0, 20.0, 30.0, 99.0],
        "age": [41, 41, 29, 77],
        "ward": ["a", "b", "a", "z"],
        "patient": [1, 1, 2, 3],
    }
)
SCHEMA = {"cost": ("float64", 0, 50), "ward": ["a", "b", "c"], "age": {"lower": 0, "upper": 120}}


def own(data=VISITS, epsilon=10, **options):
    options = {"privacy_unit": "patient", "max_rows": 12, "max_groups": 4, "name": "visits", **options}
    budget = ss.Budget(epsilon=epsilon, privacy_unit=options["privacy_unit"], data=options["name"])
    return ss.Private(data, budget=budget, schema=SCHEMA, **options)


@pytest.fixture
def visits(silent):
    return own()


def test_every_statistic(visits):
    assert visits.sum("cost", epsilon=1).value == 10 + 20 + 30 + 50
    assert visits.sum("cost", 0, 25, epsilon=1).value == 10 + 20 + 25 + 25
    assert visits.mean("age", epsilon=1).value == pytest.approx(47)
    assert visits.variance("age", epsilon=1).value == pytest.approx(np.var([41, 41, 29, 77]), rel=1e-6)
    assert visits.count(1).value == 4
    assert {k: r.value for k, r in visits.histogram("ward", epsilon=1).items()} == {"a": 2, "b": 1, "c": 0}
    assert [r.value for r in visits.histogram("age", [0, 40, 80], 1).values()] == [1, 3]
    total, n = visits.release([ss.Sum("cost", 0, 50), ss.Count()], epsilon=1)
    assert (total.value, n.value) == (110, 4)
    assert visits.budget.left.epsilon == 2


def test_groups_come_from_the_schema(visits):
    by_ward = visits.sum("cost", epsilon=1, by="ward")
    assert {k: r.value for k, r in by_ward.items()} == {"a": 40, "b": 20, "c": 0}
    assert by_ward["a"].plan.unit == ss.Unit(3, 12, 4)
    with refused("groups", Reason.MISSING, ValueError):
        visits.sum("cost", epsilon=1, by="age")
    assert list(visits.sum("cost", epsilon=1, by="age", groups=[41])) == [41]


def test_a_plan_costs_nothing(visits):
    p = visits.plan("cost", by="ward")
    assert p.unit == ss.Unit(3, 12, 4)
    assert p.sensitivity == 3 * 12 * 50
    assert visits.plan("cost").unit == ss.Unit(None, 12)
    assert visits.budget.entries() == []


def test_caps_are_the_owner_s_defaults_and_noise_follows_a_query_s_own(visits):
    assert visits.sum("cost", epsilon=1, max_rows=1).plan.sensitivity == 50
    assert visits.sum("cost", epsilon=1).plan.sensitivity == 600


def test_a_query_cannot_change_the_terms(visits):
    for name in ("privacy_unit", "relation", "budget", "name"):
        with pytest.raises(TypeError, match=f"{name}= is one of the owner's terms, which a query cannot change; leave"):
            visits.sum("cost", epsilon=1, **{name: None})
    with pytest.raises(AttributeError):
        visits.budget = ss.Budget(epsilon=100)
    with pytest.raises(ss.BudgetExceeded):
        visits.sum("cost", epsilon=11)


def test_the_budget_is_bound_to_the_same():
    theirs = "persons (by patient) of 'visits', symmetric neighbours"
    for budget in (
        ss.Budget(epsilon=1, privacy_unit="doctor", data="visits"),
        ss.Budget(epsilon=1, data="visits"),
        ss.Budget(epsilon=1, privacy_unit="patient"),
    ):
        if budget.binding is not None:
            with refused("budget", Reason.MISMATCH, BudgetMismatch, theirs=theirs):
                ss.Private(VISITS, privacy_unit="patient", name="visits", budget=budget)
    with refused("budget", Reason.WRONG_TYPE, TypeError):
        ss.Private(VISITS, budget=None)


def test_it_shows_schema_and_budget_and_none_of_the_data():
    owner = own(VISITS.append_column("secret", [["Jane Doe"] * 4]))
    lines = [line.split() for line in repr(owner).splitlines()]
    assert next(line for line in lines if line[0] == "ward:")[:3] == ["ward:", "3", "categories:"]
    assert lines[-1] == ["budget:", "epsilon", "=", "10", "left>"]
    assert max(map(len, repr(owner).splitlines())) <= 100
    for shown in (repr(owner), owner._repr_html_()):
        assert "3 categories: " in shown
        assert "each person counts as at most" in shown
        assert "secret" not in shown
        assert "Jane" not in shown
    with refused(None, Reason.UNSUPPORTED, TypeError):
        pickle.dumps(own())


def test_mistakes_are_named():
    visits = own()
    with refused("lower", Reason.MISSING, ValueError, column="column 'patient'"):
        visits.sum("patient", epsilon=1)
    with refused("privacy_unit", Reason.WRONG_TYPE, TypeError):
        ss.Private(VISITS, privacy_unit=[1, 2, 3], budget=ss.Budget(epsilon=1))
    with refused("schema", Reason.UNKNOWN, ValueError):
        ss.Private(VISITS, budget=ss.Budget(epsilon=1), schema={"cost": {"kind": "float64"}})
    for bad in ("half a second", 5, "0s"):
        with refused("pad", Reason.MALFORMED, ValueError):
            ss.Private(VISITS, budget=ss.Budget(epsilon=1), pad=bad)
    for bad in ({"max_rows": 0}, {"max_groups": -1}):
        with pytest.raises(ValueError, match="give a whole number, 1 or more"):
            own(**bad)


def test_no_answer_and_no_refusal_comes_before_its_time():
    visits = own(pad="0.3s")
    for ask in (
        lambda: visits.sum("cost", epsilon=1),
        lambda: visits.sum("nothing", 0, 1, 1),
        lambda: visits.sum("patient", epsilon=1),
        lambda: visits.histogram("age", [3, 2, 1], 1),
        lambda: visits.count(1, nothing=1),
        lambda: visits.plan("nothing", 0, 1),
    ):
        start = time.monotonic()
        with contextlib.suppress(ValueError, TypeError, ss.ReadFailed, ss.BudgetExceeded):
            ask()
        assert time.monotonic() - start >= 0.3


def test_the_schema_is_the_owner_s(tmp_path, silent):
    (tmp_path / "t.csv").write_text("x\n1\n2.5\n")
    schema = {"x": ("int64", 0, 10)}
    owner = ss.Private(tmp_path / "t.csv", budget=ss.Budget(epsilon=9), schema=schema)
    assert owner.sum("x", epsilon=1).value == owner.release([ss.Sum("x", 0, 10)], epsilon=1)[0].value == 1
    with refused("dtype", Reason.MISMATCH, ValueError, type="int64"):
        owner.release([ss.Sum("x", 0, 10, dtype="float64")], epsilon=1)


def test_data_that_can_be_read_once_is_no_table_to_own():
    for data in (iter([1.0]), (x for x in [1.0]), pa.RecordBatchReader.from_batches(VISITS.schema, [])):
        with refused("data", Reason.UNSUPPORTED, TypeError):
            ss.Private(data, budget=ss.Budget(epsilon=1))


def test_an_unbound_budget_is_bound_by_its_table():
    budget = ss.Budget(epsilon=1)
    ss.Private(VISITS, privacy_unit="patient", name="visits", budget=budget)
    with pytest.raises(BudgetMismatch):
        ss.sum([1.0], 0, 1, 1, budget=budget)
    with pytest.raises(BudgetMismatch):
        ss.Private(VISITS, privacy_unit="ward", name="visits", budget=budget)


def test_a_plan_of_a_query_that_fails_looks_at_nothing():
    """Types come from the query, which is not run."""
    import duckdb

    plans = []
    for rows in (["1", "2"], ["1", "HIV"]):
        made = pa.table({"s": rows})
        relation = duckdb.connect().from_arrow(made).project("cast(s as bigint) as x")
        plans.append(ss.Private(relation, budget=ss.Budget(epsilon=5)).plan("x", 0, 9))
    assert plans[0] == plans[1]


def test_a_plan_that_says_how_many_rows_there_are_is_noted_at_no_cost():
    budget = ss.Budget(epsilon=1, relation="change_one", data="visits")
    owner = ss.Private(VISITS, budget=budget, relation="change_one", name="visits", schema=SCHEMA)
    assert owner.plan("cost").problem.size is None
    assert budget.entries() == []
    assert owner.plan("cost", method="kahan").problem.size == 4
    (entry,) = budget.entries()
    assert entry.what == "plan of a sum of cost, with the number of rows"
    assert (entry.cost, budget.left.epsilon) == (budget.no_cost, 1)


REFUSED_SCHEMAS = [
    ({"cost": ("float64", 50, 0)}, "schema: column 'cost': lower=50 is above upper=0; swap them"),
    ({"cost": {"lower": 0, "upper": float("nan")}}, "upper=nan: bounds are finite"),
    ({"cost": {"lower": "low"}}, "lower='low' is neither a number nor a date"),
    ({"ward": {"lower": "2024-12-31", "upper": "2024-01-01"}}, "lower='2024-12-31' is after upper='2024-01-01'; swap"),
    ({"cots": ("float64", 0, 50)}, "column 'cots' is not in the table; it has cost, age, ward, patient"),
    ({"ward": ["a", "a"]}, "schema: column 'ward': categories= names 'a' twice"),
    ({"ward": {"categories": "ab"}}, "schema: column 'ward': categories='ab' is not a list"),
    ({"ward": [1, 2]}, "categories of 'ward' 1, 2 cannot be looked up in a column of text"),
    ({"cost": "int64"}, "dtype=int64 but column 'cost' is float64"),
    ({"cost": "flaot64"}, "schema: column 'cost': "),
    ({"cost": 7}, "schema: column 'cost': "),
    (["cost"], "is not a dict"),
]


@pytest.mark.parametrize("schema, message", REFUSED_SCHEMAS)
def test_a_schema_that_is_not_the_table_s_is_refused_at_once(schema, message):
    budget = ss.Budget(epsilon=1)
    with pytest.raises((ValueError, TypeError)) as refused:
        ss.Private(VISITS, budget=budget, schema=schema)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not budget.entries()


def test_a_unit_or_a_file_that_is_not_there_is_refused_at_once_and_csv_says_no_names(tmp_path):
    with refused("column", Reason.UNKNOWN, ValueError, column="column 'person'"):
        own(privacy_unit="person")
    with pytest.raises(OSError, match=r"absent\.parquet"):
        ss.Private(tmp_path / "absent.parquet", budget=ss.Budget(epsilon=1))
    (tmp_path / "visits.csv").write_text("cost,ward\n1,a\n")
    with refused("column", Reason.UNKNOWN, ValueError, column="column 'cots'") as caught:
        ss.Private(tmp_path / "visits.csv", budget=ss.Budget(epsilon=1), schema={"cots": "float64"})
    assert "ward" not in str(caught.value)


def test_a_table_that_cannot_be_opened_counts_as_a_failed_read():
    class Lost:
        columns = ("cost",)

        def __arrow_c_stream__(self, requested_schema=None):
            raise ConnectionError("Jane Doe")

    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed):
        ss.Private(Lost(), budget=budget)
    assert [(entry.state, entry.cost.epsilon) for entry in budget.entries()] == [("failed", 0)]


def test_a_misspelt_column_is_said_to_be_absent_and_not_to_have_no_bounds(visits):
    for ask in (visits.sum, visits.mean, visits.variance, visits.plan):
        with refused(
            "column",
            Reason.UNKNOWN,
            ValueError,
            column="column 'cots'",
            names="it has cost, age, ward, patient; did you mean 'cost'?",
        ):
            ask("cots")
    assert not visits.budget.entries()


def test_a_budget_is_as_it_was_after_terms_that_are_refused():
    table, budget = {"cost": [1.0, 2.0], "patient": [1, 2]}, ss.Budget(epsilon=1)
    for wrong in ({"privacy_unit": "patientt"}, {"name": "visits", "schema": {"y": "float64"}}):
        with refused("column", Reason.UNKNOWN, ValueError):
            ss.Private(table, budget=budget, **wrong)
    assert budget.binding is None
    assert ss.Private(table, budget=budget, privacy_unit="patient").budget.binding.privacy_unit == "patient"


def test_statistics_of_one_release_take_what_they_leave_out_from_the_schema(visits):
    asked = [ss.Sum("cost"), ss.Mean("age", upper=50), ss.Histogram("ward"), ss.Histogram("age", bins=2)]
    total, mean, wards, ages = visits.release(asked, epsilon=4)
    assert total.value == 10 + 20 + 30 + 50
    assert mean.bounds == (0, 50)
    assert {ward: r.value for ward, r in wards.items()} == {"a": 2, "b": 1, "c": 0}
    assert {cell: r.value for cell, r in ages.items()} == {(0, 60): 3, (60, 120): 1}
    with refused("lower", Reason.MISSING, column="column 'patient'"):
        visits.release([ss.Sum("patient")], epsilon=1)


@pytest.mark.parametrize(
    "asked, message",
    [
        (ss.Sum("age"), "lower= and upper= are missing for the sum of 'age'; give both bounds from public knowledge"),
        (ss.Mean("age", 0), "upper= is missing for the mean of 'age'; give both bounds"),
        (ss.Histogram("age"), "none of them is given; give one"),
        (ss.Histogram("age", bins=2), "bins=2 needs lower= and upper="),
    ],
    ids=lambda one: one if isinstance(one, str) else repr(one)[:30],
)
def test_without_an_owner_what_is_left_out_is_asked_for(asked, message):
    with pytest.raises(ValueError, match=message):
        ss.release(VISITS, [asked], epsilon=1)


class TestOnBehalfOfAnAnalyst:
    @pytest.fixture
    def asked(self, tmp_path):
        budget = ss.Budget(epsilon=1, path=tmp_path / "ledger.db", max_failures=3)
        budget.set_share(Asker("alice", "visits"), epsilon="1/2")
        question = Question(Asker("alice", "visits"), "key", "digest")
        return ss.Private({"cost": [1.0, 2.0]}, budget=budget).on_behalf_of(question), budget

    def test_the_answer_is_stored_as_it_was_given(self, asked):
        owner, budget = asked
        released = owner.release({"total": ss.Sum("cost", 0, 10), "rows": ss.Count()}, epsilon="1/4")
        (entry,) = budget.asked_by(Asker("alice", "visits"), 9)
        stored = budget.asked(entry.number)
        assert (entry.state, json.loads(stored.answer)) == ("released", released.to_dict())
        assert [one.epsilon for one in (budget.spent, budget.share(entry.asker).spent)] == [Fraction(1, 4)] * 2

    def test_nothing_is_released_if_the_answer_cannot_be_stored(self, asked, monkeypatch):
        owner, budget = asked

        def full(*_):
            raise OSError("the disk is full")

        monkeypatch.setattr(ledger, "note_outcome", full)
        with pytest.raises(ss.ReadFailed):
            owner.sum("cost", 0, 10, epsilon="1/4")
        monkeypatch.undo()
        assert (budget.is_closed, budget.share(Asker("alice", "visits")).spent.epsilon) == (False, Fraction(1, 4))
        with refused("key", Reason.REPEATED):
            owner.sum("cost", 0, 10, epsilon="1/4")

    def test_no_more_groups_are_found_than_an_answer_can_have(self, tmp_path, monkeypatch):
        monkeypatch.setattr(pipeline, "MOST_STORED", 3)
        budget = ss.Budget(epsilon=10**6, delta="1/2", path=tmp_path / "ledger.db", max_failures=9, privacy_unit="id")
        budget.set_share(Asker("alice", "visits"), epsilon=10**6, delta="1/2", max_failures=9)
        ids = list(range(100))
        for place, groups in enumerate((3, 4)):
            table = {"id": ids, "g": [one % groups for one in ids]}
            question = Question(Asker("alice", "visits"), str(place), "digest")
            owner = ss.Private(table, privacy_unit="id", budget=budget).on_behalf_of(question)
            if groups == 3:
                assert list(owner.groups("g", epsilon=1000, delta="1e-9")) == [0, 1, 2]
            else:
                with pytest.raises(ss.ReadFailed):
                    owner.groups("g", epsilon=1000, delta="1e-9")

    def test_more_than_the_share_is_refused(self, asked):
        owner, budget = asked
        with refused("epsilon", Reason.EXCEEDED, ss.BudgetExceeded):
            owner.sum("cost", 0, 10, epsilon="3/4")
        assert budget.spent.epsilon == 0
