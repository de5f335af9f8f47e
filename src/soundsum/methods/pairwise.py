"""Pairwise summation: floats added in a balanced binary tree, the paper's recursion (`def:bspairwise`)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.method import METHODS, Theorem
from soundsum.numbers.types import FloatType


def height(n: int) -> int:
    """ceil(log2 n), the height of the tree over n records."""
    return (n - 1).bit_length() if n else 0


def too_high(height: int, kind: FloatType) -> list[str]:
    """The error bound of a tree needs h u < 1."""
    if height * kind.unit_roundoff < 1:
        return []
    return [f"proved for trees of height below {int(1 / kind.unit_roundoff):,} in {kind}, not {height:,}; use grid"]


def tree_error(height: int, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
    """h u / (1 - h u) n M: a record goes through at most h roundings."""
    hu = height * kind.unit_roundoff
    return hu / (1 - hu) * n * magnitude


@dataclass(frozen=True)
class Pairwise(FromAccuracy):
    name = "pairwise"
    theorem = Theorem(
        "pairwise",
        "thrm:sens-upper-bounds",
        "the ideal sensitivity (of the sum that is truncated, where n is private) plus "
        "2 h u / (1 - h u) n max(|L|, |U|), with the tree's height h = ceil(log2 n) and the unit roundoff u",
    )

    def error(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        return tree_error(height(n), n, magnitude, kind)

    def unproved(self, n: int, kind: FloatType) -> list[str]:
        return too_high(height(n), kind)


METHODS.register(Pairwise())
METHODS.register(Pairwise(split=True))
