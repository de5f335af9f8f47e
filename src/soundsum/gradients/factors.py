"""From what was measured of each example to how its integers are made: the step, the factor and its shift, exactly.

The kernels measure and add; between the two, a few integers per example are worked out here, in Python.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from soundsum.numbers.clipping import Grid, coarsening, factor

MOST_SHIFT = 63
"""Products are below 2^60 in magnitude, so that a larger shift than this gives the same."""


@dataclass(frozen=True)
class Measured:
    """Of each example's block: the largest magnitude (NaN or infinity where it is not finite), the sum of squares."""

    largest: list[float]
    squares: list[int]


@dataclass(frozen=True)
class Factors:
    """Of each example: 1/step (0: it counts as zero), m (0: no need to clip), the shift, and the largest magnitude."""

    scale: list[float]
    m: list[int]
    shift: list[int]
    largest: list[float]


def scales(largest: Sequence[float], grid: Grid) -> list[float]:
    """1/step for each example: coarser where its largest coordinate needs it."""
    return [math.ldexp(1.0, -(grid.exponent + (coarsening(top, grid) if math.isfinite(top) else 0))) for top in largest]


def factors(measured: Measured, finite: Sequence[bool], grid: Grid, limits: Sequence[int]) -> Factors:
    """`finite` says of each example whether all its blocks are, `limits` how many steps this one may have."""
    scale, m, shift = scales(measured.largest, grid), [0] * len(limits), [31] * len(limits)
    for i, limit in enumerate(limits):
        if not finite[i] or limit <= 0:
            scale[i] = 0.0
        elif (found := factor(limit, measured.squares[i])) is not None:
            m[i], shift[i] = found[0], min(found[1], MOST_SHIFT)
    return Factors(scale, m, shift, [top if math.isfinite(top) else 0.0 for top in measured.largest])
