"""The rows over files and persons: from a file to the private numbers, against the plain query of DuckDB or Polars."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import soundsum as ss
from benchmarks.measure import Group, Result, Row, seconds, spread

UPPER, MAX_ROWS, MAX_GROUPS, GROUPS_LISTED = 1000, 10, 5, 1000
PIECE = 10**6
SEED = 20
LITTLE_NOISE = 10**6
"""An epsilon at which the sums can be compared."""


@dataclass(frozen=True)
class File:
    """A file that lives as long as this."""

    path: str
    folder: tempfile.TemporaryDirectory[str]


def _table(rng: np.random.Generator, rows: int, persons: int) -> pa.Table:
    columns = {
        "id": rng.integers(0, persons, rows),
        "x": np.round(rng.random(rows) * UPPER, 2),
        "g": rng.integers(0, GROUPS_LISTED, rows),
    }
    return pa.table(columns)


def make_parquet(n: int) -> File:
    """Write n rows of n / 25 persons in all groups, with Arrow's defaults."""
    folder, rng = tempfile.TemporaryDirectory(), np.random.default_rng(SEED)
    path = str(Path(folder.name) / "rows.parquet")
    with pq.ParquetWriter(path, _table(rng, 0, 1).schema) as writer:
        for start in range(0, n, PIECE):
            writer.write_table(_table(rng, min(PIECE, n - start), max(1, n // 25)))
    return File(path, folder)


def _make_csv(n: int) -> File:
    folder = tempfile.TemporaryDirectory()
    path = str(Path(folder.name) / "rows.csv")
    pa.csv.write_csv(_table(np.random.default_rng(SEED), n, max(1, n // 25)), path)
    return File(path, folder)


def _sum(file: File) -> float:
    return ss.sum(file.path, 0, UPPER, LITTLE_NOISE, column="x").value


def _polars_scan(file: File) -> float:
    scan = pl.scan_csv if file.path.endswith(".csv") else pl.scan_parquet
    return float(scan(file.path).select(pl.col("x").clip(0, UPPER).sum()).collect().item())


def _by_person(file: File) -> float:
    return ss.sum(file.path, 0, UPPER, LITTLE_NOISE, column="x", privacy_unit="id", max_rows=MAX_ROWS).value


def _by_person_and_group(file: File) -> Any:
    return ss.sum(
        file.path,
        0,
        UPPER,
        LITTLE_NOISE,
        column="x",
        by="g",
        groups=range(GROUPS_LISTED),
        privacy_unit="id",
        max_rows=MAX_ROWS,
        max_groups=MAX_GROUPS,
    )


def _by_person_and_found(file: File) -> Any:
    return ss.sum(
        file.path,
        0,
        UPPER,
        LITTLE_NOISE,
        column="x",
        by="g",
        groups=ss.Found(delta="1e-9"),
        privacy_unit="id",
        max_rows=MAX_ROWS,
        max_groups=MAX_GROUPS,
    )


CLAMPED = f"sum(greatest(least(s, {MAX_ROWS * UPPER}), 0))"


def _duckdb_by_person(file: File) -> float:
    inner = f"select id, sum(greatest(least(x, {UPPER}), 0)) s from '{file.path}' group by id"
    return float(duckdb.sql(f"select {CLAMPED} from ({inner})").fetchall()[0][0])


def _duckdb_by_person_and_group(file: File) -> Any:
    """Count every group of a person: a plain query has no limit on them."""
    inner = f"select id, g, sum(greatest(least(x, {UPPER}), 0)) s from '{file.path}' group by id, g"
    return duckdb.sql(f"select g, {CLAMPED} from ({inner}) group by g").fetchall()


PERSONS = Group(
    "persons, Parquet",
    make_parquet,
    None,
    (
        Row("max_rows=10", _by_person, "DuckDB, clamped", _duckdb_by_person, 0.83, 2, 1e-6, fewest=5),
        Row(
            "1,000 groups, max_groups=5",
            _by_person_and_group,
            "DuckDB, no cap on groups",
            _duckdb_by_person_and_group,
            0.5,
            2,
            fewest=3,
        ),
        Row(
            "groups found, max_groups=5",
            _by_person_and_found,
            "DuckDB, no cap on groups",
            _duckdb_by_person_and_group,
            0.33,
            2,
            fewest=3,
        ),
    ),
    share=2,
)

PARQUET = Group(
    "ss.sum of a file",
    make_parquet,
    None,
    (Row("Parquet", _sum, "Polars scan_parquet", _polars_scan, 0.83, 2, 1e-6),),
    share=10,
)

CSV = Group(
    "ss.sum of a CSV file",
    _make_csv,
    None,
    (Row("CSV", _sum, "Polars scan_csv", _polars_scan, 0.67, 2, 1e-6),),
    share=10,
)

GROUPS = (PERSONS, PARQUET, CSV)


def _many_means(tick: Callable[[float], None], repetitions: int = 5) -> Result:
    groups, rows = 10**6, 5 * 10**6
    rng = np.random.default_rng(SEED)
    table = {"x": rng.random(rows) * UPPER, "g": rng.integers(0, groups, rows)}
    means = ss.mean(table, 0, UPPER, 1, column="x", by="g", groups=range(groups))
    times = []
    for done in range(repetitions):
        times.append(seconds(means.to_arrow))
        tick((done + 1) / repetitions)
    return Result(
        "tables of releases",
        MANY_MEANS,
        measured=spread(times),
        unit=" s",
        target=2,
        at_most=True,
        seconds=statistics.median(times),
        records=groups,
        repetitions=repetitions,
    )


MANY_MEANS = "to_arrow of 10^6 means"

ROWS: dict[str, Callable[[Callable[[float], None]], Result]] = {MANY_MEANS: _many_means}
