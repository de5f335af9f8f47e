"""zCDP and (epsilon, delta): the bounds are on the safe side, close, and agree with an independent calculation."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundsum as ss
from soundsum.budget import zcdp_epsilon, zcdp_rho
from soundsum.privacy import zcdp
from soundsum.privacy.zcdp import log_bounds
from soundsum.refusals import Reason
from tests.refusing import refused

decimal.getcontext().prec = 60
positive = st.fractions(min_value=Fraction(1, 10**30), max_value=10**30)


def to_decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


@given(positive)
def test_logarithms_are_enclosed_and_close(x):
    low, high = log_bounds(x)
    assert high - low < Fraction(1, 2**110)
    assert to_decimal(low) - Decimal("1e-50") <= to_decimal(x).ln() <= to_decimal(high) + Decimal("1e-50")


@pytest.mark.parametrize(
    "x",
    [
        *(Fraction(1), Fraction(2), Fraction(1, 2), Fraction(3, 4), Fraction(1, 3), Fraction(10)),
        *(1 - Fraction(1, 2**200), 2 - Fraction(1, 2**200), Fraction(1, 2**900), Fraction(3**500)),
    ],
)
def test_logarithms_at_the_edges(x):
    low, high = log_bounds(x)
    assert low <= high < low + Fraction(1, 2**110)
    assert to_decimal(low) - Decimal("1e-50") <= to_decimal(x).ln() <= to_decimal(high) + Decimal("1e-50")


def log_term(alpha, delta):
    return (delta.ln() + (alpha - 1).ln() + alpha * (alpha / (alpha - 1)).ln()) / (alpha - 1)


@pytest.mark.parametrize("alpha", ["1.001", "2", "17.3", "1e6"])
def test_for_one_alpha_the_result_is_the_theorem_s_rounded_to_the_safe_side(alpha, monkeypatch):
    monkeypatch.setattr(zcdp, "_guess", lambda *_: Fraction(alpha))
    a, ulp = Decimal(alpha), Decimal(2) ** -63
    for delta in ("0.3", "1e-7"):
        term = to_decimal(zcdp._log_term(Fraction(alpha), Fraction(delta)))
        assert -Decimal("1e-28") < term - log_term(a, Decimal(delta)) < Decimal("1e-45")
        for x in ("100000", "1234567.8"):
            rho = to_decimal(zcdp_rho.__wrapped__(Fraction(x), Fraction(delta)))
            exact = (Decimal(x) + log_term(a, Decimal(delta))) / a
            assert 0 < exact - rho < exact * ulp
            epsilon = to_decimal(zcdp_epsilon.__wrapped__(Fraction(x), Fraction(delta)))
            exact = a * Decimal(x) - log_term(a, Decimal(delta))
            assert 0 < epsilon - exact < exact * ulp


def test_results_have_64_bits_at_most():
    for epsilon in (Fraction(1), Fraction(1, 7), Fraction(3)):
        rho = zcdp_rho(epsilon, Fraction(1, 10**6))
        for found in (rho, zcdp_epsilon(rho, Fraction(1, 10**7))):
            top, bottom = found.numerator, found.denominator
            assert bottom & (bottom - 1) == 0
            assert top.bit_length() <= 64


def best_rho(epsilon, delta):
    """The largest rho the theorem gives, over all alpha, by ternary search in 60 digits."""

    def rho(t):
        alpha = 1 + t.exp()
        return (epsilon + log_term(alpha, delta)) / alpha

    low, high = Decimal(-10), Decimal(40)
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (a, high) if rho(a) < rho(b) else (low, b)
    return rho(low)


CASES = [(e, d) for e in ("0.001", "0.1", "1", "3", "20") for d in ("0.1", "1e-5", "1e-12", "1e-40")]


@pytest.mark.parametrize("epsilon, delta", CASES)
def test_rho_is_below_the_theorem_s_by_next_to_nothing(epsilon, delta):
    rho, best = to_decimal(zcdp_rho(Fraction(epsilon), Fraction(delta))), best_rho(Decimal(epsilon), Decimal(delta))
    assert best * (1 - Decimal("1e-9")) <= rho <= best * (1 + Decimal("1e-40"))


@pytest.mark.parametrize("epsilon, delta", CASES)
def test_epsilon_is_the_inverse_and_rounded_up(epsilon, delta):
    rho = zcdp_rho(Fraction(epsilon), Fraction(delta))
    back = zcdp_epsilon(rho, Fraction(delta))
    assert abs(back - Fraction(epsilon)) < Fraction(epsilon) / 10**9
    more = rho * (1 + Fraction(1, 10**6))
    assert zcdp_epsilon(more, Fraction(delta)) > Fraction(epsilon)


@pytest.mark.parametrize("epsilon, delta", CASES)
def test_it_is_never_worse_than_bun_and_steinke(epsilon, delta):
    root = Decimal(delta).ln().copy_abs().sqrt()
    theirs = ((root * root + Decimal(epsilon)).sqrt() - root) ** 2
    assert to_decimal(zcdp_rho(Fraction(epsilon), Fraction(delta))) >= theirs


@pytest.mark.parametrize("epsilon, delta", [(1, 1e-6), (0.1, 1e-5), (4, 1e-9)])
def test_gaussian_noise_with_that_rho_keeps_the_promise(epsilon, delta):
    rho = float(zcdp_rho(Fraction(epsilon), Fraction(delta)))
    mu = math.sqrt(2 * rho)  # sensitivity over sigma; Balle and Wang 2018 for the exact delta of Gaussian noise

    def phi(x):
        return math.erfc(-x / math.sqrt(2)) / 2

    true_delta = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert delta / 20 < true_delta < delta


def test_absurd_numbers_are_still_on_the_safe_side():
    for epsilon in (Fraction(1, 10**400), Fraction(10**400)):
        assert 0 < zcdp_rho(epsilon, Fraction(1, 10**400)) < epsilon
    assert zcdp_epsilon(Fraction(0), Fraction(1, 2)) == 0
    assert zcdp_epsilon(Fraction(1, 10**400), Fraction(1, 10**6)) >= 0


@pytest.mark.parametrize("epsilon, delta", [("1e-300", "1e-300"), ("1e-400", "1e-400"), ("1e-400", "1e-500")])
def test_an_epsilon_too_small_for_floats_has_bun_and_steinke_s_rho(epsilon, delta):
    rho = to_decimal(zcdp_rho(Fraction(epsilon), Fraction(delta)))
    theirs = Decimal(epsilon) ** 2 / (4 * (Decimal(epsilon) - Decimal(delta).ln()))
    assert theirs * (1 - Decimal(2) ** -60) < rho <= theirs


@pytest.mark.parametrize("epsilon", [0, -1, Fraction(-1, 2)])
def test_an_epsilon_is_above_0_and_a_rho_not_below(epsilon):
    with refused("epsilon", Reason.TOO_SMALL, ValueError, given=str(epsilon)):
        zcdp_rho(Fraction(epsilon), Fraction(1, 2))
    with refused("rho", Reason.TOO_SMALL, ValueError):
        zcdp_epsilon(Fraction(epsilon) - 1, Fraction(1, 2))


@pytest.mark.parametrize("delta", [0, 1, -1, 2])
def test_a_delta_is_between_0_and_1(delta):
    reason = Reason.TOO_SMALL if delta <= 0 else Reason.TOO_LARGE
    with refused("delta", reason, ValueError, given=str(delta)):
        zcdp_rho(Fraction(1), Fraction(delta))
    with refused("delta", reason, ValueError, given=str(delta)):
        zcdp_epsilon(Fraction(1), Fraction(delta))


def test_noise_for_several_groups_follows_the_tight_conversion():
    """With Bun and Steinke's formula sigma would be 1.18 times as large at epsilon 1 and delta 10^-6, at 0.1 1.33."""
    delta = Fraction(1, 10**6)
    for epsilon, factor in ((Fraction(1), 1.18), (Fraction(1, 10), 1.33)):
        made = ss.sum(
            [1.0], 0, 1, epsilon, by=["a"], groups=["a", "b"], relation="change_one", noise="gaussian", delta=delta
        )
        (part,) = made["a"].certificate["released"]
        sigma2, norms = Fraction(part["sigma_squared"]), part["l2_squared_steps"]
        assert sigma2 == Fraction(norms) / (2 * zcdp_rho(epsilon, delta))
        log = math.log(1 / delta)
        loose = (float(epsilon) / (math.sqrt(log + epsilon) + math.sqrt(log))) ** 2
        assert math.sqrt(norms / (2 * loose) / sigma2) == pytest.approx(factor, abs=0.006)


