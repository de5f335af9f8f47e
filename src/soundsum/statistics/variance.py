"""The population variance of a column: the mean of the squares of c, less the square of its mean; and its root."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.steps import RecordSteps, inward, steps_from_near
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.statistics.moments import Moments, first_power, row_count, say_average_rows, second_power
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
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        return say_average_rows(unit)

    @classmethod
    def unmet(cls, plan: Plan) -> list[str]:
        problem = plan.problem
        if plan.unit.is_plain or not problem.dtype.is_integer or max(map(abs, inward(problem))) < 1 << 31:
            return []
        return [
            f"bounds [{problem.lower}, {problem.upper}]: by group or person, squares of integers are exact within "
            "2^31; give tighter bounds, or cast the column to float64"
        ]

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps:
        return steps_from_near(plan.problem, BITS)

    @classmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        assert steps is not None
        return (first_power(plan, steps), second_power(plan, steps), *row_count(plan))

    @classmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Moments:
        assert steps is not None
        return VarianceOfSums(steps, noises, n if plan.unit.is_plain else None, unit_value)


@dataclass(frozen=True)
class VarianceOfSums(Moments):
    """In quarters of squared steps, held between 0 and the square of the bounds' distance."""

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), (self.records.width * self.records.step * self.unit_value) ** 2 / 4

    def range(self, sums: Sequence[tuple[int, int]], counts: tuple[int, int]) -> tuple[Fraction, Fraction]:
        """The extremes of T/n - (S/n)^2 over the box, T/n at most w^2: concave in x = 1/n, for any S and T.

        So it is least where T is, |S| is largest, and at an end of x; and largest where T is, |S| is smallest, and at
        an end, where the slope is 0, or where T x reaches w^2 (docs/theorems/statistics.md).
        """
        (low, high), (few_squares, most_squares), w = sums[0], sums[1], self.records.width
        ends = Fraction(1, counts[1]), Fraction(1, counts[0])
        largest, smallest = max(-low, high), max(low, -high, 0)
        least = min(min(few_squares * x, Fraction(w**2)) - largest**2 * x**2 for x in ends)
        turns = [Fraction(most_squares, 2 * smallest**2)] if smallest else []
        turns += [Fraction(w**2, most_squares)] if most_squares > 0 else []
        inside = [x for x in turns if ends[0] < x < ends[1]]
        most = max(min(most_squares * x, Fraction(w**2)) - smallest**2 * x**2 for x in (*ends, *inside))
        unit = (self.records.step * self.unit_value) ** 2 / 4
        return max(Fraction(0), least) * unit, max(Fraction(0), most) * unit


@STATISTICS.register
@dataclass(frozen=True)
class Std(Variance):
    """The population standard deviation of a column: the root of its private variance; nothing else is released."""

    name = "std"

    @classmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Moments:
        assert steps is not None
        return StdOfSums(steps, noises, n if plan.unit.is_plain else None, unit_value)


@dataclass(frozen=True)
class StdOfSums(VarianceOfSums):
    """The root of a variance, rounded down to 64 bits, between 0 and half the bounds' distance."""

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), self.records.width * self.records.step * self.unit_value / 2

    def range(self, sums: Sequence[tuple[int, int]], counts: tuple[int, int]) -> tuple[Fraction, Fraction]:
        """The roots of the variance's extremes, as the root grows with it; rounded outward."""
        low, high = super().range(sums, counts)
        return root(low), min(self.limits[1], root(high, is_up=True))


def root(x: Fraction, is_up: bool = False) -> Fraction:
    """The square root of a number that is 0 or more, rounded to 64 bits or more; exact where those hold it.

    >>> root(Fraction(9, 4)), root(Fraction(2)) < root(Fraction(2), is_up=True)
    (Fraction(3, 2), True)
    """
    if x == 0:
        return x
    places = max(0, 64 - (x.numerator.bit_length() - x.denominator.bit_length()) // 2)
    scaled = Fraction(x.numerator << (2 * places), x.denominator)
    below = math.isqrt(math.floor(scaled))
    return Fraction(below + (is_up and below**2 != scaled), 1 << places)
