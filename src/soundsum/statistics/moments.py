"""Shared by mean and variance: both are read from noisy power sums, counted from the middle of the bounds.

A record's integer q in [J, K] counts as c = 2q - (J + K), an integer in [-(K-J), K-J] in half steps. The parts are the
sum of c, for a variance the sum of c^2, and the number of records, which comes last unless it is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.steps import RecordSteps
from soundsum.numbers.rationals import nearest_float
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.statistics.statistic import COUNT, Part


def first_power(plan: Plan, q: RecordSteps) -> Part:
    norms = plan.unit.norms(-q.width, q.width, plan.problem.relation)
    return Part("sum of c", q.step / 2, norms, (-q.ends, 2, 0), (-q.width, q.width))


def second_power(plan: Plan, q: RecordSteps) -> Part:
    norms = plan.unit.norms(0, q.width**2, plan.problem.relation)
    return Part("sum of c^2", q.step**2 / 4, norms, (q.ends**2, -4 * q.ends, 4), (0, q.width**2), power=2)


def row_count(plan: Plan) -> tuple[Part, ...]:
    """The number of records, unless it is public; by group it never is."""
    if plan.problem.relation.sized and plan.unit.is_plain:
        return ()
    return (Part("count", Fraction(1), plan.unit.norms(1, 1, plan.problem.relation), COUNT, (1, 1), power=0),)


def say_average_rows(unit: Unit) -> str:
    """Says which limits apply to each person: sums and counts go together."""
    if unit.max_rows is None:
        return ""
    rows = f"{unit.max_rows:,} row{'s' * (unit.max_rows > 1)}"
    return unit.say(f"each person counts{{}} with the weight of at most {rows}")


@dataclass(frozen=True)
class Moments(ABC):
    """An estimate from noisy power sums, and what it can be over the box the noises may have moved these in."""

    records: RecordSteps
    noises: tuple[Noise, ...]
    n: int | None  # where it is public
    unit_value: Fraction  # of 1 in the records

    @property
    @abstractmethod
    def limits(self) -> tuple[Fraction, Fraction]:
        """The range of the statistic."""

    @abstractmethod
    def range(self, sums: Sequence[tuple[int, int]], counts: tuple[int, int]) -> tuple[Fraction, Fraction]:
        """Bounds on the statistic, within those it always has, where each sum of powers of c is in an interval."""

    def exact(self, noisy: tuple[int, ...]) -> Fraction:
        return self._range([(m, m) for m in noisy])[0]

    def interval(self, noisy: tuple[int, ...], confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        return self._range([(m - w, m + w) for m, w in zip(noisy, self._widths(confidence), strict=True)])

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        entries = list(zip(*noisy, strict=True))
        ends = [self.interval(entry, confidence) for entry in entries]
        low, high = ([nearest_float(end[side]) for end in ends] for side in (0, 1))
        return [self.exact(entry) for entry in entries], low, high

    def _widths(self, confidence: float | Fraction) -> list[int]:
        each = 1 - (1 - confidence) / len(self.noises)  # all within their widths at once, by the union bound
        return [noise.half_width(each) for noise in self.noises]

    def _range(self, sums: list[tuple[int, int]]) -> tuple[Fraction, Fraction]:
        low, high = sums[-1] if self.n is None else (self.n, self.n)
        return self.range(sums, (max(1, low), max(1, high)))


def quotients(tops: tuple[int, int], bottoms: tuple[int, int]) -> tuple[Fraction, Fraction]:
    """The extremes of top / bottom, bottom above 0: at the corners, as it is monotone in each."""
    corners = [Fraction(top, bottom) for top in tops for bottom in bottoms]
    return min(corners), max(corners)
