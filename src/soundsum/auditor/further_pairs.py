"""Neighbours beyond the plain ones, for faults that need a certain value, missing records or many records.

A code such as 99, records that are missing but for one, walks and orders of many records, and the attacks on sums that
are added in a type narrower than that of the records. Few of them are sampled: `screen` draws a few runs on many pairs,
and follows walks to where outputs jump. These runs choose only; conclusions rest on runs that are drawn afterwards.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import median_low
from typing import Any

from soundsum.attacks import Attack
from soundsum.attacks.families.path import steepest
from soundsum.auditor.calling import Failure, Unsupported, ask
from soundsum.auditor.choosing import WALKS, at_step, attacks_on, walked
from soundsum.auditor.events import Outputs, learn
from soundsum.auditor.limits import Stopwatch
from soundsum.auditor.plain_pairs import make_pair
from soundsum.auditor.sampling import Drawing
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import Promise
from soundsum.numbers.types import FloatType, IntType, NumberType, float16, float32, int8, int16, int32
from soundsum.tables.runs import Runs

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


RUNS, MORE_RUNS = 24, 120
"""Runs on each side of a pair at first, and then of the best ones."""

PROMISING, MOST = 12, 4
"""The numbers of pairs that get more runs, and that are chosen in the end."""


@dataclass
class _Screened:
    """A pair and its runs so far."""

    made: Attack
    source: Drawing
    left: Outputs
    right: Outputs

    def telling(self, promise: Promise) -> float:
        learned = learn(self.left, self.right, promise)
        return learned[1] if learned else 0.0

    def draw(self, runs: int) -> None:
        left, right = self.source.pairs(runs)
        self.left, self.right = self.left + left, self.right + right


def screen(target: Target, pairs: Sequence[Attack], seconds: float) -> list[Attack]:
    """The pairs on which a few runs tell most, walks at the steps where outputs jump; none that could not be run.

    >>> def release(data): return 0 if len(data) < 23 else 1
    >>> from soundsum.auditor.plain_pairs import plain_pairs
    >>> t = Target(release=release, dtype="int32", relation="insert_delete", bounds=(0, 1), name="release")
    >>> [(made.name, made.records) for made in screen(t, plain_pairs(t), 30)][:1]
    [('walk', 23)]
    """
    watch = Stopwatch()
    promise = Promise.at(target.epsilon, target.delta, 1)
    seen: list[_Screened] = []
    for made in _candidates(target, pairs, watch, seconds):
        if watch.elapsed > seconds:
            break
        drawn = ask(target.refuses, partial(_begin, target, made))
        if not isinstance(drawn, Failure):
            seen.append(drawn)
    best = _best(seen, promise)[:PROMISING]
    for one in best:
        if watch.elapsed < seconds:
            ask(target.refuses, partial(one.draw, MORE_RUNS))
    return [one.made for one in _best(best, promise)[:MOST]]


def _best(seen: Sequence[_Screened], promise: Promise) -> list[_Screened]:
    """Those that tell anything, the most telling first."""
    rated = [(one.telling(promise), place) for place, one in enumerate(seen)]
    return [seen[place] for rate, place in sorted(rated, key=lambda pair: (-pair[0], pair[1])) if rate > 0]


def _begin(target: Target, made: Attack) -> _Screened:
    source = Drawing(target, made)
    return _Screened(made, source, *source.pairs(RUNS))


def _candidates(target: Target, pairs: Sequence[Attack], watch: Stopwatch, seconds: float) -> Iterator[Attack]:
    for made in pairs:
        if made.name not in WALKS:
            yield made
            continue
        for total in (_middle, _event):
            if watch.elapsed < seconds / 2:
                step = ask(target.refuses, partial(_step, target, made, total))
                if not isinstance(step, Failure):
                    yield at_step(made, step)


def _step(target: Target, made: Attack, total: Callable[[Target, Attack], Callable[[Outputs], Fraction]]) -> int:
    of = total(target, made)
    step, _, _ = steepest(lambda i: of(_draw(target, made, i)), made.records)
    return step


def _draw(target: Target, made: Attack, i: int) -> Outputs:
    """Runs on what the walk reaches after i steps; an error is an output like any other."""
    records, problem = walked(made, i), made.problem
    data = target.data(records)

    def run(runs: int) -> list[Any]:
        try:
            return target.outputs(data, problem, records.size, runs)
        except Unsupported:
            raise
        except Exception as error:
            return [error] if runs == 1 else [one for _ in range(runs) for one in run(1)]

    return Outputs.of(run(RUNS), target.name)


def _middle(target: Target, made: Attack) -> Callable[[Outputs], Fraction]:
    """The median of the numbers among outputs, by which a walk finds where they jump."""

    def total(drawn: Outputs) -> Fraction:
        finite = [x for x in drawn.floats.tolist() if math.isfinite(x)]
        return Fraction(median_low(finite)) if finite else Fraction(0)

    return total


def _event(target: Target, made: Attack) -> Callable[[Outputs], Fraction]:
    """How often the event that tells the ends of a walk apart happens."""
    ends = _draw(target, made, made.records), _draw(target, made, 0)
    learned = learn(*ends, Promise(0.0, 0.0))
    if learned is None:
        raise Unsupported("the ends of the walk are alike")
    event = learned[0]
    return lambda drawn: Fraction(int(drawn.have(event).sum()))
