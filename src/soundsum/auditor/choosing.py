"""The choice of attacks on a target: every family that its type and relation allow, at several sizes, cheapest first.

Time and memory limit the datasets. An attack that would exceed the remaining time, judged by those before, or the
memory is left out, and the audit says so.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from soundsum.attacks import FAMILIES, Attack, attack, families_for
from soundsum.attacks.families.path import steepest
from soundsum.attacks.families.special_values import FORMS
from soundsum.auditor.calling import Failure, Unsupported, ask
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import is_special
from soundsum.numbers.types import NumberType
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

SIZES = tuple(2**p + 2 for p in (5, 8, 12, 16, 20, 24, 28, 30))
"""The most records of a family's attacks, one after another."""


def attacks_on(target: Target, families: Iterable[str] | None = None) -> Iterator[Attack]:
    """The attacks that can be made for the target, over all families, fewest records first.

    >>> import numpy as np
    >>> t = Target(noiseless=np.sum, dtype="int32", relation="change_one", bounds=(0, 2**20))
    >>> [(made.name, made.records) for made in attacks_on(t)]
    [('overflow', 2049)]
    """
    every = families_for(target.dtype)
    chosen = [name for name in every if families is None or name in families]
    chosen = [name for name in chosen if target.neighbours in FAMILIES[name].relations]
    queues = [_of_family(target, name) for name in chosen]
    waiting: list[tuple[int, int, Attack]] = []
    for place, queue in enumerate(queues):
        _push(waiting, place, queue)
    while waiting:
        _, place, made = heapq.heappop(waiting)
        yield made
        _push(waiting, place, queues[place])


def _push(waiting: list[tuple[int, int, Attack]], place: int, queue: Iterator[Attack]) -> None:
    made = next(queue, None)
    if made is not None:
        heapq.heappush(waiting, (made.records, place, made))


def _of_family(target: Target, name: str) -> Iterator[Attack]:
    if name == "special_values":
        forms = [made for form in FORMS for made in _made(target, name, form=form)]
        yield from sorted(forms, key=lambda made: made.records)
        return
    last = 0
    for size in SIZES:
        for made in _made(target, name, max_records=size):
            if made.records > last:
                last = made.records
                yield made


def _made(target: Target, name: str, **wish: Any) -> Iterator[Attack]:
    made = _attack(name, target.dtype, target.neighbours, target.bounds, tuple(wish.items()))
    if made is not None and target.documents(made):
        yield made


@lru_cache(maxsize=1024)
def _attack(
    name: str, kind: NumberType, relation: Relation, bounds: Any, wish: tuple[tuple[str, Any], ...]
) -> Attack | None:
    """An attack, made once for all targets; None if these bounds or this size allow no attack."""
    try:
        return attack(name, kind, relation=relation, bounds=bounds, **dict(wish))
    except ValueError:
        return None


WALKS = ("path", "walk", "long_walk")
"""Attacks that ask the target for their step."""


def own_step(target: Target, made: Attack) -> Attack:
    """The path walked by asking the target: the step where its own sum jumps most, found by bisection.

    Where one end of the walk is an error and the other is not, the step at which it comes.
    """
    problem, n = made.problem, made.records

    def raises(i: int) -> Fraction:
        answer = ask(target.refuses, lambda: target.sum_of(walked(made, i), problem))
        return Fraction(isinstance(answer, Failure) and answer.kind != "unsupported")

    def total(i: int) -> Fraction:
        result = target.sum_of(walked(made, i), problem)
        if is_special(result):
            raise Unsupported(f"the sum of {n:,} records in [{problem.lower}, {problem.upper}] is {result}")
        return Fraction(result)

    if raises(0) != raises(n):
        return at_step(made, steepest(raises, n)[0])
    step, before, after = steepest(total, n)
    return replace(at_step(made, step), totals=(after, before))


def walked(made: Attack, i: int) -> Runs:
    """The dataset that a walk reaches after i steps: i records at the upper bound, the others at the lower, or none."""
    problem = made.problem
    others = [(problem.lower, made.records - i)] if problem.relation.sized else []
    return Runs(problem.dtype, [part for part in [(problem.upper, i), *others] if part[1]])


def at_step(made: Attack, i: int) -> Attack:
    """The neighbours between which a walk takes that step."""
    return replace(made, left=walked(made, i + 1), right=walked(made, i), parameters={**made.parameters, "step": i})


def times_asked(made: Attack) -> float:
    """How many of its datasets a target adds."""
    return 2.0 + (math.log2(made.records) + 4 if made.name in WALKS else 0)
