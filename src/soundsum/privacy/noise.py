"""The interface of every kind of noise: the guarantees it can provide, its scale, and how it is drawn.

Noise is added to integers, so a kind is a family of distributions on the integers with one parameter. A new kind is one
file in `noises/`, or a class registered from anywhere: a frozen dataclass whose only field is `parameter`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from soundsum.numbers.types import IntType
from soundsum.privacy.units import Norms
from soundsum.refusals import Reason, RefusedValue
from soundsum.registry import Registry


@dataclass(frozen=True)
class Noise(ABC):
    """Noise of one kind, with its parameter: exact, so that its distribution is the one the proof is about."""

    parameter: Fraction

    name: ClassVar[str]
    parameter_name: ClassVar[str]

    @classmethod
    @abstractmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        """Epsilon, delta and rho, checked; refuses what this kind cannot keep."""

    @classmethod
    @abstractmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Noise:
        """Enough of it for integers that one unit can move so far, not all zero."""

    @abstractmethod
    def draw(self, count: int) -> list[int]:
        """Independent draws."""

    def add_to(self, sums: Sequence[int], wraps: IntType | None = None) -> list[int]:
        """Add an independent draw to each sum, in the arithmetic of `wraps` where sums are known only modulo 2^w.

        Two sums at modular distance d are d apart for some choice of representatives, so noise hides d as it does
        between integers, and wrapping afterwards is post-processing (`thm:modularnoise`). Unwrapped, it hides nothing
        near the ends of the type: -128 and 127 are one apart in int8.

        >>> NoNoise().add_to([127, 128], IntType(8))
        [127, -128]
        """
        noisy = [total + z for total, z in zip(sums, self.draw(len(sums)), strict=True)]
        return noisy if wraps is None else [wraps.wrap(total) for total in noisy]

    @abstractmethod
    def half_width(self, confidence: float | Fraction) -> int:
        """The least w, or one more, with |noise| <= w at this confidence, in steps."""


NOISES: Registry[type[Noise]] = Registry("noise", first=("laplace", "gaussian"))
"""The kinds of noise that can be asked for."""


@dataclass(frozen=True)
class NoNoise(Noise):
    """The noise where no unit can move anything: none."""

    parameter: Fraction = Fraction(0)

    name = "none"
    parameter_name = "sigma_squared"

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        raise RefusedValue(
            "noise",
            Reason.UNSUPPORTED,
            "`noise='none'` cannot be asked for: noise is left out where no record can change the result",
            "leave `noise` out",
        )

    @classmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Noise:
        return cls()

    def draw(self, count: int) -> list[int]:
        return [0] * count

    def half_width(self, confidence: float | Fraction) -> int:
        return 0
