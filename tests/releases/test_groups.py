"""Releases by group and by person, and several at once."""

import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.privacy import samplers
from soundsum.refusals import Reason
from tests.refusing import refused

STAFF = pa.table(
    {
        "pay": [100.0, 250.0, 50.0, None, 30.0, 70.0],
        "age": pa.array([30, 40, 50, 60, 20, 25], pa.int16()),
        "dept": ["a", "b", "a", "a", "z", None],
        "id": [1, 1, 2, 3, 4, 5],
    }
)
BY_DEPT = {"column": "pay", "by": "dept", "groups": ["a", "b", "c"]}


def values(releases):
    return {group: r.value for group, r in releases.items()}


class TestGroups:
    def test_every_named_group_is_released_and_no_other(self, silent):
        r = ss.sum(STAFF, 0, 200, 1, **BY_DEPT)
        assert values(r) == {"a": 150, "b": 200, "c": 0}
        assert list(r) == ["a", "b", "c"]
        assert len(r) == 3
        assert "z" not in r

    def test_every_statistic_by_group(self, silent):
        assert values(ss.count(STAFF, 1, by="dept", groups=["b", "a"])) == {"b": 1, "a": 3}
        assert values(ss.mean(STAFF, 0, 100, 1, column="age", by="dept", groups=["a"])) == {"a": pytest.approx(140 / 3)}
        spread = ss.variance(STAFF, 0, 100, 1, column="age", by="dept", groups=["a", "c"])
        assert spread["a"].value == pytest.approx(np.var([30, 50, 60]))
        assert spread["c"].value == 0
        floats = ss.variance(STAFF, 0, 200, 1, column="pay", by="dept", groups=["a"], missing="drop")
        assert floats["a"].value == pytest.approx(np.var([100, 50]), rel=1e-6)
        cells = ss.histogram(STAFF, [0, 45, 90], 1, column="age", by="dept", groups=["a", "b"])
        assert values(cells) == {
            ("a", (0.0, 45.0)): 1, ("a", (45.0, 90.0)): 2, ("b", (0.0, 45.0)): 1, ("b", (45.0, 90.0)): 0,
        }  # fmt: skip

    @pytest.mark.parametrize("missing, total, counted", [("zero", 150, 3), ("drop", 150, 2)])
    def test_missing_records_by_group(self, silent, missing, total, counted):
        assert ss.sum(STAFF, 0, 200, 1, missing=missing, **BY_DEPT)["a"].value == total
        assert ss.count(STAFF, 1, missing=missing, **BY_DEPT)["a"].value == counted
        assert ss.sum(STAFF, 10, 200, 1, missing=missing, **BY_DEPT)["a"].value == total + (
            10 if missing == "zero" else 0
        )

    @pytest.mark.parametrize("relation", ["symmetric", "insert_delete"])
    def test_a_record_is_in_one_group_so_each_gets_the_full_epsilon(self, recorded, relation):
        r = ss.sum(STAFF, -50, 200, "1/2", relation=relation, **BY_DEPT)
        assert recorded[0] * r["a"].estimator.step == 400
        assert r["a"].plan.sensitivity == 200
        assert r["b"].epsilon == Fraction(1, 2)

    @pytest.mark.parametrize("relation", ["change_one", "hamming"])
    def test_a_changed_record_may_move_between_groups(self, recorded, relation):
        r = ss.sum(STAFF, 190, 200, 1, relation=relation, **BY_DEPT)
        assert r["a"].plan.sensitivity == 400  # 2 max(|L|, |U|), not U - L
        assert recorded[0] * r["a"].estimator.step == 400
        assert r["a"].plan.norms.l2_squared == 2 * 200**2
        (released,) = r["a"].certificate["released"]
        assert Fraction(released["sensitivity"]) == 400
        one = ss.sum(STAFF, -50, 200, 1, column="pay", by="dept", groups=["a"], relation=relation)
        assert one["a"].plan.sensitivity == 250

    def test_group_sizes_are_private_even_where_the_size_is_public(self, silent):
        """So a lower bound far from 0 is no offset, and a mean by group counts with noise."""
        r = ss.sum(STAFF, 190, 200, 1, relation="change_one", **BY_DEPT)
        assert values(r) == {"a": 3 * 190, "b": 200, "c": 0}
        m = ss.mean(STAFF, 0, 200, 1, relation="change_one", **BY_DEPT)
        assert [part["what"] for part in m["a"].certificate["released"]] == ["sum of c", "count"]
        assert [part["l1_steps"] for part in m["a"].certificate["released"]][1] == 2

    def test_gaussian_noise_for_several_groups_goes_through_zcdp(self):
        """With L = -U the L2 norm of a move between groups is that of a single change, which is not one here."""
        from soundsum.privacy.zcdp import zcdp_rho

        r = ss.sum(STAFF, -200, 200, 1, noise="gaussian", delta="1e-6", relation="change_one", **BY_DEPT)
        (released,) = r["a"].certificate["released"]
        assert released["l2_squared_steps"] == released["l1_steps"] ** 2
        rho = zcdp_rho(Fraction(1), Fraction(1, 10**6))
        assert Fraction(released["sigma_squared"]) == Fraction(released["l2_squared_steps"]) / (2 * rho)

    def test_as_a_table(self, silent):
        table = ss.sum(STAFF, 0, 200, 1, **BY_DEPT).to_arrow()
        assert table.column_names == ["dept", "value", "low", "high", "informative"]
        assert table.column("dept").to_pylist() == ["a", "b", "c"]
        assert table.column("value").to_pylist() == [150, 200, 0]

    def test_certificates_state_the_vector_and_hold(self):
        for r in (
            ss.sum(STAFF, 0, 200, 1, relation="change_one", **BY_DEPT)["a"],
            ss.mean(STAFF, 0, 200, 1, **BY_DEPT)["a"],
            ss.sum(STAFF, 0, 200, 1, privacy_unit="id", max_rows=3, max_groups=2, **BY_DEPT)["a"],
            ss.histogram(STAFF, [0, 50], 1, column="age", privacy_unit="id")[(0.0, 50.0)],
        ):
            written = json.loads(json.dumps(r.certificate))
            assert ss.check(written) == []
            written["unit"]["max_rows"] = 5 + (written["unit"]["max_rows"] or 0)
            assert ss.check(written) != []

    def test_integer_keys_far_apart_and_with_nulls(self, silent):
        keys = [2**62, -5, 2**62, None, 7]
        for kind in (pa.int64(), pa.int32()):
            held = [k if k is None or kind == pa.int64() else k % 1000 for k in keys]
            table = pa.table({"x": [1.0, 2, 3, 4, 5], "k": pa.array(held, kind)})
            expected = {held[0]: 4, held[1]: 2}
            assert values(ss.sum(table, 0, 9, 1, column="x", by="k", groups=list(expected))) == expected
            whole = table.filter(pa.array([k is not None for k in held]))
            assert values(ss.sum(whole, 0, 9, 1, column="x", by="k", groups=list(expected))) == expected

    def test_keys_of_any_type(self, silent):
        import datetime

        day = datetime.date(2026, 1, 1)
        table = pa.table(
            {"x": [1.0, 2.0], "d": [day, None], "b": [True, False], "c": pa.array(["u", "v"]).dictionary_encode()}
        )
        assert values(ss.sum(table, 0, 9, 1, column="x", by="d", groups=[day])) == {day: 1}
        assert values(ss.sum(table, 0, 9, 1, column="x", by="b", groups=[False, True])) == {False: 2, True: 1}
        assert values(ss.sum(table, 0, 9, 1, column="x", by="c", groups=["v"])) == {"v": 2}

    def test_keys_beside_an_array(self, silent):
        data, keys, ids = np.array([1.0, 2.0, 3.0]), ["a", "b", "a"], [1, 1, 1]
        assert values(ss.sum(data, 0, 9, 1, by=keys, groups=["a", "b"])) == {"a": 4, "b": 2}
        assert ss.sum(data, 0, 4, 1, privacy_unit=ids).value == 4
        budget = ss.Budget(epsilon=9, max_failures=2)
        for few in (keys[:2], iter(keys[:2])):  # at no cost, lists of every length would tell how many rows there are
            with pytest.raises(ss.ReadFailed):
                ss.sum(data, 0, 9, 1, by=few, groups=["a"], budget=budget)
        assert [entry.state for entry in budget.entries()] == ["failed", "failed"]

    @pytest.mark.parametrize(
        "options, error, message",
        [
            ({"groups": None}, ValueError, "the list of groups is itself private"),
            ({"by": None}, ValueError, "without by="),
            ({"groups": []}, ValueError, "groups= is empty; list at least one"),
            ({"groups": ["a", "a"]}, ValueError, "names 'a' twice"),
            ({"groups": ["a", None]}, ValueError, "groups= has None in it"),
            ({"groups": ["a", math.nan]}, ValueError, "groups= has NaN in it"),
            ({"groups": ["a", pd.NA]}, ValueError, "groups= has NaN in it"),
            ({"groups": ["a", pd.NaT]}, ValueError, "groups= has NaN in it"),
            ({"groups": pa.array(["a", None])}, ValueError, "groups= has None in it"),
            ({"by": ["dept", "pay"], "groups": [("a", math.nan)]}, ValueError, "groups= has NaN in it"),
            ({"groups": "ab"}, TypeError, "not a list"),
            ({"groups": [1, 2]}, ValueError, "cannot be looked up in a column of text"),
            ({"by": "nothing"}, ValueError, "column 'nothing' is not in the table"),
            ({"method": "kahan"}, ValueError, "leave method= out"),
            ({"method": "float", "max_size": 9}, ValueError, "leave method= out"),
            (
                {"method": "float", "max_size": 9, "by": None, "groups": None, "privacy_unit": "id"},
                ValueError,
                "leave method",
            ),
            ({"max_rows": 2}, ValueError, "give privacy_unit="),
            ({"privacy_unit": "id", "relation": "hamming"}, ValueError, "privacy_unit= needs symmetric"),
            ({"privacy_unit": "id", "max_rows": 0}, ValueError, "max_rows=0"),
            ({"privacy_unit": "id", "max_groups": 1.5}, ValueError, "max_groups=1.5"),
            ({"by": ["a"] * 6}, ValueError, "'a' is there twice; values go with data that is one column"),
            ({"size": 5, "relation": "change_one"}, ValueError, "size=5 but the data has 6 records"),
        ],
    )
    def test_what_cannot_be_is_refused_before_any_charge(self, options, error, message):
        budget = ss.Budget(epsilon=1)
        with pytest.raises(error, match=message):
            ss.sum(STAFF, 0, 200, 1, budget=budget, **{**BY_DEPT, **options})
        assert budget.left.epsilon == 1
        assert not budget.is_closed

    @pytest.mark.parametrize(
        "categories, message",
        [("ab", "categories='ab' is not a list"), (["a", None], "categories= has None"), ([], "categories= is empty"),
         ([1.0, math.nan], "categories= has NaN"), (["a", "a"], "categories= names 'a' twice")],
    )  # fmt: skip
    def test_categories_are_called_so(self, categories, message):
        with pytest.raises((ValueError, TypeError), match=message):
            ss.histogram(STAFF, categories=categories, epsilon=1, column="dept")


