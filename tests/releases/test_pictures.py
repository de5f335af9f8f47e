"""What a notebook shows: tables for everything that has one, escaped, and pictures where matplotlib is installed."""

import io
import itertools
import math
import re
import subprocess
import sys
from html.parser import HTMLParser

import matplotlib
import matplotlib.pyplot
import numpy as np
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.refusing import refused

matplotlib.use("Agg")

TABLE = {"pay": np.arange(100.0), "<b>": ["a&b", "<i>"] * 50}
BY = {"by": "<b>", "groups": ["a&b", "<i>"]}
PROBLEM = ss.Problem("float32", 0, 1, "change_one", size=1000)


@pytest.fixture(autouse=True)
def close():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


class Cells(HTMLParser):
    """The text of every cell, and the tags that are open when it comes."""

    def __init__(self, page):
        super().__init__()
        self.cells, self.open = [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in ("table", "caption", "tr", "th", "td", "p"), tag
        self.open.append(tag)
        if tag in ("th", "td", "caption"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1] in ("th", "td", "caption"):
            self.cells[-1] += data


def spent():
    budget = ss.Budget(epsilon=2)
    ss.sum(TABLE, 0, 9, 1, column="pay", **BY, budget=budget)
    return budget


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: ss.sum(TABLE, 0, 9, 1, column="pay"), ["Private sum", "95% interval", "missing values as 0"]),
        (lambda: ss.sum(TABLE, 0, 9, 1, column="pay", **BY), ["a&b", "<i>", "95% interval"]),
        (lambda: ss.release(TABLE, {"<x>": ss.Count(), "y": ss.Mean("pay", 0, 9)}, 1), ["<x>", "y", "promise"]),
        (lambda: ss.release(TABLE, {"<x>": ss.Count()}, 1, **BY), ["<x>", "a&b", "95% interval"]),
        (lambda: ss.plan(PROBLEM), ["method", "sensitivity", "theorem"]),
        (lambda: next(p for p in ss.plans(PROBLEM) if p.unmet), ["does not apply"]),
        (lambda: ss.plans(PROBLEM), ["method", "ratio", "grid", "kahan", "how, or why not"]),
        (lambda: ss.attack("rounding", dtype="float32"), ["what", "left", "right", "computed"]),
        (spent, ["when (UTC)", "cost", "epsilon = 1"]),
    ],
)
def test_everything_is_a_table(make, words):
    made = make()
    cells = Cells(made._repr_html_()).cells
    for word in words:
        assert any(word in cell for cell in cells), (word, cells)


def test_numbers_stand_to_the_right_and_words_to_the_left():
    """Notebooks would put all to the right, and break captions to the width of the table."""
    page = ss.sum(TABLE, 0, 9, 1, column="pay", **BY)._repr_html_()
    head, *rows = re.findall("<tr>(.*?)</tr>", page)
    for row in (head, *rows):
        assert re.findall(r"text-align: (\w+)", row) == ["left", "right", "right"]
    caption, below = re.search("<caption[^>]*>(.*?)</caption>.*<p[^>]*>(.*)</p>", page).groups()
    assert caption == "Private sum of pay by &lt;b&gt;, 2 groups"
    assert "epsilon=1 for one record" in below
    assert re.findall(r"text-align: (\w+)", ss.plan(PROBLEM)._repr_html_()).count("right") == 0


def test_plans_are_a_list_and_their_table_says_the_same():
    plans = ss.plans(PROBLEM)
    assert isinstance(plans, list)
    cells = Cells(plans._repr_html_()).cells
    assert [p.method for p in plans] == cells[5::4]
    assert all(reason in " ".join(cells) for p in plans for reason in p.unmet)


def bars(axes):
    return [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_height()) for bar in axes.patches]


def test_intervals_by_group():
    groups = ss.sum(TABLE, 0, 9, 1, column="pay", **BY)
    axes = groups.plot(confidence=0.9)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a&b", "<i>"]
    points, _, (segments,) = axes.containers[0].lines
    assert points.get_xdata().tolist() == [r.value for r in groups.values()]
    drawn = [(line[0][0], line[1][0]) for line in segments.get_segments()]
    assert np.allclose(drawn, [r.interval(0.9) for r in groups.values()])
    assert "90%" in axes.get_xlabel()


