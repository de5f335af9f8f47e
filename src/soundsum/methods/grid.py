"""Floats summed as integers on a grid (`sec:floats2ints`): the ideal sensitivity, in any order, for any size.

Each record becomes an integer in [J, K] and the integers are added exactly, so one record moves the sum by at most
max(|J|, |K|) steps, or K - J for a public size. By default the step is a power of two and the bounds are rounded
inward, so the sensitivity is at most the ideal one; a step can be given, or be the paper's for an accumulator of m
bits. The integers may also be summed by another integer method, in a type of m bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Literal, cast

from soundsum.kernels import grid_sum, wide_sum
from soundsum.kernels.preparation import grid_integers
from soundsum.methods.method import METHODS, Method, Theorem, floats_only, limit_known
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.grids import RecordGrid, power_of_two_grid, stepped_grid
from soundsum.numbers.models import Fold, wide
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special
from soundsum.numbers.types import FloatType, IntType
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.records import Missing, Records


@dataclass(frozen=True)
class OnGrid(Method):
    step: Fraction | Literal["power_of_two", "paper"] = "power_of_two"
    rounding: Literal["nearest", "randomised"] = "nearest"
    integers: Method | None = None  # None: added exactly, in 128 bits
    bits: int = 64  # m, the accumulator of another integer method

    name = "grid"
    theorem = Theorem(
        "grid",
        "thrm:sens-f2i",
        "for integers from J to K on the grid, the sensitivity is max(|J|, |K|) steps, or K - J steps if the size is "
        "public; bounds are rounded inward, so it is at most the ideal",
    )
    takes = FloatType
    adds_floats = False

    def __post_init__(self) -> None:
        if self.step not in ("power_of_two", "paper"):
            step = exact(self.step, "step")
            if is_special(step):
                raise RefusedValue(
                    "step",
                    Reason.NOT_A_NUMBER,
                    "`step={given}` is not a finite number",
                    "give one above 0",
                    given=quote(step),
                )
            if step <= 0:
                raise RefusedValue(
                    "step",
                    Reason.TOO_SMALL,
                    "`step={given}`: a grid has steps above 0",
                    "give a larger one",
                    given=quote(step),
                )
            object.__setattr__(self, "step", Fraction(step))

    @property
    def label(self) -> str:
        rounding = "_randomised" if self.rounding == "randomised" else ""
        return f"grid{rounding}" + (f"_{self.integers.label}" if self.integers else "")

    def grid(self, problem: Problem) -> RecordGrid:
        return _grid(self.step, self.bits, problem)

    def integer_problem(self, problem: Problem) -> Problem:
        """The problem restated for the integers on the grid."""
        grid = self.grid(problem)
        return Problem(IntType(self.bits), grid.low, grid.high, problem.relation, problem.size, problem.max_size)

    def unmet(self, problem: Problem) -> list[str]:
        if not isinstance(problem.dtype, FloatType):
            return floats_only(problem)
        if self.step == "paper":
            if reasons := limit_known(problem):
                return reasons
            if cast(int, problem.limit) >= 2 ** (self.bits - 2):
                return [f"{self.bits} bits are too few for {problem.limit:,} records; give more bits"]
        grid, kind = self.grid(problem), IntType(self.bits)
        written_out = self.integers is not None or self.rounding == "randomised"
        if written_out and not (grid.low in kind and grid.high in kind):
            return [f"the integers reach {max(-grid.low, grid.high)}, beyond {kind}; give a larger step or more bits"]
        if self.integers is None:
            if problem.limit is not None and problem.limit >= 2**64:
                return [
                    f"128 bits hold the sum of fewer than 2^64 records, and n may be {problem.limit:,}; sum in parts"
                ]
            return []
        return self.integers.unmet(self.integer_problem(problem))

    def sensitivity(self, problem: Problem) -> Fraction:
        grid = self.grid(problem)
        if self.integers is not None:
            return grid.step * self.integers.sensitivity(self.integer_problem(problem))
        return grid.step * (grid.high - grid.low if problem.relation.sized else max(-grid.low, grid.high))

    def accuracy_per_record(self, problem: Problem) -> Fraction:
        """The largest rounding error of a record: half a step within [J, K] (a step if randomised), or the clamp."""
        grid = self.grid(problem)
        if not problem.ideal:
            return _clamp_error(grid)  # one value, not on a given grid unless by chance
        rounding = grid.step / 2 if self.rounding == "nearest" else grid.step
        return max(rounding, _clamp_error(grid))

    def accuracy(self, problem: Problem) -> Fraction | None:
        """n times the accuracy per record (`thm:accuracy1`), where the integers' own sum is exact."""
        if problem.limit is None:
            return None
        if self.integers is not None and self.integers.accuracy(self.integer_problem(problem)) is None:
            return None
        return self._most_records(problem) * self.accuracy_per_record(problem)

    def _most_records(self, problem: Problem) -> int:
        """The number of records that may be added: two halves are truncated each on its own."""
        halves = 2 if {"split", "truncate"} <= set(self.steps(problem)) else 1
        return halves * cast(int, problem.limit)

    def likely_accuracy(self, problem: Problem, confidence: float = 0.95) -> Fraction | None:
        """With this confidence: c sqrt(n) steps if randomised (`thm:accuracy2`, by Hoeffding), and the clamp."""
        if self.rounding == "nearest" or problem.limit is None or self.accuracy(problem) is None:
            return self.accuracy(problem)
        c = Fraction(math.nextafter(math.sqrt(math.log(2 / (1 - confidence)) / 2), math.inf))
        grid, n = self.grid(problem), self._most_records(problem)
        return c * (math.isqrt(n) + 1) * grid.step + n * _clamp_error(grid)

    def overflow_chance(self, problem: Problem, epsilon: Fraction) -> float:
        """At most this chance that sum and Laplace noise leave m bits (`thrm:overflow-unlikely`, computed)."""
        assert problem.limit is not None
        grid = self.grid(problem)
        room = 2 ** (self.bits - 1) - problem.limit * max(-grid.low, grid.high)
        if room <= 0:
            return 1.0
        scale = self.sensitivity(problem) / grid.step / epsilon
        return min(1.0, 2 * math.exp(-room / scale) / (1 + math.exp(-1 / scale))) if scale else 0.0

    def steps(self, problem: Problem) -> tuple[str, ...]:
        if self.integers is None:
            return (self.name, "wide")
        *before, last = self.integers.steps(self.integer_problem(problem))
        return (*before, self.name, last)

    def is_randomised(self, problem: Problem) -> bool:
        return self.rounding == "randomised" or "permute" in self.steps(problem)

    def modulus(self, problem: Problem) -> int | None:
        return self.integers.modulus(self.integer_problem(problem)) if self.integers else None

    def model(self, problem: Problem) -> Fold:
        """In the data's units, without the offset; to nearest, as the coins of randomised rounding are not modelled."""
        grid = self.grid(problem)
        inner = self.integers.model(self.integer_problem(problem)) if self.integers else wide()
        assert isinstance(inner, Fold)
        return Fold(
            inner.start,
            lambda state, x: inner.step(state, grid.integer(x)),
            lambda state: inner.finish(state) * grid.step,
        )

    def integer_sum(self, problem: Problem, data: Records, missing: Missing = "zero") -> int:
        """The sum on the grid, to which noise is added."""
        grid = self.grid(problem)
        if self.integers is None and self.rounding == "nearest":
            return grid_sum(data, grid, missing=missing)
        randomised = self.rounding == "randomised"
        integers = grid_integers(data, grid, IntType(self.bits), randomised=randomised, missing=missing)
        if self.integers is None:
            return wide_sum(integers, grid.low, grid.high)
        return int(self.integers.add(self.integer_problem(problem), integers, "zero"))

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        return self.grid(problem).value(self.integer_sum(problem, data, missing), data.size)

    @property
    def adds_up(self) -> bool:
        return self.integers is None

    def record_steps(self, problem: Problem) -> RecordSteps | None:
        alone = self.integers is None and self.rounding == "nearest"
        return RecordSteps.on_grid(self.grid(problem)) if alone else None

    def noise_step(self, problem: Problem) -> Fraction:
        return self.grid(problem).step

    def public_part(self, problem: Problem, n: int) -> Fraction:
        return n * self.grid(problem).offset

    def sum_in_steps(self, problem: Problem, data: Records, missing: Missing) -> int:
        if self.integers is None:
            return self.integer_sum(problem, data, missing)
        return super().sum_in_steps(problem, data, missing)


@cache
def _grid(step: Fraction | Literal["power_of_two", "paper"], bits: int, problem: Problem) -> RecordGrid:
    lower, upper, sized = problem.lower, problem.upper, problem.relation.sized
    if step == "power_of_two":
        return power_of_two_grid(cast(FloatType, problem.dtype), lower, upper, sized)
    if step == "paper":
        n = cast(int, problem.limit)
        widest = problem.spread if sized else max(problem.spread, problem.magnitude)
        step = widest * n / (2 ** (bits - 2) - n) or Fraction(1)
    return stepped_grid(lower, upper, cast(Fraction, step), sized)


def _clamp_error(grid: RecordGrid) -> Fraction:
    """The distance of a bound from [J, K], 0 inside."""
    return max(grid.upper - grid.value(grid.high, 1), grid.value(grid.low, 1) - grid.lower)


METHODS.register(OnGrid())
METHODS.register(OnGrid(rounding="randomised"))
