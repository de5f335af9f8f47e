"""What a release promises, and the noise that keeps it: Laplace for pure epsilon, Gaussian for zCDP or with a delta.

All exact: a budget given as a float is taken at its binary value, sensitivities are integers in steps of the lattice
the noise lives on, and scales are Fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from soundsum import noise as samplers
from soundsum.distributions import gaussian_half_width, gaussian_sigma2, laplace_half_width, zcdp_rho
from soundsum.rationals import exact, is_special
from soundsum.units import Moved

NoiseKind: TypeAlias = Literal["laplace", "gaussian"]

LARGEST_SCALE = Fraction(2) ** 4096
"""A scale beyond this is refused: nothing could be read from such a release."""


@dataclass(frozen=True)
class Guarantee:
    """One promise: epsilon alone (pure), rho (zCDP), or epsilon and delta."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @property
    def kind(self) -> NoiseKind:
        return "laplace" if self.rho is None and not self.delta else "gaussian"

    def part(self, share: Fraction) -> Guarantee:
        """A share of the promise, for one of several releases that compose to the whole."""
        return Guarantee(
            None if self.epsilon is None else self.epsilon * share,
            self.delta * share,
            None if self.rho is None else self.rho * share,
        )

    def noise(self, moved: Moved[int]) -> Noise:
        """The noise for an integer statistic, or a vector of them, that one unit can move so far."""
        if moved.l1 == 0:
            return Noise("none", Fraction(0))
        if self.rho is not None:
            noise = Noise("gaussian", Fraction(moved.l2_squared) / (2 * self.rho))
        elif self.delta:
            assert self.epsilon is not None
            if moved.entries == 1:  # its own delta, exactly
                sigma2 = gaussian_sigma2(moved.l1, self.epsilon, self.delta)
            else:  # the discrete Gaussian is not the same in every direction: through zCDP
                sigma2 = Fraction(moved.l2_squared) / (2 * zcdp_rho(self.epsilon, self.delta))
            noise = Noise("gaussian", sigma2)
        else:
            assert self.epsilon is not None
            noise = Noise("laplace", Fraction(moved.l1) / self.epsilon)
        if noise.parameter > LARGEST_SCALE:
            raise ValueError(f"{self} is absurdly small: the noise would be beyond 2^4096 steps; give a larger one")
        return noise

    def __str__(self) -> str:
        if self.rho is not None:
            return f"rho={_shown(self.rho)}"
        return f"epsilon={_shown(self.epsilon)}" + (f", delta={_shown(self.delta)}" if self.delta else "")

    def as_json(self) -> dict[str, str]:
        named = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return {name: str(value) for name, value in named.items() if value is not None}


@dataclass(frozen=True)
class Noise:
    """A discrete distribution on the integers: Laplace with a scale, Gaussian with a variance parameter, or none."""

    kind: Literal["laplace", "gaussian", "none"]
    parameter: Fraction

    def draw(self, count: int) -> list[int]:
        if self.kind == "none":
            return [0] * count
        many = samplers.discrete_laplace_many if self.kind == "laplace" else samplers.discrete_gaussian_many
        return [int(z) for z in many(self.parameter, count)]

    def half_width(self, confidence: float) -> int:
        """The least w with |noise| <= w at this confidence, in steps."""
        if self.kind == "none":
            return 0
        return _half_width(self.kind, self.parameter, confidence)


@lru_cache(maxsize=256)
def _half_width(kind: NoiseKind, parameter: Fraction, confidence: float) -> int:
    """Kept, as all groups of a release have the same noise."""
    return (laplace_half_width if kind == "laplace" else gaussian_half_width)(parameter, confidence)


def guarantee(epsilon: Any = None, delta: Any = None, rho: Any = None, noise: NoiseKind = "laplace") -> Guarantee:
    """The promise asked for, checked: every parameter positive and finite, and of a kind the noise can keep."""
    if noise not in ("laplace", "gaussian"):
        raise ValueError(f'noise={noise!r} is neither "laplace" nor "gaussian"')
    if noise == "laplace":
        if delta is not None or rho is not None:
            raise ValueError('Laplace noise is pure: give epsilon alone, or noise="gaussian" with delta or rho')
        return Guarantee(_positive("epsilon", epsilon))
    if rho is not None:
        if epsilon is not None or delta is not None:
            raise ValueError("give rho, or epsilon and delta, not both")
        return Guarantee(rho=_positive("rho", rho))
    checked = _positive("delta", delta)
    if checked >= 1:
        raise ValueError(f"delta={delta}: a delta is below 1, and far below in practice")
    return Guarantee(_positive("epsilon", epsilon), checked)


def _shown(x: Fraction | None) -> str:
    return str(x) if x is None or x.denominator < 10**20 else f"{float(x):.6g}" if x > 2**-1000 else "below 2^-1000"


def _positive(name: str, value: Any) -> Fraction:
    if value is None:
        raise ValueError(f"{name} is missing; give a number above 0, such as {name}={'1e-6' if name == 'delta' else 1}")
    number = exact(value, name)
    if is_special(number) or number <= 0:
        raise ValueError(f"{name}={value}: a privacy parameter is a finite number above 0")
    return Fraction(number)
