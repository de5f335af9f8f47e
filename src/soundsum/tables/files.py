"""Parquet, CSV and Arrow IPC files, read a batch at a time in bounded memory: on this machine or in an object store.

A store's address means one file, those of a pattern, or all below a prefix. fsspec lists and reads them, with the
credentials that its package for the store finds.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import reduce
from importlib import import_module
from itertools import chain
from operator import and_
from typing import Any

import numpy as np

from soundsum.numbers.quoting import printed, quote, say_kind
from soundsum.numbers.types import NumberType, int64
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import RawCells, parse_cells
from soundsum.tables.csv_files import SPARE, CsvFiles, HasLongHeader, IsBinary, IsUtf16
from soundsum.tables.paths import Files, RawPath, find_files, find_format, find_keys, is_stored, is_table, nothing_in
from soundsum.tables.prefetch import read_ahead

BATCH = 1 << 18
"""Rows read at a time."""

BUFFERED = {"buffer_size": 1 << 20, "pre_buffer": False}
SMALL_GROUP_ROWS, SMALL_GROUP_BYTES = 1 << 21, 1 << 26
FEW_ROWS, FEW_BYTES = 1 << 16, 1 << 22
"""Of a table that is read before other threads could begin."""

AHEAD = {"batch_readahead": 4, "fragment_readahead": 1}


def dataset(path: Any) -> Any:
    """The files that a path or a list of them means, as one Arrow dataset, or as CSV files."""
    return open_files(find_stored(path) if is_stored(path) else find_files(path))


def open_files(found: Files) -> Any:
    """Files as one Arrow dataset, or as CSV files."""
    import pyarrow as pa

    opened: Any = None
    twice: list[str] = []
    with suppress(pa.ArrowException, OSError, EOFError, StopIteration, csv.Error):
        if found.format == "csv":
            opened = _open_csv(found)
        else:
            files = _open_fragments(found)
            schemas = [fragment.physical_schema for fragment in files.get_fragments()]  # all of them, now
            twice = [key for key in found.keys if any(key in schema.names for schema in schemas)]
            opened = files
    if twice:
        raise RefusedValue(
            "data",
            Reason.CONFLICT,
            "{path}: its files have a column {column}, and its folders are named by it too, perhaps by other values",
            "list the files to read their own column, or take it out of them",
            path=printed(found.given),
            column=quote(twice[0]),
        )
    if opened is None:  # raised here, so that nothing of the reader comes along
        raise RefusedValue(
            "data",
            Reason.UNREADABLE,
            "{path} cannot be read as {format}",
            "it is empty or broken, or its suffix is wrong",
            path=printed(found.given),
            format=found.format,
        )
    return opened


def _open_fragments(found: Files) -> Any:
    """A dataset in which the keys of folders have the values that we read: Arrow's own reading of them can fail."""
    import pyarrow as pa
    import pyarrow.dataset as ds
    from pyarrow.fs import LocalFileSystem

    kind = (ds.ParquetFileFormat if found.format == "parquet" else ds.IpcFileFormat)()
    system, is_here = found.system or LocalFileSystem(), found.system is None
    everything = ds.scalar(True)
    fragments = []
    for file in found.files:
        named = zip(found.keys, found.values(file), strict=True)
        known = [ds.field(key).is_null() if value is None else ds.field(key) == value for key, value in named]
        fragments.append(
            kind.make_fragment(RawPath(file) if is_here else file, system, reduce(and_, known, everything))
        )
    schema = fragments[0].physical_schema
    for key in found.keys:
        schema = schema.append(pa.field(key, pa.string()))
    return ds.FileSystemDataset(fragments, schema, kind, system)


def _open_csv(found: Files) -> CsvFiles:
    try:
        return CsvFiles(found.files, found.system)
    except (IsUtf16, HasLongHeader, IsBinary) as wrong:
        found_wrong, kind = type(wrong), wrong.args
    path = printed(found.given)
    if found_wrong is IsUtf16:
        raise RefusedValue(
            "data", Reason.UNREADABLE, "{path} begins as text in UTF-16 does", "save it as UTF-8", path=path
        )
    if found_wrong is HasLongHeader:
        raise RefusedValue(
            "data",
            Reason.UNREADABLE,
            "{path}: its first line, which has the names of columns, is over 4 MiB",
            "check its quotes and line ends",
            path=path,
        )
    raise RefusedValue(
        "data",
        Reason.UNREADABLE,
        "{path} begins as {kind} file does",
        "rename it to end with {suffix}",
        path=path,
        kind=kind[0],
        suffix=kind[1],
    )


