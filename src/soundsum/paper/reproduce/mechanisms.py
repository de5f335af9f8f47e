"""The noise of other libraries, and the probability of an output: models, not mechanisms to use.

A mechanism here takes a sum that was already computed and says with which probability its output reaches a threshold,
exactly but for the digits of e^x, and draws outputs in the float arithmetic the library used. Where a library drew
Laplace noise as a float, the noise is taken as continuous: rounding it before it is added moves a probability by less
than one part in 2^20. The model rounds the addition itself as the library did, which is decisive.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.rationals import floor_log2, power_of_two, round_half_even
from soundsum.numbers.types import FloatType, IntType, double, float64
from soundsum.paper.reproduce.reproduction import DIGITS

Floats: TypeAlias = NDArray[np.float64]
Generator: TypeAlias = np.random.Generator


def exponential(x: Fraction) -> Decimal:
    """e^x to 50 digits."""
    return DIGITS.exp(DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator)))


def laplace_at_least(scale: Fraction, c: Fraction) -> Decimal:
    """P(Z >= c) for continuous Laplace noise.

    >>> laplace_at_least(Fraction(2), Fraction(0))
    Decimal('0.5')
    """
    half = DIGITS.divide(exponential(-abs(c) / scale), Decimal(2))
    return half if c >= 0 else DIGITS.subtract(Decimal(1), half)


def discrete_laplace_at_least(rate: Fraction, c: int) -> Decimal:
    """P(Z >= c) where P(Z = z) is proportional to exp(-rate |z|): a^c / (1 + a) for c >= 1."""
    if c < 1:
        return DIGITS.subtract(Decimal(1), discrete_laplace_at_least(rate, 1 - c))
    return DIGITS.divide(exponential(-rate * c), DIGITS.add(Decimal(1), exponential(-rate)))


class Mechanism(Protocol):
    """Sum in, noisy output out. Outputs and thresholds are values of the mechanism's own type."""

    def at_least(self, total: Fraction, threshold: Fraction) -> Decimal:
        """P(output >= threshold)."""
        ...

    def above(self, total: Fraction, threshold: Fraction) -> Decimal:
        """P(output > threshold)."""
        ...

    def draw(self, total: Fraction, runs: int, random: Generator) -> NDArray[Any]:
        """Fresh outputs, in the library's arithmetic."""
        ...


def laplace_by_inversion(scale: float, runs: int, random: Generator) -> Floats:
    """One uniform float and a logarithm: Chorus and PINQ."""
    u = 0.5 - random.random(runs)
    return np.asarray(-np.sign(u) * scale * np.log(1 - 2 * np.abs(u)))


def laplace_by_four(scale: float, runs: int, random: Generator) -> Floats:
    """Four uniform floats, against attacks on the noise's low bits (Holohan and Braghin 2021): diffprivlib."""
    u1, u2, u3, u4 = (random.random(runs) for _ in range(4))
    laplace = np.log(1 - u1) * np.cos(np.pi * u2) + np.log(1 - u3) * np.cos(np.pi * u4)
    return np.asarray(-scale * laplace)


@dataclass(frozen=True)
class FloatLaplace:
    """Laplace noise added in one rounded float addition, then perhaps cut off at public bounds."""

    scale: Fraction
    kind: FloatType = float64
    lower: Fraction | None = None
    upper: Fraction | None = None
    four_uniforms: bool = False

    def at_least(self, total: Fraction, threshold: Fraction) -> Decimal:
        if self.lower is not None and threshold <= self.lower:
            return Decimal(1)
        if self.upper is not None and threshold > self.upper:
            return Decimal(0)
        below = Fraction(self.kind.next_down(threshold))
        return laplace_at_least(self.scale, (below + threshold) / 2 - total)  # from half way up, sums round to it

    def above(self, total: Fraction, threshold: Fraction) -> Decimal:
        return self.at_least(total, Fraction(self.kind.next_up(threshold)))

    def draw(self, total: Fraction, runs: int, random: Generator) -> NDArray[Any]:
        sampler = laplace_by_four if self.four_uniforms else laplace_by_inversion
        dtype = np.dtype(self.kind.name)
        noise = sampler(double(Fraction(float64.round(self.scale))), runs, random).astype(dtype)
        noisy = np.asarray(double(total), dtype) + noise
        low = -math.inf if self.lower is None else double(self.lower)
        high = math.inf if self.upper is None else double(self.upper)
        return np.asarray(np.clip(noisy, low, high))


@dataclass(frozen=True)
class GridLaplace:
    """Google's Laplace noise: an integer of two-sided geometric noise times a power of two, added to the snapped sum.

    The grid is the power of two at or above (sensitivity/epsilon) 2^-40; one grid step is added to the sensitivity for
    the snapping. `share` is the part of epsilon this release may spend.
    """

    sensitivity: Fraction
    epsilon: Fraction
    share: Fraction = Fraction(1)

    @property
    def granularity(self) -> Fraction:
        least = self.sensitivity / self.epsilon / 2**40
        exponent = floor_log2(least)
        return power_of_two(exponent if power_of_two(exponent) == least else exponent + 1)

    @property
    def rate(self) -> Fraction:
        return self.granularity * self.epsilon * self.share / (self.sensitivity + self.granularity)

    def snap(self, total: Fraction) -> Fraction:
        return round_half_even(total / self.granularity) * self.granularity

    def at_least(self, total: Fraction, threshold: Fraction) -> Decimal:
        start, step = self.snap(total), self.granularity
        half_way = (Fraction(float64.next_down(threshold)) + threshold) / 2
        least = math.ceil((half_way - start) / step)
        if float64.round(start + least * step) < threshold:  # a tie that goes down
            least += 1
        return discrete_laplace_at_least(self.rate, least)

    def above(self, total: Fraction, threshold: Fraction) -> Decimal:
        return self.at_least(total, Fraction(float64.next_up(threshold)))

    def noise(self, runs: int, random: Generator) -> Floats:
        """The difference of two geometric variables, each by the logarithm of a uniform float, times the grid."""
        rate = float(self.rate)
        one, other = (np.floor(-np.log1p(-random.random(runs)) / rate) for _ in range(2))
        return np.asarray((one - other) * double(self.granularity))

    def draw(self, total: Fraction, runs: int, random: Generator) -> NDArray[Any]:
        return np.asarray(double(self.snap(total)) + self.noise(runs, random))


