"""What costs add up to, exactly, and that no way of choosing them after seeing releases breaks the promise."""

import math
import os
import pickle
from decimal import Decimal
from fractions import Fraction
from functools import cache

import pytest

from soundsum.budget import Budget, BudgetExceeded, Cost, zcdp_rho
from soundsum.budget.limit import Limit
from soundsum.refusals import Reason
from tests.refusing import refused

DELTA = Fraction(1, 10**6)


def spend(budget, cost, times=1):
    for _ in range(times):
        budget.charge(cost, "a sum")


@pytest.mark.parametrize("tenth", ["0.1", "1/10", Decimal("0.1"), Fraction(1, 10)])
def test_ten_tenths_are_one(tenth):
    budget = Budget(epsilon=1)
    spend(budget, Cost(epsilon=tenth), 10)
    assert budget.left == Cost(epsilon=0)
    assert budget.spent == Cost(epsilon=1)
    with pytest.raises(BudgetExceeded):
        spend(budget, Cost(epsilon="1e-300"))


def test_a_float_counts_as_the_decimal_it_prints_as():
    budget = Budget(epsilon=1)
    spend(budget, Cost(epsilon=0.1), 9)
    assert budget.spent.epsilon == Fraction(9, 10)
    with refused("epsilon", Reason.EXCEEDED, BudgetExceeded, closely=", over by 1e-09"):
        spend(budget, Cost(epsilon="0.100000001"))
    spend(budget, Cost(epsilon=0.1))
    assert budget.left.epsilon == 0


def test_overspending_says_what_was_asked_and_what_is_left():
    budget = Budget(epsilon="1/3")
    spend(budget, Cost(epsilon="0.2"))
    exact = {"asked_epsilon": "1/2", "asked_delta": "0", "left_epsilon": "2/15", "left_delta": "0"}
    with refused("epsilon", Reason.EXCEEDED, BudgetExceeded, limit="epsilon = 1/3", **exact) as caught:
        spend(budget, Cost(epsilon=0.5))
    message = (
        "the budget is exceeded: asked for epsilon = 0.5, but epsilon = 2/15 is left of epsilon = 1/3; nothing was "
        "charged: ask for less (the release was: a sum)"
    )
    assert str(caught.value) == message
    assert (caught.value.asked, caught.value.left) == (Cost(epsilon=0.5), Cost(epsilon="2/15"))
    assert isinstance(caught.value, ValueError)
    assert len(budget.entries()) == 1
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.asked, again.left) == (message, caught.value.asked, caught.value.left)
    within = caught.value.within("a.toml")
    assert (str(within), within.left) == (f"a.toml: {message}", caught.value.left)


def test_rhos_add_up_and_laplace_counts_half_its_square():
    budget = Budget(rho="0.03")
    spend(budget, Cost(rho="0.01"))
    spend(budget, Cost(epsilon="0.2"))
    assert budget.left == Cost(rho=0)
    assert budget.spent == Cost(rho="0.03")
    facts = {"asked": "epsilon = 0.1 (rho = 0.005)", "left": "rho = 0", "limit": "rho = 0.03"}
    with refused("epsilon", Reason.EXCEEDED, BudgetExceeded, **facts):
        spend(budget, Cost(epsilon="0.1"))


def test_epsilons_and_deltas_add_up():
    budget = Budget(epsilon=1, delta="1e-6")
    spend(budget, Cost(epsilon="0.5"))
    spend(budget, Cost(epsilon="0.25", delta="4e-7", rho="1/500"))
    assert (budget.left.epsilon, budget.left.delta) == (Fraction(1, 4), Fraction(6, 10**7))
    with refused("delta", Reason.EXCEEDED, BudgetExceeded):
        spend(budget, Cost(epsilon="0.1", delta="6.1e-7"))
    spend(budget, Cost(epsilon="0.25", delta="6e-7"))
    assert budget.left == Cost(epsilon=0)


def test_one_release_may_cost_the_whole_budget():
    for total in ({"epsilon": 2}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}):
        budget = Budget(**total)
        spend(budget, Cost(**total))
        with pytest.raises(BudgetExceeded):
            spend(budget, Cost(**total))


