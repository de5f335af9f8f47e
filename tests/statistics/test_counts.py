"""Counts: what one record moves them by, and which cells a histogram has."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.numbers.quoting import quote
from soundsum.privacy.units import Unit
from soundsum.refusals import Reason
from soundsum.statistics import Count, Histogram, histogram
from soundsum.tables.keys import MOST
from tests.refusing import refused

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
    with refused("column", Reason.UNKNOWN, ValueError):
        ss.count({"x": [1.0]}, 1, column="nope", missing="drop")


@pytest.mark.parametrize("options", [{"missing": "drop"}, {"missing": "drop", "relation": "change_one"}])
def test_values_are_counted_in_a_column_that_is_named(options):
    with refused("column", Reason.MISSING, ValueError):
        ss.count({"x": [1.0]}, 1, **options)


@pytest.mark.parametrize(
    "asked, unit_value",
    [(Count("x"), "1"), (Histogram("x", categories=[1]), "1"), (Histogram("x", edges=[0, 2]), "1/100")],
)
def test_rows_are_counted_in_ones_whatever_a_number_is_worth(asked, unit_value):
    """A decimal's last digit matters to the edges of cells alone."""
    (release,) = ss.release({"x": pa.array([1]).cast(pa.decimal128(22, 2))}, [asked], epsilon=1)
    told = (release if asked.name == "count" else next(iter(release.values()))).certificate
    assert told["unit_value"] == unit_value
    assert (told["problem"]["lower"], told["problem"]["upper"]) == ("1", "1")
    assert [(part["step"], part["sensitivity"]) for part in told["released"]] == [("1", "1")]


def test_cells_of_one_width():
    cells = Histogram("x", bins=2, lower=0, upper=4).cells.names
    assert cells == [(0, 2), (2, 4)]
    assert all(type(edge) is int for cell in cells for edge in cell)
    assert Histogram("x", bins=2, lower=0, upper=1).cells.names == [(0, 0.5), (0.5, 1)]
    for given in ({"lower": 0}, {"upper": 4}, {}):
        with refused("bins", Reason.NEEDS, ValueError, given="2"):
            Histogram("x", bins=2, **given).cells.names  # noqa: B018


class Seven:
    def __index__(self):
        return 7


@pytest.mark.parametrize("bins, count", [(np.int8(127), 127), (np.uint8(255), 255), (Seven(), 7)])
def test_as_many_cells_as_a_whole_number_of_any_kind_says(bins, count):
    cells = Histogram("x", bins=bins, lower=0, upper=1).cells.names
    assert (len(cells), cells[0][0], cells[-1][1]) == (count, 0, 1)


def test_as_many_cells_as_there_may_be(monkeypatch):
    one = Histogram("x", edges=[0, 1])
    assert one.unit(Unit(groups=MOST)).groups == MOST
    with refused("groups", Reason.TOO_MANY, ValueError, most="2,097,152"):
        one.unit(Unit(groups=MOST + 1))
    monkeypatch.setattr(histogram, "MOST_BINS", 3)
    assert len(Histogram("x", bins=3, lower=0, upper=1).cells.names) == 3
    with refused("bins", Reason.TOO_MANY, ValueError, given="4", most=3):
        Histogram("x", bins=4, lower=0, upper=1)


@pytest.mark.parametrize("bins, reason", [(0, Reason.TOO_SMALL), (True, Reason.NOT_WHOLE), (2.0, Reason.NOT_WHOLE)])
def test_cells_are_a_whole_number(bins, reason):
    with refused("bins", reason, ValueError, given=str(bins)):
        Histogram("x", bins=bins, lower=0, upper=1)


@pytest.mark.parametrize(
    "option, reason, given",
    [
        ("lower", Reason.SWAPPED, {"bins": 2, "lower": 1, "upper": 0}),
        ("lower", Reason.CONFLICT, {"edges": [0, 1], "lower": 0}),
        ("upper", Reason.CONFLICT, {"edges": [0, 1], "upper": 0}),
        ("edges", Reason.SWAPPED, {"edges": [0, 2, 1]}),
        ("edges", Reason.SWAPPED, {"edges": [0, 1, 1]}),
        ("edges", Reason.EMPTY, {"edges": [0]}),
    ],
)
def test_what_is_no_histogram(option, reason, given):
    with refused(option, reason, ValueError):
        Histogram("x", **given)


@pytest.mark.parametrize(
    "option, bounds", [("lower", {}), ("lower", {"upper": 1}), ("upper", {"lower": 0}), ("lower", {"lower": None})]
)
def test_bounds_are_needed(option, bounds):
    with refused(option, Reason.MISSING, ValueError, what="the sum of 'x'"):
        ss.release({"x": [1.0]}, [ss.Sum("x", **bounds)], epsilon=1)


def test_what_a_histogram_leaves_to_an_owner():
    """Its categories, or a bound of its bins; whatever is given in part or twice is refused at once."""
    assert Histogram("x").is_incomplete
    assert Histogram("x", bins=2).is_incomplete
    assert Histogram("x", bins=2, lower=0).is_incomplete
    assert Histogram("x", bins=2, upper=0).is_incomplete
    assert not Histogram("x", bins=2, lower=0, upper=1).is_incomplete
    assert not Histogram("x", edges=[0, 1]).is_incomplete
    for option, reason, given in (
        ("bins", Reason.CONFLICT, {"bins": 2, "edges": [0, 1]}),
        ("categories", Reason.CONFLICT, {"bins": 2, "categories": [1]}),
        ("edges", Reason.MISSING, {"lower": 0}),
        ("edges", Reason.MISSING, {"upper": 0}),
    ):
        with refused(option, reason, ValueError):
            Histogram("x", **given)


def test_edges_are_integers_or_floats():
    """An integer below 2^1000 is kept as it is; one that no float is near is refused, of either sign."""
    most = (1 << 1000) - 1
    assert Histogram("x", edges=[-most, 0, most]).cells.edges == (-most, 0, most)
    assert list(map(type, Histogram("x", edges=[0, most, 1 << 1001]).cells.edges)) == [int, int, float]
    assert type(Histogram("x", edges=[0, 1 << 1000]).cells.edges[-1]) is float
    assert list(map(type, Histogram("x", edges=[0, Fraction(1, 2), 1]).cells.edges)) == [int, float, int]
    for edges in ([0, 10**400], [-(10**400), 0]):
        with refused("edges", Reason.NOT_A_NUMBER, ValueError):
            Histogram("x", edges=edges)


@pytest.mark.parametrize(
    "edges, remedy",
    [
        (["a", "b"], "give `categories={given}`"),
        (("a", "b"), "give `categories={given}`"),
        (5, "for cells of equal width give `bins={given}`"),
        ("x", "give numbers going up, such as `edges=[0, 10, 20]`, or if it is a column, `column={given}`"),
        ([0, "b"], "give numbers going up"),
        ({"a", "b"}, "give numbers going up"),
        ([0, None], "give numbers going up"),
    ],
)
def test_what_to_give_in_place_of_edges_that_are_none(edges, remedy):
    with refused("edges", Reason.NOT_A_NUMBER, ValueError, given=quote(edges)) as caught:
        Histogram("x", edges=edges)
    assert caught.value.remedy.startswith(remedy)
