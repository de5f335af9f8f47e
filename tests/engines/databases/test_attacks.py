"""Why integers: PostgreSQL's and Spark's own sums of floats jump between neighbours, and ours through them do not."""

import psycopg
import pytest

import soundsum as ss
from tests.engines.attacked import jump_of, our_jump_is_sound, path_through
from tests.engines.databases.servers import load_into_postgres


@pytest.mark.xdist_group("postgres")
class TestPostgres:
    @pytest.fixture
    def plain_sum(self, postgres):
        def add(table):
            kind = "float4" if str(table.schema.field("x").type) == "float" else "float8"
            with psycopg.connect(postgres.address()) as connection:
                asked = f"SELECT sum(x)::float8 FROM unnest(%s::{kind}[]) AS rows(x)"
                return connection.execute(asked, [table.column("x").to_pylist()]).fetchone()[0]

        return add

    @pytest.fixture
    def place(self, postgres):
        def put(table):
            load_into_postgres(postgres.address(), "attacked", table)
            return postgres.address(), {"table": "attacked"}

        return put

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_the_path(self, plain_sum, place, dtype):
        attack = path_through(plain_sum, dtype)
        assert jump_of(attack, plain_sum) > 1000 * attack.ideal
        assert our_jump_is_sound(attack, place)

    @pytest.mark.parametrize("name", ["reordering", "rounding", "repeated_rounding_2"])
    def test_real_is_added_in_single_precision_as_the_paper_says(self, plain_sum, place, name):
        """Reordering and repeated rounding move it, by just what the theorem predicts."""
        attack = ss.attack(name, dtype="float32", max_records=2**16)
        assert jump_of(attack, plain_sum) == attack.predicted
        assert attack.predicted >= 64 * attack.ideal
        assert our_jump_is_sound(attack, place)


@pytest.mark.xdist_group("spark")
class TestSpark:
    @pytest.fixture
    def plain_sum(self, spark):
        return lambda table: spark.createDataFrame(table).coalesce(1).selectExpr("sum(x)").collect()[0][0]

    def test_the_path(self, spark, plain_sum):
        attack = path_through(plain_sum, "float64")
        assert jump_of(attack, plain_sum) > 1000 * attack.ideal
        assert our_jump_is_sound(attack, lambda table: (spark.createDataFrame(table), {}))
