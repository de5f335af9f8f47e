"""The interface of families of attacks: where one applies, how it builds a pair, and which parameters to try.

A new family is one file in `families/`, or a `Family` registered in FAMILIES from anywhere.

A family's theorem has parameters with conditions; `whole` and `exponent` check them. Outside they raise `Unmet`, which
gives a range of whole numbers that holds the nearest working one; `choose` finds it by trying and names it. Every float
family may be scaled by a power of two without changing a rounding, which is how it is fitted to bounds.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np

from soundsum.attacks.attack import Attack
from soundsum.methods.problem import Problem
from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.numbers.types import FloatType, IntType, NumberType
from soundsum.refusals import Reason, RefusedValue
from soundsum.registry import Registry
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

ORDERED_SIZED = (Relation.HAMMING, Relation.CHANGE_ONE)
UNORDERED = (Relation.SYMMETRIC, Relation.CHANGE_ONE)
ANY_UNSIZED_FIRST = (Relation.INSERT_DELETE, Relation.SYMMETRIC, Relation.HAMMING, Relation.CHANGE_ONE)
ANY_SIZED_FIRST = (Relation.CHANGE_ONE, Relation.HAMMING, Relation.INSERT_DELETE, Relation.SYMMETRIC)


@dataclass(frozen=True)
class Situation:
    """The caller's choices: the type, the relation, and bounds and a target if given."""

    kind: NumberType
    relation: Relation
    bounds: tuple[Fraction, Fraction] | None = None
    target: Callable[[Any], Any] | str | None = None
    turned: bool = False  # whether the bounds are those given times -1, for an attack that will be turned over

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

    def as_given(self, low: Fraction, high: Fraction) -> str:
        """Two values in ascending order, on the scale of the given bounds."""
        return f"({-high}, {-low})" if self.turned else f"({low}, {high})"


@dataclass(frozen=True)
class Wish:
    """The strength or the size wanted of an attack."""

    ratio: Fraction | None = None
    max_records: int | None = None


@dataclass(frozen=True)
class Family:
    """One way that arithmetic goes wrong; among its `candidates` are the best parameters for any wish.

    It gets the parameters that are already fixed, and chooses the others to match.
    """

    name: str
    goes_wrong: str
    types: str
    default: NumberType
    relations: tuple[Relation, ...]
    parameters: Mapping[str, str]  # name and what it is, for people
    build: Callable[..., Attack]
    candidates: Callable[[Situation, Wish, Mapping[str, Any]], Iterable[dict[str, Any]]]
    least_k: int | None = None  # None: for integers
    signed_only: bool = False
    mirrors: bool = False  # whether it may be turned over for bounds below zero
    asks_target: bool = False  # whether it looks at the sum it attacks
    measured: Callable[[Attack], Mapping[str, Fraction | float | None]] = Attack.measured  # by several sums

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


class Unmet(ValueError):
    """A parameter outside its condition; those from `low` to `high`, as `value` makes them of whole numbers, may do.

    Nobody outside sees it: `attack` refuses the parameter instead, and names the nearest that works.
    """

    def __init__(
        self, name: str, given: int, low: int, high: int, condition: str, value: Callable[[int], Any] = int
    ) -> None:
        super().__init__(name, condition)
        self.name, self.given, self.low, self.high = name, given, low, high
        self.condition, self.value = condition, value


def show_parameter(x: int | Fraction) -> str:
    """A parameter in words that `attack` accepts, except that large powers of two are written as powers."""
    return quote(x) if isinstance(x, int) or (abs(x) < 10**7 and x.denominator < 10**3) else formatting.binary(x)


def index(name: str, given: Any) -> int:
    """Read a whole number, of Python or NumPy."""
    if not isinstance(given, bool | np.bool_):
        with contextlib.suppress(TypeError):
            return operator.index(given)
    raise RefusedValue(
        name, Reason.NOT_WHOLE, "`{option}={given}` is not a whole number", "give one", given=quote(given)
    )


def whole(name: str, given: Any, low: int, high: int, condition: str) -> int:
    """A whole number within a theorem's condition."""
    number = index(name, given)
    if not low <= number <= high:
        raise Unmet(name, number, low, high, condition)
    return number


def exponent(
    situation: Situation,
    name: str,
    given: Any,
    *,
    low: Fraction,
    high: Fraction,
    total: Fraction,
    least: int,
    size: tuple[str, int, int],
    preferred: int = 0,
    value: Callable[[int], Any] = int,
) -> int:
    """The power of two to scale an attack by, so that its records fit the bounds and its sums the type.

    `low` and `high` are the attack's least and largest record and `total` its largest sum, all at exponent 0; below
    `least` its records are not representable. `size` names the parameter that decides how large sums are, with its
    least value. `value` turns the exponent into the parameter given under that name.
    """
    kind = situation.floats
    most = floor_log2(kind.max / total)
    if least > most:
        sizes, used, fewest = size
        raise Unmet(
            sizes, used, fewest, used - 1, f"that the sums fit {kind}, which ends at {formatting.binary(kind.max)}"
        )
    lower, upper = situation.bounds or (None, None)
    if given is not None:
        e = index(name, given)
    elif upper is not None:
        e = max(least, min(most, floor_log2(upper / high))) if upper > 0 else least
    else:
        e = max(least, min(most, preferred))
    if not least <= e <= most:
        ends = f"{show_parameter(value(least))} <= {name} <= {show_parameter(value(most))}"
        raise Unmet(name, e, least, most, f"{ends}, so that records and sums are values of {kind}", value)
    low, high = low * power_of_two(e), high * power_of_two(e)
    if lower is not None and upper is not None and not (lower <= low and high <= upper):
        raise RefusedValue(
            "bounds",
            Reason.UNSUPPORTED,
            "`bounds={bounds}` do not hold this attack's records, which range over {reach}",
            "give bounds that do, or other parameters",
            bounds=situation.as_given(lower, upper),
            reach=situation.as_given(low, high),
        )
    return e


FAMILIES: Registry[Family] = Registry(
    "attack",
    first=(
        *("overflow", "saturation_reordering", "reordering", "rounding", "tree_rounding"),
        *("repeated_rounding_1", "repeated_rounding_2", "result_rounding", "special_values", "path"),
    ),
)
"""Every family, by name."""
