"""Parquet, CSV and Arrow IPC files, read a batch at a time in bounded memory."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

from soundsum.arithmetic.numbers import NumberType, int64
from soundsum.data.ahead import read_ahead
from soundsum.data.csv_files import CsvFiles

BATCH = 1 << 18
"""Rows read at a time."""

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}
BUFFERED = {"buffer_size": 1 << 20, "pre_buffer": False}
SMALL_GROUP_ROWS, SMALL_GROUP_BYTES = 1 << 21, 1 << 26
AHEAD = {"batch_readahead": 4, "fragment_readahead": 1}

Path: TypeAlias = str | os.PathLike[str]
PATHS = (str, os.PathLike)


def file_format(path: Path, suffix: str | None = None) -> str:
    suffix = os.path.splitext(path)[1].lower() if suffix is None else suffix
    if suffix not in FORMATS:
        raise ValueError(f"{path}: {suffix or 'no suffix'} is not a known format; use {', '.join(FORMATS)}")
    return FORMATS[suffix]


def dataset(path: Path) -> Any:
    """The file, or the files of a glob, as one Arrow dataset."""
    import glob

    import pyarrow as pa
    import pyarrow.dataset as ds

    given = os.fspath(path)
    found = sorted(glob.glob(given)) or [given]
    if not os.path.exists(found[0]):
        raise FileNotFoundError(f"{given}: no such file; check the path")
    kinds = {os.path.splitext(file)[1].lower() for file in found}
    kind = file_format(given if len(found) == 1 else f"{given} ({', '.join(sorted(kinds))[:40]})", min(kinds))
    if len(kinds) > 1 or not all(os.path.isfile(file) for file in found):
        raise ValueError(f"{given} matches what are not files of one kind; name files with one suffix")
    if not all(os.access(file, os.R_OK) for file in found):
        raise PermissionError(f"{given}: no permission to read it; ask its owner, or run as a user who may")
    opened: Any = None
    with suppress(pa.ArrowException, OSError, StopIteration, csv.Error):
        files: Any = CsvFiles(found) if kind == "csv" else ds.dataset(found, format=kind)
        if kind != "csv":
            [fragment.physical_schema for fragment in files.get_fragments()]  # all of them, now
        opened = files
    if opened is None:  # raised here, so that nothing of the reader comes along
        raise ValueError(f"{given} cannot be read as {kind}; it is empty or broken, or its suffix is wrong")
    return opened


def batches(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    """The rows, with these columns as these Arrow types; None for any, where the values do not matter."""
    if isinstance(opened, CsvFiles):
        return opened.batches(kinds)
    reader = {"parquet": _parquet, "ipc": _ipc}[file_format(opened.files[0])]
    return reader(opened, kinds)


def rows(path: Path) -> int | None:
    """How many rows there are, where that is known without reading them."""
    opened = dataset(path)
    return int(opened.count_rows()) if file_format(opened.files[0]) == "parquet" else None


def number_type_of(wanted: NumberType | None) -> Any:
    """The Arrow type in which numbers are read from CSV."""
    import pyarrow as pa

    return pa.int64() if wanted == int64 else pa.float64()


def require_one_type(opened: Any, kinds: Mapping[str, Any]) -> None:
    """Files of a glob may have narrower types than the first, and no others: a cast must not depend on a value."""
    import pyarrow as pa

    if isinstance(opened, CsvFiles):
        for name in kinds:
            opened.require(name)
        return
    for fragment in opened.get_fragments():
        schema = fragment.physical_schema
        for name, kind in kinds.items():
            if name not in schema.names:
                raise ValueError(f"one of the files has no column {name!r}, which the first has; leave it out")
            own = schema.field(name).type
            same_family = any(f(own) and f(kind) for f in (pa.types.is_signed_integer, pa.types.is_floating))
            if own != kind and not (same_family and own.bit_width <= kind.bit_width):
                raise ValueError(
                    f"column {name!r} is {own} in one of the files and {kind} in the first; cast one of them"
                )


def _ipc(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    yield from opened.to_batches(columns=list(kinds), batch_size=BATCH, **AHEAD)


def _parquet(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    """By row groups where these are small, which is fastest; otherwise by pages, as one may be as large as the file."""
    import pyarrow as pa
    from pyarrow.dataset import ParquetFragmentScanOptions

    schema, options = pa.schema(list(kinds.items())), ParquetFragmentScanOptions(**BUFFERED, use_buffered_stream=True)
    are_small = all(_is_small(group) for fragment in opened.get_fragments() for group in fragment.row_groups)
    by_groups = {"columns": schema.names, "batch_size": BATCH, "fragment_scan_options": options, **AHEAD}
    for batch in opened.to_batches(**by_groups) if are_small else _by_pages(opened, schema.names):
        yield batch if batch.schema.types == schema.types else batch.cast(schema)


def _is_small(row_group: Any) -> bool:
    return bool(row_group.num_rows <= SMALL_GROUP_ROWS and row_group.total_byte_size <= SMALL_GROUP_BYTES)


def _by_pages(opened: Any, names: list[str]) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile, read_metadata

    def read(path: str, known: Any, row_group: int) -> Iterator[Any]:
        with ParquetFile(path, metadata=known, **BUFFERED) as file:
            for batch in file.iter_batches(BATCH, [row_group], columns=names, use_threads=False):
                yield batch.select(names)

    each = ((path, read_metadata(path)) for path in opened.files)
    yield from read_ahead(read(path, known, i) for path, known in each for i in range(known.num_row_groups))
