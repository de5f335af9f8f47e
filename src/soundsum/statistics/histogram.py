"""Counts over cells: between edges, the last cell closed, or of categories; empty cells too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from soundsum.kernels.preparation import as_doubles_array
from soundsum.methods.problem import Problem
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special, nearest_float
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason, RefusedValue
from soundsum.statistics.count import Counted
from soundsum.statistics.statistic import STATISTICS
from soundsum.tables.keys import Codes, Groups, cell_codes, require_few
from soundsum.tables.records import Column, Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Batch, Schema

MOST_BINS = 100_000
"""Cells that are made from their number, which a few letters ask for."""


@STATISTICS.register
@dataclass(frozen=True)
class Histogram(Counted):
    """Counts in cells [edge, next edge), the last one closed, or by category; `bins` is a number of equal cells."""

    column: str | None
    edges: Sequence[Any] | None = None
    categories: Sequence[Any] | None = None
    dtype: object = None
    bins: int | None = field(default=None, kw_only=True)
    lower: Any = field(default=None, kw_only=True)
    upper: Any = field(default=None, kw_only=True)
    weight: Any = field(default=1, kw_only=True)

    name = "histogram"
    takes = "rows"

    def __post_init__(self) -> None:
        if not self.is_incomplete:
            _ = self.cells  # refuses what are none

    @property
    def is_incomplete(self) -> bool:
        """Whether categories or a bound of the bins are left out, which an owner's schema may have."""
        if self.bins is not None:
            return self.edges is None and self.categories is None and None in (self.lower, self.upper)
        return all(given is None for given in (self.edges, self.categories, self.lower, self.upper))

    @cached_property
    def cells(self) -> Categories | Edges:  # type: ignore[override]
        """The cells that rows fall into, within each group."""
        given = [name for name in ("edges", "bins", "categories") if getattr(self, name) is not None]
        if not given:
            raise RefusedValue(
                "edges",
                Reason.MISSING,
                "a histogram has edges or bins, for numbers, or categories, and none of them is given",
                "give one: `edges`, `bins` or `categories`",
            )
        if len(given) > 1:
            raise RefusedValue(
                given[-1],
                Reason.CONFLICT,
                "a histogram has edges or bins, for numbers, or categories, and {given} are given",
                "give one",
                given=" and ".join(given),
            )
        if self.bins is None and (self.lower is not None or self.upper is not None):
            raise RefusedValue(
                "upper" if self.lower is None else "lower",
                Reason.CONFLICT,
                "`lower` and `upper` go with `bins`, and edges and categories have ends of their own",
                "leave `lower` and `upper` out",
            )
        edges = self.edges if self.bins is None else _equal_edges(self.bins, self.lower, self.upper)
        if edges is None:
            return Categories(Groups(self.categories, "categories"))
        return Edges(tuple(_check_edges(edges)))

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        problem = Problem("uint8", 1, 1, relation)
        if isinstance(self.cells, Categories):
            schema.expect_groups(self.column, self.cells.groups)
            return problem, Fraction(1)
        return problem, schema.type(self.column, dtype)[1]

    def unit(self, unit: Unit) -> Unit:
        entries = unit.entries * len(self.cells.names)
        require_few(entries, "a histogram by groups")
        return replace(unit, groups=FOUND if unit.groups == FOUND else entries)

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "rows outside the cells or without a value left out"

    @classmethod
    def unmet(cls, plan: Plan) -> list[str]:
        return ["a histogram has cells, the groups of its unit"] if plan.unit.groups is None else []


@dataclass(frozen=True)
class Categories:
    """Cells with a name each."""

    groups: Groups
    heading = "category"

    @property
    def names(self) -> list[Any]:
        return self.groups.names

    def codes(self, batch: Batch, column: str | None, unit_value: Fraction) -> Codes:
        return self.groups.codes(batch.keys(column))


@dataclass(frozen=True)
class Edges:
    """Cells between numbers that go up."""

    edges: tuple[int | float, ...]
    heading = "cell"

    @property
    def names(self) -> list[Any]:
        return list(pairwise(self.edges))

    def codes(self, batch: Batch, column: str | None, unit_value: Fraction) -> Codes:
        values = batch.numbers(column)
        if not isinstance(values, Column):
            doubles = np.array([float(x) for x in values])
            return cell_codes(self.edges, doubles, ~np.isnan(doubles))
        if values.type.is_integer and unit_value == 1:
            return cell_codes(self.edges, values.values, ~values.missing())
        as_written = as_doubles_array(values) / float(1 / unit_value)  # of decimals
        return cell_codes(self.edges, as_written, ~values.missing())


