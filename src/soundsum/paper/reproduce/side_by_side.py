"""A naive mechanism and `ss.sum` on the same neighbours, side by side.

The naive mechanism is the one the paper attacks: an ordinary sum and Laplace noise for the idealised sensitivity. Its
threshold is halfway between its two sums. Ours is tried with that threshold and with the larger of its two sums, where
exact Laplace noise shows all of its epsilon; the more telling one counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from soundsum.attacks import Attack, attack
from soundsum.numbers.event_counts import Counts, Promise, p_value
from soundsum.numbers.types import FloatType, float64
from soundsum.paper.reproduce.mechanisms import FloatLaplace, IntegerLaplace, Mechanism, exponential
from soundsum.paper.reproduce.reproduction import MechanismTrial, SideBySide
from soundsum.releases.api import sum as private_sum
from soundsum.releases.planning import plan

EPSILON = Fraction(1, 2)


def pairs() -> list[Attack]:
    return [
        attack("overflow", dtype="int32", relation="change_one", upper=2**24),
        attack("rounding", dtype="float64", relation="change_one", j=5, m=-1),
        attack("reordering", dtype="float32", relation="symmetric", a=8, d=8, j=0),
        attack("repeated_rounding_1", dtype="bfloat16", relation="insert_delete", j=4),
        attack("repeated_rounding_2", dtype="float32", relation="insert_delete", j=16, upper=1),
    ]


def compare_all(full: bool = False) -> Iterator[SideBySide]:
    yield from (compare(pair, 3_000 if full else 500) for pair in pairs())


def naive(pair: Attack) -> Mechanism:
    """Laplace noise for the ideal, added as a double (a sum of integers: as an integer that does not wrap)."""
    scale = pair.ideal / EPSILON
    return FloatLaplace(scale) if isinstance(pair.problem.dtype, FloatType) else IntegerLaplace(scale)


def compare(pair: Attack, runs: int) -> SideBySide:
    sums = [Fraction(x) for x in pair.sums()]
    high, low = (0, 1) if sums[0] > sums[1] else (1, 0)  # "left" is the dataset with the larger sum
    sides = (pair.left, pair.right)
    mechanism = naive(pair)
    middle = float(float64.round_up((sums[0] + sums[1]) / 2))
    counts = [
        int(np.count_nonzero(mechanism.draw(sums[i], runs, np.random.default_rng()) >= middle)) for i in (high, low)
    ]
    ours = [_exact(pair, sides[i]) for i in (high, low)]
    released = [list(releases(pair, sides[i], runs)) for i in (high, low)]
    return SideBySide(
        name=pair.name,
        reference=pair.reference,
        records=pair.records,
        epsilon=EPSILON,
        sums=(sums[high], sums[low]),
        ours=(ours[0], ours[1]),
        ideal=pair.ideal,
        naive=_trial("naive", runs, counts, "from the middle of the two sums on"),
        release=most_telling("ss.sum", released, (ours[0], ours[1])),
    )


def most_telling(name: str, outputs: list[list[Fraction]], sums: tuple[Fraction, Fraction]) -> MechanismTrial:
    """The test of two that tells more, its p-value doubled for the choice; of equal ones that at the larger sum."""
    upward, runs = sums[0] >= sums[1], len(outputs[0])  # ours may have its sums the other way round
    trials = []
    for test, threshold in (("larger", max(sums)), ("middle of the two", (sums[0] + sums[1]) / 2)):
        counts = [sum((output >= threshold) == upward for output in side) for side in outputs]
        trials.append(_trial(name, runs, counts, f"from the {test} sum{'s' if test != 'larger' else ''} on"))
    best = min(trials, key=lambda trial: trial.p_value)
    return replace(best, p_value=min(Decimal(1), 2 * best.p_value))


def releases(pair: Attack, side: Any, runs: int) -> Iterator[Fraction]:
    problem = pair.problem
    for _ in range(runs):
        release = private_sum(side, problem.lower, problem.upper, EPSILON, relation=problem.relation, size=problem.size)
        yield Fraction(release.exact)


def _exact(pair: Attack, side: Any) -> Fraction:
    return Fraction(plan(pair.problem).sum(side))


def _trial(name: str, runs: int, counts: list[int], test: str) -> MechanismTrial:
    left, right = counts
    chance = p_value(Counts(left, runs, right, runs), Promise(float(EPSILON)))
    return MechanismTrial(name, runs, left, right, exponential(EPSILON), chance, test)
