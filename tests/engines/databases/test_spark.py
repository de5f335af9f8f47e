"""Spark, a real one with two workers' threads: the very integers that memory gives, in ANSI mode and without."""

import pyarrow.parquet
import pytest
from tests.engines.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, answers, table_of

pytestmark = pytest.mark.xdist_group("spark")

TABLES = {"awkward": table_of(2_000), "nothing": NOTHING, "nulls": NULLS, "heavy": HEAVY, "many": table_of(1_000_000)}


@pytest.fixture(scope="session")
def frames(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("spark")
    for name, table in TABLES.items():
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet", row_group_size=100_000)
    return {name: spark.read.parquet(str(folder / f"{name}.parquet")).cache() for name in TABLES}


@pytest.fixture(params=[True, False], ids=["ansi", "not ansi"])
def mode(request, spark):
    spark.conf.set("spark.sql.ansi.enabled", str(request.param).lower())
    yield
    spark.conf.unset("spark.sql.ansi.enabled")


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_integers_are_those_of_memory(frames, question):
    statistics, options = QUESTIONS[question]
    assert answers(frames["awkward"], statistics, **options) == answers(TABLES["awkward"], statistics, **options)


@pytest.mark.parametrize("question", ["sums of doubles", "integers", "decimals", "where numbers", "persons"])
def test_in_either_mode(frames, mode, question):
    statistics, options = QUESTIONS[question]
    assert answers(frames["awkward"], statistics, **options) == answers(TABLES["awkward"], statistics, **options)


@pytest.mark.parametrize(
    "question", ["means and variances", "counts and histograms", "by several", "persons and groups"]
)
@pytest.mark.parametrize("table", ["nothing", "nulls"])
def test_tables_with_nothing_in_them(frames, table, question):
    statistics, options = QUESTIONS[question]
    assert answers(frames[table], statistics, **options) == answers(TABLES[table], statistics, **options)


@pytest.mark.parametrize("question", ["sums of doubles", "by text", "persons and groups"])
def test_a_million_rows_in_few_partitions_and_in_many(frames, question):
    statistics, options = QUESTIONS[question]
    expected = answers(TABLES["many"], statistics, **options)
    for partitions in (10, 200):
        assert answers(frames["many"].repartition(partitions), statistics, **options) == expected


@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows(frames, mode, question):
    statistics, options = HEAVY_QUESTIONS[question]
    assert answers(frames["heavy"], statistics, **options) == answers(HEAVY, statistics, **options)
