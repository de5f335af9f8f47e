"""SQLite: the integers of memory over the types that it has, whatever lies in its cells."""

import math
import sqlite3

import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, QUESTIONS, TABLES, answers, list_differences, table_of
from soundsum.engines import open_engine
from soundsum.engines.sqlite import ROWS
from soundsum.refusals import Refusal
from soundsum.tables.cells import LONGEST
from tests.engines.counted import list_miscounts

TYPES = {
    **{name: pa.float64() for name in ("f", "price", "deep")},
    **{name: pa.int64() for name in ("h", "s")},
    **{name: pa.string() for name in ("day", "at", "when")},
}
DECLARED = {"int64": "INTEGER", "double": "REAL", "string": "TEXT", "bool": "BOOLEAN"}


def fill(connection, table, name="rows"):
    columns = ", ".join(f'"{field.name}" {DECLARED[str(field.type)]}' for field in table.schema)
    connection.execute(f'DROP TABLE IF EXISTS "{name}"')
    connection.execute(f'CREATE TABLE "{name}" ({columns})')
    nulls = [[None if x is None or x != x else x for x in column.to_pylist()] for column in table.columns]
    marks = ", ".join("?" * table.num_columns)
    connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', zip(*nulls, strict=True))
    return connection


@pytest.fixture
def connection():
    opened = sqlite3.connect(":memory:")
    yield opened
    opened.close()


def test_the_integers_are_those_of_memory(connection):
    tables = TABLES | {"awkward": table_of(700)}
    assert list_differences(lambda table: fill(connection, table), TYPES, tables, table="rows") == []
    heavy = {"heavy": HEAVY}
    assert list_differences(lambda table: fill(connection, table), TYPES, heavy, HEAVY_QUESTIONS, table="rows") == []


def test_those_count_whom_coq_counts(connection):
    """Of the tables of integers in which lots decide; the others have types that SQLite lacks."""
    assert list_miscounts(lambda table: fill(connection, table), {}, table="rows") == []


def test_most_questions_are_about_types_that_it_has(connection):
    fill(
        connection,
        TABLES["awkward"].cast(pa.schema([(f.name, TYPES.get(f.name, f.type)) for f in TABLES["awkward"].schema])),
    )
    refused = 0
    for statistics, options in QUESTIONS.values():
        try:
            answers(connection, statistics, table="rows", **options)
        except Refusal:
            refused += 1
    assert refused < len(QUESTIONS) / 3


def test_a_cell_of_another_type_is_missing(connection):
    connection.execute("CREATE TABLE t (i INTEGER, x REAL, word TEXT, flag BOOLEAN, raw BLOB, who)")
    cells = [(1, 1.5, "a", 1, b"a", b"p"), ("one", "two", b"a", "yes", "a", "p"), (2.5, b"\0", None, 2, 1, 1)]
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", cells)
    connection.execute("INSERT INTO t (i, x, word) VALUES (?, ?, CAST(x'ff' AS TEXT))", (7, math.inf))
    ask = {"table": "t", "missing": "drop"}
    counts = [ss.Count(column) for column in ("i", "x", "word", "flag", "raw")]
    assert answers(connection, counts, **ask)[0] == [[[2]], [[2]], [[2]], [[1]], [[1]]]
    assert answers(connection, [ss.Sum("i", 0, 9)], **ask)[0] == [[[8]]]
    assert answers(connection, [ss.Count()], table="t", privacy_unit="who")[0] == [[[1]]]
    assert answers(connection, [ss.Count()], table="t", by="word", groups=["a"])[0] == [[[1]]]


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16"])
def test_of_a_long_cell_the_beginning_is_read(connection, encoding):
    """What is cut is still too long for an id or a date, as in memory, and a fetch fits into Arrow's types."""
    connection.execute(f"PRAGMA encoding = '{encoding}'")
    connection.execute("CREATE TABLE t (word TEXT, raw BLOB)")
    texts = ["a", "", "a\0b", *(letter * n for letter in ("a", "\u00e4", "\U0001f600") for n in (LONGEST, 3 * LONGEST))]
    texts += ["a" * (LONGEST + 1), "2024-01-31" + " " * 9 * LONGEST, "2024-01-31" + " " * (LONGEST - 10)]
    cells = [(text, text.encode()) for text in texts]
    connection.executemany("INSERT INTO t VALUES (?, ?)", [*cells, ("b" * 10**7, b"b" * 10**7)])
    table = pa.table(
        {"word": [text for text, _ in cells] + ["b" * 10**7], "raw": [raw for _, raw in cells] + [b"b" * 10**7]}
    )
    for column, groups in (("word", [*texts[:3], "a" * (LONGEST + 1)]), ("raw", [b"a", b"a" * LONGEST])):
        for options in (
            {"by": column, "groups": groups},
            {"privacy_unit": column},
            {"where": (column, "!=", groups[0])},
            {"by": ss.month("word", "2024-01", "2024-01")},
        ):
            counts = [ss.Count()] if "by" in options else [ss.Count(), ss.Count(column)]
            assert answers(connection, counts, table="t", **options) == answers(table, counts, **options)
    (read,) = open_engine(connection, {}, "t").schema._record_batches(["word", "raw"])
    assert max(len(cell.as_buffer()) for column in read.columns for cell in column) < (1 << 31) // ROWS


