"""What each statistic lets out: one or more integer sums, each with its step and its sensitivity in steps.

A sum and a count let out one, a histogram one vector. A mean of unknown size lets out the sum of c = 2q - (J + K), an
integer in [-(K-J), K-J] counted from the middle of the bounds in half steps, and the count; a variance the sum of c^2
too. A changed record moves the sum of c by up to 2 (K-J), an added one by K-J; c^2 is in [0, (K-J)^2]. Proofs:
docs/statistics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from soundsum.grids import Grid, power_of_two_grid
from soundsum.lattice import lattice
from soundsum.methods.wide import inward
from soundsum.numbers import FloatType
from soundsum.plan import Plan
from soundsum.privacy import Guarantee, Noise
from soundsum.problem import Problem

Statistic: TypeAlias = Literal["sum", "count", "mean", "variance", "histogram"]

VARIANCE_BITS = 28
"""A variance's grid is coarser, so that squares stay below 2^60."""


@dataclass(frozen=True)
class Part:
    """An integer sum (or a vector of them) that is let out with noise."""

    name: str
    l1: int
    l2_squared: int
    step: Fraction

    def noise(self, promise: Guarantee) -> Noise:
        return promise.noise(self.l1, self.l2_squared)


@dataclass(frozen=True)
class Centred:
    """Records as integers q in [low, high], each worth step; grid is None for integers, which are their own q."""

    low: int
    high: int
    step: Fraction
    grid: Grid | None

    @property
    def width(self) -> int:
        return self.high - self.low


def centred(statistic: Statistic, problem: Problem) -> Centred:
    """How a mean or variance turns records into integers; without offset, as the size may be unknown."""
    if not isinstance(problem.dtype, FloatType):
        return Centred(*inward(problem), Fraction(1), None)
    bits = {"bits": VARIANCE_BITS} if statistic == "variance" else {}
    grid = power_of_two_grid(problem.dtype, problem.lower, problem.upper, sized=False, **bits)
    return Centred(grid.low, grid.high, grid.step, grid)


def parts(statistic: Statistic, plan: Plan, cells: int = 1) -> tuple[Part, ...]:
    """Everything the statistic lets out; each part gets an equal share of the promise."""
    sized = plan.problem.relation.sized
    if statistic in ("sum", "count"):
        grid = lattice(plan)
        return (Part(statistic, grid.sensitivity, grid.sensitivity**2, grid.step),)
    if statistic == "histogram":
        moved = 2 if sized and cells > 1 else 1
        return (Part("counts", moved, moved, Fraction(1)),)
    records = centred(statistic, plan.problem)
    first = records.width * (2 if sized else 1)
    released = [Part("sum of c", first, first**2, records.step / 2)]
    if statistic == "variance":
        released.append(Part("sum of c^2", records.width**2, records.width**4, records.step**2 / 4))
    if not sized:
        released.append(Part("count", 1, 1, Fraction(1)))
    return tuple(released)


def noises(statistic: Statistic, plan: Plan, promise: Guarantee, cells: int = 1) -> tuple[Noise, ...]:
    """The noise of each part."""
    released = parts(statistic, plan, cells)
    share = promise.part(Fraction(1, len(released)))
    return tuple(part.noise(share) for part in released)
