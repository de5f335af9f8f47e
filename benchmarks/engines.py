"""The rows of engines: a private sum in the engine, against the engine's own sum of clamped floats.

PostgreSQL and Spark are started as the tests start them (`make databases` installs what they need).
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import soundsum as ss
from benchmarks.measure import Group, Row
from benchmarks.plain import NotMeasured
from benchmarks.tables import File, make_parquet

UPPER, LITTLE_NOISE, MAX_ROWS = 1000, 10**6, 10
CLAMPED = f"sum(greatest(least(x, {UPPER}), 0))"
BOUNDED = f"sum(greatest(least(s, {MAX_ROWS * UPPER}), 0))"
SUM = f"SELECT {CLAMPED} FROM rows"
BY_GROUP = f"SELECT g, {CLAMPED} FROM rows GROUP BY g"
BY_MANY = f"SELECT m, {CLAMPED} FROM rows GROUP BY m"
BY_PERSON = f"SELECT {BOUNDED} FROM (SELECT id, {CLAMPED} AS s FROM rows GROUP BY id) AS persons"


@dataclass(frozen=True)
class Place:
    """A table in an engine: what soundsum gets, and the engine's own query."""

    data: Any
    table: str | None
    ask: Callable[[str], Any]
    keep: Any = None  # as long as this is


def _ours(place: Place, **options: Any) -> Any:
    if not isinstance(place, Place):
        raise NotMeasured(str(place))
    made = ss.sum(place.data, 0, UPPER, LITTLE_NOISE, column="x", table=place.table, **options)
    return made if options.get("groups") is not None else made.value


def _theirs(place: Place, query: str) -> Any:
    return place.ask(query)


def _row(name: str, query: str, target: float, tolerance: float | None = None, warm: int = 0, **options: Any) -> Row:
    peer = partial(_theirs, query=query)
    return Row(name, partial(_ours, **options), "its clamped floats", peer, target, 2, tolerance, fewest=5, warm=warm)


PERSONS = {"privacy_unit": "id", "max_rows": MAX_ROWS}
GROUPS_LISTED, MANY = range(1000), range(10**6)
WARM = 10  # rounds, until Java has compiled both


def _in_duckdb(n: int) -> Place:
    import duckdb

    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.5)")
    connection.execute(
        f"CREATE TABLE rows AS SELECT random() * {UPPER} AS x, (random() * 999)::INT AS g, "
        f"(random() * 999999)::INT AS m, (random() * {n // 25})::INT AS id FROM range({n})"
    )
    return Place(connection, "rows", lambda query: _first(connection.execute(query).fetchall()))


def _first(rows: list[Any]) -> Any:
    return float(rows[0][0]) if len(rows) == 1 else rows


DUCKDB = Group(
    "DuckDB, a table in memory",
    _in_duckdb,
    None,
    (
        _row("sum", SUM, 1 / 1.6, 1e-6),
        _row("10^6 groups", BY_MANY, 1 / 1.2, by="m", groups=MANY),
        _row("persons", BY_PERSON, 1 / 1.5, 1e-6, **PERSONS),
    ),
    share=2,
)


def _polars_asked(lazy: Any, query: str) -> Any:
    import polars as pl

    clamped = pl.col("x").clip(0, UPPER).sum()
    if query == SUM:
        return float(lazy.select(clamped).collect(engine="streaming").item())
    persons = lazy.group_by("id").agg(clamped.alias("s"))
    return float(persons.select(pl.col("s").clip(0, MAX_ROWS * UPPER).sum()).collect(engine="streaming").item())


def _in_polars(n: int) -> Place:
    import polars as pl

    file = make_parquet(n)
    lazy = pl.scan_parquet(file.path)
    return Place(lazy, None, partial(_polars_asked, lazy), file)


POLARS = Group(
    "Polars, streaming from Parquet",
    _in_polars,
    None,
    (_row("sum", SUM, 1 / 2.2, 1e-6), _row("persons", BY_PERSON, 1 / 1.5, 1e-6, **PERSONS)),
    share=2,
)


def _in_postgres(n: int) -> Place | str:
    from tests.engines.databases.servers import PostgresServer

    try:
        import psycopg

        server = PostgresServer()
    except (ImportError, RuntimeError) as reason:
        return f"PostgreSQL: {reason}"  # type: ignore[return-value]
    connection = psycopg.connect(server.address(), autocommit=True)
    connection.execute(
        f"CREATE UNLOGGED TABLE rows AS SELECT random() * {UPPER} AS x, (random() * 999)::int AS g, "
        f"(random() * {n // 25})::int AS id FROM generate_series(1, {n})"
    )
    connection.execute("VACUUM ANALYZE rows")
    place = Place(server.address(), "rows", lambda query: _first(connection.execute(query).fetchall()), connection)
    weakref.finalize(place, server.stop)
    return place


POSTGRES = Group(
    "PostgreSQL, a table",
    _in_postgres,
    None,
    (
        _row("sum", SUM, 1 / 1.3, 1e-6),
        _row("1,000 groups", BY_GROUP, 1 / 1.3, by="g", groups=GROUPS_LISTED),
        _row("persons", BY_PERSON, 1 / 1.5, 1e-6, **PERSONS),
    ),
    share=2,
)


def _in_spark(n: int) -> Place | str:
    from tests.engines.databases.servers import find_java

    try:
        os.environ["JAVA_HOME"] = find_java()
        from pyspark.sql import SparkSession
    except (ImportError, RuntimeError) as reason:
        return f"Spark: {reason}"
    file: File = make_parquet(n)
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "6g",
        "spark.sql.shuffle.partitions": "4",
        "spark.local.dir": tempfile.gettempdir(),
    }
    builder = SparkSession.builder.master("local[2]").appName("soundsum's benchmarks")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(file.path)
    frame.createOrReplaceTempView("rows")
    return Place(frame, None, lambda query: _first(session.sql(query).collect()), (session, file))


SPARK = Group(
    "Spark local[2], from Parquet",
    _in_spark,
    None,
    (
        _row("sum", SUM, 1 / 1.6, 1e-6, WARM),
        _row("1,000 groups", BY_GROUP, 1 / 1.4, None, WARM, by="g", groups=GROUPS_LISTED),
        _row("persons", BY_PERSON, 1 / 1.5, 1e-6, **PERSONS),
    ),
    share=2,
)

GROUPS = (DUCKDB, POLARS, POSTGRES, SPARK)
