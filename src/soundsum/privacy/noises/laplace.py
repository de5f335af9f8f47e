"""Discrete Laplace noise: pure epsilon, with scale (L1 sensitivity) / epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from soundsum.privacy import samplers
from soundsum.privacy.cost import parse_positive
from soundsum.privacy.distributions import laplace_half_width
from soundsum.privacy.noise import NOISES, Noise
from soundsum.privacy.units import Norms
from soundsum.refusals import Reason, RefusedValue


@NOISES.register
@dataclass(frozen=True)
class Laplace(Noise):
    name = "laplace"
    parameter_name = "scale"

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        if delta is not None or rho is not None:
            raise RefusedValue(
                "rho" if delta is None else "delta",
                Reason.CONFLICT,
                "Laplace noise is pure: it has neither a delta nor a rho",
                "give `epsilon` alone, or `noise='gaussian'` with `delta` or `rho`",
            )
        return parse_positive("epsilon", epsilon), Fraction(0), None

    @classmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Laplace:
        assert epsilon is not None
        return cls(Fraction(norms.l1) / epsilon)

    def draw(self, count: int) -> list[int]:
        return samplers.listed(samplers.discrete_laplace_many(self.parameter, count))

    def half_width(self, confidence: float | Fraction) -> int:
        return _half_width(self.parameter, confidence)


_half_width = lru_cache(maxsize=256)(laplace_half_width)  # all groups of a release have the same noise
