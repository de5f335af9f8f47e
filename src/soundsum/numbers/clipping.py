"""The clip as a definition, in Python integers: what one example's gradient becomes before it is added.

A gradient is rounded to multiples of a step D = 2^a, and where it is too long it is shortened in integer arithmetic, so
that its length is at most K steps whatever the floats were (docs/theorems/gradients.md). Slow and obvious: the kernels
and plain torch must give the same integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.refusals import Reason, RefusedValue

BITS = 24
"""K is in [2^24, 2^25), as C / D is: D = 2^(floor(log2 C) - 24); for several norms it is rounded up to at most 2^25.

So 2^38 clipped gradients add up to at most 2^63, and 32 of them to at most 2^30, which an int32 holds.
"""

ROOM = 29
"""A rounded coordinate is at most 2^29 steps; an example that has larger ones is rounded to coarser steps."""

PRECISION = 31
"""The factor a long gradient is shortened by is m / 2^(31 + h), with m in [2^30, 2^31)."""

SMALLEST, LARGEST = power_of_two(-100), power_of_two(80)
"""Between these bounds every power of two the kernels scale by is a normal float32, and subnormals round to 0."""


@dataclass(frozen=True)
class Grid:
    """The unit of a clipped sum: steps of 2^exponent, at most `limit` (K) of them for one example, in L2.

    >>> grid = Grid.of(1.0)
    >>> grid.exponent, grid.limit == 2**24, grid.sensitivity
    (-24, True, Fraction(1, 1))
    """

    exponent: int
    limit: int
    room: int = ROOM
    precision: int = PRECISION

    @classmethod
    def of(cls, max_norm: Any) -> Grid:
        """The grid for gradients clipped to this L2 norm; a float is taken at its binary value."""
        norm = exact(max_norm, "max_norm")
        if is_special(norm):
            raise RefusedValue(
                "max_norm",
                Reason.NOT_A_NUMBER,
                "`max_norm={given}` is not a finite number",
                "give one from 2^-100 to below 2^80",
                given=quote(max_norm),
            )
        if norm < SMALLEST:
            raise RefusedValue(
                "max_norm",
                Reason.TOO_SMALL,
                "`max_norm={given}`: a clipping norm is from 2^-100 to below 2^80",
                "scale the loss up",
                given=quote(max_norm),
            )
        if norm >= LARGEST:
            raise RefusedValue(
                "max_norm",
                Reason.TOO_LARGE,
                "`max_norm={given}`: a clipping norm is from 2^-100 to below 2^80",
                "scale the loss down",
                given=quote(max_norm),
            )
        norm = Fraction(norm)
        exponent = floor_log2(norm) - BITS
        return cls(exponent, math.floor(norm / power_of_two(exponent)))

    @property
    def step(self) -> Fraction:
        return power_of_two(self.exponent)

    @property
    def sensitivity(self) -> Fraction:
        """The L2 sensitivity to one example: K steps, at most the norm asked for (of several: rounded up)."""
        return self.limit * self.step


def factor(limit: int, squares: int, precision: int = PRECISION) -> tuple[int, int] | None:
    """(m, shift) with the largest m < 2^precision such that m / 2^shift <= limit / sqrt(squares); None: no need to.

    The shift is precision + h, with h as small as makes m at least 2^(precision - 1).

    >>> factor(5, 25) is None, factor(5, 100, precision=3)
    (True, (4, 3))
    """
    if squares <= limit * limit:
        return None
    quotient = -(-squares // (limit * limit))  # 4^(h + 1) is at least this
    shift = precision + max(0, ((quotient - 1).bit_length() + 1) // 2 - 1)
    return math.isqrt((limit * limit << 2 * shift) // squares), shift


def coarsening(largest: float, grid: Grid) -> int:
    """The powers of two by which the steps of an example are coarser, given its largest coordinate."""
    return max(0, math.frexp(largest)[1] - grid.exponent - grid.room) if largest else 0


def shorten(r: int, m: int, shift: int) -> int:
    """m r / 2^shift, rounded toward zero or further: from a negative integer one step more than that is lost."""
    return (m * r >> shift) + (r < 0)


def clip(row: Sequence[float], grid: Grid, limit: int | None = None) -> list[int]:
    """One example's gradient as integers q with sum(q^2) <= limit^2; where it is not finite, zeros.

    >>> grid = Grid(exponent=0, limit=5)
    >>> clip([3.0, 4.0], grid), clip([30.0, -40.0], grid), clip([1.0, math.nan], grid)
    ([3, 4], [2, -3], [0, 0])
    """
    limit = grid.limit if limit is None else limit
    if limit == 0 or not all(map(math.isfinite, row)):
        return [0] * len(row)
    step = power_of_two(grid.exponent + coarsening(max(map(abs, row), default=0.0), grid))
    rounded = [round(Fraction(x) / step) for x in row]  # half to even
    found = factor(limit, sum(r * r for r in rounded), grid.precision)
    return rounded if found is None else [shorten(r, *found) for r in rounded]


def clip_blocks(blocks: Sequence[Sequence[float]], grid: Grid, limits: Sequence[int]) -> list[list[int]]:
    """One example's gradient in blocks with a limit each, which may depend on the example.

    Where the limits are more than the whole may have (sum of their squares above K^2, or one below 0), or any block is
    not finite, all of it counts as zeros.
    """
    sound = all(limit >= 0 for limit in limits) and sum(limit * limit for limit in limits) <= grid.limit**2
    if not sound or not all(math.isfinite(x) for block in blocks for x in block):
        return [[0] * len(block) for block in blocks]
    return [clip(block, grid, limit) for block, limit in zip(blocks, limits, strict=True)]


def total(examples: Sequence[Sequence[float]], grid: Grid) -> list[int]:
    """The sum of the clipped gradients, in steps."""
    return [sum(column) for column in zip(*(clip(row, grid) for row in examples), strict=True)]
