"""Asking for an engine: by name for files, by what the data is for the rest; on the command line, and by an owner."""

import json
import subprocess
import sys

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.refusals import Reason
from tests.refusing import refused

ROWS = pa.table({"pay": [1.0, 2.0, None, 50.0], "dept": ["a", "b", "a", "c"], "who": [1, 1, 2, 3]})
HOSTILE = 'pay"; DROP TABLE t; --'


@pytest.fixture
def files(tmp_path):
    for part in (0, 2):
        pyarrow.parquet.write_table(ROWS.slice(part, 2), tmp_path / f"{part}.parquet")
    return str(tmp_path / "*.parquet")


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        opened.register("arrow", ROWS)
        opened.execute("CREATE SCHEMA clinic; CREATE TABLE clinic.visits AS SELECT * FROM arrow")
        opened.execute(f'CREATE TABLE t AS SELECT pay AS "{HOSTILE.replace(chr(34), chr(34) * 2)}" FROM arrow')
        yield opened


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
def test_files_are_added_up_by_whom_one_asks(files, engine):
    made = ss.sum(files, 0, 10, 10**6, column="pay", engine=engine)
    assert made.value == pytest.approx(13, abs=0.01)
    assert made.certificate["engine"] == engine
    assert ss.check(made.certificate) == []
    options = ["--column", "pay", "--bounds", "0", "10", "--epsilon", "1000000", "--engine", engine, "--json"]
    ran = CliRunner().invoke(app, ["sum", files, *options, "--where", "who >= 1", "--by", "dept", "--groups", "a,b"])
    assert ran.exit_code == 0, ran.output
    listed = json.loads(ran.output)
    assert [one["certificate"]["engine"] for one in listed] == [engine] * 2
    assert [one["value"] for one in listed] == pytest.approx([1, 2], abs=0.01)


def test_folders_with_keys_are_read_alike(tmp_path):
    for year in (2023, 2024):
        folder = tmp_path / f"year={year}"
        folder.mkdir()
        pyarrow.parquet.write_table(ROWS.slice(0, year - 2021), folder / "rows.parquet")
    for engine in ("memory", "duckdb", "polars"):
        made = ss.count(tmp_path, 10**6, by="year", groups=["2023", "2024"], engine=engine)
        assert [one.value for one in made.values()] == [2, 3]


def test_names_of_files_are_no_patterns(tmp_path):
    for name in ("a*.parquet", "ab.parquet", "export [2024].parquet"):
        pyarrow.parquet.write_table(ROWS.slice(0, 1), tmp_path / name)
    for engine in ("memory", "duckdb", "polars"):
        assert ss.sum(tmp_path, 0, 10, 10**6, column="pay", engine=engine).value == pytest.approx(3, abs=0.01)


def test_a_broken_byte_fails_no_read(tmp_path):
    words = pa.array([b"a", b"a\xff", b"b"]).view(pa.string())
    pyarrow.parquet.write_table(pa.table({"x": [1.0, 2.0, 4.0], "word": words}), tmp_path / "t.parquet")
    for engine in ("memory", "duckdb", "polars"):
        made = ss.sum(tmp_path / "t.parquet", 0, 9, 10**6, column="x", by="word", groups=["a", "b"], engine=engine)
        assert [one.value for one in made.values()] == pytest.approx([1, 4], abs=0.01)


