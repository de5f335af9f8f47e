"""Which promises a noise can keep, and how much of it they need."""

from fractions import Fraction

import numpy as np
import pytest

from soundsum.privacy.cost import Cost
from soundsum.privacy.distributions import gaussian_sigma2
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.noise import NoNoise
from soundsum.privacy.noises.laplace import Laplace
from soundsum.privacy.units import RECORD, Norms, Unit
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import Reason
from soundsum.tables.relations import Relation
from tests.refusing import refused

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


@pytest.mark.parametrize("delta", [1, "1.5", 2])
def test_a_delta_is_below_1(delta):
    with refused("delta", Reason.TOO_LARGE, ValueError, given=repr(delta)):
        guarantee(epsilon=1, delta=delta, noise="gaussian")


def test_one_integer_is_hidden_by_its_own_delta_and_several_by_zcdp():
    promised = guarantee(EPSILON, DELTA, noise="gaussian")
    assert promised.noise_for(Norms(5, 25)).parameter == gaussian_sigma2(5, EPSILON, DELTA)
    assert promised.noise_for(Norms(7, 25, 2)).parameter == 25 / (2 * zcdp_rho(EPSILON, DELTA))


def test_who_is_protected():
    assert (RECORD.protected, Unit(max_rows=2).protected) == ("one record", "one person")


def test_parts_of_a_guarantee_add_up_to_it():
    half = Fraction(1, 2)
    assert guarantee(EPSILON, DELTA, noise="gaussian").share(half).cost == Cost(EPSILON / 2, DELTA / 2)
    assert guarantee(rho=1, noise="gaussian").share(half).cost == Cost(rho=half)
    assert Guarantee(Laplace, EPSILON).cost == Cost(EPSILON)


def test_what_no_unit_can_move_takes_no_share():
    still, moved = Norms(0, 0), Norms(1, 1)
    noises = guarantee(1).noises_for([moved, still, moved])
    assert noises == (Laplace(Fraction(2)), NoNoise(), Laplace(Fraction(2)))
    assert NoNoise().parameter == 0
    divided = guarantee(1).divide([[moved, still], [moved], [still]], [Fraction(1)] * 3)
    assert [share.epsilon for share, _ in divided] == [Fraction(1, 2), Fraction(1, 2), Fraction(1, 3)]
    with pytest.raises(ValueError, match="zip"):
        guarantee(1).divide([[moved], [moved]], [Fraction(1)])


def test_noise_beyond_2_to_the_4096_is_refused():
    assert guarantee(Fraction(1, 2**4096)).noise_for(Norms(1, 1)).parameter == 2**4096
    with refused("epsilon", Reason.TOO_SMALL, ValueError):
        guarantee(Fraction(1, 2**4096 + 1)).noise_for(Norms(1, 1))
    with refused("rho", Reason.TOO_SMALL, ValueError):
        guarantee(rho=Fraction(1, 2**4098), noise="gaussian").noise_for(Norms(1, 1))


def test_a_parameter_is_10_to_the_30_at_most():
    assert guarantee(10**30).epsilon == 10**30
    with refused("epsilon", Reason.TOO_LARGE, ValueError):
        guarantee(10**30 + 1)


def test_a_person_is_in_one_group_unless_more_are_allowed():
    assert Unit(groups=3, max_rows=2).norms(0, 5, Relation.SYMMETRIC) == Norms(10, 100)
    assert Unit(groups=3, max_rows=2, max_groups=2).norms(0, 5, Relation.SYMMETRIC) == Norms(20, 200, 2)


@pytest.mark.parametrize("groups, reason", [(0, Reason.EMPTY), (-1, Reason.TOO_SMALL), (False, Reason.NOT_WHOLE)])
def test_no_groups(groups, reason):
    with refused("groups", reason, ValueError):
        Unit(groups=groups)


