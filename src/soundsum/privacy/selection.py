"""Groups that nobody listed: which of them may be named, by noisy numbers of persons above a threshold.

A person counts once in at most g groups. Every group gets noise of its own, and a group is released, with its noisy
count, where that reaches the threshold T. A group that nobody is in is never released. With discrete Laplace noise of
scale g/epsilon, truncated to [-k, k], and T = k + 1 this is (epsilon, 1 - (1 - d)^g)-DP for d = P(Z = k); with noise
that alone would be (epsilon, delta')-DP it is (epsilon, 1 - (1 - delta')(1 - t)^g)-DP for t = P(1 + Z >= T). Proofs:
docs/theorems/groups.md. No mechanism of pure epsilon-DP, or of zCDP, can name a group that one person alone is in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.privacy import samplers
from soundsum.privacy.cost import parse_positive
from soundsum.privacy.distributions import gaussian_tail, laplace_edge
from soundsum.privacy.guarantee import LARGEST_SCALE, Guarantee
from soundsum.privacy.noise import NOISES, Noise
from soundsum.privacy.noises.gaussian import Gaussian
from soundsum.privacy.noises.laplace import Laplace
from soundsum.privacy.units import FOUND, Norms, Unit
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

SPLITS = (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100))
"""Shares of delta that Gaussian noise may take for itself; the threshold gets the rest."""

KEPT, SPARE = 64, 128
"""Significant bits of the delta charged, and further bits with which it is computed."""


@dataclass(frozen=True)
class TruncatedLaplace(Noise):
    """Discrete Laplace noise, given that it lies in [-reach, reach]."""

    reach: int = 1

    name = "truncated_laplace"
    parameter_name = "scale"

    @classmethod
    def accept(cls, epsilon: Any, delta: Any, rho: Any) -> tuple[Fraction | None, Fraction, Fraction | None]:
        raise RefusedValue(
            "noise",
            Reason.UNSUPPORTED,
            "`noise='truncated_laplace'` is for finding groups alone",
            "leave `noise` out",
        )

    @classmethod
    def fit(cls, norms: Norms[int], epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> Noise:
        assert epsilon is not None
        return find_threshold(cls, epsilon, delta, norms).noise

    def draw(self, count: int) -> list[int]:
        return samplers.listed(self.draw_integers(count))

    def draw_integers(self, count: int) -> samplers.Integers:
        """Independent draws; those that lie too far out are drawn again."""
        drawn = np.asarray(samplers.discrete_laplace_many(self.parameter, count))
        again = np.flatnonzero(abs(drawn) > self.reach)
        while len(again):
            fresh = np.asarray(samplers.discrete_laplace_many(self.parameter, len(again)))
            drawn[again] = fresh
            again = again[abs(fresh) > self.reach]
        return drawn

    def half_width(self, confidence: float | Fraction) -> int:
        return self.reach


@dataclass(frozen=True)
class GroupPlan:
    """The cost of finding groups, and the number of persons from which a group is likely to be found.

    threshold: the least noisy number of persons that is released. A group of as many persons is found in more than half
        of all runs.
    delta: what is charged: at most what was asked for, as the threshold is a whole number.
    certain: from how many persons on a group is always found; None with Gaussian noise, where nothing is certain.
    """

    noise: Noise
    threshold: int
    epsilon: Fraction
    delta: Fraction
    asked_delta: Fraction
    norms: Norms[int]

    @property
    def guarantee(self) -> Guarantee:
        """Its part of a release's cost."""
        return Guarantee(type(self.noise), self.epsilon, self.delta)

    @property
    def certain(self) -> int | None:
        return self.threshold + self.noise.reach if isinstance(self.noise, TruncatedLaplace) else None

    def select(self, counts: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Choose the groups to release, by their numbers of persons: their places, and their noisy numbers.

        A group of nobody is not there, and no noise is drawn for it.
        """
        there = np.flatnonzero(counts)
        noise = self.noise
        drawn = noise.draw_integers(len(there)) if isinstance(noise, TruncatedLaplace) else noise.draw(len(there))
        noisy = counts[there] + np.asarray(drawn, object if self.is_wide else np.int64)
        is_kept = np.asarray(noisy >= self.threshold, bool)
        return there[is_kept], noisy[is_kept]

    @property
    def is_wide(self) -> bool:
        """Whether noise or threshold may not fit 64 bits."""
        return max(Fraction(self.threshold), self.noise.parameter) >= 1 << 50

    def to_json(self) -> dict[str, Any]:
        """Everything it promises, exact numbers as strings."""
        reach = {"reach": self.noise.reach} if isinstance(self.noise, TruncatedLaplace) else {}
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "asked_delta": str(self.asked_delta),
            "l1": self.norms.l1,
            "l2_squared": self.norms.l2_squared,
            "entries": self.norms.entries,
            "noise": self.noise.name,
            self.noise.parameter_name: str(self.noise.parameter),
            **reach,
            "threshold": self.threshold,
        }

    def __str__(self) -> str:
        always = "" if self.certain is None else f", and always from {self.certain:,} on"
        cost = f"epsilon={formatting.amount(self.epsilon)}, delta={formatting.amount(self.delta)}"
        return f"groups with {self.threshold:,} persons are found in more than half of all runs{always} ({cost})"

    def __repr__(self) -> str:
        return f"<{self}>"


@dataclass(frozen=True)
class Found:
    """Groups that nobody listed, as `groups=`: they are found first, and released for the same charge.

    delta: what finding them may cost, beside its share of epsilon; far below 1/(number of persons). It adds to the
        delta of the statistics, if they have one.
    weight: its share of epsilon, relative to the statistics.
    noise: "laplace", or "gaussian", whose threshold is lower from about four groups of a person on.

    >>> Found(delta="1e-9")
    Found(delta=Fraction(1, 1000000000), weight=1, noise='laplace')
    """

    delta: Any = None
    weight: Any = field(default=1, kw_only=True)
    noise: str = field(default="laplace", kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", read_delta(self.delta))
        _find_kind(self.noise)

    def to_json(self) -> dict[str, str]:
        return {"delta": str(self.delta), "noise": self.noise}


def search_unit(unit: Unit) -> Unit:
    """The unit of a search beside statistics of this unit: a person counts once in a group."""
    return Unit(FOUND, None if unit.max_rows is None else 1, unit.max_groups)


def plan_groups(
    epsilon: Any = None,
    delta: Any = None,
    max_groups: int = 1,
    *,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: str = "laplace",
) -> GroupPlan:
    """Plan the search for groups that nobody listed, before anything is spent.

    epsilon, delta: what finding them may cost.
    max_groups: how many groups a person counts in; of records, which are each in one group, leave it 1.
    relation: when two tables are neighbours; under "change_one" and "hamming" a record may move between two groups.
    noise: "laplace", or "gaussian", whose threshold is lower from about four groups on.

    >>> plan = plan_groups(epsilon=1, delta="1e-9", max_groups=4)
    >>> plan.threshold, plan.certain, plan.delta < Fraction(1, 10**9)
    (82, 163, True)
    """
    given = Relation.read(relation)
    if given.sized and max_groups != 1:
        raise RefusedValue(
            "max_groups",
            Reason.CONFLICT,
            "`max_groups={given}` is about persons, who need the relation symmetric and not {relation}",
            "leave one of the two out",
            given=quote(max_groups),
            relation=str(given),
        )
    unit = Unit(FOUND, None if given.sized else 1, max_groups)
    return plan_search(epsilon, delta, unit.norms(1, 1, given), noise)


def plan_search(epsilon: Any, delta: Any, norms: Norms[int], noise: str = "laplace", rho: Any = None) -> GroupPlan:
    """The plan for counts that one unit moves so far, or the refusal of a cost that no search can have."""
    if rho is not None:
        raise RefusedValue(
            "rho",
            Reason.UNSUPPORTED,
            "`rho={given}`: no search for groups has a rho, as a group of one person either can be found or never is",
            "give `epsilon` and `delta`, or list the groups",
            given=quote(rho),
        )
    return find_threshold(_find_kind(noise), parse_positive("epsilon", epsilon), read_delta(delta), norms)


def read_delta(delta: Any) -> Fraction:
    """The delta of a search: above 0 and below 1."""
    if delta is None:
        raise RefusedValue(
            "delta",
            Reason.MISSING,
            "`delta` is missing: with pure epsilon-DP no group could ever be found, as one person may be alone in it",
            "give one far below 1/(number of persons), such as `delta='1e-9'`, or list the groups",
        )
    allowed = parse_positive("delta", delta)
    if allowed >= 1:
        raise RefusedValue(
            "delta",
            Reason.TOO_LARGE,
            "`delta={given}`: a delta is below 1",
            "give one far below 1/(number of persons), such as 1e-9",
            given=quote(delta),
        )
    return allowed


def _find_kind(noise: str) -> type[Noise]:
    kinds: dict[type[Noise], type[Noise]] = {Laplace: TruncatedLaplace, Gaussian: Gaussian}
    kind = kinds.get(NOISES.find(noise))
    if kind is None:
        raise RefusedValue(
            "noise",
            Reason.UNSUPPORTED,
            "`noise={given}` has no proof for groups that are found",
            "leave `noise` out, or give 'gaussian'",
            given=quote(noise),
        )
    return kind


@lru_cache(maxsize=64)
def find_threshold(kind: type[Noise], epsilon: Fraction, delta: Fraction, norms: Norms[int]) -> GroupPlan:
    """The least threshold that delta allows, with the delta that it attains, rounded up."""
    if norms.l1 / epsilon > LARGEST_SCALE:
        raise RefusedValue(
            "epsilon",
            Reason.TOO_SMALL,
            "`epsilon={given}` is absurdly small: the noise would be beyond 2^4096 persons",
            "give a larger one",
            given=formatting.amount(epsilon),
        )
    if kind is not Gaussian:
        scale = norms.l1 / epsilon
        reach = _least(lambda k: combine(laplace_edge(scale, k), norms.entries) <= delta)
        attained = _round_up(combine(laplace_edge(scale, reach), norms.entries))
        return GroupPlan(TruncatedLaplace(scale, reach), reach + 1, epsilon, min(attained, delta), delta, norms)
    return min((_with_gaussian(epsilon, delta, share, norms) for share in SPLITS), key=lambda one: one.threshold)


def _with_gaussian(epsilon: Fraction, delta: Fraction, share: Fraction, norms: Norms[int]) -> GroupPlan:
    noise = Gaussian.fit(norms, epsilon, delta * share, None)

    def attain(threshold: int) -> Fraction:
        """With the mass at the threshold: P(1 + Z >= T) is half of P(|Z| >= T - 1)."""
        edge = gaussian_tail(noise.parameter, threshold - 1) / 2
        return delta * share + (1 - delta * share) * combine(edge, norms.entries)

    least = _least(lambda threshold: attain(threshold + 1) <= delta) + 1
    return GroupPlan(noise, least, epsilon, min(_round_up(attain(least)), delta), delta, norms)


def combine(chance: Fraction, groups: int) -> Fraction:
    """1 - (1 - d)^g, rounded up: the chance that one of g groups shows what each shows with chance d.

    >>> combine(Fraction(1, 2), 3)
    Fraction(7, 8)
    """
    if chance >= 1:
        return Fraction(1)
    bits = SPARE - floor_log2(chance)
    kept, power, left = 1 << bits, (1 - chance) * (1 << bits) // 1, groups
    while left:
        if left & 1:
            kept = kept * power >> bits
        power, left = power * power >> bits, left >> 1
    return Fraction((1 << bits) - kept, 1 << bits)


def _least(holds: Callable[[int], bool]) -> int:
    """The least number from 1 on for which it holds; it does for all larger ones."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _round_up(x: Fraction) -> Fraction:
    unit = power_of_two(floor_log2(x) - KEPT + 1)
    return -(-x // unit) * unit
