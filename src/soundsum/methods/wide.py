"""Wide summation: integers added exactly, in an accumulator that cannot overflow.

128 bits hold any sum of fewer than 2^64 records of up to 64 bits, so the machine's sum is the mathematical one and has
its sensitivity under every relation. The default for integers.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.kernels import wide_sum
from soundsum.methods.method import METHODS, Method, Theorem, integers_only
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps, inward, steps_from_zero
from soundsum.numbers.formatting import bound
from soundsum.numbers.models import Fold, wide
from soundsum.numbers.types import IntType
from soundsum.tables.records import Missing, Records


@dataclass(frozen=True)
class Wide(Method):
    name = "wide"
    theorem = Theorem(
        "wide", "thrm:reals-sens", "the exact sum has sensitivity max(|L|, |U|), or U - L if the size is public"
    )
    takes = IntType
    adds_floats = False

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := integers_only(problem):
            return reasons
        reasons = []
        low, high = inward(problem)
        if low > high:
            bounds = f"[{bound(problem.lower)}, {bound(problem.upper)}]"
            reasons.append(f"no value of {problem.dtype} lies in {bounds}; widen the bounds")
        if problem.limit is not None and problem.limit >= 2**64:
            reasons.append(
                f"128 bits hold the sum of fewer than 2^64 records, and n may be {problem.limit:,}; sum in parts"
            )
        return reasons

    def sensitivity(self, problem: Problem) -> Fraction:
        low, high = inward(problem)
        return Fraction(high - low if problem.relation.sized else max(-low, high))

    def facts(self, problem: Problem) -> list[str]:
        low, high = inward(problem)
        return [f"records are clamped to [{low:,}, {high:,}] and added in 128 bits, which hold any such sum"]

    def model(self, problem: Problem) -> Fold:
        return wide()

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        low, high = inward(problem)
        return Fraction(wide_sum(data, low, high, missing=missing))

    @property
    def adds_up(self) -> bool:
        return True

    def record_steps(self, problem: Problem) -> RecordSteps:
        return steps_from_zero(problem)


METHODS.register(Wide())
