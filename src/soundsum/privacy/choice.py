"""The choice of a quantile among public candidates, from exact counts: permute-and-flip, and the exponential mechanism.

Among n values the error of a candidate c, for the quantile p/q, is how far p n lies outside [q b, q t], where b values
are below c and t are not above it: an integer, in q-ths of a rank. Permute-and-flip flips a coin for every candidate,
heads with probability exp(-rate (error - least error)), and releases one of the heads, uniformly. If one unit changes
the errors of a group by numbers that lie within a range R, the loss is at most rate R. The exponential mechanism keeps
rho with (rate R)^2 / 8. Proofs: docs/theorems/quantiles.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import decimal, floor_log2, is_special, power_of_two
from soundsum.numbers.types import IntType
from soundsum.privacy import samplers
from soundsum.privacy.noise import Noise
from soundsum.privacy.units import Norms, Unit
from soundsum.randomness import Stream, random_words
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

FINEST = 10**6
"""The largest denominator of a quantile."""

NARROW = 1 << 62
"""Products below this are computed in 64 bits; others in Python's integers, which never wrap around."""

KEPT = 64
"""Significant bits of a rate that is a square root, rounded down."""

TRIES = 16
"""Draws of the exponential mechanism at a time, for each candidate. All fail with probability exp(-16) at most."""

Errors: TypeAlias = NDArray[Any]
"""Integers: of 64 bits, or Python's."""


@dataclass(frozen=True)
class RankNorms(Norms[int]):
    """How far one unit can move the errors of all candidates, in q-ths of a rank: `l1` is the largest change of any.

    `span` adds up, over the groups that one unit is in, the ranges of the changes of the errors; `squares` adds up the
    squares of these. `points` are the cells that candidates are, among those that are counted.
    """

    span: int = 0
    squares: int = 0
    quantile: Fraction = Fraction(1, 2)
    points: tuple[int, ...] = (0,)
    cells: int = 1

    @classmethod
    def of(cls, quantile: Fraction, points: tuple[int, ...], cells: int, unit: Unit, relation: Relation) -> RankNorms:
        """An added row changes every error by one of two numbers on each side of it: within M of 0, M = max(p, q - p).

        For the quantiles 0 and 1 all changes have one sign, so that their range is no larger than they are.
        """
        p, q = quantile.numerator, quantile.denominator
        most = max(p, q - p)
        double = 1 if p in (0, q) else 2
        if unit.max_rows is not None:
            groups, own = unit.most_groups, unit.max_rows * most
            moves = [(own, groups)]
        elif not relation.sized:
            moves = [(most, 1)]
        else:  # a row changes its value, or moves between two groups
            moves = [(q, 1), *([(most, 2)] if unit.has_more_groups else [])]
        return cls(
            max(most * groups for most, groups in moves),
            max(most**2 * groups for most, groups in moves),
            max(groups for _, groups in moves),
            max(double * most * groups for most, groups in moves),
            max((double * most) ** 2 * groups for most, groups in moves),
            quantile,
            points,
            cells,
        )

    def choose_by(self, epsilon: Fraction | None, rho: Fraction | None) -> Choice:
        """The mechanism that keeps epsilon (permute-and-flip), or without one rho."""
        if epsilon is not None:
            return PermuteAndFlip(epsilon / self.span, self.quantile, self.points, self.cells)
        assert rho is not None
        return ExponentialChoice(_floor_root(8 * rho / self.squares), self.quantile, self.points, self.cells)


@dataclass(frozen=True)
class Choice(Noise):
    """A choice among candidates; it takes the place of noise. Its parameter is the rate, per q-th of a rank."""

    quantile: Fraction
    points: tuple[int, ...]
    cells: int

    parameter_name = "rate"

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        raise RefusedValue(
            "noise",
            Reason.UNSUPPORTED,
            "`noise={name}` cannot be asked for: it is how a quantile is chosen",
            "leave `noise` out",
            name=quote(cls.name),
        )

    @classmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Noise:
        assert isinstance(norms, RankNorms)
        return norms.choose_by(epsilon, rho)

    def draw(self, count: int) -> list[int]:
        raise AssertionError("a choice is not added to anything")

    def add_to(self, sums: Sequence[int], wraps: IntType | None = None) -> list[int]:
        """Choose a candidate for every group, from the counts of its cells: gives the candidates' places."""
        own = [sums[begin : begin + self.cells] for begin in range(0, len(sums), self.cells)]
        return [self.choose(find_errors(counts, self._places, self.quantile)) for counts in own]

    @cached_property
    def _places(self) -> NDArray[np.int64]:
        return np.array(self.points, np.int64)

    @abstractmethod
    def choose(self, errors: Errors) -> int:
        """The place of a candidate."""

    @abstractmethod
    def exceed(self, h: Decimal, candidates: int, context: Context) -> Decimal:
        """The most that the chance of a worse candidate can be, where each of those has the weight h or less."""

    def half_width(self, confidence: float | Fraction) -> int:
        """The rank error: how many ranks beyond the best candidate the chosen one is at most, with this confidence."""
        return _rank_error(self, confidence)


@dataclass(frozen=True)
class PermuteAndFlip(Choice):
    """One of the candidates whose coins show heads, uniformly; every coin is flipped, whatever the errors are."""

    name = "permute_and_flip"

    def choose(self, errors: Errors) -> int:
        heads = find_heads(errors, _geometric(1 / self.parameter, len(errors)))
        return int(heads[Stream().below(len(heads))])

    def exceed(self, h: Decimal, candidates: int, context: Context) -> Decimal:
        # One candidate is best and all others are just too bad: it is among 1 + Bin(m - 1, h) heads.
        none = context.power(context.subtract(Decimal(1), h), candidates)
        some = context.subtract(Decimal(1), none)
        return context.subtract(Decimal(1), context.divide(some, context.multiply(h, Decimal(candidates))))