def batches(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    """The rows, with these columns as these Arrow types; None for any, where the values do not matter."""
    if isinstance(opened, CsvFiles):
        return opened.batches(kinds)
    keys = {key: opened.schema.field(key).type for key in key_names(opened)}
    typed = {key: kinds[key] for key, own in keys.items() if kinds.get(key, own) != own}
    read = (_parquet if _is_parquet(opened) else _plain)(opened, {**kinds, **{key: keys[key] for key in typed}})
    return (_parse_keys(batch, typed) for batch in read) if typed else read


def key_names(opened: Any) -> list[str]:
    """The keys that folders of an Arrow dataset are named by."""
    from pyarrow.dataset import get_partition_keys

    first = None if isinstance(opened, CsvFiles) else next(iter(opened.get_fragments()), None)
    keys = {} if first is None else get_partition_keys(first.partition_expression)
    return [name for name in opened.schema.names if name in keys]


def _parse_keys(batch: Any, kinds: Mapping[str, Any]) -> Any:
    for name, kind in kinds.items():
        encoded = batch.column(name).dictionary_encode()  # there are few
        numbers = parse_texts(encoded.dictionary.to_pylist(), kind)
        batch = batch.set_column(batch.schema.get_field_index(name), name, numbers.take(encoded.indices))
    return batch


def parse_texts(texts: list[str], kind: Any) -> Any:
    """Texts as numbers, just as cells of CSV are read; other text is missing."""
    spelled = [text.encode() for text in texts]
    lengths = np.array([len(text) for text in spelled], np.uint32)
    begins = np.cumsum(lengths, dtype=np.uint32) - lengths
    block = np.frombuffer(b"".join(spelled) + bytes(SPARE), np.uint8)
    return parse_cells(RawCells(block, np.stack([begins, lengths], axis=1)), kind)


def _is_parquet(opened: Any) -> bool:
    return getattr(getattr(opened, "format", None), "default_extname", "") == "parquet"


def rows(path: Any) -> int | None:
    """The number of rows, where it is known without reading them."""
    opened = dataset(path)
    return int(opened.count_rows()) if _is_parquet(opened) else None


def number_type_of(wanted: NumberType | None) -> Any:
    """The Arrow type in which numbers are read from CSV."""
    import pyarrow as pa

    return pa.int64() if wanted == int64 else pa.float64()


def require_whole(opened: Any) -> Any:
    """Refuses a dataset with a filter of its own, whose files cannot be read one by one."""
    whole = True
    try:
        opened.get_fragments()
    except ValueError:
        whole = False
    if not whole:
        raise RefusedValue(
            "data",
            Reason.UNSUPPORTED,
            "a dataset with a filter is not supported",
            "give the whole one, and conditions with `where`",
        )
    return opened


def require_one_type(opened: Any, kinds: Mapping[str, Any]) -> None:
    """Files of a glob may have narrower types than the first, and no others: a cast must not depend on a value."""
    import pyarrow as pa
    from pyarrow.dataset import get_partition_keys

    if isinstance(opened, CsvFiles):
        for name in kinds:
            opened.require_column(name)
        return
    for fragment in opened.get_fragments():
        schema = fragment.physical_schema
        keys = get_partition_keys(fragment.partition_expression)
        for name, kind in kinds.items():
            if name in keys:
                continue
            if name not in schema.names:
                raise RefusedValue(
                    "data",
                    Reason.MISMATCH,
                    "one of the files has no column {column}, which the first has",
                    "leave it out",
                    column=quote(name),
                )
            own = schema.field(name).type
            same_family = any(f(own) and f(kind) for f in (pa.types.is_signed_integer, pa.types.is_floating))
            if own != kind and not (same_family and own.bit_width <= kind.bit_width):
                raise RefusedValue(
                    "data",
                    Reason.MISMATCH,
                    "column {column} is {own} in one of the files and {kind} in the first",
                    "cast one of them",
                    column=quote(name),
                    own=say_kind(own),
                    kind=say_kind(kind),
                )


def _plain(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    yield from opened.to_batches(columns=list(kinds), batch_size=BATCH, **AHEAD)


def _parquet(opened: Any, kinds: Mapping[str, Any]) -> Iterator[Any]:
    """By row groups where these are small, which is fastest; otherwise by pages, as one may be as large as the file.

    A small table is read by pages too, by this thread alone.
    """
    import pyarrow as pa
    from pyarrow.dataset import ParquetFragmentScanOptions

    schema, options = pa.schema(list(kinds.items())), ParquetFragmentScanOptions(**BUFFERED, use_buffered_stream=True)
    groups = [(fragment, group) for fragment in opened.get_fragments() for group in fragment.row_groups]
    rows, size = (sum(of(group) for _, group in groups) for of in (_count_rows, _count_bytes))
    read: Iterator[Any]
    if rows <= FEW_ROWS and size <= FEW_BYTES:
        read = chain.from_iterable(_read_pages(opened, schema.names, *one) for one in groups)
    elif all(_is_small(group) for _, group in groups):
        by_groups = {"columns": schema.names, "batch_size": BATCH, "fragment_scan_options": options, **AHEAD}
        read = opened.to_batches(**by_groups)
    else:
        read = read_ahead(_read_pages(opened, schema.names, *one) for one in groups)
    for batch in read:
        yield batch if batch.schema.types == schema.types else batch.cast(schema)


def _count_rows(row_group: Any) -> int:
    return int(row_group.num_rows)


def _count_bytes(row_group: Any) -> int:
    return int(row_group.total_byte_size)


def _is_small(row_group: Any) -> bool:
    return _count_rows(row_group) <= SMALL_GROUP_ROWS and _count_bytes(row_group) <= SMALL_GROUP_BYTES


def _read_pages(opened: Any, names: list[str], fragment: Any, row_group: Any) -> Iterator[Any]:
    """Read a row group a few pages at a time, with the keys of folders as columns."""
    import pyarrow as pa
    from pyarrow.dataset import get_partition_keys
    from pyarrow.parquet import ParquetFile

    keys = get_partition_keys(fragment.partition_expression)
    own = [name for name in names if name not in keys]
    more = {name: pa.scalar(keys[name], opened.schema.field(name).type) for name in names if name in keys}
    with ParquetFile(fragment.open(), metadata=fragment.metadata, **BUFFERED) as file:
        for batch in file.iter_batches(BATCH, [row_group.id], columns=own, use_threads=False):
            columns = [pa.repeat(more[name], batch.num_rows) if name in more else batch.column(name) for name in names]
            yield pa.record_batch(columns, names=names)


PATTERN = "*?["


def find_stored(address: str) -> Files:
    """The files at an address; refused if there are none, or if they differ in format."""
    scheme, _, path = address.rstrip("/").partition("://")
    bucket, slash, key = path.partition("/")
    given = f"{scheme}://{bucket.rpartition('@')[2]}{slash}{key}"  # without a password, if any
    store = _connect(scheme.lower())
    missing = denied = False
    found: list[str] = []
    folder = None
    try:
        if any(sign in path for sign in PATTERN):
            found = sorted(name for name, info in store.glob(path, detail=True).items() if info["type"] == "file")
        elif store.info(path)["type"] == "file":
            found = [path]
        else:
            folder = path
            found = [name for name in sorted(store.find(path)) if is_table(name) and not _is_hidden(name, path)]
        missing = not found
    except FileNotFoundError:
        missing = True
    except PermissionError:
        denied = True
    except Exception:
        store = None  # whose words may name what is in it
    if store is None:
        raise ConnectionError(f"{given}: the store does not answer, or not to you; check the address and credentials")
    if denied:
        raise PermissionError(f"{given}: no permission to read it; check the credentials")
    if missing and folder is not None:
        raise nothing_in(given)
    if missing:
        raise FileNotFoundError(f"{given}: no such file; check the address")
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    kind = find_format(given, found)
    return Files(given, found, kind, find_keys(given, found, folder, kind), folder, PyFileSystem(FSSpecHandler(store)))


def _is_hidden(file: str, folder: str) -> bool:
    return any(part.startswith((".", "_")) for part in file.removeprefix(folder).split("/"))


def _connect(scheme: str) -> Any:
    """The file system for a scheme: that of fsspec's own package for it, such as s3fs, or else obstore's."""
    missing = False
    try:
        import fsspec

        try:
            store = fsspec.filesystem(scheme)
        except ImportError:
            store = import_module("obstore.fsspec").FsspecStore(scheme)
        store.invalidate_cache()
        return store
    except ImportError:
        missing = True
    except Exception:  # of credentials that are not there, or not well formed
        pass
    if missing:
        raise ImportError(f"files at {scheme}:// are read by fsspec; run: pip install 'soundsum[stores]'")
    raise ConnectionError(f"the store at {scheme}:// cannot be set up; check its settings and credentials")