@pytest.mark.parametrize("low, high", [(0, 5), (-7, 5), (-7, -3), (2, 9)])
def test_how_far_one_unit_can_move_a_vector_of_sums(low, high):
    """docs/theorems/statistics.md: a record comes or goes, changes, or moves to another group; or a person does."""
    most, width = max(abs(low), abs(high)), high - low

    def norms(relation, **unit):
        return Unit(**unit).norms(low, high, relation)

    for groups in (None, 1, 4):
        assert norms(Relation.SYMMETRIC, groups=groups) == Norms(most, most**2)
    assert norms(Relation.CHANGE_ONE) == Norms(width, width**2)
    widest = max(most, width)
    assert norms(Relation.CHANGE_ONE, groups=1) == Norms(widest, widest**2)
    assert norms(Relation.CHANGE_ONE, groups=4) == Norms(2 * most, max(2 * most**2, width**2), 2)
    assert norms(Relation.SYMMETRIC, max_rows=3, max_groups=5) == Norms(3 * most, 9 * most**2)
    assert norms(Relation.SYMMETRIC, groups=4, max_rows=3, max_groups=2) == Norms(6 * most, 18 * most**2, 2)
    assert norms(Relation.SYMMETRIC, groups=2, max_rows=3, max_groups=7) == Norms(6 * most, 18 * most**2, 2)


def test_swapped_ends_move_no_less():
    """They are a mistake, which must not cost anybody their privacy."""
    for low, high in ((7, -3), (3, -7), (1, 0), (0, -1)):
        assert Unit(2).norms(low, high, Relation.SYMMETRIC).l1 == max(abs(low), abs(high))


def test_numpy_s_integers_become_python_s():
    unit = Unit(groups=np.int64(3), max_rows=np.int8(2))
    assert (type(unit.groups), type(unit.max_rows)) == (int, int)


LITTLE = Fraction(1, 10**12)


@pytest.mark.parametrize(
    "epsilon, remark",
    [(1000, " (no privacy"), (999, ""), (LITTLE, ""), (LITTLE * Fraction(99, 100), " (nothing but noise)")],
)
def test_what_is_said_of_a_promise_that_nobody_can_have_meant(epsilon, remark):
    """A rho is about half of an epsilon squared."""
    rho = Fraction(epsilon) ** 2 / 2
    for promise in (guarantee(epsilon), guarantee(rho=rho, noise="gaussian")):
        said = str(promise)
        assert remark in said
        assert ("(" in said) == bool(remark)


def test_an_amount_of_10_to_the_30_is_the_largest():
    assert Cost(epsilon=10**30).epsilon == 10**30
    with refused("epsilon", Reason.TOO_LARGE, ValueError):
        Cost(epsilon=10**30 + 1)


def test_an_amount_of_more_than_1024_bits_is_rounded_up():
    for kept in (Fraction(1, 2**1023), Fraction(1, 2**1024 - 1)):
        assert Cost(epsilon=kept).epsilon == kept
    assert Cost(epsilon=Fraction(1, 2**1024 + 1)).epsilon == Fraction(1, 2**1024)


def test_noise_of_2_to_the_4096_steps_is_the_most():
    most = 2**4096
    assert guarantee(1).noise_for(Norms(most, most**2)).parameter == most
    with refused("epsilon", Reason.TOO_SMALL, ValueError, guarantee="epsilon=1"):
        guarantee(1).noise_for(Norms(most + 1, (most + 1) ** 2))


@pytest.mark.parametrize(
    "option, reason, asked",
    [
        ("epsilon", Reason.MISSING, {}),
        ("epsilon", Reason.TOO_SMALL, {"epsilon": 0}),
        ("epsilon", Reason.NOT_A_NUMBER, {"epsilon": float("inf")}),
        ("epsilon", Reason.TOO_MANY, {"epsilon": Fraction(1, 3**3000)}),
        ("delta", Reason.CONFLICT, {"epsilon": 1, "delta": 0.1}),
        ("rho", Reason.CONFLICT, {"rho": 1}),
        ("delta", Reason.MISSING, {"epsilon": 1, "noise": "gaussian"}),
        ("rho", Reason.CONFLICT, {"epsilon": 1, "rho": 1, "noise": "gaussian"}),
        ("rho", Reason.TOO_SMALL, {"rho": -1, "noise": "gaussian"}),
    ],
)
def test_what_a_noise_cannot_keep(option, reason, asked):
    with refused(option, reason, ValueError):
        guarantee(**asked)


@pytest.mark.parametrize(
    "option, reason, amounts",
    [
        ("epsilon", Reason.MISSING, {}),
        ("delta", Reason.NEEDS, {"delta": 0.1, "rho": 1}),
        ("epsilon", Reason.TOO_SMALL, {"epsilon": -1}),
        ("rho", Reason.NOT_A_NUMBER, {"rho": float("nan")}),
    ],
)
def test_what_is_no_cost(option, reason, amounts):
    with refused(option, reason, ValueError):
        Cost(**amounts)
