"""DuckDB with one thread: rows are added in the order of the table, as an analyst may expect of it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from soundsum.refusals import Reason, RefusedValue


def connect() -> Any:
    if find_spec("duckdb") is None:
        raise RefusedValue(
            None,
            Reason.MISSING,
            "this delivery asks DuckDB, which is not installed",
            "`pip install 'soundsum[duckdb]'`",
        )
    import duckdb

    database = duckdb.connect()
    database.execute("SET threads = 1")
    return database


def table(name: str, columns: dict[str, Any]) -> Any:
    """A database with one table of these columns, in this order."""
    import pyarrow as pa

    database = connect()
    database.register("columns", pa.table(columns))
    database.execute(f"CREATE TABLE {name} AS SELECT * FROM columns")
    return database
