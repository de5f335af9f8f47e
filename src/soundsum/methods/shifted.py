"""Shifted summation: subtract L first, for bounds far from zero and close together (`sec:shift-bounds`).

The subtraction is done in floats and clamped to [0, U'] with U' = fl(U - L), so the inner method sums records of that
small range. n L is added back exactly, after the noise, as post-processing; so the number of records must be public.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

from soundsum.kernels.preparation import shift_records
from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.iterated import Iterated
from soundsum.methods.kahan import Kahan
from soundsum.methods.method import METHODS, Method, Theorem, bounds_of_type, floats_only, limit_known
from soundsum.methods.numpy_pairwise import NumpyPairwise
from soundsum.methods.pairwise import Pairwise
from soundsum.methods.problem import Problem
from soundsum.methods.toward_zero import TowardZero
from soundsum.numbers.models import Fold, Tree
from soundsum.numbers.types import FloatType
from soundsum.tables.records import Missing, Records


@dataclass(frozen=True)
class Shifted(Method):
    inner: FromAccuracy | TowardZero = field(default_factory=Iterated)

    name = "shifted"
    theorem = Theorem(
        "shifted",
        "sec:shift-bounds",
        "if the size is public, the sensitivity of the inner method for records between 0 and U - L rounded to a float",
    )
    takes = FloatType
    adds_floats = True

    @property
    def label(self) -> str:
        return self.name if isinstance(self.inner, Iterated) else f"shifted_{self.inner.label}"

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := floats_only(problem):
            return reasons
        if not problem.relation.sized:
            return [f"adds n L back, and under {problem.relation} n is private; use grid"]
        if reasons := bounds_of_type(problem) + limit_known(problem):
            return reasons
        if not isinstance(_rounded_spread(problem), Fraction):
            return [f"U - L overflows {problem.dtype}; give tighter bounds, or use grid"]
        return self.inner.unmet(self.inner_problem(problem))

    def inner_problem(self, problem: Problem) -> Problem:
        """Records in [0, U']."""
        return Problem(problem.dtype, 0, _rounded_spread(problem), problem.relation, problem.size)

    def sensitivity(self, problem: Problem) -> Fraction:
        return self.inner.sensitivity(self.inner_problem(problem))

    def accuracy(self, problem: Problem) -> Fraction | None:
        """The inner accuracy, and for each record the rounding of its subtraction and the clamp to U'."""
        inner = self.inner.accuracy(self.inner_problem(problem))
        if inner is None:
            return None
        assert problem.size is not None
        kind = cast(FloatType, problem.dtype)
        return inner + problem.size * kind.unit_roundoff * problem.spread

    def steps(self, problem: Problem) -> tuple[str, ...]:
        permute, last = self.inner.steps(self.inner_problem(problem))[:-1], self.inner.label
        return (*permute, "shift", last)

    def model(self, problem: Problem) -> Fold | Tree:
        return self.inner.model(self.inner_problem(problem))

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        moved = shift_records(data, problem.lower, problem.upper)
        return self.inner.add(self.inner_problem(problem), moved, missing) + self.public_part(problem, data.size)

    def public_part(self, problem: Problem, n: int) -> Fraction:
        return n * problem.lower


def _rounded_spread(problem: Problem) -> Fraction | float:
    return cast(FloatType, problem.dtype).round(problem.spread)


for _inner in (Iterated(), Pairwise(), NumpyPairwise(), Kahan(), TowardZero()):
    METHODS.register(Shifted(_inner))
