"""Data as a stream of batches: single columns, tables in memory, and files, read a batch at a time.

A table is anything with the Arrow stream interface (pyarrow, pandas, Polars, DuckDB), a dict of columns, or a path to
Parquet, CSV or Arrow IPC files (globs too). Types come from the schema. Booleans are read as 0 and 1, decimals of up to
18 digits as exact scaled integers.
"""

from __future__ import annotations

import glob
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers import NumberType, int64, number_type
from soundsum.preparation import as_doubles_array
from soundsum.records import Column, Records, records
from soundsum.runs import Runs
from soundsum.stability import present

BATCH = 1 << 20
"""Records read from a file at a time."""


@dataclass(frozen=True)
class Source:
    """One column to sum, its public type, and what else is read beside it.

    `unit` is what 1 in the records is worth: a decimal's last digit, otherwise 1.
    """

    type: NumberType
    unit: Fraction
    _table: Any
    _column: str | None
    _others: tuple[str, ...]

    def batches(self) -> Iterator[tuple[Records, dict[str, Any]]]:
        """The column's records, batch by batch, with the other columns as Arrow arrays."""
        if self._column is None:
            yield self._table, {}
            return
        for batch in _scan(self._table, [self._column, *self._others]):
            yield _numbers(batch.column(self._column)), {name: batch.column(name) for name in self._others}


def source(data: Any, column: str | None = None, dtype: object = None, others: tuple[str, ...] = ()) -> Source:
    """The column of a table, or data that is a column itself."""
    if column is None:
        if others:
            raise ValueError(f"column= is missing; it names what to sum, beside {', '.join(others)}")
        whole = _single(data, dtype)
        return Source(whole.type, Fraction(1), whole, None, ())
    schema = _schema(data)
    for name in (column, *others):
        if name not in schema.names:
            raise ValueError(f"column {name!r} is not in the table; it has {', '.join(schema.names)}")
    kind, unit = _number_type(schema.field(column).type, column)
    if dtype is not None and number_type(dtype) != kind:
        raise TypeError(f"dtype={number_type(dtype)} but column {column!r} is {kind}; cast it, or leave dtype out")
    return Source(kind, unit, data, column, tuple(dict.fromkeys(others)))


def _single(data: Any, dtype: object) -> Records:
    if isinstance(data, str | Path):
        raise ValueError(f"column= is missing; it names what to read from {data}")
    return data if isinstance(data, Runs | Column) and dtype is None else records(data, dtype)


def _is_path(data: Any) -> bool:
    return isinstance(data, str | Path)


def _schema(data: Any) -> Any:
    import pyarrow as pa

    if _is_path(data):
        return _dataset(data).schema
    if isinstance(data, Mapping):
        return pa.table(dict(data)).schema
    if hasattr(data, "schema") and isinstance(data.schema, pa.Schema):
        return data.schema
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data).schema
    raise TypeError(
        f"{type(data).__name__} is not a table; pass a data frame, an Arrow table, a dict of columns or a path"
    )


def _scan(data: Any, columns: list[str]) -> Iterator[Any]:
    import pyarrow as pa

    wanted = list(dict.fromkeys(columns))
    if _is_path(data):
        yield from _dataset(data).to_batches(columns=wanted, batch_size=BATCH)
    elif isinstance(data, Mapping):
        yield from pa.table(dict(data)).select(wanted).to_batches()
    else:
        reader = data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
        for batch in reader:
            yield batch.select(wanted)


def _dataset(path: str | Path) -> Any:
    import pyarrow.dataset as ds

    files = sorted(glob.glob(str(path))) or [str(path)]
    missing = [f for f in files if not Path(f).exists()]
    if missing:
        raise FileNotFoundError(f"{missing[0]}: no such file; check the path")
    formats = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}
    suffix = Path(files[0]).suffix.lower()
    if suffix not in formats:
        raise ValueError(f"{files[0]}: {suffix or 'no suffix'} is not a known format; use {', '.join(formats)}")
    return ds.dataset(files, format=formats[suffix])


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


def numbers(data: Any, column: str | None) -> Iterator[NDArray[np.float64]]:
    """The column's present values as doubles, batch by batch."""
    for batch, _ in source(data, column).batches():
        kept = present(batch)
        yield np.array([float(x) for x in kept]) if isinstance(kept, Runs) else as_doubles_array(kept)


def category_codes(data: Any, column: str | None, categories: list[Any]) -> Iterator[NDArray[np.int64]]:
    """For each record the index of its category, or len(categories) for any other; batch by batch."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = [pa.array(data)] if column is None else (batch.column(column) for batch in _scan(data, [column]))
    for array in arrays:
        wanted = pa.array(categories, type=array.type)
        codes = pc.index_in(array, value_set=wanted).fill_null(len(categories))
        yield codes.to_numpy(zero_copy_only=False).astype(np.int64)