@pytest.mark.parametrize("convert", [zcdp_rho, zcdp_epsilon])
def test_results_have_64_significant_bits(convert):
    found = [convert(Fraction(i, 7), Fraction(1, 10**j)) for i in range(1, 9) for j in (3, 6, 9)]
    assert max(x.numerator.bit_length() for x in found) == 64
    assert all(x.denominator & (x.denominator - 1) == 0 for x in found)


@pytest.mark.parametrize("epsilon, delta", [(1, 1 - Fraction(1, 10**60)), (10**30, 1 - Fraction(1, 10**6))])
def test_deltas_next_to_1(epsilon, delta):
    assert zcdp_rho(Fraction(epsilon), delta) > 0
    assert zcdp_epsilon(Fraction(epsilon), delta) >= 0


@pytest.mark.parametrize("epsilon", [10**3, 10**9, 10**15, 10**25])
def test_a_large_epsilon_is_worth_at_least_what_bun_and_steinke_say(epsilon):
    for delta in ("0.1", "1e-6"):
        log = -Decimal(delta).ln()
        theirs = ((log + epsilon).sqrt() - log.sqrt()) ** 2
        assert to_decimal(zcdp_rho(Fraction(epsilon), Fraction(delta))) > theirs * (1 - Decimal("2e-6"))
