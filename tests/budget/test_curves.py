"""Composition by dp-accounting of costs fixed beforehand: on the safe side of the truth, and near it."""

import math
import sys
from fractions import Fraction
from itertools import product

import pytest

from soundsum.budget import Cost, curves, zcdp_epsilon
from soundsum.budget.curves import together
from soundsum.refusals import Reason
from tests.refusing import refused


def true_delta(costs, epsilon):
    """The delta at epsilon of the worst mechanisms of these costs together, by adding up every outcome."""
    e = [float(cost.epsilon) for cost in costs]
    finite, delta = math.prod(1 - float(cost.delta) for cost in costs), 0.0
    for signs in product((1, -1), repeat=len(e)):
        loss = sum(sign * x for sign, x in zip(signs, e, strict=True))
        chance = math.prod(1 / (1 + math.exp(-sign * x)) for sign, x in zip(signs, e, strict=True))
        delta += chance * max(0.0, -math.expm1(epsilon - loss))
    return 1 - finite + finite * delta


PLANNED = {
    "alike": [Cost("0.1")] * 14,
    "different": [Cost(Fraction(k, 50)) for k in range(1, 15)],
    "with deltas": [Cost("0.2", "1e-5")] * 6 + [Cost("0.05", "2e-5")] * 6,
    "large": [Cost(3)] * 8,
}


@pytest.mark.parametrize("planned", PLANNED.values(), ids=PLANNED)
@pytest.mark.parametrize("delta", ["0.001", "0.05"])
def test_it_keeps_what_it_says_and_gives_little_away(planned, delta):
    cost = together(planned, delta)
    assert cost.delta in (0, Fraction(delta))
    assert true_delta(planned, float(cost.epsilon)) <= float(delta)
    if cost.delta:
        assert true_delta(planned, float(cost.epsilon) * 0.97) > float(delta)


def test_the_margin_is_a_thousandth_of_both():
    """dp-accounting is asked for a delta that much smaller, and its epsilon is taken to be that much larger."""
    from dp_accounting.pld import common  # takes long, and most workers do without
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_privacy_parameters(common.DifferentialPrivacyParameters(0.125, 0), 0.125 / 256)
    theirs = one.self_compose(40).get_epsilon_for_delta(1e-6 * 0.999)
    cost = together([Cost("1/8")] * 40, delta="1e-6")
    assert float(cost.epsilon) == pytest.approx(theirs * 1.001, rel=1e-9)


@pytest.mark.parametrize(
    "least, total, parts",
    [
        (0.5, 10.0, 256),
        (2.0**-12, 1.0, 256),
        (2.0**-13, 1.0, 128),
        (2.0**-19, 1.0, 2),
        (2.0**-20, 1.0, 1),
        (1.5 * 2**-20, 1.0, 1),
    ],
)
def test_the_least_epsilon_is_256_steps_unless_all_would_be_more_than_2_to_the_20(least, total, parts):
    assert curves._step(least, total) == least / parts


def test_a_step_is_the_finest_that_divides_the_least_epsilon_without_a_remainder():
    """Otherwise every loss is rounded up by part of a step, as many times as there are releases."""
    for k in range(1, 30):
        least = k / 997
        for most in range(1, 256):
            parts = least / curves._step(least, least * 2**20 / (most + 0.5))
            assert parts.is_integer()
            assert all(least / (least / finer) != finer for finer in range(int(parts) + 1, most + 1))


def test_a_step_is_chosen_by_the_least_epsilon_and_by_all_of_them(monkeypatch):
    asked, step = [], curves._step
    monkeypatch.setattr(curves, "_step", lambda *given: asked.append(given) or step(*given))
    together([Cost("1/8")] * 4 + [Cost("1/2")] * 2, delta="1e-6")
    assert asked == [(0.125, 1.5)]


def test_a_sum_of_epsilons_beyond_2_to_the_20_of_the_least_takes_longer_steps():
    assert curves._step(1e-9, 1.0) == 2.0**-20


@pytest.mark.parametrize("x", [Fraction(1, 3), Fraction(1, 10), Fraction(2, 3), Fraction(1), Fraction(1, 3**50)])
def test_epsilons_and_deltas_become_the_next_float_above(x):
    above = curves._above(x)
    assert Fraction(math.nextafter(above, 0)) < x <= Fraction(above)


def test_many_small_releases_cost_less_than_their_sum_and_than_zcdp_says():
    cost = together([Cost("0.1")] * 50, delta="1e-6")
    assert cost.epsilon < zcdp_epsilon(50 * Fraction(1, 200), Fraction(1, 10**6)) < 5
    assert together([Cost("0.1")], delta="1e-6") == Cost("0.1")
    assert together([Cost(1000)] * 3, delta="1e-6") == Cost(3000)
    assert together([Cost("0.1")], delta="1e-10") == Cost("0.1")


def test_the_conversion_from_zcdp_agrees_with_theirs():
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    orders = [1 + x / 50 for x in range(1, 20000)]
    for rho in (0.001, 0.02, 0.5, 3):
        theirs, _ = rdp.compute_epsilon(orders, [rho * order for order in orders], 1e-6)
        assert theirs == pytest.approx(float(zcdp_epsilon(Fraction(rho), Fraction(1, 10**6))), rel=1e-3)


@pytest.mark.parametrize(
    "costs, delta, option, reason, facts",
    [
        ([Cost("0.1")], "1e-11", "delta", Reason.TOO_SMALL, {"faintest": "1e-10"}),
        ([Cost("0.1")], 1, "delta", Reason.TOO_LARGE, {"faintest": "1e-10"}),
        ([], "1e-6", "costs", Reason.UNSUPPORTED, {}),
        ([Cost("0.1"), Cost(rho=1)], "1e-6", "costs", Reason.UNSUPPORTED, {}),
        ([Cost(rho=1)], "1e-6", "costs", Reason.UNSUPPORTED, {}),
        ([Cost("0.1", "1e-6")] * 2, "1e-6", "delta", Reason.TOO_SMALL, {"own": "2e-06"}),
        ([Cost("0.1", "1e-6")], "1e-6", "delta", Reason.TOO_SMALL, {"own": "1e-06"}),
    ],
)
def test_bad_input_is_refused(costs, delta, option, reason, facts):
    with refused(option, reason, ValueError, **facts):
        together(costs, delta)


def test_without_dp_accounting_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with refused(None, Reason.MISSING, ValueError):
        together([Cost("0.1")] * 2, "1e-6")
