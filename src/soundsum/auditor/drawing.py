"""Runs of a release on two neighbours, and the events that tell their outputs apart.

The two runs of a pair come in random order, so changes over time affect both sides alike: a budget that runs out, a
cache that fills or a counter tells nothing. If errors begin after successful runs and persist on both sides, the target
has ended, and no further runs are possible.

Events are thresholds, equality with a value, membership of a lattice (multiples of 2^k: the low bits), NaN, infinity
and an error. They are learned from runs that do not count: past ones in the e-process, the first half of fixed samples.
"""

from __future__ import annotations

import math
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.attacks import Attack, Event
from soundsum.auditor.calling import Failure, TargetRefused, as_number, failure
from soundsum.auditor.evidence import Bools, Floats, growth
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import Promise
from soundsum.numbers.rationals import Value, is_special, nearest_float, power_of_two

QUANTILES = 48
"""Thresholds are searched among this many quantiles of the outputs."""

MOST_VALUES = 6
"""Equality is tried with this many of the most frequent values of each side."""

COARSEST = 10**6
"""The lowest bit of 0, which is a multiple of everything."""


@dataclass(frozen=True)
class Outputs:
    """Many outputs of one dataset: the exact values, and columns for events to test."""

    values: tuple[Any, ...]  # exact numbers, or exceptions
    floats: Floats  # the nearest doubles; NaN for an exception
    grains: NDArray[np.int64]  # the exponent of the lowest bit that is set
    raised: Bools
    exact: bool  # whether every number is the double beside it

    @classmethod
    def of(cls, drawn: Iterable[Any], name: str) -> Outputs:
        """Numbers, and exceptions for runs that raised one."""
        values = tuple(x if isinstance(x, BaseException) else as_number(x, f"{name}'s release") for x in drawn)
        raised = np.array([isinstance(x, BaseException) for x in values], bool)
        floats = np.array([math.nan if isinstance(x, BaseException) else nearest_float(x) for x in values])
        grains = np.array([_grain(x) for x in values], np.int64)
        same = all(
            isinstance(x, BaseException) or is_special(x) or (math.isfinite(near) and Fraction(near) == x)
            for x, near in zip(values, floats.tolist(), strict=True)
        )
        return cls(values, floats, grains, raised, same)

    def __add__(self, other: Outputs) -> Outputs:
        return Outputs(
            self.values + other.values,
            np.concatenate([self.floats, other.floats]),
            np.concatenate([self.grains, other.grains]),
            np.concatenate([self.raised, other.raised]),
            self.exact and other.exact,
        )

    def __getitem__(self, part: slice) -> Outputs:
        return Outputs(self.values[part], self.floats[part], self.grains[part], self.raised[part], self.exact)

    def __len__(self) -> int:
        return len(self.values)

    def have(self, event: Event) -> Bools:
        """Which outputs the event holds for."""
        near = None if event.threshold is None else nearest_float(event.threshold)
        if near is not None and not (self.exact and math.isfinite(near) and Fraction(near) == event.threshold):
            near = None  # doubles do not decide
        with np.errstate(invalid="ignore"):
            match event.test:
                case "raises":
                    return self.raised
                case "nan":
                    return np.isnan(self.floats) & ~self.raised
                case "infinite":
                    return np.isinf(self.floats)
                case "multiple" if event.threshold is not None and _is_power(event.threshold):
                    at_least: Bools = self.grains >= _grain(event.threshold)
                    return at_least & np.isfinite(self.floats)
                case "above" if near is not None:
                    return np.asarray(self.floats > near)
                case "below" if near is not None:
                    return np.asarray(self.floats < near)
                case "equal" if near is not None:
                    return np.asarray(self.floats == near)
        return np.array([event(x) for x in self.values], bool)


def _grain(x: Value | BaseException) -> int:
    """The exponent of the lowest bit set in x."""
    if isinstance(x, BaseException) or is_special(x) or not x:
        return COARSEST
    value = Fraction(x)
    low = value.numerator & -value.numerator
    return low.bit_length() - value.denominator.bit_length()


def _is_power(x: Fraction) -> bool:
    return x > 0 and x == power_of_two(_grain(x))


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


def learn(left: Outputs, right: Outputs, promise: Promise) -> tuple[Event, float] | None:
    """The event of past outputs on which evidence grows fastest, and its growth per pair; None if it grows on none."""
    pairs = min(len(left), len(right))
    if not pairs:
        return None
    events = list(dict.fromkeys(_candidates(left, right)))
    if not events:
        return None
    counts = np.array([(left.have(e)[:pairs].sum(), right.have(e)[:pairs].sum()) for e in events], float)
    rates = growth(counts[:, 0], counts[:, 1], pairs, promise)
    best = int(np.argmax(rates))
    return (events[best], float(rates[best])) if rates[best] > 0 else None


def rate(event: Event, left: Outputs, right: Outputs, promise: Promise) -> float:
    """How fast evidence would grow on one event, judged by past outputs."""
    counts = np.array([[left.have(event).sum()], [right.have(event).sum()]], float)
    return float(growth(counts[0], counts[1], max(1, len(left)), promise)[0])


def _candidates(left: Outputs, right: Outputs) -> Iterator[Event]:
    both = np.concatenate([left.floats, right.floats])
    if (left.raised | right.raised[: len(left)]).any() or right.raised.any():
        yield Event("raises")
    if np.isnan(both).any():
        yield Event("nan")
    if np.isinf(both).any():
        yield Event("infinite")
    seen = np.unique(both[np.isfinite(both)])
    if not len(seen):
        return
    places = np.unique(np.linspace(0, len(seen) - 1, min(len(seen), QUANTILES)).astype(int))
    yield from (Event("above", Fraction(float(seen[i]))) for i in places[:-1])
    yield from (Event("below", Fraction(float(seen[i]))) for i in places[1:])
    for side in (left, right):
        frequent = Counter(side.floats[np.isfinite(side.floats)].tolist()).most_common(MOST_VALUES)
        yield from (Event("equal", Fraction(x)) for x, count in frequent if count > 1)
    grains = np.concatenate([left.grains, right.grains])
    fine = np.unique(grains[grains < COARSEST])
    if len(fine) > 1:
        places = np.unique(np.linspace(1, len(fine) - 1, min(len(fine), QUANTILES)).astype(int))
        yield from (Event("multiple", power_of_two(int(fine[i]))) for i in places)
