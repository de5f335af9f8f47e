"""Overflow (`thrm:mod-attack`, `ea:modular-sum`): integers that wrap around at the end of their type.

The records add up to the largest value of the type; one more, of value 1, and the sum is the smallest. The theorem has
L <= 0 < U; bounds of one sign work too, where some number of records can add up to just that, any number of times
around. Below zero everything is turned over: the sum passes the smallest value of the type.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import ANY_SIZED_FIRST, FAMILIES, Family, Situation, Wish, whole
from soundsum.numbers.types import IntType, uint64
from soundsum.refusals import Reason, RefusedValue

Parts: TypeAlias = list[tuple[int, int]]

MOST_ROUNDS = 100_000
"""Up to this many turns around the type, each sum is tried; beyond, the first that is certain to exist is taken."""


def default_upper(kind: IntType) -> int:
    """Half the type over 2^16 (or less, in small types), which gives the paper's U = 2^47 for 64 bits."""
    return 1 << max(0, kind.bits - 1 - min(16, kind.bits // 2))


def build(situation: Situation, upper: int | None = None) -> Attack:
    kind, sized = situation.integers, situation.relation.sized
    lower, bound = (int(b) for b in situation.bounds or (0, kind.max))
    sign = -1 if lower < 0 and bound <= 0 else 1
    if upper is None:
        upper = default_upper(kind) if not situation.bounds else bound if sign > 0 else lower
    if sign > 0:
        nearest = max(1, lower + sized)  # of a public size one record must be able to change
        U = whole("upper", upper, nearest, bound, f"{nearest} <= upper <= {bound}")
        common, before, after = _around(kind.max, kind, max(0, lower), U, sized)
    else:  # the record farthest from zero is at most -1
        nearest = min(-1, bound - sized)
        U = whole("upper", upper, lower, nearest, f"{lower} <= upper <= {nearest}, for bounds below zero")
        common, before, after = _around(-kind.min, kind, -bound, -U, sized)
    left = situation.runs(*((sign * x, n) for x, n in [*common, *before]))
    right = situation.runs(*((sign * x, n) for x, n in [*common, *after]))
    end = kind.max if sign > 0 else kind.min
    ends = ("largest", "smallest")[::sign]
    return Attack(
        name="overflow",
        left=left,
        right=right,
        problem=situation.problem(0, U, right.size),
        totals=(end, kind.wrap(end + sign * (sum(x for x, _ in after) - sum(x for x, _ in before)))),
        parameters={"upper": U},
        aimed_at="modular",
        reference="thrm:mod-attack",
        statement=f"The records add up to the {ends[0]} value of the type, and one more wraps around to the {ends[1]}.",
    )


def _around(end: int, kind: IntType, low: int, high: int, sized: bool) -> tuple[Parts, Parts, Parts]:
    """Records from [low, high] that add up to the last value before wrapping with the second part, and not with the
    third, which has one record changed, or one more.
    """
    if low == 0:
        n = -(-end // high) + 1
        return [(high, n - 2), (end - (n - 2) * high, 1)], [(0, 1)] if sized else [], [(1, 1)]
    if not sized and low == high:
        return [(low, _multiple(end, kind, low))], [], [(low, 1)]
    # From low high / (high - low) on n low <= total, as n <= total / high + 1.
    certain = -(-low * high // ((high - low) * kind.modulus))
    for around in chain(range(min(MOST_ROUNDS, certain)), [certain]):
        total = end + around * kind.modulus
        n = total // high + 1 if sized else -(-total // high)
        if n * low <= total:
            break
    larger, rest = divmod(total - n * low, high - low)
    if not sized:
        return [(high, larger), *([(low + rest, 1), (low, n - larger - 1)] if larger < n else [])], [], [(low, 1)]
    return [(high, larger), (low, n - larger - 1)], [(low + rest, 1)], [(low + rest + 1, 1)]


def _multiple(end: int, kind: IntType, x: int) -> int:
    """The number of records of one value that add up to the end of the type, modulo it."""
    shared = math.gcd(x, kind.modulus)
    if end % shared:
        raise RefusedValue(
            "bounds",
            Reason.UNSUPPORTED,
            "with these `bounds` no number of records, which are all {record}, adds up to the end of {dtype}",
            "give bounds that differ",
            record=x,
            dtype=str(kind),
        )
    return end // shared * pow(x // shared, -1, kind.modulus // shared) % (kind.modulus // shared)


def candidates(situation: Situation, wish: Wish, fixed: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Fewer records need a larger U, a larger ratio a smaller one: each wish is met best by one U."""
    if situation.bounds or fixed:
        yield {}
        return
    kind = situation.integers
    if wish.ratio is not None:
        # The ideal is U both for a private and for a public size, as L = 0.
        yield {"upper": max(1, min(kind.max, int((kind.modulus - 1) / wish.ratio)))}
    elif wish.max_records is not None:
        yield {"upper": -(-kind.max // max(1, wish.max_records - 1))}


FAMILY = FAMILIES.register(
    Family(
        name="overflow",
        goes_wrong="integers wrap around",
        types="integers",
        default=uint64,
        relations=ANY_SIZED_FIRST,
        parameters={"upper": "the record farthest from zero: U, 1 or more, or below bounds of 0 -1 or less"},
        build=build,
        candidates=candidates,
    )
)
