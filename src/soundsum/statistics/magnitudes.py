"""Counts by order of magnitude, from which bounds are suggested: the cells are public and need no bounds themselves.

Cells end at 0 and at 1, 2 and 5 times powers of ten of both signs, and the outermost ones are open. A record adds 1 to
one cell; a person adds 1 to the cell of their total or of their number of rows. The proof is that of a histogram
(docs/theorems/statistics.md); suggestions are made from the noisy counts alone (releases/advice.py).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Literal

from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps, steps_from_zero
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import decimal, is_special
from soundsum.numbers.types import NumberType
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason, RefusedValue
from soundsum.statistics.count import Counted
from soundsum.statistics.histogram import Edges
from soundsum.statistics.statistic import COUNT, STATISTICS, Part
from soundsum.tables.keys import require_few
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Schema

SMALLEST, LARGEST = Fraction(1, 10**9), Fraction(10**18)
"""The round numbers nearest to and furthest from zero at which cells end."""

WIDEST = 2**40
"""Floats are clamped here before a person's are added up, in steps of about a thousandth."""

MOST_ROWS = 10**9
"""The largest number of rows of a person at which a cell ends."""


@dataclass(frozen=True)
class RoundCells(Edges):
    """Cells between round numbers; `ends` are the exact numbers between which each one lies, None where it is open."""

    ends: tuple[tuple[Fraction | None, Fraction | None], ...] = ()


class CountsPersons(Counted):
    """A count over cells in which a person is counted once, under a unit of persons: by something all their rows give.

    Counted by their total if `binned` is 1, and by their number of rows if it is 0. Every engine finds the exact
    integer, so that nobody else's rows can change a person's cell.
    """

    takes: ClassVar[Literal["numbers", "present rows", "rows"]] = "numbers"
    counts_persons = True
    binned: ClassVar[Literal[0, 1]] = 1

    def unit(self, unit: Unit) -> Unit:
        assert self.cells is not None
        entries = unit.entries * len(self.cells.names)
        require_few(entries, f"the {self.name} by groups")
        return replace(unit, groups=FOUND if unit.groups == FOUND else entries)

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        if unit.max_rows is None:
            return ""
        return f"each person counts once, by {'the total of their rows' if cls.binned else 'their number of rows'}"

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps | None:
        return steps_from_zero(plan.problem)

    @classmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        unit = plan.unit if plan.unit.max_rows is None else replace(plan.unit, max_rows=1)
        return (Part("count", Fraction(1), unit.norms(1, 1, plan.problem.relation), COUNT, (0, 1), power=0),)

    @classmethod
    def thresholds(cls, plan: Plan, unit_value: Fraction, cells: Edges) -> list[int]:
        """Cell i holds the persons whose integer is above threshold i and not above the next; the last is open."""
        steps = cls.record_steps(plan)
        step = unit_value * (steps.step if cls.binned and steps is not None else 1)
        return [math.ceil(Fraction(edge) / step) - 1 for edge in cells.edges[1:-1]]


@STATISTICS.register
@dataclass(frozen=True)
class Bounds(Counted):
    """Suggest bounds for a column from the magnitudes of its records: `coverage` of those that are not 0 lie within."""

    column: str | None
    coverage: Any = field(default=0.99, kw_only=True)
    dtype: object = None
    weight: Any = field(default=1, kw_only=True)

    name = "bounds"
    takes = "rows"
    takes_groups = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverage", read_coverage(self.coverage))

    @property
    def cells(self) -> RoundCells:  # type: ignore[override]
        return round_cells()

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        return Problem("uint8", 1, 1, relation), schema.type(self.column, dtype)[1]

    def unit(self, unit: Unit) -> Unit:
        return replace(unit, groups=unit.entries * len(self.cells.names))

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "rows without a value left out"


