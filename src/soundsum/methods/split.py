"""Split summation: add the negatives and the rest apart, then the two together (`method:split-sum-ints`).

Saturating addition is order-free only among numbers of one sign. Apart, the two halves are order-free, and one record
is in one half, so the whole keeps the ideal sensitivity under every relation. The halves may also be added modulo 2^w
(the whole is then the modular sum), or be truncated and checked, each on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from soundsum.kernels import modular_sum, split_saturating_sum, wide_sum
from soundsum.methods.checked import fits
from soundsum.methods.method import (
    METHODS,
    Method,
    Theorem,
    bounds_of_type,
    by_sign,
    integers_only,
    limit_known,
    permutable,
)
from soundsum.methods.modular import Modular, exact_if_it_fits
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Fold, modular, split_saturating
from soundsum.numbers.types import IntType
from soundsum.tables.records import Missing, Records
from soundsum.tables.relations import Relation


@dataclass(frozen=True)
class Split(Method):
    halves: Literal["saturating", "modular", "checked"] = "saturating"

    name = "split"
    theorem = Theorem(
        "split",
        "thrm:splitsummation",
        "the sensitivity is max(|L|, |U|), or U - L if the size is public, under every relation",
    )
    takes = IntType
    adds_floats = False

    @property
    def label(self) -> str:
        return self.name if self.halves == "saturating" else f"split_{self.halves}"

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := integers_only(problem, "toward_zero or grid"):
            return reasons
        reasons = bounds_of_type(problem)
        if self.halves != "checked":
            return reasons
        if problem.relation.sized or problem.one_sign:
            return ["is for unknown sizes and bounds of both signs; here use checked"]
        return reasons + limit_known(problem) or fits(problem) + permutable(problem, self._permutes(problem))

    def sensitivity(self, problem: Problem) -> Fraction:
        return Modular().sensitivity(problem) if self.halves == "modular" else problem.ideal

    def accuracy(self, problem: Problem) -> Fraction | None:
        return Fraction(0) if self.halves == "checked" else exact_if_it_fits(problem)

    def steps(self, problem: Problem) -> tuple[str, ...]:
        if self.halves != "checked":
            return ("split", self.halves)
        permute = ("permute",) if self._permutes(problem) else ()
        return (*permute, "split", "truncate", "checked")

    def modulus(self, problem: Problem) -> int | None:
        return Modular().modulus(problem) if self.halves == "modular" else None

    def model(self, problem: Problem) -> Fold:
        assert isinstance(problem.dtype, IntType)
        return modular(problem.dtype) if self.halves == "modular" else split_saturating(problem.dtype)

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        lower, upper = problem.lower, problem.upper
        if self.halves == "saturating":
            return Fraction(split_saturating_sum(data, lower, upper, missing=missing))
        if self.halves == "modular":
            return Fraction(modular_sum(data, lower, upper, missing=missing))
        negative, positive = (self.truncate_to_limit(problem, half) for half in by_sign(data))
        return Fraction(wide_sum(negative, lower, 0) + wide_sum(positive, 0, upper))

    def _permutes(self, problem: Problem) -> bool:
        return problem.relation == Relation.SYMMETRIC


METHODS.register(Split())
METHODS.register(Split("modular"))
METHODS.register(Split("checked"))
