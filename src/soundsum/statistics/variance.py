"""The population variance of a column: the mean of the squares of c, less the square of its mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.steps import RecordSteps, inward, steps_from_near
from soundsum.planner import Scheme
from soundsum.privacy.noise import Noise
from soundsum.statistics.moments import Moments, clamp, first_power, quotients, row_count, second_power
from soundsum.statistics.statistic import STATISTICS, Bounded, Part

BITS = 28
"""A variance's grid is coarser, so that squares stay below 2^60."""


@STATISTICS.register
@dataclass(frozen=True)
class Variance(Bounded):
    """The population variance of a column, each record clamped to [lower, upper]."""

    name = "variance"
    drops_missing = True

    @classmethod
    def unmet(cls, plan: Scheme) -> list[str]:
        problem = plan.problem
        if plan.unit.is_plain or not problem.dtype.is_integer or max(map(abs, inward(problem))) < 1 << 31:
            return []
        return [
            f"bounds [{problem.lower}, {problem.upper}]: by group or person, squares of integers are exact within "
            "2^31; give tighter bounds, or cast the column to float64"
        ]

    @classmethod
    def record_steps(cls, plan: Scheme) -> RecordSteps:
        return steps_from_near(plan.problem, BITS)

    @classmethod
    def parts(cls, plan: Scheme, steps: RecordSteps | None) -> tuple[Part, ...]:
        assert steps is not None
        return (first_power(plan, steps), second_power(plan, steps), *row_count(plan))

    @classmethod
    def estimator(
        cls, plan: Scheme, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, worth: Fraction
    ) -> Moments:
        assert steps is not None
        return VarianceOfSums(steps, noises, n if plan.unit.is_plain else None, worth)


@dataclass(frozen=True)
class VarianceOfSums(Moments):
    """In quarters of squared steps, held between 0 and the square of the bounds' distance."""

    def range(self, sums: Sequence[tuple[int, int]], counts: tuple[int, int]) -> tuple[Fraction, Fraction]:
        (low, high), squares = quotients(sums[0], counts), quotients(sums[1], counts)
        nearest_zero = min(abs(low), abs(high)) if low * high > 0 else 0
        ends = squares[0] - max(low**2, high**2), squares[1] - nearest_zero**2
        unit = (self.records.step * self.worth) ** 2 / 4
        least, most = (clamp(end, 0, self.records.width**2) * unit for end in ends)
        return least, most
