"""Quantiles as people ask for them: of records and persons, by group, several at once, for owners and in requests."""

import inspect
import json

import numpy as np
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.processes import COMMAND, run
from tests.refusing import refused

PAY = np.random.default_rng(4).gamma(2, 20_000, 4_000)
TABLE = {
    "pay": PAY,
    "dept": np.random.default_rng(5).choice(["a", "b"], 4_000),
    "age": np.random.default_rng(6).integers(18, 70, 4_000),
    "who": np.random.default_rng(7).integers(0, 900, 4_000),
}
BOUNDS = (0, 200_000)


def rank(value, values=PAY):
    return np.mean(np.asarray(values) <= value)


def test_a_median_is_near_the_middle():
    r = ss.median(PAY, *BOUNDS, epsilon=10)
    assert abs(rank(float(r)) - 0.5) < 0.03
    assert ss.check(r) == []
    assert "rank error" in repr(r)
    assert r.rank_error(0.95) == ss.plan_quantile(0.5, *BOUNDS, epsilon=10).rank_error(0.95)
    assert r.interval() == (0, 200_000)
    by_group = ss.median(TABLE, *BOUNDS, 1, column="pay", by="dept", groups=["a", "b"])
    for table in (r.to_arrow(), by_group.to_arrow()):
        assert table.column("low").null_count == table.column("high").null_count == table.num_rows


def test_the_value_is_one_of_the_candidates():
    listed = [0.1, 30_000, 40_000, 150_000]
    assert float(ss.quantile(PAY, 0.9, *BOUNDS, epsilon=1, candidates=listed)) in listed
    ages = ss.quantile(TABLE, 0.25, 0, 120, epsilon=9, column="age")
    assert isinstance(ages.value, int)
    assert 0 <= ages.value <= 120
    assert len(ss.plan_quantile(0.5, 0, 120, epsilon=1, dtype="int64").candidates) == 121
    assert len(ss.plan_quantile(0.5, 0, 120, epsilon=1).candidates) == 4096


def test_ties_are_no_difficulty():
    """All records are equal, and that is where every quantile is."""
    for q in (0.01, 0.5, 0.99):
        assert ss.quantile([7] * 2000, q, 0, 10, epsilon=5, candidates=11).value == 7


def test_at_the_ends_nobody_is_beyond():
    """Every candidate with no value below it is a quantile 0, so the smallest value itself is not what comes out."""
    data = np.array(list(range(40, 61)) * 200)
    assert ss.quantile(data, 0, 0, 100, epsilon=9).value <= 41
    assert ss.quantile(data, 1, 0, 100, epsilon=9).value >= 59


def test_values_are_clamped_and_missing_ones_left_out():
    data = [1e9] * 900 + [float("nan"), None] * 4000 + [-5.0] * 100
    assert float(ss.median(data, 0, 50, epsilon=5)) == 50
    assert float(ss.quantile(data, 0.01, 0, 50, epsilon=50)) == 0


def test_several_do_not_cross_and_share_the_cost():
    quantiles = [0.75, 0.5, 0.51, 0.52, 0.25]
    for by in ({}, {"by": "dept", "groups": ["a", "b"]}):
        several = ss.quantile(TABLE, quantiles, *BOUNDS, epsilon="1/100", column="pay", **by)
        assert several.names == ("0.75", "0.5", "0.51", "0.52", "0.25")
        found = [several[name] for name in ("0.25", "0.5", "0.51", "0.52", "0.75")]
        each = [[one] if not by else list(one.values()) for one in found]
        for same in zip(*each, strict=True):
            assert [one.value for one in same] == sorted(one.value for one in same)
            assert {one.epsilon for one in same} == {ss.Cost(epsilon="1/500").epsilon}
            assert len({one.rank_error() for one in same}) == 1
        assert ss.check(several) == []


def test_beside_other_statistics():
    asked = {"middle": ss.Quantile("pay", 0.5, *BOUNDS, weight=3), "total": ss.Sum("pay", *BOUNDS)}
    both = ss.release(TABLE, asked, epsilon=4, by="dept", groups=["a", "b"])
    assert both["middle"]["a"].epsilon == 3
    assert ss.check(both) == []
    assert json.loads(both["middle"]["a"].to_json())["rank_error_95"] == both["middle"]["a"].rank_error()


@pytest.mark.parametrize("relation", list(ss.Relation))
@pytest.mark.parametrize(
    "cost", [{"epsilon": 1}, {"rho": "1/8", "noise": "gaussian"}, {"epsilon": 1, "delta": "1e-9", "noise": "gaussian"}]
)
def test_every_relation_and_cost(relation, cost):
    for rows in ({}, {"where": [("age", ">", 30)]}, {"by": "dept", "groups": ["a", "b"]}):
        r = ss.quantile(TABLE, 0.9, *BOUNDS, column="pay", candidates=65, relation=relation, **cost, **rows)
        assert ss.check(r) == []


