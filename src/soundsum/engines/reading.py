"""Files that somebody else reads for our kernel: their columns and types are looked at here, as ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from soundsum.data.paths import Watched, find_files
from soundsum.data.scanned import Scanned

Reader = Callable[[list[str], tuple[str, ...], list[str]], Iterator[Any]]
"""Gives record batches of some columns of files, in folders whose names give these keys."""


class FilesReadBy(Scanned):
    """Parquet files. CSV is parsed by our own reader alone: what a row is must not depend on what is installed."""

    def __init__(self, data: Any, read: Reader) -> None:
        path, advance = (data.data, data.advance) if isinstance(data, Watched) else (data, None)
        super().__init__(path, advance)
        self._read = read
        self._found = find_files(path)
        if self._found.format != "parquet":
            raise ValueError(
                f"{self._found.given}: engine= is for Parquet; other files are read in memory, so leave it out"
            )

    def _record_batches(self, wanted: list[str]) -> Iterator[Any]:
        import pyarrow as pa

        names = wanted or self.names[:1]
        typed = any(name in self._found.keys and name in self._as for name in names)  # text that our parser reads
        alike = len({name.lower() for name in self.names}) < len(self.names)  # to a reader that minds no case
        if typed or alike or any(_may_be_refused(self.arrow_type(name)) for name in names):
            yield from super()._record_batches(names)
            return
        schema = pa.schema([(name, self.arrow_type(name)) for name in names])
        for batch in self._read(self._found.files, self._found.keys, names):
            yield batch if batch.schema.types == schema.types else batch.cast(schema)


def _may_be_refused(kind: Any) -> bool:
    """Whether one value may make another reader fail: text with a broken byte, times that it has no room for."""
    import pyarrow as pa

    return not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind))
