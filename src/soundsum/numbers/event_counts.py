"""Tests on counts of an event on two neighbours: the paper's likelihood, a valid p-value, and a bound on epsilon.

x of n runs on the left and y of m on the right had the event. If the mechanism is (epsilon, delta)-private, the event's
probabilities (p, q) lie in the null region: p <= E q + delta, q <= E p + delta, the same of complements, E = e^epsilon.
Tails are summed in logarithms from the observed count outward, so that they do not vanish far out. Floats are enough:
a statistical verdict has its error rate, and no bound is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

DIGITS = Context(prec=17, Emin=-(10**12), Emax=10**12)
"""Probabilities may be far below the smallest float."""

LARGEST = 300.0
"""An epsilon beyond which nothing is refuted by runs; e to twice that is still a float."""

THIRDS = 80
"""Steps of a search by thirds: (2/3)^80 is below 10^-14."""


@dataclass(frozen=True)
class Promise:
    """(epsilon, delta) at a distance: group privacy for more than 1; a reordering, at 0, is within 1.

    >>> Promise.at(Fraction(1), Fraction(0), 2).epsilon, Promise.at(Fraction(1), Fraction(0), 0).epsilon
    (2.0, 1.0)
    """

    epsilon: float
    delta: float = 0.0

    @classmethod
    def at(cls, epsilon: Fraction, delta: Fraction, distance: int | float) -> Promise:
        each, d = float(epsilon), max(1, int(distance))
        if d == 1:
            return cls(each, float(delta))
        if d * each > LARGEST:
            return cls(d * each, 1.0 if delta else 0.0)
        times = float(d) if each == 0 else math.expm1(d * each) / math.expm1(each)
        return cls(d * each, min(1.0, float(delta) * times))

    @property
    def factor(self) -> float:
        """E, at most e^300: beyond, nothing is refuted anyway."""
        return math.exp(min(self.epsilon, LARGEST))

    @property
    def kink(self) -> float:
        """The point where the two segments of the frontier meet: t of (E t + delta, t)."""
        return (1 - self.delta) / (1 + self.factor)

    def holds(self, p: float, q: float) -> bool:
        """Returns whether a private mechanism may have the event with probabilities p and q."""
        pairs = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
        return all(one <= self.factor * other + self.delta for one, other in pairs)


@dataclass(frozen=True)
class Counts:
    """The 2x2 table: how often the event was seen, of how many runs, on left and right."""

    left: int
    left_runs: int
    right: int
    right_runs: int

    def turned(self) -> Counts:
        return Counts(self.right, self.right_runs, self.left, self.left_runs)

    @property
    def rates(self) -> tuple[float, float]:
        return self.left / self.left_runs, self.right / self.right_runs

    def to_json(self) -> dict[str, int]:
        return {
            "left": self.left,
            "left_runs": self.left_runs,
            "right": self.right,
            "right_runs": self.right_runs,
        }


@lru_cache(maxsize=64)
def _log_choose(n: int) -> NDArray[np.longdouble]:
    """ln C(n, k) for every k."""
    logs = np.concatenate([[0], np.cumsum(np.log(np.arange(1, n + 1, dtype=np.longdouble)))]).astype(np.longdouble)
    return np.asarray(logs[n] - logs - logs[::-1])


def log_at_least(n: int, x: int, p: float) -> float:
    """ln P(Bin(n, p) >= x), however small.

    >>> round(math.exp(log_at_least(10, 9, 0.5)) * 2**10, 6), round(log_at_least(1000, 1000, 1e-3))
    (11.0, -6908)
    """
    if x <= 0 or p >= 1:
        return 0.0 if x <= n else -math.inf
    if p <= 0:
        return -math.inf
    k = np.arange(x, n + 1)
    terms = _log_choose(n)[x:] + k * math.log(p) + (n - k) * math.log1p(-p)
    most = terms.max()
    return min(0.0, float(most + np.log(np.exp(terms - most).sum())))


def log_at_most(n: int, y: int, q: float) -> float:
    """ln P(Bin(n, q) <= y)."""
    return log_at_least(n, n - y, 1 - q)


def log_likelihood(table: Counts, promise: Promise) -> float:
    """ln of the paper's figure Q (`sec:concreteattack`): the largest probability that a private mechanism gives counts
    at least as high on the left and at most as high on the right.

    It is monotone, so its largest value lies on the frontier, and log-concave along each segment of that.

    >>> round(math.exp(log_likelihood(Counts(9, 10, 0, 10), Promise(1.0))), 4)
    0.0089
    """
    E, delta = promise.factor, promise.delta

    def chance(p: float, q: float) -> float:
        return log_at_least(table.left_runs, table.left, p) + log_at_most(table.right_runs, table.right, q)

    segments: tuple[Callable[[float], float], ...] = (
        lambda t: chance(E * t + delta, t),
        lambda t: chance(1 - t, 1 - (E * t + delta)),
    )
    return min(0.0, max(_highest(segment, promise.kink) for segment in segments))


def _highest(concave: Callable[[float], float], end: float) -> float:
    low, high = 0.0, end
    for _ in range(THIRDS):
        third = (high - low) / 3
        if concave(low + third) < concave(high - third):
            low += third
        else:
            high -= third
    return max(concave((low + high) / 2), concave(0.0), concave(end))


def p_value(table: Counts, promise: Promise) -> Decimal:
    """For "the mechanism keeps its promise": 2 Q (1 - ln Q), in the direction that was seen.

    Q alone is no p-value, as the pairs of counts that are as unlikely are many; Q (1 - ln Q) is one for a direction
    fixed beforehand, twice it for both.
    """
    if table.rates[0] < table.rates[1]:
        table = table.turned()
    if promise.holds(*table.rates):
        return Decimal(1)  # the counts themselves are a pair a private mechanism may have
    log_q = log_likelihood(table, promise)
    if log_q == -math.inf:
        return Decimal(0)
    bound = DIGITS.multiply(DIGITS.exp(Decimal(log_q)), Decimal(2 * (1 - log_q)))
    return min(Decimal(1), bound)


def interval(n: int, x: int, outside: float) -> tuple[float, float]:
    """Clopper and Pearson's interval for a probability: each side beyond has probability at most `outside`.

    >>> tuple(round(end, 4) for end in interval(10, 9, 0.025))
    (0.555, 0.9975)
    """
    target = math.log(outside)
    low = 0.0 if x == 0 else _bisect(lambda p: log_at_least(n, x, p) <= target)
    high = 1.0 if x == n else _bisect(lambda p: log_at_most(n, x, p) > target, upward=True)
    return low, high


def _bisect(holds: Callable[[float], bool], upward: bool = False) -> float:
    """Finds the point where a statement that holds at 0 stops holding; from below, or with `upward` from above."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high if upward else low


def epsilon_at_least(table: Counts, delta: float, alpha: float) -> float:
    """A lower bound on epsilon at confidence 1 - alpha, both directions looked at (alpha/4 for each tail).

    >>> apart = epsilon_at_least(Counts(999, 1000, 1, 1000), 0, 0.05)
    >>> epsilon_at_least(Counts(5, 10, 5, 10), 0.0, 0.05), round(apart, 1)
    (0.0, 5.1)
    """
    best = 0.0
    for one in (table, table.turned()):
        p = interval(one.left_runs, one.left, alpha / 4)[0]
        q = interval(one.right_runs, one.right, alpha / 4)[1]
        best = max(best, _log_ratio(p - delta, q), _log_ratio(1 - q - delta, 1 - p))
    return best


def _log_ratio(numerator: float, denominator: float) -> float:
    return math.log(numerator / denominator) if numerator > 0 and denominator > 0 else 0.0


def show_p_value(p: Decimal) -> str:
    """A p-value to two digits, or the power of ten it lies below."""
    return f"{p:.2g}" if p >= Decimal("1e-99") else "below 1e-99"
