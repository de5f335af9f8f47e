"""Kahan's compensated summation (`def:bskahan`): an error bound that grows with n, not with n^2.

The constant is 9/4 u relative to n M, and 3 u where the type is small or n close to its limit. The 2 u of the
literature is relative to the sum of magnitudes up to terms of higher order, and five doubles reach 2.21875 u of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.method import METHODS, Theorem
from soundsum.numbers.types import FloatType


@dataclass(frozen=True)
class Kahan(FromAccuracy):
    name = "kahan"
    theorem = Theorem(
        "kahan",
        "thrm:sens-upper-bounds",
        "the ideal sensitivity (of the sum that is truncated, where n is private) plus "
        "9/4 n max(|L|, |U|) / 2^k, with k mantissa bits, if k is at least 7 and n at most 2^(k-5); otherwise with "
        "3 in place of 9/4, if n is at most 2^(k-1)",
    )

    def error(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        sharp = kind.k >= 7 and n <= 1 << (kind.k - 5)
        return (Fraction(9, 4) if sharp else 3) * kind.unit_roundoff * n * magnitude

    def reach(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        return n * magnitude + 3 * kind.unit_roundoff * n * magnitude

    def unproved(self, n: int, kind: FloatType) -> list[str]:
        most = 1 << (kind.k - 1)
        return [f"proved for at most {most:,} records in {kind}, and n may be {n:,}; use grid"] if n > most else []


METHODS.register(Kahan())
METHODS.register(Kahan(split=True))
