"""Repeated rounding II (`thrm:quadratic-round-attack`, `ea:rr2`): records that round up beside n/2 and cancel below it.

Half of the records are U and the rest x, L, x, L, ...: x is just over half an ulp of n U/2 and L just under minus half.
At n U/2 each x rounds up and each L is lost; one U fewer, and the ulp is half as large, so x and L cancel. The paper's
example prints L with a plus where this minus is right. For a public size, a 0 stands where the missing U was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import (
    ANY_UNSIZED_FIRST,
    FAMILIES,
    Family,
    Situation,
    Wish,
    exponent,
    show_parameter,
    whole,
)
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.numbers.types import float64
from soundsum.refusals import Reason, RefusedValue


def build(situation: Situation, j: int | None = None, upper: Any = None) -> Attack:
    kind = situation.floats
    k = kind.k
    # n = 2^((k+8)/2) makes the ratio about 33, as in the paper's example for 64 bits.
    j = whole("j", min(k - 1, (k + 8) // 2) if j is None else j, 2, k - 1, f"2 <= j < k = {k}")
    half = 2 ** (j - 1)
    step = Fraction(half, 2**k)
    x, low = step * (Fraction(1, 2) + power_of_two(-k)), -step * (Fraction(1, 2) - power_of_two(-k))
    # x is an odd number of units 2^(j-1-2k), so it is a value of the type from the smallest subnormal on.
    least = kind.min_exponent - k - (j - 1 - 2 * k)
    grown = half + Fraction(half * half, 2 ** (k + 1))
    size, e = ("j", j, 2), _power(upper)
    a = exponent(
        situation, "upper", e, low=low, high=Fraction(1), total=grown, least=least, size=size, value=power_of_two
    )
    U = power_of_two(a)
    x, low = x * U, low * U
    kept = [(U, half - 1), (0, 1)] if situation.relation.sized else [(U, half - 1)]
    return Attack(
        name="repeated_rounding_2",
        left=situation.runs((U, half), ((x, low), half // 2)),
        right=situation.runs(*kept, ((x, low), half // 2)),
        problem=situation.problem(low, U, 2 * half),
        totals=(grown * U, (half - 1) * U),
        parameters={"j": j, "upper": U},
        aimed_at="iterated",
        reference="thrm:quadratic-round-attack",
        statement="Each pair of small records rounds up beside n/2 large ones, and cancels beside one fewer.",
    )


def _power(upper: Any) -> int | None:
    """The exponent of a power of two."""
    if upper is None:
        return None
    U = exact(upper, "upper")
    if is_special(U) or U <= 0:
        raise RefusedValue(
            "upper",
            Reason.UNSUPPORTED,
            "`upper={given}`: the condition is that U is a power of two",
            "give one, such as 1",
            given=quote(upper),
        )
    e = floor_log2(Fraction(U))
    if power_of_two(e) != U:
        raise RefusedValue(
            "upper",
            Reason.UNSUPPORTED,
            "`upper={given}`: the condition is that U is a power of two",
            "the nearest below is `upper={below}`",
            given=quote(upper),
            below=show_parameter(power_of_two(e)),
        )
    return e


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return ({"j": j} for j in range(2, situation.floats.k))


FAMILY = FAMILIES.register(
    Family(
        name="repeated_rounding_2",
        goes_wrong="small records round up, or cancel",
        types="floats with 3 mantissa bits or more",
        default=float64,
        relations=ANY_UNSIZED_FIRST,
        parameters={"j": "2^j records, 2 <= j < k", "upper": "U, a power of two"},
        build=build,
        candidates=candidates,
        least_k=3,
        mirrors=True,
    )
)
