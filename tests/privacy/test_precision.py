"""Every bound against the truth, computed with twice the digits by mpmath: on its side, and next to it."""

import math
import random
from fractions import Fraction

import mpmath
import pytest
from mpmath import mp, mpf

from soundsum.privacy import distributions
from soundsum.privacy.distributions import DOWN, SMALL, UP

mp.dps = 130
CLOSE = mpf(10) ** -50
"""What may be lost of the 60 digits that are kept."""


def number(x):
    x = Fraction(x)
    return mpf(x.numerator) / x.denominator


def rationals(seed, low, high, count=40):
    """Rationals whose digits do not end, between two floats, spread evenly over their logarithms."""
    drawn = random.Random(seed)
    spread = (low * (high / low) ** drawn.random() for _ in range(count))
    return [Fraction(x).limit_denominator(10**6) + Fraction(1, 3 ** drawn.randint(20, 40)) for x in spread]


def encloses(bounded, truth, *arguments, close=CLOSE):
    low, high = (number(Fraction(bounded(*arguments, bound))) for bound in (DOWN, UP))
    assert low <= truth <= high, arguments
    assert high - low < truth * close, arguments


def is_just_above(found, truth, close=CLOSE):
    assert truth <= number(found) < truth * (1 + close)


def normal_tail(x):
    return mpmath.erfc(x / mp.sqrt(2)) / 2


@pytest.mark.parametrize("low, high", [(0.001, 1), (1, 4.9), (5.1, 12), (12, 60)])
def test_normal_tails(low, high):
    for x, sigma2 in zip(rationals(low, low, high), rationals(high, 0.01, 1e6), strict=True):
        start = x * Fraction(math.sqrt(sigma2))
        truth = number(start) / mp.sqrt(number(sigma2))
        encloses(distributions._normal_tail, normal_tail(truth), start, sigma2)
        encloses(distributions._normal_tail, normal_tail(-truth), -start, sigma2)


@pytest.mark.parametrize("low, high", [(0.001, 1), (1, 5), (5, 60)])
def test_the_density_and_what_it_is_made_of(low, high):
    for x in rationals(low, low, high):
        for bound in (DOWN, UP):
            given = bound.of(x)
            truth = mp.exp(-(number(Fraction(given)) ** 2) / 2) / mp.sqrt(2 * mp.pi)
            encloses(distributions._density, truth, given)
        given = DOWN.of(x)
        encloses(lambda given, bound: bound.exp(given), mp.exp(number(Fraction(given))), given)
        encloses(lambda given, bound: bound.sqrt(given), mp.sqrt(number(Fraction(given))), given)
        if given > 1:
            encloses(lambda given, bound: bound.ln(given), mp.log(number(Fraction(given))), given)


@pytest.mark.parametrize("low, high", [(0.05, 2), (2, 300)])
def test_tails_of_a_small_discrete_gaussian(low, high):
    assert distributions.gaussian_tail(10, 3) == distributions.gaussian_tail(Fraction(10), 3)
    for sigma2 in rationals(low, low, high, 60):
        weights = [mp.exp(-mpf(z * z) / (2 * number(sigma2))) for z in range(math.ceil(26 * math.sqrt(sigma2)) + 2)]
        whole = 2 * mp.fsum(weights) - 1
        for t in (1, 2, math.ceil(math.sqrt(sigma2)), math.ceil(6 * math.sqrt(sigma2))):
            above = mp.fsum(weights[t:])
            encloses(distributions._sum_from, above, t, sigma2)
            encloses(distributions._at_least, above / whole, t, sigma2)
            encloses(distributions._at_least, 1 - above / whole, 1 - t, sigma2)
            is_just_above(distributions.gaussian_tail(sigma2, t), 2 * above / whole)


def test_tails_of_a_large_one_are_integrals():
    """From t - 1/2 beyond sigma, where the density is convex, and from t - 1 before."""
    assert distributions.gaussian_tail(2**20, 900) == distributions.gaussian_tail(Fraction(2**20), 900)
    is_just_above(distributions.gaussian_tail(Fraction(1001, 2) ** 2, 501), 2 * normal_tail(mpf(1)))
    for sigma2 in [Fraction(SMALL), *rationals("large", SMALL, 2.0**100, 100)]:
        sigma = mp.sqrt(number(sigma2))
        for factor in (0.1, 0.9, 1.1, 3, 8):
            t = math.ceil(factor * float(sigma))
            start = t - mpf(1) / 2 if factor > 1 else t - 1
            is_just_above(distributions.gaussian_tail(sigma2, t), 2 * normal_tail(start / sigma))


def test_laplace_tails():
    for scale in rationals("laplace", 0.05, 1e9) + rationals("small", 0.2, 2, 200):
        for t in (1, 2, math.ceil(scale), math.ceil(90 * scale)):
            truth = 2 * mp.exp(-t / number(scale)) / (1 + mp.exp(-1 / number(scale)))
            is_just_above(distributions.laplace_tail(scale, t), truth)


def test_the_ratio_of_a_discrete_laplace_is_rounded_down():
    for scale in rationals("ratio", 0.3, 1e4, 300):
        truth = 1 + mp.exp(-1 / number(scale))
        assert truth * (1 - mpf(10) ** -58) < number(distributions._one_and_ratio(scale)) < truth