def _equal_edges(bins: Any, lower: Any, upper: Any) -> list[int | float]:
    """The edges of `bins` cells of equal width, as NumPy has them: each the float nearest to its exact place."""
    if isinstance(bins, bool) or not hasattr(bins, "__index__"):
        raise RefusedValue(
            "bins",
            Reason.NOT_WHOLE,
            "`bins={given}`:",
            "give the number of cells, from 1 to {most:,}; or edges, such as `edges=[0, 10, 20]`",
            given=quote(bins),
            most=MOST_BINS,
        )
    if int(bins) < 1:
        raise RefusedValue(
            "bins",
            Reason.TOO_SMALL,
            "`bins={given}`:",
            "give the number of cells, from 1 to {most:,}; or edges, such as `edges=[0, 10, 20]`",
            given=quote(bins),
            most=MOST_BINS,
        )
    if int(bins) > MOST_BINS:
        raise RefusedValue(
            "bins",
            Reason.TOO_MANY,
            "`bins={given}`:",
            "give the number of cells, from 1 to {most:,}; or edges, such as `edges=[0, 10, 20]`",
            given=quote(bins),
            most=MOST_BINS,
        )
    if lower is None or upper is None:
        raise RefusedValue(
            "bins",
            Reason.NEEDS,
            "`bins={given}` needs `lower` and `upper`, where the cells begin and end",
            "give both from public knowledge",
            given=quote(bins),
        )
    low, high = exact(lower, "lower"), exact(upper, "upper")
    if is_special(low) or is_special(high) or not low < high:
        raise RefusedValue(
            "lower",
            Reason.SWAPPED,
            "`lower={lower}`, `upper={upper}`:",
            "give finite bounds of the cells, the lower below the upper",
            lower=quote(lower),
            upper=quote(upper),
        )
    points = [Fraction(low) + Fraction(high - low) * i / int(bins) for i in range(int(bins) + 1)]
    return [int(x) if x.denominator == 1 else nearest_float(x) for x in points]


def _refuse_edges(edges: Any) -> RefusedValue:
    """Refuse malformed edges, with a hint at the probable intention."""
    given = quote(edges)
    if isinstance(edges, str):
        return RefusedValue(
            "edges",
            Reason.NOT_A_NUMBER,
            "`edges={given}` are not a list of numbers",
            "give numbers going up, such as `edges=[0, 10, 20]`, or if it is a column, `column={given}`",
            given=given,
        )
    if type(edges) is int:
        return RefusedValue(
            "edges",
            Reason.NOT_A_NUMBER,
            "`edges={given}` are not a list of numbers",
            "for cells of equal width give `bins={given}`, with `lower` and `upper`",
            given=given,
        )
    if isinstance(edges, list | tuple) and all(isinstance(edge, str) for edge in edges):
        return RefusedValue(
            "edges",
            Reason.NOT_A_NUMBER,
            "`edges={given}` are not a list of numbers",
            "give `categories={given}`, or numbers going up, such as `edges=[0, 10, 20]`",
            given=given,
        )
    return RefusedValue(
        "edges",
        Reason.NOT_A_NUMBER,
        "`edges={given}` are not a list of numbers",
        "give numbers going up, such as `edges=[0, 10, 20]`",
        given=given,
    )


def _check_edges(edges: Sequence[Any]) -> list[int | float]:
    points = _read_edges(edges)
    if points is None:
        raise _refuse_edges(edges)
    if any(not a < b for a, b in pairwise(points)):
        raise RefusedValue(
            "edges",
            Reason.SWAPPED,
            "`edges={given}` do not go up without repeats",
            "give them so, such as `edges=[0, 10, 20]`",
            given=quote(edges),
        )
    if len(points) < 2:
        raise RefusedValue(
            "edges", Reason.EMPTY, "a histogram has at least one cell", "give two edges or more, or a category"
        )
    return points


def _read_edges(edges: Sequence[Any]) -> list[int | float] | None:
    try:
        return [edge if isinstance(edge, int) and abs(edge) < 1 << 1000 else float(edge) for edge in edges]
    except (TypeError, ValueError, OverflowError):
        return None
