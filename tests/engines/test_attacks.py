"""Why integers: DuckDB's and Polars' own sums of floats jump between neighbours, and ours through them do not."""

import duckdb
import polars as pl
import pytest

from tests.engines.attacked import jump_of, our_jump_is_sound, path_through


def duckdb_sum(table):
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("rows", table)
        return connection.execute("SELECT sum(x) FROM rows").fetchone()[0]


def polars_sum(table):
    return pl.from_arrow(table).lazy().select(pl.col("x").sum()).collect().item()


def in_polars(table):
    return pl.from_arrow(table).lazy(), {}


@pytest.fixture
def in_duckdb():
    with duckdb.connect() as connection:

        def place(table):
            connection.register("rows", table)
            return connection, {"table": "rows"}

        yield place


@pytest.mark.parametrize("name", ["duckdb", "polars"])
def test_the_path_moves_every_sum_of_floats_and_not_ours(name, in_duckdb):
    plain, place = {"duckdb": (duckdb_sum, in_duckdb), "polars": (polars_sum, in_polars)}[name]
    attack = path_through(plain, "float64")
    assert jump_of(attack, plain) > 1000 * attack.ideal
    assert our_jump_is_sound(attack, place)
