"""The mean of a column, from the sum of how far records are from the middle of their bounds, and their number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.steps import RecordSteps, steps_from_near
from soundsum.numbers.rationals import nearest_float
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.statistics.moments import Moments, first_power, quotients, row_count, say_average_rows
from soundsum.statistics.statistic import STATISTICS, Bounded, Part


@STATISTICS.register
@dataclass(frozen=True)
class Mean(Bounded):
    """The mean of a column, each record clamped to [lower, upper]."""

    name = "mean"
    drops_missing = True

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        return say_average_rows(unit)

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps:
        return steps_from_near(plan.problem)

    @classmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        assert steps is not None
        return (first_power(plan, steps), *row_count(plan))

    @classmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Moments:
        assert steps is not None
        return MeanOfSums(steps, noises, n if plan.unit.is_plain else None, unit_value)


@dataclass(frozen=True)
class MeanOfSums(Moments):
    """The middle of the bounds and the mean of c, in half steps, held within the bounds."""

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return self.records.bounds(self.unit_value)

    def range(self, sums: Sequence[tuple[int, int]], counts: tuple[int, int]) -> tuple[Fraction, Fraction]:
        q, w = self.records, Fraction(self.records.width)
        low, high = (
            ((q.ends + max(-w, min(w, mean))) / 2 * q.step + q.offset) * self.unit_value
            for mean in quotients(sums[0], counts)
        )
        return low, high

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        """Compute `exact` and `interval` for all entries, as the nearest floats, in integer arithmetic.

        Within the bounds a mean is (a n + b s) / (c n), for integers a, b and c. Python divides integers exactly and
        rounds the quotient once, to nearest, so nothing is lost and no fraction is made.
        """
        if any(
            math.isinf(nearest_float(end)) for end in self.records.bounds(self.unit_value)
        ):  # so might a quotient be
            return super().columns(noisy, confidence)
        sums = noisy[0]
        counts: Sequence[int] = noisy[1] if self.n is None else [self.n] * len(sums)
        width, slack = self._widths(confidence) if self.n is None else (*self._widths(confidence), 0)
        fewest, most = [n - slack for n in counts], [n + slack for n in counts]
        # The extremes of a quotient: the least top over the largest bottom, or if it is negative over the smallest.
        low_counts = [n if s >= width else m for s, n, m in zip(sums, most, fewest, strict=True)]
        high_counts = [m if s >= -width else n for s, n, m in zip(sums, most, fewest, strict=True)]
        values: list[int | Fraction | float] = [*self._floats(sums, counts)]
        low = self._floats([s - width for s in sums], low_counts)
        return values, low, self._floats([s + width for s in sums], high_counts)

    def _floats(self, sums: Sequence[int], counts: Sequence[int]) -> list[float]:
        q = self.records
        middle, slope = (q.ends * q.step / 2 + q.offset) * self.unit_value, q.step * self.unit_value / 2
        c = math.lcm(middle.denominator, slope.denominator)
        a, b, w = int(middle * c), int(slope * c), q.width
        least, most = nearest_float(middle - slope * w), nearest_float(middle + slope * w)
        at_least_1 = [max(n, 1) for n in counts]
        return [
            most if s >= w * n else least if s <= -w * n else (a * n + b * s) / (c * n)
            for s, n in zip(sums, at_least_1, strict=True)
        ]
