"""Spark, a real one with two workers' threads: the very integers that memory gives, in ANSI mode and without."""

import itertools
import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, SEARCHES, answers, search, table_of
from soundsum.refusals import Reason
from tests.engines.counted import list_miscounts
from tests.engines.databases.servers import find_java
from tests.engines.folders import NO_NOISE, ODD_VALUES, assert_odd_values_are_read, write_folders
from tests.engines.searches import SUMS_FOUND, add_one_more, sum_found
from tests.refusing import refused

pytestmark = pytest.mark.xdist_group("spark")

TABLES = {"awkward": table_of(2_000), "nothing": NOTHING, "nulls": NULLS, "heavy": HEAVY, "many": table_of(1_000_000)}


LOTS = "persons by x, and groups with equally many rows"


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


def test_those_count_whom_coq_counts(spark, tmp_path):
    number = itertools.count()

    def load(table):
        file = tmp_path / f"{next(number)}.parquet"
        pyarrow.parquet.write_table(table, file)
        return spark.read.parquet(str(file))

    assert list_miscounts(load) == []


@pytest.mark.parametrize("question", SEARCHES)
def test_the_keys_found_are_those_of_memory(frames, question):
    asked = SEARCHES[question] | {"person": "who", "max_groups": 2}
    assert search(frames["awkward"], **asked) == search(TABLES["awkward"], **asked)


@pytest.mark.parametrize("question", ["several", "hours of instants", "days in a zone"])
@pytest.mark.parametrize("persons", [{}, {"person": "name", "max_groups": 3}], ids=["rows", "persons"])
def test_the_keys_found_in_either_mode(frames, mode, question, persons):
    asked = SEARCHES[question] | persons
    assert search(frames["awkward"], **asked) == search(TABLES["awkward"], **asked)


@pytest.mark.parametrize("question", SUMS_FOUND)
def test_sums_over_found_groups_are_those_of_memory(frames, question):
    by, options = SUMS_FOUND[question]
    assert sum_found(frames["awkward"], by, **options) == sum_found(TABLES["awkward"], by, **options)


@pytest.mark.parametrize("g", [1, 3])
def test_one_more_person_changes_nobody_else_s_groups(spark, tmp_path, g):
    def find(rows, g):
        pyarrow.parquet.write_table(rows, tmp_path / f"{len(rows)}.parquet")
        return search(spark.read.parquet(str(tmp_path / f"{len(rows)}.parquet")), "key", "id", g)

    changed = add_one_more(find, g)
    assert list(changed.values()) == [1] * g
    assert changed == add_one_more(lambda rows, g: search(rows, "key", "id", g), g)


@pytest.mark.parametrize("question", ["sums of doubles", "integers", "decimals", "where numbers", "persons", LOTS])
def test_in_either_mode(frames, mode, question):
    statistics, options = QUESTIONS[question]
    assert answers(frames["awkward"], statistics, **options) == answers(TABLES["awkward"], statistics, **options)


def test_bytes_draw_the_lots_that_they_draw_in_memory(spark, mode, tmp_path):
    """Also those of up to 4,096 bytes; longer ones are no ids."""
    ids = [bytes([i, 0, 255 - i]) * (1, 1365, 1366)[i % 3] for i in range(40) for _ in range(4)]
    table = pa.table({"id": pa.array(ids, pa.binary()), "part": pa.array([0, 1, 2, 3] * 40, pa.int32())})
    pyarrow.parquet.write_table(table, tmp_path / "bytes.parquet")
    asked = {"by": "part", "groups": [0, 1, 2, 3], "privacy_unit": "id"}
    frame = spark.read.parquet(str(tmp_path / "bytes.parquet"))
    assert answers(frame, [ss.Count()], **asked) == answers(table, [ss.Count()], **asked)


