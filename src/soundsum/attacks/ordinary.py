"""The sums an attack can be measured with, by name, over runs: ordinary ones, and ours for comparison.

Ordinary sums of records that are not numbers go through the models, since the kernels clean them first; everything else
goes through the kernels (which use the models for types that have none).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

from soundsum import kernels
from soundsum.methods.problem import Problem
from soundsum.numbers import models
from soundsum.numbers.grids import power_of_two_grid
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Value, is_special
from soundsum.numbers.types import FloatType, IntType
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.runs import Runs


def total_by_name(name: str, data: Runs, problem: Problem, option: str = "total") -> Value:
    """The sum of `data` by one of the ways to add listed in `INTEGER_SUMS` or `FLOAT_SUMS`."""
    ways = INTEGER_SUMS if isinstance(problem.dtype, IntType) else FLOAT_SUMS
    if name not in ways:
        raise RefusedValue(
            option,
            Reason.UNKNOWN,
            "`{option}={given}` is not a way to add {dtype}",
            "use one of {ways}",
            given=quote(name),
            dtype=str(problem.dtype),
            ways=", ".join(ways),
        )
    return ways[name](data, problem)


def our_sum(problem: Problem) -> str:
    """The way to add that soundsum uses by default."""
    return "wide" if isinstance(problem.dtype, IntType) else "grid"


def has_specials(data: Runs) -> bool:
    return any(is_special(x) for x in data.counts())


def _float_sum(how: str) -> Callable[[Runs, Problem], Value]:
    def total(data: Runs, problem: Problem) -> Value:
        if has_specials(data):
            return models.FLOAT_SUMS[how](cast(FloatType, problem.dtype)).sum(data)
        return kernels.float_sum(cast(kernels.FloatSum, how), data, problem.lower, problem.upper)

    return total


def _round_once(data: Runs, problem: Problem) -> Value:
    """The exact sum, rounded once, as `math.fsum` returns it: no sum that returns a float does better."""
    if has_specials(data):
        return sum(float(x) for x in data.counts() if is_special(x))
    return cast(FloatType, problem.dtype).round(data.total())


def _grid(data: Runs, problem: Problem) -> Fraction:
    kind = cast(FloatType, problem.dtype)
    grid = power_of_two_grid(kind, problem.lower, problem.upper, problem.relation.sized)
    return grid.value(kernels.grid_sum(data, grid), data.size)


def _integer_sum(kernel: Callable[[Runs, Fraction, Fraction], int]) -> Callable[[Runs, Problem], Value]:
    return lambda data, problem: kernel(data, problem.lower, problem.upper)


INTEGER_SUMS: dict[str, Callable[[Runs, Problem], Value]] = {
    "modular": _integer_sum(kernels.modular_sum),
    "saturating": _integer_sum(kernels.saturating_sum),
    "split": _integer_sum(kernels.split_saturating_sum),
    "wide": _integer_sum(kernels.wide_sum),
}
FLOAT_SUMS: dict[str, Callable[[Runs, Problem], Value]] = {
    **{how: _float_sum(how) for how in models.FLOAT_SUMS},
    "rounded": _round_once,
    "grid": _grid,
}
