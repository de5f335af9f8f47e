"""The numbers people read, from the noisy integers that are let out, and their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.integers import Integers
from soundsum.privacy import Noise
from soundsum.sensitivities import Statistic


@dataclass(frozen=True)
class Additive:
    """Noise added to the statistic itself, each step of it worth `step`."""

    noise: Noise
    step: Fraction

    def interval(self, exact: int | Fraction, confidence: float) -> tuple[Fraction, Fraction]:
        width = self.noise.half_width(confidence) * self.step
        return exact - width, exact + width


@dataclass(frozen=True)
class Moments:
    """A mean or variance of noisy sums of c (and c^2) and the count, which comes last unless n is public."""

    statistic: Statistic
    records: Integers
    noisy: tuple[int, ...]
    noises: tuple[Noise, ...]
    n: int | None
    worth: Fraction  # of 1 in the records

    @property
    def value(self) -> Fraction:
        return self._range([(m, m) for m in self.noisy])[0]

    def interval(self, exact: int | Fraction, confidence: float) -> tuple[Fraction, Fraction]:
        """What the statistic can be over the box the noises may have moved the sums in."""
        each = 1 - (1 - confidence) / len(self.noises)  # all within their widths at once, by the union bound
        widths = [noise.half_width(each) for noise in self.noises]
        return self._range([(m - w, m + w) for m, w in zip(self.noisy, widths, strict=True)])

    def _range(self, sums: list[tuple[int, int]]) -> tuple[Fraction, Fraction]:
        """Bounds on the statistic where each sum is in an interval, held in the range it can have."""
        counts = [max(1, n) for n in (sums[-1] if self.n is None else (self.n, self.n))]
        low, high = _quotients(sums[0], counts)
        width, step = self.records.width, self.records.step * self.worth
        if self.statistic == "mean":
            held = [max(Fraction(-width), min(Fraction(width), mean)) for mean in (low, high)]
            least, most = ((self.records.ends + mean) / 2 * step + self.records.offset * self.worth for mean in held)
            return least, most
        squares = _quotients(sums[1], counts)
        nearest_zero = min(abs(low), abs(high)) if low * high > 0 else 0
        ends = squares[0] - max(low**2, high**2), squares[1] - nearest_zero**2
        least, most = (max(Fraction(0), min(Fraction(width**2), end)) for end in ends)
        return least / 4 * step**2, most / 4 * step**2


def _quotients(tops: tuple[int, int], bottoms: list[int]) -> tuple[Fraction, Fraction]:
    """The extremes of top / bottom, bottom above 0: at the corners, as it is monotone in each."""
    corners = [Fraction(top, bottom) for top in tops for bottom in bottoms]
    return min(corners), max(corners)
