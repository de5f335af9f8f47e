"""Whom a budget protects: its unit of privacy, the relation of neighbours, and the name of the data.

Costs compose only if they speak of the same neighbours. An epsilon for records says little about a person with a
thousand of them, and one for tables of the same size says nothing about being in the table. So a ledger is bound when
it is made, and refuses every charge that speaks of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from soundsum.data.relations import Relation
from soundsum.shown import shown

VALUES = "(ids given as values)"
"""Stands for a column of ids that has no name, which no ledger in a file can know again."""


class BudgetMismatch(ValueError):
    """A release protects another unit, relation or data than its budget is for. Nothing was charged, nothing drawn."""


@dataclass(frozen=True, eq=False)
class Same:
    """An object that is equal to itself alone, and is kept so that no other takes its place."""

    what: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.what is other.what

    def __hash__(self) -> int:
        return id(self.what)


@dataclass(frozen=True)
class Binding:
    """The column of the persons' ids (None: each record is a unit), the relation, and what the data is called."""

    privacy_unit: str | None = None
    relation: Relation = Relation.SYMMETRIC
    data: str | None = None
    ids: Same | None = None  # the very values, where they have no name

    def __post_init__(self) -> None:
        object.__setattr__(self, "relation", Relation.read(self.relation))
        for name in ("privacy_unit", "data"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise TypeError(f"{name}={shown(value)} is not a name; give a string, or leave it out")
        if self.privacy_unit is not None and self.relation != Relation.SYMMETRIC:
            raise ValueError(
                f"persons come or go, so privacy_unit= needs symmetric, not {self.relation}; leave relation out"
            )

    def require(self, asked: Binding, what: str) -> None:
        """Refuses a charge for anything else, naming both and the remedy."""
        for name, theirs, ours, option, own in (
            ("another unit", (asked.unit, asked.ids), (self.unit, self.ids), "privacy_unit", self.privacy_unit),
            ("another relation", asked.relation, self.relation, "relation", str(self.relation)),
            ("other data", asked.data_name, self.data_name, "name", self.data),
        ):
            if theirs != ours:
                theirs, ours = (said[0] if isinstance(said, tuple) else said for said in (theirs, ours))
                ours = f"other {ours}" if theirs == ours else ours
                remedy = f"without {option}=" if own is None else f"with the budget's {option}"
                remedy += "=" if own == VALUES else "" if own is None else f"={own!r}"
                raise BudgetMismatch(
                    f"costs for {name} do not add up: the release is about {theirs}, and the budget about {ours}; "
                    f"nothing was charged: ask {remedy}, or make a second budget for {theirs} (the release was: {what})"
                )

    @property
    def options(self) -> str:
        """How a budget for the same is made, beside its total."""
        given = {"privacy_unit": self.privacy_unit, "data": self.data}
        if self.relation != Relation.SYMMETRIC:
            given["relation"] = str(self.relation)
        return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)

    @property
    def unit(self) -> str:
        return "records" if self.privacy_unit is None else f"persons, by {self.privacy_unit}"

    @property
    def data_name(self) -> str:
        return "data without a name" if self.data is None else f"the data {self.data!r}"

    def __str__(self) -> str:
        data = "" if self.data is None else f" of {self.data!r}"
        return f"{self.unit}{data}, {self.relation} neighbours"

    def to_json(self) -> dict[str, str | None]:
        return {"privacy_unit": self.privacy_unit, "relation": str(self.relation), "data": self.data}