class TestPersons:
    def test_a_person_counts_as_far_as_their_rows_may(self, silent):
        """Person 1 has 100 and 250: two rows are 300 at most, clamped record by record; one row is 200 at most."""
        assert (
            ss.sum(STAFF, 0, 200, 1, column="pay", privacy_unit="id", max_rows=2).value == 100 + 200 + 50 + 0 + 30 + 70
        )
        assert ss.sum(STAFF, 0, 200, 1, column="pay", privacy_unit="id").value == 200 + 50 + 0 + 30 + 70
        assert ss.count(STAFF, 1, privacy_unit="id").value == 5
        assert ss.count(STAFF, 1, privacy_unit="id", max_rows=2).value == 6

    def test_every_release_says_how_much_of_a_person_counts_and_not_whom_that_cut_off(self, silent):
        few = STAFF.slice(2)  # where nobody has two rows
        one, same = (ss.sum(table, 0, 200, 1, column="pay", privacy_unit="id") for table in (STAFF, few))
        caps = (
            "each person counts with a total clamped to [0, 200], as much as 1 row can add; rows without an id left out"
        )
        assert one.counted == same.counted == f"missing values as 0; {caps}"
        assert "[-2, 0], as much as 1 row can add; rows" in repr(
            ss.sum(STAFF, -2, -1, 1, column="pay", privacy_unit="id")
        )
        assert "each person counts with the weight of at most 2 rows; rows without an id" in repr(
            ss.mean(STAFF, 0, 9, 1, column="pay", privacy_unit="id", max_rows=2)
        )
        for shown in (repr(one), one._repr_html_()):
            assert "each person counts with a total clamped to [0, 200]" in shown
        assert "each person counts as at most 1 row; rows" in repr(ss.count(STAFF, 1, privacy_unit="id"))
        filtered = repr(ss.count(STAFF, 1, privacy_unit="id", where=[("pay", ">", 5)]))
        assert "; where pay > 5; " in filtered
        assert "each person counts as at most 1 row; rows without an id" in filtered  # and nothing of groups
        several = ss.sum(STAFF, 0, 200, 1, privacy_unit="id", max_rows=3, max_groups=9, **BY_DEPT)
        for shown in (repr(several), several._repr_html_(), ss.Several([several], ["pay"])._repr_html_()):
            said = " ".join(shown.split())
            assert "clamped to [0, 600], as much as 3 rows can add, and in at most 3 groups;" in said
        few_groups = repr(ss.count(STAFF, 1, privacy_unit="id", **{**BY_DEPT, "column": None}))
        assert "in at most 1 group: the one with most of their rows" in " ".join(few_groups.split())
        assert "nobody" not in repr(ss.sum(STAFF, 0, 200, 1, **BY_DEPT))

    def test_the_noise_is_for_a_person(self, recorded):
        ss.sum(STAFF, -50, 200, 1, column="pay", privacy_unit="id", max_rows=3)
        r = ss.sum(STAFF, -50, 200, 1, privacy_unit="id", max_rows=3, max_groups=2, **BY_DEPT)
        step = r["a"].estimator.step
        assert [scale * step for scale in recorded] == [600, 1200]
        g = ss.sum(STAFF, -50, 200, noise="gaussian", rho=1, privacy_unit="id", max_rows=3, max_groups=2, **BY_DEPT)
        assert g["a"].plan.norms.l2_squared == 2 * 600**2
        many = ss.sum(STAFF, -50, 200, 1, privacy_unit="id", max_rows=3, max_groups=99, **BY_DEPT)
        assert many["a"].plan.sensitivity == 1800  # three groups are listed

    def test_rows_without_an_id_are_dropped(self, silent):
        table = pa.table({"x": [1.0, 2.0, 4.0], "id": pa.array([1, None, None], pa.int64())})
        assert ss.sum(table, 0, 9, 1, column="x", privacy_unit="id", max_rows=5).value == 1

    def test_ids_may_be_text(self, silent):
        table = pa.table({"x": [1.0, 2.0, 4.0], "id": ["u", "v", "u"]})
        for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
            ids = table.column("id").cast(kind)
            assert ss.sum(table.set_column(1, "id", ids), 0, 4, 1, column="x", privacy_unit="id").value == 6

    def test_means_and_variances_of_persons(self, silent):
        table = pa.table({"x": [1.0, 3.0, 8.0], "id": [1, 1, 2]})
        assert ss.mean(table, 0, 10, 1, column="x", privacy_unit="id", max_rows=2).value == pytest.approx(4)
        assert ss.variance(table, 0, 10, 1, column="x", privacy_unit="id", max_rows=2).value == pytest.approx(
            np.var([1, 3, 8]), rel=1e-6
        )

    def test_in_a_mean_many_rows_count_as_a_few_average_ones(self, silent):
        """Not as the sum of many over the count of a few."""
        values, ids = [2.0] * 30 + [8.0] * 2, [1] * 30 + [2] * 2
        table = pa.table({"x": values, "id": ids})
        assert ss.mean(table, 0, 10, 1, column="x", privacy_unit="id", max_rows=2).value == pytest.approx(5)
        assert ss.variance(table, 0, 10, 1, column="x", privacy_unit="id", max_rows=2).value == pytest.approx(9)
        counted = ss.mean(table, 0, 10, 1, column="x", privacy_unit="id", max_rows=2).noisy[-1]
        assert counted == 4

    def test_histograms_of_persons(self, silent):
        table = pa.table({"x": [1.0, 1.5, 8.0, 8.0], "id": [1, 1, 1, 2]})
        one = ss.histogram(table, [0, 5, 10], 1, column="x", privacy_unit="id")
        assert [r.value for r in one.values()] == [1, 1]  # person 1 counts where most of their rows are
        two = ss.histogram(table, [0, 5, 10], 1, column="x", privacy_unit="id", max_rows=2, max_groups=2)
        assert [r.value for r in two.values()] == [2, 2]


