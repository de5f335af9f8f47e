"""Noise distributions: tails, interval widths, and the scale that a guarantee needs; never too little.

Every number is rounded to the side where the statement stays true. The arithmetic is decimal: UP and DOWN round each
operation their way, and as the decimal module rounds exp, ln and sqrt correctly, the neighbour of what it gives bounds
the true value. Z is the noise throughout, f(z) = exp(-z^2 / (2 sigma2)), and N the sum of f over all integers.
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import Reason, RefusedValue

DIGITS = 60
PI = Decimal("3.141592653589793238462643383279502884197169399375105820974944592307816")
"""Truncated, with more digits than DIGITS, so that rounding it down or up rounds pi so."""

NEGLIGIBLE, TINY = Decimal(f"1e-{DIGITS}"), Decimal("1e-2000")

SMALL = 1 << 16
"""Below this sigma^2 the series of a discrete Gaussian is added up; from here on it is compared with an integral."""


class Bound:
    """Arithmetic that gives a bound, upper or lower; arguments must be bounds of the side that makes it one."""

    def __init__(self, rounding: str) -> None:
        self.is_upper = rounding == decimal.ROUND_CEILING
        wrong = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
        self.context = decimal.Context(
            DIGITS, rounding, decimal.MIN_EMIN, decimal.MAX_EMAX, clamp=0, flags=[], traps=wrong
        )
        self.add, self.subtract = self.context.add, self.context.subtract
        self.multiply, self.divide = self.context.multiply, self.context.divide

    @property
    def opposite(self) -> Bound:
        return DOWN if self.is_upper else UP

    @cached_property
    def root_2_pi(self) -> Decimal:
        return self.sqrt(self.multiply(Decimal(2), PI))

    def of(self, x: Fraction | int) -> Decimal:
        return self.divide(Decimal(x.numerator), Decimal(x.denominator))

    def exp(self, x: Decimal) -> Decimal:
        return max(Decimal(0), self._beside(self.context.exp(x)))

    def ln(self, x: Decimal) -> Decimal:
        return self._beside(self.context.ln(x))

    def sqrt(self, x: Decimal) -> Decimal:
        return max(Decimal(0), self._beside(self.context.sqrt(x)))

    def _beside(self, x: Decimal) -> Decimal:
        return self.context.next_plus(x) if self.is_upper else self.context.next_minus(x)


UP, DOWN = Bound(decimal.ROUND_CEILING), Bound(decimal.ROUND_FLOOR)


# Discrete Laplace: P(|Z| >= t) = 2 a^t / (1 + a) for t >= 1, where a = exp(-1 / scale)


def laplace_tail(scale: Fraction, t: int) -> Fraction:
    """P(|Z| >= t), rounded up.

    >>> round(float(laplace_tail(Fraction(2), 3)), 4)
    0.2778
    """
    if t <= 0:
        return Fraction(1)
    power = UP.exp(UP.of(-t / Fraction(scale)))
    return _probability(UP.divide(UP.multiply(Decimal(2), power), _one_and_ratio(scale)))


def laplace_half_width(scale: Fraction, confidence: object) -> int:
    """The least w with P(|Z| <= w) >= confidence: 2 a^(w+1) / (1 + a) <= 1 - confidence, solved for w.

    >>> laplace_half_width(Fraction(10), "0.95")
    30
    """
    beyond = 1 - _between_0_and_1("confidence", confidence)
    odds = UP.divide(Decimal(2), DOWN.multiply(DOWN.of(beyond), _one_and_ratio(scale)))
    return math.ceil(UP.multiply(UP.of(scale), UP.ln(odds))) - 1  # the odds are above 1, so this is 0 or more


def each_of(confidence: object, count: int) -> Fraction:
    """The confidence that each of `count` independent noises needs for all of them together: its root, rounded up.

    >>> round(float(each_of("0.95", 10)), 6)
    0.994884
    """
    together = _between_0_and_1("confidence", confidence)
    if count <= 1:
        return together
    each = UP.exp(UP.divide(UP.ln(UP.of(together)), Decimal(count)))
    return min(Fraction(each), 1 - (1 - together) / count)  # below 1, and enough by the union bound


def laplace_edge(scale: Fraction, reach: int) -> Fraction:
    """P(Z = k) given |Z| <= k, rounded up: a^k (1 - a) / (1 + a - 2 a^(k+1)), where a = exp(-1 / scale).

    >>> round(float(laplace_edge(Fraction(2), 3)), 4)
    0.0657
    """
    scale = Fraction(scale)
    below_1 = UP.subtract(Decimal(1), DOWN.exp(DOWN.of(-1 / scale)))
    top = UP.multiply(UP.exp(UP.of(-reach / scale)), below_1)
    bottom = DOWN.subtract(_one_and_ratio(scale), UP.multiply(Decimal(2), UP.exp(UP.of(-(reach + 1) / scale))))
    return _probability(UP.divide(top, bottom)) if bottom > 0 else Fraction(1)


def _one_and_ratio(scale: Fraction) -> Decimal:
    """1 + exp(-1 / scale), rounded down."""
    return DOWN.add(Decimal(1), DOWN.exp(DOWN.of(-1 / Fraction(scale))))


# Discrete Gaussian


def gaussian_tail(sigma2: Fraction, t: int) -> Fraction:
    """P(|Z| >= t), rounded up.

    From SMALL on, the sum of f from t is at most its integral from t - 1, as f decreases, or from t - 1/2 where f is
    convex, beyond sigma; and N is at least sigma sqrt(2 pi), its integral, by Poisson's summation formula.
    """
    sigma2 = Fraction(sigma2)
    if t <= 0:
        return Fraction(1)
    if sigma2 < SMALL:
        return _probability(UP.multiply(Decimal(2), _at_least(t, sigma2, UP)))
    middle = t - Fraction(1, 2)
    start = middle if middle**2 >= sigma2 else Fraction(t - 1)
    return _probability(UP.multiply(Decimal(2), _normal_tail(start, sigma2, UP)))


@lru_cache
def gaussian_half_width(sigma2: Fraction, confidence: object) -> int:
    """A w with P(|Z| <= w) >= confidence: the least, or from SMALL on at most 1 more.

    >>> gaussian_half_width(Fraction(100), "0.95")
    20
    """
    beyond = 1 - _between_0_and_1("confidence", confidence)
    low, high = -1, 1
    while gaussian_tail(sigma2, high + 1) > beyond:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gaussian_tail(sigma2, middle + 1) <= beyond else (middle, high)
    return high


def gaussian_delta(sigma2: Fraction, sensitivity: int, epsilon: Fraction) -> Fraction:
    """The delta, rounded up, with which Z is (epsilon, delta)-private for one integer that changes by at most Delta.

    It is P(Z > a) - e^epsilon P(Z > a + Delta) with a = epsilon sigma2 / Delta - Delta / 2 (Canonne, Kamath and Steinke
    2020, theorem 7). A smaller change d has a smaller delta: the best event is a half-line, as f is log-concave, and
    P(Z <= c) - e^epsilon P(Z <= c - d) grows with d. For a vector of which one record changes several entries this is
    no proof (the discrete Gaussian is not round): take `sigma2_for` with `zcdp_rho`.

    From SMALL on: N delta is the sum of g(z) = f(z) (1 - exp(-(z - a) Delta / sigma2)) over z > a. As g is log-concave
    it rises, then falls, so the sum is at most its integral and its maximum. The integral is the formula of the
    continuous Gaussian. The maximum is at most f(a) Delta / (e a) if a > 0, as 1 - exp(-x) <= x and
    f(a + y) <= f(a) exp(-a y / sigma2); and at most f(a), or 1 if a < 0.
    """
    sigma2, Delta = Fraction(sigma2), _whole("sensitivity", sensitivity)
    epsilon = min(Fraction(epsilon), Fraction(10**9))  # a promise for 10^9 is one for more
    a = epsilon * sigma2 / Delta - Fraction(Delta, 2)
    grown = DOWN.exp(DOWN.of(epsilon))
    if sigma2 < SMALL:
        first, second = math.floor(a) + 1, math.floor(a + Delta) + 1
        taken = DOWN.multiply(grown, _at_least(second, sigma2, DOWN))
        return _probability(UP.subtract(_at_least(first, sigma2, UP), taken))
    taken = DOWN.multiply(grown, _normal_tail(a + Delta, sigma2, DOWN))
    integral = UP.subtract(_normal_tail(a, sigma2, UP), taken)
    top = UP.exp(UP.of(-(max(a, Fraction(0)) ** 2) / (2 * sigma2)))
    if a > 0:
        top = UP.multiply(top, min(Decimal(1), UP.divide(UP.of(Delta / a), DOWN.exp(Decimal(1)))))
    return _probability(UP.add(integral, UP.divide(top, DOWN.multiply(DOWN.sqrt(DOWN.of(sigma2)), DOWN.root_2_pi))))


def normal_delta(sigma2: Fraction, apart: Fraction, epsilon: Fraction) -> Fraction:
    """The delta, rounded down, that normal noise shows at epsilon on two numbers so far apart (Balle and Wang 2018).

    It is P(X > a) - e^epsilon P(X > a + apart) with a = epsilon sigma2 / apart - apart / 2: beyond a one density is
    e^epsilon times the other and more, so no other event has a larger difference.

    >>> epsilon = Fraction(1)
    >>> [f"{float(normal_delta(Fraction(16), Fraction(apart), epsilon)):.2e}" for apart in ("1", "1.5")]
    ['2.92e-06', '7.20e-04']
    """
    sigma2, apart, epsilon = _above_zero("sigma2", sigma2), _above_zero("apart", apart), Fraction(epsilon)
    a = epsilon * sigma2 / apart - apart / 2
    taken = UP.multiply(UP.exp(UP.of(epsilon)), _normal_tail(a + apart, sigma2, UP))
    shown = DOWN.subtract(_normal_tail(a, sigma2, DOWN), taken)
    return Fraction(shown) if shown > TINY else Fraction(0)


# How much noise a promise needs


@lru_cache
def gaussian_sigma2(sensitivity: int, epsilon: Fraction, delta: Fraction) -> Fraction:
    """A sigma^2 for (epsilon, delta), checked with `gaussian_delta`: the least with a mantissa of 16 bits, as a rule.

    >>> epsilon, delta = Fraction(1), Fraction(1, 10**6)
    >>> round(float(gaussian_sigma2(1, epsilon, delta)), 3), round(float(sigma2_for(1, zcdp_rho(epsilon, delta))), 3)
    (17.9, 20.529)
    """
    delta, epsilon = _between_0_and_1("delta", delta), _above_zero("epsilon", epsilon)
    enough = sigma2_for(sensitivity, zcdp_rho(epsilon, delta))
    high = (floor_log2(enough) + 1) << 15  # the number of a 16-bit mantissa: its exponent, then its other 15 bits
    while gaussian_delta(_of_16_bits(high), sensitivity, epsilon) > delta:
        high += 1 << 15
    low = high
    while gaussian_delta(_of_16_bits(low), sensitivity, epsilon) <= delta:
        low, high = low - (1 << 15), low
    while high - low > 1:
        middle = (low + high) // 2
        fine = gaussian_delta(_of_16_bits(middle), sensitivity, epsilon) <= delta
        low, high = (low, middle) if fine else (middle, high)
    return _of_16_bits(high)


def sigma2_for(sensitivity: Fraction | int, rho: Fraction) -> Fraction:
    """Delta^2 / (2 rho), at which the discrete Gaussian is rho-zCDP for an L2 sensitivity Delta, of a vector too."""
    return Fraction(sensitivity) ** 2 / (2 * _above_zero("rho", rho))


def _of_16_bits(number: int) -> Fraction:
    exponent, bits = divmod(number, 1 << 15)
    return ((1 << 15) + bits) * power_of_two(exponent - 15)


# Sums and integrals


def _at_least(t: int, sigma2: Fraction, bound: Bound) -> Decimal:
    """P(Z >= t) for a small sigma2, bounded."""
    if t <= 0:
        return bound.subtract(Decimal(1), _at_least(1 - t, sigma2, bound.opposite))
    other = bound.opposite
    normaliser = other.add(Decimal(1), other.multiply(Decimal(2), _sum_from(1, sigma2, other)))
    return bound.divide(_sum_from(t, sigma2, bound), normaliser)


@lru_cache
def _sum_from(t: int, sigma2: Fraction, bound: Bound) -> Decimal:
    """The sum of f(z) over z >= t, for t >= 1, bounded: f(z + 1) / f(z) shrinks by exp(-1 / sigma2) with each step."""
    term = bound.exp(bound.of(-(t**2) / (2 * sigma2)))
    ratio = bound.exp(bound.of(-(2 * t + 1) / (2 * sigma2)))
    shrink = bound.exp(bound.of(-1 / sigma2))
    total, negligible = Decimal(0), max(TINY, bound.multiply(term, NEGLIGIBLE))
    while term > negligible:
        total = bound.add(total, term)
        term, ratio = bound.multiply(term, ratio), bound.multiply(ratio, shrink)
    if bound.is_upper:  # what is left is less than a geometric series
        total = UP.add(total, UP.divide(term, DOWN.subtract(Decimal(1), ratio)))
    return total


def _normal_tail(a: Fraction, sigma2: Fraction, bound: Bound) -> Decimal:
    """P(X > a), bounded, for X normal with variance sigma2."""
    if a < 0:
        return bound.subtract(Decimal(1), _normal_tail(-a, sigma2, bound.opposite))
    x = bound.opposite.sqrt(bound.opposite.of(a**2 / sigma2))
    return _tail_by_series(x, bound) if x < 5 else bound.multiply(_density(x, bound), _mills_ratio(x, bound))


def _tail_by_series(x: Decimal, bound: Bound) -> Decimal:
    """1/2 less phi(x) (x + x^3/3 + x^5/(3 5) + ...), where phi is the density."""
    other = bound.opposite
    square = other.multiply(x, x)
    total, term, n = Decimal(0), x, 1
    while term > NEGLIGIBLE or square > n:
        total, n = other.add(total, term), n + 2
        term = other.divide(other.multiply(term, square), Decimal(n))
    if other.is_upper:  # the terms left shrink by square / (n + 2) and more
        total = UP.add(total, UP.divide(term, DOWN.subtract(Decimal(1), UP.divide(square, Decimal(n + 2)))))
    return bound.subtract(Decimal("0.5"), other.multiply(_density(x, other), total))


def _mills_ratio(x: Decimal, bound: Bound) -> Decimal:
    """1/(x + 1/(x + 2/(x + 3/...))), the tail over phi(x), cut off after an even number of steps if an upper bound.

    All numbers are positive, so each step turns an upper bound of what is below it into a lower one, and back: rounding
    in turns from DOWN at the bottom (x itself is exact) ends on the side that the last division needs.
    """
    steps, side, below = 200 if bound.is_upper else 201, DOWN, x
    for k in range(steps, 0, -1):
        side = side.opposite
        below = side.add(x, side.divide(Decimal(k), below))
    return bound.divide(Decimal(1), below)


def _density(x: Decimal, bound: Bound) -> Decimal:
    exponent = bound.divide(bound.opposite.multiply(x, x).copy_negate(), Decimal(2))
    return bound.divide(bound.exp(exponent), bound.opposite.root_2_pi)


# Arguments and results


def _probability(bound: Decimal) -> Fraction:
    """An upper bound as a Fraction, kept above 10^-2000, as its digits would fill the memory far below."""
    return min(Fraction(1), Fraction(max(bound, TINY)))


def _above_zero(name: str, value: object) -> Fraction:
    number = exact(value, name)
    if is_special(number):
        raise RefusedValue(
            name, Reason.NOT_A_NUMBER, "`{option}={given}`:", "give a finite number above 0", given=quote(value)
        )
    if number <= 0:
        raise RefusedValue(
            name, Reason.TOO_SMALL, "`{option}={given}`:", "give a finite number above 0", given=quote(value)
        )
    return Fraction(number)


def _between_0_and_1(name: str, value: object) -> Fraction:
    number = exact(value, name)
    if is_special(number):
        raise RefusedValue(
            name,
            Reason.NOT_A_NUMBER,
            "`{option}={given}`:",
            "give a number between 0 and 1, such as 0.95",
            given=quote(value),
        )
    if number <= 0:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}`:",
            "give a number between 0 and 1, such as 0.95",
            given=quote(value),
        )
    if number >= 1:
        raise RefusedValue(
            name,
            Reason.TOO_LARGE,
            "`{option}={given}`:",
            "give a number between 0 and 1, such as 0.95",
            given=quote(value),
        )
    return Fraction(number)


def _whole(name: str, value: int) -> int:
    if value != int(value):
        raise RefusedValue(
            name,
            Reason.NOT_WHOLE,
            "`{option}={given}`: noise on integers needs a whole number of steps",
            "give one, 1 or more",
            given=quote(value),
        )
    if value < 1:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}`: noise is needed where something can change",
            "give a whole number of steps, 1 or more",
            given=quote(value),
        )
    return int(value)
