"""The interface of a table: protocols for its schema and batches, and checks of column names."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

from soundsum.numbers.quoting import say_column
from soundsum.numbers.types import NumberType
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.filters import Condition
from soundsum.tables.keys import Groups
from soundsum.tables.records import Column, Records


class Batch(Protocol):
    """Some rows of a table."""

    @property
    def rows(self) -> int: ...
    def numbers(self, column: str | None) -> Records: ...
    def keys(self, column: str | None) -> Any:
        """An Arrow array, or a list of Python objects where the column has no type."""

    def presence(self, column: str | None) -> Column:
        """1 for every row, missing where the column is."""


class Schema(Protocol):
    """Public facts about a table: its columns, their types, and, under some relations, the number of rows."""

    @property
    def names(self) -> list[Any]: ...
    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        """The column's public type, and what 1 is worth in its records."""

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        """Says that the column will be looked up among these groups; refuses a type in which it cannot be."""

    def expect_ids(self, column: str | None) -> None:
        """Says that the column holds persons' ids; refuses a type that cannot be one."""

    def expect_value(self, condition: Condition) -> None:
        """Says that the column will be compared with a value; refuses one that is not of its type."""

    def rows(self) -> int:
        """The number of rows, without reading them."""


@runtime_checkable
class Keyed(Protocol):
    """A table that may have columns in the names of its folders, which are text unless an owner says otherwise."""

    def type_keys(self, types: Mapping[str, str]) -> None: ...


class Table(Schema, Protocol):
    """Columns that can be read, in batches."""

    def key_type(self, column: str | None) -> Any:
        """The Arrow type of the column's keys in every batch, None if they are Python objects."""

    def batches(self, *columns: str | None) -> Iterator[Batch]: ...


def require_columns(names: list[Any], where: Schema, *columns: str | None) -> None:
    """Refuses columns that are not among a table's names, and a table where no column is named."""
    for name in columns:
        if name is None and None not in names:
            raise RefusedValue(
                "column",
                Reason.MISSING,
                "`column` is missing, the name of the column to read",
                "{names}",
                names=list_names(where, names),
            )
        if name not in names:
            raise RefusedValue(
                "column",
                Reason.UNKNOWN,
                "{column} is not in the table",
                "{names}",
                column=say_column(name),
                names=list_names(where, names, name),
            )
        if names.count(name) > 1:
            require_unique([name] * names.count(name))


def list_names(where: Schema, names: list[Any], wanted: Any = None, option: str = "column") -> str:
    """List the public names in a refusal of an unknown one."""
    if None in names:
        remedy = "leave column= out" if option == "column" else f"give {option}= its values, one for each record"
        return (
            f"the data is a single column, which has no name; {remedy}, or give a table (a list of texts is a column, "
            "too; files are pathlib paths, or a glob; pandas.DataFrame(rows) makes a table of a list of dicts)"
        )
    if getattr(where, "has_no_types", False):
        return str(where.say_names(wanted))  # type: ignore[attr-defined]
    near = (
        difflib.get_close_matches(wanted, [name for name in names if isinstance(name, str)], 1, 0.7)
        if isinstance(wanted, str)
        else []
    )
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return f"it has {', '.join(map(str, names))}{meant}" if names else "it has no columns at all"


def require_unique(names: list[Any]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise RefusedValue(
                "data",
                Reason.REPEATED,
                "{column} is in the table {times} times",
                "rename one",
                column=say_column(name),
                times=names.count(name),
            )
