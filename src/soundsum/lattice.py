"""Every plan's sum as an integer number of steps, which is what noise is added to.

Integers step by 1 and grids by their own step. A sum of floats as floats is floored to a step far below its
sensitivity: two sums within Delta of each other are then within ceil(Delta / step) steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum.kernels import Missing
from soundsum.methods import OnGrid, Shifted, Wide
from soundsum.numbers import IntType
from soundsum.plan import Plan
from soundsum.rationals import floor_log2, power_of_two
from soundsum.records import Records
from soundsum.tables import Source

FINENESS = 40
"""A sum of floats is floored to 2^-40 of its sensitivity or less."""


@dataclass(frozen=True)
class Lattice:
    """The step of a plan's sum, and its sensitivity in steps."""

    plan: Plan
    step: Fraction
    sensitivity: int

    def total(self, source: Source, missing: Missing) -> tuple[int, int]:
        """The sum in steps, and the number of records."""
        adder, problem = self.plan.adder, self.plan.problem
        if _adds_up(adder):
            parts = [(self._exact_part(batch, missing), batch.size) for batch, _ in source.batches()]
            return sum(total for total, _ in parts), sum(size for _, size in parts)
        batches = [batch for batch, _ in source.batches()]
        if len(batches) != 1:
            raise ValueError(f"{self.plan.method} needs the records in one piece; pass an array, or leave method out")
        sized = problem.with_size(batches[0].size)
        total = adder.sum(sized, batches[0], missing) - self.public_part(batches[0].size)
        return math.floor(total / self.step), batches[0].size

    def _exact_part(self, batch: Records, missing: Missing) -> int:
        adder, problem = self.plan.adder, self.plan.problem
        if isinstance(adder, OnGrid):
            return adder.integer_sum(problem, batch, missing)
        return int(adder.add(problem, batch, missing))

    def public_part(self, n: int) -> Fraction:
        """What is added after the noise, for a public number of records."""
        adder, problem = self.plan.adder, self.plan.problem
        if isinstance(adder, OnGrid):
            return n * adder.grid(problem).offset
        return n * problem.lower if isinstance(adder, Shifted) else Fraction(0)

    def value(self, steps: int, n: int) -> Fraction:
        """Steps back in the data's units, held in the type's range where the sum is modular."""
        if self.plan.modulus is not None:
            kind = IntType(self.plan.modulus.bit_length() - 1, getattr(self.plan.problem.dtype, "signed", True))
            steps = kind.wrap(steps)
        return steps * self.step + self.public_part(n)


def lattice(plan: Plan) -> Lattice:
    """The lattice of a plan."""
    adder, problem = plan.adder, plan.problem
    if isinstance(problem.dtype, IntType):
        step = Fraction(1)
    elif isinstance(adder, OnGrid):
        step = adder.grid(problem).step
    else:
        step = power_of_two(floor_log2(plan.sensitivity) - FINENESS) if plan.sensitivity else Fraction(1)
    return Lattice(plan, step, math.ceil(plan.sensitivity / step))


def _adds_up(adder: Any) -> bool:
    """Whether the sum of a whole is the sum of its batches' sums."""
    return isinstance(adder, Wide) or (isinstance(adder, OnGrid) and adder.integers is None)
