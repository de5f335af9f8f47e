"""Means and variances from exact integer sums: what is added up, and what is computed from it after the noise."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

from soundsum.kernels import Missing, missing_count, sum_of_squares, wide_sum
from soundsum.numbers import int64
from soundsum.preparation import grid_integers
from soundsum.privacy import Noise
from soundsum.records import Records
from soundsum.sensitivities import Centred, Statistic


def moments(statistic: Statistic, batch: Records, to: Centred, missing: Missing) -> tuple[int, ...]:
    """The sum of c = 2q - (J + K), for a variance also of c^2, and the count."""
    if to.grid is not None:
        batch, missing = grid_integers(batch, to.grid, int64, missing=missing), "zero"
    n = batch.size - (missing_count(batch) if missing == "drop" else 0)
    ends = to.low + to.high
    first = wide_sum(batch, to.low, to.high, missing=missing)
    c = 2 * first - n * ends
    if statistic == "mean":
        return c, n
    second = sum_of_squares(batch, to.low, to.high, missing=missing)
    return c, 4 * second - 4 * ends * first + n * ends**2, n


def statistic_of(
    statistic: Statistic, records: Centred, noisy: tuple[int, ...], n: int | None, unit: Fraction
) -> Fraction:
    """The statistic of noisy sums, held in the range it can have; the last sum is the count unless n is public."""
    count = max(1, noisy[-1] if n is None else n)
    mean = Fraction(noisy[0], count)
    if statistic == "mean":
        held = max(Fraction(-records.width), min(Fraction(records.width), mean))
        return (Fraction(records.low + records.high) + held) / 2 * records.step * unit
    spread = Fraction(noisy[1], count) - mean**2
    return max(Fraction(0), min(Fraction(records.width**2), spread)) / 4 * (records.step * unit) ** 2


@dataclass(frozen=True)
class MomentsError:
    """The interval of a statistic of noisy sums: its extremes over the box the noises may have moved them in."""

    statistic: Statistic
    records: Centred
    noisy: tuple[int, ...]
    noises: tuple[Noise, ...]
    n: int | None
    unit: Fraction

    def interval(self, exact: int | Fraction, confidence: float) -> tuple[Fraction, Fraction]:
        each = 1 - (1 - confidence) / len(self.noises)  # all within their widths at once, by the union bound
        widths = [noise.half_width(each) for noise in self.noises]
        reach = [(m - w, m, m + w) for m, w in zip(self.noisy, widths, strict=True)]
        corners = itertools.product(*reach)
        values = [statistic_of(self.statistic, self.records, corner, self.n, self.unit) for corner in corners]
        return min(values), max(values)