class TestSeveral:
    def test_they_share_the_promise_and_are_charged_once(self, silent):
        budget = ss.Budget(epsilon=1)
        asked = [ss.Sum("pay", 0, 2e5), ss.Mean("age", 0, 120), ss.Count(), ss.Histogram("dept", categories=["a"])]
        pay, age, n, depts = ss.release(STAFF, asked, epsilon=1, budget=budget)
        assert (pay.value, n.value, depts["a"].value) == (500, 6, 3)
        assert age.value == pytest.approx(225 / 6)
        assert [r.epsilon for r in (pay, age, n, depts["a"])] == [Fraction(1, 4)] * 4
        assert len(budget.entries()) == 1
        assert budget.spent.epsilon == 1
        assert all(ss.check(r.certificate) == [] for r in (pay, age, n, depts["a"]))

    def test_what_needs_no_noise_takes_no_share(self, silent):
        total, n = ss.release(STAFF, [ss.Sum("pay", 0, 9), ss.Count()], epsilon=1, relation="change_one")
        assert total.epsilon == 1
        assert n.value == 6

    def test_a_stream_is_read_once(self, silent):
        total, n = ss.release(STAFF.to_reader(2), [ss.Sum("age", 0, 99), ss.Count()], 1, by="dept", groups=["a"])
        assert (total["a"].value, n["a"].value) == (140, 3)

    def test_noise_is_drawn_after_the_charge(self, monkeypatch):
        budget, seen = ss.Budget(epsilon=1), []
        monkeypatch.setattr(
            samplers, "discrete_laplace_many", lambda s, n: seen.append(budget.spent.epsilon) or [0] * n
        )
        ss.release(STAFF, [ss.Sum("pay", 0, 1), ss.Count()], epsilon=1, budget=budget)
        assert seen == [1, 1]

    def test_nothing_to_release_is_refused(self):
        with refused("statistics", Reason.EMPTY, ValueError):
            ss.release(STAFF, [], epsilon=1)

    def test_people_can_read_it(self):
        several = ss.release(STAFF, [ss.Sum("pay", 0, 9), ss.Histogram("dept", categories=["<a>"])], epsilon=1)
        assert "<sum" in repr(several)
        assert "&lt;a&gt;" in several._repr_html_()


