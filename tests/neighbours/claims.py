"""What one record or person can move, from first principles: the largest difference of two contributions.

A record adds to one entry of a vector of integers something in [low, high], or nothing where it may be left out; a
person adds to at most so many entries something between so many times each end, and 0. The norms of a release must be
those of the furthest two such vectors, found here by trying all of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Norms:
    l1: int
    l2_squared: int
    entries: int

    @classmethod
    def of(cls, moved: Vector | list[int]) -> Norms:
        return cls(sum(map(abs, moved)), sum(x * x for x in moved), sum(x != 0 for x in moved))

    def exceeds(self, other: Norms) -> bool:
        return self.l1 > other.l1 or self.l2_squared > other.l2_squared or self.entries > other.entries


@dataclass(frozen=True)
class Unit:
    """Whom a claim is about: one record, or a person; `left_out` is whether a record may count nowhere."""

    sized: bool
    entries: int
    left_out: bool
    max_rows: int | None = None
    max_groups: int = 1


def worst(low: int, high: int, unit: Unit) -> Norms:
    """The norms of the largest difference between what neighbours add."""
    if unit.max_rows is not None:  # they come or go: the whole of what they add
        ends = (unit.max_rows * min(low, 0), unit.max_rows * max(high, 0))
        return _largest(Norms.of([end] * min(unit.max_groups, unit.entries)) for end in ends)
    places = range(min(unit.entries, 2))  # all entries are alike
    one = [tuple(end if place == own else 0 for place in places) for own in places for end in (low, high)]
    nothing = [tuple(0 for _ in places)]
    if not unit.sized:
        return _largest(map(Norms.of, one))
    both = one + nothing if unit.left_out else one
    return _largest(Norms.of([a - b for a, b in zip(*two, strict=True)]) for two in product(both, repeat=2))


def _largest(found: Iterator[Norms]) -> Norms:
    every = list(found)
    return Norms(*(max(getattr(one, name) for one in every) for name in ("l1", "l2_squared", "entries")))


def integer_range(lower: Fraction, upper: Fraction, step: Fraction, kind: tuple[int, int] | None) -> tuple[int, int]:
    """The multiples of the step within the bounds, and within the type of integers that counts them."""
    low, high = math.ceil(lower / step), math.floor(upper / step)
    if kind is not None:
        low, high = max(low, kind[0]), min(high, kind[1])
    if low > high:  # none: the one nearer to 0
        low = high = min(low, high, key=abs)
    return low, high


def part_ranges(parts: list[str], low: int, high: int) -> list[tuple[int, int]]:
    """What a record adds to each part that is let out, where it is an integer in [low, high]."""
    width = high - low
    every = {"sum": (low, high), "count": (1, 1), "sum of c": (-width, width), "sum of c^2": (0, width**2)}
    return [every[part] for part in parts]
