"""The mean of a column, from the sum of how far records are from the middle of their bounds, and their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.steps import RecordSteps, steps_from_near
from soundsum.planner import Scheme
from soundsum.privacy.noise import Noise
from soundsum.statistics.moments import Moments, clamp, first_power, quotients, row_count
from soundsum.statistics.statistic import STATISTICS, Bounded, Part


@STATISTICS.register
@dataclass(frozen=True)
class Mean(Bounded):
    """The mean of a column, each record clamped to [lower, upper]."""

    name = "mean"

    @classmethod
    def record_steps(cls, plan: Scheme) -> RecordSteps:
        return steps_from_near(plan.problem)

    @classmethod
    def parts(cls, plan: Scheme, steps: RecordSteps | None) -> tuple[Part, ...]:
        assert steps is not None
        return (first_power(plan, steps), *row_count(plan))

    @classmethod
    def estimator(
        cls, plan: Scheme, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, worth: Fraction
    ) -> Moments:
        assert steps is not None
        return MeanOfSums(steps, noises, n if plan.unit.is_plain else None, worth)


@dataclass(frozen=True)
class MeanOfSums(Moments):
    """The middle of the bounds and the mean of c, in half steps, held within the bounds."""

    def range(self, sums: Sequence[tuple[int, int]], counts: tuple[int, int]) -> tuple[Fraction, Fraction]:
        q = self.records
        low, high = (
            ((q.ends + clamp(mean, -q.width, q.width)) / 2 * q.step + q.offset) * self.worth
            for mean in quotients(sums[0], counts)
        )
        return low, high
