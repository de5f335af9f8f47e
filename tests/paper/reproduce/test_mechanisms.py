"""The models say with which probability an output reaches a threshold, and their draws agree."""

from decimal import Decimal
from fractions import Fraction
from math import exp, sqrt

import numpy as np
import pytest

from soundsum.numbers.types import IntType, float32, float64
from soundsum.paper.reproduce.mechanisms import (
    FloatLaplace,
    GoogleMean,
    GridLaplace,
    IntegerLaplace,
    discrete_laplace_at_least,
)
from soundsum.paper.reproduce.reproduction import privacy_loss

pytestmark = pytest.mark.usefixtures("same_draws")

ULP = Fraction(1, 2**48)
HALF = Fraction(1, 2)

CASES = [
    (FloatLaplace(Fraction(3)), Fraction(10), [Fraction(8), Fraction(10), Fraction(25, 2)]),
    (FloatLaplace(Fraction(3), four_uniforms=True), Fraction(10), [Fraction(8), Fraction(10), Fraction(25, 2)]),
    (FloatLaplace(Fraction(4), float32), Fraction(2**24), [Fraction(2**24 - 3), Fraction(2**24 + 6)]),
    (FloatLaplace(ULP / 2, lower=16 - ULP), Fraction(16), [16 - ULP, Fraction(16), 16 + 2 * ULP]),
    (GridLaplace(Fraction(1), Fraction(1)), Fraction(2**27), [Fraction(2**27), Fraction(2**27) + Fraction(3, 2)]),
    (GridLaplace(Fraction(1), Fraction(1), HALF), Fraction(5), [Fraction(4), Fraction(8)]),
    (IntegerLaplace(Fraction(2)), Fraction(7), [Fraction(6), Fraction(7), Fraction(10)]),
    (IntegerLaplace(Fraction(2), 5, 9), Fraction(7), [Fraction(5), Fraction(9), Fraction(10)]),
    (IntegerLaplace(Fraction(5), modulo=IntType(4)), Fraction(6), [Fraction(-8), Fraction(0), Fraction(7)]),
    (GoogleMean(Fraction(0), Fraction(1), 20, Fraction(2)), Fraction(11), [HALF, Fraction(5, 8)]),
]


@pytest.mark.parametrize("mechanism, total, thresholds", CASES)
def test_draws_reach_a_threshold_as_often_as_the_model_says(mechanism, total, thresholds):
    runs = 40_000
    outputs = mechanism.draw(total, runs, np.random.default_rng())
    for threshold in thresholds:
        limit = float(threshold)
        for p, reached in (
            (mechanism.at_least(total, threshold), outputs >= limit),
            (mechanism.above(total, threshold), outputs > limit),
        ):
            p = float(p)
            assert abs(np.count_nonzero(reached) - runs * p) <= 6.5 * sqrt(runs * p * (1 - p)) + 1e-6


def test_a_rounded_addition_hides_noise_below_half_an_ulp():
    ulp = float64.ulp(16)
    mechanism = FloatLaplace(ulp / 16)  # half an ulp is eight scales, as in the attack on diffprivlib
    assert float(mechanism.above(Fraction(16), Fraction(16))) == pytest.approx(exp(-8) / 2, rel=1e-12)
    assert float(mechanism.at_least(Fraction(16), Fraction(16))) == pytest.approx(1 - exp(-4) / 2, rel=1e-12)


def test_an_output_cut_off_at_a_bound_never_passes_it():
    mechanism = FloatLaplace(Fraction(1), lower=Fraction(3), upper=Fraction(5))
    assert mechanism.at_least(Fraction(0), Fraction(3)) == 1
    assert mechanism.above(Fraction(100), Fraction(5)) == 0


def test_googles_grid_is_the_power_of_two_at_or_above_its_share():
    assert GridLaplace(Fraction(1), Fraction(1)).granularity == Fraction(1, 2**40)
    assert GridLaplace(Fraction(3), Fraction(1)).granularity == Fraction(1, 2**38)


@pytest.mark.parametrize("steps", range(-3, 4))
def test_a_sum_half_way_between_two_floats_goes_to_the_even_one(steps):
    mechanism, total = GridLaplace(Fraction(1), Fraction(1)), Fraction(2**27)
    threshold = total + steps * float64.ulp(total)  # a multiple of the grid, and so are the ties beside it

    def reached(k):
        return float64.round(total + k * mechanism.granularity) >= threshold

    least = next(k for k in range(steps * 2**15 - 2**14 - 2, steps * 2**15 + 1) if reached(k))
    assert mechanism.at_least(total, threshold) == discrete_laplace_at_least(mechanism.rate, least)


def test_noise_that_wraps_keeps_epsilon_where_noise_that_does_not_fails():
    kind, epsilon = IntType(3), Fraction(1, 2)
    ends = Fraction(kind.max), Fraction(kind.min)
    thresholds = [Fraction(t) for t in range(kind.min, kind.max + 1)]

    def worst(mechanism):
        return max(privacy_loss(*(mechanism.at_least(total, t) for total in ends)) for t in thresholds)

    assert worst(IntegerLaplace(1 / epsilon, modulo=kind)) <= Decimal("0.5")
    assert worst(IntegerLaplace(1 / epsilon, kind.min, kind.max)) > Decimal("2.5")


@pytest.mark.parametrize("ratio", [1, 2, 33])
def test_noise_for_too_small_a_sensitivity_loses_more_than_epsilon(ratio):
    """The "only if" of `thrm:scale-laplace`: a sum that moves by r times the sensitivity taken loses r epsilon."""
    taken, epsilon = 5, Fraction(1, 2)
    mechanism = IntegerLaplace(Fraction(taken) / epsilon)
    sums = Fraction(0), Fraction(ratio * taken)
    losses = [
        privacy_loss(*(mechanism.above(total, Fraction(t)) for total in sums)) for t in range(-3, ratio * taken + 3)
    ]
    assert abs(Fraction(max(losses)) - ratio * epsilon) < Fraction(1, 10**30)
