"""Data as a stream of batches: a single column, a table in memory, or files, read a batch at a time.

A table is anything with the Arrow stream interface (pyarrow, pandas, Polars, DuckDB), a dict of columns, or a path to
Parquet, CSV or Arrow IPC files (globs too). Types come from the schema; in CSV, which has none, from dtype= or the
first rows. Booleans are read as 0 and 1, decimals of up to 18 digits as exact scaled integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from soundsum import files
from soundsum.numbers import NumberType, float64, int64, number_type
from soundsum.records import Column, Records, records
from soundsum.runs import Runs


@dataclass(frozen=True)
class Watched:
    """A table whose reading is watched: `advance` is called with the rows of every batch."""

    data: Any
    advance: Callable[[int], None]


@dataclass(frozen=True)
class Batch:
    """Some rows of a table, or all the rows of a single column."""

    rows: int
    _column: Callable[[str | None], Any]

    def numbers(self, column: str | None) -> Records:
        found = self._column(column)
        return records(found) if column is None else _numbers(found)

    def keys(self, column: str | None) -> Any:
        """The column as an Arrow array, dictionaries written out."""
        import pyarrow as pa

        found = self._column(column)
        array = found if isinstance(found, pa.Array) else pa.array(found)
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        return array.cast(pa.large_string()) if pa.types.is_string_view(array.type) else array


class Table:
    """Columns by name; or one nameless column, and beside it `keys`, columns of as many rows."""

    def __init__(self, data: Any, keys: Mapping[str, Any] | None = None) -> None:
        self._advance = data.advance if isinstance(data, Watched) else None
        self._data = data.data if isinstance(data, Watched) else data
        self._keys = dict(keys or {})
        self._as: dict[str, str] = {}
        self.is_column = _is_column(self._data)
        if self.is_column and not hasattr(self._data, "__len__") and not isinstance(self._data, Runs | Column):
            self._data = self._data if _is_arrow(self._data) else list(self._data)

    @cached_property
    def names(self) -> list[str]:
        """The columns there are."""
        if self.is_column:
            return list(self._keys)
        return [str(name) for name in self._data.columns] if _is_frame(self._data) else list(self._opened.schema.names)

    @cached_property
    def _opened(self) -> Any:
        """What the batches are read from, opened once: a stream may not be there twice."""
        import pyarrow as pa

        if files.is_path(self._data):
            return files.dataset(self._data)
        if isinstance(self._data, Mapping):
            return pa.table(dict(self._data))
        return self._data if isinstance(self._data, pa.Table) else pa.RecordBatchReader.from_stream(self._data)

    def require(self, *columns: str | None) -> None:
        """Refuses names that are not columns, and a table without a name."""
        for name in columns:
            if name is None and not self.is_column:
                of = f" from {self._data}" if files.is_path(self._data) else ""
                raise ValueError(f"column= is missing; it names what to read{of}: {', '.join(self.names)}")
            if name is not None and name not in self.names:
                there = f"it has {', '.join(self.names)}" if self.names else "the data is a single column"
                raise ValueError(f"column {name!r} is not in the table; {there}")

    def select(self, *columns: str | None) -> None:
        """Leaves out the other columns of a data frame, which need not be of types Arrow knows."""
        if _is_frame(self._data):
            self._data = self._data[list(dict.fromkeys(columns))]

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        """The column's public type, and what 1 is worth in its records: a decimal's last digit, otherwise 1."""
        if column is None:
            self._data = records(self._data, dtype)
            return self._data.type, Fraction(1)
        if dtype is not None and number_type(dtype) in (int64, float64) and self._is_text:
            self._as[column] = number_type(dtype).name
        kind, unit = _number_type(self.arrow_type(column), column)
        if dtype is not None and number_type(dtype) != kind:
            raise TypeError(f"dtype={number_type(dtype)} but column {column!r} is {kind}; cast it, or leave dtype out")
        return kind, unit

    def arrow_type(self, column: str) -> Any:
        import pyarrow as pa

        field = self._opened.schema.field(column)
        return pa.type_for_alias(self._as[column]) if column in self._as else field.type

    @property
    def _is_text(self) -> bool:
        """Whether the types are not in the data: a CSV file's are guessed from its start, unless they are given."""
        return files.is_path(self._data) and files.file_format(self._opened.files[0]) == "csv"

    def rows(self) -> int:
        """How many rows there are, without reading them."""
        import pyarrow as pa

        if self.is_column:
            return self._whole().rows
        if isinstance(self._opened, pa.RecordBatchReader):
            raise ValueError("size= is missing: the number of rows in a stream shows only at its end")
        return int(self._opened.num_rows if isinstance(self._opened, pa.Table) else self._opened.count_rows())

    def batches(self, *columns: str | None) -> Iterator[Batch]:
        """The rows, with these columns of them."""
        if self.is_column:
            yield self._whole()
            return
        wanted = list(dict.fromkeys(name for name in columns if name is not None)) or self.names[:1]
        for batch in self._record_batches(wanted):
            yield Batch(batch.num_rows, batch.column)
            if self._advance is not None:
                self._advance(batch.num_rows)

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        opened = self._opened
        if files.is_path(self._data):
            yield from files.batches(opened, pa.schema([(name, self.arrow_type(name)) for name in wanted]))
        elif isinstance(opened, pa.Table):
            yield from opened.select(wanted).to_batches()
        else:
            yield from (batch.select(wanted) for batch in opened)

    def _whole(self) -> Batch:
        rows = self._data.size if isinstance(self._data, Runs | Column) else len(_sized(self._data))
        for name, key in self._keys.items():
            if len(key) != rows:
                raise ValueError(f"{name} has {len(key):,} entries for {rows:,} records; give one for each")
        return Batch(rows, lambda name: self._data if name is None else self._keys[name])


