"""Cases of a verification run: which methods on which tiny types, with which bounds and sizes.

The full run takes all L <= U of every type. Of float(3,4), where only toward_zero is looked at, it takes |L| <= U (the
others are mirror images) and, where L > 0, every fourth L. The quick run takes the smallest types, all bounds of the
integers, and for floats the bounds among zero, the smallest subnormal, the smallest normal and the largest value of
either sign, and every eighth value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from itertools import combinations_with_replacement
from typing import Any

from soundsum.methods import (
    METHODS,
    Checked,
    Iterated,
    Method,
    Modular,
    NumpyPairwise,
    OnGrid,
    Pairwise,
    Saturating,
    Split,
    TowardZero,
)
from soundsum.numbers.rationals import Value
from soundsum.numbers.types import FloatType, IntType, NumberType
from soundsum.paper.verify.check import check
from soundsum.paper.verify.subjects import Subject, subject
from soundsum.paper.verify.verification import Result


@dataclass(frozen=True)
class Tiny(FloatType):
    """A float type with so few values that they are listed: the conditions ask often whether a bound is one."""

    @cached_property
    def listed(self) -> frozenset[Fraction]:
        return frozenset(FloatType(self.k, self.l).values())

    def __contains__(self, x: object) -> bool:
        return x in self.listed


INTEGERS: list[NumberType] = [IntType(bits, signed) for bits in (3, 4, 5) for signed in (True, False)]
FLOATS: list[NumberType] = [Tiny(2, 3), Tiny(2, 4), Tiny(3, 3)]
TOWARD_ZERO_TOO = Tiny(3, 4)

SIZES = (0, 1, 2, 3, 4, 5, 6)
TREE_SIZES = (*SIZES, 8, 9)  # where the height of a pairwise tree changes
NUMPY_SIZES = (*SIZES, 7, 8, 9, 10)  # NumPy's own changes at 8 and then with every record
QUICK_SIZES = (0, 1, 2, 3, 4)

BOUNDS_PER_TURN = 400


@dataclass(frozen=True)
class WorkItem:
    """Some bounds of one method on one type, small enough to be one worker's turn."""

    method: Method
    variant: str
    kind: NumberType
    first: int
    last: int
    quick: bool

    def bounds(self) -> list[tuple[Value, Value]]:
        return all_bounds(self.kind, self.quick)[self.first : self.last]

    def results(self) -> list[Result]:
        chosen = _subject(self.method, self.variant, self.quick)
        return check(chosen, self.kind, self.bounds(), sizes(chosen, self.quick))


def sizes(subject: Subject, quick: bool) -> tuple[int, ...]:
    """The numbers of records to look at where a claim depends on it."""
    if quick:
        return QUICK_SIZES
    if isinstance(subject.adder, NumpyPairwise):
        return NUMPY_SIZES
    return TREE_SIZES if isinstance(subject.adder, Pairwise) else SIZES


def subjects(quick: bool) -> list[Subject]:
    """Every method a plan chooses from, and the grid with steps, integers and accumulators of other kinds."""
    return [_subject(method, "", quick) for method in METHODS.values()] + [_subject(*s, quick) for s in _special()]


@cache
def _subject(method: Method, variant: str, quick: bool) -> Subject:
    chosen = subject(method, variant)
    return replace(chosen, entries=1 << 18) if quick else chosen


def _special() -> Iterator[tuple[Method, str]]:
    """Methods made with parameters of their own; few divide the bounds."""
    for step in (Fraction(3, 16), Fraction(1, 3), Fraction(5, 2)):
        yield OnGrid(step=step), f"D = {step}"
        yield OnGrid(step=step, rounding="randomised"), f"D = {step}"
    yield OnGrid(step="paper", bits=8), "the paper's D, m = 8"
    for integers in (Saturating(), Modular(), Split(), Checked(), Split("checked")):
        for step, bits in ((Fraction(1, 3), 4), (Fraction(1), 4), (Fraction(3, 2), 5)):
            yield OnGrid(step=step, integers=integers, bits=bits), f"D = {step}, m = {bits}"
        if not isinstance(integers, Split) or integers.halves == "checked":
            yield OnGrid(step="paper", integers=integers, bits=5), "the paper's D, m = 5"
    for float_sum in (Iterated, Pairwise):
        yield float_sum(accumulator=FloatType(3, 4)), "in float(3,4)"


def kinds(subject: Subject, quick: bool) -> list[NumberType]:
    """The types to look at; unions of integers on a grid and wide accumulators only on the smallest."""
    method = subject.method
    if method.takes is IntType:
        return INTEGERS[:2] if quick else INTEGERS
    if subject.variant:
        return FLOATS[:1]
    if quick:
        return FLOATS[:1]
    return [*FLOATS, TOWARD_ZERO_TOO] if isinstance(method, TowardZero) else FLOATS


@cache
def all_bounds(kind: NumberType, quick: bool) -> list[tuple[Value, Value]]:
    """All L <= U, or the quick selection of them."""
    values: list[Any] = list(kind.values())
    if quick and isinstance(kind, FloatType):
        ends = (kind.smallest_subnormal, kind.smallest_normal, kind.max)
        values = sorted({Fraction(0), *ends, *(-x for x in ends), *values[::8]})
    bounds = list(combinations_with_replacement(values, 2))
    if kind != TOWARD_ZERO_TOO:
        return bounds
    lowest = {x for i, x in enumerate(values) if x <= 0 or i % 4 == 0}
    return [(L, U) for L, U in bounds if abs(L) <= U and L in lowest]


def list_work(quick: bool, only: frozenset[str] | None = None) -> list[WorkItem]:
    """Everything to do, in the order of the methods."""
    todo = []
    for chosen in subjects(quick):
        if only is not None and chosen.method.label not in only:
            continue
        for kind in kinds(chosen, quick):
            count = len(all_bounds(kind, quick))
            todo += [
                WorkItem(chosen.method, chosen.variant, kind, first, min(first + BOUNDS_PER_TURN, count), quick)
                for first in range(0, count, BOUNDS_PER_TURN)
            ]
    return todo
