"""The unit of privacy: a record, or a person with many rows, in one sum or in one of several groups.

Every statistic lets out integer sums to which each record adds something in [low, high]. How far neighbouring datasets
move such a vector of sums follows from that range, the relation and the unit alone (docs/theorems/statistics.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, Literal, TypeAlias, TypeVar

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

N = TypeVar("N", int, Fraction)  # in steps, or in the data's units

Found: TypeAlias = Literal["found"]
FOUND: Found = "found"
"""Stands for the number of groups where nobody listed them: there may be any number."""


@dataclass(frozen=True)
class Norms(Generic[N]):
    """Bounds on the change of a vector of sums: L1 norm, squared L2 norm, and number of entries that change."""

    l1: N
    l2_squared: N
    entries: int = 1

    def times(self, step: Fraction) -> Norms[Fraction]:
        """Convert the norms to other units, in which 1 becomes a step."""
        return Norms(self.l1 * step, self.l2_squared * step**2, self.entries)


@dataclass(frozen=True)
class Unit:
    """One record, or with `max_rows` a person: at most `max_rows` rows in each of at most `max_groups` groups.

    `groups` is the number of groups listed, FOUND where nobody listed them; None means one sum over every row.

    >>> Unit(groups=3).norms(-1, 5, Relation.CHANGE_ONE)
    Norms(l1=10, l2_squared=50, entries=2)
    """

    groups: int | Found | None = None
    max_rows: int | None = None
    max_groups: int = 1
    is_plain: bool = field(init=False, repr=False, compare=False)  # whether there is one sum, and records are units

    def __post_init__(self) -> None:
        if self.groups == 0 and self.groups is not False:
            raise RefusedValue("groups", Reason.EMPTY, "`groups` is empty", "list at least one group")
        for name in ("groups", "max_rows", "max_groups"):
            value = getattr(self, name)
            if name == "groups" and value == FOUND:
                continue
            if value is not None and (isinstance(value, bool) or not hasattr(value, "__index__")):
                raise RefusedValue(
                    name,
                    Reason.NOT_WHOLE,
                    "`{option}={given}` is not a whole number",
                    "give a whole number, 1 or more",
                    given=quote(value),
                )
            if value is not None and value < 1:
                raise RefusedValue(
                    name,
                    Reason.TOO_SMALL,
                    "`{option}={given}` is below 1",
                    "give a whole number, 1 or more",
                    given=quote(value),
                )
            object.__setattr__(self, name, None if value is None else int(value))
        object.__setattr__(self, "is_plain", self.groups is None and self.max_rows is None)

    def norms(self, low: N, high: N, relation: Relation) -> Norms[N]:
        """Bound the change from one unit, where a record adds something in [low, high]."""
        most = max(abs(low), abs(high))
        if self.max_rows is not None:  # the totals of a person, each held to what max_rows rows can add up to
            groups = self.most_groups
            return Norms(groups * self.max_rows * most, groups * (self.max_rows * most) ** 2, groups)
        if not relation.sized:  # a record comes or goes, in one group
            return Norms(most, most**2)
        if self.groups is None:  # a record changes its value
            return Norms(high - low, (high - low) ** 2)
        if self.groups == 1:  # or comes from or goes to a group that is not listed
            widest = max(most, high - low)
            return Norms(widest, widest**2)
        return Norms(2 * most, max(2 * most**2, (high - low) ** 2), 2)  # or goes from one group to another

    @property
    def entries(self) -> int:
        """How many sums there are: one for each group listed, or one over every row."""
        return self.groups if isinstance(self.groups, int) else 1

    @property
    def has_more_groups(self) -> bool:
        """Whether a record can go from one group to another: among those listed, or among any number found."""
        return self.groups not in (None, 1)

    @property
    def most_groups(self) -> int:
        """In how many groups a person counts at most."""
        return self.max_groups if self.groups == FOUND else min(self.max_groups, self.entries)

    @property
    def caps(self) -> str:
        """Says which limits apply to each person; empty where records are protected."""
        if self.max_rows is None:
            return ""
        return self.say(f"each person counts as at most {self.max_rows:,} row{'s' * (self.max_rows > 1)}{{}}")

    def say(self, rows: str) -> str:
        """Says which limits apply to each person, beside that on rows, with {} for the place."""
        if not self.has_more_groups:
            return rows.format("")
        most = self.most_groups
        which = "" if most == self.groups else f": {'those' if most > 1 else 'the one'} with most of their rows"
        return f"{rows.format(' in a group')}, and in at most {most:,} group{'s' * (most > 1)}{which}"

    @property
    def protected(self) -> str:
        """Says who is protected, to read beside `caps`."""
        return "one person" if self.caps else str(self)

    def __str__(self) -> str:
        many = not isinstance(self.groups, int)
        groups = "those found" if many else f"{self.groups:,} group{'s' * (self.groups != 1)}"
        if self.max_rows is None:
            return f"one record (in one of {groups})" if self.has_more_groups else "one record"
        rows = f"at most {self.max_rows:,} row{'s' * (self.max_rows > 1)}"
        if self.groups is None:
            return f"one person (with {rows})"
        most = f"at most {self.most_groups:,}"
        kept = f"{most} group{'s' * (self.most_groups > 1)}" if self.groups == FOUND else f"{most} of {groups}"
        return f"one person (with {rows} in a group, in {kept})"


RECORD = Unit()
"""One record, in one sum over every row."""
