"""Tables, and every way to hand one over: cut into batches, chunks, row groups or files anywhere."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet

from tests.neighbours.cells import KINDS


@dataclass(frozen=True)
class Table:
    """Rows of columns of certain kinds, cut before some of them, for a reader."""

    reader: str
    kinds: dict[str, str]
    rows: tuple[tuple[Any, ...], ...]
    cuts: tuple[int, ...] = ()

    def column(self, name: str) -> list[Any]:
        place = list(self.kinds).index(name)
        return [row[place] for row in self.rows]

    def pieces(self) -> Iterator[tuple[tuple[Any, ...], ...]]:
        ends = [0, *sorted(min(cut, len(self.rows)) for cut in self.cuts), len(self.rows)]
        return (self.rows[begin:end] for begin, end in pairwise(ends))


def as_array(kind: str, cells: Sequence[Any]) -> pa.Array:
    """Cells as an Arrow array; a dictionary has every value twice, one that is unused, and a null."""
    own = KINDS[kind].type
    if pa.types.is_dictionary(own):
        values = list({repr(cell): cell for cell in cells if cell is not None}.values())
        listed = pa.array([*values, *values, None, *values[:1]], own.value_type)
        places = {repr(cell): place for place, cell in enumerate(values)}
        codes = [
            (2 * len(values) if turn % 2 else None) if cell is None else places[repr(cell)] + turn % 2 * len(values)
            for turn, cell in enumerate(cells)
        ]
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), listed)
    if pa.types.is_temporal(own) and not pa.types.is_interval(own):
        return pa.array(cells, pa.int64() if own.bit_width == 64 else pa.int32()).view(own)
    if isinstance(own, pa.ExtensionType | pa.UuidType):
        return pa.array(cells, own.storage_type).cast(own)
    if pa.types.is_float16(own):
        return pa.array([None if x is None else np.float16(x) for x in cells], own)
    return pa.array(cells, own)


def as_batches(table: Table) -> tuple[pa.Schema, list[pa.RecordBatch]]:
    schema = pa.schema([(name, KINDS[kind].type) for name, kind in table.kinds.items()])
    pieces = []
    for rows in table.pieces():
        columns = list(zip(*rows, strict=True)) or [()] * len(table.kinds)
        arrays = [as_array(kind, cells) for kind, cells in zip(table.kinds.values(), columns, strict=True)]
        pieces.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return schema, pieces


def as_csv(table: Table, rows: Sequence[Sequence[bytes]]) -> bytes:
    def write(cell: bytes) -> bytes:
        return b'"' + cell.replace(b'"', b'""') + b'"' if set(cell) & set(b',"\r\n') else cell

    lines = [[*(name.encode() for name in table.kinds), b"end"], *([*map(write, row), b"1"] for row in rows)]
    return b"".join(b",".join(line) + b"\n" for line in lines)


@dataclass(frozen=True)
class Reader:
    """A way to hand over a table: what the package is given, and options that go with it."""

    family: str  # of cells
    give: Callable[[Table, Path], Any]
    options: tuple[tuple[str, str], ...] = ()
    drawn: int = 1  # how often, compared with others
    kinds: tuple[str, ...] | None = None  # that it can hold; None for all of the family


def as_arrow(table: Table, folder: Path | None = None) -> pa.Table:
    schema, batches = as_batches(table)
    chunks = [[batch.column(name) for batch in batches] for name in schema.names]  # empty ones too
    return pa.table([pa.chunked_array(c, f.type) for c, f in zip(chunks, schema, strict=True)], schema=schema)


def _stream(table: Table, folder: Path) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(*as_batches(table))


def _pandas(table: Table, folder: Path) -> pd.DataFrame:
    return as_arrow(table, folder).to_pandas(types_mapper=pd.ArrowDtype)


def _numpy(table: Table, folder: Path) -> dict[str, Any]:
    """Numbers as arrays of NumPy, integers masked where one may be missing; anything else as Arrow has it."""
    given = {}
    for name, column in zip(table.kinds, as_arrow(table, folder).columns, strict=True):
        kind = column.type
        if pa.types.is_floating(kind):
            cells = [np.nan if x is None else x for x in table.column(name)]
            given[name] = np.array(cells, kind.to_pandas_dtype())
        elif pa.types.is_integer(kind):
            cells = table.column(name)
            given[name] = np.ma.MaskedArray([x or 0 for x in cells], [x is None for x in cells], kind.to_pandas_dtype())
        else:
            given[name] = column
    return given


class Unfaithful(ValueError):
    """A library that would hold other values than it was given."""


def _polars(table: Table, folder: Path) -> Any:
    import polars as pl

    arrow = as_arrow(table, folder)
    if any(pa.types.is_decimal256(kind) or pa.types.is_interval(kind) for kind in arrow.schema.types):
        raise Unfaithful  # it panics
    frame = pl.from_arrow(arrow)
    for name, column in zip(table.kinds, arrow.columns, strict=True):
        if pa.types.is_temporal(column.type):
            column.cast(frame.get_column(name).to_arrow().type)  # raises where a coarser unit would wrap around
    return frame


@cache
def _duckdb() -> Any:
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1})


def _relation(table: Table, folder: Path) -> Any:
    if any("duration" in kind for kind in table.kinds.values()):
        raise Unfaithful  # it makes intervals of them, of months, days and the rest
    relation = _duckdb().from_arrow(as_arrow(table, folder))
    relation.fetchnumpy()  # raises where a value is beyond DuckDB's own types, whoever reads it
    return _duckdb().from_arrow(as_arrow(table, folder))


def _connection(table: Table, folder: Path) -> Any:
    _relation(table, folder).create_view("given", replace=True)
    return _duckdb().execute("CREATE OR REPLACE TABLE held AS SELECT * FROM given")


def _parquet(table: Table, folder: Path) -> str:
    schema, batches = as_batches(table)
    path = str(folder / "table.parquet")
    with pyarrow.parquet.ParquetWriter(path, schema, store_schema=True) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def _parquet_files(table: Table, folder: Path) -> str:
    schema, batches = as_batches(table)
    for place, batch in enumerate(batches):
        pyarrow.parquet.write_table(pa.Table.from_batches([batch], schema), folder / f"{place:03}.parquet")
    return str(folder)


def _folders(table: Table, folder: Path) -> str:
    """Keys in the names of folders, one of which is always there."""
    if "k" not in table.kinds or len(table.kinds) == 1:
        return _parquet_files(table, folder)
    if {"", "\x00"} & set(table.column("k")):
        raise Unfaithful  # which are no names
    place = list(table.kinds).index("k")
    kinds = {name: kind for name, kind in table.kinds.items() if name != "k"}
    for key in dict.fromkeys([None, *table.column("k")]):
        rows = tuple(row[:place] + row[place + 1 :] for row in table.rows if row[place] == key)
        own = folder / f"k={'__HIVE_DEFAULT_PARTITION__' if key is None else quote(key, safe='')}"
        own.mkdir()
        pyarrow.parquet.write_table(as_arrow(Table("parquet", kinds, rows)), own / "rows.parquet")
    return str(folder)


def _ipc(table: Table, folder: Path) -> str:
    schema, batches = as_batches(table)
    path = str(folder / "table.arrow")
    options = pa.ipc.IpcWriteOptions(unify_dictionaries=True)
    with pa.ipc.new_file(path, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def _csv(table: Table, folder: Path) -> str:
    path = folder / "table.csv"
    path.write_bytes(as_csv(table, table.rows))
    return str(path)


def _csv_files(table: Table, folder: Path) -> str:
    for place, rows in enumerate(table.pieces()):
        (folder / f"{place:03}.csv").write_bytes(as_csv(table, rows))
    return str(folder)


def _lists(table: Table, folder: Path) -> dict[str, list[Any]]:
    return {name: table.column(name) for name in table.kinds}


def _object_arrays(table: Table, folder: Path) -> dict[str, Any]:
    def array(cells: list[Any]) -> Any:
        made = np.empty(len(cells), object)
        for place, cell in enumerate(cells):
            made[place] = cell
        return made

    return {name: array(table.column(name)) for name in table.kinds}


def _frame(table: Table, folder: Path) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in _object_arrays(table, folder).items()})


READERS: dict[str, Reader] = {
    "arrow": Reader("typed", as_arrow, drawn=3),
    "stream": Reader("typed", _stream, drawn=6),
    "arrow columns": Reader("typed", lambda *to: dict(zip(to[0].kinds, as_arrow(*to).columns, strict=True))),
    "pandas": Reader("typed", _pandas),
    "numpy": Reader("typed", _numpy, drawn=2),
    "polars": Reader("typed", _polars),
    "polars lazy": Reader("typed", lambda *to: _polars(*to).lazy()),
    "duckdb relation": Reader("typed", _relation, drawn=2),
    "duckdb table": Reader("typed", _connection, (("table", "held"),)),
    "arrow dataset": Reader("typed", lambda *to: pyarrow.dataset.dataset(as_arrow(*to).to_batches() or as_arrow(*to))),
    "parquet": Reader("typed", _parquet, drawn=2),
    "parquet files": Reader("typed", _parquet_files),
    "parquet by duckdb": Reader("typed", _parquet_files, (("engine", "duckdb"),)),
    "parquet by polars": Reader("typed", _parquet_files, (("engine", "polars"),)),
    "folders": Reader("typed", _folders),
    "folders by duckdb": Reader("typed", _folders, (("engine", "duckdb"),)),
    "folders by polars": Reader("typed", _folders, (("engine", "polars"),)),
    "ipc": Reader("typed", _ipc),
    "csv": Reader("csv", _csv, drawn=6),
    "csv files": Reader("csv", _csv_files, drawn=2),
    "lists": Reader("objects", _lists, drawn=6),
    "object arrays": Reader("objects", _object_arrays, drawn=2),
    "object frame": Reader("objects", _frame, drawn=3),
    "column": Reader("objects", _lists, drawn=2),  # with its keys and ids beside it
    "arrow column": Reader("typed", as_arrow, drawn=2),
}
ALONE = ("column", "arrow column")
"""Data that is a single column."""


def hand_over(table: Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    """What the package is given, and the options that go with it; files lie at the same place every time."""
    reader = READERS[table.reader]
    folder.mkdir(exist_ok=True)
    for file in folder.iterdir():
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    return reader.give(table, folder), dict(reader.options)
