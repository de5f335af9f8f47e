"""Parquet, CSV and Arrow IPC files, read a batch at a time in bounded memory."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BATCH = 1 << 18
"""Rows read at a time."""

FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc"}


def is_path(data: Any) -> bool:
    return isinstance(data, str | Path)


def dataset(path: str | Path) -> Any:
    """The file, or the files of a glob, as one Arrow dataset."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    found = sorted(glob.glob(str(path))) or [str(path)]
    if not Path(found[0]).exists():
        raise FileNotFoundError(f"{found[0]}: no such file; check the path")
    suffix = Path(found[0]).suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"{found[0]}: {suffix or 'no suffix'} is not a known format; use {', '.join(FORMATS)}")
    try:
        return ds.dataset(found, format=FORMATS[suffix])
    except pa.ArrowInvalid as error:
        raise ValueError(f"{found[0]} cannot be read as {FORMATS[suffix]}: {_first_line(error)}") from None


def batches(opened: Any, columns: list[str]) -> Iterator[Any]:
    """The rows, a few batches ahead of what is asked for."""
    if FORMATS[Path(opened.files[0]).suffix.lower()] != "parquet":
        yield from opened.to_batches(columns=columns, batch_size=BATCH, batch_readahead=4, fragment_readahead=1)
        return
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    schema = pa.schema([opened.schema.field(name) for name in columns])
    for path in opened.files:
        # Read page by page: a row group may be as large as the file.
        with ParquetFile(path, buffer_size=1 << 20, pre_buffer=False) as file:
            for batch in file.iter_batches(BATCH, columns=columns):
                ordered = batch.select(columns)
                yield ordered if ordered.schema.types == schema.types else ordered.cast(schema)


def rows(path: str | Path) -> int | None:
    """How many rows there are, where that is known without reading them."""
    opened = dataset(path)
    return opened.count_rows() if Path(opened.files[0]).suffix.lower() == ".parquet" else None


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
