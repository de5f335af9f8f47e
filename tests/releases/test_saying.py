"""Nothing false on the screen: what an interval is about, values that say nothing, and columns without a type."""

import datetime
import itertools
import json
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from io import BytesIO

import matplotlib
import numpy as np
import pyarrow as pa
import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.releases.plots import Panel, draw_intervals

matplotlib.use("Agg")

INT8 = np.full(100, 100, np.int8)
FLOATS = np.full(100, 1.0)
UNDECLARED = "the column's type is not declared, and cells that are not numbers count as missing"


def flat(text):
    return " ".join(text.split())


COVERED = {
    "modular": (lambda: ss.sum(INT8, 0, 1, 1, method="modular"), "values clamped to [0, 1], modulo 256"),
    "unsigned": (lambda: ss.sum(INT8.view(np.uint8), 0, 1, 1, method="split_modular"), "[0, 1], modulo 256"),
    "decimals": (
        lambda: ss.sum(pa.table({"p": [Decimal("1.50")]}), 0, 2, 1, column="p", method="modular"),
        "values clamped to [0, 2], modulo 2^64 times 0.01",
    ),
    "saturating": (
        lambda: ss.sum(INT8, -128, 127, 1, method="saturating"),
        "values clamped to [-128, 127], saturated at the limits of the integer type",
    ),
    "split": (lambda: ss.sum(INT8, -128, 127, 1, method="split"), "saturated at the limits of the integer type"),
    "truncated": (
        lambda: ss.sum(INT8, 0, 1, 1, method="checked", max_size=50, relation="insert_delete"),
        "the sum of values clamped to [0, 1], the first 50 of them",
    ),
    "permuted": (
        lambda: ss.sum(FLOATS, 0, 1, 1, method="kahan", max_size=50),
        "the sum of values clamped to [0, 1], at most 50 of them, chosen at random, each addition rounded",
    ),
    "halves": (
        lambda: ss.sum(FLOATS, -1, 1, 1, method="split_kahan", max_size=50),
        "at most 50 of each sign, chosen at random",
    ),
    "floats": (
        lambda: ss.sum(FLOATS, 0, 1, 1, method="iterated", relation="change_one"),
        "the sum of values clamped to [0, 1], each addition rounded",
    ),
}


@pytest.mark.parametrize("make, said", COVERED.values(), ids=COVERED)
def test_an_interval_says_what_sum_it_is_about(make, said):
    made = make()
    for text in (repr(made), made._repr_html_(), made.facts.covered):
        assert said in text
    assert ss.check(made) == []


def test_a_sum_that_is_the_sum_is_called_that():
    for made in (
        ss.sum(INT8, -128, 127, 1),
        ss.sum(FLOATS, 0, 1, 1),
        ss.sum(INT8, 0, 1, 1, method="saturating", relation="change_one"),  # 100 ones fit
    ):
        assert made.facts.covered.startswith("the sum of values clamped to [")
        assert made.facts.covered.endswith("]")


def test_an_interval_of_a_modular_sum_covers_it_modulo_its_modulus():
    """With noise as wide as the type, it is all of the type, and the value says nothing."""
    wide = ss.sum(INT8, -128, 127, 1, method="modular")
    assert wide.interval() == (-128.0, 127.0)
    assert not wide.informative
    assert repr(wide).startswith("<sum — (95% interval -128 to 127, the whole range, for the sum of values clamped to")
    assert wide.to_dict()["interval_95"] == [-128.0, 127.0]
    assert ss.check({**wide.to_dict(), "interval_95": [-280.0, 486.0]}) != []
    unsigned = ss.sum(INT8.view(np.uint8), 0, 255, 1, method="modular")
    assert unsigned.interval() == (0.0, 255.0)
    ones = np.ones(127, np.int8)
    for _ in range(20):
        narrow = ss.sum(ones, 0, 1, 1, method="modular")
        low, high = narrow.exact_interval(1 - 1e-12)
        assert any(low <= 127 + 256 * turn <= high for turn in (-1, 0, 1))
        assert high - low == 2 * narrow.estimator.noise.half_width(1 - 1e-12)
        assert narrow.informative
        assert -128 <= narrow.exact <= 127


STAFF = {"dept": ["a"] * 5000, "pay": [600.0] * 5000}


def test_a_mean_of_no_rows_is_a_dash_and_not_a_number(silent):
    """With noise of 0 drawn, so that the verdict is always the same; the intervals are those of the real noise."""
    for statistic in (ss.mean, ss.variance):
        made = statistic(STAFF, 0, 1200, 1, column="pay", by="dept", groups=["a", "empty"])
        assert (made["a"].informative, made["empty"].informative) == (True, False)
        row = made.rows(["empty"])[0]
        assert row[1] == "—"
        assert row[2].endswith(", the whole range")
        for text in (repr(made), made._repr_html_()):
            assert "— where the noise leaves the whole range possible" in flat(text)
        table = made.to_arrow().to_pydict()
        assert table["informative"] == [True, False]
        assert table["value"] == [made["a"].value, made["empty"].value]  # kept
        assert [one["informative"] for one in made.to_dict()["releases"]] == [True, False]
        assert ss.check(made) == []
        (panel,) = made.panels()
        assert panel.informative == [True, False]
        axes = made.plot()
        assert "hollow: the whole range is possible" in flat(axes.get_xlabel())
        assert axes.containers[1].lines[0].get_markerfacecolor() == "white"
        pyplot.close("all")
        assert repr(made["empty"]).startswith(f"<{statistic.__name__} — (95% interval 0 to ")