class TestPlans:
    def test_a_plan_releases_what_it_says(self, silent):
        p = ss.plan(ss.Problem("float64", 0, 10, "change_one", size=3), "kahan")
        r = p.release([1.0, 2.0, 3.5], epsilon="1/2")
        assert abs(r.exact - Fraction(13, 2)) < Fraction(1, 2**30)
        assert r.plan == p
        assert ss.plan(ss.Problem("int8", 0, 10)).release(np.array([1, 20], np.int8), epsilon=1).value == 11
        with refused("dtype", Reason.CONFLICT, TypeError, kind="int64"):
            p.release(np.array([1, 2, 3]), epsilon=1)

    @pytest.mark.parametrize("dtype, bounds", [("float64", (0, 1000)), ("int16", (-7, 3)), ("float32", (0, "1e-30"))])
    @pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
    def test_the_error_is_half_the_interval(self, silent, dtype, bounds, confidence):
        p = ss.plan(ss.Problem(dtype, *bounds))
        r = p.release(np.zeros(3, dtype), epsilon="1/3")
        low, high = r.interval(confidence)
        assert p.error(epsilon="1/3", confidence=confidence) == high == -low
        assert p.error(rho="1/10", noise="gaussian", confidence=confidence) > 0

    @pytest.mark.parametrize("error", [1, 1000, 12345, Fraction(10**9), Fraction(1, 10**6)])
    @pytest.mark.parametrize("dtype", ["float64", "int32"])
    def test_the_epsilon_for_an_error_is_enough_and_hardly_more(self, dtype, error):
        p = ss.plan(ss.Problem(dtype, 0, 1000))
        enough = p.epsilon_for(error=error)
        assert p.error(epsilon=enough) <= error
        assert p.error(epsilon=enough * Fraction(999_998, 1_000_000)) > error * (1 - 2**-30)

    def test_impossible_errors_are_refused(self):
        p = ss.plan(ss.Problem("float64", 0, 1))
        for error in (0, -1):
            with refused("error", Reason.TOO_SMALL, ValueError):
                p.epsilon_for(error=error)
        with refused("confidence", Reason.TOO_LARGE, ValueError):
            p.error(epsilon=1, confidence=1)
        assert ss.plan(ss.Problem("float64", 5, 5, "change_one")).epsilon_for(error=1) == 0


