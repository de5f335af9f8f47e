"""Parquet, CSV and Arrow IPC files, read a batch at a time in bounded memory.

A CSV file has no types, and none are guessed: whoever asks says what a column is read as. A cell of another type is
missing, a row with too few or too many cells is left out, and nothing raises. Quotes must be in pairs: one that is not
takes what follows it into its cell.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, TypeAlias

from soundsum.arithmetic.numbers import NumberType, int64
from soundsum.data.ahead import read_ahead
from soundsum.data.cells import parse_cells

BATCH = 1 << 18
"""Rows read at a time."""

CSV_BLOCK = 1 << 20
"""Bytes of CSV read at a time; no cell can be larger."""

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}
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
    opened: Any = None
    with suppress(pa.ArrowException, OSError, StopIteration, csv.Error):
        files: Any = CsvFiles(found) if kind == "csv" else ds.dataset(found, format=kind)
        if kind != "csv":
            [fragment.physical_schema for fragment in files.get_fragments()]  # all of them, now
        opened = files
    if opened is None:  # raised here, so that nothing of the reader comes along
        raise ValueError(f"{given} cannot be read as {kind}; it is empty or broken, or its suffix is wrong")
    return opened


class CsvFiles:
    """CSV files with the column names that the first one begins with; there are no types in them."""

    def __init__(self, files: list[str]) -> None:
        import pyarrow as pa

        self.schema = pa.schema({name: pa.null() for name in _read_header(files[0])})
        self.files = [file for file in files if not _is_header_alone(file)] or files[:1]


def batches(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    """The rows, with these columns as these Arrow types; None for any, where the values do not matter."""

    kind = file_format(opened.files[0])
    reader = {"parquet": _parquet, "csv": _csv, "ipc": _ipc}[kind]
    yield from reader(opened, kinds)


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

    for batch in read_ahead((read(path) for path in opened.files if not _is_header_alone(path)), readers=1):
        columns = [parse_cells(batch.column(name), kind) for name, kind in kinds.items()]
        yield pa.record_batch(columns, names=list(kinds))


def _is_header_alone(path: str) -> bool:
    """Whether the file is one line without an end, which Arrow takes for no table at all."""
    with open(path, "rb") as file:
        line = file.readline(CSV_BLOCK)
        return bool(line.strip()) and not line.endswith((b"\n", b"\r")) and b"\r" not in line and not file.read(1)


def _read_header(path: str) -> list[str]:
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        return next(csv.reader(file))


def _csv_reader(path: str, kinds: Mapping[str, Any]) -> Any:
    """Reads these columns as they are spelled, or guesses the types of all if there are none."""
    import pyarrow as pa
    from pyarrow import PythonFile, csv

    spelled = {"column_types": dict.fromkeys(kinds, pa.binary()), "include_columns": list(kinds), "null_values": [""]}
    convert = csv.ConvertOptions(strings_can_be_null=True, **(spelled if kinds else {}))
    return csv.open_csv(PythonFile(Utf8File(path)), csv.ReadOptions(block_size=CSV_BLOCK), _csv_rows(), convert)


class Utf8File(io.RawIOBase):
    """A file in which what is not UTF-8 is replaced: Arrow cannot even leave out a row that holds such bytes."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "rb")  # noqa: SIM115  closed with this one
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._ahead = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self._ahead) < size:
            block = self._file.read(CSV_BLOCK)
            self._ahead += self._decoder.decode(block, final=not block).encode()
            if not block:
                break
        read, self._ahead = (self._ahead, b"") if size < 0 else (self._ahead[:size], self._ahead[size:])
        return read

    def close(self) -> None:
        self._file.close()
        super().close()


@cache
def _csv_rows() -> Any:
    """What a row is, made once and kept: Arrow's threads may let go of theirs when Python is no longer there."""
    from pyarrow.csv import ParseOptions

    # Without newlines_in_values a long cell with newlines in it would be cut into rows.
    return ParseOptions(invalid_row_handler=_skip, newlines_in_values=True, ignore_empty_lines=False)


def _skip(row: Any) -> str:
    return "skip"
