"""Which further neighbours to sample: a few runs on many pairs, and walks that outputs lead, say where runs tell most.

These runs choose only. What is concluded of a pair rests on runs that are drawn afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from statistics import median_low
from typing import Any

from soundsum.attacks import Attack
from soundsum.attacks.families.path import steepest
from soundsum.auditor.calling import Failure, Unsupported, ask
from soundsum.auditor.choosing import WALKS, at_step, walked
from soundsum.auditor.drawing import Drawing
from soundsum.auditor.events import Outputs, learn
from soundsum.auditor.stopwatch import Stopwatch
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import Promise

RUNS, MORE_RUNS = 24, 120
"""Runs on each side of a pair at first, and then of the best ones."""

PROMISING, MOST = 12, 4
"""So many pairs get more runs, and so many are chosen in the end."""


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
