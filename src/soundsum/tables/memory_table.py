"""Tables in memory, as streams, or in files, read once, a batch at a time.

A table is anything with the Arrow stream interface (pyarrow, Polars, DuckDB), a pandas frame or a dict of columns, or a
path to Parquet, CSV or Arrow IPC files (globs too). A single column is a table of one, whose name is None.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soundsum.numbers.quoting import quote, say_column
from soundsum.numbers.types import NumberType
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.arrow_arrays import is_arrow
from soundsum.tables.columns import Numbers, as_keys, as_numbers, empty_like, presence
from soundsum.tables.filters import Condition
from soundsum.tables.keys import Groups, require_ids
from soundsum.tables.paths import Watched, is_path
from soundsum.tables.read_guard import read_within
from soundsum.tables.records import Column, Records
from soundsum.tables.runs import Runs
from soundsum.tables.schemas import Batch, require_unique
from soundsum.tables.stream import StreamTable, is_dataset, is_lazy


class MemoryTable:
    """Columns in memory, each with its own type or none; the batch is the table."""

    def __init__(self, columns: Mapping[Any, Any]) -> None:
        self._columns = {name: _require_column(column) for name, column in columns.items()}
        self._numbers: dict[Any, Numbers] = {}

    @property
    def names(self) -> list[Any]:
        return list(self._columns)

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        numbers = as_numbers(empty_like(self._columns[column]), dtype, column)
        return numbers.records.type, numbers.unit_value

    def numbers(self, column: str | None) -> Numbers:
        """The column as numbers, read once."""
        if column not in self._numbers:
            self._numbers[column] = as_numbers(self._read(column))
        return self._numbers[column]

    def keys(self, column: str | None) -> Any:
        return as_keys(self._read(column))

    def presence(self, column: str | None) -> Column:
        return presence(self._read(column))

    def expect_groups(self, column: str | None, groups: Groups) -> None:
        groups.codes(self._no_keys(column))

    def expect_ids(self, column: str | None) -> None:
        require_ids(self._no_keys(column))

    def expect_value(self, condition: Condition) -> None:
        condition.require_type(self._no_keys(condition.column))

    def key_type(self, column: str | None) -> Any:
        none = self._no_keys(column)
        return None if isinstance(none, list) else none.type

    def _no_keys(self, column: str | None) -> Any:
        """An empty array of the column's key type."""
        return as_keys(empty_like(self._columns[column]))

    def _read(self, column: str | None) -> Any:
        """The column; an iterator, which can be read only once, is copied now."""
        if not _can_be_read_twice(self._columns[column]):
            self._columns[column] = list(self._columns[column])
        return self._columns[column]

    def rows(self) -> int:
        return _require_one_length(read_within(self._sizes))

    def _sizes(self) -> dict[Any, int]:
        return {name: _size(self._read(name)) for name in self._columns}

    def batches(self, *columns: str | None) -> Iterator[Batch]:
        yield _Whole(_require_one_length(self._sizes()), self)  # within the boundary of whoever reads


@dataclass(frozen=True)
class _Whole:
    """All rows of columns in memory."""

    rows: int
    _table: MemoryTable

    def numbers(self, column: str | None) -> Records:
        return self._table.numbers(column).records

    def keys(self, column: str | None) -> Any:
        return self._table.keys(column)

    def presence(self, column: str | None) -> Column:
        return self._table.presence(column)


def open_table(data: Any, beside: Mapping[str, Any] | None = None) -> MemoryTable | StreamTable:
    """Data as a table; `beside` are columns that belong to a single one."""
    data, advance = (data.data, data.advance) if isinstance(data, Watched) else (data, None)
    if is_column(data):
        return MemoryTable({None: data, **(beside or {})})
    if isinstance(data, Mapping):
        columns = MemoryTable(data)
        _require_one_length(read_within(lambda: {name: _size(one) for name, one in data.items() if _has_length(one)}))
        return columns
    # Of a frame, the other columns and the index need not be of types Arrow knows.
    if hasattr(data, "loc"):
        require_unique(list(data.columns))
        return MemoryTable({name: data[name] for name in data.columns})
    if hasattr(data, "get_column"):
        return MemoryTable({name: data.get_column(name) for name in data.columns})
    return StreamTable(data, advance)


