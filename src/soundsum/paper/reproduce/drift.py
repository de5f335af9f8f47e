"""Repeated rounding 2 with U = 1 and 12 mantissa bits, where 2^8 records have the effect of 2^30 in doubles."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from soundsum.numbers import models
from soundsum.numbers.types import FloatType

K, N = 12, 2**8
NARROW = FloatType(K, 8)
STEP = Fraction(N // 2, 2**K)
X, LOW = STEP * (Fraction(1, 2) + Fraction(1, 2**K)), -STEP * (Fraction(1, 2) - Fraction(1, 2**K))
PROMISED = 1 + Fraction(N**2, 2 ** (K + 3))
"""The small records x and L, and the difference that the theorem promises."""


def drift(tail: Callable[[int], Fraction]) -> Fraction:
    """n/2 records of 1 and then n/2 small ones, against one 1 fewer: the difference of the iterated sums."""
    half, add = N // 2, models.iterated(NARROW)
    small = [tail(i) for i in range(half)]
    sums = [Fraction(add.sum([Fraction(1)] * ones + small)) for ones in (half, half - 1)]
    return sums[0] - sums[1]


def alternating(low: Fraction) -> Callable[[int], Fraction]:
    return lambda i: low if i % 2 else X
