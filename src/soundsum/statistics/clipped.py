"""The share of records, or of persons' totals, that bounds cut off: noisy counts below, within and above them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from soundsum.methods.problem import Problem, read_bound, require_ascending
from soundsum.numbers.formatting import bound
from soundsum.numbers.rationals import floor_log2
from soundsum.numbers.types import float64
from soundsum.privacy.planner import Plan
from soundsum.refusals import Reason, RefusedValue
from soundsum.statistics.histogram import Edges
from soundsum.statistics.magnitudes import CountsPersons, wide_problem
from soundsum.statistics.statistic import STATISTICS
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Schema

BEYOND = 20
"""Floats are clamped at 2^20 times the larger bound before a person's are added up."""


@dataclass(frozen=True)
class Sides(Edges):
    """The numbers below, within and above two bounds."""

    bounds: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    heading = "side"

    @property
    def names(self) -> list[Any]:
        lower, upper = map(bound, self.bounds)
        return [f"below {lower}", f"{lower} to {upper}", f"above {upper}"]


@STATISTICS.register
@dataclass(frozen=True)
class Clipped(CountsPersons):
    """The share of records outside [lower, upper], or of persons whose totals max_rows rows within cannot reach."""

    column: str | None
    lower: Any = None
    upper: Any = None
    dtype: object = None
    weight: Any = field(default=1, kw_only=True)

    name = "clipped"
    drops_missing = True

    @property
    def is_incomplete(self) -> bool:
        """Whether bounds are missing, which an owner's schema may have."""
        return self.lower is None or self.upper is None

    @property
    def cells(self) -> Sides:  # type: ignore[override]
        if self.lower is None or self.upper is None:
            raise RefusedValue(
                "lower" if self.lower is None else "upper",
                Reason.MISSING,
                "`{option}` is missing",
                "give both bounds, such as `lower=0`, `upper=100`",
            )
        lower, upper = read_bound("lower", self.lower), read_bound("upper", self.upper)
        require_ascending(lower, upper)
        least, most = float64.round_up(lower), float64.round_down(upper)
        edges = (-math.inf, float(least), math.nextafter(float(most), math.inf), math.inf)
        return Sides(edges, (lower, upper))

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        kind, unit_value = schema.type(self.column, dtype)
        largest = max(map(abs, self.cells.bounds)) or Fraction(1)
        return wide_problem(kind, Fraction(2) ** (floor_log2(largest) + BEYOND), relation), unit_value

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "rows without a value left out"

    @classmethod
    def thresholds(cls, plan: Plan, unit_value: Fraction, cells: Edges) -> list[int]:
        """A person's total is cut off where it is more than max_rows rows within the bounds can add up to."""
        assert isinstance(cells, Sides)
        assert plan.unit.max_rows is not None
        steps = cls.record_steps(plan)
        assert steps is not None
        (lower, upper), each = cells.bounds, plan.unit.max_rows / (steps.step * unit_value)
        zero = Fraction(0)
        return [math.ceil(each * min(lower, zero)) - 1, math.floor(each * max(upper, zero))]
