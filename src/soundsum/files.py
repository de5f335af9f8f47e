"""Parquet, CSV and Arrow IPC files, read a batch at a time in bounded memory."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BATCH = 1 << 18
"""Rows read at a time."""

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}


AHEAD = {"batch_readahead": 4, "fragment_readahead": 1}

FLOAT = r"^[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|inf|Inf|infinity|Infinity|nan|NaN)$"
INTEGER = r"^[+-]?\d{1,37}$"


def is_path(data: Any) -> bool:
    return isinstance(data, str | Path)


def dataset(path: str | Path) -> Any:
    """The file, or the files of a glob, as one Arrow dataset."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    found = sorted(glob.glob(str(path))) or [str(path)]
    if not Path(found[0]).exists():
        raise FileNotFoundError(f"{found[0]}: no such file; check the path")
    kind = file_format(found[0])
    try:
        return ds.dataset(found, format=kind)
    except pa.ArrowInvalid as error:
        raise ValueError(f"{found[0]} cannot be read as {kind}: {str(error).splitlines()[0]}") from None


def file_format(path: str | Path) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{path}: {suffix or 'no suffix'} is not a known format; use {', '.join(FORMATS)}")
    return FORMATS[suffix]


def batches(opened: Any, schema: Any) -> Iterator[Any]:
    """The rows, with the columns and types of this schema."""
    reader = {"parquet": _parquet, "csv": _csv, "ipc": _ipc}[file_format(opened.files[0])]
    yield from reader(opened, schema)


def _ipc(opened: Any, schema: Any) -> Iterator[Any]:
    yield from opened.to_batches(columns=schema.names, batch_size=BATCH, **AHEAD)


def _csv(opened: Any, schema: Any) -> Iterator[Any]:
    """Numbers are read as text and then parsed, so that a cell that is no number is missing and does not raise."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow.csv import ConvertOptions

    parsed = {field.name: pa.string() for field in schema if field.type in (pa.int64(), pa.float64())}
    convert = ConvertOptions(column_types=parsed)
    again = ds.dataset(opened.files, format=ds.CsvFileFormat(convert_options=convert))
    for batch in again.to_batches(columns=schema.names, batch_size=BATCH, **AHEAD):
        columns = [_parsed(batch.column(f.name), f.type) if f.name in parsed else batch.column(f.name) for f in schema]
        yield pa.record_batch(columns, names=schema.names)


def _parsed(cells: Any, kind: Any) -> Any:
    """Text as numbers; whatever is none, or beyond 64 bits, is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(cells)
    if kind == pa.float64():
        return pc.if_else(pc.match_substring_regex(trimmed, FLOAT), trimmed, None).cast(kind)
    digits = pc.if_else(pc.match_substring_regex(trimmed, INTEGER), pc.utf8_ltrim(trimmed, characters="+"), None)
    wide = digits.cast(pa.decimal128(38))
    held = pc.and_(pc.less_equal(wide, 2**63 - 1), pc.greater_equal(wide, -(2**63)))
    return pc.if_else(held, digits, None).cast(kind)


def _parquet(opened: Any, schema: Any) -> Iterator[Any]:
    from pyarrow.parquet import ParquetFile

    columns = schema.names
    for path in opened.files:
        # Read page by page: a row group may be as large as the file.
        with ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                ordered = batch.select(columns)
                yield ordered if ordered.schema.types == schema.types else ordered.cast(schema)  # files may differ


def rows(path: str | Path) -> int | None:
    """How many rows there are, where that is known without reading them."""
    opened = dataset(path)
    return int(opened.count_rows()) if file_format(opened.files[0]) == "parquet" else None
