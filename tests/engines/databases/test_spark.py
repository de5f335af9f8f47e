"""Spark, a real one with two workers' threads: the very integers that memory gives, in ANSI mode and without."""

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.engines.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, answers, table_of

import soundsum as ss

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


def test_names_and_values_may_be_made_of_anything(spark):
    name, word = "a`b {t} :v0; --", "x' OR 1=1 -- {g} :v0"
    frame = spark.createDataFrame(pa.table({name: [1.0, 2.0], "word": [word, "y"]}))
    options = {"by": "word", "groups": [word, "y", "{t}"], "where": [("word", "!=", "'; --")]}
    made = ss.sum(frame, 0, 10, 10**6, column=name, **options)
    assert [one.value for one in made.values()] == pytest.approx([1, 2, 0], abs=0.01)


def test_text_is_compared_by_its_bytes_whatever_the_collation(spark):
    rows = pa.table({"x": [1.0, 2.0, 4.0], "word": ["a", "A", "a "]})
    frame = spark.createDataFrame(rows).selectExpr("x", "collate(word, 'UTF8_LCASE') AS word")
    made = ss.sum(frame, 0, 10, 10**6, column="x", by="word", groups=["A", "a"])
    assert [one.value for one in made.values()] == pytest.approx([2, 1], abs=0.01)
    assert ss.count(frame, 10**6, privacy_unit="word").value == 3
    assert ss.count(frame, 10**6, where=[("word", "==", "a")]).value == 1


def test_squares_that_would_leave_64_bits_are_refused(spark):
    frame = spark.createDataFrame(pa.table({"i": pa.array([5, 3 * 10**9], pa.int64())}))
    with pytest.raises(ValueError, match="squares are exact for integers within 2"):
        ss.variance(frame, 0, 2**34, 1, column="i")


def test_a_read_that_fails_says_nothing_on_the_screen(spark, capfd):
    frame = spark.createDataFrame(pa.table({"word": ["HIV positive"]})).selectExpr("CAST(word AS double) AS x")
    with pytest.raises(ss.ReadFailed):
        ss.sum(frame, 0, 1, 1, column="x")
    assert "HIV" not in "".join(capfd.readouterr())


def test_files_and_an_owner(spark, tmp_path):
    pyarrow.parquet.write_table(pa.table({"x": [1.0, 20.0], "who": [1, 2]}), tmp_path / "rows.parquet")
    made = ss.sum(tmp_path / "rows.parquet", 0, 10, 10**6, column="x", engine="spark")
    assert (made.value, made.certificate["engine"]) == (pytest.approx(11, abs=0.01), "spark")
    owner = ss.Private(
        spark.read.parquet(str(tmp_path)), privacy_unit="who", budget=ss.Budget(epsilon=10**7, privacy_unit="who")
    )
    assert owner.sum("x", 0, 10, epsilon=10**6).value == pytest.approx(11, abs=0.01)


@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows(frames, mode, question):
    statistics, options = HEAVY_QUESTIONS[question]
    assert answers(frames["heavy"], statistics, **options) == answers(HEAVY, statistics, **options)
