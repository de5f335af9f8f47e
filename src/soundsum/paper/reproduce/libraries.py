"""The libraries the paper attacks, as models: how each added, which sensitivity it took, and how it drew its noise.

Each names the files it was made from, at the commits the paper links to (`sec:ideal-sens-libraries`); Chorus and PINQ
are modelled from their papers. These are the mechanisms of the paper's time, not today's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from soundsum.kernels import float_sum
from soundsum.methods.problem import Problem
from soundsum.numbers.types import FloatType, from_double, int64
from soundsum.paper.reproduce.mechanisms import FloatLaplace, GoogleMean, GridLaplace, IntegerLaplace, Mechanism
from soundsum.tables.runs import Runs


def in_order(data: Runs, problem: Problem) -> Fraction:
    """One addition after another, in the records' own type."""
    return Fraction(float_sum("iterated", data, problem.lower, problem.upper))


def numpy_sum(data: Runs, problem: Problem) -> Fraction:
    """np.sum of the written-out array: blocks and pairs, not one after another."""
    clamped = data.clamp(problem.lower, problem.upper)
    return Fraction(from_double(float(np.sum(np.asarray(clamped)))))


def numpy_int32_sum(data: Runs, problem: Problem) -> Fraction:
    """np.sum with dtype=np.int32, which wraps; without the dtype NumPy adds 32-bit integers in 64 bits.

    diffprivlib passes its own dtype on, and takes geometric noise only where that is an integer type.
    """
    return Fraction(int(np.sum(np.asarray(data.clamp(problem.lower, problem.upper)), dtype=np.int32)))


@dataclass(frozen=True)
class Scaled:
    """A library's arithmetic, and the idealised sensitivity to which it scaled its noise."""

    name: str
    adds: str
    noise: str
    sized: bool | None  # None: it has a sum for either, and takes the relation's
    total: Callable[[Runs, Problem], Fraction]
    source: str

    def sensitivity(self, problem: Problem) -> Fraction:
        """The idealised one the library scaled its noise to."""
        if self.sized is None:
            return problem.ideal
        return problem.spread if self.sized else problem.magnitude


@dataclass(frozen=True)
class PaperLibrary(Scaled):
    """A library whose attack is carried out: `mechanism` takes the problem, n and epsilon."""

    mechanism: Callable[[Problem, int, Fraction], Mechanism]


def _diffprivlib(problem: Problem, n: int, epsilon: Fraction) -> Mechanism:
    kind = _float(problem)
    least, most = (Fraction(kind.round(bound * n)) for bound in (problem.lower, problem.upper))
    return FloatLaplace(problem.spread / epsilon, kind, least, most, four_uniforms=True)


def _float(problem: Problem) -> FloatType:
    assert isinstance(problem.dtype, FloatType)
    return problem.dtype


_CC = "google/differential-privacy, cc/algorithms"

GOOGLE = PaperLibrary(
    name="Google DP",
    adds="in order, doubles",
    noise="geometric on a power-of-two grid",
    sized=False,
    total=in_order,
    mechanism=lambda problem, n, epsilon: GridLaplace(problem.magnitude, epsilon),
    source=f"{_CC}/bounded-sum.h at f3e565a, numerical-mechanisms.h and distributions.cc",
)
GOOGLE_MEAN = PaperLibrary(
    name="Google DP, mean",
    adds="in order, doubles",
    noise="grid noise on sum and count",
    sized=True,
    total=in_order,
    mechanism=lambda problem, n, epsilon: GoogleMean(problem.lower, problem.upper, n, epsilon),
    source=f"{_CC}/bounded-mean.h at 4c867aa, numerical-mechanisms.h and distributions.cc",
)
DIFFPRIVLIB = PaperLibrary(
    name="IBM diffprivlib",
    adds="np.sum",
    noise="Laplace of four uniforms, cut off at n L and n U",
    sized=True,
    total=numpy_sum,
    mechanism=_diffprivlib,
    source="IBM/differential-privacy-library, diffprivlib/tools/utils.py at 90b319a (0.5), mechanisms/laplace.py",
)
OPENDP = PaperLibrary(
    name="OpenDP / SmartNoise",
    adds="in order, own type",
    noise="Laplace in the records' type",
    sized=None,
    total=in_order,
    mechanism=lambda problem, n, epsilon: FloatLaplace(problem.ideal / epsilon, _float(problem)),
    source="opendp/opendp, rust/opendp/src/trans/sum/mod.rs at 92b82ba, meas/laplace and samplers.rs",
)
CHORUS = PaperLibrary(
    name="Chorus",
    adds="in order, by the database",
    noise="Laplace by inversion",
    sized=True,
    total=in_order,
    mechanism=lambda problem, n, epsilon: FloatLaplace(problem.spread / epsilon),
    source="its paper (Johnson, Near, Hellerstein, Song 2020, section 3)",
)
PINQ = PaperLibrary(
    name="PINQ",
    adds="in order, doubles",
    noise="Laplace by inversion, records in [-1, 1]",
    sized=False,
    total=in_order,
    mechanism=lambda problem, n, epsilon: FloatLaplace(1 / epsilon),  # it always clamps to [-1, 1]
    source="its paper (McSherry 2009), NoisySum",
)
OPACUS = Scaled(
    name="Opacus",
    adds="taken as in order, in the gradients' own type",
    noise="Gaussian, for the clipping bound C",
    sized=False,
    total=in_order,
    source="pytorch/opacus, opacus/optimizers/optimizer.py at 6a3e9bd",
)
AIRAVAT = Scaled(
    name="Airavat",
    adds="in order, doubles, by the reducer",
    noise="Laplace, for the declared range",
    sized=False,
    total=in_order,
    source="its paper (Roy, Setty, Kilzer, Shmatikov, Witchel 2010, section 4.1)",
)


def diffprivlib_integers(lower: int, upper: int, n: int, epsilon: Fraction) -> IntegerLaplace:
    """The sum wraps in NumPy; the noise does not, and the result is cut off at n L and n U."""
    return IntegerLaplace(Fraction(upper - lower) / epsilon, n * lower, n * upper)


def google_integers(upper: int, epsilon: Fraction) -> IntegerLaplace:
    """Sum and noise are both 64-bit integers that wrap."""
    return IntegerLaplace(Fraction(upper) / epsilon, modulo=int64)
