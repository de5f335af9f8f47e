"""Whom a budget protects: its unit of privacy, the relation of neighbours, and the name of the data.

Costs compose only if they speak of the same neighbours. An epsilon for records says little about a person with a
thousand of them, and one for tables of the same size says nothing about being in the table. So a ledger is bound when
it is made, and refuses every charge that speaks of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from soundsum.numbers.quoting import quote
from soundsum.tables.relations import Relation

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
                raise TypeError(f"{name}={quote(value)} is not a name; give a string, or leave it out")
        if self.privacy_unit is not None and self.relation != Relation.SYMMETRIC:
            raise ValueError(
                f"persons come or go, so privacy_unit= needs symmetric, not {self.relation}; leave relation out"
            )

    def require(self, asked: Binding, what: object) -> None:
        """Refuses a charge for anything else, naming both and a remedy that protects nobody less."""
        for name, theirs, ours, remedy in (
            ("another unit", (asked.unit, asked.ids), (self.unit, self.ids), self._remedy("privacy_unit")),
            ("another relation", asked.relation, self.relation, self._remedy("relation")),
            ("other data", asked.data_name, self.data_name, self._remedy("name")),
        ):
            if theirs != ours:
                theirs, ours = (said[0] if isinstance(said, tuple) else said for said in (theirs, ours))
                ours = f"other {ours}" if theirs == ours else ours
                raise BudgetMismatch(
                    f"costs for {name} do not add up: the release is about {theirs}, and the budget about {ours}; "
                    f"nothing was charged: {remedy}make a second budget for {theirs}, "
                    f"ss.Budget(epsilon=...{asked.options}) (the release was: {what})"
                )

    def _remedy(self, option: str) -> str:
        """How to ask for what the budget is about, unless whoever asks so would protect less than they meant to.

        Records instead of persons are less, and so is any relation beside symmetric: order or size is then public.
        """
        own = {"privacy_unit": self.privacy_unit, "relation": str(self.relation), "name": self.data}[option]
        if option == "name" and own is None:
            return "ask without name=, or "
        if own is None or (option == "relation" and own != Relation.SYMMETRIC):
            return ""
        return f"ask with the budget's {option}=" + ("" if own == VALUES else repr(own)) + ", or "

    @property
    def options(self) -> str:
        """How a budget for the same is made, beside its total."""
        unit = None if self.privacy_unit == VALUES else self.privacy_unit  # which the first charge says
        given = {"privacy_unit": unit, "data": self.data}
        if self.relation != Relation.SYMMETRIC:
            given["relation"] = str(self.relation)
        return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)

    @property
    def unit(self) -> str:
        return "records" if self.privacy_unit is None else f"persons (by {self.privacy_unit})"

    @property
    def data_name(self) -> str:
        return "data without a name" if self.data is None else f"the data {self.data!r}"

    def __str__(self) -> str:
        data = "" if self.data is None else f" of {self.data!r}"
        return f"{self.unit}{data}, {self.relation} neighbours"

    def to_json(self) -> dict[str, str | None]:
        return {"privacy_unit": self.privacy_unit, "relation": str(self.relation), "data": self.data}
