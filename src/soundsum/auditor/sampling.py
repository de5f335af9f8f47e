"""The statistical tier: pairs of runs on two neighbours, and conclusions from them.

The e-process gives the verdict: its event may change at any time, chosen from past pairs alone. Other figures come from
a fixed sample, whose size is set before anything is drawn: its first half chooses the event, its second half counts it.

Of many pairs of datasets few are sampled: `screen` draws a few runs on each, and follows walks to where outputs jump.
These runs choose only; conclusions rest on runs that are drawn afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from statistics import median_low
from typing import Any

import numpy as np

from soundsum.attacks import Attack, Event
from soundsum.attacks.families.path import steepest
from soundsum.auditor.calling import Failure, Unsupported, ask
from soundsum.auditor.drawing import SURE, Drawing, Outputs, learn, rate
from soundsum.auditor.evidence import Evidence, average, detectable, e_holm
from soundsum.auditor.finding import Bins, Sampled
from soundsum.auditor.limits import Limits, Stopwatch
from soundsum.auditor.measuring import Progress
from soundsum.auditor.target import Target
from soundsum.auditor.target_attacks import WALKS, at_step, walked
from soundsum.numbers.event_counts import DIGITS, Counts, Promise, epsilon_at_least, log_likelihood, p_value

FIXED = 1000
"""The fixed sample has at most this many pairs, fewer if time runs out."""

FIRST_BATCH, MOST_BATCH = 16, 2048

LEARN_FROM = 32
"""An event is learned from at least this many pairs."""

PATIENCE = 2000
"""After this many pairs, an attack is abandoned if all runs would not suffice at its current rate."""

GRID = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""Steps above the promised epsilon, for the anytime-valid lower bound on epsilon."""

BINS = 40


@dataclass
class Trial:
    """One attack being sampled."""

    target: Target
    attack: Attack
    event: Event | None
    promise: Promise
    enough: float  # the logarithm of an e-value
    source: Drawing = field(init=False)
    evidence: Evidence = field(init=False)
    left: Outputs | None = None
    right: Outputs | None = None
    failure: Failure | None = None
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.source = Drawing(self.target, self.attack)
        grid = [replace(self.promise, epsilon=self.promise.epsilon + more) for more in GRID]
        self.evidence = Evidence(grid, self.enough)

    @property
    def pairs(self) -> int:
        return 0 if self.left is None else len(self.left)

    def draw(self, pairs: int) -> None:
        """More pairs of runs; the event is settled before they are drawn."""
        watch = Stopwatch()
        drawn = ask(self.target.refuses, partial(self.source.pairs, pairs))
        if isinstance(drawn, Failure):
            self.failure = drawn
            return
        new_left, new_right = drawn
        if self.left is not None and self.right is not None:
            self._choose_event()
            left, right = self.left, self.right
        else:
            left = right = Outputs.of([], self.target.name)
        if self.event is not None:
            seen = (len(left), int(left.have(self.event).sum()), int(right.have(self.event).sum()))
            self.evidence.add(new_left.have(self.event), new_right.have(self.event), seen)
        self.left, self.right = left + new_left, right + new_right
        if self.pairs >= SURE and not self.evidence.stopped:
            self.failure = self.source.ended
        self.seconds += watch.elapsed

    def _choose_event(self) -> None:
        """From past pairs alone; another one only if it promises clearly more."""
        if self.left is None or self.right is None or self.pairs < LEARN_FROM:
            return
        learned = learn(self.left, self.right, self.promise)
        if learned is None:
            return
        now = 0.0 if self.event is None else rate(self.event, self.left, self.right, self.promise)
        if learned[1] > 1.25 * now:
            self.event = learned[0]

    def hopeless(self, runs: int) -> bool:
        """Whether even the rest of the runs, at the best rate seen so far, would not be enough."""
        if self.pairs < min(PATIENCE, runs) or self.left is None or self.right is None:
            return False
        learned = learn(self.left, self.right, self.promise)
        best = learned[1] if learned else 0.0
        return self.evidence.log_e + best * (runs - self.pairs) < self.enough

    def conclude(self, alpha: float) -> Sampled | None:
        """All figures except those that depend on the other attacks."""
        if self.left is None or self.right is None or not self.pairs:
            return None
        fixed = min(FIXED, self.pairs)
        half = fixed // 2
        learned = learn(self.left[:half], self.right[:half], self.promise)
        event = learned[0] if learned else self.event or Event("nan")
        left, right = (side[half:fixed].have(event) for side in (self.left, self.right))
        table = Counts(int(left.sum()), len(left), int(right.sum()), len(right))
        high = table if table.rates[0] >= table.rates[1] else table.turned()
        return Sampled(
            event=event,
            pairs=self.pairs,
            pairs_used=self.evidence.stopped or self.pairs,
            log_e=self.evidence.log_e,
            adjusted=self.evidence.log_e,
            table=table,
            likelihood=DIGITS.exp(Decimal(max(log_likelihood(high, self.promise), -1e9))),
            p_value=p_value(table, self.promise),
            epsilon_lower=epsilon_at_least(table, self.promise.delta, alpha),
            epsilon_anytime=self.evidence.epsilon_at_least(alpha),
            detectable=detectable(self.pairs, self.promise, self.enough),
            histogram=histogram(self.left, self.right),
        )


