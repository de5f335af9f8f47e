"""Bounds by series hold however few of the terms are added up: what stands for the others is above them, and close."""

import random
from decimal import Decimal
from fractions import Fraction

import pytest
from mpmath import mp

from soundsum.privacy import distributions, zcdp
from soundsum.privacy.distributions import DOWN, UP
from tests.privacy.test_precision import normal_tail, number


@pytest.fixture(params=[(1, 3), (2, 6), (3, 40)])
def cut(request, monkeypatch):
    """The logarithm with some terms, of arguments of some bits."""
    terms, bits = request.param
    with monkeypatch.context() as patched:
        patched.setattr(zcdp, "TERMS", terms)
        patched.setattr(zcdp, "BITS", bits)
        zcdp._atanh_below.cache_clear()
        yield terms, bits
    zcdp._atanh_below.cache_clear()


def numbers(seed):
    drawn = random.Random(seed)
    near_powers = [
        Fraction(2) ** e + side for e in (-5, -1, 0, 1, 7) for side in (0, Fraction(1, 999), Fraction(-1, 999))
    ]
    return near_powers + [Fraction(drawn.randint(1, 10**9), drawn.randint(1, 10**9)) for _ in range(300)]


def test_logarithms(cut):
    """An argument rounded up is at most 1/3, so the bound is at most that of the next power of two."""
    terms, bits = cut
    for x in numbers("logarithms"):
        low, high = zcdp.log_bounds(x)
        truth = mp.log(number(x))
        assert number(low) <= truth <= number(high)
        e = zcdp.floor_log2(x)
        m = number(x) / mp.mpf(2) ** e
        z = min((m - 1) / (m + 1) + mp.mpf(2) ** -bits, mp.mpf(1) / 3)
        rest = 2 * (abs(e) + 1) * left_out(terms, mp.mpf(1) / 3)
        assert number(high) <= 2 * (e * mp.atanh(mp.mpf(1) / 3) + mp.atanh(z)) + rest


def left_out(terms, z):
    return z ** (2 * terms + 1) / (2 * terms + 1) / (1 - z * z)


def test_what_stands_for_the_terms_left_out_of_a_logarithm(cut):
    terms, _ = cut
    for z in (Fraction(1, 3), Fraction(1, 7), Fraction(1, 100)):
        rest = zcdp._atanh_above(z) - zcdp._atanh_below(z)
        first = z ** (2 * terms + 1) / (2 * terms + 1)
        assert mp.atanh(number(z)) <= number(zcdp._atanh_above(z))
        assert first < rest <= first / (1 - z * z)


def test_rho_by_bun_and_steinke(cut):
    """Where epsilon and delta are too small for the alphas that are tried."""
    for epsilon in (Fraction(1, 10**40), Fraction(1, 10**60)):
        for delta in (Fraction(1, 10**30), Fraction(1, 3**90), Fraction(7, 10**99)):
            rho = number(zcdp.zcdp_rho.__wrapped__(epsilon, delta))
            exact = number(epsilon) ** 2 / (4 * (number(epsilon) - mp.log(number(delta))))
            assert 0.5 * exact < rho <= exact


@pytest.mark.parametrize("negligible", ["1", "0.1", "0.001"])
def test_tails(negligible, monkeypatch):
    monkeypatch.setattr(distributions, "NEGLIGIBLE", Decimal(negligible))
    for x in ("0.001", "0.01", "0.3", "0.99", "1.7", "2.9", "4.9"):
        low, high = (distributions._tail_by_series(Decimal(x), bound) for bound in (DOWN, UP))
        assert low <= Decimal(str(mp.nstr(normal_tail(mp.mpf(x)), 50))) <= high


@pytest.mark.parametrize("x", ["0.001", "0.01", "0.1"])
def test_what_stands_for_the_terms_left_out_of_a_tail(x, monkeypatch):
    """Without any term, x (1 + x^2/3 + x^4/15 + ...) is at most x / (1 - x^2/3), which is closer than x^5."""
    monkeypatch.setattr(distributions, "NEGLIGIBLE", Decimal(1))
    truth = normal_tail(mp.mpf(x))
    low = number(Fraction(distributions._tail_by_series(Decimal(x), DOWN)))
    assert truth - mp.mpf(x) ** 5 < low < truth
