"""Columns as they are written on the command line, alone or as a period, and values of a column's own type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from soundsum.engines import open_engine
from soundsum.numbers.quoting import quote, say_kind
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.paths import is_address
from soundsum.tables.periods import Period
from soundsum.tables.schemas import require_columns
from soundsum.tables.stream import StreamTable

# Every pattern takes linear time, whatever it is given: a request file may come from somebody else.
PERIOD = re.compile(r"(year|month|week|day|hour)\(([^\n]+)\)")
CALL = re.compile(r"(\w+)\(.*\)")
RANGES = {
    "year": "2020..2024",
    "month": "2024-01..2024-12",
    "week": "2024-W01..2024-W52",
    "day": "2024-01-01..2024-01-31",
    "hour": "2024-01-31T00..2024-01-31T23",
}


@dataclass(frozen=True)
class Snapshot:
    """The names and types of a table's columns as they were once, to read requests with instead of the table."""

    names: list[str]
    has_no_types: bool
    types: Mapping[str, Any]

    @classmethod
    def of(cls, file: str, within: str | None = None) -> Snapshot:
        table = open_schema(file, within)
        names, has_no_types = list(table.names), bool(getattr(table, "has_no_types", False))
        return cls(names, has_no_types, {name: table.arrow_type(name) for name in names})

    def arrow_type(self, column: str) -> Any:
        return self.types[column]

    def say_names(self, wanted: object) -> str:
        """Say the same of every name: the header of a CSV file may be a record."""
        return "its names are the cells of the first line, which commas separate"


Source: TypeAlias = str | Snapshot
"""Whatever has a table's columns: a file or an address, or a snapshot."""


def read_by(text: str, file: Source, within: str | None) -> str | Period:
    """A column, or a period of one, such as month(admitted) or month(admitted, Europe/Vienna)."""
    found = _find_period(text)
    if found is None and CALL.fullmatch(text) is None:
        return text
    names = open_schema(file, within).names
    if found is None and text not in names:
        kinds = ", ".join(f"{kind}(C)" for kind in RANGES)
        raise RefusedValue(
            "by",
            Reason.UNKNOWN,
            "`by={given}`: there is no such column or period",
            "periods of a column C are {kinds}",
            given=quote(text),
            kinds=kinds,
        )
    if found is None:
        return text
    if text not in names:
        return found
    if found.column in names:
        raise RefusedValue(
            "by",
            Reason.CONFLICT,
            "`by={given}`: there is a column of this name, and a column {column}",
            "rename one of them",
            given=quote(text),
            column=quote(found.column),
        )
    return text


def _find_period(text: str) -> Period | None:
    """The period that a text spells, with the time zone after its last comma; None if it spells none."""
    found = PERIOD.fullmatch(text)
    if found is None or not found[2].strip():
        return None
    column, _, zone = (part.strip() for part in found[2].rpartition(","))
    if column and zone and not set("()") & set(zone):
        return Period(column, found[1], zone=zone)
    return Period(found[2].strip(), found[1])


def open_schema(file: Source, within: str | None) -> Any:
    """The table's schema; of a database, that of the table within it."""
    if isinstance(file, Snapshot):
        return file
    return open_engine(file, table=within).schema if is_address(file) else StreamTable(file)


def open_column(file: Source, column: str, within: str | None) -> Any:
    table = open_schema(file, within)
    require_columns(table.names, table, column)
    return table


def read_typed(texts: Sequence[str], table: Any, column: str) -> list[Any] | None:
    """The values that the texts spell, of the column's type; None if one does not."""
    import pyarrow as pa

    try:
        return list(pa.array(texts).cast(_plain_type(table, column)).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def describe_type(table: Any, column: str) -> dict[str, str]:
    """A column's type in words, with an example of a value where people may not guess how it is written."""
    import pyarrow as pa

    plain = _plain_type(table, column)
    example = ", such as 2024-01-31" if pa.types.is_temporal(plain) else ""
    if pa.types.is_timestamp(plain) and plain.tz is not None:
        example += "T00:00Z"
    return {"column": quote(column), "kind": say_kind(plain), "example": example}


def _plain_type(table: Any, column: str) -> Any:
    import pyarrow as pa

    kind = table.arrow_type(column)
    return kind.value_type if pa.types.is_dictionary(kind) else kind
