"""Kahan's compensated summation (`def:bskahan`): an error bound that grows with n, not with n^2.

The constant is 3 u, relative to n M. The 2 u of the literature is relative to the sum of magnitudes up to terms of
higher order, and false as it stands: five doubles reach 2.21875 u.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.arithmetic.numbers import FloatType
from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.method import METHODS, Theorem


@dataclass(frozen=True)
class Kahan(FromAccuracy):
    name = "kahan"
    theorem = Theorem(
        "kahan",
        "thrm:sens-upper-bounds",
        "the ideal sensitivity (of the truncated sum) plus 3 n max(|L|, |U|) / 2^k, for n at most 2^(k-1)",
    )

    def error(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        return 3 * kind.unit_roundoff * n * magnitude

    def unproved(self, n: int, kind: FloatType) -> list[str]:
        most = 1 << (kind.k - 1)
        return [f"proved for at most {most:,} records in {kind}, and n may be {n:,}; use grid"] if n > most else []


METHODS.register(Kahan())
METHODS.register(Kahan(split=True))