def test_persons():
    unit = {"privacy_unit": "who", "max_rows": 3, "max_groups": 2}
    r = ss.median(TABLE, *BOUNDS, epsilon=20, column="pay", by="dept", groups=["a", "b"], **unit)
    assert ss.check(r) == []
    assert r["a"].plan.sensitivity == 3
    assert "at most 3 rows" in r["a"].persons
    assert (
        ss.plan_quantile(0.5, *BOUNDS, epsilon=20, groups=2, max_rows=3, max_groups=2).rank_error()
        == r["a"].rank_error()
    )


def test_an_owner_and_their_budget():
    budget = ss.Budget(epsilon=2)
    owner = ss.Private(TABLE, budget=budget, schema={"pay": ("float64", *BOUNDS)})
    r = owner.median("pay", epsilon=1)
    assert ss.check(r) == []
    assert owner.quantile("pay", [0.1, 0.9], epsilon=1).names == ("0.1", "0.9")
    assert budget.left.epsilon == 0
    with pytest.raises(ss.BudgetExceeded):
        owner.median("pay", epsilon=1)


def test_the_query_says_which_quantile_and_which_candidates(tmp_path):
    budget = ss.Budget(epsilon=2, path=tmp_path / "ledger.db")
    ss.quantile(TABLE, 0.99, *BOUNDS, epsilon=1, column="pay", candidates=500, budget=budget)
    (entry,) = budget.entries()
    (asked,) = entry.query.statistics
    assert (asked.parameters["quantile"], asked.parameters["candidates"]) == ("99/100", 500)


def test_a_forged_release_is_caught():
    said = ss.median(PAY, *BOUNDS, epsilon=1).to_dict()
    assert ss.check({**said, "noisy": ["99999"]})
    assert ss.check({**said, "rank_error_95": 0})
    assert ss.check({**said, "exact": "1"})
    certificate = json.loads(json.dumps(said["certificate"]))
    certificate["released"][0]["rate"] = "2"
    assert ss.check({**said, "certificate": certificate})
    certificate = json.loads(json.dumps(said["certificate"]))
    certificate["parameters"]["candidates"] = 5
    assert ss.check({**said, "certificate": certificate})


def test_the_command_line(tmp_path):
    file = tmp_path / "pay.csv"
    file.write_text("pay\n" + "\n".join(map(str, PAY)))
    common = [str(file), "--column", "pay", "--bounds", "0", "200000", "--epsilon", "1"]
    printed = run([COMMAND, "median", *common], text=True).stdout
    assert "private median  95% rank error" in printed
    plain = json.loads(run([COMMAND, "quantile", *common, "--quantile", "0.25,0.5", "--json"]).stdout)
    assert [one["name"] for one in plain["releases"]] == ["0.25", "0.5"]
    request = tmp_path / "request.toml"
    request.write_text(
        'epsilon = 1\n[statistics.p90]\nstatistic = "quantile"\ncolumn = "pay"\nquantile = 0.9\nbounds = [0, 200000]\n'
    )
    assert "p90" in run([COMMAND, "release", file, request], text=True).stdout


@pytest.mark.parametrize(
    "options, option, reason",
    [
        ({"lower": 5, "upper": 5}, "upper", Reason.EMPTY),
        ({"lower": 9, "upper": 5}, "lower", Reason.SWAPPED),
        ({"lower": None}, "lower", Reason.MISSING),
        ({"upper": float("nan")}, "upper", Reason.NOT_A_NUMBER),
        ({"upper": 10**400}, "upper", Reason.TOO_LARGE),
        ({"candidates": [1, float("nan")]}, "candidates", Reason.NOT_A_NUMBER),
        ({"candidates": [1, float("inf")]}, "candidates", Reason.NOT_A_NUMBER),
        ({"candidates": []}, "candidates", Reason.EMPTY),
        ({"candidates": 1}, "candidates", Reason.TOO_SMALL),
        ({"candidates": 10**9}, "candidates", Reason.TOO_MANY),
        ({"candidates": range(20_000)}, "candidates", Reason.TOO_MANY),
        ({"candidates": "abc"}, "candidates", Reason.WRONG_TYPE),
        ({"candidates": [1, 300_000]}, "candidates", Reason.CONFLICT),
        ({"quantile": []}, "quantile", Reason.EMPTY),
        ({"quantile": [0.5, "1/2"]}, "quantile", Reason.REPEATED),
        ({"quantile": 2}, "quantile", Reason.TOO_LARGE),
    ],
)
def test_bad_input_is_refused_before_a_charge(options, option, reason):
    budget = ss.Budget(epsilon=1)
    given = {"quantile": 0.5, "lower": 0, "upper": 200_000, **options}
    with refused(option, reason):
        ss.quantile(PAY, given.pop("quantile"), epsilon=1, budget=budget, **given)
    assert budget.left.epsilon == 1


def test_other_statistics_have_no_rank_error():
    with refused(None, Reason.UNSUPPORTED):
        ss.sum(PAY, *BOUNDS, epsilon=1).rank_error()


def test_empty_tables_are_ordinary():
    for data in ([], [None, float("nan")]):
        assert 0 <= float(ss.median(data, 0, 10, epsilon=1)) <= 10


def test_the_median_is_the_quantile_of_a_half():
    assert set(inspect.signature(ss.quantile).parameters) - set(inspect.signature(ss.median).parameters) == {"quantile"}
