"""The errata about floats summed as integers (`sec:floats2ints`): both statements computed side by side."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor

from soundsum.methods import OnGrid
from soundsum.methods.problem import Problem
from soundsum.numbers import models
from soundsum.numbers.grids import power_of_two_grid, stepped_grid
from soundsum.numbers.types import IntType, float64
from soundsum.paper.reproduce.reproduction import Check, Erratum


def of_grids() -> Iterator[Erratum]:
    x = Fraction(9, 10)
    part = x - floor(x)
    yield Erratum(
        "randomised rounding",
        "defn:rand-round-to-nearest-int",
        "down with probability x - floor(x), mean x",
        "up with probability x - floor(x)",
        Check(floor(x) * part + (floor(x) + 1) * (1 - part), "=", x),
        Check(floor(x) * (1 - part) + (floor(x) + 1) * part, "=", x),
        label="randomised-rounding",
    )
    n, m, U = 128, 12, Fraction(8)
    D = U * n / 2 ** (m - 2)  # as the theorem sets it; the offset is 0
    grid = stepped_grid(Fraction(0), U, D, sized=True)
    data = [D * 5 / 2] * n
    error = abs(grid.value(int(models.wide().sum(map(grid.integer, data))), n) - sum(data))
    yield Erratum(
        "the last accuracy theorem",
        "sec:floats2ints",
        "an error of at most D/n^k, the offset being 0",
        "at most D n/2",
        Check(error, "<=", D / n),
        Check(error, "<=", D * n / 2),
        label="accuracy",
    )
    yield _randomised(n, U, D)
    low, high = Fraction(1, 2**60), Fraction(1)
    ours = power_of_two_grid(float64, low, high, sized=True)
    yield Erratum(
        "the subtraction of the offset",
        "thm:accuracy2",
        "u - M is a float for every record u",
        "for an offset that is a multiple of the step",
        Check(Fraction(float64.round(high - low)), "=", high - low),
        Check(Fraction(float64.round(high - ours.offset)), "=", high - ours.offset),
        label="shift-exact",
    )
    yield from _room()


def _randomised(n: int, U: Fraction, D: Fraction) -> Erratum:
    """Records half way between two steps: the variance of their sum is n D^2/4 for every float type."""
    variance = n * D**2 / 4
    problem = Problem("float64", 0, U, "change_one", size=n)
    likely = OnGrid(step=D, rounding="randomised").likely_accuracy(problem, 0.99)
    assert likely is not None
    return Erratum(
        "the same, with randomised rounding",
        "sec:floats2ints",
        "of the order of D sqrt(n)/2^(k+1), the offset being 0",
        "of D sqrt(n): at most 1.7 of it in 99 of 100 runs, by Hoeffding",
        Check(variance, "<=", n * (D / 2 ** (float64.k + 1)) ** 2),
        Check(variance, "<=", likely**2),
        label="accuracy-randomised",
    )


def _room() -> Iterator[Erratum]:
    n, m, U = 1000, 32, Fraction(1)
    printed, introduced = U * n / 2 ** (m - 2), U * n / (2 ** (m - 2) - n)  # 6.7 and 1.8

    def reach(step: Fraction) -> int:
        return ceil(U / step) * n

    yield Erratum(
        "the room above n records",
        "thrm:overflow-unlikely",
        "2^(m-1) - K n > K n, with D = (U - M) n/2^(m-2)",
        "with the introduction's D, (U - L) n/(2^(m-2) - n)",
        Check(2 ** (m - 1) - reach(printed), ">", reach(printed)),
        Check(2 ** (m - 1) - reach(introduced), ">", reach(introduced)),
        label="overflow-room",
    )
    low, high = Fraction(9), Fraction(10)
    widest = max(high - low, abs(low), abs(high))
    remark, safe = high * n / 2**m, widest * n / (2 ** (m - 2) - n)
    yield Erratum(
        "D for private n",
        "thrm:overflow-unlikely",
        "(U - M) n_max/2^m, where M = 0, fits m bits",
        "W n_max/(2^(m-2) - n_max) does, with W = max(U - L, |L|, |U|)",
        Check(n * round(high / remark), "<=", IntType(m).max),
        Check(n * round(high / safe), "<=", IntType(m).max),
        label="grid-d",
    )
