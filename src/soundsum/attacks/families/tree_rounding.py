"""Rounding in a tree: one record changed anywhere doubles its difference at every level of a balanced sum.

L has an odd last bit and U is the next float. Two L add up exactly, to an odd last bit again; L and U make a tie, which
goes up to the even side, one ulp of that sum above. So the change is one ulp at every level and n (U - L) at the top.
For pairwise sums of 2^j records; NumPy's tree is balanced for n = 2, 8 and 16. Not in the paper, whose remark on
pairwise sums (`rem:resist-pair`) holds for bottom-up pairing only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import FAMILIES, ORDERED_SIZED, Family, Situation, Wish, exponent, index, whole
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.numbers.types import float64
from soundsum.refusals import Reason, RefusedValue

MOST_LEVELS = 60
"""Records are counted in 64 bits."""


def build(situation: Situation, j: int = 4, m: int | None = None, place: int | None = None) -> Attack:
    j = whole("j", j, 1, MOST_LEVELS, f"1 <= j <= {MOST_LEVELS}")
    n = 2**j
    place = whole("place", n - 1 if place is None else place, 0, n - 1, f"0 <= place < n = {n}")
    L, U, m = _neighbours(situation, j, m)
    return Attack(
        name="tree_rounding",
        left=situation.runs((L, place), (U, 1), (L, n - 1 - place)),
        right=situation.runs((L, n)),
        problem=situation.problem(L, U, n),
        totals=(n * U, n * L),
        parameters={"j": j, "m": m, "place": place},
        aimed_at="pairwise",
        reference="rem:resist-pair, corrected",
        statement="The changed record makes a tie that rounds up at every level of a tree, so its difference doubles.",
    )


def _neighbours(situation: Situation, j: int, m: int | None) -> tuple[Fraction, Fraction, int]:
    """L, the next float U, and the exponent of L: the largest that fit the bounds, or (1 + 2^-k) 2^m without any."""
    kind, n = situation.floats, 2**j
    lower, upper = 1 + power_of_two(-kind.k), 1 + 2 * power_of_two(-kind.k)
    size, least = ("j", j, 1), kind.min_exponent
    if situation.bounds is None:
        m = exponent(situation, "m", m, low=lower, high=upper, total=n * upper, least=least, size=size, preferred=-1)
        return lower * power_of_two(m), upper * power_of_two(m), m
    least_bound, bound = situation.bounds
    top = min(bound, kind.max / n)
    if m is not None:
        top = min(top, power_of_two(index("m", m) + 1))
    U = Fraction(kind.round_down(top))
    if U > 0 and (U / kind.ulp(U)) % 2:  # the last bit of U is even, as that of L is odd
        U = Fraction(kind.next_down(U))
    L = Fraction(kind.next_down(U))
    nearest_zero = max(least_bound, kind.smallest_normal if m is None else power_of_two(m))
    if nearest_zero > L:
        raise RefusedValue(
            "bounds",
            Reason.UNSUPPORTED,
            "`bounds={given}` hold no two neighbouring normal floats, the one nearer zero with an odd last bit, of "
            "which {n:,} can be added",
            "give bounds that do, or other parameters",
            given=situation.as_given(*situation.bounds),
            n=n,
        )
    return L, U, floor_log2(L)


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return ({"j": j} for j in range(1, MOST_LEVELS + 1))


FAMILY = FAMILIES.register(
    Family(
        name="tree_rounding",
        goes_wrong="a difference doubles at every level of a tree",
        types="floats with 2 mantissa bits or more",
        default=float64,
        relations=ORDERED_SIZED,
        parameters={"j": "2^j records", "m": "records are near 2^m", "place": "which record is changed, from 0"},
        build=build,
        candidates=candidates,
        least_k=2,
        mirrors=True,
    )
)
