"""Reordering floats (`prop:non-assoc-floats`, `ea:32-nonassoc`, `ea:64-nonassoc`): small records first, or large ones.

Small records that come first add up exactly; after the large ones each is half an ulp of the sum and is lost, a tie
that goes to the even side. The two datasets are the same multiset; with drop_last the right one lacks its last record,
which was lost anyway, so that they are 1 apart as a membership attack needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import FAMILIES, UNORDERED, Family, Situation, Wish, exponent, index, whole
from soundsum.numbers.rationals import power_of_two
from soundsum.numbers.types import float64
from soundsum.refusals import Reason, RefusedValue


def build(
    situation: Situation, a: int | None = None, d: int | None = None, j: int | None = None, drop_last: bool = False
) -> Attack:
    kind = situation.floats
    k = kind.k
    # A given one leaves the other what remains of k, for a ratio of 2; with neither, both are near k/2: the fewest
    # records.
    if d is None:
        d = max(1, min(k // 2, k - (k // 2 if a is None else index("a", a))))
    d = whole("d", d, 1, k + 1, f"1 <= d <= k + 1 = {k + 1}")
    a = max(0, min(k // 2, k - d)) if a is None else a
    a = whole("a", a, 0, k + 1 - d, f"0 <= a <= k + 1 - d = {k + 1 - d}")
    if drop_last and situation.relation.sized:
        raise RefusedValue(
            "drop_last",
            Reason.CONFLICT,
            "`drop_last=True` changes the number of records, which {relation} makes public",
            "leave `drop_last` out, or give another `relation`",
            relation=str(situation.relation),
        )
    b, c = 2 ** (k + 1 - a), 2 ** (k + 1 - d)
    j = _scale(situation, a, d, j)
    L, U = power_of_two(j), power_of_two(j + d)
    return Attack(
        name="reordering",
        left=situation.runs((L, b), (U, c)),
        right=situation.runs((U, c), (L, b - 1 if drop_last else b)),
        problem=situation.problem(L, U, b + c),
        totals=(b * L + c * U, c * U),
        parameters={"a": a, "d": d, "j": j, "drop_last": drop_last},
        aimed_at="iterated",
        reference="prop:non-assoc-floats",
        statement="Small records add up exactly when they come first, and are each rounded away after the large ones.",
    )


def _scale(situation: Situation, a: int, d: int, j: int | None) -> int:
    kind = situation.floats
    step, size = power_of_two(d), ("d", d, 1)
    total = power_of_two(kind.k + 1 - a) + power_of_two(kind.k + 1)
    least = kind.min_exponent - kind.k
    return exponent(situation, "j", j, low=power_of_two(0), high=step, total=total, least=least, size=size)


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The pairs of exponents that may be best: the smallest that is strong enough, the strongest that fits."""
    k = situation.floats.k
    first, second = (index(name, fixed[name]) if name in fixed else None for name in ("a", "d"))
    ratios: dict[tuple[int, int], Fraction] = {}
    for d in range(1, k + 2) if second is None else [second]:
        for a in range(k + 2 - d) if first is None else [first]:
            try:
                j = _scale(situation, a, d, fixed.get("j"))
            except ValueError:
                continue
            if a >= 0 and d >= 1 and a + d <= k + 1:
                L, U = power_of_two(j), power_of_two(j + d)
                ratios[a, d] = L * 2 ** (k + 1 - a) / situation.ideal(L, U)

    def records(pair: tuple[int, int]) -> int:
        return sum(1 << (k + 1 - e) for e in pair)

    useful = [pair for pair in ratios if ratios[pair] > 1]
    if not useful:
        yield {}
        return
    strongest, smallest = max(useful, key=lambda pair: ratios[pair]), min(useful, key=records)
    strong = [pair for pair in useful if wish.ratio is None or ratios[pair] >= wish.ratio]
    small = [pair for pair in strong if wish.max_records is None or records(pair) <= wish.max_records]
    if wish.ratio is None:
        best = max(small, key=lambda pair: (ratios[pair], -records(pair))) if small else smallest
    else:
        best = min(small or strong, key=records) if strong else strongest
    yield {"a": best[0], "d": best[1]}


FAMILY = FAMILIES.register(
    Family(
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
)
