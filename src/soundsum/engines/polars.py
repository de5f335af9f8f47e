"""Polars reads, our kernel adds up: queries that have not been run (LazyFrame), and Parquet files on request.

Its batches are handed over as Arrow, as they come from the streaming engine, which is faster than a clamped sum of its
own (benchmarks/engines.py); its 64-bit sums wrap around besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from soundsum.engines.engine import ENGINES, import_extra
from soundsum.engines.memory import Memory
from soundsum.engines.reading import FilesReadBy
from soundsum.tables.paths import Watched, is_path


@ENGINES.register
class Polars(Memory):
    name = "polars"
    package = "polars"
    classes = ("LazyFrame",)
    reads_files = True

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        if is_path(data.data if isinstance(data, Watched) else data):
            import_extra("polars", "polars")
            self.schema = FilesReadBy(data, _read_files)
        else:
            super().__init__(data, beside)


def _read_files(files: list[str], wanted: list[str]) -> Iterator[Any]:
    import polars as pl

    lazy = pl.scan_parquet(files, hive_partitioning=False, glob=False)
    for frame in lazy.select(wanted).collect_batches():
        yield from frame.to_arrow().to_batches()