def test_a_file_is_no_table_of_a_connection(connection, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.csv").write_text("x\n1\n")
    for table in ("secret.csv", ("secret.csv",), (str(tmp_path / "secret.csv"),)):
        with refused("table", Reason.ABSENT, ValueError):
            ss.sum(connection, 0, 9, 1, table=table, column="x")


def test_names_may_be_made_of_anything(connection):
    assert ss.sum(connection, 0, 10, 10**6, table="t", column=HOSTILE).value == pytest.approx(13, abs=0.01)
    assert ss.sum(connection, 0, 10, 10**6, table="clinic.visits", column="pay").value == pytest.approx(13, abs=0.01)
    with refused("table", Reason.ABSENT, ValueError):
        ss.sum(connection, 0, 10, 1, table=HOSTILE, column="pay")
    assert connection.execute("SELECT count(*) FROM t").fetchone() == (4,)


def test_a_public_number_of_rows_is_counted_where_they_lie(connection):
    """A method that depends on the number of rows asks for it before anything is planned."""
    for data, options in ((connection, {"table": "clinic.visits"}), (connection.table("clinic.visits"), {})):
        made = ss.sum(data, 0, 10, 10**6, column="pay", method="pairwise", relation="change_one", **options)
        assert made.plan.problem.size == 4


def test_an_owner_keeps_the_table_where_it_lies(connection):
    for data, options in (
        (connection, {"table": "clinic.visits"}),
        (connection.table("clinic.visits"), {}),
        (pl.from_arrow(ROWS).lazy(), {}),
    ):
        budget = ss.Budget(epsilon=10**7, privacy_unit="who")
        owner = ss.Private(data, privacy_unit="who", max_rows=2, budget=budget, **options)
        assert owner.sum("pay", 0, 10, epsilon=10**6).value == pytest.approx(13, abs=0.01)
        assert owner.mean("pay", 0, 10, epsilon=10**6, where=[("dept", "!=", "c")]).value == pytest.approx(
            1.5, abs=0.01
        )
        assert owner.count(epsilon=10**6).value == 4


@pytest.mark.parametrize(
    "option, reason, asked",
    [
        ("engine", Reason.MISMATCH, {"engine": "postgres"}),
        ("table", Reason.CONFLICT, {"table": "t"}),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(files, option, reason, asked):
    budget = ss.Budget(epsilon=1)
    with refused(option, reason, ValueError, given=repr(asked[option])):
        ss.sum(files, 0, 1, 1, column="pay", budget=budget, **asked)
    assert budget.spent.epsilon == 0


def test_an_engine_is_one_of_those_there_are(files):
    budget = ss.Budget(epsilon=1)
    with refused("engine", Reason.UNKNOWN, ValueError, given="'oracle'"):
        ss.sum(files, 0, 1, 1, column="pay", budget=budget, engine="oracle")
    assert budget.spent.epsilon == 0


def test_a_table_is_named_of_a_connection_and_of_no_relation(connection):
    with refused("table", Reason.MISSING, ValueError):
        ss.sum(connection, 0, 9, 1, column="pay")
    with refused("table", Reason.CONFLICT, ValueError, given="'t'"):
        ss.sum(connection.table("clinic.visits"), 0, 9, 1, column="pay", table="t")


def test_csv_is_read_by_our_reader_alone(tmp_path):
    (tmp_path / "t.csv").write_text("pay\n1\n2\n")
    for engine in ("duckdb", "polars"):
        with refused("engine", Reason.UNSUPPORTED, ValueError):
            ss.sum(tmp_path / "t.csv", 0, 1, 1, column="pay", engine=engine)
    assert ss.sum(tmp_path / "t.csv", 0, 9, 10**6, column="pay", engine="memory").value == pytest.approx(3, abs=0.01)


@pytest.mark.parametrize(
    "package, extra, call",
    [
        ("psycopg", "postgres", "ss.sum('postgresql://h/d', 0, 1, 1, table='t', column='x', budget=budget)"),
        ("duckdb", "duckdb", "ss.sum(FILE, 0, 1, 1, column='pay', engine='duckdb', budget=budget)"),
        ("polars", "polars", "ss.sum(FILE, 0, 1, 1, column='pay', engine='polars', budget=budget)"),
        ("pyspark", "spark", "ss.sum(FILE, 0, 1, 1, column='pay', engine='spark', budget=budget)"),
    ],
)
def test_a_package_that_is_not_there_is_named_with_its_extra(files, package, extra, call):
    code = f"""
import sys
sys.modules[{package!r}] = None  # as if it were not installed
import soundsum as ss
FILE, budget = {files!r}, ss.Budget(epsilon=1)
try:
    {call}
except ImportError as error:
    assert str(error).endswith("pip install '.[{extra}]'"), error
    assert budget.spent.epsilon == 0
    print("refused")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "refused\n", ran.stderr
