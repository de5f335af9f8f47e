"""Whom a budget protects: its unit of privacy, the relation of neighbours, and the name of the data.

Costs compose only if they speak of the same neighbours. An epsilon for records says little about a person with a
thousand of them, and one for tables of the same size says nothing about being in the table. So a ledger is bound when
it is made, and refuses every charge that speaks of others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.relations import Relation

VALUES = "(ids given as values)"
"""Stands for a column of ids that has no name, which no ledger in a file can know again."""


class BudgetMismatch(RefusedValue):
    """A release has another privacy unit, relation or dataset than its budget; nothing was charged or drawn."""


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
                raise RefusedType(
                    name,
                    Reason.WRONG_TYPE,
                    "`{option}={given}` is not a name",
                    "give a string, or leave it out",
                    given=quote(value),
                )
        if self.privacy_unit is not None and self.relation != Relation.SYMMETRIC:
            raise RefusedValue(
                "relation",
                Reason.CONFLICT,
                "persons come or go, so `privacy_unit` needs symmetric, not {relation}",
                "leave `relation` out",
                relation=str(self.relation),
            )

    def refuse_other(self, asked: Binding, what: object) -> None:
        """Refuses a charge for anything else, naming both and a remedy that protects nobody less.

        The remedy is to ask for what the budget is about, unless that protects less: records instead of persons do,
        and so does any relation beside symmetric, under which order or size is public.
        """
        if asked == self:
            return
        named = "..." if self.privacy_unit == VALUES else repr(self.privacy_unit)  # ids without a name: those given
        for option, kind, theirs, ours, own in (
            ("privacy_unit", "another unit", (asked.unit, asked.ids), (self.unit, self.ids), named),
            ("relation", "another relation", (str(asked.relation),), (str(self.relation),), repr(str(self.relation))),
            ("name", "other data", (asked.data_name,), (self.data_name,), repr(self.data)),
        ):
            if theirs == ours:
                continue
            facts = {
                "kind": kind,
                "theirs": theirs[0],
                "ours": f"other {ours[0]}" if theirs[0] == ours[0] else ours[0],
                "own": own,
                "options": asked.options,
                "release": str(what),
            }
            if option == "name" and self.data is None:
                raise BudgetMismatch(
                    option,
                    Reason.MISMATCH,
                    "costs for {kind} do not add up: the release is about {theirs}, and the budget about {ours}; "
                    "nothing was charged:",
                    "ask without `name`, or make a second budget for {theirs} with `ss.Budget(epsilon=...{options})` "
                    "(the release was: {release})",
                    **facts,
                )
            if own == "None" or (option == "relation" and self.relation != Relation.SYMMETRIC):
                raise BudgetMismatch(
                    option,
                    Reason.MISMATCH,
                    "costs for {kind} do not add up: the release is about {theirs}, and the budget about {ours}; "
                    "nothing was charged:",
                    "make a second budget for {theirs} with `ss.Budget(epsilon=...{options})` "
                    "(the release was: {release})",
                    **facts,
                )
            raise BudgetMismatch(
                option,
                Reason.MISMATCH,
                "costs for {kind} do not add up: the release is about {theirs}, and the budget about {ours}; "
                "nothing was charged:",
                "ask with the budget's `{option}={own}`, or make a second budget for {theirs} with "
                "`ss.Budget(epsilon=...{options})` (the release was: {release})",
                **facts,
            )

    def without_ids(self) -> Binding:
        """The binding as releases may carry it: they hold no values."""
        return self if self.ids is None else replace(self, ids=None)

    @property
    def options(self) -> str:
        """The options of a budget for the same scope, apart from its limit."""
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
