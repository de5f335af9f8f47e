"""Bounds for which one record tips a sum of doubles from one float to the next, found by trying neighbouring floats.

All records are L but for one, which is L or U, the next float. The additions are simulated as the engine does them, one
after another, for thousands of L at once; of these the one is taken where the two sums are furthest apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from soundsum.methods.problem import Problem
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

TRIED = 8192
"""Candidates for L at a time: neighbouring floats."""


def tipping_bounds(starts: Sequence[float], n: int, place: int) -> tuple[Problem, Fraction]:
    """The problem, with bounds just above one of `starts`, and the midpoint of its sums with L and with U at `place`.

    A few places in a hundred cannot be tipped near a given float, as a later tie brings both sums together; another
    start has its ties elsewhere.
    """
    for x in starts:
        first = np.array([x]).view(np.int64)  # neighbouring floats have neighbouring bits
        neighbours = (first + np.arange(TRIED + 1)).view(np.float64)
        lower, upper = neighbours[:-1], neighbours[1:]
        low, high = _sums(lower, upper, n, place)
        ratios = (high - low) / (upper - lower)
        best = int(np.argmax(ratios))
        if 4 * ratios[best] >= n:
            problem = Problem("float64", lower[best], upper[best], Relation.CHANGE_ONE, n)
            return problem, (Fraction(low[best]) + Fraction(high[best])) / 2
    raise RefusedValue(
        "starts",
        Reason.UNSUPPORTED,
        "record {place} of {n:,} tips no sum with bounds near {starts}",
        "give other `starts`",
        place=place,
        n=n,
        starts=quote(list(starts)),
    )


def _sums(
    lower: NDArray[np.float64], upper: NDArray[np.float64], n: int, place: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """One addition after another of n records, all L, and with U at `place`."""
    low = np.zeros(len(lower))
    for _ in range(place):
        low += lower
    low, high = low + lower, low + upper
    for _ in range(n - 1 - place):
        low += lower
        high += lower
    return low, high
