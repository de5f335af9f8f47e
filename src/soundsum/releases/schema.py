"""Columns as the owner declares them: types, categories and bounds, all of it public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np

from soundsum.methods.problem import read_bound, require_ascending
from soundsum.numbers.quoting import quote
from soundsum.numbers.types import NumberType, number_type
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.tables.keys import Groups
from soundsum.tables.period_groups import Periods
from soundsum.tables.periods import ANY, Period, is_aware, year
from soundsum.tables.schemas import Keyed, Schema, require_columns
from soundsum.tables.timestamps import second_of

By = str | Period

MOST_LISTED = 6
"""Categories of a column that are listed to read."""


@dataclass(frozen=True)
class ColumnSchema:
    """Public facts about a column: its type, its categories, its bounds; None where not declared."""

    type: str | None = None
    categories: tuple[Any, ...] | None = None
    lower: Any = None
    upper: Any = None

    @classmethod
    def of(cls, column: str, said: Any) -> ColumnSchema:
        """Reads a column as the owner writes it: "float64", ["a", "b"], ("float64", 0, 100), or a dict."""
        place = f"schema: column {quote(column)}"
        try:
            made = cls._read(said)
            made._require_bounds()
            return made
        except Refusal as refusal:
            refused = refusal.within(place)
        raise refused

    @classmethod
    def _read(cls, said: Any) -> ColumnSchema:
        if isinstance(said, tuple) and len(said) == 3 and isinstance(said[0], str):
            said = {"type": said[0], "lower": said[1], "upper": said[2]}
        elif isinstance(said, list):
            said = {"categories": said}
        elif not isinstance(said, Mapping):
            said = {"type": said}
        if isinstance(said.get("type"), tuple) and len(said["type"]) == 2:
            low, high = map(quote, said["type"])
            if any(isinstance(bound, str | date) for bound in said["type"]):
                raise RefusedType(
                    "type",
                    Reason.WRONG_TYPE,
                    "{given} is not a type",
                    "give bounds by name, `{{'lower': {lower}, 'upper': {upper}}}`",
                    given=quote(said["type"]),
                    lower=low,
                    upper=high,
                )
            raise RefusedType(
                "type",
                Reason.WRONG_TYPE,
                "{given} is not a type",
                "give bounds with one, `('float64', {lower}, {upper})`, or by name, "
                "`{{'lower': {lower}, 'upper': {upper}}}`",
                given=quote(said["type"]),
                lower=low,
                upper=high,
            )
        for name in said:
            if name not in ("type", "categories", "lower", "upper"):
                raise RefusedValue(
                    "schema",
                    Reason.UNKNOWN,
                    "{given} is not known",
                    "give type, categories, lower and upper",
                    given=quote(name),
                )
        made = cls(said.get("type"), said.get("categories"), said.get("lower"), said.get("upper"))
        if not isinstance(made.type, str | NumberType | np.dtype | type | None):  # such as a column, which has a type
            raise RefusedType(
                "type",
                Reason.WRONG_TYPE,
                "`type={given}` is not a type",
                "give the name of a type, such as 'float64'",
                given=quote(made.type),
            )
        if made.type is not None:
            number_type(made.type)  # refuses what is none
        if made.categories is None:
            return made
        return replace(
            made, categories=tuple(Groups(made.categories, "categories").names)
        )  # refuses what cannot be groups

    def _require_bounds(self) -> None:
        """Refuses bounds that are neither numbers nor dates, or of which the lower is above the upper."""
        given = [bound for bound in (self.lower, self.upper) if bound is not None]
        seconds = [second for bound in given if (second := second_of(bound, ANY)) is not None]
        if seconds and self.type is not None:
            raise RefusedValue(
                "type",
                Reason.CONFLICT,
                "bounds that are dates go without a type, and `type={given}`",
                "leave it out",
                given=quote(self.type),
            )
        if 0 < len(seconds) < len(given):
            raise RefusedValue(
                "lower",
                Reason.CONFLICT,
                "of `lower={lower}` and `upper={upper}` one is a date",
                "give two numbers, or the first and the last day, such as '2023-01-01' and '2023-12-31'",
                lower=quote(self.lower),
                upper=quote(self.upper),
            )
        if len(seconds) < len(given):
            named = {"lower": self.lower, "upper": self.upper}
            low, *high = [_read_bound(name, bound) for name, bound in named.items() if bound is not None]
            if high:
                require_ascending(low, high[0])
        elif seconds and seconds[0] > seconds[-1] and is_aware(given[0]) == is_aware(given[-1]):
            raise RefusedValue(
                "lower",
                Reason.SWAPPED,
                "`lower={lower}` is after `upper={upper}`",
                "swap them",
                lower=quote(self.lower),
                upper=quote(self.upper),
            )

    @property
    def has_dates(self) -> bool:
        """Whether its bounds are dates."""
        return any(second_of(bound, ANY) is not None for bound in (self.lower, self.upper) if bound is not None)

    def __str__(self) -> str:
        if self.categories is not None:
            listed = ", ".join(map(str, self.categories[:MOST_LISTED]))
            more = ", ..." if len(self.categories) > MOST_LISTED else ""
            return f"{len(self.categories):,} categor{'y' if len(self.categories) == 1 else 'ies'}: {listed}{more}"
        bounds = None if self.lower is None else f"in [{self.lower}, {self.upper}]"
        return " ".join(filter(None, (self.type, bounds))) or "as in the data"


def require_schema(table: Schema, schema: Mapping[str, ColumnSchema], types: Mapping[str, str]) -> None:
    """Refuses columns that are not in the table, or are of another type than the owner says."""
    if isinstance(table, Keyed):
        table.type_keys(types)
    require_columns(table.names, table, *schema)
    for column, said in schema.items():
        if said.categories is not None:
            table.expect_groups(column, Groups(said.categories, "categories", f"categories of {column!r}"))
        elif said.type is not None:
            table.type(column, said.type)
        elif said.lower is not None or said.upper is not None:
            _require_type_of_bounds(table, column, said)


def _require_type_of_bounds(table: Schema, column: str, said: ColumnSchema) -> None:
    """Refuses bounds of a column that holds neither numbers nor dates, or the other of the two."""
    try:
        if said.has_dates:
            table.expect_groups(column, Periods(year(column), ["2000"]))  # any year: the column's type is looked at
        else:
            table.type(column)
        return
    except Refusal as refusal:
        remedy = f"{refusal.remedy}, or leave `lower` and `upper` out"
        kind = RefusedType if isinstance(refusal, RefusedType) else RefusedValue
        refused = kind(refusal.option, refusal.reason, refusal.problem, remedy, **refusal.facts).within("schema")
    raise refused


def _read_bound(name: str, bound: Any) -> Fraction:
    """A bound that is a number, or else one line about the two things that it can be."""
    try:
        return read_bound(name, bound)
    except TypeError:
        if not isinstance(bound, str | date):
            raise
    raise RefusedType(
        name,
        Reason.NOT_A_NUMBER,
        "`{option}={given}` is neither a number nor a date",
        "give two numbers, or the first and the last day, such as '2023-01-01' and '2023-12-31'",
        given=quote(bound),
    )


def find_groups(by: By | list[By], schema: Mapping[str, ColumnSchema]) -> tuple[By | list[By], Any]:
    """Resolve by= and groups=: periods without a range take their column's bounds.

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
