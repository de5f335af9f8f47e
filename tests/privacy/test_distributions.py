"""Tails, half-widths and calibration: never to the unsafe side, and close to it."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import pytest

from soundsum.privacy import distributions
from soundsum.privacy.distributions import DOWN, PI, UP
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import Reason
from tests.refusing import refused

CONFIDENCES = [Fraction(1, 10), 0.5, "0.95", 0.999, Fraction(10**12 - 1, 10**12)]


def exp_between(x):
    """Bounds of exp(-x) for 0 <= x <= 1, in Fractions: neighbouring partial sums of an alternating series."""
    term, total, previous = Fraction(1), Fraction(1), Fraction(1)
    for k in range(1, 60):
        term *= -x / k
        previous, total = total, total + term
    return min(previous, total), max(previous, total)


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(1), Fraction(1, 10**9)])
def test_bounds_enclose_the_exponential_tightly(x):
    low, high = exp_between(x)
    assert Fraction(DOWN.exp(DOWN.of(-x))) <= low
    assert Fraction(UP.exp(UP.of(-x))) >= high
    assert Fraction(UP.exp(UP.of(-x))) - Fraction(DOWN.exp(DOWN.of(-x))) < Fraction(1, 10**58)
    assert DOWN.of(Fraction(1, 3)) < UP.of(Fraction(1, 3))
    assert DOWN.ln(Decimal(2)) < UP.ln(Decimal(2))
    root = Fraction(DOWN.sqrt(Decimal(2))), Fraction(UP.sqrt(Decimal(2)))
    assert root[0] ** 2 < 2 < root[1] ** 2


def test_lower_bounds_of_exponentials_and_roots_are_not_below_zero():
    assert DOWN.exp(Decimal("-1e40")) == DOWN.sqrt(Decimal(0)) == 0
    assert UP.exp(Decimal("-1e40")) > 0


def machin():
    """Pi to 130 digits, as 16 arctan(1/5) - 4 arctan(1/239)."""

    def arctan(n):
        return sum(Fraction((-1) ** k, (2 * k + 1) * n ** (2 * k + 1)) for k in range(100))

    return 16 * arctan(5) - 4 * arctan(239)


def test_pi():
    pi = machin()
    last = Fraction(1, 10 ** -PI.as_tuple().exponent)
    assert Fraction(PI) < pi - last / 10**6 < pi + last / 10**6 < Fraction(PI) + last


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(1000), Fraction(2**60, 3)])
def test_laplace_tail_and_half_width(scale):
    a = math.exp(-1 / scale)
    for t in (1, 2, 5, math.ceil(3 * scale)):
        tail = distributions.laplace_tail(scale, t)
        assert math.isclose(tail, 2 * math.exp(-t / scale) / (1 + a), rel_tol=1e-12)
    assert distributions.laplace_tail(scale, 0) == distributions.laplace_tail(scale, -5) == 1
    for confidence in CONFIDENCES:
        w = distributions.laplace_half_width(scale, confidence)
        beyond = 1 - Fraction(confidence)
        assert distributions.laplace_tail(scale, w + 1) <= beyond
        assert w == 0 or distributions.laplace_tail(scale, w) > beyond


def test_laplace_tail_is_rounded_up():
    low, high = exp_between(Fraction(1, 2))
    exact_at_least = 2 * low**3 / (1 + high)
    assert exact_at_least < distributions.laplace_tail(Fraction(2), 3) < exact_at_least * (1 + Fraction(1, 10**50))


def probabilities(sigma2, reach=3000):
    weights = {z: math.exp(-(z**2) / (2 * sigma2)) for z in range(-reach, reach + 1)}
    total = math.fsum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


@pytest.mark.parametrize("sigma2", [Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(100)])
def test_gaussian_tail_and_half_width(sigma2):
    p = probabilities(sigma2)
    for t in (1, 2, 3, 10, 30):
        truth = 2 * math.fsum(p[z] for z in range(t, 3000))
        assert math.isclose(distributions.gaussian_tail(sigma2, t), truth, rel_tol=1e-12, abs_tol=1e-300)
    assert distributions.gaussian_tail(sigma2, 0) == distributions.gaussian_tail(sigma2, -5) == 1
    for confidence in CONFIDENCES:
        w = distributions.gaussian_half_width(sigma2, confidence)
        beyond = 1 - Fraction(confidence)
        assert distributions.gaussian_tail(sigma2, w + 1) <= beyond
        assert w == 0 or distributions.gaussian_tail(sigma2, w) > beyond


def both(bounded, *arguments):
    return [Fraction(bounded(*arguments, bound)) for bound in (DOWN, UP)]


def test_upper_and_lower_tails_are_close():
    for sigma2 in (Fraction(1, 10), Fraction(7, 3), Fraction(400)):
        for t in (-20, -1, 0, 1, 5, 15):
            low, high = both(distributions._at_least, t, sigma2)
            assert 0 < high - low < low / 10**50
    for x in (0, Fraction(1, 7), 1, 3, Fraction(4999, 1000), 5, 9, 30):
        low, high = both(distributions._normal_tail, Fraction(x), Fraction(1))
        assert 0 < high - low < low / 10**45
        assert math.isclose(high, math.erfc(x / math.sqrt(2)) / 2, rel_tol=1e-12)
        assert math.isclose(distributions._normal_tail(-Fraction(x), Fraction(1), UP), 1 - high, rel_tol=1e-12)


@pytest.mark.parametrize("x", [1, 3, 4, 8, 10, 20])
def test_normal_tails_enclose_the_truth(x):
    """With twice the digits: phi(x) from the decimal module, and the rest in Fractions."""
    digits = decimal.Context(120)
    pi = machin()
    square = digits.multiply(Decimal(2), digits.divide(Decimal(pi.numerator), Decimal(pi.denominator)))
    density = Fraction(digits.divide(digits.exp(Decimal(-x * x) / 2), digits.sqrt(square)))
    if x < 5:
        term, total = Fraction(x), Fraction(0)
        for n in range(3, 400, 2):
            total, term = total + term, term * x * x / n
        truth = Fraction(1, 2) - density * total
    else:
        truth = density * mills_ratio(x)
    low, high = both(distributions._normal_tail, Fraction(x), Fraction(1))
    assert low < truth < high


def mills_ratio(x):
    below = Fraction(x)
    for k in range(400, 0, -1):
        below = x + k / below
    return 1 / below


@pytest.mark.parametrize("x", ["5", "5.3", "6", "7", "9.99", "15", "40", "1000"])
def test_mills_ratio_encloses_the_truth(x):
    low, high = both(distributions._mills_ratio, Decimal(x))
    assert low < mills_ratio(Fraction(x)) < high < low * (1 + Fraction(1, 10**50))


def test_what_is_too_small_to_add_up_is_still_bounded():
    low, high = both(distributions._sum_from, 50, Fraction(1, 10))
    assert low == 0 < high < Fraction(1, 10**2000)
    first = Fraction(decimal.Context(80).exp(Decimal(-12500)))
    assert first < high < first * (1 + Fraction(1, 10**50))


def test_an_epsilon_beyond_10_to_the_9_counts_as_that():
    just_below, just_enough = Fraction(1, 2 * 10**9 + 1), Fraction(1, 2 * 10**9)
    delta = distributions.gaussian_delta(just_below, 1, Fraction(10**9))
    assert distributions.gaussian_delta(just_below, 1, Fraction(10**12)) == delta > Fraction(3, 10)
    assert distributions.gaussian_delta(just_enough, 1, Fraction(10**9)) < Fraction(1, 10**1999)


def test_a_delta_too_small_to_tell_is_0_where_it_is_rounded_down():
    assert distributions.normal_delta(Fraction(1), Fraction(1), Fraction(1000)) == 0


def test_a_probability_is_1_at_most():
    assert distributions.gaussian_tail(Fraction(2**20), 1) == 1
    assert distributions.gaussian_delta(Fraction(2**16), 2**20, Fraction(1, 1000)) == 1


def test_series_and_continued_fraction_agree():
    """Where both converge, at 5, each bound of the one is on the right side of the other's."""
    x = Decimal(5)
    series, ratios, densities = (
        both(f, x) for f in (distributions._tail_by_series, distributions._mills_ratio, distributions._density)
    )
    fractions = [ratio * density for ratio, density in zip(ratios, densities, strict=True)]
    assert max(series[0], fractions[0]) < min(series[1], fractions[1])
    assert series[1] - series[0] < series[0] / 10**45


