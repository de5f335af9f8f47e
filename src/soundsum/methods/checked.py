"""Checked summation: the integer type's own addition, allowed only where it cannot overflow (`sec:61ints`).

If n U and n L fit the type, so does every partial sum, and the machine's sum is the mathematical one. The check is on
the public bounds and size alone. Of unknown size, the records are truncated first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from soundsum.kernels import wide_sum
from soundsum.methods.method import (
    METHODS,
    Method,
    Theorem,
    bounds_of_type,
    integers_only,
    limit_known,
    permutable,
    truncation_bound,
)
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Fold, modular
from soundsum.numbers.types import IntType
from soundsum.tables.records import Missing, Records
from soundsum.tables.relations import Relation


@dataclass(frozen=True)
class Checked(Method):
    name = "checked"
    theorem = Theorem(
        "checked",
        "thrm:checked-arith-known",
        "the sensitivity is U - L if the size n is public and n L and n U fit the type; truncated to n records, it is "
        "max(|L|, |U|, U - L)",
    )
    takes = IntType
    adds_floats = False

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := integers_only(problem):
            return reasons
        reasons = bounds_of_type(problem) + limit_known(problem)
        return reasons or fits(problem) + permutable(problem, problem.relation == Relation.SYMMETRIC)

    def sensitivity(self, problem: Problem) -> Fraction:
        if problem.relation.sized:
            return problem.spread
        return truncation_bound(problem.magnitude, problem.spread)

    def steps(self, problem: Problem) -> tuple[str, ...]:
        permute = ("permute",) if problem.relation == Relation.SYMMETRIC else ()
        truncate = () if problem.relation.sized else ("truncate",)
        return (*permute, *truncate, self.name)

    def facts(self, problem: Problem) -> list[str]:
        n, kind = cast(int, problem.limit), problem.dtype
        return [
            f"n U = {n * int(problem.upper):,} is at most {kind.max:,}, the largest {kind}",
            f"n L = {n * int(problem.lower):,} is at least {kind.min:,}, the smallest",
        ]

    def model(self, problem: Problem) -> Fold:
        assert isinstance(problem.dtype, IntType)
        return modular(problem.dtype)  # or saturating: where the check holds, no addition overflows

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        data = self.truncate_to_limit(problem, data)
        return Fraction(wide_sum(data, problem.lower, problem.upper, missing=missing))


def fits(problem: Problem) -> list[str]:
    """The check itself, in integers of unlimited size."""
    kind, n = problem.dtype, problem.limit
    assert isinstance(kind, IntType)
    assert n is not None
    largest, least = n * problem.upper, n * problem.lower
    if largest <= kind.max and least >= kind.min:
        return []
    limits = [kind.max // problem.upper] if problem.upper > 0 else []
    limits += [kind.min // problem.lower] if problem.lower < 0 else []
    return [
        f"n times a bound leaves {kind}; it holds {min(limits):,} such records at most: give a smaller n, or use wide"
    ]


METHODS.register(Checked())
