"""From zCDP to (epsilon, delta) and back, in rationals rounded to the safe side.

For every alpha > 1 a rho-zCDP mechanism is (epsilon, delta)-DP with
delta = exp((alpha - 1)(alpha rho - epsilon)) (1 - 1/alpha)^alpha / (alpha - 1) (Canonne, Kamath and Steinke 2020; proof
in docs/theorems/noise.md). Any alpha is valid, so floats may guess a good one; the logarithms are then enclosed in
rationals and the result rounded outward. It never gives more than Bun and Steinke's rho + 2 sqrt(rho ln(1/delta)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.refusals import Reason, RefusedValue

TERMS = 40  # of the series of atanh, for arguments up to 1/3: the rest is below 3^-81 < 2^-128
BITS = 128  # arguments of the series are rounded to this many
KEPT = 64  # significant bits of a result


@cache
def zcdp_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, nearly the largest, such that rho-zCDP implies (epsilon, delta)-DP.

    Where epsilon is too small for floats to guess an alpha, Bun and Steinke's formula stands in: with l = ln(1/delta),
    rho + 2 sqrt(rho l) <= epsilon if sqrt(rho) <= epsilon / (2 sqrt(l + epsilon)).

    >>> round(float(zcdp_rho(Fraction(1), Fraction(1, 10**6))), 6)
    0.024356
    """
    if epsilon <= 0:
        raise RefusedValue(
            "epsilon", Reason.TOO_SMALL, "`epsilon={given}` is not above 0", "give a larger one", given=quote(epsilon)
        )
    slope = _slope(delta)
    alpha = _guess(lambda a: -(_near(epsilon) + slope(a)) / a, _start(epsilon, delta))
    rho = (epsilon + _log_term(alpha, delta)) / alpha
    return _round(rho if rho > 0 else epsilon**2 / (4 * (epsilon - log_bounds(delta)[0])), up=False)


@cache
def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, nearly the smallest, such that rho-zCDP implies (epsilon, delta)-DP.

    >>> round(float(zcdp_epsilon(Fraction(1, 50), Fraction(1, 10**6))), 6)
    0.899935
    """
    if rho < 0:
        raise RefusedValue("rho", Reason.TOO_SMALL, "`rho={given}` is below 0", "give 0 or more", given=quote(rho))
    if not rho:
        return Fraction(0)
    slope = _slope(delta)
    alpha = _guess(lambda a: a * _near(rho) - slope(a), 1 + math.sqrt(-_log(delta) / _near(rho)))
    return max(_round(alpha * rho - _log_term(alpha, delta), up=True), Fraction(0))


def log_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals at or below and at or above ln x, closer than 2^-110 for x up to 2^2000.

    With x = 2^e m and 1 <= m < 2, ln x = 2 (e atanh(1/3) + atanh(z)) where z = (m - 1)/(m + 1) is below 1/3.
    """
    e = floor_log2(x)
    m = x / power_of_two(e)
    z = Fraction(math.floor((m - 1) / (m + 1) * 2**BITS), 2**BITS)
    third = (_atanh_below(Fraction(1, 3)), _atanh_above(Fraction(1, 3)))
    low, high = third if e >= 0 else third[::-1]
    return 2 * (e * low + _atanh_below(z)), 2 * (e * high + _atanh_above(min(z + Fraction(1, 2**BITS), Fraction(1, 3))))


@cache
def _atanh_below(z: Fraction) -> Fraction:
    """The first terms of z + z^3/3 + z^5/5 + ..., all of them positive."""
    return sum((z ** (2 * k + 1) / (2 * k + 1) for k in range(TERMS)), Fraction(0))


def _atanh_above(z: Fraction) -> Fraction:
    """Add a geometric series that bounds the terms left out."""
    return _atanh_below(z) + z ** (2 * TERMS + 1) / ((2 * TERMS + 1) * (1 - z * z))


def _log_term(alpha: Fraction, delta: Fraction) -> Fraction:
    """At or below (ln delta + ln(alpha - 1) + alpha ln(alpha/(alpha - 1))) / (alpha - 1)."""
    low = log_bounds(delta)[0] + log_bounds(alpha - 1)[0] + alpha * log_bounds(alpha / (alpha - 1))[0]
    return low / (alpha - 1)


def _slope(delta: Fraction) -> Callable[[float], float]:
    """Approximate the bound in floats, to choose alpha."""
    log_delta = _log(delta)
    return lambda a: (log_delta + math.log(a - 1) - a * math.log1p(-1 / a)) / (a - 1)


def _log(delta: Fraction) -> float:
    if delta <= 0:
        raise RefusedValue(
            "delta", Reason.TOO_SMALL, "`delta={given}` is not above 0", "give one such as 1e-6", given=quote(delta)
        )
    if delta >= 1:
        raise RefusedValue(
            "delta", Reason.TOO_LARGE, "`delta={given}` is not below 1", "give one such as 1e-6", given=quote(delta)
        )
    return float(log_bounds(delta)[0])


def _near(x: Fraction) -> float:
    """x as a float to guess with, within the range floats can square."""
    return float(min(max(x, Fraction(1, 10**150)), Fraction(10**150)))


def _start(epsilon: Fraction, delta: Fraction) -> float:
    """The best alpha for Bun and Steinke's formula, 1 + sqrt(ln(1/delta) / rho)."""
    root = math.sqrt(-_log(delta))
    return 1 + root * (math.sqrt(root * root + _near(epsilon)) + root) / _near(epsilon)


def _guess(f: Callable[[float], float], start: float) -> Fraction:
    """About where f is smallest, by golden section in ln(alpha - 1): well below the start where delta is large."""
    golden = (math.sqrt(5) - 1) / 2
    low, high = math.log(1e-6), math.log(min(max(start - 1, 1.0), 1e12)) + 5
    for _ in range(80):
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if f(1 + math.exp(left)) < f(1 + math.exp(right)) else (left, high)
    return Fraction(1 + math.exp((low + high) / 2))


def _round(x: Fraction, up: bool) -> Fraction:
    """x to 64 significant bits, upward or downward."""
    if not x:
        return x
    unit = power_of_two(floor_log2(x) - KEPT + 1)
    return (math.ceil(x / unit) if up else math.floor(x / unit)) * unit
