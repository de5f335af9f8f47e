"""Intervals of a mean and a variance: the exact extremes over the box that the noises may have moved their sums in."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.methods.problem import Problem
from soundsum.methods.steps import steps_from_near
from soundsum.privacy.noises.laplace import Laplace
from soundsum.statistics.mean import MeanOfSums
from soundsum.statistics.variance import StdOfSums, VarianceOfSums, root

pytestmark = pytest.mark.usefixtures("same_draws")

STEPS = steps_from_near(Problem("int8", -2, 2))  # c = 2q is in [-4, 4]
W = STEPS.width


def variance(s, t, n):
    """In quarters of squared steps; the mean of squares is never above w^2."""
    return min(Fraction(t, n), Fraction(W**2)) - Fraction(s, n) ** 2


@pytest.mark.parametrize("seed", range(8))
def test_a_variance_is_bounded_by_what_it_is_somewhere_in_the_box(seed):
    rng = np.random.default_rng(seed)
    estimator = VarianceOfSums(STEPS, (Laplace(Fraction(1)),) * 3, None, Fraction(1))
    for _ in range(40):
        s, t, n = (int(x) for x in rng.integers([-40, -20, 1], [40, 120, 12]))
        ds, dt, dn = (int(x) for x in rng.integers(0, [8, 30, 6]))
        box = (s - ds, s + ds), (t - dt, t + dt), (n, n + dn)
        low, high = (4 * end for end in estimator.range(box[:2], box[2]))
        corners = itertools.product(range(s - ds, s + ds + 1), (t - dt, t + dt), range(n, n + dn + 1))
        held = [max(Fraction(0), min(Fraction(W**2), variance(*corner))) for corner in corners]
        assert low <= min(held)
        assert max(held) <= high
        assert low == min(held)  # at the ends of n, which are whole numbers
        between = [n + Fraction(i, 50) for i in range(50 * dn + 1)]  # where the most is need not be
        nearest = min(abs(s - ds), abs(s + ds)) if (s - ds) * (s + ds) > 0 else 0
        assert high - max(0, max(variance(nearest, t + dt, x) for x in between)) < Fraction(W**2, 8)


def test_a_variance_below_one_step_is_bounded_exactly():
    estimator = VarianceOfSums(STEPS, (Laplace(Fraction(1)),) * 3, None, Fraction(1))
    assert [4 * end for end in estimator.range(((0, 0), (1, 2)), (5, 5))] == [Fraction(1, 5), Fraction(2, 5)]


def test_a_root_is_rounded_to_its_side_and_exact_where_it_can_be():
    numbers = [Fraction(p, q) * s for p in range(1, 30) for q in range(1, 30) for s in (1, 10**40, Fraction(1, 10**40))]
    for x in numbers:
        low, high = root(x), root(x, is_up=True)
        assert low**2 <= x <= high**2
        assert high - low <= low / 2**62
    assert root(Fraction(0)) == root(Fraction(0), is_up=True) == 0
    assert root(Fraction(81, 64)) == root(Fraction(81, 64), is_up=True) == Fraction(9, 8)


def test_a_standard_deviation_is_the_root_of_the_variance_and_so_is_its_interval():
    of, root_of = (kind(STEPS, (Laplace(Fraction(9)),) * 3, None, Fraction(1)) for kind in (VarianceOfSums, StdOfSums))
    for noisy in itertools.product((-30, 0, 7, 40), (-5, 0, 60, 300, 10**6), (-2, 1, 9, 50)):
        assert root_of.exact(noisy) == root(of.exact(noisy))
        (low, high), (v_low, v_high) = root_of.interval(noisy, 0.95), of.interval(noisy, 0.95)
        assert low**2 <= v_low <= v_high <= high**2
        assert root_of.limits[0] <= low <= root_of.exact(noisy) <= high <= root_of.limits[1]
    assert root_of.limits[1] ** 2 == of.limits[1]
    assert root_of.limits == (0, 2)  # half the records at -2 and half at 2


def test_the_point_estimate_is_the_quotient():
    estimator = VarianceOfSums(STEPS, (Laplace(Fraction(1)),) * 3, None, Fraction(1))
    assert 4 * estimator.exact((6, 40, 5)) == variance(6, 40, 5)
    assert estimator.exact((6, -40, 5)) == 0
    assert 4 * estimator.exact((0, 10**6, 5)) == W**2


@pytest.mark.parametrize("kind", [MeanOfSums, VarianceOfSums, StdOfSums])
@pytest.mark.parametrize("n", [20, 2000])
def test_intervals_cover_at_least_as_often_as_they_say(kind, n):
    """They cover more often than asked, as docs/theorems/statistics.md says."""
    rng = np.random.default_rng()
    c = rng.choice([-4, -2, -2, 0], n)
    sums = (int(c.sum()), n) if kind is MeanOfSums else (int(c.sum()), int((c**2).sum()), n)
    scales = (W, 1) if kind is MeanOfSums else (W, W**2, 1)
    noises = tuple(Laplace(Fraction(len(scales) * scale)) for scale in scales)
    estimator = kind(STEPS, noises, None, Fraction(1))
    truth, runs = estimator.exact(sums), 2000
    drawn = zip(*(noise.draw(runs) for noise in noises), strict=True)
    ends = [estimator.interval(tuple(a + z for a, z in zip(sums, zs, strict=True)), 0.9) for zs in drawn]
    covered = sum(low <= truth <= high for low, high in ends)
    assert covered >= 0.9 * runs - 60  # over 4 standard deviations below


def test_off_the_middle_sums_and_count_are_bounded_together():
    """One n goes into both quotients; each over its own n, the interval was a fifth wider here."""
    rng = np.random.default_rng()
    data = np.clip(rng.lognormal(3, 0.4, 3000), 0, 100)
    release = ss.variance(data, 0, 100, epsilon=1)
    estimator, noisy = release.estimator, release.noisy
    (s0, s1), (t0, t1), (n0, n1) = ((m - w, m + w) for m, w in zip(noisy, estimator._widths(0.95), strict=True))
    quotients = [Fraction(s, n) for s in (s0, s1) for n in (n0, n1)]
    apart = Fraction(t1, n0) - min(q**2 for q in quotients) - (Fraction(t0, n1) - max(q**2 for q in quotients))
    unit = (estimator.records.step**2) / 4
    low, high = estimator.interval(noisy, 0.95)
    assert 0 < high - low < Fraction(9, 10) * apart * unit
