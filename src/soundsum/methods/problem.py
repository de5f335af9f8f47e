"""A Problem holds the promises about the data, and nothing else: type, bounds, relation, and size if it is public.

Frozen, checked once, and exact: bounds are Fractions whatever they came as.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from soundsum.numbers.formatting import bound
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special, require_whole
from soundsum.numbers.types import NumberType, number_type
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

LONGEST = 13_000
"""Bits of a bound's numerator or denominator: Python writes no integer of over 4,300 digits."""


@dataclass(frozen=True)
class Problem:
    """A sum of records of `dtype`, each clamped to [lower, upper], for neighbours under `relation`.

    `size` is the public number of records (sized relations only); `max_size` is where a method that needs a limit may
    truncate (unsized relations only).

    >>> Problem("float64", 0, 1000).ideal, Problem("int32", -5, "7.5", relation="change_one", size=10).ideal
    (Fraction(1000, 1), Fraction(25, 2))
    """

    dtype: NumberType
    lower: Fraction
    upper: Fraction
    relation: Relation = Relation.SYMMETRIC
    size: int | None = None
    max_size: int | None = None
    limit: int | None = field(init=False, repr=False, compare=False)  # of records to add, where one is known

    def __init__(
        self,
        dtype: object,
        lower: Any,
        upper: Any,
        relation: Relation | str = Relation.SYMMETRIC,
        size: int | None = None,
        max_size: int | None = None,
    ) -> None:
        fields = {
            "dtype": number_type(dtype),
            "lower": read_bound("lower", lower),
            "upper": read_bound("upper", upper),
            "relation": Relation.read(relation),
            "size": _count("size", size),
            "max_size": _count("max_size", max_size),
        }
        fields["limit"] = fields["size"] if Relation.read(relation).sized else fields["max_size"]
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        require_ascending(self.lower, self.upper)
        if self.size is not None and not self.relation.sized:
            raise RefusedValue(
                "size",
                Reason.CONFLICT,
                "`size={given}`: under {relation} the number of records is private",
                "leave `size` out, or give `relation='change_one'` if it is public",
                given=quote(self.size),
                relation=self.relation.value,
            )
        if self.max_size is not None and self.relation.sized:
            raise RefusedValue(
                "max_size",
                Reason.CONFLICT,
                "`max_size={given}`: under {relation} the number of records is public",
                "give it as `size`",
                given=quote(self.max_size),
                relation=self.relation.value,
            )

    @property
    def type(self) -> NumberType:
        return self.dtype

    @property
    def magnitude(self) -> Fraction:
        """M, the largest absolute value within the bounds."""
        return max(abs(self.lower), abs(self.upper))

    @property
    def spread(self) -> Fraction:
        """U - L."""
        return self.upper - self.lower

    @property
    def ideal(self) -> Fraction:
        """The sensitivity of the sum over the real numbers: U - L for public sizes, otherwise M."""
        return self.spread if self.relation.sized else self.magnitude

    @property
    def one_sign(self) -> bool:
        """Whether no two records can have opposite signs."""
        return self.lower >= 0 or self.upper <= 0

    def with_size(self, n: int) -> Problem:
        """Restate the problem for n records, which are public for sized relations; a size given before must equal n."""
        if not self.relation.sized or self.size == n:
            return self
        if self.size is not None:
            raise RefusedValue(
                "size",
                Reason.MISMATCH,
                "`size={given}` but the data has {records} records",
                "under {relation} leave `size` out",
                given=f"{self.size:,}",
                records=f"{n:,}",
                relation=self.relation.value,
            )
        return Problem(self.dtype, self.lower, self.upper, self.relation, n)

    def __str__(self) -> str:
        size = "" if self.size is None else f", n = {self.size:,}"
        limit = "" if self.max_size is None else f", n up to {self.max_size:,}"
        bounds = f"[{bound(self.lower)}, {bound(self.upper)}]"
        return f"{self.dtype} records in {bounds}, {self.relation} neighbours{size}{limit}"


def require_ascending(lower: Fraction, upper: Fraction) -> None:
    """Refuses a lower bound above the upper one; quotes both in a readable form."""
    if lower > upper:
        low, high = (bound(x).replace(",", "") for x in (lower, upper))
        raise RefusedValue(
            "lower",
            Reason.SWAPPED,
            "`lower={lower}` is above `upper={upper}`",
            "swap them",
            lower=low,
            upper=high,
        )


def read_bound(name: str, value: Any) -> Fraction:
    """A bound of records, exactly; refuses anything but a finite number."""
    given = exact(value, name)
    if is_special(given):
        raise RefusedValue(
            name,
            Reason.NOT_A_NUMBER,
            "`{option}={given}`: bounds are finite numbers",
            "give the range the records may lie in",
            given=quote(given),
        )
    number = Fraction(given)
    if max(abs(number.numerator), number.denominator).bit_length() > LONGEST:
        raise RefusedValue(
            name,
            Reason.TOO_MANY,
            "`{option}` has more than {most} bits",
            "give a bound that fits the records' type",
            most=f"{LONGEST:,}",
        )
    return number


def _count(name: str, value: Any) -> int | None:
    if value is None:
        return None
    count = require_whole(name, value, 0)
    if count >= 1 << 1024:
        raise RefusedValue(
            name,
            Reason.TOO_LARGE,
            "`{option}={given}` is too large for a number of records",
            "give one below 2^1024",
            given=quote(count),
        )
    return count
