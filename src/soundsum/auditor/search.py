"""Neighbours that nobody thought of: a search over structured datasets for those that move a noiseless sum most.

A candidate is a handful of runs of values near powers of two and near the bounds, and one record changed, inserted or
deleted somewhere. It is climbed by small changes, from many beginnings, towards the largest |difference| over the
sensitivity used; the best pair is then shrunk, as long as it stays a clear violation, to one that a person can read.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from soundsum.attacks import Attack
from soundsum.auditor.limits import Limits, Stopwatch
from soundsum.auditor.measuring import Measurement, measure
from soundsum.auditor.target import Target
from soundsum.numbers.rationals import is_special, power_of_two
from soundsum.numbers.types import FloatType, IntType, NumberType
from soundsum.tables.runs import Runs

Number: TypeAlias = int | Fraction
Parts: TypeAlias = tuple[tuple[Number, int], ...]

MOST_PARTS, MOST_RECORDS = 4, 1 << 12
SECONDS = 10.0
STALE = 60
"""Changes in a row without progress, after which the climb restarts."""

CLEAR = Fraction(2)
"""A pair is shrunk as long as it moves the sum by this multiple of the claim."""


@dataclass(frozen=True)
class Candidate:
    """Runs, and one edit: the record at `place` becomes `value`, is deleted (None), or one is inserted there."""

    lower: Number
    upper: Number
    parts: Parts
    place: int
    value: Number | None
    inserted: bool = False

    def sides(self, kind: NumberType) -> tuple[Runs, Runs]:
        right = Runs(kind, self.parts)
        place = min(self.place, right.size if self.inserted else right.size - 1)
        middle = Runs(kind, [] if self.value is None else [(self.value, 1)])
        return right[:place] + middle + right[place + (not self.inserted) :], right

    @property
    def records(self) -> int:
        return sum(count for _, count in self.parts)


def search_pair(target: Target, limits: Limits, seed: int = 0) -> Measurement | None:
    """The best pair found in the time allowed, shrunk; None if no candidate could be summed."""
    climb = _Climb(target, random.Random(seed))
    best, height = climb.climb(min(SECONDS, max(0.5, limits.left / 4)))
    if best is None:
        return None
    small = climb.smallest or best
    if height > 1:
        small = climb.shrink(small, min(height, CLEAR))
    return climb.measurement(small, height)


class _Climb:
    def __init__(self, target: Target, rng: random.Random) -> None:
        self.target, self.rng, self.asked, self.most = target, rng, 0, Fraction(0)
        self.smallest: Candidate | None = None  # of those that are clear violations
        self.kind: NumberType = target.dtype

    # Climbing

    def climb(self, seconds: float) -> tuple[Candidate | None, Fraction]:
        best, height, watch = None, Fraction(-1), Stopwatch()
        while watch.elapsed < seconds:
            here = self._begin()
            level, stale = self.height(here), 0
            while stale < STALE and watch.elapsed < seconds:
                there = self._step(here)
                reached = self.height(there)
                stale = 0 if reached > level else stale + 1
                if reached >= level:
                    here, level = there, reached
            if level > height:
                best, height = here, level
        return best, height

    def height(self, candidate: Candidate) -> Fraction:
        """The difference divided by the claim; negative without a difference."""
        seen = self._seen(candidate)
        if seen is None or seen.moved is None or is_special(seen.moved) or not seen.claimed:
            return Fraction(-1)
        height = Fraction(seen.moved) / seen.claimed
        if height >= CLEAR and (self.smallest is None or candidate.records < self.smallest.records):
            self.smallest = candidate
        return height

    def _seen(self, candidate: Candidate) -> Measurement | None:
        self.asked += 1
        try:
            return measure(self.target, self._attack(candidate))
        except ValueError:  # not a pair: a record outside the bounds, or no record at all
            return None

    def measurement(self, candidate: Candidate, most: Fraction) -> Measurement | None:
        """The report: the small pair, and the excess of the best one."""
        self.most = most
        return self._seen(candidate)

    def _attack(self, candidate: Candidate) -> Attack:
        left, right = candidate.sides(self.kind)
        lower, upper = candidate.lower, candidate.upper
        return Attack(
            name="search",
            left=left,
            right=right,
            problem=self.target.problem(lower, upper, right.size),
            totals=(left.total(), right.total()),
            parameters={"asked": self.asked, "most": self.most},
            aimed_at="modular" if self.kind.is_integer else "iterated",
            reference="found by search",
            statement="Found by climbing over small datasets towards the largest difference, then shrunk.",
        )

    # Candidates

    def _begin(self) -> Candidate:
        lower, upper = self._bounds()
        parts = tuple((self._value(lower, upper), self._count()) for _ in range(self.rng.randint(1, 2)))
        made = Candidate(lower, upper, parts, 0, None)
        return self._edit(made)

    def _bounds(self) -> tuple[Number, Number]:
        """The target's bounds, or else two random values, often close together."""
        if self.target.bounds is not None:
            return self.target.bounds[0], self.target.bounds[1]
        one = self._free_value()
        if self.rng.random() < 0.7 and isinstance(self.kind, FloatType):
            other: Number = one
            for _ in range(self.rng.choice([1, 1, 1, 2, 3, 4])):
                other = Fraction(self.kind.next_up(other))
        else:
            other = self._free_value()
        return (one, other) if one <= other else (other, one)

    def _free_value(self) -> Number:
        rng, kind = self.rng, self.kind
        if isinstance(kind, IntType):
            whole = (1 << rng.randint(0, kind.bits - 1)) + rng.choice([-1, 0, 1])
            whole = -whole if kind.signed and rng.random() < 0.5 else whole
            return max(kind.min, min(kind.max, whole))
        assert isinstance(kind, FloatType)
        value = 1 + rng.choice([0, 1, 1, 1]) * power_of_two(-rng.randint(1, kind.k))
        return -value if rng.random() < 0.2 else value

    def _value(self, lower: Number, upper: Number) -> Number:
        """Near the bounds, near zero, near a power of two."""
        choices = [lower, upper, max(lower, min(upper, self._free_value())), max(lower, min(upper, 0))]
        return self.rng.choice(choices)

    def _count(self) -> int:
        return max(1, (1 << self.rng.randint(0, 8)) + self.rng.choice([-1, 0, 0, 1]))

    def _edit(self, made: Candidate) -> Candidate:
        """One record changed, or where sizes are private one inserted or deleted."""
        value = self._value(made.lower, made.upper)
        ends = [0, made.records - 1, made.records]
        place = self.rng.choice([*ends, self.rng.randint(0, made.records)])
        if self.target.neighbours.sized:
            return replace(made, place=place, value=value, inserted=False)
        return replace(made, place=place, value=value, inserted=True)

    def _step(self, here: Candidate) -> Candidate:
        rng = self.rng
        parts = list(here.parts)
        i = rng.randrange(len(parts))
        value, count = parts[i]
        match rng.randrange(7):
            case 0:
                parts[i] = (value, max(1, min(MOST_RECORDS, rng.choice([2 * count, count // 2, count + 1, count - 1]))))
            case 1:
                parts[i] = (self._value(here.lower, here.upper), count)
            case 2 if len(parts) < MOST_PARTS:
                parts.insert(i, (self._value(here.lower, here.upper), self._count()))
            case 3 if len(parts) > 1:
                del parts[i]
            case 4 if self.target.bounds is None:
                return self._rebound(here)
            case 5:
                rng.shuffle(parts)
            case _:
                return self._edit(here)
        return replace(here, parts=tuple(parts))

    def _rebound(self, here: Candidate) -> Candidate:
        """Other bounds, with the values at the old ones moved along."""
        lower, upper = self._bounds()

        def moved(x: Number) -> Number:
            return lower if x == here.lower else upper if x == here.upper else max(lower, min(upper, x))

        value = None if here.value is None else moved(here.value)
        parts = tuple((moved(x), count) for x, count in here.parts)
        return replace(here, lower=lower, upper=upper, parts=parts, value=value)

    # Shrinking

    def shrink(self, found: Candidate, least: Fraction) -> Candidate:
        """The simplest candidate that can be had by one simplification after another, still at least so high."""
        progress = True
        while progress:
            progress = False
            for simpler in self._simpler(found):
                if self.height(simpler) >= least:
                    found, progress = simpler, True
                    break
        return found

    def _simpler(self, found: Candidate) -> Iterator[Candidate]:
        parts = found.parts
        for i in range(len(parts)):
            if len(parts) > 1:
                yield replace(found, parts=parts[:i] + parts[i + 1 :])
        for i, (value, count) in enumerate(parts):
            for fewer in (count // 2, count - 1):
                if 1 <= fewer < count:
                    ahead = sum(n for _, n in parts[:i])
                    place = found.place - (count - fewer) if found.place > ahead else found.place
                    yield replace(found, parts=(*parts[:i], (value, fewer), *parts[i + 1 :]), place=max(0, place))
        for i, (value, count) in enumerate(parts):
            for plain in (found.lower, found.upper):
                if value not in (found.lower, found.upper):
                    yield replace(found, parts=(*parts[:i], (plain, count), *parts[i + 1 :]))
        if found.place != found.records - 1 + found.inserted and found.place < found.records - 1:
            yield replace(found, place=found.records - 1 + found.inserted)
