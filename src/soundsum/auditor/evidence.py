"""Evidence that is valid after every pair of runs: the anytime-valid e-process, and combinations of several.

After each pair (X, Y) of event indicators, left and right: a predictable estimate of their probabilities from past
pairs alone (Krichevsky and Trofimov), its Kullback-Leibler projection on the null region, and the likelihood ratio of
the two. Each factor has expectation at most 1 for every private mechanism, so the product reaches 1/alpha with
probability at most alpha, for any stopping rule and any event chosen from the past alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.event_counts import Promise

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SLACK = 1e-9
"""Taken off the logarithm of every factor: more than rounding can add to its expectation."""

HALVINGS = 60


def project(p: Floats, q: Floats, promise: Promise) -> tuple[Floats, Floats]:
    """The points of the null region nearest to (p, q), all strictly between 0 and 1, in relative entropy.

    >>> p0, q0 = project(np.array([0.9, 0.5]), np.array([0.1, 0.4]), Promise(1.0))
    >>> [(round(float(a), 3), round(float(b), 3)) for a, b in zip(p0, q0)]
    [(0.731, 0.269), (0.5, 0.4)]
    """
    turned = p < q
    p, q = np.where(turned, q, p), np.where(turned, p, q)
    E, delta = promise.factor, promise.delta
    inside = (p <= E * q + delta) & (1 - q <= E * (1 - p) + delta)
    t, s = _nearest(p, q, promise), _nearest(1 - q, 1 - p, promise)
    first, second = (E * t + delta, t), (1 - s, 1 - (E * s + delta))
    one, other = (_likelihood(p, a) + _likelihood(q, b) for a, b in (first, second))
    p0 = np.where(inside, p, np.where(one >= other, first[0], second[0]))
    q0 = np.where(inside, q, np.where(one >= other, first[1], second[1]))
    return np.where(turned, q0, p0), np.where(turned, p0, q0)


def _nearest(p: Floats, q: Floats, promise: Promise) -> Floats:
    """The t at which (E t + delta, t) is nearest to (p, q); with delta = 0 the root of a quadratic."""
    E, delta = promise.factor, promise.delta
    if delta == 0:
        b = 1 + E + p + q * E
        return np.minimum(2 * (p + q) / (b + np.sqrt(b * b - 8 * E * (p + q))), promise.kink)
    low, high = np.zeros_like(p), np.full_like(p, promise.kink)
    for _ in range(HALVINGS):
        t = (low + high) / 2
        a = E * t + delta
        rises = p * E / a - (1 - p) * E / (1 - a) + q / t - (1 - q) / (1 - t) > 0
        low, high = np.where(rises, t, low), np.where(rises, high, t)
    return (low + high) / 2


def _likelihood(p: Floats, at: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, p * np.log(at), 0.0) + np.where(p < 1, (1 - p) * np.log1p(-at), 0.0)


def log_factors(left: Bools, right: Bools, promise: Promise, seen: tuple[int, int, int] = (0, 0, 0)) -> Floats:
    """ln of each pair's factor, along the last axis; `seen` are past pairs and how many of them had the event."""
    pairs, with_left, with_right = seen
    before = pairs + np.arange(left.shape[-1])
    p = (with_left + np.cumsum(left, axis=-1) - left + 0.5) / (before + 1)
    q = (with_right + np.cumsum(right, axis=-1) - right + 0.5) / (before + 1)
    p0, q0 = project(p, q, promise)
    ratios = np.where(left, p / p0, (1 - p) / (1 - p0)) * np.where(right, q / q0, (1 - q) / (1 - q0))
    return np.asarray(np.log(ratios) - SLACK)


def growth(left: Floats, right: Floats, pairs: int, promise: Promise) -> Floats:
    """The growth of evidence per pair on an event with these counts: relative entropy."""
    p, q = (left + 0.5) / (pairs + 1), (right + 0.5) / (pairs + 1)
    p0, q0 = project(p, q, promise)
    return np.asarray(_likelihood(p, p) + _likelihood(q, q) - _likelihood(p, p0) - _likelihood(q, q0))


@dataclass
class Evidence:
    """One attack's e-process, for the promise and for a fixed grid of larger epsilons at once.

    `enough` is the logarithm at which evidence against the promise is: there that process stops, at `log_e`, after
    `stopped` pairs. The others go on, for the bound on epsilon alone; `reached` is the largest each ever was.
    """

    promises: Sequence[Promise]
    enough: float = math.inf
    pairs: int = 0
    stopped: int | None = None
    log_e: float = 0.0
    now: Floats = field(init=False)
    reached: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.now, self.reached = np.zeros(len(self.promises)), np.zeros(len(self.promises))

    def add(self, left: Bools, right: Bools, seen: tuple[int, int, int]) -> None:
        """Take pairs in order; `seen` are past pairs and how many of them had the event, left and right."""
        if not len(left):
            return
        factors = np.array([log_factors(left, right, promise, seen) for promise in self.promises])
        paths = self.now[:, None] + np.cumsum(factors, axis=1)
        if self.stopped is None:
            crossed = np.flatnonzero(paths[0] >= self.enough)
            self.log_e = float(paths[0, crossed[0]] if len(crossed) else paths[0, -1])
            self.stopped = self.pairs + int(crossed[0]) + 1 if len(crossed) else None
        self.now = paths[:, -1]
        self.reached = np.maximum(self.reached, paths.max(axis=1))
        self.pairs += len(left)

    def epsilon_at_least(self, alpha: float) -> float:
        """The largest epsilon of the grid such that it and every smaller one reached 1/alpha; else 0."""
        refuted = self.reached >= -math.log(alpha)
        first_held = int(np.argmin(refuted)) if not refuted.all() else len(refuted)
        return self.promises[first_held - 1].epsilon if first_held else 0.0


def average(log_values: Sequence[float]) -> float:
    """ln of the mean of e-values, which is an e-value under any dependence.

    >>> round(math.exp(average([math.log(8), math.log(2)])), 9)
    5.0
    """
    return float(np.logaddexp.reduce(np.asarray(log_values, float)) - math.log(len(log_values)))


def e_holm(log_values: Sequence[float]) -> list[float]:
    """e-values adjusted for looking at several (Vovk and Wang 2021): each is the least mean of itself and smaller ones.

    >>> [round(math.exp(x), 6) for x in e_holm([math.log(100), 0.0, math.log(4)])]
    [35.0, 1.0, 2.5]
    """
    order = np.argsort(log_values)
    adjusted = [0.0] * len(log_values)
    for k, i in enumerate(order):
        smaller = [log_values[j] for j in order[:k]]
        adjusted[i] = min(average([log_values[i], *smaller[:m]]) for m in range(k + 1))
    return adjusted


def detectable(pairs: int, promise: Promise, log_enough: float) -> float:
    """The least true epsilon at which this many pairs are expected to refute the promise.

    The mechanism is the one whose event tells most at that epsilon, with probability e^epsilon/(1 + e^epsilon) on the
    left and the rest on the right. The cost of estimation, about ln(pi n)/2 for each side, is subtracted.
    """
    needed = log_enough + math.log(math.pi * max(1, pairs))

    def refuted(epsilon: float) -> bool:
        p = np.array([1 / (1 + math.exp(-epsilon))])
        return bool(pairs * growth(p * pairs, (1 - p) * pairs, pairs, promise)[0] >= needed)

    low, high = promise.epsilon, promise.epsilon + 60
    if not refuted(high):
        return math.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return high
