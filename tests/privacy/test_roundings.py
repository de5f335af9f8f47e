"""Each rounding by itself moves a bound to its own side.

One operation at a time is made to round by 10^-20 of its value instead of by its 60th digit, in its own direction. The
bound may then only become wider. With all roundings small, one in the wrong direction would hide behind the others.
"""

from decimal import Decimal
from fractions import Fraction

import pytest
from mpmath import mp

from soundsum.privacy import distributions
from soundsum.privacy.distributions import DOWN, UP
from tests.privacy.test_precision import number

COARSE, FINE = Decimal("1e-20"), Fraction(1, 10**50)


class Roundings:
    """Every operation of UP and DOWN is counted, and the one with the chosen number rounds coarsely."""

    def __init__(self, patched):
        self.chosen, self.count = 0, 0
        for bound in (UP, DOWN):
            for name in ("add", "subtract", "multiply", "divide", "_beside"):
                patched.setattr(bound, name, self.counting(bound, getattr(bound, name)))

    def counting(self, bound, operation):
        def counted(*arguments):
            self.count += 1
            result = operation(*arguments)
            if self.count != self.chosen:
                return result
            moved = result.copy_abs() * COARSE
            return bound.context.add(result, moved if bound.is_upper else -moved)

        return counted

    def run(self, chosen, function, *arguments):
        distributions._sum_from.cache_clear()
        for bound in (UP, DOWN):
            bound.__dict__.pop("root_2_pi", None)
        self.chosen, self.count = chosen, 0
        return Fraction(function(*arguments))


@pytest.fixture
def roundings(monkeypatch):
    """With few terms of each series, so that what stands for the others counts, and integrals from sigma^2 = 9 on."""
    with monkeypatch.context() as patched:
        patched.setattr(distributions, "NEGLIGIBLE", Decimal("0.01"))
        patched.setattr(distributions, "SMALL", 9)
        yield Roundings(patched)
    distributions._sum_from.cache_clear()
    for bound in (UP, DOWN):
        bound.__dict__.pop("root_2_pi", None)


def only_widen(roundings, sign, function, *arguments):
    plain = roundings.run(0, function, *arguments)
    for chosen in range(1, roundings.count + 1):
        moved = roundings.run(chosen, function, *arguments)
        assert sign * (moved - plain) >= -FINE * abs(plain), f"operation {chosen} of {arguments}"


THIRD = Fraction(1, 3)


@pytest.mark.parametrize("scale", [THIRD, Fraction(7, 3), Fraction(100, 3)])
def test_of_laplace_tails(roundings, scale):
    for t in (1, 4, 50):
        only_widen(roundings, 1, distributions.laplace_tail, scale, t)


@pytest.mark.parametrize("scale", [THIRD, Fraction(7, 3), Fraction(100, 3)])
def test_of_laplace_half_widths(roundings, scale):
    """The confidence is one for which a width of w is too small, by 10^-25."""
    for w in (1, 4, 50):
        beyond = 2 * mp.exp(-w / number(scale)) / (1 + mp.exp(-1 / number(scale)))
        confidence = 1 - Fraction(str(mp.nstr(beyond * (1 - mp.mpf(10) ** -25), 100)))
        only_widen(roundings, 1, distributions.laplace_half_width, scale, confidence)
        assert roundings.run(0, distributions.laplace_half_width, scale, confidence) == w


@pytest.mark.parametrize("sigma2", [THIRD, Fraction(25, 3), Fraction(28, 3), Fraction(1000, 3)])
def test_of_gaussian_tails(roundings, sigma2):
    for t in (1, 4, 9, 100):
        only_widen(roundings, 1, distributions.gaussian_tail, sigma2, t)


@pytest.mark.parametrize("bound", [UP, DOWN], ids=["up", "down"])
@pytest.mark.parametrize("sigma2", [THIRD, Fraction(25, 3)])
def test_of_sums(roundings, sigma2, bound):
    sign = 1 if bound.is_upper else -1
    for t in (1, 4):
        only_widen(roundings, sign, distributions._sum_from, t, sigma2, bound)
        only_widen(roundings, sign, distributions._at_least, t, sigma2, bound)
        only_widen(roundings, sign, distributions._at_least, -t, sigma2, bound)


@pytest.mark.parametrize("bound", [UP, DOWN], ids=["up", "down"])
@pytest.mark.parametrize("start", [Fraction(1, 100), THIRD, Fraction(7, 3), Fraction(16, 3), Fraction(60)])
def test_of_integrals(roundings, start, bound):
    sign = 1 if bound.is_upper else -1
    for a in (start, -start):
        only_widen(roundings, sign, distributions._normal_tail, a, Fraction(10, 9), bound)


CASES = [
    (sigma2, Delta, epsilon)
    for sigma2 in (THIRD, Fraction(1000, 3))
    for Delta in (1, 5, 70)
    for epsilon in (Fraction(1, 30), Fraction(7, 3))
]


@pytest.mark.parametrize("sigma2, Delta, epsilon", CASES)
def test_of_deltas(roundings, sigma2, Delta, epsilon):
    only_widen(roundings, 1, distributions.gaussian_delta, sigma2, Delta, epsilon)
    only_widen(roundings, -1, distributions.normal_delta, sigma2, Fraction(Delta), epsilon)
