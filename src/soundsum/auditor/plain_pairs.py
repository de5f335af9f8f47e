"""Ordinary neighbours: the pairs that anybody would try first, for every type, relation and bounds.

Few records, equal records with one that differs, one record among others, the same records in another order, a record
beyond the bounds, and a walk from all records at one bound to all at the other. They aim at no arithmetic: a wrong
claim, a missing clamp, rows that count by their place, or too little noise shows on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum.attacks import Attack
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import Value, is_special
from soundsum.numbers.types import FloatType, IntType
from soundsum.tables.runs import Runs

STATEMENTS = {
    "few_records": "None, one or two records.",
    "equal_records": "All records are equal, apart from one.",
    "one_record": "One record differs among records that vary.",
    "another_order": "The same records in another order.",
    "out_of_bounds": "One record lies beyond the bounds, where it has to be clamped.",
    "walk": "One record at a time from all at one bound to all at the other: the step at which the result jumps most.",
}
"""The plain families, and how their neighbours differ."""

FREE_BOUNDS = ((0, 1), (-3, 5), (10, 12))
"""Bounds that are tried where the target takes any: from zero, around it, and above it."""

COUNTS = (4, 9, 10, 19, 49, 99)
"""Numbers of records that one is added to: about the sizes below which programs hide or round results."""

WALK, MANY = 1000, 100
FAR = 1000
"""A record beyond the bounds lies this many times their distance from them."""


def plain_pairs(target: Target, families: Sequence[str] | None = None) -> list[Attack]:
    """The plain neighbours of a target, the most telling first; all of them, or those of some families.

    >>> import numpy as np
    >>> made = plain_pairs(Target(noiseless=np.sum, dtype="int32", relation="change_one", bounds=(0, 5)))
    >>> made[0].name, list(made[0].left), list(made[0].right), {one.distance for one in made} == {0, 1}
    ('few_records', [5], [0], True)
    """
    made: dict[tuple[Any, ...], Attack] = {}
    for bounds in _bounds(target):
        pairs = _Pairs(target, *bounds)
        for one in pairs.added() if not target.neighbours.sized else pairs.changed():
            key = (one.name, one.problem, one.left, one.right)
            if families is None or one.name in families:
                made.setdefault(key, one)
    return list(made.values())


def choose_few(pairs: Sequence[Attack], most: int) -> list[Attack]:
    """The pairs to sample: the most telling within the first bounds, without the walk, which has no end."""
    return [one for one in pairs if one.name != "walk" and _within(one) == _within(pairs[0])][:most]


def _within(made: Attack) -> tuple[Fraction, Fraction]:
    return made.problem.lower, made.problem.upper


def _bounds(target: Target) -> Iterator[tuple[Fraction, Fraction]]:
    if target.bounds is not None:
        yield target.bounds
        return
    for lower, upper in FREE_BOUNDS:
        if isinstance(target.dtype, IntType):
            low, high = max(lower, int(target.dtype.min)), min(upper, int(target.dtype.max))
            if low < high:
                yield Fraction(low), Fraction(high)
        elif lower in target.dtype and upper in target.dtype:
            yield Fraction(lower), Fraction(upper)


@dataclass(frozen=True)
class _Pairs:
    """The plain neighbours of one target within two bounds."""

    target: Target
    lower: Fraction
    upper: Fraction

    def changed(self) -> Iterator[Attack]:
        """Neighbours of one size: a record is changed."""
        L, U, Z = self.lower, self.upper, self._zero
        yield from self._pair("few_records", [(U, 1)], [(L, 1)])
        yield from self._edit("equal_records", [(L, MANY + 1)], [U], 0, change=True)
        yield from self._edit("equal_records", [(U, 11)], [L], 10, change=True)
        yield from self._edit("equal_records", [(L, 2)], [U], 0, change=True)
        yield from self._edit("one_record", self._ramp(11), [U, L], 5, change=True)
        yield from self._beyond()
        yield from self._reordered()
        yield from self._pair("few_records", [(U, 1)], [(Z, 1)])
        yield from self._pair("few_records", [(Z, 1)], [(L, 1)])
        yield from self._edit("few_records", [(U, 2)], [L], 1, change=True)
        for n in (2, 11, MANY + 1, 10 * MANY + 1):
            for base, other in ((L, U), (U, L)):
                for place in (0, n // 2, n - 1):
                    yield from self._edit("equal_records", [(base, n)], [other], place, change=True)
        for n in (11, MANY + 1):
            for place in (0, n // 2, n - 1):
                yield from self._edit("one_record", self._ramp(n), [U, L], place, change=True)
        for place in (0, 5, 10):
            yield from self._edit("one_record", [((L, U), 5), (L, 1)], [U, L], place, change=True)
        yield from self._walked()

    def added(self) -> Iterator[Attack]:
        """Neighbours of two sizes: a record is added."""
        L, U, Z = self.lower, self.upper, self._zero
        far = max(L, U, key=abs)
        yield from self._edit("few_records", [], [far], 0)
        yield from self._edit("few_records", [], [Z], 0)
        yield from self._edit("equal_records", [(L, 9)], [U], 0)
        for n in (9, 4, 99, 19):
            yield from self._edit("equal_records", [(far, n)], [far], n)
        yield from self._edit("one_record", self._ramp(11), [far], 5)
        yield from self._beyond()
        yield from self._reordered()
        for value in (L, U):
            yield from self._edit("few_records", [], [value], 0)
            yield from self._edit("few_records", [(L, 1)], [value], 1)
            yield from self._edit("few_records", [(U, 1)], [value], 0)
        for n in COUNTS:
            for value in (L, U, Z):
                yield from self._edit("equal_records", [(value, n)], [value], n)
        for n in (2, 10, MANY):
            for base, other in ((L, U), (U, L), (U, Z)):
                for place in (0, n // 2, n):
                    yield from self._edit("equal_records", [(base, n)], [other], place)
        for n in (11, MANY):
            for place in (0, n // 2, n):
                yield from self._edit("one_record", self._ramp(n), [U, L], place)
        yield from self._walked()

    @property
    def _zero(self) -> Fraction:
        return max(self.lower, min(self.upper, Fraction(0)))

    def _ramp(self, n: int) -> list[tuple[Any, int]]:
        """Values in ascending order, all different if the type has enough between the bounds."""
        width, kind = self.upper - self.lower, self.target.dtype
        values = [self.lower + width * i / max(1, n - 1) for i in range(n)]
        rounded = [Fraction(kind.round(x)) if isinstance(kind, FloatType) else Fraction(int(x)) for x in values]
        return [(max(self.lower, min(self.upper, x)), 1) for x in rounded]

    def _edit(
        self, rule: str, base: list[tuple[Any, int]], values: Sequence[Fraction], place: int, *, change: bool = False
    ) -> Iterator[Attack]:
        """The record at a place replaced by the first of the values that differs from it, or the first value added."""
        right = self._runs(base)
        value = values[0]
        if change:
            there = next(iter(right[place : place + 1]))
            value = next((x for x in values if x != there), values[0])
        middle = self._runs([(value, 1)])
        left = right[:place] + middle + right[place + change :]
        yield from self._made(rule, left, right)

    def _reordered(self) -> Iterator[Attack]:
        if self.target.neighbours.ordered:
            return
        L, U = self.lower, self.upper
        for n in (MANY, 1, 10):
            yield from self._pair("another_order", [(U, n), (L, n)], [(L, n), (U, n)])
        ramp = self._ramp(11)
        yield from self._pair("another_order", ramp[::-1], ramp)

    def _beyond(self) -> Iterator[Attack]:
        """A record beyond the bounds, beside others at the bound that is farther from it."""
        if not self.target.clamps:
            return
        L, U, kind = self.lower, self.upper, self.target.dtype
        reach = FAR * max(Fraction(1), U - L)
        values = [U + reach, L - reach, Fraction(kind.max), Fraction(kind.min)]
        if isinstance(kind, FloatType):
            values = [Fraction(kind.round(x)) if abs(x) <= kind.max else x for x in values]
            values[3] = -values[2]
        for x in values:
            if x in kind and not L <= x <= U:
                near = L if x > U else U
                rest = [(near, 1)] if self._sized else []
                yield from self._pair("out_of_bounds", [(near, 2), (x, 1)], [(near, 2), *rest], outside=True)

    def _walked(self) -> Iterator[Attack]:
        """The last step of the walk; `own_step` finds the one where the target's result jumps most."""
        L, U = self.lower, self.upper
        rest = [(L, 1)] if self._sized else []
        yield from self._pair("walk", [(U, WALK)], [(U, WALK - 1), *rest])

    @property
    def _sized(self) -> bool:
        return self.target.neighbours.sized

    def _runs(self, parts: Sequence[tuple[Any, int]]) -> Runs:
        return Runs(self.target.dtype, [part for part in parts if part[1]])

    def _pair(
        self, rule: str, left: list[tuple[Any, int]], right: list[tuple[Any, int]], outside: bool = False
    ) -> Iterator[Attack]:
        yield from self._made(rule, self._runs(left), self._runs(right), outside)

    def _made(self, rule: str, left: Runs, right: Runs, outside: bool = False) -> Iterator[Attack]:
        parts = left.parts, right.parts
        return make_pair(self.target, (self.lower, self.upper), rule, *parts, STATEMENTS, outside)


def make_pair(
    target: Target,
    bounds: tuple[Fraction, Fraction],
    rule: str,
    left: Sequence[Any],
    right: Sequence[Any],
    statements: Mapping[str, str],
    outside: bool = False,
) -> Iterator[Attack]:
    """The pair of these parts, unless the two are the same."""
    sides = [Runs(target.dtype, parts) for parts in (left, right)]
    if sides[0] == sides[1]:
        return
    yield Attack(
        name=rule,
        left=sides[0],
        right=sides[1],
        problem=target.problem(*bounds, sides[1].size),
        totals=(_total(sides[0]), _total(sides[1])),
        parameters={},
        aimed_at="wide" if target.dtype.is_integer else "grid",
        reference="plain neighbours",
        statement=statements[rule],
        outside=outside,
    )


def _total(side: Runs) -> Value:
    """The exact sum, or NaN where a record is."""
    special = [x for x in side.counts() if is_special(x)]
    return special[0] if special else Fraction(side.total())
