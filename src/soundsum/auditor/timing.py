"""Times of one call on each of two neighbours, with identical copies as the control: evidence, never a verdict.

In every round the left dataset, the right one and a copy of each are taken in random order. If times do not depend on
the data, left and its copy together are slower than right and its copy in half of the rounds; a sign test counts them.
The two copies are compared in the same way, which shows what the machine alone does.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import median
from typing import Any, Literal

from soundsum.attacks import Attack
from soundsum.auditor.calling import Failure, ask
from soundsum.auditor.limits import Stopwatch
from soundsum.auditor.plain_pairs import plain_pairs
from soundsum.auditor.rules import rule_of
from soundsum.auditor.target import Target
from soundsum.auditor.target_attacks import WALKS, attacks_on

ROUNDS, LEAST = 400, 20
"""The most rounds for each pair of datasets, and the fewest that are reported."""

SURE = Fraction(1, 10_000)
"""Times differ where a sign test says so at this level, divided by the number of pairs, and the copies' does not."""

Function = Literal["release", "noiseless"]


@dataclass(frozen=True)
class Timing:
    """Median times in seconds of calls on two neighbours and on a copy of each, and the p-values of two sign tests."""

    target: Target
    attack: Attack
    function: Function
    rounds: int
    left: float
    right: float
    left_copy: float
    right_copy: float
    p_value: Fraction  # left and its copy against right and its copy
    control: Fraction  # left against its copy, or right against its copy, whichever is smaller, doubled
    pairs: int = 1  # of datasets that were timed for this target

    @property
    def differs(self) -> bool:
        """Whether the datasets tell in the times, and identical copies do not."""
        level = SURE / self.pairs
        return self.p_value <= level < self.control

    @property
    def headline(self) -> str:
        times = f"{_in_words(self.left)} on the left and {_in_words(self.right)} on the right"
        copies = f"identical copies took {_in_words(self.left_copy)} and {_in_words(self.right_copy)}"
        chance = f"p = {float(self.p_value):.2g}, copies p = {float(self.control):.2g}"
        return f"{self.function}: {times}; {copies} (medians of {self.rounds:,} rounds; {chance})"

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target.name,
            "rule": rule_of(self.attack),
            "function": self.function,
            "attack": self.attack.to_json(),
            "rounds": self.rounds,
            "seconds": {
                "left": self.left, "right": self.right, "left_copy": self.left_copy, "right_copy": self.right_copy
            },
            "p_value": float(self.p_value),
            "p_value_of_copies": float(self.control),
            "differs": self.differs,
            "words": self.headline,
        }  # fmt: skip


def time_pairs(
    target: Target, seconds: float, progress: Callable[[str], None] = lambda text: None, rounds: int = ROUNDS
) -> list[Timing]:
    """Time the first pair of each plain family, and special values if they are documented, within so much time.

    >>> one = Target(release=sum, dtype="int32", relation="change_one", bounds=(0, 1), specials=False, name="sum")
    >>> [timing.attack.name for timing in time_pairs(one, 5, rounds=25)]
    ['few_records', 'equal_records', 'one_record', 'another_order']
    """
    pairs = _chosen(target)
    function: Function = "release" if target.release is not None else "noiseless"
    found = []
    for made in pairs:
        progress(f"times of {made.name}")
        times = _rounds(target, made, function, seconds / len(pairs), rounds)
        if times is not None and len(times) >= LEAST:
            found.append(_compare(target, made, function, times, len(pairs)))
    return found


def _chosen(target: Target) -> list[Attack]:
    first: dict[str, Attack] = {}
    for made in plain_pairs(target):
        if made.name not in WALKS:
            first.setdefault(made.name, made)
    special = [made for made in attacks_on(target, ["special_values"]) if made.parameters["form"] != "overflow"]
    return [*first.values(), *special]


def _rounds(
    target: Target, made: Attack, function: Function, seconds: float, most: int
) -> list[tuple[float, ...]] | None:
    """The times of every round, in the order of left, right and their copies; None if a call fails."""
    sides = (made.left, made.right, made.left, made.right)
    data = [target.data(side) for side in sides]
    watch = Stopwatch()
    times: list[tuple[float, ...]] = []
    while len(times) < most and watch.elapsed < seconds:
        taken = [0.0] * len(data)
        for place in _shuffled(len(data)):
            took = ask(target.refuses, partial(_time, target, made, function, data[place], sides[place].size))
            if isinstance(took, Failure):
                return None
            taken[place] = took
        times.append(tuple(taken))
    return times[1:]  # the first one warms up


def _time(target: Target, made: Attack, function: Function, data: Any, size: int) -> float:
    """The seconds of one call: the library's own, where it runs in a process that tells them."""
    own = getattr(target, function)
    given = target.parameters(made.problem, size)
    call = target.prepared(function, given, data)
    start = time.perf_counter()
    call()
    elapsed = time.perf_counter() - start
    told = getattr(own, "seconds", None)
    return elapsed if told is None else float(told())


def _shuffled(count: int) -> list[int]:
    places = list(range(count))
    secrets.SystemRandom().shuffle(places)
    return places


def _compare(
    target: Target, made: Attack, function: Function, times: Sequence[tuple[float, ...]], pairs: int
) -> Timing:
    left, right, left_copy, right_copy = (median(column) for column in zip(*times, strict=True))
    apart = [a + c - b - d for a, b, c, d in times]
    controls = ([a - c for a, _, c, _ in times], [b - d for _, b, _, d in times])
    control = min(Fraction(1), 2 * min(map(sign_test, controls)))
    return Timing(
        target=target,
        attack=made,
        function=function,
        rounds=len(times),
        left=left,
        right=right,
        left_copy=left_copy,
        right_copy=right_copy,
        p_value=sign_test(apart),
        control=control,
        pairs=pairs,
    )


def sign_test(differences: Sequence[float]) -> Fraction:
    """The two-sided p-value of as many differences above 0 as that, if either sign is as likely.

    >>> sign_test([1.0] * 5), sign_test([1.0, -1.0])
    (Fraction(1, 16), Fraction(1, 1))
    """
    signs = [x > 0 for x in differences if x]
    more = max(sum(signs), len(signs) - sum(signs))
    tail = sum(math.comb(len(signs), k) for k in range(more, len(signs) + 1))
    return min(Fraction(1), Fraction(2 * tail, 2 ** len(signs)))


def _in_words(seconds: float) -> str:
    """A time in a unit that suits it.

    >>> _in_words(0.0123), _in_words(2.5e-6)
    ('12.3 ms', '2.5 µs')
    """
    for unit, worth in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= worth:
            return f"{seconds / worth:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
