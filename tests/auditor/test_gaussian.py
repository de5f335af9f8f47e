"""Gaussian noise: a sum that moves too far breaks (epsilon, delta) itself, or does not; a finding says which."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.attacks import attack
from soundsum.privacy.distributions import normal_delta
from tests.auditor import mechanisms as m

pytestmark = pytest.mark.usefixtures("same_draws")

PAIR = attack("rounding", "float32", relation="hamming", j=5)
PROMISE = {"dtype": "float32", "relation": "hamming", "epsilon": 1, "delta": "1e-5", "noise": "gaussian"}


def by_floats(multiplier, ratio, epsilon):
    """Balle and Wang's formula, in doubles."""
    x = ratio / multiplier

    def below(t):
        return math.erfc(-t / math.sqrt(2)) / 2

    return below(x / 2 - epsilon / x) - math.exp(epsilon) * below(-x / 2 - epsilon / x)


@pytest.mark.parametrize("multiplier", [0.5, 1, 3.73, 4.0625, 20])
@pytest.mark.parametrize("ratio", [0.9, 1, 1.06, 3, 32])
@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 3])
def test_delta_is_that_of_the_formula_and_never_above(multiplier, ratio, epsilon):
    known = by_floats(multiplier, ratio, epsilon)
    shown = normal_delta(Fraction(multiplier) ** 2, Fraction(ratio), Fraction(epsilon))
    assert shown == pytest.approx(known, rel=1e-8, abs=1e-15)
    # An event's own difference is never above delta, and delta is one event's: 60 digits leave nothing between them.
    assert shown <= Fraction(known) + Fraction(1, 10**13)


def test_delta_far_out_is_0_and_costs_nothing():
    assert normal_delta(Fraction(10**12), Fraction(1), Fraction(1)) == 0


def gaussian(ratio, multiplier=4, **options):
    """An iterated sum whose claim is so much too small on the pair."""
    claimed = PAIR.predicted / Fraction(ratio)
    return ss.Target(noiseless=m.iterated_sum, claimed=claimed, noise_multiplier=multiplier, **PROMISE, **options)


@pytest.mark.parametrize("ratio, breaks", [("1.05", False), ("1.07", False), ("1.08", True), ("32", True)])
def test_a_small_excess_is_no_break_of_epsilon_and_delta_and_a_larger_one_is(ratio, breaks):
    """Noise of 4 times the sensitivity has some room above (1, 1e-5): up to 1.073 times."""
    (finding,) = ss.audit(gaussian(ratio), [PAIR]).findings
    assert finding.verdict == ("VIOLATION_CERTIFIED" if breaks else "SENSITIVITY_EXCEEDED")
    assert finding.breaks_delta == breaks == (by_floats(4, float(ratio), 1) > 1e-5)
    assert finding.headline.startswith(f"the sum moves by {ratio} times the sensitivity used; ")
    said = "(1, 1e-05) does not hold" if breaks else "that alone does not show (1, 1e-05) broken"
    assert said in finding.headline
    plain = json.loads(json.dumps(finding.to_json()))
    assert plain["breaks_delta"] == breaks
    assert plain["delta_shown"] == pytest.approx(by_floats(4, float(ratio), 1))


def test_a_lower_bound_is_rounded_down():
    for ratio in ("32", "200"):
        (finding,) = ss.audit(gaussian(ratio), [PAIR]).findings
        assert Fraction("0.995") < finding.delta_shown < 1
        assert "delta is then at least 0.99:" in finding.headline


def test_nothing_is_said_of_delta_where_the_noise_is_not_known():
    for target in (gaussian(2, multiplier=None), replace(gaussian(2), noise="laplace")):
        (finding,) = ss.audit(target, [PAIR]).findings
        assert (finding.delta_shown, finding.breaks_delta) == (None, False)
        assert finding.headline == "the sum moves by 2 times the sensitivity used"


@pytest.mark.parametrize("ratio, verdict", [(1, "NOT_REFUTED"), (16, "VIOLATION_STATISTICAL")])
def test_runs_are_held_to_epsilon_and_delta(ratio, verdict):
    deviation = 4 * float(PAIR.predicted) / ratio

    def release(data, lower, upper, runs):
        return float(m.iterated_sum(data, lower, upper)) + np.random.default_rng().normal(0, deviation, runs)

    (finding,) = ss.audit(ss.Target(release=release, **PROMISE), [PAIR], runs=2000).findings
    assert finding.verdict == verdict
    assert ("at delta 1e-05, and 1 is promised" in finding.headline) == (ratio > 1)
