"""The numbers of persons, or of records, in groups that nobody listed: what a search for groups releases.

A person counts once in each of their groups. With truncated noise the number without noise is certain to lie within
`reach` of the released one, and to be at least 1, as a group that nobody is in is never released. With Gaussian noise
no interval covers it with any confidence, because a group is released where its noise happened to be high.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from soundsum.budget.query import SEARCH
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.selection import TruncatedLaplace, search_unit
from soundsum.privacy.units import Unit
from soundsum.statistics.count import Counted
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Schema


@dataclass(frozen=True)
class FoundEstimator:
    """Reads the noisy number of a group that was released."""

    noise: Noise
    limits = None

    def exact(self, noisy: tuple[int, ...]) -> int:
        return noisy[0]

    def interval(self, noisy: tuple[int, ...], confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        """It holds for certain, whatever the confidence; of Gaussian noise it has no upper end."""
        if not isinstance(self.noise, TruncatedLaplace):
            return Fraction(1), math.inf  # type: ignore[return-value]
        return Fraction(max(1, noisy[0] - self.noise.reach)), Fraction(noisy[0] + self.noise.reach)

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        ends = [self.interval((count,), confidence) for count in noisy[0]]
        return [*noisy[0]], [float(low) for low, _ in ends], [float(high) for _, high in ends]


@dataclass(frozen=True)
class GroupCounts(Counted):
    """The number of persons, or of records, in each group that is found."""

    weight: Any = field(default=1, kw_only=True)

    name = SEARCH
    entry_name = "size"
    column = None
    needs_column = False
    takes = "rows"

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        return Problem("uint8", 1, 1, relation), Fraction(1)

    def unit(self, unit: Unit) -> Unit:
        return search_unit(unit)

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "rows without a group left out"

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        return "" if unit.max_rows is None else unit.say("each person counts once").replace(" in a group,", "")

    @classmethod
    def estimator(  # type: ignore[override]
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> FoundEstimator:
        return FoundEstimator(noises[0])
