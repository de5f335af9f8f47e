"""Tables that somebody else reads for our kernel, and hands over as Arrow batches.

An engine that derives from `Memory` and makes its `schema` one of these is whole: nothing else of it computes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables import files
from soundsum.tables.paths import Files, Watched, find_files
from soundsum.tables.read_guard import read_within
from soundsum.tables.stream import StreamTable

Reader = Callable[[list[str], list[str]], Iterator[Any]]
"""Gives record batches of some columns of files."""


class BatchTable(StreamTable):
    """A table of a known Arrow schema, whose rows come in batches, read anew each time.

    `read` gives batches of the columns it is asked for, in their order and of their types; `count` the number of rows.
    """

    def __init__(self, schema: Any, read: Callable[[list[str]], Iterator[Any]], count: Callable[[], int]) -> None:
        super().__init__(schema.empty_table())
        self._read, self._count = read, count

    def rows(self) -> int:
        return read_within(self._count)

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        yield from self._read(wanted or self.names[:1])


PLAIN = re.compile(r"[\w/.,=%@+~ -]*")
"""Names that no reader takes for a pattern or an address, or cannot spell."""


class FilesReadBy(StreamTable):
    """Parquet files. CSV is parsed by our own reader alone: what a row is must not depend on what is installed."""

    def __init__(self, data: Any, read: Reader) -> None:
        path, advance = (data.data, data.advance) if isinstance(data, Watched) else (data, None)
        super().__init__(path, advance)
        self._read = read
        self._found = find_files(path)
        if self._found.format != "parquet":
            raise RefusedValue(
                "engine",
                Reason.UNSUPPORTED,
                "{path}: `engine` is for Parquet, and other files are read in memory",
                "leave `engine` out",
                path=printed(str(self._found.given)),
            )

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        names = wanted or self.names[:1]
        alike = len({name.lower() for name in self.names}) < len(self.names)  # to a reader that minds no case
        if alike or any(_may_be_refused(self.arrow_type(name)) or name in self.key_names for name in names):
            yield from super()._record_batches(names)
            return
        schema = pa.schema([(name, self.arrow_type(name)) for name in names])
        plain, odd = split_by_name(self._found)
        for batch in self._read(plain, names) if plain else ():
            yield batch if batch.schema.types == schema.types else batch.cast(schema)
        if odd:
            kinds = {name: self.arrow_type(name) for name in names}
            yield from files.batches(files.open_files(replace(self._found, files=odd)), kinds)


def split_by_name(found: Files, plain: re.Pattern[str] = PLAIN) -> tuple[list[str], list[str]]:
    """Files that another reader can be given, and those below the given path whose names it might misunderstand."""
    are_plain = {file: plain.fullmatch(found.below(file)) is not None for file in found.files}
    return [file for file in found.files if are_plain[file]], [file for file in found.files if not are_plain[file]]


def _may_be_refused(kind: Any) -> bool:
    """Returns whether one value may make another reader fail: text with a broken byte, times out of its range."""
    import pyarrow as pa

    return not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))
