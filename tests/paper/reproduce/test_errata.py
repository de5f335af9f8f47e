"""Every erratum is one by computation, and every one on the page is computed."""

import re
from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from soundsum.numbers.models import saturating
from soundsum.numbers.types import IntType
from soundsum.paper.reproduce import Agreement, bounds, example_attacks, matrix
from soundsum.paper.reproduce.bounds import LOW, PROMISED, K, N, alternating, drift
from soundsum.paper.reproduce.errata import PRINTED
from soundsum.paper.reproduce.errata_integers import largest_reordering, of_grids, of_integers

ERRATA_PAGE = (Path(__file__).parents[3] / "docs" / "paper" / "errata.md").read_text()


def test_every_erratum_is_one_by_computation(all_errata):
    found = all_errata
    assert [e.what for e in found if e.verdict != Agreement.ERRATUM] == []
    assert len(found) >= 33
    labels = [e.label for e in found]
    assert all(labels)
    assert len(set(labels)) == len(labels)


def test_every_cell_that_is_an_erratum_names_one(all_errata, all_experiments):
    labels = {e.label for e in all_errata}
    named = [
        *bounds.lower_bounds(),
        *bounds.upper_bounds(),
        *bounds.roadmap(),
        *example_attacks.examples(),
        *matrix.matrix(),
    ]
    named += [cell for experiment in all_experiments for cell in experiment.cells]
    wrong = [cell for cell in named if cell.verdict == Agreement.ERRATUM]
    assert len(wrong) == 10
    assert all(cell.erratum in labels for cell in wrong)


def test_the_condition_on_l_in_table_1_is_enough():
    """The theorem's own records need more room, but the table says no more than holds."""
    (cell,) = [cell for cell in bounds.lower_bounds() if "the condition L <= -U n/2^(k+3)" in cell.what]
    assert cell.verdict == Agreement.MATCHES
    assert Fraction(-N, 2 ** (K + 3)) > LOW
    assert drift(alternating(Fraction(-N, 2 ** (K + 3)) * (1 - Fraction(1, 2 ** (K - 1))))) < PROMISED


def test_every_heading_of_the_errata_page_is_computed_here(all_errata):
    page = ERRATA_PAGE.split("### Without code")[0]
    labels = {
        label
        for heading in re.findall(r"^### (.+)$", page, re.MULTILINE)
        for label in re.findall(r"`([a-z]+:[^`]+)`", heading)
    }
    assert len(labels) > 20
    assert labels <= {e.reference for e in all_errata}


def test_the_page_has_the_command_of_every_erratum(all_errata):
    on_page = re.findall(r"^`(soundsum .*)`$", ERRATA_PAGE, re.MULTILINE)
    commands = [command for line in on_page for command in line.split("` `")]
    assert sorted(commands) == sorted(e.command for e in all_errata)


def test_every_erratum_quotes_the_words_it_is_about_with_their_line(all_errata):
    assert {e.label for e in all_errata} == set(PRINTED)
    for e in all_errata:
        under_heading = ERRATA_PAGE.split(f"`{e.command}`")[1].split("\n### ")[0]
        assert f"> line {e.line}: `{e.words}`" in under_heading, e.label
        assert e.line > 0


@pytest.mark.parametrize(("lower", "upper", "n"), [(-2, 3, 4), (-3, 3, 3), (-4, 1, 4)])
def test_reorderings_are_all_looked_at(lower, upper, n):
    """Against every order of every dataset, written out."""
    kind = IntType(3)
    sums = {}
    for data in product(range(lower, upper + 1), repeat=n):
        sums.setdefault(tuple(sorted(data)), []).append(int(saturating(kind).sum(data)))
    assert largest_reordering(kind, lower, upper, n) == max(max(found) - min(found) for found in sums.values())


def test_errata_about_integers_are_under_integers():
    sections = dict(part.split("\n", 1) for part in ERRATA_PAGE.split("\n## ")[1:])
    for heading, errata in (("Floats as integers", of_grids()), ("Integers", of_integers())):
        assert [e.label for e in errata if f"errata:{e.label}`" not in sections[heading]] == []


def test_what_is_true_but_could_be_misread_is_a_remark(all_errata):
    remarks = ERRATA_PAGE.split("## Remarks")[1]
    assert "rem:resist-pair" in remarks
    assert "diffprivlib" in remarks
    assert not {"pairwise", "grid-k", "toward-zero-text", "diffprivlib-rounding"} & {e.label for e in all_errata}
