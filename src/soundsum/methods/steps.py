"""The steps in which sums are counted: records as integers q in [low, high], each step of them worth the same.

Floats are put on a grid; integers are themselves, clamped. A sum of unknown size needs steps from 0. A mean or variance
looks at how far records are from the middle of their bounds, so its steps are counted from near them and can be as fine
as the bounds are close.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.kernels.preparation import clamped_integers, grid_array
from soundsum.methods.problem import Problem
from soundsum.numbers.grids import BITS, RecordGrid, as_doubles, power_of_two_grid
from soundsum.numbers.types import FloatType
from soundsum.tables.records import Column


@dataclass(frozen=True)
class RecordSteps:
    """The steps by which each record becomes an integer; without a grid it is one already."""

    low: int
    high: int
    step: Fraction
    grid: RecordGrid | None = None

    @classmethod
    def on_grid(cls, grid: RecordGrid) -> RecordSteps:
        return cls(grid.low, grid.high, grid.step, grid)

    @property
    def offset(self) -> Fraction:
        """The constant that each record adds beyond its steps."""
        return Fraction(0) if self.grid is None else self.grid.offset

    def bounds(self, unit_value: Fraction) -> tuple[Fraction, Fraction]:
        """The bounds that records are really clamped to, in units of the given size."""
        offset = self.offset
        return (self.low * self.step + offset) * unit_value, (self.high * self.step + offset) * unit_value

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def ends(self) -> int:
        return self.low + self.high

    def integers(self, column: Column) -> NDArray[Any]:
        """The integer of every record, in 64 bits."""
        if self.grid is None:
            return clamped_integers(column, self.low, self.high)
        doubles = as_doubles(self.grid)
        if doubles is not None:
            return grid_array(column, self.grid, doubles)
        return np.array([self.grid.integer(x) for x in column], np.int64)


def steps_from_zero(problem: Problem) -> RecordSteps:
    """Steps to add up, whatever the number of records."""
    return _steps(problem, sized=False, bits=BITS)


def steps_from_near(problem: Problem, bits: int = BITS) -> RecordSteps:
    """Steps that are counted from near the bounds."""
    return _steps(problem, sized=True, bits=bits)


def _steps(problem: Problem, sized: bool, bits: int) -> RecordSteps:
    if not isinstance(problem.dtype, FloatType):
        return RecordSteps(*inward(problem), Fraction(1))
    return RecordSteps.on_grid(power_of_two_grid(problem.dtype, problem.lower, problem.upper, sized, bits))


def inward(problem: Problem) -> tuple[int, int]:
    """The bounds rounded inward to integers of the type; the first is above the second if there are none."""
    kind = problem.dtype
    return max(math.ceil(problem.lower), int(kind.min)), min(math.floor(problem.upper), int(kind.max))
