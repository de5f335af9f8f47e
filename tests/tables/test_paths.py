"""Tables as people keep them: folders with keys in their names, compressed files, lists, datasets and lazy frames."""

import bz2
import gzip
import os

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import soundsum as ss
from soundsum.tables import files
from soundsum.tables.paths import find_files, is_path
from tests.engines.folders import NO_NOISE, ODD_VALUES, assert_odd_values_are_read, write_folders
from tests.refusing import refused

LITTLE_NOISE = 10**6


def total(data, **options):
    return round(ss.sum(data, 0, 10, LITTLE_NOISE, column="x", **options).value, 2)


@pytest.fixture
def folder(tmp_path):
    for year, ward, values in ((2020, "a", [1.0, 2.0]), (2020, "b", [3.0]), (2021, "a", [4.0, None])):
        place = tmp_path / "rows" / f"year={year}" / f"ward={ward}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"x": values, "id": list(range(len(values)))}), place / "Jane Doe.parquet")
    (tmp_path / "rows" / "_SUCCESS").touch()
    (tmp_path / "rows" / ".hidden").mkdir()
    (tmp_path / "rows" / ".hidden" / "t.parquet").write_text("broken")
    return tmp_path / "rows"


@pytest.fixture(params=["at once", "by row groups", "by pages"])
def every_way(request, monkeypatch):
    """Each way to read a Parquet file, which its size chooses."""
    if request.param != "at once":
        monkeypatch.setattr(files, "FEW_ROWS", 0)
    if request.param == "by pages":
        monkeypatch.setattr(files, "SMALL_GROUP_ROWS", 0)


@pytest.mark.usefixtures("every_way")
def test_a_folder_whose_names_are_keys(folder):
    assert total(folder) == 10
    by_ward = ss.sum(folder, 0, 10, LITTLE_NOISE, column="x", by="ward", groups=["a", "b", "c"])
    assert [round(r.value, 2) for r in by_ward.values()] == [7, 3, 0]
    assert total(folder, where=[("year", "==", "2020"), ("ward", "<", "b")]) == 3
    assert ss.count(str(folder), LITTLE_NOISE, privacy_unit="ward", max_rows=5).value == 5


def test_a_folder_that_cannot_be_a_table(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    with refused("data", "absent", ValueError, path=str(tmp_path / "empty")):
        total(tmp_path / "empty")
    pq.write_table(pa.table({"x": [1.0]}), folder / "more.parquet")
    with refused("data", "unsupported", ValueError, path=str(folder)) as caught:
        total(folder)
    assert "Jane" not in str(caught.value)
    (tmp_path / "c" / "k=1").mkdir(parents=True)
    (tmp_path / "c" / "k=1" / "t.csv").write_text("x\n1\n")
    with refused("data", "unsupported", ValueError, path=str(tmp_path / "c")):
        total(tmp_path / "c")


@pytest.mark.parametrize("end", [".csv", ".csv.gz", ".csv.bz2", ".csv.zst", ".CSV.GZ"])
@pytest.mark.parametrize("rows", [0, 3, 600_000])
def test_compressed_csv(tmp_path, end, rows):
    text = b"\xef\xbb\xbfk,x\n" + b"".join(b"a,%d\n" % (i % 10) for i in range(rows))
    path = tmp_path / f"t{end}"
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".zst": lambda b: pa.compress(b, "zstd", asbytes=True)}
    path.write_bytes(pack.get(path.suffix.lower(), bytes)(text))
    assert total(path) == sum(i % 10 for i in range(rows))
    assert ss.count(path, LITTLE_NOISE).value == rows


def test_what_is_not_what_its_suffix_says_is_refused_or_a_failed_read(tmp_path):
    (tmp_path / "t.csv.gz").write_text("x\n1\n")
    with refused("data", "unreadable", ValueError, format="csv"):
        total(tmp_path / "t.csv.gz")
    whole = gzip.compress(b"x\n" + os.urandom(1 << 20).hex().encode() * 9)
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises((ss.ReadFailed, ValueError), match=r"could not be fully read or summed|cannot be read as csv"):
        total(tmp_path / "t.csv.gz")
    (tmp_path / "t.parquet.gz").touch()
    with refused("data", "unsupported", ValueError, suffix=".gz"):
        total(tmp_path / "t.parquet.gz")


