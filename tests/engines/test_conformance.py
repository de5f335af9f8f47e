"""DuckDB and Polars give the very integers that memory gives; the databases do in the folder beside."""

import duckdb
import polars as pl
import pyarrow.parquet
import pytest

from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, answers, table_of
from soundsum.engines.duckdb import DuckDB
from soundsum.kernels.persons import ROWS_PER_THREAD

TABLES = {"awkward": table_of(2_000), "empty": NOTHING, "all null": NULLS}


@pytest.fixture(scope="module", params=TABLES)
def table(request):
    return TABLES[request.param]


@pytest.fixture(scope="module")
def connection(table):
    with duckdb.connect() as opened:
        opened.register("rows", table)
        opened.execute('CREATE TABLE "odd ""; name" AS SELECT * FROM rows')
        yield opened


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_integers_are_those_of_memory(table, connection, question, tmp_path):
    statistics, options = QUESTIONS[question]
    expected = answers(table, statistics, **options)
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table, file, row_group_size=500)
    lazy = pl.from_arrow(table).lazy()
    assert answers(connection, statistics, table=('odd "; name',), **options) == expected
    assert answers(connection.table("rows"), statistics, **options) == expected
    assert answers(lazy, statistics, **options) == expected
    for engine in ("memory", "duckdb", "polars"):
        assert answers(file, statistics, engine=engine, **options) == expected


@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows(question):
    statistics, options = HEAVY_QUESTIONS[question]
    expected = answers(HEAVY, statistics, **options)
    with duckdb.connect() as connection:
        connection.register("heavy", HEAVY)
        assert answers(connection, statistics, table="heavy", **options) == expected
    assert answers(pl.from_arrow(HEAVY).lazy(), statistics, **options) == expected


def test_batches_of_numbers_are_large_enough_for_two_threads():
    """DuckDB cuts batches at its row groups: of half of one, some are too small, and two threads work by chance."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT i::DOUBLE AS x, i::INTEGER AS id FROM range(1000000) r(i)")
        *sizes, _ = (batch.rows for batch in DuckDB(connection, {}, "t").schema.batches("x", "id"))
    assert len(sizes) > 2
    assert min(sizes) >= 2 * ROWS_PER_THREAD
