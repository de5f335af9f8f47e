"""The statistics: figures that are known, and rates of false alarms on mechanisms that just keep their promise."""

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import soundsum as ss
from soundsum.auditor.evidence import Evidence, average, detectable, e_holm, log_factors, project
from soundsum.numbers.event_counts import (
    Counts,
    Promise,
    epsilon_at_least,
    interval,
    log_at_least,
    log_at_most,
    log_likelihood,
    p_value,
)
from soundsum.paper.reproduce.counts import likelihood

pytestmark = pytest.mark.usefixtures("same_draws")

ONE = Promise(1.0)


def binomial(n, x, p):
    return math.comb(n, x) * p**x * (1 - p) ** (n - x)


def test_tails_are_those_of_the_binomial_and_do_not_vanish():
    for n, x, p in product([1, 7, 30], range(8), [0.01, 0.3, 0.9]):
        if x <= n:
            assert math.exp(log_at_least(n, x, p)) == pytest.approx(sum(binomial(n, k, p) for k in range(x, n + 1)))
            assert math.exp(log_at_most(n, x, p)) == pytest.approx(sum(binomial(n, k, p) for k in range(x + 1)))
    assert log_at_least(5000, 5000, 0.1) == pytest.approx(5000 * math.log(0.1))  # scipy says -inf


def test_the_papers_figure_is_the_reproductions():
    for n, x, y in ((10, 9, 0), (10, 7, 2), (40, 31, 3)):
        ours = math.exp(log_likelihood(Counts(x, n, y, n), ONE))
        assert ours == pytest.approx(float(likelihood(Fraction(1), n, x, y)), rel=1e-9)
    assert round(math.exp(log_likelihood(Counts(9, 10, 0, 10), ONE)), 4) == 0.0089
    for n in (1, 5, 20):
        assert math.exp(log_likelihood(Counts(n, n, 0, n), ONE)) == pytest.approx((math.e / (1 + math.e)) ** (2 * n))


def test_the_likelihood_itself_is_no_p_value_and_what_is_made_of_it_is_one():
    """At a frontier point with n = 10, epsilon 1, rejecting at Q <= 0.05 errs more often than that."""
    n, p = 10, math.e / (1 + math.e)
    tables = [(x, y, binomial(n, x, p) * binomial(n, y, 1 - p)) for x in range(n + 1) for y in range(n + 1)]
    by_q = sum(chance for x, y, chance in tables if log_likelihood(Counts(x, n, y, n), ONE) <= math.log(0.05))
    assert by_q > 0.05
    for level in (0.05, 0.2, 0.5):
        errs = sum(chance for x, y, chance in tables if p_value(Counts(x, n, y, n), ONE) <= Decimal(level))
        assert errs <= level


def test_p_values_know_distances_and_delta():
    table = Counts(80, 100, 20, 100)
    assert p_value(table, Promise(0.5)) < p_value(table, ONE) < p_value(table, Promise(2.0)) == 1
    assert p_value(table, Promise(1.0, 0.2)) > p_value(table, ONE)
    assert p_value(table.turned(), ONE) == p_value(table, ONE)
    assert Promise.at(Fraction(1), Fraction(1, 100), 2).delta == pytest.approx(0.01 * (1 + math.e))


@pytest.mark.slow
def test_clopper_pearson_is_the_known_interval_and_its_epsilon_covers():
    assert interval(20, 0, 0.025) == (0.0, pytest.approx(0.16843, abs=1e-4))
    rng, n, epsilon = np.random.default_rng(5), 200, 1.0
    p = math.e / (1 + math.e)
    wrong = sum(
        epsilon_at_least(Counts(int(rng.binomial(n, p)), n, int(rng.binomial(n, 1 - p)), n), 0, 0.1) > epsilon
        for _ in range(400)
    )
    assert wrong <= 400 * 0.1


