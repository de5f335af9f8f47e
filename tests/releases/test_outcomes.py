"""What a release can be used as: a number, rows of a data frame, plain data, a page in a notebook."""

import json
import math
import pickle
import re
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundsum as ss
from soundsum.numbers.formatting import estimate, estimates, interval
from soundsum.refusals import Reason
from soundsum.releases.ledger_check import compare_with_ledger
from soundsum.releases.release_check import compare_release
from tests.refusing import refused

TABLE = {"pay": [1.5, 2.25, 4.0], "dept": ["a", "b", "a"], "age": [30, 40, 50]}
BY = {"by": "dept", "groups": ["a", "b"]}
ASKED = {"total": ss.Sum("pay", 0, 9, weight=3), "staff": ss.Count(), "ages": ss.Histogram("age", [0, 40, 90])}

NUMBERS = st.fractions(-(10**9), 10**9, max_denominator=1000)
WIDTHS = st.fractions(0, 10**9, max_denominator=1000)


class TestNumbers:
    def test_a_release_is_a_number(self, silent):
        r = ss.sum(TABLE, 0, 9, epsilon=1, column="pay")
        assert (float(r), int(r), round(r), round(r, 1), f"{r:,.2f}", f"{r:>8.1f}") == (
            7.75,
            7,
            8,
            7.8,
            "7.75",
            "     7.8",
        )
        assert (type(float(r)), type(int(r)), type(round(r, 1))) == (float, int, float)
        assert f"{r}" == str(r) == repr(r)
        n = ss.count(TABLE, epsilon=1)
        assert (float(n), int(n), round(n), round(n, -1), f"{n:,}") == (3.0, 3, 3, 0, "3")

    def test_a_value_beyond_a_double_says_so(self, silent):
        r = ss.sum([1.5e308, 1.5e308, 1e308], 0, 1.7e308, epsilon=1)
        assert r.exact == Fraction(1.5e308) * 2 + Fraction(1e308) > Fraction(sys.float_info.max)
        assert r.value == math.inf
        assert "4e+308" in repr(r).partition(";")[0].replace("4.0e", "4e")
        for shown in (repr(r), r._repr_html_()):
            assert "beyond a float, so .value is inf: use .exact" in shown
        with pytest.raises(OverflowError, match=r"use \.exact"):
            float(r)
        assert f"{r:.3e}" == "4.000e+308"
        assert int(r) == r.exact
        said = json.loads(r.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
        assert (said["value"], Fraction(said["exact"])) == (None, r.exact)
        assert compare_release(said) == []
        assert compare_release({**said, "exact": "1/2"})

    def test_intervals_have_the_digits_they_need(self, same_draws):
        """Two ends that differ never look the same, and what is shown is never narrower than what is claimed."""
        rng = np.random.default_rng()
        for _ in range(2000):
            middle = float(rng.normal() * 10.0 ** rng.integers(-12, 25))
            width = float(abs(middle) * 10.0 ** rng.integers(-14, 3))
            low, high = middle - width, middle + width
            ends = [Decimal(end.replace(",", "")) for end in interval(low, high).split(" to ")]
            if low < high:
                assert ends[0] < ends[1]
            assert ends[0] <= Decimal(repr(low))
            assert Decimal(repr(high)) <= ends[1]
            assert ends[1] - ends[0] <= Decimal(repr(high)) - Decimal(repr(low)) + abs(Decimal(repr(high - low))) / 4
            shown = Decimal(estimate(middle, low, high).replace(",", ""))
            assert abs(shown - Decimal(repr(middle))) <= Decimal(repr(high - low))

    def test_millions_are_shown_as_such_everywhere(self, silent):
        data = np.full(5_000_000, 1.0)
        r = ss.sum(data, 0, 1, epsilon=1)
        assert "5,000,000" in repr(r)
        assert "4,999,997.0 to 5,000,003.0" in repr(r)
        assert "4,999,997.0 to 5,000,003.0" in r._repr_html_()
        fewer = data[:1_200_000]
        assert "e+06" not in repr(ss.sum(fewer, 0, 1, epsilon=1, by=["x"] * len(fewer), groups=["x"]))

    def test_cells_are_named_by_their_edges_in_full(self):
        cells = ss.histogram([1.0], [0, 1_000_000, 2_500_000.0], epsilon=1)
        assert "1,000,000 to 2,500,000" in cells._repr_html_()
        table = {"ward": [1, 2], "year": [2020, 2021], "x": [1.0, 2.0]}
        by = {"by": ["ward", "year"], "groups": [[1], [2020, 2021]]}
        assert list(map(ss.count(table, 1, **by).label, [(1, 2020), (1, 2021)])) == [
            "1, 2020",
            "1, 2021",
        ]
        both = ss.histogram(table, [0, 1000, 2000], 1, column="x", **by)
        assert both.label((1, 2020, (0, 1000))) == "1, 2020, 0 to 1,000"

    def test_a_column_has_one_number_of_decimals(self):
        """Of groups whose intervals differ a hundredfold in width; and no interval is shown narrower than it is."""
        table = {"x": [0.25] * 10_000 + [0.75] * 40, "k": ["many"] * 10_000 + ["few"] * 40}
        means = ss.mean(table, 0, 1, epsilon=1, column="x", by="k", groups=["many", "few"])
        rows = means.rows(means)
        decimals = {len(cell.partition(".")[2]) for _, value, both in rows for cell in (value, *both.split(" to "))}
        assert len(decimals) == 1
        assert decimals.pop() >= 3
        for group, value, both in rows:
            low, high = map(Fraction, both.split(" to "))
            assert low <= means[group].exact_interval()[0]
            assert means[group].exact_interval()[1] <= high
            assert re.search(rf"{group} +{value} +{both}\n", repr(means))
            assert re.search(rf">{group}</th><td[^>]*>{value}</td><td[^>]*>{both}</td>", means._repr_html_())

    @given(st.lists(st.tuples(NUMBERS, WIDTHS, WIDTHS), min_size=1))
    def test_digits_in_one_column_are_those_that_the_narrowest_interval_needs(self, rows):
        ends = [(middle - below, middle + above) for middle, below, above in rows]
        shown = estimates([(middle, *both) for (middle, _, _), both in zip(rows, ends, strict=True)])
        for (low, high), (_, text) in zip(ends, shown, strict=True):
            least, most = (Fraction(end.replace(",", "")) for end in text.split(" to "))
            assert least <= low <= high <= most
            assert least < most or low == high
        cells = [cell for value, text in shown for cell in (value, *text.split(" to "))]
        assert len({len(cell.partition(".")[2]) for cell in cells}) == 1

    def test_many_groups_are_a_short_table_of_the_first_and_the_last(self, silent):
        names = [f"g{i}" for i in range(48)]
        many = ss.count({"k": names}, 1, by="k", groups=names)
        lines = [line.split() for line in repr(many).splitlines()]
        assert lines[0] == ["<count", "by", "k,", "48", "groups"]
        assert lines[1] == ["k", "value", "95%", "interval"]
        assert [line[0] for line in lines[2:13]] == [*names[:5], "...", *names[-5:]]
        assert lines[7] == ["...", "38", "more"]
        assert lines[2][1:] == ["1", "-2", "to", "4"]
        assert max(map(len, repr(many).splitlines())) <= 80
        assert "more" not in repr(ss.count({"k": names}, 1, by="k", groups=names[:12]))  # as many as a year has months
        assert "... 3 more" in repr(ss.count({"k": names}, 1, by="k", groups=names[:13]))
        html = ss.count({"k": names}, 1, by="k", groups=[*names, *map(str, range(952))])._repr_html_()
        assert html.count("<tr>") == 62
        assert ">... 940 more</th>" in html
        assert ">951</th>" in html

    def test_what_an_interval_is_for_is_said_beside_it(self):
        one, groups = ss.sum(TABLE, 0, 9, 1, column="pay"), ss.mean(TABLE, 0, 9, 1, column="pay", **BY)
        several = ss.release(TABLE, [ss.Sum("pay", 0, 9), ss.Count()], 1)
        for outcome, said in (
            (one, "the sum of values clamped to [0, 9]"),
            (groups, "the mean of values clamped to [0, 9]"),
            (several, "the sum of values clamped to [0, 9]"),
            (several, "the count"),
        ):
            assert said in " ".join(repr(outcome).split())
            assert said in outcome._repr_html_()
        held = ss.count(TABLE, 1, privacy_unit="dept", max_rows=2)
        assert ", for the count, within the limits for each person; " in repr(held)
        assert repr(one).startswith(f"<sum {one.shown()[0]} (95% interval {one.shown()[1]}, for the sum of values ")

    def test_columns_of_a_table_are_called_what_groups_are_by(self):
        by_age = ss.sum(TABLE, 0, 9, 1, column="pay", by=["dept", "age"], groups=[["a"], [30]])
        assert by_age.headings == ["dept", "age"]
        assert ss.histogram(TABLE, [0, 9], 1, column="pay", **BY).headings == ["dept", "cell"]
        assert repr(ss.sum([1.0], 0, 9, 1, by=["x"], groups=["x"])).startswith("<sum by group, 1 group\n  group  value")
        assert ss.sum(TABLE, 0, 9, 1, column="pay", **BY).to_arrow().column_names[0] == "dept"

    def test_one_column_of_groups_keeps_its_name_in_every_frame(self):
        def first(by, **options):
            made = ss.count({by: ["a"]}, 1, by=by, groups=["a"], **options)
            assert made.to_pandas().columns[0] == made.to_polars().columns[0] == made.to_arrow().column_names[0]
            return made.to_arrow().column_names[0]

        assert first("dept") == "dept"
        assert first("group") == "group"
        for taken in ("value", "low", "high", "informative", "cell", "category", "from", "to"):
            assert first(taken) == f"{taken}_group"
        assert ss.count(["a"], 1, by=["a"], groups=["a"]).to_arrow().column_names[0] == "group"  # without a name
        days = ss.count({"seen": ["2024-01-02"]}, 1, by=ss.month("seen", "2024-01", "2024-02"))
        assert days.to_arrow().column_names[0] == "seen_month"
        cells = ss.histogram({"x": [1], "dept": ["a"]}, [0, 2], 1, column="x", by="dept", groups=["a"])
        assert cells.to_arrow().column_names[:3] == ["dept", "from", "to"]
        several = ss.release({"name": ["a"]}, [ss.Count()], 1, by="name", groups=["a"])
        assert several.to_arrow().column_names[:2] == ["name", "name_group"]

    def test_groups_are_found_as_they_are_printed(self):
        cells = ss.histogram(TABLE, [0, 40, 1000], 1, column="age", by="dept", groups=["a", "b"])
        assert cells["a", "40 to 1,000"].group == ("a", (40, 1000))
        assert ss.count({"year": [2020]}, 1, by="year", groups=[2020])["2020"].group == 2020
        assert ss.count({"k": [1]}, 1, by="k", groups=[1, 2])[1].group == 1

    def test_plurals(self):
        for names, said in ((["a"], "1 category"), (["a", "b", "c"], "3 categories")):
            assert f"<histogram, {said}\n" in repr(ss.histogram(["a", "b"], categories=names, epsilon=1))
        assert "1 group\n" in repr(ss.sum(TABLE, 0, 9, 1, column="pay", by="dept", groups=["a"]))
        one = ss.sum(TABLE, 0, 9, 1, column="pay", where=[("age", ">", 5)])
        assert one.to_dict()["unit"] == "one record"

    def test_sensitivities_are_numbers(self):
        assert ss.sum(np.array([1], np.int64), -(2**62), 2**62, epsilon=1).sensitivity == "4.611686e+18"
        assert ss.sum([1.0], 0, 2.0**-20, epsilon=1).sensitivity == "9.536743e-07"


class TestFrames:
    def test_one_release(self, silent):
        r = ss.sum(TABLE, 0, 9, epsilon=1, column="pay")
        low, high = r.interval(0.9)
        expected = {"statistic": ["sum"], "column": ["pay"], "value": [7.75], "low": [low], "high": [high]}
        expected["informative"] = [True]
        assert r.to_arrow(0.9).to_pydict() == expected
        assert r.to_pandas(0.9).to_dict("list") == expected
        assert r.to_polars(0.9).to_dict(as_series=False) == expected

    def test_by_group(self, silent):
        groups = ss.sum(TABLE, 0, 9, epsilon=1, column="pay", **BY)
        assert isinstance(groups.to_pandas(), pd.DataFrame)
        assert isinstance(groups.to_polars(), pl.DataFrame)
        assert groups.to_polars()["value"].to_list() == groups.to_pandas()["value"].tolist() == [5.5, 2.25]
        said = json.loads(groups.to_json())
        assert [(one["group"], one["value"]) for one in said["releases"]] == [("a", 5.5), ("b", 2.25)]
        assert all(compare_release(one) == [] for one in said["releases"])

    def test_several(self, silent):
        several = ss.release(TABLE, ASKED, epsilon=1)
        frame = several.to_pandas()
        assert frame.columns.tolist() == ["name", "from", "to", "value", "low", "high", "informative"]
        assert frame["name"].tolist() == ["total", "staff", "ages", "ages"]
        assert frame["value"].tolist() == [7.75, 3, 1, 2]
        assert several.to_polars()["to"].to_list() == [None, None, 40, 90]
        said = json.loads(several.to_json())["releases"]
        assert [one["name"] for one in said] == ["total", "staff", "ages", "ages"]
        assert all(compare_release(one) == [] for one in said)
        everything = (several, several.to_dict(), several.to_json(), several["total"], several["ages"], said, said[0])
        for one in (*everything, several["ages"].to_json(), several["total"].certificate):
            assert ss.check(one) == []
        wrong = [said[0], {**said[1], "exact": "1/2"}, {**said[2], "certificate": {}}]
        found = ss.check({"releases": wrong})
        assert [problem.partition(":")[0] for problem in found] == ["release 2", "release 3"]
        assert ss.check(wrong[1])[0].startswith("exact: ")
        whole = ss.release(TABLE, [ss.Count(), ss.Count("age")], epsilon=1, **BY).to_arrow()
        assert whole.schema.field("value").type == "int64"
        assert whole.column("dept").to_pylist() == ["a", "b", "a", "b"]

    def test_keys_without_a_common_type_are_text(self):
        several = ss.release(TABLE, [ss.Histogram("dept", categories=["a"]), ss.Histogram("age", categories=[30])], 1)
        assert several.to_arrow().column("category").to_pylist() == ["a", "30"]

    def test_what_is_not_installed_is_named(self):
        code = "import sys; sys.modules['pandas'] = None\nimport soundsum as ss\nss.count([1], 1).to_pandas()"
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert (
            ran.stderr.splitlines()[-1] == "ImportError: to_pandas() needs pandas; install it with: pip install pandas"
        )


class TestSeveral:
    def test_by_name_and_by_place(self, silent):
        several = ss.release(TABLE, ASKED, epsilon=1)
        assert several.names == ("total", "staff", "ages")
        assert several["total"].value == several[0].value == 7.75
        total, staff, _ages = several
        assert (total.value, staff.value) == (7.75, 3)
        with pytest.raises(KeyError, match="there is no 'sum'; there are total, staff, ages"):
            several["sum"]
        assert pickle.loads(pickle.dumps(several[:1])) == several[:1]
        assert pickle.loads(pickle.dumps(several)).names == several.names

    def test_without_names_they_are_called_what_they_are(self):
        asked = [ss.Sum("pay", 0, 9), ss.Mean("pay", 0, 9), ss.Sum("pay", 0, 5), ss.Count()]
        assert ss.release(TABLE, asked, 1).names == ("sum of pay", "mean of pay", "sum of pay (2)", "count")

    def test_weights_divide_the_cost_exactly(self, recorded):
        several = ss.release(TABLE, ASKED, epsilon="1/2")
        assert [one.guarantee.epsilon for one in (several[0], several[1], next(iter(several[2].values())))] == [
            Fraction(3, 10),
            Fraction(1, 10),
            Fraction(1, 10),
        ]
        assert recorded[1:] == [10, 10]  # a count moves by 1
        assert all(ss.check(one["certificate"]) == [] for one in several.to_dict()["releases"])

    def test_what_needs_no_noise_takes_no_share(self, recorded):
        asked = [ss.Sum("pay", 0, 9, weight=2), ss.Count(weight=100), ss.Mean("age", 0, 90, weight="0.5")]
        several = ss.release(TABLE, asked, epsilon=1, relation="change_one")
        assert [several[0].epsilon, several[2].epsilon] == [Fraction(4, 5), Fraction(1, 5)]
        assert several[1].epsilon <= 1

    @pytest.mark.parametrize("weight", [0, -1, math.inf, math.nan, "x", None])
    def test_weights_that_are_none(self, weight):
        budget = ss.Budget(epsilon=1)
        with pytest.raises((ValueError, TypeError), match="weight="):
            ss.release(TABLE, [ss.Sum("pay", 0, 9, weight=weight), ss.Count()], epsilon=1, budget=budget)
        assert budget.entries() == []

    def test_names_are_texts(self):
        for asked in ({1: ss.Count()}, {}, [], "count", [1], {"n": 1}, ss.Count()):
            with pytest.raises((ValueError, TypeError)):
                ss.release(TABLE, asked, epsilon=1)

    def test_an_owner_can_name_and_weigh_them(self, silent):
        owner = ss.Private(TABLE, budget=ss.Budget(epsilon=1))
        assert owner.release(ASKED, epsilon=1)["total"].epsilon == Fraction(3, 5)


class TestLedger:
    def test_a_ledger_says_what_was_asked_of_what(self, tmp_path):
        path = tmp_path / "visits.csv"
        path.write_text("cost,ward,id\n1,a,1\n2,b,2\n")
        budget = ss.Budget(epsilon=9, path=tmp_path / "ledger.db", privacy_unit="id")
        ss.sum(path, 0.1, 1000, epsilon=1, column="cost", privacy_unit="id", max_rows=2, by="ward", groups=["a", "b"],
               where=[("cost", "<=", 500.0)], max_groups=2, budget=budget)  # fmt: skip
        ss.release(path, [ss.Mean("cost", 0, 9, weight=2), ss.Count()], epsilon=1, privacy_unit="id", budget=budget)
        ss.count({"id": [1, 2]}, epsilon=1, privacy_unit="id", budget=budget)
        assert [entry.what for entry in budget.entries()] == [
            "sum of cost from visits.csv, float64 in [0.1, 1,000], by ward, where cost <= 500.0, "
            "missing values as 0.1, protecting one person (with at most 2 rows in a group, in at most 2 of 2 groups), "
            "symmetric neighbours",
            "mean of cost from visits.csv, float64 in [0, 9], missing values left out, "
            "protecting one person (with at most 1 row), symmetric neighbours, 2/3 of the cost; "
            "count from visits.csv, rows with missing values counted, "
            "protecting one person (with at most 1 row), symmetric neighbours, 1/3 of the cost",
            "count from a dict, rows with missing values counted, protecting one person (with at most 1 row), "
            "symmetric neighbours",
        ]

    def test_the_ledger_says_which_file_was_read_and_an_owner_shows_no_path(self, tmp_path):
        path = tmp_path / "secret_clinic.csv"
        path.write_text("x\n1\n")
        named, owned = ss.Budget(epsilon=1, data="visits"), ss.Budget(epsilon=1)
        ss.count(path, epsilon=1, name="visits", budget=named)
        released = ss.Private(path, budget=owned).count(epsilon=1)
        assert named.entries()[0].what.startswith("count from secret_clinic.csv,")
        assert owned.entries()[0].what.startswith("count from a private table,")
        assert "secret_clinic" not in released.to_json()

    def test_every_release_of_a_weighted_request_is_found_in_its_ledger(self, tmp_path):
        from soundsum.budget.ledger import read

        budget = ss.Budget(epsilon=1, path=tmp_path / "l.db")
        several = ss.release(TABLE, ASKED, epsilon=1, budget=budget)
        said = json.loads(several.to_json())["releases"]
        assert compare_with_ledger(said, read(budget.path)) == [[]] * 4
        forged = ss.sum(TABLE, 0, 9, epsilon=1, column="pay").to_dict()  # all of the epsilon, where 3/5 were paid
        (problem,) = compare_release({**forged, "ledger": said[0]["ledger"]})
        assert problem == "the certificate promises epsilon = 1, and 3/5 of the charge is epsilon = 3/5"


class TestBins:
    @pytest.mark.parametrize("bins, lower, upper", [(20, 0, 100), (3, 0, 1), (7, -2.5, 4.75), (1, 0, 1)])
    def test_as_numpy_has_them(self, silent, same_draws, bins, lower, upper):
        data = np.random.default_rng().uniform(lower - 1, upper + 1, 5000)
        cells = ss.histogram(data, bins=bins, lower=lower, upper=upper, epsilon=1)
        counts, edges = np.histogram(data, bins=bins, range=(lower, upper))
        assert [r.value for r in cells.values()] == counts.tolist()
        assert [low for low, _ in cells] + [upper] == pytest.approx(edges)

    def test_an_owners_bounds(self, silent):
        owner = ss.Private({"x": [1, 9]}, budget=ss.Budget(epsilon=9), schema={"x": ("float64", 0, 10)})
        assert [r.value for r in owner.histogram("x", bins=2, epsilon=1).values()] == [1, 1]

    @pytest.mark.parametrize(
        "options, message",
        [
            ({}, "none of them is given"),
            ({"edges": [0, 1], "bins": 2}, "edges and bins are given"),
            ({"edges": [0, 1], "categories": ["a"]}, "edges and categories are given"),
            ({"bins": 5}, "bins=5 needs lower= and upper="),
            ({"bins": 0, "lower": 0, "upper": 1}, "bins=0: give the number of cells"),
            ({"bins": [0, 1], "lower": 0, "upper": 1}, r"edges=\[0, 10, 20\]"),
            ({"bins": 2, "lower": 1, "upper": 1}, "the lower below the upper"),
            ({"edges": [0, 1], "lower": 0}, "lower= and upper= go with bins="),
        ],
    )
    def test_refused(self, options, message):
        with pytest.raises(ValueError, match=message):
            ss.histogram([1.0], epsilon=1, **options)


@pytest.mark.parametrize("given", ["release.json", "[1, 2]", "3", 5, [], None, Path("release.json"), {"releases": []}])
def test_what_cannot_be_checked_is_refused_with_the_way(given):
    with pytest.raises((ValueError, TypeError)) as refused:
        ss.check(given)
    assert "give a release, its certificate, or what to_dict() or to_json() wrote" in str(refused.value)
    assert str(refused.value).endswith("of a file, soundsum check FILE")


@pytest.mark.parametrize(
    "claimed, found",
    [
        ({"privacy_unit": "patient"}, "privacy_unit"),
        ({"exact": "1/3", "value": 1 / 3}, "exact"),
        ({"exact": 5}, "exact"),
        ({"releases": [], "exact": "77", "value": 77}, "releases"),
    ],
)
def test_what_a_release_cannot_claim(claimed, found):
    said = json.loads(ss.sum([1.0, 2.0], 0, 1, 1).to_json())
    assert ss.check(said) == []
    assert ss.check([ss.sum([1.0], 0, 1, 1), said]) == []
    assert any(found in problem for problem in ss.check({**said, **claimed}))


def test_nested_beyond_reading_is_not_json():
    with refused("release", Reason.MALFORMED, ValueError):
        ss.check("[" * 100_000)


@pytest.mark.parametrize("make", [ss.mean, ss.variance, ss.sum], ids=lambda make: make.__name__)
def test_every_number_of_a_release_follows_from_its_noisy_sums(make):
    said = make([0.0, 40.0, 90.0] * 1000, 0, 100, epsilon=1).to_dict()  # enough that none is held at its bounds
    first, *others = said["noisy"]
    moved = {**said, "noisy": [str(int(first) + 2**40), *others]}
    assert ss.check(moved)
    for odd in (None, [], said["noisy"] * 2, [int(first), *others], [f"0{first}", *others], [f"{first}.0", *others]):
        assert ss.check({**said, "noisy": odd})[0].startswith("noisy: ")
