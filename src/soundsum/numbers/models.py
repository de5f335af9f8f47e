"""Every way to add, written as plainly as it can be said, in exact arithmetic: the definitions the kernels must equal.

A `Fold` takes records one by one; a `Tree` joins partial sums in a shape that depends on the number of records alone.
Both take records that are already clean (clamped, missing ones decided). Slow, and meant to be read beside the paper's
section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeAlias

from soundsum.numbers.rationals import Rounding, Value
from soundsum.numbers.types import FloatType, IntType

Shape: TypeAlias = "int | tuple[Shape, Shape]"
"""A binary tree over the indices of records."""


@dataclass(frozen=True)
class Fold:
    """A sum done one record after another: a starting state, a step, and the meaning of the last state."""

    start: Any
    step: Callable[[Any, Any], Any]
    finish: Callable[[Any], Value] = lambda state: state

    def sum(self, values: Iterable[Value]) -> Value:
        return self.finish(reduce(self.step, values, self.start))


@dataclass(frozen=True)
class Tree:
    """A sum done in a binary tree; of no records it is 0."""

    shape: Callable[[int], Shape]
    join: Callable[[Any, Any], Any]

    def sum(self, values: Iterable[Value]) -> Value:
        leaves = list(values)
        return self._sum(self.shape(len(leaves)), leaves) if leaves else 0

    def _sum(self, shape: Shape, leaves: Sequence[Value]) -> Any:
        if isinstance(shape, int):
            return leaves[shape]
        return self.join(self._sum(shape[0], leaves), self._sum(shape[1], leaves))


def clean(x: Value, lower: Value, upper: Value) -> Value:
    """The record brought into [lower, upper], a missing one (NaN) to the value there nearest zero.

    >>> clean(float("inf"), 0, 9), clean(float("nan"), 2, 9), clean(float("nan"), -2, 9)
    (9, 2, 0)
    """
    x = 0 if x != x else x
    return lower if x < lower else upper if x > upper else x


# Integers


def wide() -> Fold:
    """The sum itself, in an accumulator that cannot overflow."""
    return Fold(0, lambda total, x: total + x)


def squares() -> Fold:
    return Fold(0, lambda total, x: total + x * x)


def modular(kind: IntType) -> Fold:
    """Addition modulo 2^bits (`sec:integers`)."""
    return Fold(0, kind.modular_add)


def saturating(kind: IntType) -> Fold:
    """Addition held at the limits of the type after every step, in order (`defn:sat-add`)."""
    return Fold(0, kind.saturating_add)


def split_saturating(kind: IntType) -> Fold:
    """Negatives and the rest apart, each saturating, then the two together (`method:split-sum-ints`)."""

    def step(sums: tuple[int, int], x: int) -> tuple[int, int]:
        negative, positive = sums
        return (kind.saturating_add(negative, x), positive) if x < 0 else (negative, kind.saturating_add(positive, x))

    return Fold((0, 0), step, lambda sums: kind.saturating_add(*sums))


# Floats


def iterated(kind: FloatType) -> Fold:
    """One rounded addition after another (`def:bsiterative`)."""
    return Fold(Fraction(0), kind.add)


def kahan(kind: FloatType) -> Fold:
    """Compensated summation (`def:bskahan`)."""

    def minus(a: Value, b: Value) -> Value:
        return kind.add(a, -b)

    def step(state: tuple[Value, Value], x: Value) -> tuple[Value, Value]:
        total, lost = state
        y = minus(x, lost)
        t = kind.add(total, y)
        return t, minus(minus(t, total), y)

    return Fold((Fraction(0), Fraction(0)), step, lambda state: state[0])


def toward_zero(kind: FloatType) -> Fold:
    """Negatives and the rest apart, each rounded toward zero, then one addition to nearest (`method:fsplit-sum`)."""

    def step(sums: tuple[Value, Value], x: Value) -> tuple[Value, Value]:
        negative, positive = sums
        if x < 0:
            return kind.add(negative, x, Rounding.TOWARD_ZERO), positive
        return negative, kind.add(positive, x, Rounding.TOWARD_ZERO)

    return Fold((Fraction(0), Fraction(0)), step, lambda sums: kind.add(*sums))


def pairwise(kind: FloatType) -> Tree:
    """The paper's recursion: the first half of the records, the rest, and one addition (`def:bspairwise`)."""

    def shape(n: int, first: int = 0) -> Shape:
        half = n // 2
        return first if n == 1 else (shape(half, first), shape(n - half, first + half))

    return Tree(shape, kind.add)


def numpy_pairwise(kind: FloatType) -> Tree:
    """NumPy's sum of a contiguous or strided, aligned, one-dimensional array of float32 or float64.

    Up to 8 records in order; up to 128 in eight interleaved sums, joined in pairs, the remainder in order; more in two
    halves, the first rounded down to a multiple of 8. (NumPy starts from -0.0, which adds nothing.)
    """

    def in_order(shape: Shape, indices: Iterable[int]) -> Shape:
        return reduce(lambda left, i: (left, i), indices, shape)

    def shape(n: int, first: int = 0) -> Shape:
        if n < 8:
            return in_order(first, range(first + 1, first + n))
        if n <= 128:
            whole = n - n % 8
            r = [in_order(first + j, range(first + 8 + j, first + whole, 8)) for j in range(8)]
            joined = (((r[0], r[1]), (r[2], r[3])), ((r[4], r[5]), (r[6], r[7])))
            return in_order(joined, range(first + whole, first + n))
        half = n // 2 - n // 2 % 8
        return shape(half, first), shape(n - half, first + half)

    return Tree(shape, kind.add)


FLOAT_SUMS: dict[str, Callable[[FloatType], Fold | Tree]] = {
    "iterated": iterated,
    "pairwise": pairwise,
    "kahan": kahan,
    "toward_zero": toward_zero,
}
"""The sums of floats with a kernel, by name."""
