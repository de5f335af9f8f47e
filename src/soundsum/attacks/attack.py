"""An Attack: two neighbouring datasets that an ordinary sum tells apart, with its predicted sums.

A new pair is checked: records of the type, within the bounds, as many as promised, at a computed distance of at most 1
under the relation. Predictions are exact; `measure` tries them on a sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from soundsum.attacks.ordinary import our_sum, total_by_name
from soundsum.methods.problem import Problem
from soundsum.numbers import text_tables
from soundsum.numbers.formatting import binary, layout, times
from soundsum.numbers.rationals import Value, exact, is_special
from soundsum.references import place
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.runs import Runs

Total: TypeAlias = str | Callable[[Any], Any]
"""A noiseless sum: the name of one of ours, or a function of the data."""

MOST_WRITTEN_OUT = 1 << 26
"""Above this many records a sum is handed the runs themselves: an array would take half a gigabyte and more."""

MOST_ADDED = 1 << 34
"""More records than this are not added one by one: at a nanosecond each they would take minutes to years."""


@dataclass(frozen=True)
class Event:
    """A test of an output that an attacker uses to recognise the left dataset.

    >>> Event("above", Fraction(5))(7.25), Event("above", Fraction(5))(3), Event("nan")(float("nan"))
    (True, False, True)
    >>> Event("multiple", Fraction(1, 4))(1.75), Event("equal", Fraction(7))(7.0), Event("raises")(ValueError())
    (True, True, True)
    >>> Event.between(3, 8)
    Event(test='below', threshold=Fraction(11, 2))
    """

    test: Literal["above", "below", "nan", "infinite", "equal", "multiple", "raises"]
    threshold: Fraction | None = None

    @classmethod
    def between(cls, left: Value, right: Value) -> Event:
        """The event that tells a sum of `left` from one of `right`: a side of the midpoint if both are numbers."""
        if is_special(left):
            return cls("nan" if left != left else "infinite")
        if is_special(right) or left == right:
            raise RefusedValue(
                "right",
                Reason.UNSUPPORTED,
                "no threshold tells these two sums apart",
                "give two that differ, as `right` a finite one",
            )
        return cls("above" if left > right else "below", (Fraction(left) + Fraction(right)) / 2)

    def __call__(self, output: Any) -> bool:
        """Returns whether an output, or the exception raised instead, passes the test."""
        if isinstance(output, BaseException) or self.test == "raises":
            return isinstance(output, BaseException) and self.test == "raises"
        value = exact(output[()] if isinstance(output, np.ndarray) and output.ndim == 0 else output, "output")
        match self.test:
            case "nan":
                return value != value
            case "infinite":
                return isinstance(value, float) and math.isinf(value)
            case "above":
                return bool(value > self._threshold)
            case "equal":
                return bool(value == self._threshold)
            case "multiple":
                return not is_special(value) and (Fraction(value) / self._threshold).denominator == 1
            case _:
                return bool(value < self._threshold)

    @property
    def _threshold(self) -> Fraction:
        assert self.threshold is not None
        return self.threshold

    @property
    def description(self) -> str:
        if self.threshold is None:
            ways = {"nan": "the output is NaN", "infinite": "the output is infinite", "raises": "there is an error"}
            return ways[self.test]
        how = {"equal": "equal to", "multiple": "a multiple of"}.get(self.test, self.test)
        return f"the output is {how} {binary(self.threshold)}"

    def to_json(self) -> dict[str, Any]:
        threshold = None if self.threshold is None else str(self.threshold)
        return {"test": self.test, "threshold": threshold, "words": self.description}


@dataclass(frozen=True, kw_only=True)
class Attack:
    """Two neighbouring datasets, their sums in an ordinary arithmetic, and the theorem that predicts these sums.

    `totals` are the sums of left and right in the arithmetic `aimed_at`; `distance` is measured, not declared.
    """

    name: str
    left: Runs
    right: Runs
    problem: Problem
    totals: tuple[Value, Value]
    parameters: Mapping[str, Any]
    aimed_at: str
    reference: str
    statement: str
    outside: bool = False  # whether records beyond the bounds are the point: NaN, infinities, or numbers to clamp
    target: Callable[[Any], Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        kind, lower, upper = self.problem.dtype, self.problem.lower, self.problem.upper
        for bound in (lower, upper):
            if bound not in kind:
                raise RefusedValue(
                    "problem",
                    Reason.CONFLICT,
                    "the bound {bound} is not a value of {dtype}",
                    "the nearest is {nearest}",
                    bound=str(bound),
                    dtype=str(kind),
                    nearest=str(kind.round(bound)),
                )
        for name, side in (("left", self.left), ("right", self.right)):
            if side.type != kind:
                raise RefusedValue(
                    name,
                    Reason.MISMATCH,
                    "the records of `{option}` are {found} and the problem is about {dtype}",
                    "use one type",
                    found=str(side.type),
                    dtype=str(kind),
                )
            if not self.outside and not all(lower <= x <= upper for x in side.counts()):
                raise RefusedValue(
                    name,
                    Reason.MISMATCH,
                    "`{option}` has records outside the problem's bounds [{lower}, {upper}]",
                    "give wider bounds",
                    lower=str(lower),
                    upper=str(upper),
                )
            if self.problem.size is not None and side.size != self.problem.size:
                raise RefusedValue(
                    name,
                    Reason.MISMATCH,
                    "`{option}` has {found:,} records where the problem promises {size:,}",
                    "give as many as it promises",
                    found=side.size,
                    size=self.problem.size,
                )
        if self.distance > 1:
            raise RefusedValue(
                "right",
                Reason.MISMATCH,
                "the datasets are {distance} apart under {relation}",
                "give neighbours, which are at most 1 apart",
                distance=f"{self.distance:,}",
                relation=str(self.problem.relation),
            )

    def __hash__(self) -> int:
        return hash((self.name, self.left, self.right, self.problem))

    @cached_property
    def distance(self) -> int | float:
        """The distance between the datasets under the problem's relation; 0 for a reordering."""
        return self.problem.relation.distance(self.left, self.right)

    @property
    def ideal(self) -> Fraction:
        """The largest change of the sum over the real numbers that one record may cause."""
        return self.problem.ideal

    @property
    def predicted(self) -> Fraction | None:
        """|sum of left - sum of right| as computed, exactly; None where a sum is not a number."""
        moved = difference(*self.totals)
        return None if is_special(moved) else Fraction(moved)

    @property
    def ratio(self) -> Fraction | float:
        """The predicted difference divided by the ideal one; infinite if a sum is not a number."""
        return math.inf if self.predicted is None else self.predicted / self.ideal

    @property
    def records(self) -> int:
        """The size of the larger dataset."""
        return max(self.left.size, self.right.size)

    @property
    def event(self) -> Event:
        """The test of one output, noisy or not, that tells left from right."""
        return Event.between(*self.totals)

    def sums(self, total: Total | None = None) -> tuple[Value, Value]:
        """The sums of left and right by `total`; by default by the arithmetic this attack is aimed at.

        A name is one of ours ("iterated", "kahan", "pairwise", "rounded", "grid"; "modular", "saturating", "wide"),
        added by the kernels over the runs. A function gets an array; or the Runs themselves where the type has no
        NumPy dtype or the array would have over 2^26 records.
        """
        if total is None:
            total = self.target or self.aimed_at
        if callable(total):
            left, right = (exact(total(as_data(side)), "the sum") for side in (self.left, self.right))
            return left, right
        if self.records > MOST_ADDED and total not in ("grid", "wide", "modular", "split", "rounded"):
            raise RefusedValue(
                "dtype",
                Reason.TOO_MANY,
                "{records:,} records would take too long to add one by one",
                "use a narrower `dtype`, or `ratio` or `max_records` for a smaller attack",
                records=self.records,
            )
        return total_by_name(total, self.left, self.problem), total_by_name(total, self.right, self.problem)

    def measure(self, total: Total | None = None) -> Fraction | float:
        """|total(left) - total(right)|, exactly; NaN if just one of them is NaN, inf if they are infinitely far apart.

        >>> from soundsum.attacks import attack
        >>> a = attack("rounding", dtype="float64")
        >>> a.measure() == a.measure("kahan") == a.predicted, a.measure("grid") == a.ideal
        (True, True)
        """
        return difference(*self.sums(total))

    def measured(self) -> dict[str, Fraction | float | None]:
        """The differences between left and right by the attacked sum, by others (up to 2^26 records), and by ours.

        None stands for sums of too many records to add one by one.
        """
        floats = ("iterated", "pairwise", "kahan", "rounded")
        others = ("modular", "saturating") if self.problem.dtype.is_integer else floats
        ours = our_sum(self.problem)
        ways = dict.fromkeys([self.aimed_at, *(others if self.records <= MOST_WRITTEN_OUT else ()), ours])
        return {how: self.measure(how) if self.records <= MOST_ADDED or how == ours else None for how in ways}

    def explain(self) -> str:
        """The attack in words and numbers: the datasets, the predicted sums and the measured ones."""
        return layout(self._title, self._facts())

    def __repr__(self) -> str:
        moved = "tells them apart" if self.predicted is None else f"moves by {times(self.ratio)} the ideal"
        return f"<{self._title}, {self.distance} apart under {self.problem.relation}: {self.aimed_at} {moved}>"

    def _repr_html_(self) -> str:
        return text_tables.table(self._facts(), caption=self._title)

    @property
    def _title(self) -> str:
        return f"{self.name} on {self.problem.dtype}, {self.records:,} records"

    def _facts(self) -> list[tuple[str, str]]:
        problem = self.problem
        apart = "a reordering, 0 apart" if self.distance == 0 else f"{self.distance} apart"
        left, right = (binary(x) for x in self.totals)
        moves = f"{self.aimed_at} gives {left} for the left and {right} for the right: one record decides"
        if self.predicted is not None:
            moved = f"{binary(self.predicted)}, {times(self.ratio)} the ideal"
            moves = f"{self.aimed_at} moves by {moved} ({left} against {right})"
        order = "" if self.distance else ", an order by 0"
        return [
            ("what", self.statement),
            ("parameters", ", ".join(f"{name} = {binary(x)}" for name, x in self.parameters.items())),
            ("left", describe_dataset(self.left)),
            ("right", describe_dataset(self.right)),
            ("bounds", f"[{binary(problem.lower)}, {binary(problem.upper)}]"),
            ("neighbours", f"{apart} under {problem.relation}"),
            ("ideal", f"one record may move the sum by {binary(self.ideal)}{order}"),
            ("computed", moves),
            ("to tell", f"it was left if {self.event.description}"),
            ("paper", place(self.reference)),
        ]

    def to_json(self) -> dict[str, Any]:
        """A plain dict, exact numbers as strings."""
        problem, predicted = self.problem, self.predicted
        return {
            "name": self.name,
            "parameters": {name: _as_json_value(x) for name, x in self.parameters.items()},
            "dtype": problem.dtype.name,
            "relation": str(problem.relation),
            "lower": str(problem.lower),
            "upper": str(problem.upper),
            "left": self.left.to_json(),
            "right": self.right.to_json(),
            "records": self.records,
            "distance": self.distance,
            "ideal": str(self.ideal),
            "totals": [str(x) for x in self.totals],
            "predicted": None if predicted is None else str(predicted),
            "ratio": str(self.ratio),
            "aimed_at": self.aimed_at,
            "event": None if difference(*self.totals) == 0 else self.event.to_json(),
            "reference": self.reference,
            "statement": self.statement,
        }