def test_a_histogram_has_bars_with_error_bars():
    cells = ss.histogram(TABLE, [0, 10, 50, 100], epsilon=1, column="pay")
    axes = cells.plot()
    assert bars(axes) == [(low, high, cells[low, high].value) for low, high in cells]
    assert axes.containers[0].has_yerr or any(one.has_yerr for one in axes.containers if hasattr(one, "has_yerr"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ss.histogram(TABLE, epsilon=1, column="<b>", categories=["a&b", "<i>", "c"]),
        lambda: ss.histogram(TABLE, [0, 50, 100], 1, column="pay", **BY),
        lambda: ss.histogram(TABLE, [-math.inf, 50, math.inf], 1, column="pay"),
    ],
)
def test_other_cells_have_bars_from_0_with_intervals_beside_their_names(make):
    cells = make()
    axes = cells.plot()
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, one.value) for one in cells.values()]
    assert [label.get_text() for label in axes.get_yticklabels()] == [cells.label(cell) for cell in cells]
    drawn = [(line[0][0], line[1][0]) for line in axes.collections[0].get_segments()]
    assert np.allclose(drawn, [one.interval() for one in cells.values()])


def test_advice_shows_the_cells_that_stand_out_and_a_few_beside_them():
    axes = ss.suggest_bounds(np.tile([15.0, 150.0], 900), 1).plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["1 to 2", "2 to 5", "5 to 10", "10 to 20", "20 to 50", "50 to 100", "100 to 200", "200 to 500",
                     "500 to 1,000", "1,000 to 2,000"]  # fmt: skip
    quiet = next(one for one in iter(lambda: ss.suggest_bounds(np.zeros(3), 1), None) if not one)  # 19 of 20 are
    assert len(quiet.plot().patches) > 100  # as nothing stands out
    shares = ss.release(np.arange(9.0), [ss.Clipped(None, 0, 5)], 9)[0].plot()
    assert [label.get_text() for label in shares.get_yticklabels()] == ["below 0", "0 to 5", "above 5"]
    assert len(shares.patches) == 3


def test_one_number_several_and_given_axes():
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert ss.count(TABLE, 1).plot(ax=axes) is axes
    several = ss.release(TABLE, {"n": ss.Count(), "h": ss.Histogram("pay", [0, 50, 100])}, 1).plot()
    assert [label.get_text() for label in several.get_yticklabels()] == ["n", "h, 0 to 50", "h, 50 to 100"]


def test_sums_means_and_counts_have_axes_of_their_own():
    from matplotlib import pyplot

    asked = {"total": ss.Sum("pay", 0, 9), "mean": ss.Mean("pay", 0, 9), "n": ss.Count(), "m": ss.Count("pay")}
    several = ss.release(TABLE, asked, 1, **BY)
    total, mean, counts = several.plot()
    assert [axes.get_xlabel() for axes in (total, mean, counts)] == [
        f"{what}, 95% interval of the noise" for what in ("sum of pay", "mean of pay", "count")
    ]
    assert total.containers[0].lines[0].get_xdata().tolist() == [one.value for one in several["total"].values()]
    assert labels(counts.get_yticklabels()) == ["n, a&b", "n, <i>", "m, a&b", "m, <i>"]
    assert total.get_title(loc="left") == "total: Private sum of pay by <b>; epsilon=0.25"
    given = pyplot.subplots(3)[1]
    assert several.plot(ax=given)[0] is given[0]
    with refused("ax", Reason.MISMATCH, ValueError):
        several.plot(ax=given[0])


def labels(texts):
    return [text.get_text() for text in texts]