def sample(
    target: Target,
    attacks: Sequence[tuple[Attack, Event | None]],
    runs: int,
    alpha: float,
    limits: Limits,
    progress: Progress = lambda text: None,
    weights: Sequence[float] = (),
) -> tuple[list[Sampled | Failure], float]:
    """Each attack's statistics, and ln of the average of their e-values; time is shared by the weights."""
    enough = math.log(len(attacks) / alpha)
    trials: list[Trial | Failure] = []
    for made, event in attacks:
        promise = Promise.at(target.epsilon, target.delta, made.distance)
        trials.append(ask(target.refuses, partial(Trial, target, made, event, promise, enough)))
    weighed = zip(trials, weights or [1.0] * len(trials), strict=True)
    waiting = [(trial, weight) for trial, weight in weighed if isinstance(trial, Trial)]
    for place, (trial, weight) in enumerate(waiting):
        share = limits.left * weight / sum(each for _, each in waiting[place:])
        if share > 0:
            _run(trial, runs, share, progress)
    results: list[Sampled | Failure] = []
    for one in trials:
        if isinstance(one, Trial):
            if not one.evidence.stopped:
                one.failure = one.failure or one.source.ended
            done = one.conclude(alpha)
            results.append(one.failure or done or Failure("unsupported", "there was no time for a run"))
        else:
            results.append(one)
    return _together(results)


def _together(results: list[Sampled | Failure]) -> tuple[list[Sampled | Failure], float]:
    """e-Holm over the attacks; one that failed has shown nothing, an e-value of 1."""
    logs = [0.0 if isinstance(one, Failure) else one.log_e for one in results]
    adjusted = e_holm(logs)
    shared = [one if isinstance(one, Failure) else replace(one, adjusted=adjusted[i]) for i, one in enumerate(results)]
    return shared, average(logs)


def _run(trial: Trial, runs: int, seconds: float, progress: Progress) -> None:
    """Draw pairs of runs until the evidence suffices, cannot suffice, or time runs out.

    The fixed sample is always drawn, as far as time allows: its outcome plays no part in its size.
    """
    batch, fixed = FIRST_BATCH, min(FIXED, runs)
    trial.draw(min(2, runs))  # which also tells how long a pair takes
    while trial.pairs < runs and trial.failure is None and trial.seconds < seconds:
        if trial.pairs >= fixed and (trial.evidence.stopped or trial.hopeless(runs)):
            return
        progress(f"{trial.attack.name}, {trial.pairs:,} of up to {runs:,} pairs of runs")
        goal = fixed if trial.pairs < fixed else runs
        fitting = int((seconds - trial.seconds) / max(trial.seconds / trial.pairs, 1e-9))
        trial.draw(max(1, min(batch, goal - trial.pairs, fitting)))
        batch = min(2 * batch, MOST_BATCH)


def histogram(left: Outputs, right: Outputs) -> Bins | None:
    """Both sides in common bins, from the first to the last but for one in a hundred at each end."""
    finite = [side.floats[np.isfinite(side.floats)] for side in (left, right)]
    both = np.concatenate(finite)
    if not len(both):
        return None
    low, high = np.quantile(both, [0.01, 0.99]).tolist()
    if not low < high or not math.isfinite(high - low):
        return None
    edges = np.linspace(low, high, BINS + 1)
    if len(np.unique(edges)) < len(edges):
        return None
    counts = [np.histogram(np.clip(side, low, high), edges)[0] for side in finite]
    return Bins(tuple(edges.tolist()), tuple(counts[0].tolist()), tuple(counts[1].tolist()))


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
