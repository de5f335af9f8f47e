"""Repeated rounding I (`prop:rounding-id-floats`, `ea:32-ham-round-accum`): every addition rounds up, by twice as much.

A sum that starts twice as large has twice the ulp, and every record is just over half of it: each addition rounds up to
a whole ulp, so the larger sum grows twice as fast. For a public size, a 0 stands where the first record was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import ANY_UNSIZED_FIRST, FAMILIES, Family, Situation, Wish, exponent, whole
from soundsum.numbers.rationals import power_of_two
from soundsum.numbers.types import float16


def build(situation: Situation, j: int | None = None, m: int | None = None) -> Attack:
    kind = situation.floats
    k = kind.k
    j = whole("j", min(4, k) if j is None else j, 1, k, f"1 <= j <= k = {k}")
    zero, one = power_of_two(0) * 0, power_of_two(k)
    total, size = power_of_two(k + j + 1), ("j", j, 1)
    m = exponent(situation, "m", m, low=zero, high=one, total=total, least=kind.min_exponent, size=size)
    U = power_of_two(k + m)
    tail = [((power_of_two(i) + power_of_two(i - k)) * power_of_two(m), 2**k) for i in range(j)]
    start = [(0, 1)] if situation.relation.sized else []
    return Attack(
        name="repeated_rounding_1",
        left=situation.runs((U, 2), *tail),
        right=situation.runs(*start, (U, 1), *tail),
        problem=situation.problem(0, U, j * 2**k + 2),
        totals=(power_of_two(j + 1) * U, power_of_two(j) * U),
        parameters={"j": j, "m": m},
        aimed_at="iterated",
        reference="prop:rounding-id-floats",
        statement="Every addition rounds up to a whole ulp of the sum, and the larger sum has ulps twice as large.",
    )


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return ({"j": j} for j in range(1, situation.floats.k + 1))


FAMILY = FAMILIES.register(
    Family(
        name="repeated_rounding_1",
        goes_wrong="every addition rounds up, to larger ulps",
        types="floats with 2 mantissa bits or more",
        default=float16,  # of 64 bits it has 2^54 records, which nothing can add
        relations=ANY_UNSIZED_FIRST,
        parameters={"j": "j 2^k + 2 records, 1 <= j <= k", "m": "U = 2^(k+m)"},
        build=build,
        candidates=candidates,
        least_k=2,
        mirrors=True,
    )
)
