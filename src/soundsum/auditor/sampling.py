"""The statistical tier: pairs of runs on two neighbours, and conclusions from them.

The e-process gives the verdict: its event may change at any time, chosen from past pairs alone. Other figures come from
a fixed sample, whose size is set before anything is drawn: its first half chooses the event, its second half counts it.

The two runs of a pair come in random order, so changes over time affect both sides alike: a budget that runs out, a
cache that fills or a counter tells nothing. If errors begin after successful runs and persist on both sides, the target
has ended, and no further runs are possible.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np

from soundsum.attacks import Attack, Event
from soundsum.auditor.calling import Failure, TargetRefused, ask, failure
from soundsum.auditor.events import Outputs, learn, rate
from soundsum.auditor.evidence import Evidence, average, detectable, e_holm
from soundsum.auditor.finding import Bins, Sampled
from soundsum.auditor.limits import Limits, Stopwatch
from soundsum.auditor.measuring import Progress
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import DIGITS, Counts, Promise, epsilon_at_least, log_likelihood, p_value

BLOCK = 8
"""Runs on one side in a row, of a release that gives several at once."""

SURE = 16
"""This many errors in a row on each side mean that the target has ended."""


@dataclass
class Drawing:
    """The runs on one attack's two datasets, and the errors among them."""

    target: Target
    attack: Attack
    data: tuple[Any, Any] = field(init=False)
    runs: int = 0
    first_error: int | None = None  # the number of runs before it
    since: list[int] = field(default_factory=lambda: [0, 0])  # errors of each side from the first on
    persistent: bool = True  # whether every run from the first error on ended in one
    numbers: bool = False  # whether any run gave a number that is not NaN
    last: BaseException | None = None

    def __post_init__(self) -> None:
        self.data = self.target.data(self.attack.left), self.target.data(self.attack.right)

    def pairs(self, count: int) -> tuple[Outputs, Outputs]:
        """Draw this number of runs on each side."""
        drawn: tuple[list[Any], list[Any]] = ([], [])
        block = BLOCK if self.target.several else 1
        while len(drawn[0]) < count:
            size = min(block, count - len(drawn[0]))
            first = secrets.randbits(1)
            for side in (first, 1 - first):
                drawn[side].extend(self._block(side, size))
        left, right = (Outputs.of(side, self.target.name) for side in drawn)
        self.numbers = self.numbers or any(bool((side.floats == side.floats).any()) for side in (left, right))
        return left, right

    @property
    def ended(self) -> Failure | None:
        """Why nothing can be concluded: errors alone, NaN alone, or errors that came to stay."""
        if self.last is None or self.first_error is None:
            empty = self.runs > 0 and not self.numbers
            return Failure("unsupported", "its release returns nan whatever the data") if empty else None
        if not self.persistent:
            return None
        last = self._failure(self.last)
        if not self.first_error:
            always = Failure("unsupported", f"its release always raises {last.text}")
            return last if last.kind == "refused" else always
        if min(self.since) < SURE:
            return None
        return Failure("unsupported", f"from run {self.first_error + 1:,} on its release only raises {last.text}")

    def _failure(self, error: BaseException) -> Failure:
        return failure(error, self.target.refuses)

    def _block(self, side: int, runs: int) -> list[Any]:
        """Runs on one side; an error is an output like any other, unless it means that no output is possible.

        Records that the documentation excludes may be declined.
        """
        records = self.attack.left if side == 0 else self.attack.right
        drawn: list[Any] = []
        try:
            drawn = self.target.outputs(self.data[side], self.attack.problem, records.size, runs)
        except (Exception, SystemExit) as error:
            said = self._failure(error)
            if said.kind == "unsupported":
                raise
            if self.attack.outside and (said.kind == "refused" or not self.target.documents(self.attack)):
                raise TargetRefused(said.text) from None
            if runs > 1:
                return [one for _ in range(runs) for one in self._block(side, 1)]
            drawn = [error]
        for one in drawn:
            self._count(side, one)
        return drawn

    def _count(self, side: int, one: Any) -> None:
        raised = isinstance(one, BaseException)
        if raised:
            self.last = one
            self.first_error = self.runs if self.first_error is None else self.first_error
            self.since[side] += 1
        elif self.first_error is not None:
            self.persistent = False
        self.runs += 1


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
