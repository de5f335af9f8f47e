"""Randomised rounding goes up with exactly the probability it should, record by record, on every grid of doubles.

A record is rounded by one 64-bit word and, where that is a draw, by `bernoulli`; both are given here, so what is tested
is the probability itself and not a sample of it.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.kernels import preparation
from soundsum.methods import OnGrid
from soundsum.numbers import models
from soundsum.numbers.grids import as_doubles, power_of_two_grid, stepped_grid
from soundsum.numbers.rationals import power_of_two
from soundsum.numbers.types import IntType, float64
from soundsum.tables.records import records

PARTS = [0, Fraction(1, 2), Fraction(1, 3), 1 - Fraction(1, 2**30), 1 - Fraction(1, 2**53), Fraction(7, 2**60)]
TINIEST = [float64.smallest_subnormal * i for i in (1, 3)] + [float64.smallest_normal, Fraction(1e-300)]


def doubles_near(grid):
    """Whole steps and parts of them, in and beyond the bounds, and the tiniest values, of either sign."""
    points = [grid.offset + (q + t) * grid.step for q in (-1, 0, 1, grid.low, grid.high) for t in PARTS]
    points += TINIEST + [grid.step / 2**bits for bits in (54, 64, 65, 1000)]
    rounded = [float64.round(sign * x) for x in points for sign in (1, -1)]
    return np.array([float(x) for x in rounded] + [math.nan, math.inf, -math.inf])


def rounded(grid, xs, words, draw, monkeypatch):
    """The integers that these words lead to, and what `bernoulli` was asked."""
    asked = []
    monkeypatch.setattr(preparation, "random_words", lambda n: np.array(words, dtype=np.uint64))
    monkeypatch.setattr(preparation, "bernoulli", lambda p: asked.append(p) or draw)
    column = preparation.grid_integers(records(xs), grid, IntType(64), randomised=True)
    return column.values.tolist(), asked


def assert_unbiased(grid, xs, monkeypatch):
    """Words below the first 64 bits of the probability go away from the base, words above do not, equal ones ask."""
    doubles = as_doubles(grid)
    base = Fraction(doubles.base)
    ys = [(Fraction(models.clean(x, grid.lower, grid.upper)) - base) / grid.step for x in xs.tolist()]
    chances = [abs(y) % 1 for y in ys]
    digits = [math.floor(chance * 2**64) for chance in chances]

    def expected(away):
        whole = [math.copysign(math.floor(abs(y)) + up, y) for y, up in zip(ys, away, strict=True)]
        return [max(grid.low, min(grid.high, int(q) + doubles.shift)) for q in whole]

    inside = [grid.lower <= x <= grid.upper for x in xs.tolist()]  # beyond them only the last clamp counts
    below = [max(d - 1, 0) for d in digits]
    assert rounded(grid, xs, below, False, monkeypatch)[0] == expected([d > 0 for d in digits])
    above = [d + 1 for d in digits]
    assert rounded(grid, xs, above, True, monkeypatch)[0] == expected([False] * len(xs))
    drawn, asked = rounded(grid, xs[inside], np.array(digits, dtype=np.uint64)[inside], True, monkeypatch)
    assert drawn == [q for q, known in zip(expected([True] * len(xs)), inside, strict=True) if known]
    assert asked == [chance * 2**64 % 1 for chance, known in zip(chances, inside, strict=True) if known]


BOUNDS_IN_STEPS = [(-3, 5, False), (-5, 0, True), (2, 7, False), (-6, -2, True)]


@pytest.mark.parametrize(
    "bounds", [BOUNDS_IN_STEPS[0], *(pytest.param(bounds, marks=pytest.mark.slow) for bounds in BOUNDS_IN_STEPS[1:])]
)
def test_every_power_of_two_as_step(bounds, monkeypatch):
    """Each step with one of the bounds, and a step of 1 with each."""
    lower, upper, sized = bounds
    for exponent in (0, *range(-1074 + BOUNDS_IN_STEPS.index(bounds), 1018, len(BOUNDS_IN_STEPS))):
        step = power_of_two(exponent)
        grid = stepped_grid(lower * step, upper * step, step, sized)
        assert_unbiased(grid, doubles_near(grid), monkeypatch)


@pytest.mark.parametrize("sized", [True, False])
@pytest.mark.parametrize(
    ("lower", "upper"),
    [
        (-1, 1),
        (0, 1000),
        (-0.1, 0.3),
        (1e300, 1.5e300),
        (-1e-300, 2e-300),
        (0.1, 0.1 + 1e-15),
        (-(2.0**52) - 9, -(2.0**52)),
    ],
)
def test_our_own_grid(lower, upper, sized, monkeypatch):
    grid = power_of_two_grid(float64, Fraction(lower), Fraction(upper), sized)
    assert_unbiased(grid, doubles_near(grid), monkeypatch)


def test_tiny_negative_records_stay_within_their_likely_accuracy():
    """Each of them once was a whole step below zero."""
    for record in (-1e-300, -5e-324, -(2.0**-54) * 2.0**-50, 1e-300):
        problem = ss.Problem("float64", -1, 1, max_size=10_000)
        method = OnGrid(rounding="randomised")
        total = method.sum(problem, np.full(10_000, record))
        assert abs(total - 10_000 * Fraction(record)) <= method.likely_accuracy(problem, 1 - 1e-6)
