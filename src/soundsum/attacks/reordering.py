"""Reordering floats (`prop:non-assoc-floats`, `ea:32-nonassoc`, `ea:64-nonassoc`): small records first, or large ones.

Small records that come first add up exactly; after the large ones each is half an ulp of the sum and is lost, a tie
that goes to the even side. The two datasets are the same multiset; with drop_last the right one lacks its last record,
which was lost anyway, so that they are 1 apart as a membership attack needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import UNORDERED, Family, Setting, Wish, exponent, whole
from soundsum.numbers import float64
from soundsum.rationals import power_of_two


def build(
    setting: Setting, a: int | None = None, d: int | None = None, j: int | None = None, drop_last: bool = False
) -> Attack:
    kind = setting.floats
    k = kind.k
    # A given one leaves the other what remains of k + 1; with neither, both are near k/2: the fewest records.
    a = min(k // 2, k + 1 - d) if a is None and isinstance(d, int) else k // 2 if a is None else a
    d = max(1, min(k // 2, k + 1 - a)) if d is None and isinstance(a, int) else 1 if d is None else d
    whole("d", d, 1, k + 1, f"1 <= d <= k + 1 = {k + 1}")
    whole("a", a, 0, k + 1 - d, f"0 <= a <= k + 1 - d = {k + 1 - d}")
    if drop_last and setting.relation.sized:
        raise ValueError(f"drop_last=True changes the number of records, which {setting.relation} makes public")
    b, c = 2 ** (k + 1 - a), 2 ** (k + 1 - d)
    one, step = power_of_two(0), power_of_two(d)
    j = exponent(setting, "j", j, low=one, high=step, total=b + c * step, least=kind.min_exponent - k)
    L, U = power_of_two(j), power_of_two(j + d)
    return Attack(
        name="reordering",
        left=setting.runs((L, b), (U, c)),
        right=setting.runs((U, c), (L, b - 1 if drop_last else b)),
        problem=setting.problem(L, U, b + c),
        totals=(b * L + c * U, c * U),
        parameters={"a": a, "d": d, "j": j, "drop_last": drop_last},
        aimed_at="iterated",
        reference="prop:non-assoc-floats",
        statement="Small records add up exactly when they come first, and are each rounded away after the large ones.",
    )


def candidates(setting: Setting, wish: Wish) -> Iterator[dict[str, Any]]:
    """Of all pairs of exponents those that may be best: the smallest that is strong enough, the strongest that fits."""
    k = setting.floats.k
    pairs = [(a, d) for d in range(1, k + 2) for a in range(k + 2 - d)]

    def records(pair: tuple[int, int]) -> int:
        return sum(1 << (k + 1 - e) for e in pair)

    def ratio(pair: tuple[int, int]) -> Fraction:
        a, d = pair
        return (1 << (k + 1 - a)) / setting.ideal(1, 2**d)

    if setting.bounds:  # other records fit, but the ideal is the same for all
        tried = [(together - d, d) for together in range(1, k + 2) for d in {together - together // 2, 1}]
    else:
        pairs = [pair for pair in pairs if ratio(pair) > 1]
        strong = [pair for pair in pairs if wish.ratio is None or ratio(pair) >= wish.ratio] or pairs
        small = [pair for pair in strong if wish.max_records is None or records(pair) <= wish.max_records]
        if wish.ratio is None:
            tried = [max(small, key=ratio)] if small else [min(pairs, key=records)]
        else:
            tried = [min(small or strong, key=records), (0, 1)]
    yield from ({"a": a, "d": d} for a, d in tried)


FAMILY = Family(
    name="reordering",
    goes_wrong="the order decides what is rounded away",
    types="floats",
    default=float64,
    relations=UNORDERED,
    parameters={
        "a": "2^(k+1-a) small records; 0 <= a, a + d <= k + 1",
        "d": "U = 2^d L, 2^(k+1-d) large records; d >= 1",
        "j": "L = 2^j",
        "drop_last": "whether the right dataset lacks its last record",
    },
    build=build,
    candidates=candidates,
    least_k=1,
    mirrors=True,
)
