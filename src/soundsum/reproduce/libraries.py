"""The libraries the paper attacks, as models: how each added, which sensitivity it took, and how it drew its noise.

Read from the sources of the time (diffprivlib 0.5, Google's C++ library 1.x under PyDP, OpenDP 0.3/0.4, Chorus, PINQ).
They stand for the mechanisms as they were when the paper was written and say nothing of today's releases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from soundsum.kernels import float_sum
from soundsum.numbers import FloatType, from_double, int64
from soundsum.problem import Problem
from soundsum.reproduce.noises import FloatLaplace, GoogleMean, GridLaplace, IntegerLaplace, Mechanism
from soundsum.runs import Runs


def in_order(data: Runs, problem: Problem) -> Fraction:
    """One addition after another, in the records' own type."""
    return Fraction(float_sum("iterated", data, problem.lower, problem.upper))


def numpy_sum(data: Runs, problem: Problem) -> Fraction:
    """np.sum of the written-out array: blocks and pairs, not one after another."""
    clamped = data.clamp(problem.lower, problem.upper)
    return Fraction(from_double(float(np.sum(np.asarray(clamped)))))


@dataclass(frozen=True)
class Library:
    """How a library released a bounded sum of floats: `mechanism` takes the problem, n and epsilon."""

    name: str
    adds: str
    noise: str
    sized: bool | None  # None: it has a sum for either, and takes the relation's
    total: Callable[[Runs, Problem], Fraction]
    mechanism: Callable[[Problem, int, Fraction], Mechanism]

    def sensitivity(self, problem: Problem) -> Fraction:
        """The idealised one the library scaled its noise to."""
        if self.sized is None:
            return problem.ideal
        return problem.spread if self.sized else problem.magnitude


def _diffprivlib(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    kind = _float(problem)
    least, most = (Fraction(kind.round(bound * n)) for bound in (problem.lower, problem.upper))
    return FloatLaplace(problem.spread / epsilon, kind, least, most, four_uniforms=True)


def _google(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    return GridLaplace(problem.magnitude, epsilon)


def google_mean(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    return GoogleMean(problem.lower, problem.upper, n, epsilon)


def _opendp(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    return FloatLaplace(problem.ideal / epsilon, _float(problem))


def _chorus(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    return FloatLaplace(problem.spread / epsilon)


def _pinq(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    """PINQ clamps to [-1, 1] whatever the analyst knows, so its noise is for 1."""
    return FloatLaplace(1 / epsilon)


def _float(problem: Problem) -> FloatType:
    assert isinstance(problem.dtype, FloatType)
    return problem.dtype


GOOGLE = Library("Google DP", "in order, doubles", "geometric on a power-of-two grid", False, in_order, _google)
GOOGLE_MEAN = Library(
    "Google DP, mean", "in order, doubles", "grid noise on sum and count", True, in_order, google_mean
)
DIFFPRIVLIB = Library(
    "IBM diffprivlib", "np.sum", "Laplace of four uniforms, cut off at n L and n U", True, numpy_sum, _diffprivlib
)
OPENDP = Library("OpenDP / SmartNoise", "in order, own type", "Laplace in the records' type", None, in_order, _opendp)
CHORUS = Library("Chorus", "in order, by the database", "Laplace by inversion", True, in_order, _chorus)
PINQ = Library("PINQ", "in order, doubles", "Laplace by inversion, records in [-1, 1]", False, in_order, _pinq)


def diffprivlib_integers(lower: int, upper: int, n: int, epsilon: Fraction) -> IntegerLaplace:
    """The sum wraps in NumPy; the noise does not, and the result is cut off at n L and n U."""
    return IntegerLaplace(Fraction(upper - lower) / epsilon, n * lower, n * upper)


def google_integers(upper: int, epsilon: Fraction) -> IntegerLaplace:
    """Sum and noise are both 64-bit integers that wrap."""
    return IntegerLaplace(Fraction(upper) / epsilon, modulo=int64)