@dataclass(frozen=True)
class IntegerLaplace:
    """Discrete Laplace noise on an integer; the result is cut off at bounds, or taken modulo the type."""

    scale: Fraction
    lower: int | None = None
    upper: int | None = None
    modulo: IntType | None = None

    def at_least(self, total: Fraction, threshold: Fraction) -> Decimal:
        t = math.ceil(threshold)
        if self.modulo is not None:
            return self._modular(int(total), t, self.modulo)
        if self.lower is not None and t <= self.lower:
            return Decimal(1)
        if self.upper is not None and t > self.upper:
            return Decimal(0)
        return discrete_laplace_at_least(1 / self.scale, t - int(total))

    def above(self, total: Fraction, threshold: Fraction) -> Decimal:
        return self.at_least(total, Fraction(math.floor(threshold) + 1))

    def _modular(self, total: int, t: int, kind: IntType) -> Decimal:
        """The sum over all turns of the circle; those beyond a hundred scales weigh nothing in 40 digits."""
        turns = math.ceil(100 * self.scale / kind.modulus) + 1
        rate, result = 1 / self.scale, Decimal(0)
        for turn in range(-turns, turns + 1):
            low, high = (bound + turn * kind.modulus - total for bound in (t, kind.max + 1))
            part = DIGITS.subtract(discrete_laplace_at_least(rate, low), discrete_laplace_at_least(rate, high))
            result = DIGITS.add(result, part)
        return result

    def draw(self, total: Fraction, runs: int, random: Generator) -> NDArray[Any]:
        one, other = (np.floor(-np.log1p(-random.random(runs)) * float(self.scale)) for _ in range(2))
        noisy = [int(total) + int(z) for z in one - other]
        if self.modulo is not None:
            return np.array([float(self.modulo.wrap(x)) for x in noisy])
        low = -math.inf if self.lower is None else self.lower
        high = math.inf if self.upper is None else self.upper
        return np.array([float(max(low, min(high, x))) for x in noisy])


@dataclass(frozen=True)
class GoogleMean:
    """Google's bounded mean: half of epsilon for the count, half for the sum of distances from the middle; clamped.

    Takes the sum of the records; n of them, between lower and upper. The middle, the product n times it and the
    subtraction are float operations, as in the library; the count's noise is rounded to a whole number.
    """

    lower: Fraction
    upper: Fraction
    n: int
    epsilon: Fraction

    @property
    def middle(self) -> Fraction:
        half = float64.round((self.upper - self.lower) / 2)
        return Fraction(float64.add(self.lower, half))

    @property
    def sums(self) -> GridLaplace:
        return GridLaplace((self.upper - self.lower) / 2, self.epsilon, Fraction(1, 2))

    @property
    def counts(self) -> GridLaplace:
        return GridLaplace(Fraction(1), self.epsilon, Fraction(1, 2))

    def normalise(self, total: Fraction) -> Fraction:
        return Fraction(float64.add(total, -Fraction(float64.round(self.n * self.middle))))

    def at_least(self, total: Fraction, threshold: Fraction) -> Decimal:
        if threshold <= self.lower:
            return Decimal(1)
        if threshold > self.upper:
            return Decimal(0)
        below = Fraction(float64.next_down(threshold))
        needed = (below + threshold) / 2 - self.middle  # of the quotient; a tie is a matter of one grid step
        scale, start = self.counts.granularity / self.counts.rate, self.normalise(total)
        sums, result = self.sums, Decimal(0)
        reach = math.ceil(150 * scale)
        for z in range(-reach, reach + 1):  # the count's noise, rounded: beyond 150 scales it weighs nothing
            weight = DIGITS.subtract(
                laplace_at_least(scale, z - Fraction(1, 2)), laplace_at_least(scale, z + Fraction(1, 2))
            )
            least = math.ceil((max(1, self.n + z) * needed - sums.snap(start)) / sums.granularity)
            result = DIGITS.fma(weight, discrete_laplace_at_least(sums.rate, least), result)
        return result

    def above(self, total: Fraction, threshold: Fraction) -> Decimal:
        return self.at_least(total, Fraction(float64.next_up(threshold)))

    def draw(self, total: Fraction, runs: int, random: Generator) -> NDArray[Any]:
        count = np.maximum(1.0, self.n + np.round(self.counts.noise(runs, random)))
        noisy = self.sums.draw(self.normalise(total), runs, random)
        return np.clip(noisy / count + double(self.middle), double(self.lower), double(self.upper))