def test_lists_of_paths(tmp_path):
    for i in range(3):
        (tmp_path / f"{i}.csv").write_text(f"x\n{i}\n")
    paths = [tmp_path / f"{i}.csv" for i in range(3)]
    for several in (paths, tuple(paths), [tmp_path / "*.csv"]):
        assert total(several) == 3
    with pytest.raises(FileNotFoundError, match="the list of paths: no such file"):
        total([*paths, tmp_path / "none.csv"])
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "t.parquet")
    with refused("data", "mismatch", ValueError, path="the list of paths"):
        total([*paths, tmp_path / "t.parquet"])
    assert not is_path([])
    assert not is_path(["12.50", "3"])
    assert find_files(paths).format == "csv"


def test_datasets_of_arrow(folder, tmp_path):
    keys = ds.partitioning(pa.schema([("year", pa.int32()), ("ward", pa.string())]), flavor="hive")
    data = ds.dataset(folder, partitioning=keys)
    assert total(data) == 10
    assert total(data, where=("year", ">", 2020)) == 4
    assert total(data, relation="change_one") == 10
    in_memory = ds.dataset(pa.table({"x": [1.0, 2.0]}))
    assert total(in_memory) == 3


def test_queries_of_polars(tmp_path):
    frame = pl.DataFrame({"x": np.arange(5.0), "k": list("aabba"), "id": [1, 1, 2, 2, 3]})
    lazy = frame.lazy().filter(pl.col("x") > 0)
    assert total(lazy) == total(lazy, relation="change_one") == 10
    assert total(lazy, where=("k", "==", "b")) == 5
    by_key = ss.sum(lazy, 0, 10, LITTLE_NOISE, column="x", by="k", groups=["a", "b"], privacy_unit="id", max_rows=1)
    assert [round(r.value, 2) for r in by_key.values()] == [5, 5]
    with refused("column", "unknown", ValueError, column="column 'y'", names="it has x, k, id"):
        ss.count(lazy, 1, by="y", groups=["a"])


def test_a_query_that_fails_says_nothing():
    budget = ss.Budget(epsilon=1)
    lazy = pl.LazyFrame({"x": ["1", "SECRET"]}).select(pl.col("x").cast(pl.Float64))
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(lazy, 0, 1, 1, column="x", budget=budget)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert [entry.state for entry in budget.entries()] == ["failed"]


