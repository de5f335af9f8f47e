"""The interface of every statistic: its parts, the noisy sums it releases, and its estimate.

A statistic is a frozen dataclass of what is asked (a column, bounds, ...). It releases one or more *parts*: integer
sums, each the sum over records of an integer that a record adds. Everything that is claimed of it follows from its
class, the plan and the parts. A new statistic is one file here, or a class registered in STATISTICS from anywhere; the
proof that its parts have the norms they say belongs to docs/theorems/statistics.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol

from soundsum.methods import Method
from soundsum.methods.problem import Problem, require_ascending
from soundsum.methods.steps import RecordSteps, steps_from_zero
from soundsum.numbers.formatting import number
from soundsum.numbers.quoting import is_hashable, quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, nearest_float, power_of_two
from soundsum.numbers.types import IntType
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Norms, Unit
from soundsum.refusals import Reason, RefusedValue
from soundsum.registry import Registry
from soundsum.tables.keys import Codes
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Batch, Schema

COUNT, SUM = (1, 0, 0), (0, 1, 0)
"""Weights of the power sums: the number of records, the sum of their integers, and the sum of the squares of these."""


@dataclass(frozen=True)
class Part:
    """An integer sum (or one for each group) that is released with noise.

    It is the sum of `weights` times the power sums. A record adds something in `range`, except to the sum of a method
    that has its own theorem. In the data's units, a step is `step` times the `power` of what 1 in the records is worth.
    A modular sum `wraps` in its type, and so does its noise.
    """

    name: str
    step: Fraction
    norms: Norms[int]
    weights: tuple[int, int, int]
    range: tuple[int, int] | None = None
    power: int = 1
    wraps: IntType | None = None


class Cells(Protocol):
    """Cells that rows fall into, within each group; one sum is released for each pair of group and cell."""

    @property
    def names(self) -> list[Any]: ...
    @property
    def heading(self) -> str:
        """Their names in a table."""

    def codes(self, batch: Batch, column: str | None, unit_value: Fraction) -> Codes:
        """The cell of every row, len(names) for none."""


class Estimator(Protocol):
    """Reads a release: the numbers people see, and how far noise may have moved them."""

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """The range of the statistic for any data; None where there is no limit."""

    def exact(self, noisy: tuple[int, ...]) -> int | Fraction:
        """The statistic, from every part's noisy sum."""

    def interval(self, noisy: tuple[int, ...], confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        """An interval for the value without noise, with this confidence."""

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        """Values of all entries and the ends of their intervals, from every part's vector of noisy sums."""


def are_informative(estimator: Estimator, low: Sequence[float], high: Sequence[float]) -> list[bool]:
    """Returns which intervals say more than the limits in which the statistic always lies."""
    limits = getattr(estimator, "limits", None)  # a statistic from elsewhere may know none
    if limits is None:
        return [True] * len(low)
    least, most = map(nearest_float, limits)
    return [not a <= least < most <= b for a, b in zip(low, high, strict=True)]


def is_informative(estimator: Estimator, low: float, high: float) -> bool:
    """Returns whether one interval does."""
    (found,) = are_informative(estimator, [low], [high])
    return found


class Statistic(ABC):
    """One thing to ask of a table."""

    name: ClassVar[str]
    entry_name: ClassVar[str | None] = None  # what one entry of it is called, where that is something else
    is_the_sum: ClassVar[bool] = False  # whether what is let out is the sum that the plan is about
    drops_missing: ClassVar[bool] = False  # by default, where the number of records is private
    takes: ClassVar[Literal["numbers", "present rows", "rows"]] = "numbers"  # of a table, to add up
    needs_column: ClassVar[bool] = True
    takes_groups: ClassVar[bool] = True
    counts_persons: ClassVar[bool] = False  # whether cells are of what a person adds up to, under a unit of persons

    # What is asked; fields of those that let people say it

    column: str | None
    dtype: object = None  # the type the column is said to have
    method: str | Method = "auto"
    weight: Any = 1  # of its share of the cost, among several
    cells: Cells | None = None  # which rows fall into, within each group

    @abstractmethod
    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        """The problem to plan for, and what 1 in its records is worth (a decimal's last digit, otherwise 1)."""

    def pick_method(self, unit_value: Fraction) -> str | Method:
        """The method that is asked for, once it is known what 1 in the records is worth."""
        return self.method

    def unit(self, unit: Unit) -> Unit:
        """The unit of privacy, for the number of entries that are released."""
        return unit

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        """Says how records without a value counted."""
        nearest_zero = max(bounds[0], min(bounds[1], Fraction(0)))
        return "missing values left out" if missing == "drop" else f"missing values as {number(nearest_zero)}"

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        """Says which limits applied to each person; empty where records are protected.

        This is true of every statistic, as each part of a person is clamped to what `max_rows` rows can add.
        """
        if unit.max_rows is None:
            return ""
        rows = f"{unit.max_rows:,} row{'s' * (unit.max_rows > 1)}"
        return unit.say(f"each person adds at most as much as {rows} can{{}}")

    # What is claimed

    @classmethod
    def unmet(cls, plan: Plan) -> list[str]:
        """Why the statistic's proof does not cover a plan, each reason with what to do; empty if it does."""
        return []

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps | None:
        """The steps by which records become integers; None where a method adds in a way of its own."""
        return steps_from_zero(plan.problem)

    @classmethod
    @abstractmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        """Everything that it releases."""

    @classmethod
    @abstractmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Estimator:
        """The estimator that reads the noisy parts; n is the number of records where it is public."""


make_problem = lru_cache(maxsize=256, typed=True)(Problem)  # checked once

STATISTICS: Registry[type[Statistic]] = Registry("statistic", first=("sum", "count", "mean", "variance", "histogram"))
"""Everything that can be asked."""


@dataclass(frozen=True)
class Bounded(Statistic):
    """A statistic of numbers clamped to [lower, upper]; an owner's schema may give bounds that are left out."""

    column: str | None
    lower: Any = None
    upper: Any = None
    dtype: object = None
    size: int | None = None
    weight: Any = field(default=1, kw_only=True)

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        if self.lower is None or self.upper is None:
            raise self._refuse_no_bounds()
        lower, upper = exact(self.lower, "lower"), exact(self.upper, "upper")
        kind, unit_value = schema.type(self.column, dtype)
        if not is_special(lower) and not is_special(upper):
            require_ascending(Fraction(lower), Fraction(upper))  # said in people's units
        if unit_value != 1:  # of decimals: bounds are counted in last digits, as records are
            lower, upper = (x if is_special(x) else Fraction(x) / unit_value for x in (lower, upper))
        size = self.size
        if relation.sized and size is None and self.method != "auto":  # which may depend on it
            size = schema.rows()
        if size is not None and not is_hashable(size):
            raise RefusedValue(
                "size",
                Reason.NOT_WHOLE,
                "`size={given}`: a number of records is a whole number",
                "give one, 0 or more",
                given=quote(size),
            )
        return make_problem(kind, lower, upper, relation, size, getattr(self, "max_size", None)), unit_value

    def _refuse_no_bounds(self) -> RefusedValue:
        what = f"the {self.name}" if self.column is None else f"the {self.name} of {quote(self.column)}"
        if self.lower is None and self.upper is None:
            return RefusedValue(
                "lower",
                Reason.MISSING,
                "`lower` and `upper` are missing for {what}",
                "give both bounds from public knowledge, such as `lower=0`, `upper=100`",
                what=what,
            )
        return RefusedValue(
            "lower" if self.lower is None else "upper",
            Reason.MISSING,
            "`{option}` is missing for {what}",
            "give both bounds from public knowledge, such as `lower=0`, `upper=100`",
            what=what,
        )


@dataclass(frozen=True)
class Additive:
    """Noise on the statistic itself, in steps worth `step`; `offset` is public, `wraps` the type of a modular sum."""

    noise: Noise
    step: Fraction
    is_whole: bool
    offset: Fraction = Fraction(0)
    wraps: IntType | None = None

    def exact(self, noisy: tuple[int, ...]) -> int | Fraction:
        value = noisy[0] * self.step
        if self.offset:
            value += self.offset
        return int(value) if self.is_whole else value

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """The range of the statistic; None where there is no limit."""
        if self.wraps is None:
            return None
        return self.wraps.min * self.step + self.offset, self.wraps.max * self.step + self.offset

    def interval(self, noisy: tuple[int, ...], confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        return self.around(self.exact(noisy), confidence)

    def around(self, exact: int | Fraction, confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        """The interval of a released number; of a modular sum, whose ends may lie outside its type, modulo its modulus.

        Where it would hold every number modulo that, it is all of the type.
        """
        width = self.noise.half_width(confidence)
        if self.limits is not None and self.wraps is not None and 2 * width + 1 >= self.wraps.modulus:
            return self.limits
        return exact - width * self.step, exact + width * self.step

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        (totals,), width = noisy, self.noise.half_width(confidence)
        if not self.offset and self.wraps is None and _is_power_of_two(self.step):
            scale = float(self.step)  # products are exact but for the rounding of the sum to a float
            with suppress(OverflowError):  # a sum that is beyond the floats before it is scaled
                return (
                    [*totals] if self.is_whole else [total * scale for total in totals],
                    [(total - width) * scale for total in totals],
                    [(total + width) * scale for total in totals],
                )
        values = [self.exact((total,)) for total in totals]
        ends = [self.around(x, confidence) for x in values]
        return [*values], [nearest_float(low) for low, _ in ends], [nearest_float(high) for _, high in ends]


def _is_power_of_two(x: Fraction) -> bool:
    return x == power_of_two(floor_log2(x)) and abs(floor_log2(x)) < 1000
