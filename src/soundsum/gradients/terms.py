"""The terms of a clipped sum, exactly: its theorem, norms, noise multiplier and room, and each example's factor.

The kernels measure and add. Between the two, a few integers per example are computed here, in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum.methods.method import Theorem
from soundsum.numbers.clipping import BITS, Grid, coarsening, factor
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.refusals import Reason, RefusedValue

THEOREM = Theorem(
    "gradients",
    "docs/theorems/gradients.md",
    "adding or removing an example moves the sum of clipped gradients by at most K steps in L2; with round(sigma G), "
    "sigma >= z K, added to it, it is a post-processing of the Gaussian mechanism with noise multiplier z",
)
MOST_EXAMPLES = 1 << 38
"""Each adds at most 2^25 to a coordinate, in magnitude. Of all sums up to 2^63 only 2^63 itself wraps around."""
MOST_SHIFT = 63
"""Products are below 2^60 in magnitude, so a larger shift gives the same result."""


def require_room(examples: int) -> None:
    if examples > MOST_EXAMPLES:
        raise RefusedValue(
            None,
            Reason.TOO_MANY,
            "the sum of more than 2^38 examples might leave its 64-bit integers",
            "release it before that",
        )


def layered(norms: Sequence[Any]) -> tuple[Grid, tuple[int, ...]]:
    """Turns norms of each tensor into limits in steps of one grid, whose own limit bounds the whole gradient."""
    squares = sum((Fraction(Grid.of(norm).sensitivity) ** 2 for norm in norms), Fraction(0))
    if not squares:
        raise RefusedValue(
            "max_norm",
            Reason.EMPTY,
            "`max_norm=[]` has no norms",
            "give one for each tensor, or one for the whole gradient",
        )
    exponent = floor_log2(squares) // 2 - BITS
    limits = tuple(math.floor(Fraction(exact(norm)) / power_of_two(exponent)) for norm in norms)
    return Grid(exponent, math.isqrt(sum(k * k for k in limits) - 1) + 1), limits


def exact_multiplier(noise_multiplier: Any) -> Fraction:
    multiplier = exact(noise_multiplier, "noise_multiplier")
    if is_special(multiplier):
        raise RefusedValue(
            "noise_multiplier",
            Reason.NOT_A_NUMBER,
            "`noise_multiplier={given}` is not a finite number",
            "give one above 0",
            given=quote(noise_multiplier),
        )
    if multiplier <= 0:
        raise RefusedValue(
            "noise_multiplier",
            Reason.TOO_SMALL,
            "`noise_multiplier={given}` is not above 0, and a private sum needs noise",
            "give more; `Sum.sum()` returns the integers without any",
            given=quote(noise_multiplier),
        )
    return Fraction(multiplier)


@dataclass(frozen=True)
class Measured:
    """Each example's largest magnitude in a block (NaN or infinity where it is not finite) and its sum of squares."""

    largest: list[float]
    squares: list[int]


@dataclass(frozen=True)
class Factors:
    """Each example's 1/step (0: it counts as zero), m (0: no need to clip), shift and largest magnitude."""

    scale: list[float]
    m: list[int]
    shift: list[int]
    largest: list[float]


def scales(largest: Sequence[float], grid: Grid) -> list[float]:
    """Computes 1/step for each example: coarser where its largest coordinate needs it."""
    return [math.ldexp(1.0, -(grid.exponent + (coarsening(top, grid) if math.isfinite(top) else 0))) for top in largest]


def factors(measured: Measured, finite: Sequence[bool], grid: Grid, limits: Sequence[int]) -> Factors:
    """Computes the factors of a block. `finite`: whether all of an example is; `limits`: its limits in steps."""
    scale, m, shift = scales(measured.largest, grid), [0] * len(limits), [31] * len(limits)
    for i, limit in enumerate(limits):
        if not finite[i] or limit <= 0:
            scale[i] = 0.0
        elif (found := factor(limit, measured.squares[i])) is not None:
            m[i], shift[i] = found[0], min(found[1], MOST_SHIFT)
    return Factors(scale, m, shift, [top if math.isfinite(top) else 0.0 for top in measured.largest])