def is_column(data: Any) -> bool:
    """Returns whether the data is a single column."""
    data = data.data if isinstance(data, Watched) else data
    _refuse_by_type(data)
    if is_path(data) or is_dataset(data) or is_lazy(data) or isinstance(data, Mapping):
        return False
    if (hasattr(data, "columns") and hasattr(data, "schema")) or hasattr(data, "cursor"):  # Spark's; a connection
        return False
    if hasattr(data, "loc") and hasattr(data, "columns"):
        return False
    if isinstance(data, Runs | Column):
        return True
    if hasattr(data, "collect") and not is_arrow(data):
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "{kind} is not computed yet",
            "pass {name}.collect()",
            kind=type(data).__name__,
            name=type(data).__name__.lower(),
        )
    if not hasattr(data, "__arrow_c_stream__") and not hasattr(data, "__arrow_c_array__"):
        if not isinstance(data, Iterable) or isinstance(data, bytes):
            raise RefusedType(
                "data",
                Reason.WRONG_TYPE,
                "{kind} is neither a table nor a column",
                "pass a data frame, array or path",
                kind=type(data).__name__,
            )
        return True
    import pyarrow as pa

    if isinstance(data, pa.Array | pa.ChunkedArray | pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return isinstance(data, pa.Array | pa.ChunkedArray)
    return not (hasattr(data, "columns") or hasattr(data, "fetch_arrow_table"))  # a series has a name, not columns


def _can_be_read_twice(column: Any) -> bool:
    return is_arrow(column) or _has_length(column)


def _require_column(column: Any) -> Any:
    _refuse_by_type(column)
    if isinstance(column, str | bytes) or not (_can_be_read_twice(column) or isinstance(column, Iterable)):
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "{kind} is not a column",
            "pass an array or a list",
            kind=type(column).__name__,
        )
    if getattr(column, "ndim", 1) == 0:
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "an array without dimensions is a number and not a column",
            "pass a list of numbers",
        )
    if getattr(getattr(column, "dtype", None), "kind", "") == "V":
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "a structured array of {fields} is not a column",
            "pass a dict of its fields",
            fields=quote(column.dtype.names),
        )
    return column


def _refuse_by_type(data: Any) -> None:
    """Refuses iterables that are not columns, by their type alone."""
    if isinstance(data, set | frozenset):
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "a {kind} holds each value once, and a column all of them",
            "pass a list",
            kind=type(data).__name__,
        )
    if type(data).__name__.endswith("GroupBy"):  # of pandas and Polars, which can be iterated over
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "a {kind} is neither a table nor a column",
            "pass the data frame, with `by` and `groups`",
            kind=type(data).__name__,
        )
    if isinstance(data, io.IOBase) or (hasattr(data, "read") and hasattr(data, "readline")):
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "an open file ({kind}) is not data",
            "give its path, whose suffix says what it is",
            kind=type(data).__name__,
        )


def _require_one_length(sizes: Mapping[Any, int]) -> int:
    """The length of all columns; refuses those of which one is longer than another, and says no length.

    Of a table this is public: a row more or less is an entry more or less in every column, so that of two neighbouring
    tables both are refused, or neither. Of columns that a query gives beside the data it is not: tried with lists of
    every length it would tell how many records there are, so those are compared once they are charged for.
    """
    first, length = next(iter(sizes.items()), (None, 0))
    for name, size in sizes.items():
        if size != length:
            raise RefusedValue(
                "data",
                Reason.MISMATCH,
                "{one} and {other} are not of the same length",
                "give each an entry for every row",
                one=say_column(first),
                other=say_column(name),
            )
    return length


def _has_length(column: Any) -> bool:
    """Returns whether a column has a length before it is read."""
    return isinstance(column, Runs | Column) or hasattr(column, "__len__")


def _size(column: Any) -> int:
    if isinstance(column, Runs | Column):
        return column.size
    return len(column) if hasattr(column, "__len__") else len(as_keys(column))
