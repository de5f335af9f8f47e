"""The clip of gradients (docs/theorems/gradients.md), exhaustively where everything about it is tiny.

Rows of one to three values of a tiny float type, infinities and NaN among them, are clipped to every small limit, on
several grids and with factors of few bits, whole and in two blocks. The sum of clipped gradients moves by one of them,
so the check compares the square of its length with the square of the limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from soundsum.methods.problem import Problem
from soundsum.numbers.clipping import Grid, clip, clip_blocks
from soundsum.numbers.types import FloatType
from soundsum.paper.verify.verification import Case, Counterexample, Result
from soundsum.tables.relations import Relation

LABEL = "gradients"
KIND = FloatType(2, 3)
QUICK_VALUES = 8
"""The quick run takes every eighth value, besides the least, the largest and those that are not finite."""

Clip = Callable[[tuple[float, ...], Grid], list[int]]


@dataclass(frozen=True)
class TooLong(Counterexample):
    """A gradient that is still longer than its limit once clipped."""

    def __str__(self) -> str:
        return (
            f"{self.case}: the gradient {list(self.left)} is clipped to {list(self.right)}, whose squared length is "
            f"{self.difference}; claimed is at most {self.claimed}"
        )


@dataclass(frozen=True)
class ClipWork:
    """All rows of one length on one grid; `blocks`: the last coordinate is a block of its own."""

    grid: Grid
    length: int
    quick: bool
    blocks: bool = False

    def results(self) -> list[Result]:
        if not self.blocks:
            return [check(clip, self.grid, self.length, self.quick)]
        K = self.grid.limit
        limits = [(k, rest) for k in range(K + 1) for rest in range(K + 1)]
        return [check(_in_blocks(pair), self.grid, self.length, self.quick) for pair in limits]


def list_work(quick: bool) -> list[ClipWork]:
    """The room is 2 or 3 bits, so that most rows need a coarser step; the factors have 1, 2, 3 and 31 bits."""
    grids = [
        Grid(exponent, limit, room, precision)
        for exponent in ((-3,) if quick else (-4, -3, -1, 0))
        for limit in ((1, 2, 3, 5) if quick else range(1, 8))
        for room in (2, 3)
        for precision in ((2, 31) if quick else (1, 2, 3, 31))
    ]
    whole = [ClipWork(grid, d, quick) for grid in grids for d in (1, 2)]
    if not quick:
        whole += [ClipWork(Grid(-3, limit, 2, precision), 3, False) for limit in (2, 3, 5) for precision in (2, 31)]
    return whole + [ClipWork(grid, 2, True, blocks=True) for grid in grids if grid.limit <= 3]


def check(clipped: Clip, grid: Grid, length: int, quick: bool) -> Result:
    """Every row of this length: the longest q, and the first that is too long."""
    longest, seen, claimed = 0, 0, grid.limit**2
    found: TooLong | None = None
    violations = 0
    problem = Problem(KIND, -KIND.max, KIND.max, Relation.SYMMETRIC)
    case = Case(problem, f"K = {grid.limit}, d = {length}, D = {grid.step}, {grid.room} and {grid.precision} bits")
    for row in product(_values(quick), repeat=length):
        q = clipped(row, grid)
        square = sum(x * x for x in q)
        seen += 1
        longest = max(longest, square)
        if square > claimed:
            violations += 1
            if found is None:
                found = TooLong(case, row, tuple(q), square, claimed, square, Fraction(claimed), "clipped")
    return Result(
        LABEL,
        Relation.SYMMETRIC,
        KIND.name,
        cases=1,
        pairs=seen,
        violations=violations,
        ratio=Fraction(longest, claimed),
        at=case,
        counterexample=found,
    )


def _in_blocks(limits: tuple[int, int]) -> Clip:
    def clipped(row: tuple[float, ...], grid: Grid) -> list[int]:
        first, last = clip_blocks([row[:-1], row[-1:]], grid, limits)
        return first + last

    return clipped


def _values(quick: bool) -> list[float]:
    finite = [float(x) for x in KIND.values()]
    if quick:
        finite = sorted({*finite[::QUICK_VALUES], finite[-1], *map(float, _small())})
    return [*finite, math.inf, -math.inf, math.nan]


def _small() -> Iterator[Fraction]:
    yield from (KIND.smallest_subnormal, -KIND.smallest_subnormal, Fraction(0))