@dataclass(frozen=True)
class ExponentialChoice(Choice):
    """Candidates drawn uniformly until the coin of one shows heads: with probability proportional to exp(-rate error).

    As many are drawn at a time as are nearly always enough, so that its time does not depend on the errors.
    """

    name = "exponential"

    def choose(self, errors: Errors) -> int:
        tries = TRIES * len(errors)
        while True:
            accepted = find_accepted(errors, _uniform(len(errors), tries), _geometric(1 / self.parameter, tries))
            if len(accepted):
                return int(accepted[0])

    def exceed(self, h: Decimal, candidates: int, context: Context) -> Decimal:
        others = context.multiply(h, Decimal(candidates - 1))
        return context.divide(others, context.add(Decimal(1), others))


def find_errors(counts: Sequence[int], points: NDArray[np.int64], quantile: Fraction) -> Errors:
    """The error of every candidate, exactly, from the counts of all cells in order; `points` are candidates' cells.

    >>> find_errors([1, 0, 2], np.array([0, 2]), Fraction(1, 2))
    array([1, 0])
    """
    p, q, n = quantile.numerator, quantile.denominator, sum(counts)
    kind: Any = np.int64 if max(q, 1) * max(n, 1) < NARROW else object
    upto = np.cumsum(np.array(counts, kind))
    at_most = upto[points]
    below = at_most - np.array(counts, kind)[points]
    found: Errors = np.maximum(np.maximum(q * below - p * n, p * n - q * at_most), 0)
    return found


def find_heads(errors: Errors, coins: Errors) -> NDArray[np.int64]:
    """The candidates whose coins show heads: where geometric noise is at least how far they are behind the best."""
    return np.flatnonzero(coins >= errors - errors.min())


def find_accepted(errors: Errors, drawn: NDArray[np.int64], coins: Errors) -> NDArray[np.int64]:
    """The candidates whose coins show heads, of those drawn one after the other with a coin for each."""
    behind = errors - errors.min()
    return drawn[np.flatnonzero(coins >= behind[drawn])]


def read_quantile(quantile: Any) -> Fraction:
    """A quantile, from 0 to 1: a float means the decimal that it prints as."""
    given = decimal(quantile, "quantile")
    if is_special(given):
        raise RefusedValue(
            "quantile",
            Reason.NOT_A_NUMBER,
            "`quantile={given}` is not between 0 and 1",
            "give one such as 0.5, the median",
            given=quote(quantile),
        )
    if given < 0:
        raise RefusedValue(
            "quantile",
            Reason.TOO_SMALL,
            "`quantile={given}` is below 0",
            "give one from 0 to 1, such as 0.5, the median",
            given=quote(quantile),
        )
    if given > 1:
        raise RefusedValue(
            "quantile",
            Reason.TOO_LARGE,
            "`quantile={given}` is above 1",
            "give one from 0 to 1, such as 0.5, the median",
            given=quote(quantile),
        )
    if Fraction(given).denominator > FINEST:
        raise RefusedValue(
            "quantile",
            Reason.TOO_MANY,
            "`quantile={given}` is finer than a millionth",
            "give one with at most six decimals, or a fraction with a denominator up to {most:,}",
            given=quote(quantile),
            most=FINEST,
        )
    return Fraction(given)


def _geometric(scale: Fraction, count: int) -> NDArray[Any]:
    """Independent draws with P(G >= j) = exp(-j / scale): discrete Laplace noise, given that it is not below 0."""
    kept: list[NDArray[Any]] = []
    missing = count
    while missing > 0:
        drawn = np.asarray(samplers.discrete_laplace_many(scale, 2 * missing + 64), None if scale < 1 << 50 else object)
        drawn = drawn[drawn >= 0][:missing]
        kept.append(drawn)
        missing -= len(drawn)
    return np.concatenate(kept)


def _uniform(below: int, count: int) -> NDArray[np.int64]:
    """Independent uniform integers from 0 to below - 1: words, drawn again beyond the last multiple."""
    last = np.uint64((1 << 64) // below * below - 1)
    words = random_words(count).copy()
    again = np.flatnonzero(words > last)
    while len(again):
        words[again] = random_words(len(again))
        again = again[words[again] > last]
    return (words % np.uint64(below)).astype(np.int64)


def _floor_root(x: Fraction) -> Fraction:
    """The square root, rounded down to 64 bits or so."""
    unit = power_of_two(floor_log2(x) // 2 - KEPT)
    return math.isqrt(math.floor(x / unit**2)) * unit


@lru_cache(maxsize=256)
def _rank_error(choice: Choice, confidence: object) -> int:
    """The least t, in ranks rounded up, with P(error - least error > t) <= 1 - confidence, for any data.

    h = exp(-rate (t + 1)) bounds the weight of every worse candidate.
    """
    allowed = 1 - Fraction(str(confidence))
    candidates, context = len(choice.points), Context(prec=150)
    if candidates == 1:
        return 0

    def holds(t: int) -> bool:
        exponent = choice.parameter * (t + 1)
        ratio = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        if ratio > 10**6:  # far beyond any confidence
            return True
        chance = choice.exceed(context.exp(-ratio), candidates, context)
        return Fraction(chance) <= allowed

    low, high = -1, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return math.ceil(Fraction(high, choice.quantile.denominator))
