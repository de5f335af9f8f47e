"""NumPy's sum: the tree of additions that np.sum really does on an aligned one-dimensional float32 or float64 array.

Other calls (another axis, a cast, `where=`, float16, reduceat, einsum) add in other orders; the iterated bound holds
for any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import cast

from soundsum.kernels.preparation import clean_array, numpy_sum
from soundsum.methods.accuracy import FromAccuracy
from soundsum.methods.method import METHODS, Theorem
from soundsum.methods.pairwise import too_high, tree_error
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Tree, numpy_pairwise
from soundsum.numbers.types import FloatType, float32, float64
from soundsum.tables.records import Missing, Records


@cache
def height(n: int) -> int:
    """H(n): the height of NumPy's tree over n records."""
    if n < 8:
        return max(n - 1, 0)
    if n <= 128:
        return n // 8 + 2 + n % 8
    half = n // 2 - n // 2 % 8
    return 1 + max(height(half), height(n - half))


def safe_height(n: int) -> int:
    """At least the height of every tree of n records or fewer; H itself is not monotone (H(127) = 24, H(129) = 12)."""
    if n < 8:
        return max(n - 1, 0)
    if n <= 128:
        return 24
    return 25 + (-(-n // 128) - 1).bit_length()


@dataclass(frozen=True)
class NumpyPairwise(FromAccuracy):
    name = "numpy_pairwise"
    theorem = Theorem(
        "numpy_pairwise",
        "thrm:sens-upper-bounds",
        "the ideal sensitivity (of the sum that is truncated, where n is private) plus "
        "2 h u / (1 - h u) n max(|L|, |U|), with the height h of NumPy's tree and the unit roundoff u",
    )

    def unmet(self, problem: Problem) -> list[str]:
        if problem.dtype not in (float32, float64):
            return [f"np.sum adds {problem.dtype} in another order; use iterated, or grid"]
        if self.accumulator is not None:
            return ["np.sum with another dtype adds in another order; use iterated with the accumulator"]
        return super().unmet(problem)

    def error(self, n: int, magnitude: Fraction, kind: FloatType) -> Fraction:
        return tree_error(safe_height(n), n, magnitude, kind)

    def accuracy(self, problem: Problem) -> Fraction | None:
        if not problem.relation.sized:
            return super().accuracy(problem)
        assert problem.size is not None
        return tree_error(height(problem.size), problem.size, problem.magnitude, self.arithmetic(problem))

    def sensitivity(self, problem: Problem) -> Fraction:
        if not problem.relation.sized or not problem.ideal:
            return super().sensitivity(problem)
        return problem.spread + 2 * cast(Fraction, self.accuracy(problem))

    def unproved(self, n: int, kind: FloatType) -> list[str]:
        return too_high(safe_height(n), kind)

    def model(self, problem: Problem) -> Tree:
        return numpy_pairwise(self.arithmetic(problem))

    def _one(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        return numpy_sum(clean_array(data, problem.lower, problem.upper, missing=missing))


METHODS.register(NumpyPairwise())
METHODS.register(NumpyPairwise(split=True))
