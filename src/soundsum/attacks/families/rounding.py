"""One rounding (`prop:rounding-ham-floats`, `ea:ham-round-once`): the last addition rounds down for L and up for U.

The bounds are neighbouring floats, and 2^j copies of L add up exactly; one more L lands on a tie and goes down, U lies
just above the tie and goes up. Kahan's sum does the same, as the result itself cannot be represented. The condition
here is 1 < j < k; the paper asks for j < (k+1)/2, where the copies add up exactly, but their ties do no harm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import FAMILIES, ORDERED_SIZED, Family, Situation, Wish, exponent, whole
from soundsum.numbers.rationals import power_of_two, round_half_even
from soundsum.numbers.types import float64


def build(situation: Situation, j: int | None = None, m: int | None = None) -> Attack:
    kind = situation.floats
    k = kind.k
    j = whole("j", min(4, k - 1) if j is None else j, 2, k - 1, f"1 < j < k = {k}")
    copies = 2**j
    lower = 1 + power_of_two(j - k - 1)
    upper = lower + power_of_two(-k)
    ulp = power_of_two(j - k)  # of the sum
    down = _sum_of_copies(k, j, lower) + 2 ** (k - j)
    total, size = (down + 1) * ulp, ("j", j, 2)
    m = exponent(
        situation, "m", m, low=lower, high=upper, total=total, least=kind.min_exponent, size=size, preferred=-1
    )
    scale = power_of_two(m)
    L, U = lower * scale, upper * scale
    return Attack(
        name="rounding",
        left=situation.runs((L, copies), (U, 1)),
        right=situation.runs((L, copies + 1)),
        problem=situation.problem(L, U, copies + 1),
        totals=((down + 1) * ulp * scale, down * ulp * scale),
        parameters={"j": j, "m": m},
        aimed_at="iterated",
        reference="prop:rounding-ham-floats",
        statement="The last addition lands on a tie and rounds down, or just above it and rounds up.",
    )


def _sum_of_copies(k: int, j: int, lower: Fraction) -> int:
    """The iterated sum of 2^j copies of L, in ulps of the result, which is even: 2^(j-k) each at m = 0.

    L is 2^(k-j) + 1/2 of these ulps. Sums below 2^j are exact; from the first one above it on (only where
    j > (k+1)/2 are there any before the last) each addition is a tie, and goes to the even side.
    """
    first = math.ceil(2**j / lower)
    reached = round_half_even(first * lower / power_of_two(j - k))
    left = 2**j - first
    return reached + int(left * 2 ** (k - j)) + (reached % 2 if left else 0)


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return ({"j": j} for j in range(2, situation.floats.k))


FAMILY = FAMILIES.register(
    Family(
        name="rounding",
        goes_wrong="the last addition rounds up or down",
        types="floats with 3 mantissa bits or more",
        default=float64,
        relations=ORDERED_SIZED,
        parameters={"j": "2^j + 1 records, 1 < j < k", "m": "records are near 2^m"},
        build=build,
        candidates=candidates,
        least_k=3,
        mirrors=True,
    )
)
