"""Grids: how records become integers in [J, K], so that sums are exact and no record moves them by more than its value.

q(x) is the rational (clamp(x) - offset) / D rounded half to even and clamped, as an integer, to [J, K]
(`sec:floats2ints`). Privacy rests on that last clamp alone; D, offset and bounds decide accuracy. Everything here is
exact; `as_doubles` says when double arithmetic computes the very same q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from soundsum.numbers.rationals import Value, floor_log2, power_of_two, round_half_even
from soundsum.numbers.types import FloatType, double, float64

BITS = 50
"""The grid resolves the ideal sensitivity into at least 2^50 steps, unless the type itself is coarser."""


@dataclass(frozen=True)
class RecordGrid:
    """Steps of size `step` from `offset`; records are clamped to [lower, upper] and their integers to [low, high]."""

    lower: Fraction
    upper: Fraction
    step: Fraction
    offset: Fraction
    low: int
    high: int

    def integer(self, x: Value) -> int:
        """q(x); NaN counts as the value in the bounds nearest zero, infinities clamp."""
        x = 0 if x != x else x
        clamped = self.lower if x < self.lower else self.upper if x > self.upper else Fraction(x)
        return max(self.low, min(self.high, round_half_even((clamped - self.offset) / self.step)))

    @property
    def missing(self) -> int:
        """q of a missing record."""
        return self.integer(math.nan)

    def value(self, total: Fraction | int, n: int = 0) -> Fraction:
        """A sum of integers back in the data's units; with an offset the number of records is needed."""
        return total * self.step + n * self.offset


def power_of_two_grid(kind: FloatType, lower: Fraction, upper: Fraction, sized: bool, bits: int = BITS) -> RecordGrid:
    """Our grid: D a power of two, bounds rounded inward, so that the sensitivity is at most the ideal one.

    >>> power_of_two_grid(float64, Fraction(0), Fraction(1000), sized=False).high * Fraction(1, 2**41)
    Fraction(1000, 1)
    """
    ideal = upper - lower if sized else max(abs(lower), abs(upper))
    if ideal == 0:
        return RecordGrid(lower, upper, Fraction(1), lower if sized else Fraction(0), 0, 0)
    step = power_of_two(max(floor_log2(ideal) - bits, floor_log2(kind.smallest_subnormal)))
    offset = Fraction(0)
    if sized and lower > 0:
        offset = math.floor(lower / step) * step
    elif sized and upper < 0:
        offset = math.ceil(upper / step) * step
    return _inward(lower, upper, step, offset)


def stepped_grid(lower: Fraction, upper: Fraction, step: Fraction, sized: bool) -> RecordGrid:
    """A grid with a given step and the paper's offset; bounds inward, as its outward ones cost two steps."""
    offset = Fraction(0)
    if sized:
        offset = max(lower, offset) if abs(upper) >= abs(lower) else min(upper, offset)
    return _inward(lower, upper, step, offset)


def _inward(lower: Fraction, upper: Fraction, step: Fraction, offset: Fraction) -> RecordGrid:
    low, high = math.ceil((lower - offset) / step), math.floor((upper - offset) / step)
    if low > high:  # no multiple of the step within the bounds: the one nearer zero is the smaller promise
        low = high = min(low, high, key=abs)
    return RecordGrid(lower, upper, step, offset, low, high)


class Doubles(NamedTuple):
    """In doubles: q(x) = shift + the integer nearest (x - base) * scale * more_scale, clamped to [low, high]."""

    base: float
    scale: float
    more_scale: float
    low: int
    high: int
    shift: int


@lru_cache(maxsize=64)  # asked for every batch
def as_doubles(grid: RecordGrid) -> Doubles | None:
    """The constants with which doubles compute the grid's q exactly for every double x, or None where they cannot.

    The step must be a power of two whose inverse neither overflows (in two factors) nor underflows, so that scaling is
    exact, and the offset a multiple of it. With an offset, the bounds must be in the range of doubles. `base` is the
    first double from the offset inward. Where the offset is no double itself, the doubles within the bounds are spaced
    two steps or more, so none needs rounding and the integers only shift. The subtraction is exact for x within the
    bounds: both sides are multiples of the smaller of D and x's own spacing, and the difference has at most 53 bits.
    Beyond the bounds all steps are monotone and the last clamp decides.
    """
    if grid.low == grid.high:  # every record has the same integer
        return Doubles(0.0, 1.0, 1.0, 0, 0, grid.low)
    exponent = floor_log2(grid.step)
    if not floor_log2(float64.smallest_subnormal) <= exponent <= -float64.min_exponent:
        return None
    if grid.offset and max(abs(grid.lower), abs(grid.upper)) >= power_of_two(float64.max_exponent + 1):
        return None
    if power_of_two(exponent) != grid.step or grid.offset % grid.step:
        return None
    base = float64.round_up(grid.offset) if grid.offset > 0 else float64.round_down(grid.offset)
    if not isinstance(base, Fraction):
        return None
    shift = (base - grid.offset) / grid.step
    low, high = grid.low - shift, grid.high - shift
    if max(abs(low), abs(high)) > 1 << 51:
        return None
    scale = min(-exponent, 1000)
    return Doubles(
        double(base),
        math.ldexp(1.0, scale),
        math.ldexp(1.0, -exponent - scale),
        int(low),
        int(high),
        int(shift),
    )
