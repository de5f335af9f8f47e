"""What every family of attacks has in common: where it applies, how it builds a pair, and which parameters to try.

A family's theorem has parameters with conditions; `whole` and `exponent` check them and name the nearest that work.
Every float family may be scaled by a power of two without changing a rounding, which is how it is fitted to bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from soundsum.attacks.attack import Attack
from soundsum.numbers import FloatType, IntType, NumberType
from soundsum.problem import Problem
from soundsum.rationals import floor_log2, power_of_two
from soundsum.relations import Relation
from soundsum.runs import Runs

ORDERED_SIZED = (Relation.HAMMING, Relation.CHANGE_ONE)
UNORDERED = (Relation.SYMMETRIC, Relation.CHANGE_ONE)
ANY_UNSIZED_FIRST = (Relation.INSERT_DELETE, Relation.SYMMETRIC, Relation.HAMMING, Relation.CHANGE_ONE)
ANY_SIZED_FIRST = (Relation.CHANGE_ONE, Relation.HAMMING, Relation.INSERT_DELETE, Relation.SYMMETRIC)


@dataclass(frozen=True)
class Setting:
    """What is not the theorem's choice: the type, the relation, bounds and a target where they are given."""

    kind: NumberType
    relation: Relation
    bounds: tuple[Fraction, Fraction] | None = None
    target: Callable[[Any], Any] | None = None

    @property
    def floats(self) -> FloatType:
        return cast(FloatType, self.kind)

    @property
    def integers(self) -> IntType:
        return cast(IntType, self.kind)

    def problem(self, lower: Fraction | int, upper: Fraction | int, size: int) -> Problem:
        """The problem with the bounds given, or else the attack's own; its size where that is public."""
        lower, upper = self.bounds or (lower, upper)
        return Problem(self.kind, lower, upper, self.relation, size if self.relation.sized else None)

    def runs(self, *parts: tuple[Any, int]) -> Runs:
        return Runs(self.kind, parts)

    def ideal(self, lower: Fraction | int, upper: Fraction | int) -> Fraction:
        return self.problem(lower, upper, 0).ideal


@dataclass(frozen=True)
class Wish:
    """How strong or how small an attack should be."""

    ratio: Fraction | None = None
    max_records: int | None = None


@dataclass(frozen=True)
class Family:
    """One way that arithmetic goes wrong; among its `candidates` are the best parameters for any wish."""

    name: str
    goes_wrong: str
    types: str
    default: NumberType
    relations: tuple[Relation, ...]
    parameters: Mapping[str, str]  # name and what it is, for people
    build: Callable[..., Attack]
    candidates: Callable[[Setting, Wish], Iterable[dict[str, Any]]]
    least_k: int | None = None  # None: for integers
    signed_only: bool = False
    mirrors: bool = False  # whether it may be turned over for bounds below zero

    def unmet(self, kind: NumberType) -> str | None:
        """Why the family does not apply to a type, or None if it does."""
        if self.least_k is None:
            if not isinstance(kind, IntType):
                return "it is about integers"
            if kind.bits < 2:
                return "it needs at least 2 bits"
            return "it needs negative numbers" if self.signed_only and not kind.signed else None
        if not isinstance(kind, FloatType):
            return "it is about floats"
        return None if kind.k >= self.least_k else f"it needs at least {self.least_k} mantissa bits"


def whole(name: str, given: Any, low: int, high: int, condition: str) -> int:
    """A whole number within a theorem's condition, or an error with the nearest that is."""
    if not isinstance(given, int) or isinstance(given, bool):
        raise ValueError(f"{name}={given!r} is not a whole number; the condition is {condition}")
    if low > high:
        raise ValueError(f"{name}={given}: the condition is {condition}, which no {name} meets here")
    if not low <= given <= high:
        nearest = max(low, min(high, given))
        raise ValueError(f"{name}={given}: the condition is {condition}; the nearest that works is {name}={nearest}")
    return given


def exponent(
    setting: Setting,
    name: str,
    given: int | None,
    *,
    low: Fraction,
    high: Fraction,
    total: Fraction,
    least: int,
    preferred: int = 0,
) -> int:
    """The power of two to scale an attack by, so that its records fit the bounds and its sums the type.

    `low` and `high` are the attack's least and largest record and `total` its largest sum, all at exponent 0; below
    `least` its records are not representable.
    """
    kind = setting.floats
    most = floor_log2(kind.max / total)
    if least > most:
        raise ValueError(f"the sums would not fit {kind}, which ends at {kind.max}; use smaller parameters")
    lower, upper = setting.bounds or (None, None)
    if given is None and upper is not None:
        given = min(most, floor_log2(upper / high)) if upper > 0 else least
        given = max(least, given)
    elif given is None:
        given = max(least, min(most, preferred))
    whole(name, given, least, most, f"{least} <= {name} <= {most}, so that records and sums are values of {kind}")
    low, high = low * power_of_two(given), high * power_of_two(given)
    if lower is not None and upper is not None and not (lower <= low and high <= upper):
        raise ValueError(
            f"bounds=({lower}, {upper}) do not hold this attack's records, which reach from {low} to {high}; "
            "give bounds that do, or other parameters"
        )
    return given
