"""Bounds for which one record tips a sum of doubles from one float to the next, found by trying neighbouring floats.

All records are L but for one, which is L or U, the next float. The additions are simulated as the engine does them, one
after another, for thousands of L at once; of these the one is taken where the two sums are furthest apart.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from soundsum.problem import Problem
from soundsum.relations import Relation

TRIED = 8192


def tipping_bounds(x: float, n: int, place: int) -> tuple[Problem, Fraction]:
    """The problem, with bounds at or just above x, and the midpoint of its sums with L and with U at `place` of n."""
    neighbours = (np.array([x]).view(np.int64) + np.arange(TRIED + 1)).view(np.float64)  # as their bits are
    lower, upper = neighbours[:-1], neighbours[1:]
    low = np.zeros(TRIED)
    for _ in range(place):
        low += lower
    high = low + upper
    low = low + lower
    for _ in range(n - 1 - place):
        low += lower
        high += lower
    best = int(np.argmax((high - low) / (upper - lower)))
    problem = Problem("float64", lower[best], upper[best], Relation.CHANGE_ONE, n)
    return problem, (Fraction(low[best]) + Fraction(high[best])) / 2