def test_whatever_the_connection_makes_of_cells_for_others(connection):
    sqlite3.register_converter("SHOUT", lambda cell: 1 / 0)
    loud = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES | sqlite3.PARSE_COLNAMES)
    loud.row_factory, loud.text_factory = sqlite3.Row, str.upper
    loud.execute('CREATE TABLE t ("a [SHOUT]" SHOUT TEXT, n INT)')
    loud.execute("INSERT INTO t VALUES ('x', 1)")
    assert answers(loud, [ss.Count()], table="t", by="a [SHOUT]", groups=["x"])[0] == [[[1]]]
    assert loud.text_factory is str.upper
    loud.close()


def test_views_attached_databases_and_files_are_read(connection, tmp_path):
    file = sqlite3.connect(tmp_path / "visits #1.db")
    file.execute("CREATE TABLE visits (cost REAL, day DATE, who VARCHAR(9))")
    file.execute("INSERT INTO visits VALUES (3, '2024-01-31', 'a')")
    file.execute("CREATE VIEW cheap AS SELECT cost, CAST(cost AS INTEGER) AS whole FROM visits")
    file.commit()
    address = f"sqlite:///{tmp_path / 'visits #1.db'}"
    for data, table in ((file, "visits"), (address, "visits"), (address, ("main", "cheap"))):
        assert (
            answers(data, [ss.Sum("cost", 0, 4)], table=table)[0] == answers({"cost": [3.0]}, [ss.Sum("cost", 0, 4)])[0]
        )
    assert answers(address, [ss.Count()], table="visits", by=ss.month("day", "2024-01", "2024-02"))[0] == [[[1, 0]]]
    assert answers(address, [ss.Count()], table="visits", relation="change_one")[1] == 1
    connection.execute("ATTACH ? AS other", (str(tmp_path / "visits #1.db"),))
    assert answers(connection, [ss.Count()], table="other.visits", privacy_unit="who")[0] == [[[1]]]
    owner = ss.Private(address, table="visits", name="visits", budget=ss.Budget(epsilon=1, data="visits"))
    assert owner.count(epsilon=1).certificate["engine"] == "sqlite"
    file.close()


def test_groups_are_found(connection):
    connection.execute("CREATE TABLE t (word TEXT)")
    connection.executemany("INSERT INTO t VALUES (?)", [("a",)] * 500 + [("b",)])
    assert list(ss.groups(connection, "word", epsilon=1, delta="1e-6", table="t")) == ["a"]


@pytest.mark.parametrize(
    ("data", "table", "option", "reason"),
    [
        ("sqlite:///nowhere.db", "t", "data", "absent"),
        ("sqlite://t.db", "t", "data", "absent"),
        (None, None, "table", "missing"),
        (None, "", "table", "missing"),
        (None, ("a", "b", "c"), "table", "missing"),
        (None, "nothing", "table", "absent"),
        (None, "other.t", "table", "absent"),
    ],
)
def test_what_is_not_there_is_refused(connection, tmp_path, monkeypatch, data, table, option, reason):
    monkeypatch.chdir(tmp_path)
    connection.execute("CREATE TABLE t (x REAL)")
    with pytest.raises(Refusal) as refused:
        answers(data or connection, [ss.Count()], table=table)
    assert (refused.value.option, refused.value.reason) == (option, reason)
    assert list(tmp_path.iterdir()) == []
