"""Records as integers q in [low, high], each worth a step: on a grid for floats, themselves for integers.

A sum of unknown size needs steps from 0. A mean or variance looks at how far records are from the middle of their
bounds, so its steps are counted from near them and can be as fine as the bounds are close.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.grids import BITS, Grid, power_of_two_grid
from soundsum.methods.wide import inward
from soundsum.models import clean
from soundsum.numbers import FloatType, int64
from soundsum.preparation import grid_integers
from soundsum.problem import Problem
from soundsum.records import Column


@dataclass(frozen=True)
class Integers:
    """How records become integers; without a grid they are integers already, and are clamped."""

    low: int
    high: int
    step: Fraction
    grid: Grid | None
    offset: Fraction = Fraction(0)

    @property
    def width(self) -> int:
        return self.high - self.low

    @property
    def ends(self) -> int:
        return self.low + self.high

    def of(self, column: Column) -> NDArray[Any]:
        """The integer of every record."""
        if self.grid is not None:
            integers = grid_integers(column, self.grid, int64)
            assert isinstance(integers, Column)
            return integers.values
        held: NDArray[Any] = np.clip(column.values, self.low, self.high)
        held[column.missing()] = int(clean(0, self.low, self.high))
        return held


def integers(problem: Problem) -> Integers:
    """How a problem's records become integers to be added, whatever the number of records."""
    return _integers(problem, from_zero=True, bits=BITS)


def near_integers(problem: Problem, bits: int = BITS) -> Integers:
    """How a problem's records become integers that are counted from near the bounds."""
    return _integers(problem, from_zero=False, bits=bits)


def _integers(problem: Problem, from_zero: bool, bits: int) -> Integers:
    if not isinstance(problem.dtype, FloatType):
        return Integers(*inward(problem), Fraction(1), None)
    grid = power_of_two_grid(problem.dtype, problem.lower, problem.upper, sized=not from_zero, bits=bits)
    return Integers(grid.low, grid.high, grid.step, grid, grid.offset)
