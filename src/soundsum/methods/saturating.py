"""Saturating summation in order: partial sums are held at the limits of the integer type (`sec:rp-sat-int`).

In one fixed order, adding the same record to two sums never drives them apart, so the ordered sensitivities are the
ideal ones. Order matters as soon as records have both signs; a uniform secret permutation makes the bound hold for
unordered relations. Of one sign, holding at every step is holding at the end, and order does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.kernels import saturating_sum
from soundsum.methods.method import METHODS, Method, Theorem, bounds_of_type, integers_only, permutable
from soundsum.methods.modular import exact_if_it_fits
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Fold, saturating
from soundsum.numbers.types import IntType
from soundsum.tables.records import Missing, Records


@dataclass(frozen=True)
class Saturating(Method):
    name = "saturating"
    theorem = Theorem(
        "saturating",
        "thrm:ord-dist-saturation-sens",
        "under ordered relations the sensitivity is max(|L|, |U|), or U - L if the size is public; the same holds "
        "under unordered ones for records of one sign, or after a random permutation",
    )
    takes = IntType
    adds_floats = False

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := integers_only(problem, "toward_zero or grid"):
            return reasons
        return bounds_of_type(problem) + permutable(problem, self._permutes(problem))

    def sensitivity(self, problem: Problem) -> Fraction:
        return problem.ideal

    def accuracy(self, problem: Problem) -> Fraction | None:
        return exact_if_it_fits(problem)

    def steps(self, problem: Problem) -> tuple[str, ...]:
        return ("permute", self.name) if self._permutes(problem) else (self.name,)

    def facts(self, problem: Problem) -> list[str]:
        if self._permutes(problem):
            return ["the permutation is uniform and stays secret"]
        return (
            ["the bounds have one sign, so order does not matter"]
            if problem.one_sign
            else ["the order of records is public"]
        )

    def model(self, problem: Problem) -> Fold:
        assert isinstance(problem.dtype, IntType)
        return saturating(problem.dtype)

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        return Fraction(saturating_sum(data, problem.lower, problem.upper, missing=missing))

    def _permutes(self, problem: Problem) -> bool:
        return not problem.relation.ordered and not problem.one_sign


METHODS.register(Saturating())
