"""Counts: what one record moves them by, and which cells a histogram has."""

import pytest

import soundsum as ss
from soundsum.data.keys import MOST
from soundsum.privacy.units import Unit
from soundsum.statistics import Histogram

TABLE = {"x": [1.0, float("nan")]}


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_one_record_moves_a_count_by_1(missing):
    assert ss.count(TABLE, 1, column="x", missing=missing).plan.sensitivity == 1


def test_a_record_that_changes_moves_the_count_of_those_with_a_value():
    """The number of all records is public under change_one, so there is nothing to hide of it."""
    moved = {
        missing: ss.count(TABLE, 1, column="x", missing=missing, relation="change_one").plan.sensitivity
        for missing in ("zero", "drop")
    }
    assert moved == {"zero": 0, "drop": 1}


def test_a_count_is_a_whole_number():
    assert isinstance(ss.count([1.0, 2.0], 1).exact, int)


def test_values_are_counted_in_a_column_there_is():
    with pytest.raises(ValueError, match="nope"):
        ss.count({"x": [1.0]}, 1, column="nope", missing="drop")


def test_cells_of_one_width():
    cells = Histogram("x", bins=2, lower=0, upper=4).cells.names
    assert cells == [(0, 2), (2, 4)]
    assert all(type(edge) is int for cell in cells for edge in cell)
    assert Histogram("x", bins=2, lower=0, upper=1).cells.names == [(0, 0.5), (0.5, 1)]
    for given in ({"lower": 0}, {"upper": 4}, {}):
        with pytest.raises(ValueError, match="needs lower= and upper="):
            Histogram("x", bins=2, **given).cells.names  # noqa: B018


def test_as_many_cells_as_there_may_be():
    one = Histogram("x", edges=[0, 1])
    assert one.unit(Unit(groups=MOST)).groups == MOST
    with pytest.raises(ValueError, match="too many"):
        one.unit(Unit(groups=MOST + 1))
