"""What every kind of noise has in common: which guarantees it can keep, how much of it they need, and how it is drawn.

Noise is added to integers, so a kind is a family of distributions on the integers with one parameter. A new kind is one
file in `noises/`, or a class registered from anywhere: a frozen dataclass whose only field is `parameter`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from soundsum.arithmetic.rationals import decimal, is_special
from soundsum.arithmetic.words import shorten
from soundsum.privacy.cost import LARGEST
from soundsum.privacy.units import Norms
from soundsum.registry import Registry
from soundsum.shown import shown


@dataclass(frozen=True)
class Noise(ABC):
    """Noise of one kind, with its parameter: exact, so that its distribution is the one the proof is about."""

    parameter: Fraction

    name: ClassVar[str]
    parameter_name: ClassVar[str]

    @classmethod
    @abstractmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        """Epsilon, delta and rho, checked; a ValueError says what to give instead of what this kind cannot keep."""

    @classmethod
    @abstractmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Noise:
        """Enough of it for integers that one unit can move so far, not all zero."""

    @abstractmethod
    def draw(self, count: int) -> list[int]:
        """Independent draws."""

    @abstractmethod
    def half_width(self, confidence: float) -> int:
        """The least w, or one more, with |noise| <= w at this confidence, in steps."""


NOISES: Registry[type[Noise]] = Registry("noise", first=("laplace", "gaussian"))
"""The kinds of noise that can be asked for."""


@dataclass(frozen=True)
class NoNoise(Noise):
    """What is added where no unit can move anything."""

    parameter: Fraction = Fraction(0)

    name = "none"
    parameter_name = "sigma_squared"

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        raise ValueError('noise="none" cannot be asked for; it follows where no record moves the result')

    @classmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Noise:
        return cls()

    def draw(self, count: int) -> list[int]:
        return [0] * count

    def half_width(self, confidence: float) -> int:
        return 0


def positive(name: str, value: Any) -> Fraction:
    """A privacy parameter at its exact value: finite and above 0."""
    example = f"{name}={'1e-6' if name == 'delta' else 1}"
    if value is None:
        raise ValueError(f"{name} is missing; give a number above 0, such as {example}")
    number = decimal(value, name)
    if not is_special(number) and number > LARGEST:
        raise ValueError(f"{name}={shorten(value)} promises nothing; give a small number, such as 1 or 1/3")
    if is_special(number) or number <= 0:
        raise ValueError(f"{name}={shown(value)}: a privacy parameter is a finite number above 0, such as {example}")
    return Fraction(number)