def test_a_file_named_twice_would_count_twice(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n")
    (tmp_path / "latest.csv").symlink_to(tmp_path / "a.csv")
    twice = ([tmp_path / "a.csv", tmp_path / "." / "a.csv"], [tmp_path / "a*.csv", tmp_path / "*.csv"], tmp_path)
    for given in (*twice, tmp_path / "*.csv"):
        with refused("data", "repeated", ValueError):
            total(given)


def test_texts_are_a_column_whatever_they_say():
    assert ss.count(["a.csv", "b.csv"], LITTLE_NOISE).value == 2
    assert not is_path(["a.csv"])


def test_names_of_files_are_not_shown(tmp_path):
    (tmp_path / "visit.John Smith").touch()
    with refused("data", "unsupported", ValueError) as caught:
        total(tmp_path / "*")
    assert "mith" not in str(caught.value)


@pytest.mark.usefixtures("every_way")
def test_keys_of_any_type_on_any_file_system(folder):
    from pyarrow import fs

    data = ds.dataset(folder, partitioning=ds.partitioning(flavor="hive"))
    assert total(data) == 10
    assert total(data, where=("year", "==", 2021)) == 4
    within = fs.SubTreeFileSystem(str(folder / "year=2020" / "ward=b"), fs.LocalFileSystem())
    assert total(ds.dataset("Jane Doe.parquet", filesystem=within)) == 3


def test_what_cannot_be_a_table_is_refused_uncharged(folder, tmp_path):
    budget = ss.Budget(epsilon=1)
    with refused("data", "unsupported", ValueError):
        ss.count(ds.dataset(folder, partitioning="hive").filter(ds.field("x") > 2), 1, budget=budget)
    (tmp_path / "e.csv").write_text("\np,q\n1,2\n")
    with refused("data", "unreadable", ValueError, format="csv"):
        ss.count(tmp_path / "e.csv", 1, budget=budget)
    assert budget.entries() == []


def test_a_lazy_frame_that_cannot_be_resolved_says_nothing(tmp_path):
    (tmp_path / "l.ndjson").write_text('{"x":1,"who":"a"}\n{"x":"HIV positive", who}\n')
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum(pl.scan_ndjson(tmp_path / "l.ndjson"), 0, 10, 1, column="x", budget=budget)
    assert "HIV" not in str(caught.value)
    assert [entry.state for entry in budget.entries()] == ["failed"]


def test_a_column_that_arrow_has_no_type_for_is_in_nobodys_way():
    lazy = pl.LazyFrame({"x": [1.0, 2.0], "wide": pl.Series([1, 2], dtype=pl.Int128)})
    assert total(lazy) == 3
    with refused("column", "wrong-type", TypeError, data="column 'wide'", kind="lists"):
        ss.sum(lazy, 0, 1, 1, column="wide")


@pytest.fixture(params=["parquet", "feather"])
def odd_folder(request, tmp_path):
    """Keys that are no numbers, or missing, or spelled in another way."""
    keys = {"2020": 1.0, "+02021": 2.0, "abc": 4.0, "__HIVE_DEFAULT_PARTITION__": 8.0, "9" * 20: 0.5, "7%2E5": 0.25}
    for key, value in keys.items():
        place = tmp_path / "rows" / f"year={key}"
        place.mkdir(parents=True)
        table = pa.table({"x": [value, value]})
        if request.param == "parquet":
            pq.write_table(table, place / "t.parquet")
        else:
            pyarrow.feather.write_feather(table, place / "t.feather")
    return tmp_path / "rows"


@pytest.mark.usefixtures("every_way")
def test_an_owner_types_the_keys_of_a_folder(odd_folder):
    """What is no number of the type is missing, as a cell of CSV would be, and nothing raises."""
    owner = ss.Private(odd_folder, budget=ss.Budget(epsilon=10**9), schema={"year": "int64"})
    by_year = owner.sum("x", 0, 10, LITTLE_NOISE, by="year", groups=[2020, 2021, 7])
    assert [round(r.value, 2) for r in by_year.values()] == [2, 4, 0]
    assert round(owner.sum("x", 0, 10, LITTLE_NOISE, where=[("year", ">", 2020)]).value, 2) == 4
    assert owner.sum("year", 0, 3000, LITTLE_NOISE).value == 2 * (2020 + 2021)
    crossed = owner.count(LITTLE_NOISE, by=["year", "x"], groups=[[2020], [1.0, 2.0]])
    assert [r.value for r in crossed.values()] == [2, 0]
    decimal = ss.Private(odd_folder, budget=ss.Budget(epsilon=10**9), schema={"year": "float64"})
    assert decimal.sum("year", 0, 3000, LITTLE_NOISE).value == pytest.approx(2 * (2020 + 2021 + 3000 + 7.5), abs=0.4)
    assert round(decimal.sum("x", 0, 10, LITTLE_NOISE, where=[("year", "<", 8.0)]).value, 2) == 0.5


def test_the_type_of_a_key_can_be_given_for_a_sum_and_is_text_otherwise(odd_folder):
    assert ss.sum(odd_folder, 0, 3000, LITTLE_NOISE, column="year", dtype="int64").value == 2 * (2020 + 2021)
    budget = ss.Budget(epsilon=1)
    with refused("dtype", "missing", TypeError, column="column 'year'"):
        ss.sum(odd_folder, 0, 3000, 1, column="year", budget=budget)
    with refused("groups", "mismatch", ValueError, few="2020", kind="text"):
        ss.count(odd_folder, 1, by="year", groups=[2020], budget=budget)
    assert budget.entries() == []
    spelled = ss.sum(odd_folder, 0, 10, LITTLE_NOISE, column="x", by="year", groups=["2020", "+02021", "abc", "2021"])
    assert [round(r.value, 2) for r in spelled.values()] == [2, 4, 8, 0]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("own", [[1.0], ["2020"], [2020]], ids=["float", "text", "int"])
def test_files_that_have_the_key_as_a_column_too(tmp_path, own, which):
    """Which of the two is meant cannot be known, and they may differ."""
    for i, year in enumerate((2020, 2021)):
        (tmp_path / f"year={year}").mkdir()
        more = {"year": own} if i == which else {}
        pq.write_table(pa.table({"x": [1.0], **more}), tmp_path / f"year={year}" / "t.parquet")
    budget = ss.Budget(epsilon=1)
    with refused("data", "conflict", ValueError, column="'year'"):
        ss.sum(tmp_path, 0, 10, 1, column="x", budget=budget)
    assert budget.entries() == []
    assert total([tmp_path / "year=2020" / "t.parquet", tmp_path / "year=2021" / "t.parquet"]) == 2


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
def test_a_key_that_is_no_number_is_missing_whoever_reads(tmp_path, engine):
    """One record's folder must not make the others' read fail."""
    for key, value in {"1": 1.0, "x": 2.0, " 1": 4.0, "01": 8.0, "%31": 16.0, "K%C3%B6ln": 32.0}.items():
        (tmp_path / f"year={key}").mkdir()
        pq.write_table(pa.table({"x": [value]}), tmp_path / f"year={key}" / "t.parquet")
    budget = ss.Budget(epsilon=10**9)
    owner = ss.Private(tmp_path, budget=budget, schema={"year": "int64"}, engine=engine)
    by_year = owner.sum("x", 0, 100, LITTLE_NOISE, by="year", groups=[1, 2])
    assert [round(r.value, 1) for r in by_year.values()] == [29, 0]
    assert ss.sum(tmp_path, 0, 9, LITTLE_NOISE, column="year", dtype="int64", engine=engine).value == 4
    by_text = ss.sum(tmp_path, 0, 100, LITTLE_NOISE, column="x", by="year", groups=["Köln", " 1"], engine=engine)
    assert [round(r.value, 1) for r in by_text.values()] == [32, 4]


def test_a_key_is_asked_for_as_text_or_as_a_number(odd_folder):
    budget = ss.Budget(epsilon=1)
    with refused("column", "conflict", ValueError, column="column 'year'", one="text", other="int64"):
        ss.sum(odd_folder, 0, 9, 1, column="year", dtype="int64", by="year", groups=["2020"], budget=budget)
    several = [ss.Histogram("year", categories=["2020"]), ss.Sum("year", 0, 9, dtype="int64")]
    with refused("column", "conflict", ValueError, column="column 'year'", one="text", other="int64"):
        ss.release(odd_folder, several, 1, budget=budget)
    assert budget.entries() == []


def test_names_that_differ_in_case_alone(tmp_path):
    pq.write_table(pa.table({"v": [1.0], "V": [2.0]}), tmp_path / "t.parquet")
    for engine in ("memory", "duckdb", "polars"):
        made = ss.sum(tmp_path / "t.parquet", 0, 10, LITTLE_NOISE, column="V", engine=engine)
        assert round(made.value, 2) == 2


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
def test_the_name_of_a_folder_is_missing_or_itself_and_never_an_error(tmp_path, engine):
    write_folders(tmp_path)
    assert_odd_values_are_read(tmp_path, engine)


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
@pytest.mark.parametrize("spelled", ODD_VALUES, ids=repr)
def test_one_more_folder_is_one_more_record_and_nothing_else(tmp_path, engine, spelled):
    """Before a charge and after it; its value as a number is missing."""
    write_folders(tmp_path, [b"2020", spelled])
    budget = ss.Budget(epsilon=10**9)
    made = ss.sum(tmp_path, 0, 9, LITTLE_NOISE, column="x", engine=engine, budget=budget)
    assert made.value == 3
    assert ss.sum(tmp_path, 7, 3000, LITTLE_NOISE, column="w", dtype="int64", engine=engine).value == 2027


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
def test_files_below_folders_of_any_name(tmp_path, engine):
    for i, spelled in enumerate(ODD_VALUES):
        folder = os.path.join(os.fsencode(tmp_path), b"-" + spelled.replace(b"=", b"-"))
        os.makedirs(folder)
        with open(os.path.join(folder, b"t.parquet"), "wb") as file:
            pq.write_table(pa.table({"x": pa.array([1 << i], pa.int64())}), file)
    made = ss.sum(tmp_path, 0, 2**40, NO_NOISE, column="x", engine=engine)
    assert made.value == 2 ** len(ODD_VALUES) - 1


def test_csv_files_below_folders_of_any_name(tmp_path):
    for spelled in ODD_VALUES:
        folder = os.path.join(os.fsencode(tmp_path), b"-" + spelled.replace(b"=", b"-"))
        os.makedirs(folder)
        with open(os.path.join(folder, b"t.csv"), "wb") as file:
            file.write(b"x\n1\n")
    assert total(tmp_path) == len(ODD_VALUES)
