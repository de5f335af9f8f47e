"""What a notebook shows: tables for everything that has one, escaped, and pictures where matplotlib is installed."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import matplotlib
import numpy as np
import pytest

import soundsum as ss

matplotlib.use("Agg")

TABLE = {"pay": np.arange(100.0), "<b>": ["a&b", "<i>"] * 50}
BY = {"by": "<b>", "groups": ["a&b", "<i>"]}
PROBLEM = ss.Problem("float32", 0, 1, "change_one", size=1000)


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


def test_one_number_several_and_given_axes():
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert ss.count(TABLE, 1).plot(ax=axes) is axes
    several = ss.release(TABLE, {"n": ss.Count(), "h": ss.Histogram("pay", [0, 50, 100])}, 1).plot()
    assert [label.get_text() for label in several.get_yticklabels()] == ["n", "h, 0 to 50", "h, 50 to 100"]
    pyplot.close("all")


def test_ratios_against_n():
    axes = ss.plans(PROBLEM).plot(most=1 << 8)
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert {"grid", "kahan", "iterated", "toward_zero"} <= set(lines)
    n, ratio = lines["iterated"].get_xdata(), lines["iterated"].get_ydata()
    assert n.max() == 256
    at = ss.Problem("float32", 0, 1, "change_one", size=256)
    assert ratio[list(n).index(256)] == pytest.approx(float(ss.plan(at, "iterated").ratio))
    unsized = ss.plans(ss.Problem("float32", 0, 1)).plot(most=16)
    assert "kahan" in {line.get_label() for line in unsized.get_lines()}


def test_without_matplotlib_the_way_is_said():
    code = "import sys; sys.modules['matplotlib'] = None\nimport soundsum as ss\nss.count([1], 1).plot()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert re.search(r"ImportError: plot\(\) needs matplotlib; install it with: pip install matplotlib", ran.stderr)
