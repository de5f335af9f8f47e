"""Composition by dp-accounting of costs fixed beforehand: on the safe side of the truth, and near it."""

import math
import sys
from fractions import Fraction
from itertools import product

import pytest
from dp_accounting.rdp import rdp_privacy_accountant as rdp

from soundsum.budget import Cost, zcdp_epsilon
from soundsum.budget.curves import together


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


def test_many_small_releases_cost_less_than_their_sum_and_than_zcdp_says():
    cost = together([Cost("0.1")] * 50, delta="1e-6")
    assert cost.epsilon < zcdp_epsilon(50 * Fraction(1, 200), Fraction(1, 10**6)) < 5
    assert together([Cost("0.1")], delta="1e-6") == Cost("0.1")
    assert together([Cost(1000)] * 3, delta="1e-6") == Cost(3000)


def test_the_conversion_from_zcdp_agrees_with_theirs():
    orders = [1 + x / 50 for x in range(1, 20000)]
    for rho in (0.001, 0.02, 0.5, 3):
        theirs, _ = rdp.compute_epsilon(orders, [rho * order for order in orders], 1e-6)
        assert theirs == pytest.approx(float(zcdp_epsilon(Fraction(rho), Fraction(1, 10**6))), rel=1e-3)


@pytest.mark.parametrize(
    "costs, delta, message",
    [
        ([Cost("0.1")], "1e-11", "give one from 1e-10, which floats still see, to below 1"),
        ([Cost("0.1")], 1, "give one from 1e-10, which floats still see, to below 1"),
        ([], "1e-6", "every cost needs an epsilon above 0"),
        ([Cost(rho=1)], "1e-6", r"add up to Cost\(rho=their sum\)"),
        ([Cost("0.1", "1e-6")] * 2, "1e-6", "deltas add up to 2e-06; give a larger one"),
    ],
)
def test_bad_input_is_one_line(costs, delta, message):
    with pytest.raises(ValueError, match=message):
        together(costs, delta)


def test_without_dp_accounting_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(ValueError, match=r"pip install 'soundsum\[accounting\]'"):
        together([Cost("0.1")] * 2, "1e-6")