def test_intervals_of_variances_hold_the_whole_box(monkeypatch):
    """The largest variance may lie inside the box of what the noise may have done, not at its corners."""
    monkeypatch.setattr(samplers, "discrete_laplace_many", lambda scale, count: [0] * count)
    r = ss.variance(np.array([0.0, 1.0, 9.0, 10.0]), 0, 10, "1/5")
    low, high = r.interval(0.95)
    m = r.estimator
    each = 1 - 0.05 / 3
    widths = [noise.half_width(each) for noise in m.noises]
    rng = np.random.default_rng(3)
    for _ in range(2000):
        first, second, n = (x + int(w * u) for x, w, u in zip(r.noisy, widths, rng.uniform(-1, 1, 3), strict=True))
        n = max(1, n)
        c = (second / n - (first / n) ** 2) / 4 * float(m.records.step) ** 2
        assert low - 1e-6 <= min(max(c, 0), 25) <= high + 1e-6
    assert not math.isclose(low, high)


def test_many_groups_of_which_one_is_named_twice_are_refused_without_comparing_all_pairs():
    """Each name is compared a few times, however many there are."""
    compared = []

    class Counted(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str(self) == str(other)

    names = [Counted(i) for i in range(2000)]
    for by, groups in (("a", [*names, Counted(1999)]), (["a", "b"], [(name, 0) for name in [*names, Counted(1999)]])):
        compared.clear()
        with refused("groups", Reason.REPEATED, ValueError):
            ss.count({"a": ["x"], "b": [0]}, 1, by=by, groups=groups)
        assert len(compared) < 100_000
