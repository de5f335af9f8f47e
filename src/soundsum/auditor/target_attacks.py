"""Attacks on a target beyond the plain pairs, fewest records first, and the walks that ask it for their step.

`attacks_on` gives every family that the type and relation allow, at several sizes. `further_attacks` are for faults
that need a certain value, missing records or many records: a code such as 99, records that are missing but for one,
walks and orders of many records, and the families' attacks on sums that are added in a type narrower than that of the
records. Time and memory limit the datasets (`Limits.allow`).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from soundsum.attacks import FAMILIES, Attack, attack, families_for
from soundsum.attacks.families.path import steepest
from soundsum.attacks.families.special_values import FORMS
from soundsum.auditor.calling import Failure, Unsupported, ask
from soundsum.auditor.plain_pairs import make_pair
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import is_special
from soundsum.numbers.types import FloatType, IntType, NumberType, float16, float32, int8, int16, int32
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
    yield from heapq.merge(*(_of_family(target, name) for name in chosen), key=lambda made: made.records)


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


FURTHER = {
    "coded_value": "One record, or all but one, equal a value that programs may take for a code.",
    "missing_records": "All records but one are missing: NaN.",
    "long_walk": "Many records, one at a time from all at one bound to all at the other.",
    "long_order": "Many large records and many small ones, in two orders.",
}
"""The families, and how their neighbours differ."""

CODES = (-999, -99, -9, -1, 0, 1, 9, 98, 99, 100, 127, 128, 255, 256, 998, 999, 1000, 9999)
"""Values that stand for missing records in real tables, or end a small type."""

FEW_VALUES = 128
"""If the bounds hold fewer integers than this, each one is tried as a code."""

COPIES, MISSING = 11, 100
LENGTHS = tuple(2**p for p in (5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25))
SMALL = 1 << 12
NARROW: Sequence[NumberType] = (float16, float32, int8, int16, int32)
"""Types that sums are added in where the records are wider."""


def further_attacks(target: Target, families: Sequence[str] | None = None) -> Iterator[Attack]:
    """The further neighbours of a target, fewest records first; all of them, or those of some of these families.

    >>> import numpy as np
    >>> t = Target(noiseless=np.sum, dtype="int32", relation="change_one", bounds=(0, 100))
    >>> [(made.name, made.records) for made in further_attacks(t) if made.name != "coded_value"][:4]
    [('overflow', 3), ('long_walk', 32), ('long_walk', 128), ('overflow', 329)]
    """
    own = {"coded_value": _codes, "missing_records": _missing, "long_walk": _walks, "long_order": _orders}
    queues = [make(target) for name, make in own.items() if families is None or name in families]
    queues += [_added_in(target, kind) for kind in NARROW if families is None]
    yield from heapq.merge(*queues, key=lambda made: made.records)


def _bounds(target: Target) -> tuple[Fraction, Fraction]:
    """The target's own, or some that its type holds."""
    if target.bounds is not None:
        lower, upper = target.bounds
        return Fraction(lower), Fraction(upper)
    kind = target.dtype
    least, most = Fraction(kind.min), Fraction(kind.max)
    return Fraction(kind.round(max(least, Fraction(-1000)))), Fraction(kind.round(min(most, Fraction(10_000))))


def _codes(target: Target) -> Iterator[Attack]:
    L, U = _bounds(target)
    kind = target.dtype
    codes: Sequence[Any] = CODES
    if kind.is_integer and U - L < FEW_VALUES:
        codes = range(math.ceil(L), math.floor(U) + 1)
    sized = target.neighbours.sized
    for code in map(Fraction, codes):
        if L <= code <= U and code in kind:
            other = U if code != U else L
            for value, rest in ((other, code), (code, other)):
                parts = [(value, 1), (rest, COPIES - sized)], [(rest, COPIES)]
                yield from make_pair(target, (L, U), "coded_value", *parts, FURTHER)


def _missing(target: Target) -> Iterator[Attack]:
    if not target.specials or not isinstance(target.dtype, FloatType):
        return
    L, U = _bounds(target)
    nan, sized = (math.nan, MISSING), target.neighbours.sized
    yield from make_pair(
        target, (L, U), "missing_records", [nan, (U, 1)], [nan, *([(L, 1)] if sized else [])], FURTHER, outside=True
    )


def _walks(target: Target) -> Iterator[Attack]:
    L, U = _bounds(target)
    for n in LENGTHS:
        if target.dtype.is_integer or n * max(abs(L), abs(U)) <= target.dtype.max:  # else the sum is infinite
            rest = [(L, 1)] if target.neighbours.sized else []
            yield from make_pair(target, (L, U), "long_walk", [(U, n)], [(U, n - 1), *rest], FURTHER)


def _orders(target: Target) -> Iterator[Attack]:
    """So many large integers that a float of 24 bits beside them has no place for small ones."""
    L, U = _bounds(target)
    small = max(L, Fraction(1))
    if target.neighbours.ordered or not isinstance(target.dtype, IntType) or small >= U:
        return
    large = math.ceil(Fraction(2**25) / U)
    if large <= LENGTHS[-1]:
        parts = [(U, large), (small, SMALL)]
        yield from make_pair(target, (L, U), "long_order", parts[::-1], parts, FURTHER)


def _added_in(target: Target, kind: NumberType) -> Iterator[Attack]:
    """The attacks on sums in a narrower type, made of the target's own records."""
    if not _is_narrower(kind, target.dtype):
        return
    if target.bounds is not None and not all(bound in kind for bound in target.bounds):
        return
    for made in attacks_on(replace(target, dtype=kind)):
        if made.name == "special_values" and made.parameters["form"] != "overflow":
            continue  # which the target's own type has as well
        if made.records > LENGTHS[-1]:
            return
        problem = target.problem(made.problem.lower, made.problem.upper, made.right.size)
        left, right = (Runs(target.dtype, side.parts) for side in (made.left, made.right))
        yield replace(made, left=left, right=right, problem=problem)


def _is_narrower(kind: NumberType, than: NumberType) -> bool:
    if isinstance(kind, IntType):
        return isinstance(than, IntType) and kind.bits < than.bits and than.signed
    return isinstance(than, FloatType) and kind.k < than.k and kind.max < than.max


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
