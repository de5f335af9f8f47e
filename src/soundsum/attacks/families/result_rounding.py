"""One rounding of the result: for any sum that returns a float, even one that is correctly rounded.

2^(k+j) + 2^(j-1) copies of U add up to a tie between two floats, which goes down to the even one; with one record more
the result goes up, by an ulp of the sum, which is 2^j U. In 64 bits that takes 2^53 records, in half precision a batch:
sums that are kept in a wider type and rounded at the end do it too. For a public size, a 0 stands where the record was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import ANY_UNSIZED_FIRST, FAMILIES, Family, Situation, Wish, exponent, whole
from soundsum.numbers.rationals import power_of_two
from soundsum.numbers.types import float16


def build(situation: Situation, j: int | None = None, m: int | None = None) -> Attack:
    kind = situation.floats
    k = kind.k
    j = whole("j", min(5, k) if j is None else j, 1, k, f"1 <= j <= k = {k}")
    tie, above = 2 ** (k + j) + 2 ** (j - 1), 2 ** (k + j) + 2**j
    zero, one, size = Fraction(0), Fraction(1), ("j", j, 1)
    m = exponent(situation, "m", m, low=zero, high=one, total=Fraction(above), least=kind.min_exponent, size=size)
    U = power_of_two(m)
    absent = [(0, 1)] if situation.relation.sized else []
    return Attack(
        name="result_rounding",
        left=situation.runs((U, tie + 1)),
        right=situation.runs((U, tie), *absent),
        problem=situation.problem(0, U, tie + 1),
        totals=(above * U, 2 ** (k + j) * U),
        parameters={"j": j, "m": m},
        aimed_at="rounded",
        reference="rem:resist-kahan-thesis, made general",
        statement="The exact sum is a tie of two floats and rounds down, and with one record more it rounds up.",
    )


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return ({"j": j} for j in range(1, situation.floats.k + 1))


FAMILY = FAMILIES.register(
    Family(
        name="result_rounding",
        goes_wrong="the result is rounded by more than a record",
        types="floats",
        default=float16,  # of 64 bits it has 2^53 records and more, which nothing can add
        relations=ANY_UNSIZED_FIRST,
        parameters={"j": "2^(k+j) + 2^(j-1) + 1 records, 1 <= j <= k", "m": "U = 2^m"},
        build=build,
        candidates=candidates,
        least_k=1,
        mirrors=True,
    )
)
