"""Files in an object store, read over HTTP from a server on this machine: the integers of the same files on disk."""

import gzip

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import soundsum as ss
from soundsum.conformance import QUESTIONS, answers, table_of
from soundsum.refusals import Reason
from tests.engines.databases.stores import ObjectStore
from tests.refusing import refused

pytestmark = pytest.mark.xdist_group("stores")
TABLE = table_of(3_000)
NUMBERS = pa.table({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "a"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("stores")
    (made / "clinic" / "visits").mkdir(parents=True)
    return made


@pytest.fixture(scope="module")
def store(folder):
    running, patch = ObjectStore(folder), pytest.MonkeyPatch()
    settings = {
        "AWS_ENDPOINT_URL": running.address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }
    for name, value in settings.items():
        patch.setenv(name, value)
    yield running
    patch.undo()
    running.stop()


def write_each(folder, name):
    """The rows in two files of the format that the name's end says."""
    for part, rows in enumerate((TABLE.slice(0, 1_000), TABLE.slice(1_000))):
        path = str(folder / "clinic" / "visits" / f"{part}-{name}")
        pq.write_table(rows, path, row_group_size=300)
    return "s3://clinic/visits/*-rows.parquet"


@pytest.mark.parametrize("question", ["sums of doubles", "by years and words", "persons and groups"])
def test_the_integers_are_those_of_memory(folder, store, question):
    statistics, options = QUESTIONS[question]
    assert answers(write_each(folder, "rows.parquet"), statistics, **options) == answers(TABLE, statistics, **options)


def test_every_format_and_a_prefix(folder, store):
    below = folder / "clinic"
    pa.csv.write_csv(NUMBERS, str(below / "n.csv"))
    (below / "n.csv.gz").write_bytes(gzip.compress((below / "n.csv").read_bytes()))
    pyarrow.feather.write_feather(NUMBERS, str(below / "n.arrow"))
    for year, rows in (("2023", NUMBERS.slice(0, 1)), ("2024", NUMBERS.slice(1))):
        (below / "years" / f"year={year}").mkdir(parents=True)
        pq.write_table(rows, str(below / "years" / f"year={year}" / "part.parquet"))
    (below / "years" / "_SUCCESS").touch()
    for name in ("n.csv", "n.csv.gz", "n.arrow", "years"):
        made = ss.sum(f"s3://clinic/{name}", 0, 10, 10**6, column="x", by="g", groups=["a", "b"])
        assert [round(float(made[group])) for group in "ab"] == [4, 2], name
    by_year = ss.count("s3://clinic/years", 10**6, by="year", groups=["2023", "2024"])
    assert [int(by_year[year]) for year in by_year] == [1, 2]


def test_the_number_of_rows_is_public_under_change_one(folder, store):
    made = ss.sum(write_each(folder, "rows.parquet"), 0, 9, 1, column="h", relation="change_one")
    assert made.certificate["engine"] == "memory"
    assert ss.check(made) == []


def test_an_owner_and_a_padded_table(folder, store):
    budget = ss.Budget(epsilon=2)
    owner = ss.Private(write_each(folder, "rows.parquet"), budget=budget, pad="9s")
    assert owner.count(epsilon=1).epsilon == 1
    assert budget.left.epsilon == 1


def test_what_is_not_there_or_not_to_be_read(folder, store):
    budget = ss.Budget(epsilon=1)
    for path in ("none.parquet", "none-*.parquet"):
        with pytest.raises(FileNotFoundError, match="check the address"):
            ss.sum(f"s3://clinic/{path}", 0, 1, 1, column="x", budget=budget)
    with refused("engine", Reason.MISMATCH, ValueError):
        ss.sum("s3://clinic/n.parquet", 0, 1, 1, column="x", engine="duckdb", budget=budget)
    store.denied = True
    try:
        with pytest.raises((PermissionError, ConnectionError), match="check the"):
            ss.sum("s3://clinic/n.csv", 0, 1, 1, column="x", budget=budget)
    finally:
        store.denied = False
    assert budget.left.epsilon == 1


def test_a_file_that_breaks_off_fails_as_a_read_and_says_nothing(folder, store, capfd):
    path = folder / "clinic" / "broken.parquet"
    pq.write_table(pa.table({"x": [float(i) for i in range(10**5)]}), path, compression="none", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[200:600] = b"\xff" * 400
    path.write_bytes(content)
    budget, said = ss.Budget(epsilon=2), set()
    for where in ("s3://clinic/broken.parquet", str(path)):
        try:
            ss.sum(where, 0, 1, 1, column="x", budget=budget)
            said.add("nothing")
        except ss.ReadFailed as failed:
            said.add(str(failed))
    assert len(said) == 1
    assert budget.left.epsilon == 0
    assert "".join(capfd.readouterr()) == ""