def test_the_first_rho_turns_what_is_left_into_a_rho():
    budget = Budget(epsilon=1, delta=DELTA)
    spend(budget, Cost(epsilon="0.15"))
    spend(budget, Cost(epsilon="0.1", delta=DELTA / 4))
    room = zcdp_rho(Fraction(3, 4), DELTA * 3 / 4)
    assert budget.left.rho == room
    spend(budget, Cost(rho=room / 2))
    spend(budget, Cost(rho=room / 4))
    spend(budget, Cost(epsilon="1/100"))
    assert budget.left == Cost(rho=room / 4 - Fraction(1, 20000))
    assert budget.spent == Cost("0.25", DELTA / 4, room * 3 / 4 + Fraction(1, 20000))
    with pytest.raises(BudgetExceeded):
        spend(budget, Cost(rho=room / 4))


def test_a_budget_in_memory_is_not_spent_from_in_another_process(monkeypatch):
    budget = Budget(epsilon=1)
    spend(budget, Cost(epsilon="1/2"))
    monkeypatch.setattr(os, "getpid", lambda: 1)
    for act in (lambda: spend(budget, Cost(epsilon="1/2")), lambda: budget.fail(1)):
        with refused("path", Reason.MISSING, TypeError):
            act()


def test_without_an_epsilon_left_there_is_no_rho_left():
    budget = Budget(epsilon=1, delta=DELTA)
    spend(budget, Cost(epsilon=1))
    assert budget.left == Cost(epsilon=0, delta=DELTA)
    with pytest.raises(BudgetExceeded):
        spend(budget, Cost(rho="1e-300"))


def test_a_total_has_1024_bits_at_most():
    assert Budget(epsilon=Fraction(1, 2**1023)).epsilon == Fraction(1, 2**1023)
    with refused("epsilon", Reason.TOO_MANY, ValueError, most=1024):
        Budget(epsilon=Fraction(1, 2**1024))


def test_a_release_of_no_cost_changes_nothing():
    budget = Budget(epsilon=1, delta=DELTA)
    spend(budget, Cost(rho=0))
    spend(budget, Cost(epsilon=1))
    spend(budget, Cost(epsilon=0))
    assert len(budget.entries()) == 3


@pytest.mark.parametrize(
    "total, spent, cost, option, remedy",
    [
        ({"epsilon": 1}, [], Cost(rho="0.1"), "rho", "use Laplace noise, or a budget with `rho`"),
        ({"epsilon": 1}, [], Cost(epsilon="0.1", delta="1e-9"), "delta", "use Laplace noise, or a budget with `delta`"),
        ({"rho": 1}, [], Cost(epsilon="0.1", delta="1e-9"), "delta", "charge a rho alone"),
        ({"rho": 1}, [], Cost(epsilon="0.1", delta="1e-9", rho="0.01"), "delta", "charge a rho alone"),
        ({"epsilon": 1, "delta": DELTA}, [Cost(rho="0.001")], Cost("0.1", "1e-9"), "delta", "charge a rho alone"),
        ({"epsilon": 1, "delta": DELTA}, [Cost(rho="0.001")], Cost("0.1", "1e-9", 0), "delta", "charge a rho alone"),
    ],
)
def test_a_cost_that_cannot_be_counted_is_refused_with_what_to_do(total, spent, cost, option, remedy):
    budget = Budget(**total)
    for earlier in spent:
        spend(budget, earlier)
    with refused(option, Reason.MISMATCH, ValueError, cost=str(cost)) as caught:
        spend(budget, cost)
    assert not isinstance(caught.value, BudgetExceeded)
    assert caught.value.remedy.startswith(remedy)
    assert len(budget.entries()) == len(spent)


@pytest.mark.parametrize(
    "arguments, option, reason",
    [
        ({}, "epsilon", Reason.MISSING),
        ({"epsilon": 1, "rho": 1}, "rho", Reason.CONFLICT),
        ({"epsilon": 0}, "epsilon", Reason.TOO_SMALL),
        ({"rho": 0}, "rho", Reason.TOO_SMALL),
        ({"epsilon": -1}, "epsilon", Reason.TOO_SMALL),
        ({"epsilon": math.nan}, "epsilon", Reason.NOT_A_NUMBER),
        ({"epsilon": math.inf}, "epsilon", Reason.NOT_A_NUMBER),
        ({"epsilon": 1, "delta": 1}, "delta", Reason.TOO_LARGE),
        ({"epsilon": 1, "delta": -1}, "delta", Reason.TOO_SMALL),
        ({"rho": 1, "delta": "1e-6"}, "delta", Reason.CONFLICT),
        ({"epsilon": Fraction(1, 3**700)}, "epsilon", Reason.TOO_MANY),
    ],
)
def test_a_bad_total_is_refused(arguments, option, reason):
    with refused(option, reason, ValueError):
        Budget(**arguments)


