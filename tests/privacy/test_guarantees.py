"""Which promises a noise can keep, and how much of it they need."""

from fractions import Fraction

import pytest

from soundsum.privacy.distributions import gaussian_sigma2
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.units import RECORD, Norms, Unit
from soundsum.privacy.zcdp import zcdp_rho

EPSILON, DELTA = Fraction(1), Fraction(1, 10**6)


@pytest.mark.parametrize("delta", [1, "1.5", 2])
def test_a_delta_is_below_1(delta):
    with pytest.raises(ValueError, match=f"delta={delta}|delta='{delta}'"):
        guarantee(epsilon=1, delta=delta, noise="gaussian")


def test_one_integer_is_hidden_by_its_own_delta_and_several_by_zcdp():
    promised = guarantee(EPSILON, DELTA, noise="gaussian")
    assert promised.noise_for(Norms(5, 25)).parameter == gaussian_sigma2(5, EPSILON, DELTA)
    assert promised.noise_for(Norms(7, 25, 2)).parameter == 25 / (2 * zcdp_rho(EPSILON, DELTA))


def test_who_is_protected():
    assert (RECORD.protected, Unit(max_rows=2).protected) == ("one record", "one person")
