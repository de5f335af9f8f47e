"""CSV, Markdown and LaTeX: the same numbers as the table, and names of groups that no reader obeys."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from markdown_it import MarkdownIt

import soundsum as ss
from soundsum.refusals import Reason
from tests.refusing import refused

FORMULAS = ["=1+1", "+A1", "-A1", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", "－1", "=cmd|' /C calc'!A0", '="a"']
HARMLESS = ["-7", "+3.5", "-1e9", "a=1", "'x", "a,b", 'say "a"', "new\nline", "a;=1", "ä"]
MARKED = ["a|b", "*x*", "_x_", "`x`", "[x](y)", "<b>x</b>", "\\", "$x$", "~x~", "https://a.org", "&amp;", "# x"]
COMMANDS = [
    "\\input{x}",
    "R&D",
    "50%",
    "a_b",
    "x^2",
    "{",
    "}",
    "#1",
    "$x$",
    "~",
    "[5cm]",
    "*x",
    "a--b",
    "a|b",
    "<>",
    "`x",
]
SURE = 1000


def by(names):
    return ss.count({"g": names}, SURE, by="g", groups=names)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_in_a_name_is_text_to_a_spreadsheet(name):
    for text in (by([name]).to_csv(), ss.count({name: ["a"]}, SURE, by=name, groups=["a"]).to_csv()):
        cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        assert f"'{name}" in cells
        assert not any(cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r", "＝", "－")) for cell in cells)


def test_a_cell_ends_where_a_spreadsheet_with_semicolons_ends_it_too():
    assert '"a;=1"' in by(["a;=1"]).to_csv()
    assert '"a\t=1"' in by(["a\t=1"]).to_csv()


def test_other_names_are_read_back_as_they_are():
    text = by(HARMLESS).to_csv()
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert [row[0] for row in rows[1:]] == HARMLESS
    assert rows[0] == ["g", "value", "low", "high", "informative"]
    assert {row[1] for row in rows[1:]} == {"1"}


def test_the_file_is_the_table(tmp_path):
    released = ss.sum({"x": np.arange(9.0), "g": ["ä", "b", "b"] * 3}, -3, 9, 1, column="x", by="g", groups=["ä", "b"])
    text = released.to_csv()
    assert released.to_csv(tmp_path / "r.csv") is None
    assert (tmp_path / "r.csv").read_bytes().decode() == text
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "r.csv", encoding="utf-8"), released.to_pandas())
    wide = released.to_csv(confidence=0.5)
    assert wide != text
    with refused("confidence", Reason.TOO_LARGE, ValueError):
        released.to_csv(confidence=2)


@pytest.mark.parametrize("name", [*MARKED, *FORMULAS[:4], "new\nline"])
def test_markdown_renders_a_name_as_it_is_printed(name):
    from html import unescape

    released = by([name])
    html = MarkdownIt("commonmark").enable("table").render(released.to_markdown())
    (first,) = re.findall(r"<td[^>]*>(.*?)</td>", html, re.DOTALL)[::3]
    assert unescape(first) == released.label(name)
    assert html.count("<tr>") == 2


def read_latex(cell):
    """The text that LaTeX prints for a cell; fails where something is left that it would obey."""
    names = {"backslash": "\\", "asciitilde": "~", "asciicircum": "^", "less": "<", "greater": ">", "bar": "|"}
    names |= {"asciigrave": "`", "quotedbl": '"'}
    piece = re.compile(r"\\text([a-z]+)\{\}|\\([{}$&#_%])|\{([\[\]*-])\}|([^\\{}$&#_%~^\[\]*-])")
    found, at = "", 0
    while at < len(cell):
        match = piece.match(cell, at)
        assert match, cell[at:]
        found += names[match[1]] if match[1] else match[2] or match[3] or match[4]
        at = match.end()
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_latex_prints_a_name_as_it_is(name):
    released = by([name])
    lines = released.to_latex().splitlines()
    assert lines[:2] == [r"\begin{tabular}{lrr}", r"\hline"]
    (row,) = lines[4:-2]
    assert row.endswith(r" & 1 & 1 to 1 \\")
    assert read_latex(row.removesuffix(r" & 1 & 1 to 1 \\")) == name


def test_negative_numbers_have_a_minus_in_latex():
    assert "$-$" in ss.sum(np.full(9, -5.0), -9, 0, SURE).to_latex()


def test_every_result_has_them():
    table = {"x": np.arange(2000.0), "g": ["a", "b"] * 1000, "who": np.arange(2000)}
    several = ss.release(table, {"total": ss.Sum("x", 0, 9), "far": ss.Clipped("x", 0, 9), "n": ss.Count()}, SURE)
    grouped = ss.release(table, [ss.Sum("x", 0, 9), ss.Histogram("x", [0, 5, 9])], SURE, by="g", groups=["a", "b"])
    advice, ratio = ss.suggest_bounds(table, SURE, column="x"), several["total"].ratio(several["n"])
    for outcome in (several, grouped, several["total"], several["far"], advice, ratio):
        rows = outcome.to_markdown().splitlines()[2:]
        assert rows
        assert len(outcome.to_latex().splitlines()) == len(rows) + 6
        assert outcome.to_csv().count("\n") == outcome.to_arrow().num_rows + 1
        assert len({row.count(" | ") for row in rows}) == 1
