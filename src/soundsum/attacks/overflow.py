"""Overflow (`thrm:mod-attack`, `ea:modular-sum`): integers that wrap around at the end of their type.

The records add up to the largest value of the type; one more, of value 1, and the sum is the smallest. The theorem has
L <= 0 < U; bounds of one sign work too, where some number of records can add up to just that, any number of times
around, and are turned over below zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import ANY_SIZED_FIRST, Family, Setting, Wish, whole
from soundsum.numbers import IntType, uint64

Parts: TypeAlias = list[tuple[int, int]]

MOST_ROUNDS = 100_000
"""How often around the type a sum may go before bounds are taken to be too close for it."""


def default_upper(kind: IntType) -> int:
    """Half the type over 2^16 (or less, in small types), which gives the paper's U = 2^47 for 64 bits."""
    return 1 << max(0, kind.bits - 1 - min(16, kind.bits // 2))


def build(setting: Setting, upper: int | None = None) -> Attack:
    kind, sized = setting.integers, setting.relation.sized
    lower, bound = (int(b) for b in setting.bounds or (0, kind.max))
    if upper is None:
        upper = bound if setting.bounds else default_upper(kind)
    sign = -1 if lower < 0 and bound <= 0 else 1
    if sign > 0:
        U = whole("upper", upper, max(1, lower), bound, f"{max(1, lower)} <= upper <= {bound}")
        common, before, after = _around(kind.max, kind, max(0, lower), U, sized)
    else:
        U = lower
        common, before, after = _around(-kind.min, kind, -bound, -lower, sized)
    left = setting.runs(*((sign * x, n) for x, n in [*common, *before]))
    right = setting.runs(*((sign * x, n) for x, n in [*common, *after]))
    end = kind.max if sign > 0 else kind.min
    return Attack(
        name="overflow",
        left=left,
        right=right,
        problem=setting.problem(0, U, right.size),
        totals=(end, kind.wrap(end + sign * (sum(x for x, _ in after) - sum(x for x, _ in before)))),
        parameters={"upper": U},
        aimed_at="modular",
        reference="thrm:mod-attack",
        statement="The records add up to the largest value of the type, and one more wraps around to the smallest.",
    )


def _around(end: int, kind: IntType, low: int, high: int, sized: bool) -> tuple[Parts, Parts, Parts]:
    """Records from [low, high] that add up to the last value before wrapping with the second part, and not with the
    third, which has one record changed, or one more.
    """
    if low == 0:
        n = -(-end // high) + 1
        return [(high, n - 2), (end - (n - 2) * high, 1)], [(0, 1)] if sized else [], [(1, 1)]
    for around in range(MOST_ROUNDS):
        total = end + around * kind.modulus
        n = total // high + 1 if sized else -(-total // high)
        if n * low <= total:
            break
    else:
        raise ValueError(f"bounds=({low}, {high}): no number of such records adds up to the end of {kind}; widen them")
    if not sized and low == high:
        return [(low, n)], [], [(low, 1)]
    larger, rest = divmod(total - n * low, high - low)
    if not sized:
        return [(high, larger), *([(low + rest, 1), (low, n - larger - 1)] if larger < n else [])], [], [(low, 1)]
    return [(high, larger), (low, n - larger - 1)], [(low + rest, 1)], [(low + rest + 1, 1)]


def candidates(setting: Setting, wish: Wish) -> Iterator[dict[str, Any]]:
    """Fewer records need a larger U, a larger ratio a smaller one: each wish is met best by one U."""
    if setting.bounds:
        yield {}
        return
    kind = setting.integers
    if wish.ratio is not None:
        # The ideal is U both for a private and for a public size, as L = 0.
        yield {"upper": max(1, min(kind.max, int((kind.modulus - 1) / wish.ratio)))}
    elif wish.max_records is not None:
        yield {"upper": -(-kind.max // max(1, wish.max_records - 1))}


FAMILY = Family(
    name="overflow",
    goes_wrong="integers wrap around",
    types="integers",
    default=uint64,
    relations=ANY_SIZED_FIRST,
    parameters={"upper": "the largest record U, 1 or more"},
    build=build,
    candidates=candidates,
)
