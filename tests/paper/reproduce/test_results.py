"""A verdict follows from the numbers, and everything can be written as JSON."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest

from soundsum.numbers.formatting import text
from soundsum.paper.reproduce.reproduction import (
    Agreement,
    Cell,
    Check,
    Erratum,
    EventCount,
    Reproduction,
    Section,
    privacy_loss,
)
from soundsum.refusals import Reason
from tests.refusing import refused


@pytest.mark.parametrize(
    "found, sign, printed, corrected, verdict",
    [
        (Fraction(33), "=", 33, None, "matches"),
        (Fraction(1), "=", 33, None, "differs"),
        (2, "=", 3, 2, "erratum"),
        (1, "=", 3, 2, "differs"),
        (Fraction(2), "<=", Fraction(3, 2), 2, "erratum"),
        (Fraction(3, 2), "<", Fraction(3, 2), None, "differs"),
        ("works", "=", "works", None, "matches"),
        (True, "=", 1, None, "differs"),
    ],
)
def test_a_cell_matches_is_an_erratum_or_differs(found, sign, printed, corrected, verdict):
    assert Cell("x", "y", printed, found, sign, corrected).verdict == verdict


def test_statements_have_no_order():
    with refused("sign", Reason.UNSUPPORTED, ValueError, given="'<='"):
        Check("works", "<=", "works").holds  # noqa: B018


def test_an_erratum_needs_the_print_to_fail_and_the_correction_to_hold():
    right, wrong = Check(1, "=", 1), Check(1, "=", 2)
    assert Erratum("", "", "", "", wrong, right).verdict == Agreement.ERRATUM
    assert Erratum("", "", "", "", right, right).verdict == Agreement.DIFFERS  # the print holds: it is we who err
    assert Erratum("", "", "", "", wrong, wrong).verdict == Agreement.DIFFERS


def test_what_is_not_printed_is_checked_and_no_match():
    assert Cell("x", "y", 0, 0, ours=True).verdict == Agreement.CHECKED
    assert Cell("x", "y", 0, 1, ours=True).verdict == Agreement.DIFFERS
    section = Section("s", "S", cells=(Cell("x", "y", 0, 0, ours=True),))
    assert section.tally == {"matches": 0, "erratum": 0, "differs": 0, "checked": 1}


def test_an_erratum_that_shows_in_several_places_counts_once():
    right, wrong = Check(1, "=", 1), Check(1, "=", 2)
    cells = tuple(Cell(what, "r", 3, 2, corrected=2, erratum=label) for what, label in (("a", "one"), ("b", "one")))
    errata = (Erratum("", "r", "", "", wrong, right, "one"), Erratum("", "r", "", "", wrong, right, "two"))
    result = Reproduction(False, (Section("s", "", cells=cells), Section("errata", "", errata=errata)), 0)
    assert result.tally["erratum"] == 2
    assert [section.tally["erratum"] for section in result.sections] == [2, 2]


def test_a_printed_count_is_inside_or_not_and_a_missing_one_is_no_contradiction():
    for printed, inside in ((7, True), (8, False), (None, True)):
        assert EventCount(printed, 9, Decimal("0.5"), 2, 7).inside is inside


def test_the_loss_of_a_guess_looks_at_both_answers():
    assert privacy_loss(Decimal("0.01"), Decimal("0.5")) == pytest.approx(Decimal("3.912"), abs=Decimal("0.001"))
    assert privacy_loss(Decimal("0.99"), Decimal("0.5")) == privacy_loss(Decimal("0.01"), Decimal("0.5"))
    assert privacy_loss(Decimal(1), Decimal("0.5")) == pytest.approx(Decimal(2).ln())
    assert privacy_loss(Decimal("0.3"), Decimal("0.3")) == 0


def test_json_keeps_numbers_exact_and_adds_what_follows():
    cells = (Cell("a", "b", 2**64 - 1, Fraction(1, 3), corrected=Fraction(1, 3)), Cell("c", "d", 3, 3))
    result = Reproduction(False, (Section("s", "S", cells=cells),), 1.5)
    plain = json.loads(json.dumps(result.to_json()))
    first = plain["sections"][0]["cells"][0]
    assert (first["printed"], first["found"], first["verdict"]) == (str(2**64 - 1), "1/3", "erratum")
    assert plain["tally"] == {"matches": 1, "erratum": 1, "differs": 0, "checked": 0}


@pytest.mark.parametrize(
    "value, shown",
    [
        (2**38, "2^38"),
        (-(2**31), "-2^31"),
        (2**27 + 1, "2^27 + 1"),
        (Fraction(3, 2), "1.5"),
        (Fraction(1, 2**53), "2^-53"),
        (Decimal("-13679.03"), "-13,679.0"),
        (1 + Fraction(1, 2**40), "1 + 9.1e-13"),
        (25_165_824, "25,165,824"),
    ],
)
def test_numbers_read_well(value, shown):
    assert text(value) == shown
