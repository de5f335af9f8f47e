"""Parquet, CSV and Arrow IPC files, read a batch at a time in bounded memory.

A CSV file has no types. They are guessed from its start unless they are given, and after that a cell that is not of its
column's type is missing, a row with too few or too many cells is left out, and nothing raises. Quotes must be in pairs:
one that is not takes what follows it into its cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from soundsum.arithmetic.numbers import NumberType, float64, int64
from soundsum.data.ahead import read_ahead
from soundsum.data.cells import parse_cells

BATCH = 1 << 18
"""Rows read at a time."""

CSV_BLOCK = 1 << 20
"""Bytes of CSV read at a time; types are guessed from the first of them, and no cell can be larger."""

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}
AHEAD = {"batch_readahead": 4, "fragment_readahead": 1}

Path: TypeAlias = str | os.PathLike[str]


def is_path(data: Any) -> bool:
    return isinstance(data, str | os.PathLike)


def file_format(path: Path) -> str:
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in FORMATS:
        raise ValueError(f"{path}: {suffix or 'no suffix'} is not a known format; use {', '.join(FORMATS)}")
    return FORMATS[suffix]


def dataset(path: Path) -> Any:
    """The file, or the files of a glob, as one Arrow dataset."""
    import glob

    import pyarrow as pa
    import pyarrow.dataset as ds

    found = sorted(glob.glob(os.fspath(path))) or [os.fspath(path)]
    if not os.path.exists(found[0]):
        raise FileNotFoundError(f"{found[0]}: no such file; check the path")
    kind = file_format(found[0])
    try:
        return CsvFiles(found) if kind == "csv" else ds.dataset(found, format=kind)
    except pa.ArrowInvalid:
        raise ValueError(
            f"{found[0]} cannot be read as {kind}; it is empty or broken, or its suffix is wrong"
        ) from None


class CsvFiles:
    """CSV files with the column names and the types that the first one begins with."""

    def __init__(self, files: list[str]) -> None:
        self.files = files
        with _csv_reader(files[0], {}) as reader:
            self.schema = reader.schema


def batches(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    """The rows, with these columns as these Arrow types; None for any, where the values do not matter."""
    import pyarrow as pa

    kind = file_format(opened.files[0])
    reader = {"parquet": _parquet, "csv": _csv, "ipc": _ipc}[kind]
    if kind != "csv":
        _require_one_type(opened, kinds)
    try:
        yield from reader(opened, kinds)
    except pa.ArrowInvalid:  # whose words may hold a record
        raise ValueError(f"{opened.files[0]} cannot be read to its end as {kind}; it is broken") from None


def rows(path: Path) -> int | None:
    """How many rows there are, where that is known without reading them."""
    opened = dataset(path)
    return int(opened.count_rows()) if file_format(opened.files[0]) == "parquet" else None


def number_type_of(guessed: Any, wanted: NumberType | None) -> Any:
    """The Arrow type in which numbers are read from CSV."""
    import pyarrow as pa

    if wanted in (int64, float64):
        return pa.int64() if wanted == int64 else pa.float64()
    return pa.float64() if pa.types.is_null(guessed) else guessed


def _require_one_type(opened: Any, kinds: Mapping[str, Any]) -> None:
    """Files of a glob may have narrower types than the first, and no others: a cast must not depend on a value."""
    import pyarrow as pa

    for fragment in opened.get_fragments():
        schema = fragment.physical_schema
        for name, kind in kinds.items():
            if name not in schema.names:
                raise ValueError(f"{fragment.path} has no column {name!r}, which {opened.files[0]} has; leave it out")
            own = schema.field(name).type
            same_family = any(f(own) and f(kind) for f in (pa.types.is_signed_integer, pa.types.is_floating))
            if own != kind and not (same_family and own.bit_width <= kind.bit_width):
                raise ValueError(
                    f"column {name!r} is {own} in {fragment.path} and {kind} in {opened.files[0]}; cast one of them"
                )


def _ipc(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    yield from opened.to_batches(columns=list(kinds), batch_size=BATCH, **AHEAD)


def _parquet(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, read_metadata

    schema = pa.schema(list(kinds.items()))

    def read(path: str, known: Any, row_group: int) -> Iterator[Any]:
        # Read page by page: a row group may be as large as the file.
        with ParquetFile(path, metadata=known, buffer_size=1 << 20, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH, [row_group], columns=schema.names, use_threads=False):
                ordered = batch.select(schema.names)
                yield ordered if ordered.schema.types == schema.types else ordered.cast(schema)

    each = ((path, read_metadata(path)) for path in opened.files)
    yield from read_ahead(read(path, known, i) for path, known in each for i in range(known.num_row_groups))


def _csv(opened: CsvFiles, kinds: Mapping[str, Any]) -> Iterator[Any]:
    import pyarrow as pa

    def read(path: str) -> Iterator[Any]:
        with _csv_reader(path, kinds) as reader:
            yield from reader

    for batch in read_ahead((read(path) for path in opened.files), readers=1):
        columns = [parse_cells(batch.column(name), kind) for name, kind in kinds.items()]
        yield pa.record_batch(columns, names=list(kinds))


def _csv_reader(path: str, kinds: Mapping[str, Any]) -> Any:
    """Reads these columns as they are spelled, or guesses the types of all if there are none."""
    import pyarrow as pa
    from pyarrow import csv

    spelled = {"column_types": dict.fromkeys(kinds, pa.binary()), "include_columns": list(kinds), "null_values": [""]}
    convert = csv.ConvertOptions(strings_can_be_null=True, **(spelled if kinds else {}))
    return csv.open_csv(path, csv.ReadOptions(block_size=CSV_BLOCK), _csv_rows(), convert)


@cache
def _csv_rows() -> Any:
    """What a row is, made once and kept: Arrow's threads may let go of theirs when Python is no longer there."""
    from pyarrow.csv import ParseOptions

    # Without newlines_in_values a long cell with newlines in it would be cut into rows.
    return ParseOptions(invalid_row_handler=_skip, newlines_in_values=True, ignore_empty_lines=False)


def _skip(row: Any) -> str:
    return "skip"
