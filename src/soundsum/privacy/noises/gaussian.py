"""Discrete Gaussian noise: zCDP, with sigma^2 = (L2 sensitivity)^2 / (2 rho); or epsilon with a delta.

For one integer, delta is that of the noise itself. For several that move at once it goes through zCDP, as the discrete
Gaussian is not the same in every direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from soundsum.numbers.quoting import quote
from soundsum.privacy import samplers
from soundsum.privacy.cost import parse_positive
from soundsum.privacy.distributions import gaussian_half_width, gaussian_sigma2
from soundsum.privacy.noise import NOISES, Noise
from soundsum.privacy.units import Norms
from soundsum.privacy.zcdp import zcdp_rho
from soundsum.refusals import Reason, RefusedValue


@NOISES.register
@dataclass(frozen=True)
class Gaussian(Noise):
    name = "gaussian"
    parameter_name = "sigma_squared"

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        if rho is not None:
            if epsilon is not None or delta is not None:
                raise RefusedValue(
                    "rho",
                    Reason.CONFLICT,
                    "`rho` is given together with `epsilon` or `delta`",
                    "give `rho` alone, or `epsilon` and `delta`",
                )
            return None, Fraction(0), parse_positive("rho", rho)
        checked = parse_positive("delta", delta)
        if checked >= 1:
            raise RefusedValue(
                "delta",
                Reason.TOO_LARGE,
                "`delta={given}`: a delta is below 1",
                "give one far below 1/(number of persons), such as 1e-6",
                given=quote(delta),
            )
        return parse_positive("epsilon", epsilon), checked, None

    @classmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Gaussian:
        if rho is None:
            assert epsilon is not None
            if norms.entries == 1:
                return cls(gaussian_sigma2(norms.l1, epsilon, delta))
            rho = zcdp_rho(epsilon, delta)
        return cls(Fraction(norms.l2_squared) / (2 * rho))

    def draw(self, count: int) -> list[int]:
        return samplers.listed(samplers.discrete_gaussian_many(self.parameter, count))

    def half_width(self, confidence: float | Fraction) -> int:
        return _half_width(self.parameter, confidence)


_half_width = lru_cache(maxsize=256)(gaussian_half_width)  # all groups of a release have the same noise
