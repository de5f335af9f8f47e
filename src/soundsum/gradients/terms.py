"""The terms of a sum, exactly: norms of each tensor, the noise multiplier, and how many examples there is room for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from soundsum.gradients.batches import MOST_EXAMPLES
from soundsum.numbers.clipping import BITS, Grid
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two


def require_room(examples: int) -> None:
    if examples > MOST_EXAMPLES:
        raise ValueError(
            f"{examples:,} examples: the sum of more than 2^38 might leave its 64-bit integers; release before that"
        )


def layered(norms: Sequence[Any]) -> tuple[Grid, tuple[int, ...]]:
    """Norms of each tensor: their limits in steps of one grid, and a limit for the whole."""
    squares = sum((Fraction(Grid.of(norm).sensitivity) ** 2 for norm in norms), Fraction(0))
    if not squares:
        raise ValueError("max_norm=[]: give one norm for each tensor, or one for the whole gradient")
    exponent = floor_log2(squares) // 2 - BITS
    limits = tuple(math.floor(Fraction(exact(norm)) / power_of_two(exponent)) for norm in norms)
    return Grid(exponent, math.isqrt(sum(k * k for k in limits) - 1) + 1), limits


def exact_multiplier(noise_multiplier: Any) -> Fraction:
    multiplier = exact(noise_multiplier, "noise_multiplier")
    if is_special(multiplier) or multiplier <= 0:
        raise ValueError(
            f"noise_multiplier={noise_multiplier}: a private sum needs noise, so it is above 0; "
            "sum() gives the integers without any"
        )
    return Fraction(multiplier)
