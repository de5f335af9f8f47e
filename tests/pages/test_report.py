"""What makes the page: the command, its refusals, and pictures of whatever points there are."""

import math
import re
import sys
from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

from soundsum.cli.app import app
from soundsum.pages.draw import Axis, Label, Line, Look, histograms, line_plot, spread
from soundsum.pages.svg import Scale, coordinate, markup
from soundsum.paper.page import figures, page, write_page
from soundsum.paper.page.figures import apart
from soundsum.paper.page.page_tables import count_rows, describe_check
from soundsum.paper.reproduce import Plot, Reproduction, reproduce
from soundsum.paper.reproduce.experiments import experiments
from soundsum.paper.reproduce.reproduction import Check
from soundsum.refusals import Reason
from tests.refusing import refused

pytestmark = pytest.mark.usefixtures("same_draws")


def soundsum(*arguments):
    return CliRunner().invoke(app, ["reproduce", "--only", "roadmap", *arguments], env={"COLUMNS": "140"})


def test_the_command_writes_a_page_of_what_was_asked_for(tmp_path):
    path = tmp_path / "page.html"
    done = soundsum("--html", str(path))
    assert done.exit_code == 0
    assert "written" in done.stdout
    written = path.read_text(encoding="utf-8")
    assert "47,453,133" in written
    assert 'id="roadmap"' in written
    assert 'id="errata"' not in written


def test_page_and_json_may_go_together(tmp_path):
    path = tmp_path / "page.html"
    done = soundsum("--html", str(path), "--json", "-")
    assert done.stdout.startswith("{")
    assert done.stdout.rstrip().endswith("}")
    assert path.exists()


def test_a_file_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    missing = soundsum("--html", str(tmp_path / "no" / "page.html"))
    assert "there is no folder" in str(missing.exception)
    folder = soundsum("--html", str(tmp_path))
    assert "is a folder; name a file in it" in str(folder.exception)
    assert "reproduced" not in missing.stdout + folder.stdout


def test_without_jinja_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with refused(None, Reason.MISSING, ValueError) as error:
        write_page(reproduce(only=["roadmap"]), tmp_path / "page.html")
    assert "pip install '.[report]'" in str(error.value)


def test_an_empty_reproduction_is_still_a_page():
    made = page(Reproduction(False, (), 0.0))
    assert 'id="pipeline"' in made
    assert "Every comparison" not in made


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_no_coordinate(value):
    with refused("value", Reason.NOT_A_NUMBER, ValueError):
        coordinate(value)


@pytest.mark.parametrize("base", [None, 2, 10])
def test_ticks_are_inside_in_order_and_few(base):
    for low, high in [(1, 2), (1, 3), (1, 1000), (0.001, 5), (32768, 65536), (1, 1e18)]:
        ticks = [value for value, _ in Scale(low, high, 0, 100, base).ticks(6)]
        assert ticks == sorted(set(ticks))
        assert len(ticks) <= 7
        assert all(low * (1 - 1e-9) <= tick <= high * (1 + 1e-9) for tick in ticks)


def test_a_scale_runs_from_its_start_to_its_end():
    assert Scale(1, 1024, 10, 110, 2)(32) == pytest.approx(60)
    assert Scale(0, 4, 100, 0)(1) == 75


def test_labels_that_meet_are_moved_and_others_are_not():
    far, near = Label("far", "", 500, 10), [Label(name, "", 0, 10) for name in "abc"]
    placed = {label.text: label.y for label in spread([far, *near], 15, 100)}
    assert placed["far"] == 10
    heights = sorted(placed[name] for name in "abc")
    assert heights == [10, 25, 40]


def test_a_line_with_an_unknown_name_or_beyond_the_plot_does_no_harm():
    plot = Plot("ratio_public", "t", "x", "y", (Line("new", (1.0, 2.0), (1.0, 2.0)), Line("off", (1.0,), (99.0,))))
    drawn = markup(line_plot(plot, Look(Axis(), Axis(high=10.0), 100, {}), ""))
    assert drawn.count('class="line') == 1
    assert ">new<" in drawn
    assert ">off<" not in drawn


def test_lines_that_coincide_are_drawn_once_and_named():
    one = Line("grid", (1.0, 2.0), (1.0, 1.0))
    plot = Plot("p", "t", "x", "y", (one, replace(one, name="grid_randomised"), Line("kahan", (1.0, 2.0), (1.0, 2.0))))
    kept, same = apart(plot)
    assert [line.name for line in kept.lines] == ["grid", "kahan"]
    assert same == {"grid": ["grid_randomised"]}


def test_captions_say_what_the_points_say():
    made = {figure.name: figure.caption for figure in figures.figures(reproduce(only=["plots"]))}
    assert "end 1 apart, the sums of floats 65" in made["drift"]
    assert "2^8 in bfloat16, 2^24 in float32, 2^53 in float64" in made["spacing"]
    assert "share 0%" in made["outputs"]


def test_a_count_outside_the_interval_differs_and_one_that_is_not_printed_has_no_verdict():
    experiment = next(e for e in experiments() if e.left.printed is not None)
    outside = replace(experiment, left=replace(experiment.left, printed=experiment.left.lowest - 1))
    assert [row.verdict for row in count_rows(outside)] == ["differs", "matches"]
    silent = replace(experiment, left=replace(experiment.left, printed=None))
    assert [row.verdict for row in count_rows(silent)] == ["", "matches"]


def test_a_statement_that_fails_is_told_from_one_that_holds():
    assert describe_check(Check(Fraction(5, 2), "<", 2)) == "2.5, not < 2"
    assert describe_check(Check(3, "=", 3)) == "3"


VALUES = st.one_of(
    st.floats(),
    st.sampled_from([math.inf, -math.inf, math.nan, 1.7e308, -1.7e308, 1e308, 5e-324, -5e-324, 0.0, -0.0]),
    st.integers(-(10**400), 10**400),
)


@given(st.lists(st.lists(st.tuples(VALUES, VALUES), max_size=5), max_size=3), st.sampled_from([None, 2, 10]))
@example([[(0.0, 1.7e308), (1.0, -1.7e308)]], None)
@example([[(5e-324, 1.0)]], 2)
@example([], None)
def test_lines_are_drawn_whatever_the_values_are(lines, base):
    named = tuple(Line(f"{i}", tuple(x for x, _ in own), tuple(y for _, y in own)) for i, own in enumerate(lines))
    for y in (Axis(base), Axis(10, low=0.6, high=1e6)):
        look = Look(Axis(base), y, 100, {}, rule=(1.0, "one"))
        svg = markup(line_plot(Plot("p", "A title", "x", "y", named), look, "what is seen"))
        assert ElementTree.fromstring(svg).tag == "svg"
        assert "nan" not in re.sub("<title>.*?</title>", "", svg)


@given(st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=5))
@example([(-1.7e308, 1, 10**400), (1.7e308, 2, 3)])
@example([(1.0, 0, 0), (1.0, 0, 0)])
@example([])
def test_histograms_are_drawn_whatever_the_values_are(bars):
    xs = tuple(x for x, _, _ in bars)
    pair = Line("left", xs, tuple(y for _, y, _ in bars)), Line("right", xs, tuple(y for _, _, y in bars))
    svg = markup(histograms("h", "Outputs", "what is seen", Plot("h", "Outputs", "x", "y", pair), pair))
    assert ElementTree.fromstring(svg).tag == "svg"