def nearest_by_grid(p, q, promise):
    """The projection, found by trying every point of a grid."""
    side = np.linspace(0.001, 0.999, 400)
    a, b = np.meshgrid(side, side, indexing="ij")
    E, delta = promise.factor, promise.delta
    inside = (
        (a <= E * b + delta) & (b <= E * a + delta) & (1 - a <= E * (1 - b) + delta) & (1 - b <= E * (1 - a) + delta)
    )
    divergence = (
        p * np.log(p / a)
        + (1 - p) * np.log((1 - p) / (1 - a))
        + q * np.log(q / b)
        + (1 - q) * np.log((1 - q) / (1 - b))
    )
    return np.where(inside, divergence, np.inf).min()


@pytest.mark.parametrize("promise", [Promise(1.0), Promise(0.2), Promise(1.0, 0.05), Promise(0.0)])
def test_projections_are_the_nearest_points(promise):
    rng = np.random.default_rng(3)
    for p, q in rng.uniform(0.02, 0.98, (12, 2)):
        p0, q0 = (float(x[0]) for x in project(np.array([p]), np.array([q]), promise))
        found = sum(a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b)) for a, b in ((p, p0), (q, q0)))
        assert promise.factor * q0 + promise.delta >= p0 - 1e-9
        assert found <= nearest_by_grid(p, q, promise) + 1e-9 if promise.epsilon else found >= 0
        assert found >= nearest_by_grid(p, q, promise) - 2e-2 if promise.epsilon else True


@pytest.mark.parametrize("promise", [Promise(1.0), Promise(0.3), Promise(0.5, 0.1)])
def test_every_factor_has_expectation_at_most_one_at_every_private_point(promise):
    """Over the frontier, exactly: the four outcomes of a pair, for estimates anywhere."""
    rng = np.random.default_rng(11)
    E, delta = promise.factor, promise.delta
    for t in np.linspace(0, promise.kink, 15):
        for p, q in ((E * t + delta, t), (1 - t, 1 - E * t - delta), (t, E * t + delta)):
            for pairs, x, y in rng.integers(0, 30, (8, 3)):
                pairs = int(max(pairs, x, y))
                total = 0.0
                for left, right in product([True, False], repeat=2):
                    chance = (p if left else 1 - p) * (q if right else 1 - q)
                    factor = log_factors(np.array([left]), np.array([right]), promise, (pairs, int(x), int(y)))
                    total += chance * math.exp(float(factor[0]))
                assert total <= 1


def alarms(left, right, promise, alpha):
    """In how many audits, one a row, the evidence ever reaches 1/alpha."""
    paths = np.cumsum(log_factors(left, right, promise), axis=1)
    return int((paths.max(axis=1) >= -math.log(alpha)).sum())


def most_allowed(audits, alpha):
    """A count that so many audits with this rate stay below, but for one time in 10^6."""
    return next(x for x in range(audits + 1) if log_at_least(audits, x, alpha) < math.log(1e-6))


def randomised_response(rng, shape):
    p = math.e / (1 + math.e)
    return rng.random(shape) < p, rng.random(shape) < 1 - p


def discrete_laplace(rng, shape):
    """Exact discrete Laplace for sensitivity 3 on sums 3 apart, at the most telling threshold."""
    rate = 1.0 / 3
    draw = lambda: rng.geometric(1 - math.exp(-rate), shape) - rng.geometric(1 - math.exp(-rate), shape)  # noqa: E731
    return 3 + draw() >= 3, draw() >= 3


@pytest.mark.parametrize("mechanism", [randomised_response, discrete_laplace])
def test_false_alarms_at_the_boundary_stay_below_their_rate(mechanism):
    audits, pairs = 4000, 400
    left, right = mechanism(np.random.default_rng(), (audits, pairs))
    for alpha in (0.05, 0.01):
        assert alarms(left, right, ONE, alpha) < most_allowed(audits, alpha)
    assert alarms(left, right, ONE, 1e-6) == 0


def test_false_alarms_are_counted_by_this_test():
    """The same count for a mechanism just over its promise: alarms there are."""
    rng, p = np.random.default_rng(), math.exp(1.3) / (1 + math.exp(1.3))
    left, right = rng.random((400, 2000)) < p, rng.random((400, 2000)) < 1 - p
    assert alarms(left, right, ONE, 0.01) > most_allowed(400, 0.01)