@pytest.mark.parametrize("epsilon", ["one", True])
def test_a_total_is_a_number(epsilon):
    with refused("epsilon", Reason.NOT_A_NUMBER, TypeError) as caught:
        Budget(epsilon=epsilon)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "arguments, option, reason",
    [
        ({}, "epsilon", Reason.MISSING),
        ({"delta": "1e-6", "rho": 1}, "delta", Reason.NEEDS),
        ({"epsilon": -1}, "epsilon", Reason.TOO_SMALL),
        ({"rho": math.inf}, "rho", Reason.NOT_A_NUMBER),
    ],
)
def test_a_bad_cost_is_refused(arguments, option, reason):
    with refused(option, reason, ValueError):
        Cost(**arguments)


def test_of_two_rhos_that_are_known_the_smaller_counts():
    """As given, and epsilon^2/2 for pure DP."""
    assert Cost(epsilon=1, rho="1/10").zcdp == Fraction(1, 10)
    assert Cost(epsilon="1/10", rho=1).zcdp == Fraction(1, 200)


def test_a_cost_is_10_to_the_30_at_most():
    assert Cost(epsilon=10**30).epsilon == 10**30
    with refused("epsilon", Reason.TOO_LARGE, ValueError):
        Cost(epsilon=10**30 + 1)


def test_costs_with_endless_digits_are_rounded_up():
    longest, longer = Fraction(5, 2**1023 + 3), Fraction(5, 2**1024 + 3)
    assert (Cost(epsilon=longest).epsilon, Cost(epsilon=longer).epsilon) == (longest, Fraction(5, 2**1024))
    tiny = Fraction(1, 3**1000)
    assert tiny < Cost(epsilon=tiny).epsilon <= tiny + Fraction(1, 2**1024)
    budget = Budget(epsilon=1)
    for prime in (10**30 + 57, 10**40 + 121, 10**200 + 357, 10**201 + 223):
        spend(budget, Cost(epsilon=Fraction(1, prime)))
    assert budget.spent.epsilon.denominator.bit_length() <= 1025


# Mechanisms whose privacy loss is known exactly: (cost, (probability, loss in units of 1/20) ...); None is infinity.
def randomised_response(cost, units, leak=0.0):
    e = math.exp(units / 20)
    return cost, (((1 - leak) * e / (1 + e), units), ((1 - leak) / (1 + e), -units), (leak, None))


MENU = [
    randomised_response(Cost(epsilon="1/4"), 5),
    randomised_response(Cost(epsilon="1/4", delta="1/200"), 5, leak=1 / 200),
    randomised_response(Cost(epsilon="1/10", delta="27/1000", rho="9/800"), 3),
    randomised_response(Cost(rho="9/800"), 3),
    randomised_response(Cost(rho="1/32"), 5),
]


def worst_delta(promise, epsilon, menu):
    """The true delta of the worst way to choose from the menu, looking at each outcome, that is let through."""

    @cache
    def worst(spent, loss):
        best = max(0.0, 1 - math.exp(epsilon - loss / 20))
        for cost, outcomes in menu:
            try:
                after = promise.after(spent, cost, "the worst")
            except ValueError:
                continue
            best = max(best, sum(p * (1.0 if x is None else worst(after, loss + x)) for p, x in outcomes))
        return best

    return worst(promise.nothing, 0)


@pytest.mark.parametrize("epsilon, delta", [("1", "0.01"), ("0.5", "0.01"), ("0.75", "0.06"), ("0.5", "0.1")])
def test_no_way_to_choose_costs_by_what_was_seen_breaks_the_promise(epsilon, delta):
    found = worst_delta(Limit.of(epsilon, delta, None), float(epsilon), MENU)
    assert 0 < found <= float(delta)


@pytest.mark.parametrize("epsilon, delta", [("1", "0.01"), ("0.5", "0.1")])
def test_nor_does_it_under_a_rho(epsilon, delta):
    promise = Limit.of(None, 0, zcdp_rho(Fraction(epsilon), Fraction(delta)))
    assert 0 < worst_delta(promise, float(epsilon), MENU) <= float(delta)
