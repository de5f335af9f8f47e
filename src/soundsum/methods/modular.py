"""Modular summation: integers added modulo 2^w, as machines do unasked (`sec:modularnoise`).

Addition modulo 2^w is associative, so order does not matter and nothing needs checking; but sums are close only
*modulo* 2^w. Noise must be an integer and be added modulo 2^w too: the plan's `modulus` says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.kernels import modular_sum
from soundsum.methods.method import METHODS, Method, Theorem, bounds_of_type, integers_only
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Fold, modular
from soundsum.numbers.types import IntType
from soundsum.tables.records import Missing, Records


@dataclass(frozen=True)
class Modular(Method):
    name = "modular"
    theorem = Theorem(
        "modular",
        "thrm:modular-arith-known",
        "measured modulo 2^w, the sensitivity is at most min(2^(w-1), max(|L|, |U|)), or min(2^(w-1), U - L) if the "
        "size is public",
    )
    takes = IntType
    adds_floats = False

    def unmet(self, problem: Problem) -> list[str]:
        return integers_only(problem) or bounds_of_type(problem)

    def sensitivity(self, problem: Problem) -> Fraction:
        return min(Fraction(self.modulus(problem), 2), problem.ideal)

    def accuracy(self, problem: Problem) -> Fraction | None:
        """Exact where the sum fits the type; otherwise off by a multiple of the modulus."""
        return exact_if_it_fits(problem)

    def modulus(self, problem: Problem) -> int:
        assert isinstance(problem.dtype, IntType)
        return problem.dtype.modulus

    def facts(self, problem: Problem) -> list[str]:
        return [f"noise is an integer, added modulo {self.modulus(problem):,}"]

    def model(self, problem: Problem) -> Fold:
        assert isinstance(problem.dtype, IntType)
        return modular(problem.dtype)

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        return Fraction(modular_sum(data, problem.lower, problem.upper, missing=missing))


def exact_if_it_fits(problem: Problem) -> Fraction | None:
    """0 if n records within the bounds cannot leave the type, None if they can or n is unknown."""
    n, kind = problem.limit, problem.dtype
    fits = n is not None and n * problem.upper <= kind.max and n * problem.lower >= kind.min
    return Fraction(0) if fits else None


METHODS.register(Modular())
