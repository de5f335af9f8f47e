"""Counts of runs: a model's interval, a table's likelihood under a private mechanism, and tests of two mechanisms.

Binomial tails are summed term by term in decimals. The likelihood is the paper's (`sec:concreteattack`): the largest
probability, over all pairs (p_u, p_v) an epsilon-private mechanism may have, of counts at least as far apart. It is
log-concave along each straight piece of the region's edge, so a search by thirds on each piece finds it. The auditor
computes the same figure in logarithms, and p-values from it (`numbers.event_counts`).
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from math import comb

from soundsum.paper.reproduce.mechanisms import exponential
from soundsum.paper.reproduce.reproduction import DIGITS, EventCount

OUTSIDE = Decimal("0.001")
"""The probability with which a count may lie outside a model's interval, half on each side."""

THIRDS = 80
"""Steps of a search by thirds: (2/3)^80 is below 10^-14."""


def terms(runs: int, p: Decimal, first: int, last: int) -> Decimal:
    """P(first <= X <= last) for X of `runs` runs with probability p each.

    >>> int(terms(10, Decimal("0.5"), 9, 10) * 2**10)
    11
    """
    if p <= 0 or p >= 1:
        return Decimal(int(first <= (0 if p <= 0 else runs) <= last))
    q = DIGITS.subtract(Decimal(1), p)
    odds = DIGITS.divide(p, q)
    chance = DIGITS.multiply(DIGITS.power(p, first), DIGITS.power(q, runs - first))
    term = total = DIGITS.multiply(Decimal(comb(runs, first)), chance)
    for x in range(first, last):
        term = DIGITS.divide(DIGITS.multiply(DIGITS.multiply(term, odds), runs - x), x + 1)
        total = DIGITS.add(total, term)
    return total


def interval(runs: int, p: Decimal) -> tuple[int, int]:
    """The counts a model with probability p allows: each side beyond has probability at most OUTSIDE/2.

    >>> interval(10, Decimal("0.5")), interval(10_000, Decimal(0))
    ((0, 10), (0, 0))
    """
    if p > Decimal("0.5"):
        low, high = interval(runs, DIGITS.subtract(Decimal(1), p))
        return runs - high, runs - low
    if p <= 0:
        return 0, 0
    odds = DIGITS.divide(p, DIGITS.subtract(Decimal(1), p))
    first = DIGITS.power(DIGITS.subtract(Decimal(1), p), runs)
    steps = accumulate(
        range(runs),
        lambda term, x: DIGITS.divide(DIGITS.multiply(DIGITS.multiply(term, odds), runs - x), x + 1),
        initial=first,
    )
    below, lowest = Decimal(0), None
    for x, term in enumerate(steps):
        reached = DIGITS.add(below, term)
        if lowest is None and reached > OUTSIDE / 2:
            lowest = x
        if DIGITS.subtract(Decimal(1), reached) <= OUTSIDE / 2:
            return lowest or 0, x
        below = reached
    return lowest or 0, runs


def count(printed: int | None, simulated: int, probability: Decimal, runs: int) -> EventCount:
    return EventCount(printed, simulated, probability, *interval(runs, probability))


Edge = Callable[[Decimal, Decimal], Decimal]
"""The least p_v allowed beside p_u, with e^epsilon."""


def corrected_edge(p: Decimal, e: Decimal) -> Decimal:
    """p_u <= e p_v and 1 - p_v <= e (1 - p_u)."""
    return max(p / e, 1 - e * (1 - p))


def printed_edge(p: Decimal, e: Decimal) -> Decimal:
    """p_u <= e p_v and 1 - p_v <= e p_u, as the paper prints it."""
    return max(p / e, 1 - e * p)


def likelihood(epsilon: Fraction, runs: int, left: int, right: int, edge: Edge = corrected_edge) -> Decimal:
    """The largest P(at least `left` of the runs on u) P(at most `right` of those on v), within the region.

    >>> round(likelihood(Fraction(1), 10, 9, 0), 4), round(likelihood(Fraction(1), 10, 9, 0, printed_edge), 4)
    (Decimal('0.0089'), Decimal('0.0132'))
    """
    e = exponential(epsilon)
    kink = DIGITS.divide(e, e + 1) if edge is corrected_edge else DIGITS.divide(e, e * e + 1)

    def chance(p: Decimal) -> Decimal:
        q = min(Decimal(1), max(Decimal(0), edge(p, e)))
        return DIGITS.multiply(terms(runs, p, left, runs), terms(runs, q, 0, right))

    def highest(low: Decimal, high: Decimal) -> Decimal:
        for _ in range(THIRDS):
            third = (high - low) / 3
            if chance(low + third) < chance(high - third):
                low += third
            else:
                high -= third
        return chance((low + high) / 2)

    return max(highest(Decimal(0), kink), highest(kink, Decimal(1)), chance(kink))


def log2(x: Decimal) -> Decimal:
    return DIGITS.divide(DIGITS.ln(x), DIGITS.ln(Decimal(2)))