@pytest.mark.parametrize("sigma2", [Fraction(1000), Fraction(5000), Fraction(65535)])
def test_the_integral_is_above_the_series_and_close(monkeypatch, sigma2):
    """What stands in for the series of a large sigma, tried where the series can still be added up."""
    sigma = math.sqrt(sigma2)
    tails, deltas = (1, round(sigma / 2), round(sigma), round(3 * sigma), round(6 * sigma)), []
    for sensitivity in (1, round(sigma / 10), round(2 * sigma)):
        deltas += [(sensitivity, z * Fraction(sensitivity) / round(sigma)) for z in (Fraction(1, 10), 1, 3, 5)]
    by_series = [distributions.gaussian_tail(sigma2, t) for t in tails]
    delta_by_series = [distributions.gaussian_delta(sigma2, d, epsilon) for d, epsilon in deltas]
    widths = [distributions.gaussian_half_width(sigma2, c) for c in CONFIDENCES]
    monkeypatch.setattr(distributions, "SMALL", 0)
    distributions.gaussian_half_width.cache_clear()
    for t, series in zip(tails, by_series, strict=True):
        slack = Fraction(2) / round(sigma) if t <= sigma + 1 else (t / sigma2) ** 2
        assert series <= distributions.gaussian_tail(sigma2, t) < series * (1 + slack)
    for (d, epsilon), series in zip(deltas, delta_by_series, strict=True):
        slack = Fraction(6) / round(sigma) if series < Fraction(1, 100) else Fraction(1, 3)
        assert series <= distributions.gaussian_delta(sigma2, d, epsilon) < series * (1 + slack)
    for c, width in zip(CONFIDENCES, widths, strict=True):
        assert width <= distributions.gaussian_half_width(sigma2, c) <= width + 1
    distributions.gaussian_half_width.cache_clear()


