"""Iterated summation: one float addition after another (`def:bsiterative`), with Jeannerod and Rump's error bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.method import METHODS, Theorem
from soundsum.numbers.types import FloatType


@dataclass(frozen=True)
class Iterated(FromAccuracy):
    name = "iterated"
    theorem = Theorem(
        "iterated",
        "thrm:sens-upper-bounds",
        "the ideal sensitivity (of the sum that is truncated, where n is private) plus "
        "n (n-1) max(|L|, |U|) / 2^k, with k mantissa bits",
    )

    def error(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        """n (n-1) u M, for any n: the error is at most (n-1) u times the sum of magnitudes."""
        return n * (n - 1) * kind.unit_roundoff * magnitude


METHODS.register(Iterated())
METHODS.register(Iterated(split=True))
