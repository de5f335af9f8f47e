"""Every method's sum as an integer number of steps, which is what noise is added to.

Integers step by 1 and grids by their own step. A sum of floats as floats is floored to a step far below its
sensitivity: two sums within Delta of each other are then within ceil(Delta / step) steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from soundsum.kernels import Missing
from soundsum.methods import Method, OnGrid, Shifted, Wide
from soundsum.noise import add_modular
from soundsum.numbers import IntType
from soundsum.problem import Problem
from soundsum.rationals import floor_log2, power_of_two
from soundsum.records import Records

FINENESS = 40
"""A sum of floats is floored to 2^-40 of its sensitivity or less."""


@dataclass(frozen=True)
class Lattice:
    """The step of a method's sum, and its sensitivity in steps."""

    problem: Problem
    adder: Method
    step: Fraction
    sensitivity: int

    def steps(self, records: Records, missing: Missing) -> int:
        """The sum in steps, without what is public about it."""
        if isinstance(self.adder, Wide):
            return int(self.adder.add(self.problem, records, missing))
        if isinstance(self.adder, OnGrid) and self.adder.integers is None:
            return self.adder.integer_sum(self.problem, records, missing)
        total = self.adder.sum(self.problem, records, missing) - self.public_part(records.size)
        return math.floor(total / self.step)

    def public_part(self, n: int) -> Fraction:
        """What is added after the noise, for a public number of records."""
        if isinstance(self.adder, OnGrid):
            return n * self.adder.grid(self.problem).offset
        return n * self.problem.lower if isinstance(self.adder, Shifted) else Fraction(0)

    def value(self, steps: int, n: int) -> Fraction:
        """Steps back in the data's units, held in the type's range where the sum is modular."""
        modulus = self.adder.modulus(self.problem)
        if modulus is not None:
            kind = IntType(modulus.bit_length() - 1, getattr(self.problem.dtype, "signed", True))
            steps = add_modular(steps, 0, modulus, kind)
        return steps * self.step + self.public_part(n)


@lru_cache(maxsize=64)
def lattice(problem: Problem, adder: Method) -> Lattice:
    """The lattice of a method's sums."""
    sensitivity = adder.sensitivity(problem)
    if isinstance(problem.dtype, IntType):
        step = Fraction(1)
    elif isinstance(adder, OnGrid):
        step = adder.grid(problem).step
    else:
        step = power_of_two(floor_log2(sensitivity) - FINENESS) if sensitivity else Fraction(1)
    return Lattice(problem, adder, step, math.ceil(sensitivity / step))


def adds_up(adder: Method) -> bool:
    """Whether a method's sum of a whole is the sum of its sums of the parts."""
    return isinstance(adder, Wide) or (isinstance(adder, OnGrid) and adder.integers is None)
