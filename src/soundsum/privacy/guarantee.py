"""The guarantee of a release, and the noise that provides it.

All exact: epsilon, delta and rho are Fractions, and sensitivities are integers in the steps that the noise lives on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from soundsum.numbers import formatting
from soundsum.numbers.quoting import is_hashable
from soundsum.privacy.choice import RankNorms
from soundsum.privacy.cost import Cost
from soundsum.privacy.noise import Noise, NoNoise
from soundsum.privacy.noises import NOISES
from soundsum.privacy.units import Norms
from soundsum.refusals import Reason, RefusedValue

LARGE, SMALL = 1000, Fraction(1, 10**12)
"""Epsilons from which on a single record shows for certain, and below which a million million of them do not."""

LARGEST_SCALE = Fraction(2) ** 4096
"""A scale beyond this is refused: nothing could be read from such a release."""


@dataclass(frozen=True)
class Guarantee:
    """A kind of noise and its parameters: epsilon alone (pure), rho (zCDP), or epsilon and delta."""

    noise: type[Noise]
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    @cached_property
    def cost(self) -> Cost:
        """The cost charged to a budget."""
        return Cost(self.epsilon, self.delta, self.rho)

    def share(self, part: Fraction) -> Guarantee:
        """A part of it, for one of several releases that compose to the whole."""
        return Guarantee(
            self.noise,
            None if self.epsilon is None else self.epsilon * part,
            self.delta * part,
            None if self.rho is None else self.rho * part,
        )

    def divide(
        self, tasks: Sequence[Sequence[Norms[int]]], weights: Sequence[Fraction]
    ) -> list[tuple[Guarantee, tuple[Noise, ...]]]:
        """Divide the guarantee by weight between the tasks that need noise, and scale the noise of their parts.

        The shares of those that do add up to the whole, exactly; what needs no noise keeps any promise.
        """
        return _divide(self, tuple(map(tuple, tasks)), tuple(weights))

    def noises_for(self, several: Sequence[Norms[int]]) -> tuple[Noise, ...]:
        """The noise of each of several that are released together: equal shares for those that need any."""
        share = self.share(Fraction(1, max(1, sum([norms.l1 > 0 for norms in several]))))
        return tuple([share.noise_for(norms) for norms in several])

    def noise_for(self, norms: Norms[int]) -> Noise:
        """The noise for an integer, or a vector of them, that one unit can move so far."""
        if norms.l1 == 0:
            return NoNoise()
        if isinstance(norms, RankNorms):
            fitted: Noise = norms.choose_by(self.epsilon, self.rho)
            scale = 1 / fitted.parameter
        else:
            fitted = self.noise.fit(norms, self.epsilon, self.delta, self.rho)
            scale = fitted.parameter
        if scale > LARGEST_SCALE:
            raise RefusedValue(
                "epsilon" if self.rho is None else "rho",
                Reason.TOO_SMALL,
                "{guarantee} is absurdly small: the noise would be beyond 2^4096 steps",
                "give a larger one",
                guarantee=str(self),
            )
        return fitted

    def __str__(self) -> str:
        said = ", ".join(f"{name}={formatting.amount(Fraction(x))}" for name, x in self._given().items())
        return f"{said}{self._remark()}"

    def to_json(self) -> dict[str, str]:
        return {name: str(x) for name, x in self._given().items()}

    def _remark(self) -> str:
        """Warn of a guarantee that cannot be meant."""
        epsilon, rho = self.epsilon or 0, self.rho or 0  # a rho is about half of an epsilon squared
        if max(epsilon**2, 2 * rho) >= LARGE**2:
            return " (no privacy to speak of)"
        return " (nothing but noise)" if max(epsilon**2, 2 * rho) < SMALL**2 else ""

    def _given(self) -> dict[str, Fraction]:
        named = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return {name: x for name, x in named.items() if x is not None}


@lru_cache(maxsize=256)
def _divide(
    whole: Guarantee, tasks: tuple[tuple[Norms[int], ...], ...], weights: tuple[Fraction, ...]
) -> list[tuple[Guarantee, tuple[Noise, ...]]]:
    needs = [any(norms.l1 for norms in parts) for parts in tasks]
    needy, every = sum([w for w, needed in zip(weights, needs, strict=True) if needed]), sum(weights)
    shares = [whole.share(w / (needy if needed else every)) for w, needed in zip(weights, needs, strict=True)]
    return [(share, share.noises_for(parts)) for share, parts in zip(shares, tasks, strict=True)]


def guarantee(epsilon: Any = None, delta: Any = None, rho: Any = None, noise: str = "laplace") -> Guarantee:
    """Check the requested guarantee: every parameter positive and finite, and of a kind the noise can keep."""
    kind = NOISES.find(noise)
    if not all(is_hashable(given) for given in (epsilon, delta, rho)):  # no numbers, as is then said
        return Guarantee(kind, *kind.accept(epsilon, delta, rho))
    return _guarantee(kind, epsilon, delta, rho)


@lru_cache(maxsize=256, typed=True)
def _guarantee(kind: type[Noise], epsilon: Any, delta: Any, rho: Any) -> Guarantee:
    return Guarantee(kind, *kind.accept(epsilon, delta, rho))