def test_laplace_half_widths_are_enough_and_the_least():
    """Where a width falls short in the 95th digit one more is given; where it is enough in the 50th, it is given."""
    for scale in rationals("width", 0.3, 1e6, 400):
        for w in (0, 1, math.ceil(2.2 * scale), math.ceil(9 * scale)):
            beyond = 2 * mp.exp(-(w + 1) / number(scale)) / (1 + mp.exp(-1 / number(scale)))
            for nearly, width in ((1 - mpf(10) ** -95, w + 1), (1 + mpf(10) ** -50, w)):
                confidence = 1 - Fraction(str(mp.nstr(beyond * nearly, 120)))
                assert distributions.laplace_half_width(scale, confidence) == width


def shifted(sigma2, apart, epsilon):
    return epsilon * sigma2 / apart - Fraction(apart) / 2


def test_the_delta_of_normal_noise_is_rounded_down():
    for sigma2, epsilon in zip(rationals("one", 0.5, 1e4), rationals("two", 0.01, 9), strict=True):
        for apart in (Fraction(1, 3), Fraction(7, 3), 2 * Fraction(math.sqrt(sigma2))):
            a, sigma = number(shifted(sigma2, apart, epsilon)), mp.sqrt(number(sigma2))
            truth = normal_tail(a / sigma) - mp.exp(number(epsilon)) * normal_tail((a + number(apart)) / sigma)
            found = number(distributions.normal_delta(sigma2, apart, epsilon))
            if truth > mpf(10) ** -1000:
                assert truth * (1 - mpf(10) ** -45) < found <= truth


def test_and_so_it_is_at_a_large_epsilon():
    for epsilon, factor in zip(rationals("nine", 100, 900), rationals("ten", 0.9, 1.1), strict=True):
        sigma2 = factor * 800 / epsilon
        a, sigma = number(shifted(sigma2, 40, epsilon)), mp.sqrt(number(sigma2))
        truth = normal_tail(a / sigma) - mp.exp(number(epsilon)) * normal_tail((a + 40) / sigma)
        assert truth * (1 - mpf(10) ** -45) < number(distributions.normal_delta(sigma2, Fraction(40), epsilon)) <= truth


def small_delta(sigma2, Delta, epsilon):
    """By adding up, or None where it is too small to be told from what is not added."""
    reach = math.ceil(30 * math.sqrt(sigma2)) + 10 + Delta
    weights = {z: mp.exp(-mpf(z * z) / (2 * number(sigma2))) for z in range(-reach, reach + 1)}
    start = math.floor(shifted(sigma2, Delta, epsilon)) + 1
    gained = mp.fsum(weights[z] for z in range(max(start, -reach), reach + 1))
    lost = mp.fsum(weights.get(z, 0) for z in range(start + Delta, reach + 1))
    delta = (gained - mp.exp(number(epsilon)) * lost) / mp.fsum(weights.values())
    return delta if start + Delta < reach and delta > mpf(10) ** -100 else None


@pytest.mark.parametrize("most", [1, 10, 100])
def test_the_delta_of_a_small_discrete_gaussian_is_rounded_up(most):
    for sigma2, epsilon in zip(rationals(most, most / 10, most, 30), rationals("four", 0.01, 9, 30), strict=True):
        for Delta in (1, 3, 10):
            if truth := small_delta(sigma2, Delta, epsilon):
                is_just_above(distributions.gaussian_delta(sigma2, Delta, epsilon), truth, mpf(10) ** -40)


def test_so_it_is_at_a_large_epsilon():
    """Of which the last digits count for more."""
    for epsilon, factor in zip(rationals("seven", 100, 900), rationals("eight", 0.9, 1.1), strict=True):
        sigma2 = factor * 800 / epsilon
        if truth := small_delta(sigma2, 40, epsilon):
            is_just_above(distributions.gaussian_delta(sigma2, 40, epsilon), truth, mpf(10) ** -40)


def large_delta(sigma2, Delta, epsilon):
    """The integral, and the largest term over the sum of all."""
    start, sigma = number(shifted(Fraction(sigma2), Delta, Fraction(epsilon))), mp.sqrt(number(sigma2))
    integral = normal_tail(start / sigma) - mp.exp(number(epsilon)) * normal_tail((start + Delta) / sigma)
    largest = mp.exp(-(start**2) / (2 * sigma**2)) * min(1, Delta / (mp.e * start)) if start > 0 else mpf(1)
    return integral + largest / (sigma * mp.sqrt(2 * mp.pi))


@pytest.mark.parametrize("apart", [0, 0.2, 3])
def test_the_delta_of_a_large_one_is_its_integral_and_its_largest_term(apart):
    for sigma2, epsilon in zip([SMALL, *rationals(apart, SMALL, 2.0**80, 29)], rationals(6, 0.01, 9, 30), strict=True):
        Delta = math.ceil(apart * math.sqrt(sigma2)) or 1
        truth = large_delta(sigma2, Delta, epsilon)
        if truth > mpf(10) ** -1000:
            found = distributions.gaussian_delta(sigma2, Delta, epsilon)
            is_just_above(found, min(mpf(1), truth), mpf(10) ** -30)


@pytest.mark.parametrize("Delta, epsilon", [(2**11, 2), (1, Fraction(14, 10 * 2**20))])
def test_the_largest_term_where_it_is_at_zero_or_next_to_it(Delta, epsilon):
    is_just_above(distributions.gaussian_delta(2**20, Delta, epsilon), large_delta(2**20, Delta, epsilon))
