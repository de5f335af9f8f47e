"""DuckDB with one thread: rows are added in the order of the table, as an analyst may expect of it."""

from __future__ import annotations

from typing import Any


def connect() -> Any:
    try:
        import duckdb
    except ImportError:
        raise ValueError("this delivery asks DuckDB: pip install 'soundsum[duckdb]'") from None
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