@pytest.mark.parametrize(
    "sigma2, sensitivity, epsilon",
    [(10, 1, 1), (Fraction(1, 2), 1, 3), (50, 7, 1), (3, 20, 1), (100, 3, Fraction(1, 10)), (2, 2, Fraction(1, 100))],
)
def test_gaussian_delta_is_the_largest_over_all_changes(sigma2, sensitivity, epsilon):
    """By brute force: delta is the sum of what p has over e^epsilon times q, for every change up to the sensitivity."""
    p = probabilities(sigma2, reach=300)
    brute = {
        d: math.fsum(max(0.0, p[z] - math.exp(epsilon) * p.get(z + d, 0.0)) for z in p)
        for d in range(1, sensitivity + 1)
    }
    assert max(brute.values()) == brute[sensitivity]
    found = distributions.gaussian_delta(Fraction(sigma2), sensitivity, Fraction(epsilon))
    assert math.isclose(found, brute[sensitivity], rel_tol=1e-9)


@pytest.mark.parametrize(
    "sensitivity, epsilon, delta",
    [
        (1, Fraction(1), Fraction(1, 10**6)),
        (1, Fraction(1, 10), Fraction(1, 10**9)),
        (3, Fraction(20), Fraction(1, 10**6)),
        (2**51, Fraction(0.1), Fraction(1e-9)),
        (2**51, Fraction(10), Fraction(1, 10**30)),
        (1, Fraction(1, 10**4), Fraction(1, 10**9)),
        (1, Fraction(10**12), Fraction(1, 10**9)),
        (1, Fraction(1), Fraction(99, 100)),
    ],
)
def test_calibration_is_enough_and_not_much_more(sensitivity, epsilon, delta):
    sigma2 = distributions.gaussian_sigma2(sensitivity, epsilon, delta)
    assert distributions.gaussian_delta(sigma2, sensitivity, epsilon) <= delta
    assert distributions.gaussian_delta(sigma2 * Fraction(9999, 10000), sensitivity, epsilon) > delta
    if epsilon < 100:
        assert sigma2 < distributions.sigma2_for(sensitivity, zcdp_rho(epsilon, delta))
    p, q = sigma2.numerator, sigma2.denominator
    assert q & (q - 1) == 0
    assert (p // (p & -p)).bit_length() <= 16


@pytest.mark.parametrize("sensitivity, epsilon", [(1, Fraction(1)), (2, Fraction(3)), (3, Fraction(1, 2))])
def test_calibration_gives_the_least_of_16_bits(sensitivity, epsilon):
    for delta in (Fraction(1, 10**k) for k in (3, 4, 5, 7, 9)):
        sigma2 = distributions.gaussian_sigma2(sensitivity, epsilon, delta)
        unit = Fraction(2) ** (math.floor(math.log2(sigma2)) - 15)
        assert (sigma2 / unit).denominator == 1
        assert distributions.gaussian_delta(sigma2, sensitivity, epsilon) <= delta
        assert distributions.gaussian_delta(sigma2 - unit, sensitivity, epsilon) > delta


def test_calibration_of_a_large_sensitivity_is_that_of_the_continuous_gaussian():
    """Balle and Wang's value for sensitivity 1, epsilon 1 and delta 10^-5 is sigma = 3.7306."""
    sigma2 = distributions.gaussian_sigma2(2**40, Fraction(1), Fraction(1, 10**5))
    assert math.isclose(math.sqrt(sigma2) / 2**40, 3.73063, rel_tol=1e-4)


def test_a_vector_needs_more_than_its_length_as_one_integer():
    """A record that changes two entries, by 3 and 4, is not hidden like one that changes one by 5; by zCDP it is."""
    epsilon, delta = Fraction(4), Fraction(1, 10**6)
    by_zcdp = distributions.sigma2_for(5, zcdp_rho(epsilon, delta))
    for sigma2, hidden in ((distributions.gaussian_sigma2(5, epsilon, delta), False), (by_zcdp, True)):
        p = probabilities(sigma2, reach=60)
        spent = math.fsum(
            max(0.0, p[x] * p[y] - math.exp(epsilon) * p.get(x + 3, 0.0) * p.get(y + 4, 0.0)) for x in p for y in p
        )
        assert (spent <= delta) == hidden


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(50)])
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**40)])
def test_zcdp(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert distributions.sigma2_for(3, rho) == Fraction(9, 2) / rho
    assert distributions.gaussian_delta(distributions.sigma2_for(3, rho), 3, epsilon) <= delta


def test_far_tails_are_told_without_end():
    for tail in (distributions.laplace_tail(Fraction(1), 10**40), distributions.gaussian_tail(Fraction(1), 10**40)):
        assert 0 < tail < Fraction(1, 10**1999)
    assert 0 < distributions.gaussian_tail(Fraction(2**40), 10**40) < Fraction(1, 10**1999)
    assert distributions.gaussian_half_width(Fraction(1, 10**40), 0.999) == 0
    assert distributions.laplace_half_width(Fraction(2) ** 4096, 0.95) > 2 * 2**4096


WRONG_SHARES = [
    (0, Reason.TOO_SMALL),
    (-1, Reason.TOO_SMALL),
    (1, Reason.TOO_LARGE),
    (2, Reason.TOO_LARGE),
    (math.nan, Reason.NOT_A_NUMBER),
    (math.inf, Reason.NOT_A_NUMBER),
]


@pytest.mark.parametrize("bad, reason", WRONG_SHARES)
def test_wrong_confidences_and_deltas(bad, reason):
    with refused("confidence", reason, ValueError, given=str(bad)):
        distributions.laplace_half_width(Fraction(1), bad)
    with refused("confidence", reason, ValueError, given=str(bad)):
        distributions.gaussian_half_width(Fraction(1), bad)
    with refused("delta", reason, ValueError, given=str(bad)):
        distributions.gaussian_sigma2(1, Fraction(1), bad)


def test_a_confidence_is_a_number():
    for half_width in (distributions.laplace_half_width, distributions.gaussian_half_width):
        with refused("confidence", Reason.NOT_A_NUMBER, TypeError):
            half_width(Fraction(1), "x")


def test_wrong_sensitivities_and_budgets():
    for bad, reason in (
        (0, Reason.TOO_SMALL),
        (-1, Reason.TOO_SMALL),
        (Fraction(1, 2), Reason.NOT_WHOLE),
        (Fraction(3, 2), Reason.NOT_WHOLE),
    ):
        with refused("sensitivity", reason, ValueError, given=str(bad)):
            distributions.gaussian_delta(Fraction(1), bad, Fraction(1))
    sigma2, epsilon = Fraction(5), Fraction(1)
    assert distributions.gaussian_delta(sigma2, 2.0, epsilon) == distributions.gaussian_delta(sigma2, 2, epsilon)
    for bad, reason in ((0, Reason.TOO_SMALL), (-1, Reason.TOO_SMALL), (math.inf, Reason.NOT_A_NUMBER)):
        with refused("epsilon", reason, ValueError, given=str(bad)):
            distributions.gaussian_sigma2(1, bad, Fraction(1, 10))
        with refused("rho", reason, ValueError, given=str(bad)):
            distributions.sigma2_for(1, bad)


@pytest.mark.parametrize("sigma2, widths", [(Fraction(7), range(12)), (Fraction(10**6), (1000, 2000, 3001))])
def test_a_width_that_is_just_enough_is_taken(sigma2, widths):
    for width in widths:
        confidence = 1 - distributions.gaussian_tail(sigma2, width + 1)
        assert distributions.gaussian_half_width(sigma2, confidence) == width


@pytest.mark.parametrize("sigma2", [Fraction(16), Fraction(32), Fraction(40_001, 2048)])
def test_noise_that_is_just_enough_is_taken(sigma2):
    """A power of two is met on the way there, another number of 16 bits while the search closes in."""
    for epsilon in (Fraction(1, 2), Fraction(1)):
        assert distributions.gaussian_sigma2(1, epsilon, distributions.gaussian_delta(sigma2, 1, epsilon)) == sigma2