def describe_dataset(runs: Runs) -> str:
    """Describes a dataset: its values in order, each with its count."""
    shown = []
    for pattern, count in runs.parts:
        what = binary(pattern[0]) if len(pattern) == 1 else "(" + ", ".join(map(binary, pattern)) + ")"
        shown.append(what if count == 1 else f"{count:,} times {what}")
    if len(shown) > 8:
        shown[4:-3] = [f"... ({len(shown) - 7} more) ..."]
    return ", then ".join(shown) or "no records"


def difference(left: Value, right: Value) -> Fraction | float:
    """|left - right|; 0 for two NaNs or the same infinity twice, which cannot be told apart."""
    if left == right or (left != left and right != right):
        return Fraction(0)
    if is_special(left) or is_special(right):
        return math.nan if left != left or right != right else math.inf
    return abs(Fraction(left) - Fraction(right))


def as_data(runs: Runs) -> Any:
    """An array, or the runs themselves where no array can be or should be made."""
    return runs if runs.type.dtype is None or runs.size > MOST_WRITTEN_OUT else np.asarray(runs)


def _as_json_value(x: Any) -> Any:
    """A parameter as JSON has it: integers, booleans and strings as they are, other fractions as strings."""
    return x if isinstance(x, int | str) else int(x) if x == int(x) else str(x)