@STATISTICS.register
@dataclass(frozen=True)
class TotalBounds(CountsPersons):
    """Suggest bounds for what a person adds up to in a column, from the magnitudes of persons' totals."""

    column: str | None
    coverage: Any = field(default=0.99, kw_only=True)
    dtype: object = None
    weight: Any = field(default=1, kw_only=True)

    name = "total_bounds"
    takes_groups = False
    drops_missing = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverage", read_coverage(self.coverage))

    @property
    def cells(self) -> RoundCells:  # type: ignore[override]
        return round_cells()

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        kind, unit_value = schema.type(self.column, dtype)
        return wide_problem(kind, Fraction(WIDEST), relation), unit_value

    def unit(self, unit: Unit) -> Unit:
        return super().unit(require_persons(self.name, unit))

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "rows without a value left out"


@STATISTICS.register
@dataclass(frozen=True)
class MaxRows(CountsPersons):
    """Suggest how many rows of a person to count: `coverage` of the persons have no more."""

    coverage: Any = field(default=0.99, kw_only=True)
    weight: Any = field(default=1, kw_only=True)

    name = "max_rows"
    column = None
    needs_column = False
    takes = "rows"
    takes_groups = False
    binned = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "coverage", read_coverage(self.coverage))

    @property
    def cells(self) -> RoundCells:  # type: ignore[override]
        return row_cells()

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        return Problem("uint8", 1, 1, relation), Fraction(1)

    def unit(self, unit: Unit) -> Unit:
        return super().unit(require_persons(self.name, unit))

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "all rows counted"


def wide_problem(kind: NumberType, widest: Fraction, relation: Relation) -> Problem:
    """A sum without given bounds: the whole range of an integer type, and floats within plus or minus `widest`."""
    most = Fraction(kind.max)
    lower, upper = (Fraction(kind.min), most) if kind.is_integer else (-min(widest, most), min(widest, most))
    return Problem(kind, lower, upper, relation)


def require_persons(name: str, unit: Unit) -> Unit:
    if unit.max_rows is None:
        raise RefusedValue(
            "privacy_unit",
            Reason.NEEDS,
            "`{name}` is about persons",
            "give `privacy_unit`, the column of their ids",
            name=name,
        )
    return unit


def read_coverage(coverage: Any) -> Fraction:
    """A share above 0 and below 1."""
    share = decimal(coverage, "coverage")
    if is_special(share) or share <= 0:
        raise RefusedValue(
            "coverage",
            Reason.TOO_SMALL,
            "`coverage={given}` is not a share above 0",
            "give one such as 0.99",
            given=quote(coverage),
        )
    if share >= 1:
        raise RefusedValue(
            "coverage",
            Reason.TOO_LARGE,
            "`coverage={given}` is not a share below 1, and bounds that certainly cut nothing off are not private",
            "give one such as 0.99",
            given=quote(coverage),
        )
    return Fraction(share)


@cache
def round_cells() -> RoundCells:
    """The cells of values: {0}, and those that end at a round number away from zero, which belongs to them."""
    points = list(_round_numbers(SMALLEST, LARGEST))
    above = [math.nextafter(float(x), math.inf) for x in points]
    edges = (-math.inf, *(-float(x) for x in reversed(points)), 0.0, sys.float_info.min, *above, math.inf)
    signed = [*(-x for x in reversed(points)), Fraction(0), Fraction(0), *points]
    return RoundCells(edges, tuple(zip([None, *signed], [*signed, None], strict=True)))


@cache
def row_cells() -> RoundCells:
    """The cells of numbers of rows: 1, 2, 3 to 5, 6 to 10, and so on; the last is open."""
    points = list(_round_numbers(Fraction(1), Fraction(MOST_ROWS)))
    edges = (1, *(int(x) + 1 for x in points), int(LARGEST))
    return RoundCells(edges, tuple(zip([Fraction(0), *points], [*points, None], strict=True)))


def _round_numbers(least: Fraction, most: Fraction) -> Iterable[Fraction]:
    power = least
    while power < most:
        yield from (power, 2 * power, 5 * power)
        power *= 10
    yield most