def test_three_times_the_sensitivity_is_seen_in_few_pairs():
    rng, p = np.random.default_rng(), 1 - math.exp(-1.5) / 2
    left, right = rng.random((500, 400)) < p, rng.random((500, 400)) < 1 - p
    paths = np.cumsum(log_factors(left, right, ONE), axis=1)
    assert np.median(np.argmax(paths >= math.log(1000), axis=1) + 1) < 120


def test_evidence_in_batches_is_evidence_at_once_and_stops_where_it_is_enough():
    rng = np.random.default_rng(8)
    left, right = rng.random(300) < 0.9, rng.random(300) < 0.1
    whole, parts = Evidence([ONE], 6.0), Evidence([ONE], 6.0)
    whole.add(left, right, (0, 0, 0))
    for start in range(0, 300, 37):
        seen = (start, int(left[:start].sum()), int(right[:start].sum()))
        parts.add(left[start : start + 37], right[start : start + 37], seen)
    assert whole.stopped == parts.stopped < 300
    assert whole.log_e == pytest.approx(parts.log_e)
    assert 6.0 <= whole.log_e < 8.0  # where it crossed, not where it went


def test_the_bound_on_epsilon_is_the_largest_whose_smaller_ones_were_all_refuted():
    grid = [Promise(e) for e in (0.0, 0.5, 1.0, 2.0)]
    evidence = Evidence(grid)
    evidence.reached = np.array([20.0, 20.0, 1.0, 20.0])
    assert evidence.epsilon_at_least(1e-6) == 0.5
    evidence.reached = np.zeros(4)
    assert evidence.epsilon_at_least(1e-6) == 0.0


def test_e_holm_names_no_more_than_it_may():
    """Of two e-values the larger counts in full only where the smaller one does not pull it down."""
    assert e_holm([math.log(50)]) == [math.log(50)]
    logs = [math.log(x) for x in (0.5, 300.0, 1.0)]
    adjusted = [math.exp(x) for x in e_holm(logs)]
    assert adjusted == pytest.approx([0.5, 301.5 / 3, 0.75])
    assert math.exp(average(logs)) == pytest.approx(301.5 / 3)


def test_what_could_have_been_detected_is_detected_about_half_the_time():
    pairs, enough = 400, math.log(1e4)
    epsilon = detectable(pairs, ONE, enough)
    rng, p = np.random.default_rng(2), 1 / (1 + math.exp(-epsilon))
    left, right = rng.random((300, pairs)) < p, rng.random((300, pairs)) < 1 - p
    seen = (np.cumsum(log_factors(left, right, ONE), axis=1).max(axis=1) >= enough).mean()
    assert 0.3 < seen <= 0.97
    assert detectable(2, ONE, enough) == math.inf


@pytest.mark.slow
def test_false_alarms_stay_below_their_rate_with_events_that_are_learned():
    """Whole audits of exact discrete Laplace noise for the claimed sensitivity: the event is chosen on the way."""
    rng = np.random.default_rng()
    a = math.exp(-1 / 4)

    def release(data, runs):
        return float(np.sum(data)) + rng.geometric(1 - a, runs) - rng.geometric(1 - a, runs)

    box = ss.Target(release=release, dtype="float64", relation="hamming", bounds=(0, 4))
    pair = replace(
        ss.attack("rounding", "float64", relation="hamming"),
        left=ss.Runs("float64", [(4, 1)]),
        right=ss.Runs("float64", [(0, 1)]),
        problem=ss.Problem("float64", 0, 4, "hamming", 1),
        totals=(Fraction(4), Fraction(0)),
    )
    audits, alarms = 100, 0
    for _ in range(audits):
        (finding,) = ss.audit(box, [pair], runs=400, alpha=0.05, seconds=600).findings
        alarms += finding.verdict.violation
    assert alarms < most_allowed(audits, 0.05)
