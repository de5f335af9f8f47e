"""Operations on datasets given as parts, a pattern of values and how often it repeats, without writing them out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from soundsum.numbers.rationals import Value
from soundsum.refusals import Reason, RefusedValue

Part: TypeAlias = tuple[tuple[Value, ...], int]

MOST_RUN_PAIRS = 1_000_000
"""The most pairs of runs that an insert-delete distance compares before it is refused."""


def merge(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Patterns shortened to one period, equal neighbours joined, empty parts gone."""
    merged: list[Part] = []
    for pattern, count in parts:
        if not count:
            continue
        length = len(pattern)
        period = next(p for p in range(1, length + 1) if not length % p and pattern == pattern[:p] * (length // p))
        pattern, count = pattern[:period], count * (length // period)
        if merged and merged[-1][0] == pattern:
            count += merged.pop()[1]
        merged.append((pattern, count))
    return tuple(merged)


def cut(parts: Iterable[Part], start: int, stop: int) -> Iterator[Part]:
    """The parts of records start to stop."""
    at = 0
    for pattern, count in parts:
        length = len(pattern)
        first, last = max(start - at, 0), min(stop - at, length * count)
        at += length * count
        if first >= last:
            continue
        shift = first % length
        whole, rest = divmod(last - first, length)
        turned = pattern[shift:] + pattern[:shift]
        if whole:
            yield turned, whole
        if rest:
            yield turned[:rest], 1


def side_by_side(
    left: Sequence[Part], right: Sequence[Part]
) -> Iterator[tuple[tuple[Value, ...], tuple[Value, ...], int]]:
    """Stretches where both sides keep to one pattern, each turned to begin at the stretch, up to the shorter's end."""
    rests = [list(reversed(left)), list(reversed(right))]
    while all(rests):
        now = [rest.pop() for rest in rests]
        length = min(len(pattern) * count for pattern, count in now)
        yield now[0][0], now[1][0], length
        for rest, (pattern, count) in zip(rests, now, strict=True):
            rest.extend(reversed(list(cut([(pattern, count)], length, len(pattern) * count))))


def differences(left: tuple[Value, ...], right: tuple[Value, ...], length: int) -> int:
    """In how many of `length` places two repeating patterns differ."""
    period = math.lcm(len(left), len(right))
    differ = [not same(left[i % len(left)], right[i % len(right)]) for i in range(min(period, length))]
    return sum(differ) * (length // period) + sum(differ[: length % period])


def common_subsequence(left: list[tuple[Value, int]], right: list[tuple[Value, int]]) -> int:
    """The length of the longest common subsequence of two lists of runs.

    In the usual table, a block of two unequal runs carries its top and left edges along rows and columns, a block of
    equal runs carries them along diagonals; so the corner depends on few points, found from the corner backwards.
    """
    if len(left) * len(right) > MOST_RUN_PAIRS:
        raise RefusedValue(
            None,
            Reason.TOO_MANY,
            "the insert-delete distance of {left} and {right} runs takes over {most} pairs of runs",
            "the symmetric distance is a lower bound that needs no order",
            left=f"{len(left):,}",
            right=f"{len(right):,}",
            most=f"{MOST_RUN_PAIRS:,}",
        )
    # A point (i, x, j, y): x records of the first run i.. taken on the left, y of run j on the right.
    known: dict[tuple[int, int, int, int], int] = {}

    def point(i: int, x: int, j: int, y: int) -> tuple[int, int, int, int]:
        if not x:
            i, x = i - 1, left[i - 1][1] if i else 0
        if not y:
            j, y = j - 1, right[j - 1][1] if j else 0
        return i, x, j, y

    corner = point(len(left), 0, len(right), 0)
    stack = [corner]
    while stack:
        here = stack[-1]
        i, x, j, y = here
        if here in known or i < 0 or j < 0:
            known.setdefault(here, 0)
            stack.pop()
            continue
        if same(left[i][0], right[j][0]):
            step = min(x, y)
            needs = [point(i, x - step, j, y - step)]
        else:
            step = 0
            needs = [point(i, x, j, 0), point(i, 0, j, y)]
        unknown = [p for p in needs if p not in known]
        if unknown:
            stack.extend(unknown)
        else:
            known[here] = step + max(known[p] for p in needs)
            stack.pop()
    return known[corner]


def same(a: Value, b: Value) -> bool:
    return a is b or a == b  # NaN is always math.nan here