def _is_column(data: Any) -> bool:
    """Whether the data is one column itself."""
    if files.is_path(data) or isinstance(data, Mapping) or _is_frame(data):
        return False
    if isinstance(data, Runs | Column) or not hasattr(data, "__arrow_c_stream__"):
        return True
    import pyarrow as pa

    if isinstance(data, pa.Table | pa.RecordBatchReader | pa.RecordBatch):
        return False
    if isinstance(data, pa.ChunkedArray):
        return True
    return not (hasattr(data, "columns") or hasattr(data, "fetch_arrow_table"))  # a series has a name, not columns


def _is_frame(data: Any) -> bool:
    """Whether the data is a pandas frame."""
    return hasattr(data, "columns") and hasattr(data, "loc")


def _is_arrow(data: Any) -> bool:
    return hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")


def _sized(data: Any) -> Any:
    if hasattr(data, "__len__"):
        return data
    import pyarrow as pa

    return pa.chunked_array(data) if hasattr(data, "__arrow_c_stream__") else pa.array(data)


def _number_type(kind: Any, name: str) -> tuple[NumberType, Fraction]:
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return number_type("uint8"), Fraction(1)
    if pa.types.is_decimal(kind):
        if kind.precision > 18 or not pa.types.is_decimal128(kind):
            raise TypeError(f"column {name!r} is {kind}; decimals of up to 18 digits are exact here, so cast it")
        return int64, Fraction(1, 10**kind.scale)
    try:
        return number_type(kind.to_pandas_dtype()), Fraction(1)
    except (NotImplementedError, TypeError):
        raise TypeError(f"column {name!r} is {kind}, not numbers; name another column, or cast it") from None


def _numbers(array: Any) -> Records:
    """An Arrow array as records; booleans as 0 and 1, decimals by their scaled integers."""
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        return records(array.cast(pa.uint8()))
    if not pa.types.is_decimal128(array.type):
        return records(array)
    bitmap, values = array.buffers()
    words = np.frombuffer(values, dtype=np.int64)[::2]  # little-endian: up to 18 digits are in the low word
    present = np.frombuffer(bitmap, dtype=np.uint8) if bitmap is not None and array.null_count else None
    stop = array.offset + len(array)
    return Column(words[array.offset : stop], int64, present, array.offset if present is not None else 0)
