"""PostgreSQL and Spark as readers, for those who ask for them: started here, and stopped."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.engines.databases.servers import PostgresServer, find_java, load_into_postgres
from tests.neighbours.tables import READERS, Reader, Table, as_arrow

PLAIN = (
    *("int16", "int32", "int64", "float32", "float64", "bool", "string", "binary", "date32"),
    *("decimal128(10, 2)", "decimal128(38, 18)", "decimal128(38, 0)", "timestamp(us, None)", "timestamp(us, UTC)"),
)
"""Kinds of columns that both have types for."""


@contextmanager
def started(engines: list[str]) -> Iterator[None]:
    """The engines as readers, while they run."""
    stops = [{"postgres": _start_postgres, "spark": _start_spark}[name]() for name in engines]
    try:
        yield
    finally:
        for stop in stops:
            stop()


def _start_postgres() -> Any:
    server = PostgresServer()

    def give(table: Table, folder: Path) -> str:
        load_into_postgres(server.address(), "held", as_arrow(table))
        return server.address()

    READERS["postgres"] = Reader("typed", give, (("table", "held"),), drawn=20, kinds=PLAIN)
    return server.stop


def _start_spark() -> Any:
    os.environ["JAVA_HOME"] = find_java()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("neighbours").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("OFF")

    def give(table: Table, folder: Path) -> Any:
        return session.read.parquet(READERS["parquet"].give(table, folder))

    READERS["spark"] = Reader("typed", give, drawn=5, kinds=PLAIN)
    return session.stop