def test_whether_it_is_informative_follows_from_what_was_released(silent):
    made = ss.mean(STAFF, 0, 1200, 1, column="pay", by="dept", groups=["a", "empty"])["empty"].to_dict()
    assert "informative: False follows, True is claimed" in ss.check({**made, "informative": True})
    assert "informative: False follows, 0 is claimed" in ss.check({**made, "informative": 0})


def test_sums_counts_and_exact_values_are_informative():
    table = {"x": [1.0, 2.0]}
    for made in (
        ss.sum(table, 0, 1, "1/1000", column="x"),
        ss.count(table, "1/1000"),
        ss.mean(table, 5, 5, 1, column="x", relation="change_one"),  # nothing but 5, without noise
        *ss.histogram(table, [0, 1, 2], "1/1000", column="x").values(),
    ):
        assert made.informative
        assert "—" not in repr(made)


def test_commands_print_the_dash_with_its_reason_and_csv_keeps_the_value(silent, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("dept,pay\n" + "a,600\n" * 5000)
    asked = ["mean", str(path), "--column", "pay", "--bounds", "0", "1200", "--epsilon", "1", "--by", "dept"]
    asked += ["--groups", "a,empty", "--dtype", "float64"]
    shown = CliRunner().invoke(app, asked, env={"COLUMNS": "140"}).output
    assert " to 1,200.0, the whole range" in shown
    assert "— where the noise leaves the whole range possible" in shown
    header, _, empty = CliRunner().invoke(app, [*asked, "--csv"]).output.splitlines()
    assert header == "dept,value,low,high,informative"
    assert empty.startswith("empty,")
    assert empty.endswith(",0,1200,false")
    assert 0 <= float(empty.split(",")[1]) <= 1200
    said = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    assert [one["informative"] for one in said] == [True, False]


def test_a_column_of_csv_without_a_declared_type_is_said_to_have_none(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("carrier,pay\nAA,$12.00\nBB,7\n")
    for column in ("carrier", "pay"):  # whatever the cells are
        for made in (
            ss.sum(path, 0, 9, 1, column=column),
            ss.mean(path, 0, 9, 1, column=column),
            ss.histogram(path, [0, 5, 9], 1, column=column),
        ):
            assert UNDECLARED in flat(repr(made))
            assert ss.check(made) == []
        assert "the column&#x27;s type is not declared" in ss.sum(path, 0, 9, 1, column=column)._repr_html_()
    asked = ["sum", str(path), "--column", "carrier", "--bounds", "0", "9", "--epsilon", "1"]
    assert UNDECLARED in flat(CliRunner().invoke(app, asked).output)
    assert UNDECLARED not in flat(CliRunner().invoke(app, [*asked, "--dtype", "float64"]).output)
    owner = ss.Private(path, budget=ss.Budget(epsilon=9), schema={"pay": ("float64", 0, 9)})
    declared = (
        owner.sum("pay", epsilon=1),
        ss.sum(path, 0, 9, 1, column="pay", dtype="int64"),
        ss.sum({"pay": np.ones(3)}, 0, 9, 1, column="pay"),
        ss.count(path, 1),
        ss.histogram(path, epsilon=1, column="carrier", categories=["AA"]),
    )
    assert not any(UNDECLARED in flat(repr(made)) for made in declared)
    assert UNDECLARED in repr(ss.Private(path, budget=ss.Budget(epsilon=9)).sum("pay", 0, 9, epsilon=1))


EXTREMES = (0.0, -1e308, 1.7e308, math.inf, -math.inf, math.nan, 5e-324)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["list", "bars", "time", "counts"])
def test_pictures_are_drawn_whatever_the_values_are(kind):
    cells = [(0.0, 5e-324), (1.0, 1e308)] if kind == "bars" else None
    moments = [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)] if kind == "time" else None
    for values in itertools.combinations_with_replacement(EXTREMES, 2):
        panel = Panel("title", "x", ["a", "b"], values, values[::-1], values, [True, False], cells, moments)
        panel = replace(panel, is_counts=kind == "counts")
        draw_intervals(pyplot, [panel], 0.95, None).figure.savefig(BytesIO(), dpi=20)
        pyplot.close("all")


def test_a_value_beyond_every_picture_is_said_to_be_left_out():
    made = ss.sum(np.array([2.0**1023] * 8), 0, 2.0**1023, 10**6)
    assert made.exact > Fraction(10) ** 300
    axes = made.plot()
    assert "values beyond 1e+300 are left out" in flat(axes.get_xlabel())
    axes.figure.savefig(BytesIO())
    pyplot.close("all")
