"""Sensitivity from accuracy: floats added as floats, with a bound on the rounding (`sec:accuracy`).

If every computed sum is within a of the true one, neighbours' sums are within the ideal sensitivity plus 2 a. Each
subclass brings its a, which grows with the number of records: a public one, or the limit of a truncation. The sum may
also be done in a wider accumulator, whose shorter rounding then counts; and for unknown sizes and bounds of both signs
it may be split first, each half truncated and added on its own, so that truncation exchanges records of one sign.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from soundsum.kernels import FloatSum, float_sum
from soundsum.methods.method import (
    Method,
    bounds_of_type,
    by_sign,
    floats_only,
    limit_known,
    permutable,
    truncation_bound,
)
from soundsum.methods.problem import Problem
from soundsum.numbers.formatting import number
from soundsum.numbers.models import FLOAT_SUMS, Fold, Tree
from soundsum.numbers.types import FloatType, number_type
from soundsum.tables.records import Missing, Records
from soundsum.tables.relations import Relation


@dataclass(frozen=True)
class FromAccuracy(Method):
    accumulator: FloatType | None = None
    split: bool = False

    takes = FloatType
    adds_floats = True

    def __post_init__(self) -> None:
        if self.accumulator is not None:
            object.__setattr__(self, "accumulator", number_type(self.accumulator))

    @abstractmethod
    def error(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        """The most the sum of n records of at most `magnitude` can be off, in `kind`'s arithmetic; grows with n."""

    def reach(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        """The most any partial sum can be: within the error bound of a true one, which is within n M."""
        return n * magnitude + self.error(n, magnitude, kind)

    def unproved(self, n: int, kind: FloatType) -> list[str]:
        """Why the error bound is not proved for n records, if it is not."""
        return []

    @property
    def label(self) -> str:
        return f"split_{self.name}" if self.split else self.name

    def arithmetic(self, problem: Problem) -> FloatType:
        """The type every addition is rounded to."""
        return self.accumulator or cast(FloatType, problem.dtype)

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := floats_only(problem):
            return reasons
        reasons = bounds_of_type(problem) + limit_known(problem)
        kind = self.arithmetic(problem)
        if not kind.holds(cast(FloatType, problem.dtype)):
            reasons.append(f"{kind} as the accumulator does not hold every {problem.dtype}; use a wider float type")
        if self.split and (problem.relation.sized or problem.one_sign):
            reasons.append(f"is for unknown sizes and bounds of both signs; here use {self.name}")
        return reasons or self._within_limits(problem) + permutable(problem, problem.relation == Relation.SYMMETRIC)

    def _within_limits(self, problem: Problem) -> list[str]:
        n, kind = cast(int, problem.limit), self.arithmetic(problem)
        if reasons := self.unproved(n, kind):
            return reasons
        if self.reach(n, problem.magnitude, kind) > kind.max:
            return [f"{n:,} records of up to {problem.magnitude} may overflow {kind}; give tighter bounds, or use grid"]
        return []

    def accuracy(self, problem: Problem) -> Fraction | None:
        assert problem.limit is not None
        kind = self.arithmetic(problem)
        if not self.split:
            return self.error(problem.limit, problem.magnitude, kind)
        return sum(
            (self.error(problem.limit, abs(bound), kind) for bound in (problem.lower, problem.upper)), Fraction(0)
        )

    def sensitivity(self, problem: Problem) -> Fraction:
        if not problem.ideal:
            return Fraction(0)  # every record is the same constant
        assert problem.limit is not None
        n, kind = problem.limit, self.arithmetic(problem)
        if self.split:
            return max(abs(b) + 2 * self.error(n, abs(b), kind) for b in (problem.lower, problem.upper))
        relaxation = 2 * self.error(n, problem.magnitude, kind)
        if problem.relation.sized:
            return problem.spread + relaxation
        return truncation_bound(problem.magnitude + relaxation, problem.spread + relaxation)

    def steps(self, problem: Problem) -> tuple[str, ...]:
        if problem.relation.sized:
            return (self.name,)  # the bound on accuracy holds in any order
        permute = ("permute",) if problem.relation == Relation.SYMMETRIC else ()
        return (*permute, *(("split",) if self.split else ()), "truncate", self.name)

    def facts(self, problem: Problem) -> list[str]:
        n, kind = cast(int, problem.limit), self.arithmetic(problem)
        error = self.error(n, problem.magnitude, kind)
        return [
            f"n is at most {n:,} and each addition is rounded to {kind}, so a sum is off by at most {number(error)}",
            f"no partial sum is above {number(self.reach(n, problem.magnitude, kind))}, so none exceeds "
            f"{number(kind.max)}, the largest {kind}",
        ]

    def model(self, problem: Problem) -> Fold | Tree:
        return FLOAT_SUMS[self.name](self.arithmetic(problem))

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        halves = by_sign(data) if self.split else (data,)
        return sum((self._one(problem, self.truncate_to_limit(problem, half), missing) for half in halves), Fraction(0))

    def _one(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        total = float_sum(
            cast(FloatSum, self.name), data, problem.lower, problem.upper, accumulator=self.accumulator, missing=missing
        )
        return Fraction(total)  # finite: the overflow check is among the conditions