def test_every_time_without_a_zone_draws_the_lots_that_it_draws_in_memory(spark, mode, tmp_path):
    """The first and the last there are, and an hour that New York's clocks do not show, each with one beside it."""
    gap = 1_710_037_800_000_000  # 2024-03-10 02:30
    hours = [gap + i * 60_000_000 for i in range(60)]
    ends = [2**63 - 1, -(2**63), 2**63 - 86_400_000_000, -(2**63) + 86_400_000_000, 0, -1, 1, -86_400_000_001]
    moments = pa.array([moment for moment in (*hours, *ends) for _ in range(4)], pa.int64()).view(pa.timestamp("us"))
    table = pa.table({"id": moments, "part": pa.array([0, 1, 2, 3] * (len(moments) // 4), pa.int32())})
    pyarrow.parquet.write_table(table, tmp_path / "moments.parquet")
    asked = {"by": "part", "groups": [0, 1, 2, 3], "privacy_unit": "id"}
    frame = spark.read.parquet(str(tmp_path / "moments.parquet"))
    assert answers(frame, [ss.Count()], **asked) == answers(table, [ss.Count()], **asked)


@pytest.mark.parametrize("kind", [pa.uint64(), pa.timestamp("ms"), pa.timestamp("ms", "UTC")], ids=str)
def test_what_spark_reads_as_another_type_draws_the_same_lots(spark, kind, tmp_path):
    stored = np.arange(100, dtype=np.uint64) + np.uint64(2**63 if kind == pa.uint64() else 0)
    ids = pa.array(np.repeat(stored, 4)).view(kind)
    table = pa.table({"id": ids, "part": pa.array([0, 1, 2, 3] * 100, pa.int32())})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet")
    asked = {"by": "part", "groups": [0, 1, 2, 3], "privacy_unit": "id"}
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    assert answers(frame, [ss.Count()], **asked) == answers(tmp_path / "t.parquet", [ss.Count()], **asked)


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
    with refused("upper", Reason.TOO_LARGE, ValueError, engine="spark"):
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


KEYS = {"2020": 1.0, "+02021": 2.0, "abc": 4.0, "__HIVE_DEFAULT_PARTITION__": 8.0, "9" * 20: 0.5, "7%2E5": 0.25}


@pytest.fixture
def folder(tmp_path):
    """Folders whose keys are numbers, or spelled in another way, or no numbers, or missing."""
    for key, value in KEYS.items():
        (tmp_path / f"year={key}").mkdir()
        pyarrow.parquet.write_table(pa.table({"x": [value, value]}), tmp_path / f"year={key}" / "t.parquet")
    return tmp_path


@pytest.mark.parametrize("engine", ["memory", "spark"])
def test_keys_of_folders_have_the_types_an_owner_gives_them(spark, mode, folder, engine):
    owner = ss.Private(folder, budget=ss.Budget(epsilon=10**9), schema={"year": "int64"}, engine=engine)
    by_year = owner.sum("x", 0, 10, 10**6, by="year", groups=[2020, 2021, 7])
    assert [round(one.value, 2) for one in by_year.values()] == [2, 4, 0]
    assert round(owner.sum("x", 0, 10, 10**6, where=[("year", ">", 2020)]).value, 2) == 4
    assert owner.sum("year", 0, 3000, 10**6).value == 2 * (2020 + 2021)
    decimal = ss.Private(folder, budget=ss.Budget(epsilon=10**9), schema={"year": "float64"}, engine=engine)
    assert round(decimal.sum("year", 0, 3000, 10**6).value, 1) == 2 * (2020 + 2021 + 3000 + 7.5)
    one = ss.sum(folder, 0, 3000, 10**6, column="year", dtype="int64", engine=engine)
    assert one.value == 2 * (2020 + 2021)


def test_keys_of_folders_as_other_programs_write_them(spark, tmp_path):
    """Bytes of UTF-8 and an empty text, which Spark reads otherwise, or not at all."""
    cities = {"K%C3%B6ln": 1.0, "": 2.0, "Bonn": 4.0, "__HIVE_DEFAULT_PARTITION__": 8.0}
    for city, value in cities.items():
        for year in ("2020", ""):
            place = tmp_path / f"city={city}" / f"year={year}"
            place.mkdir(parents=True)
            pyarrow.parquet.write_table(pa.table({"x": [value]}), place / "t.parquet")
    for groups in (["Köln", "", "Bonn", "KÃ¶ln"], ["Bonn"]):
        made = [
            [
                one.value
                for one in ss.sum(tmp_path, 0, 10, 10**6, column="x", by="city", groups=groups, engine=engine).values()
            ]
            for engine in ("memory", "spark")
        ]
        assert made[1] == pytest.approx(made[0], abs=0.01)
    assert made[1] == pytest.approx([8], abs=0.01)
    owner = ss.Private(tmp_path, budget=ss.Budget(epsilon=10**9), schema={"year": "int64"}, engine="spark")
    assert owner.sum("year", 0, 3000, 10**6).value == 4 * 2020
    assert ss.sum(tmp_path, 0, 10, 10**6, column="x", engine="spark").value == pytest.approx(30, abs=0.01)


def test_names_that_spark_cannot_tell_apart_are_refused(spark, tmp_path):
    pyarrow.parquet.write_table(pa.table({"v": [1.0], "V": [2.0]}), tmp_path / "t.parquet")
    with refused("engine", Reason.UNSUPPORTED, ValueError):
        ss.sum(tmp_path / "t.parquet", 0, 1, 1, column="v", engine="spark")


def test_a_key_is_asked_for_as_text_or_as_a_number(spark, folder):
    with pytest.raises(ValueError, match="column 'year' is asked for as text and as int64, and is read as one of them"):
        ss.sum(folder, 0, 9, 1, column="year", dtype="int64", by="year", groups=["2020"], engine="spark")


def test_keys_of_folders_are_text_otherwise(spark, folder):
    budget = ss.Budget(epsilon=1)
    with refused("dtype", Reason.MISSING, TypeError, column="'year'"):
        ss.sum(folder, 0, 3000, 1, column="year", budget=budget, engine="spark")
    with pytest.raises(ValueError, match="cannot be looked up in a column of text"):
        ss.count(folder, 1, by="year", groups=[2020], budget=budget, engine="spark")
    pyarrow.parquet.write_table(pa.table({"x": [1.0], "year": [1]}), folder / "year=abc" / "t.parquet")
    with pytest.raises(ValueError, match="its files have a column 'year', and its folders are named by it too"):
        ss.sum(folder, 0, 10, 1, column="x", budget=budget, engine="spark")
    assert budget.entries() == []


def test_files_that_are_not_alike_are_refused_uncharged(spark, tmp_path):
    for name, column in {"a": [1.0], "b": ["one"]}.items():
        pyarrow.parquet.write_table(pa.table({"x": column}), tmp_path / f"{name}.parquet")
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ValueError, match="column 'x' is text in one of the files and float64 in the first"):
        ss.sum(tmp_path, 0, 10, 1, column="x", budget=budget, engine="spark")
    assert budget.entries() == []


ASKED = ["sum", "rows.parquet", "--column", "x", "--bounds", "0", "10", "--epsilon", "1000000", "--engine", "spark"]


def command_line(folder, java, *options, shell=""):
    """What `soundsum` says in a process of its own."""
    pyarrow.parquet.write_table(pa.table({"x": [1.0, 20.0]}), folder / "rows.parquet")
    command = shlex.join([sys.executable, "-m", "soundsum", *ASKED, *options]) + shell
    environment = {**os.environ, "JAVA_HOME": java}
    return subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True)


def test_on_the_command_line_spark_is_started_and_says_nothing(tmp_path):
    done = command_line(tmp_path, find_java(), "--json")
    assert (done.returncode, done.stderr) == (0, "")
    made = json.loads(done.stdout)
    assert (made["value"], made["certificate"]["engine"]) == (pytest.approx(11, abs=0.01), "spark")


def test_spark_is_started_where_stderr_is_closed(tmp_path):
    assert json.loads(command_line(tmp_path, find_java(), "--json", shell=" 2>&-").stdout)["value"] > 10


def test_without_java_one_line_says_what_spark_needs(tmp_path):
    done = command_line(tmp_path, str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "it needs Java 17 or 21" in done.stderr


@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows(frames, mode, question):
    statistics, options = HEAVY_QUESTIONS[question]
    assert answers(frames["heavy"], statistics, **options) == answers(HEAVY, statistics, **options)


def test_the_name_of_a_folder_is_missing_or_itself_and_never_an_error(spark, mode, tmp_path):
    write_folders(tmp_path)
    assert_odd_values_are_read(tmp_path, "spark")


@pytest.mark.parametrize("spelled", [b"\xff", b"%FF", b"a=b", b"a\nb", b"[ab]*", b"a#b?c", b""], ids=repr)
def test_one_more_folder_is_one_more_record_and_nothing_else(spark, tmp_path, spelled):
    """Before a charge and after it; its value as a number is missing."""
    write_folders(tmp_path, [b"2020", spelled])
    assert ss.sum(tmp_path, 0, 9, 10**6, column="x", engine="spark").value == 3
    assert ss.sum(tmp_path, 7, 3000, 10**6, column="w", dtype="int64", engine="spark").value == 2027


def test_files_below_folders_of_any_name(spark, tmp_path):
    for i, spelled in enumerate(ODD_VALUES):
        folder = os.path.join(os.fsencode(tmp_path), b"-" + spelled.replace(b"=", b"-"))
        os.makedirs(folder)
        with open(os.path.join(folder, b"t.parquet"), "wb") as file:
            pyarrow.parquet.write_table(pa.table({"x": pa.array([1 << i], pa.int64())}), file)
    made = ss.sum(tmp_path, 0, 2**40, NO_NOISE, column="x", engine="spark")
    assert made.value == 2 ** len(ODD_VALUES) - 1
