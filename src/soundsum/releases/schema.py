"""What an owner says about columns: types, categories and bounds, all of it public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from soundsum.arithmetic.numbers import number_type
from soundsum.data.periods import Period

By = str | Period


@dataclass(frozen=True)
class ColumnSchema:
    """What is public about a column: its type, its categories, its bounds; None where nothing was said."""

    type: str | None = None
    categories: tuple[Any, ...] | None = None
    lower: Any = None
    upper: Any = None

    @classmethod
    def of(cls, column: str, said: Any) -> ColumnSchema:
        """As the owner writes it: "float64", ["a", "b"], ("float64", 0, 100), or a dict of these by name."""
        if isinstance(said, Mapping):
            unknown = said.keys() - {"type", "categories", "lower", "upper"}
            if unknown:
                raise ValueError(f"schema: {column!r} has {min(unknown)!r}; give type, categories, lower and upper")
            made = cls(said.get("type"), said.get("categories"), said.get("lower"), said.get("upper"))
            made = replace(made, categories=None if made.categories is None else tuple(made.categories))
        elif isinstance(said, tuple) and len(said) == 3 and isinstance(said[0], str):
            made = cls(said[0], None, said[1], said[2])
        elif isinstance(said, list):
            made = cls(categories=tuple(said))
        else:
            made = cls(said)
        if made.type is not None:
            number_type(made.type)  # refuses what is none
        return made

    def __str__(self) -> str:
        if self.categories is not None:
            return f"{len(self.categories):,} categories"
        bounds = "" if self.lower is None else f" in [{self.lower}, {self.upper}]"
        return f"{self.type or 'as in the data'}{bounds}"


def find_groups(by: By | list[By], schema: Mapping[str, ColumnSchema]) -> tuple[By | list[By], Any]:
    """What to group by, periods with the range of their column's bounds where they have none, and the groups listed.

    The groups are None where the schema does not list them all, or where all are periods with a range.
    """
    columns: list[By] = []
    lists: list[list[Any] | None] = []
    for one in by if isinstance(by, list) else [by]:
        said = schema.get(one.column if isinstance(one, Period) else one, ColumnSchema())
        if isinstance(one, Period):
            columns.append(one if one.has_range else one.between(said.lower, said.upper))
            lists.append(None)
        else:
            columns.append(one)
            lists.append(None if said.categories is None else list(said.categories))
    unknown = [
        own is None and not (isinstance(one, Period) and one.has_range) for one, own in zip(columns, lists, strict=True)
    ]
    groups = None if any(unknown) or all(own is None for own in lists) else lists if len(lists) > 1 else lists[0]
    return columns if isinstance(by, list) else columns[0], groups
