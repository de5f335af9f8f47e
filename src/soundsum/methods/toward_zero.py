"""Split summation rounded toward zero: floats whose sums grow apart by at most an ulp of a bound (`sec:splitsumrp`).

Rounding toward zero never makes a sum larger, so two sums of one sign that meet the same records drift apart only when
one crosses a power of two, and those drifts telescope. Positive and negative records are added apart, each sum held at
the largest finite value, and joined by one ordinary addition. Orders are exchanged by a uniform secret permutation.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from soundsum.kernels import float_sum
from soundsum.methods.method import METHODS, Method, Theorem, bounds_of_type, floats_only, limit_known, permutable
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Fold, toward_zero
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.numbers.types import FloatType
from soundsum.tables.records import Missing, Records


@dataclass(frozen=True)
class TowardZero(Method):
    name = "toward_zero"
    theorem = Theorem(
        "toward_zero",
        "thrm:ord-toward-zero-known",
        "the sensitivity is at most 3 max(|L|, |U|) under insert_delete and 5 max(|L|, |U|) under hamming, and for "
        "records of one sign at most 2 max(|L|, |U|); after a random permutation the same "
        "holds under symmetric and change_one",
    )
    takes = FloatType
    adds_floats = True

    def unmet(self, problem: Problem) -> list[str]:
        if reasons := floats_only(problem):
            return reasons
        reasons = bounds_of_type(problem) + (limit_known(problem) if problem.relation.sized else [])
        return reasons + permutable(problem, not problem.relation.ordered)

    def sensitivity(self, problem: Problem) -> Fraction:
        if not problem.ideal:
            return Fraction(0)
        upper, lower = max(problem.upper, Fraction(0)), max(-problem.lower, Fraction(0))  # magnitudes of the two halves
        if not problem.relation.sized:
            drift = max(_power_below(upper) + upper, _power_below(lower) + lower)
            return drift if problem.one_sign else drift + max(_power_below(upper), _power_below(lower))
        drifts = [self._known_drift(problem, bound) for bound in (upper, lower)]
        if problem.one_sign:
            return problem.spread + max(drifts)
        return drifts[0] + upper + drifts[1] + lower + max(drifts)

    def _known_drift(self, problem: Problem, bound: Fraction) -> Fraction:
        """2^b with b = min(floor(log2 bound), floor(log2(n bound)) - k); 0 for a bound of 0."""
        assert problem.size is not None
        k = cast(FloatType, problem.dtype).k
        return min(_power_below(bound), _power_below(problem.size * bound) * power_of_two(-k))

    def accuracy(self, problem: Problem) -> Fraction | None:
        """Each of at most n - 1 additions loses less than 2^-k of its sum; the last, to nearest, at most u of it."""
        n, kind = problem.limit, cast(FloatType, problem.dtype)
        if n is None or n * problem.magnitude > kind.max:
            return None
        last = 0 if problem.one_sign else kind.unit_roundoff
        return ((n - 1) * 2 * kind.unit_roundoff + last) * n * problem.magnitude

    def steps(self, problem: Problem) -> tuple[str, ...]:
        return (self.name,) if problem.relation.ordered else ("permute", self.name)

    def facts(self, problem: Problem) -> list[str]:
        order = (
            "the order of records is public" if problem.relation.ordered else "the permutation is uniform and secret"
        )
        sign = (
            "the bounds have one sign, so the last addition does not round"
            if problem.one_sign
            else "the sums of positive and negative records are joined by one addition, rounded to nearest"
        )
        return [order, sign, f"each sum stops at {float(problem.dtype.max):g}, the largest finite {problem.dtype}"]

    def model(self, problem: Problem) -> Fold:
        return toward_zero(cast(FloatType, problem.dtype))

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        return Fraction(float_sum("toward_zero", data, problem.lower, problem.upper, missing=missing))


def _power_below(x: Fraction) -> Fraction:
    """The power of two at or below x; 0 for 0."""
    return power_of_two(floor_log2(x)) if x else Fraction(0)


METHODS.register(TowardZero())