def drawn(axis):
    """The labels of an axis that are in sight."""
    low, high = sorted(axis.get_view_interval())
    return [tick.label1 for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


def boxes(figure, texts):
    """Where texts are in a figure as it is saved, in pixels."""
    renderer = figure.canvas.get_renderer()
    return [text.get_window_extent(renderer) for text in texts if text.get_text() and text.get_visible()]


LONG = "a department with a long name, and then some more of it"
MONTHS = ss.month("day", "2024-01", "2025-12")
WIDE = {"pay": np.arange(200.0), "k": [f"group {i}" for i in range(200)], "d": [LONG, "b"] * 100,
        "day": np.datetime64("2024-01-01") + np.arange(0, 600, 3).astype("m8[D]")}  # fmt: skip


@pytest.mark.parametrize(
    "make",
    [
        lambda: ss.sum(WIDE, 0, 9, 1, column="pay"),
        lambda: ss.sum(WIDE, 0, 9e9, 1, column="pay", by="k", groups=WIDE["k"][:48]),
        lambda: ss.mean(WIDE, 0, 9, 1, column="pay", by="k", groups=WIDE["k"]),
        lambda: ss.count(WIDE, 1, by="d", groups=[LONG, "b"], where=[("d", "==", LONG), ("pay", ">", 5)]),
        lambda: ss.sum(WIDE, 0, 9e9, 1, column="pay", by=MONTHS),
        lambda: ss.sum(WIDE, 0, 9e9, 1, column="pay", by=["d", MONTHS], groups=[[LONG, "b"], None]),
        lambda: ss.histogram(WIDE, [0, 1, 2, 1e6, 2e6], 1, column="pay"),
        lambda: ss.histogram(WIDE, [1e6 + i for i in range(12)], 1, column="pay"),
        lambda: ss.histogram(WIDE, [-math.inf, 0, math.inf], 1, column="pay"),
        lambda: ss.histogram(WIDE, epsilon=1, column="d", categories=[LONG, "b"]),
        lambda: ss.suggest_bounds(WIDE, 9, column="pay"),
        lambda: ss.release(WIDE, {"t": ss.Sum("pay", 0, 9e9), "m": ss.Mean("pay", 0, 9)}, 1, by=MONTHS),
        lambda: ss.plans(PROBLEM),
    ],
)  # fmt: skip
def test_nothing_is_cut_and_no_labels_overlap(make):
    every = np.atleast_1d(make().plot())
    figure = every[0].figure
    figure.savefig(io.BytesIO())
    page = figure.bbox
    for axes in every:
        assert axes.get_title(loc="left")
        titles = [axes._left_title, axes.xaxis.label, axes.yaxis.label]
        for box in boxes(figure, [*titles, *drawn(axes.xaxis), *drawn(axes.yaxis)]):
            assert page.x0 - 1 <= box.x0 < box.x1 <= page.x1 + 1, box
            assert page.y0 - 1 <= box.y0 < box.y1 <= page.y1 + 1, box
        ends = sorted((box.y0, box.y1) for box in boxes(figure, drawn(axes.yaxis)))
        assert ends
        assert all(top <= bottom + 1 for (_, top), (bottom, _) in itertools.pairwise(ends))
        if not any(label.get_rotation() for label in drawn(axes.xaxis)):
            below = sorted((box.x0, box.x1) for box in boxes(figure, drawn(axes.xaxis)))
            assert all(right <= left + 1 for (_, right), (left, _) in itertools.pairwise(below))
        assert axes.get_window_extent().width > page.width / 3


def test_a_figure_has_room_for_the_name_of_every_one_of_48_groups():
    names = WIDE["k"][:48]
    axes = ss.mean(WIDE, 0, 9, 1, column="pay", by="k", groups=names).plot()
    assert labels(axes.get_yticklabels()) == names
    _, given = matplotlib.pyplot.subplots()
    few = labels(ss.mean(WIDE, 0, 9, 1, column="pay", by="k", groups=names).plot(ax=given).get_yticklabels())
    assert few[0] == names[0]
    assert 10 < len(few) < 48


def test_months_are_along_an_axis_of_time_with_a_line_for_each_other_group():
    by_month = ss.count(WIDE, 1, by=MONTHS)
    points = by_month.plot().containers[0].lines[0]
    assert points.get_xdata().tolist() == list(by_month)
    assert points.get_ydata().tolist() == [one.value for one in by_month.values()]
    both = ss.count(WIDE, 1, by=["d", MONTHS], groups=[["b", LONG], None])
    axes = both.plot()
    assert labels(axes.get_legend().get_texts()) == ["b", "a department with a long na..."]
    figure = axes.figure
    figure.savefig(io.BytesIO())
    legend = axes.get_legend().get_window_extent()
    assert axes.get_window_extent().x1 < legend.x0 < legend.x1 <= figure.bbox.x1  # covers nothing, and is not cut
    assert axes.containers[1].lines[0].get_ydata().tolist() == [both[LONG, month].value for month in by_month]
    many = ss.count(WIDE, 1, by=["k", ss.year("day", 2024, 2024)], groups=[WIDE["k"][:11], None]).plot()
    assert labels(many.get_yticklabels())[0] == "group 0, 2024"


def test_ratios_against_n():
    axes = ss.plans(PROBLEM).plot(most=1 << 8)
    named = [(line.get_label().split(", "), line) for line in axes.get_lines()]
    lines = {method: line for methods, line in named for method in methods}
    assert {"grid", "kahan", "iterated", "toward_zero"} <= set(lines)
    assert lines["grid"] is lines["grid_randomised"]  # which cost the same
    assert "iterated" in labels(axes.get_legend().get_texts())[0]  # which costs most
    assert len({line.get_color() for line in axes.get_lines()}) == len(named)
    n, ratio = map(np.asarray, lines["iterated"].get_data())
    assert n.max() == 256
    at = ss.Problem("float32", 0, 1, "change_one", size=256)
    assert ratio[list(n).index(256)] == pytest.approx(float(ss.plan(at, "iterated").ratio))
    unsized = ss.plans(ss.Problem("float32", 0, 1)).plot(most=16)
    assert any("kahan" in line.get_label().split(", ") for line in unsized.get_lines())


def test_without_matplotlib_the_way_is_said():
    code = "import sys; sys.modules['matplotlib'] = None\nimport soundsum as ss\nss.count([1], 1).plot()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert re.search(r"ImportError: plot\(\) needs matplotlib; install it with: pip install matplotlib", ran.stderr)


@pytest.mark.parametrize("name", ["$\\foo$", "$10 to $20", "a\nb", "\x1b[31m", "\ud800", "\t"])
def test_names_are_drawn_as_they_are(name):
    """Two dollars are no mathematics, and nothing that cannot be drawn raises."""
    table = {name: [1.0, 2.0], "group": [name, "b"]}
    made = ss.sum(table, 0, 9, 1, column=name, by="group", groups=[name, "b"])
    several = ss.release(table, {name: ss.Sum(name, 0, 9), "n": ss.Count()}, 1, by="group", groups=[name, "b"])
    for axes in (made.plot(), *several.plot()):
        axes.figure.savefig(io.BytesIO())
        assert not any("$" in text.get_text().replace("\\$", "") for text in axes.get_yticklabels())
        assert not any(text.get_text().count("\n") for text in axes.get_yticklabels())


@pytest.mark.parametrize("name", ["a\nb", "a\rb", "\x1b[2J", "\u202eb", "a\u2028b"])
def test_no_name_breaks_a_table(name):
    table = {name: [1.0, 2.0], "by": [name, "b"]}
    made = ss.release(table, {name: ss.Sum(name, 0, 9)}, 1, by="by", groups=[name, "b"])
    alone = ss.sum(table, 0, 9, 1, column="by", dtype="float64", by=name, groups=[1.0, 2.0])
    for said in (repr(made), made._repr_html_(), repr(alone), alone._repr_html_()):
        assert name not in said
    assert len(repr(made[0]).splitlines()) == 6
    assert made[0].to_arrow()["group"].to_pylist() == [name, "b"]
    assert made[0][name].group == name


def test_groups_by_a_column_called_name_are_beside_the_names():
    table = {"x": [1.0], "name": ["a"], "ward": ["b"]}
    made = ss.release(table, [ss.Sum("x", 0, 1), ss.Count()], 1, by=["name", "ward"], groups=[("a", "b")])
    assert made.to_arrow().column_names == ["name", "name_group", "ward", "value", "low", "high", "informative"]
    assert made.to_arrow().select(["name", "name_group"]).to_pylist()[0] == {"name": "sum of x", "name_group": "a"}
