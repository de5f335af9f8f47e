"""Everything that can be summed: arrays, frames, relations, streams and files; and what happens when it cannot."""

import os
import subprocess
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.refusing import refused

TABLE = pa.table({"pay": [1.0, 2.0, None, 400.0], "n": pa.array([1, 2, 3, 4], pa.int8()), "who": list("abca")})


def relation():
    return duckdb.connect().sql(
        "select * from (values (1.0::double, 'a'), (2.0, 'b'), (400.0, 'a'), (null, 'c')) t(pay, who)"
    )


TABLES = {
    "pyarrow table": lambda: TABLE,
    "pyarrow batch": lambda: TABLE.combine_chunks().to_batches()[0],
    "pyarrow stream": TABLE.to_reader,
    "in chunks": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1)]),
    "pandas": TABLE.to_pandas,
    "pandas, Arrow types": lambda: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "Polars": lambda: pl.from_arrow(TABLE),
    "DuckDB": relation,
    "dict": lambda: TABLE.to_pydict(),
}


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_columns_of_any_table(silent, make):
    assert ss.sum(make(), 0, 10, 1, column="pay").value == 13
    assert ss.count(make(), 1).value == 4
    by_who = ss.sum(make(), 0, 10, 1, column="pay", by="who", groups=["a", "b", "z"])
    assert [r.value for r in by_who.values()] == [11, 2, 0]
    assert ss.mean(make(), 0, 10, 1, column="pay", missing="drop").value == pytest.approx(13 / 3)


COLUMNS = {
    "array": np.array([1.0, 2.0, np.nan, 400.0]),
    "every other": np.array([1.0, 9, 2.0, 9, np.nan, 9, 400.0, 9])[::2],
    "masked": np.ma.masked_array([1.0, 2.0, 5.0, 400.0], [0, 0, 1, 0]),
    "list": [1, 2, None, 400],
    "tuple": (1.0, 2.0, None, 400.0),
    "generator": None,
    "Arrow": TABLE.column("pay").chunk(0),
    "Arrow slice": pa.array([7.0, 1.0, 2.0, None, 400.0]).slice(1),
    "Arrow in chunks": pa.chunked_array([[1.0], [2.0, None], [400.0]]),
    "pandas": pd.Series([1.0, 2.0, None, 400.0]),
    "Polars": pl.Series([1.0, 2.0, None, 400.0]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_single_columns(silent, name):
    data = (x for x in COLUMNS["list"]) if name == "generator" else COLUMNS[name]
    assert ss.sum(data, 0, 10, 1).value == 13
    if name != "generator":
        assert ss.count(data, 1).value == 4
        assert ss.count(data, 1, missing="drop").value == 3


def test_decimals_are_exact_and_booleans_are_numbers(silent):
    cents = pa.table({"d": pa.array([Decimal("0.10"), Decimal("0.20"), None, Decimal("-9.99")])})
    assert ss.sum(cents, 0, 1, 1, column="d").exact == Fraction(3, 10)
    assert ss.mean(cents, 0, 1, 1, column="d", missing="drop").exact == Fraction(1, 10)
    assert ss.sum(pa.table({"b": [True, False, True]}), 0, 1, 1, column="b").value == 2
    tenths = pa.table({"d": pa.array([Decimal(k) / 100 for k in range(100)], pa.decimal128(5, 2))})
    cells = ss.histogram(tenths, [k / 100 for k in range(0, 101, 7)], 1, column="d")
    assert [r.value for r in cells.values()] == [7] * 13 + [8]  # the last one is closed
    money = pa.table({"d": cents.column("d"), "k": ["a", "a", "a", "b"], "id": [1, 1, 2, 3]})
    by_key = ss.sum(money, -1, 1, 1, column="d", by="k", groups=["a", "b"])
    assert [r.exact for r in by_key.values()] == [Fraction(3, 10), -1]
    assert ss.sum(money, -1, 1, 1, column="d", privacy_unit="id", max_rows=2).exact == Fraction(3, 10) - 1


def test_other_columns_of_a_frame_do_not_matter(silent):
    frame = TABLE.to_pandas()
    frame["odd"] = [object(), 1, "x", None]
    assert ss.sum(frame, 0, 10, 1, column="pay").value == 13


class TestFiles:
    @pytest.fixture
    def folder(self, tmp_path):
        pyarrow.parquet.write_table(TABLE, tmp_path / "t.parquet", row_group_size=2)
        pyarrow.csv.write_csv(TABLE, tmp_path / "t.csv")
        pyarrow.feather.write_feather(TABLE, tmp_path / "t.arrow", compression="uncompressed")
        return tmp_path

    @pytest.mark.parametrize("name", ["t.parquet", "t.csv", "t.arrow", "*.parquet"])
    def test_every_format(self, silent, folder, name):
        assert ss.sum(folder / name, 0, 10, 1, column="pay").value == 13
        assert ss.count(str(folder / name), 1).value == 4
        by_who = ss.sum(folder / name, 0, 10, 1, column="n", by="who", groups=["a"])
        assert by_who["a"].value == 5
        kahan = ss.sum(folder / name, 0, 10, 1, column="pay", dtype="float64", relation="change_one", method="kahan")
        assert abs(kahan.exact - 13) < Fraction(1, 2**30)

    def test_files_of_a_glob_are_one_table(self, silent, folder):
        narrow = pa.table({"pay": pa.array([5.0], pa.float32()), "n": pa.array([7], pa.int8()), "who": ["z"]})
        pyarrow.parquet.write_table(narrow, folder / "u.parquet")
        assert ss.sum(folder / "*.parquet", 0, 10, 1, column="pay").value == 18

    def test_a_cell_of_a_csv_file_that_is_no_number_is_missing(self, silent, tmp_path):
        """Whatever one record holds, nothing raises, and no type is guessed from what records hold."""
        rows = ["x,k", *["1,2"] * 600_000, "oops,2", "2.5,no", "99999999999999999999999,2", "1e5,2", " 3 ,2"]
        (tmp_path / "t.csv").write_text("\n".join(rows))
        path = tmp_path / "t.csv"
        assert ss.sum(path, 0, 10, 1, column="x", dtype="int64").value == 600_003
        assert ss.sum(path, 0, 10, 1, column="x").value == 600_000 + 2.5 + 10 + 10 + 3
        assert ss.sum(path, 0, 10, 1, column="x", dtype="int64", by="k", groups=[2])[2].value == 600_003

    def test_csv_columns_may_be_given_a_type(self, silent, tmp_path):
        (tmp_path / "t.csv").write_text("x\n1\n2\n")
        for rows in ("1\n2", "1\n1.5", "1\nfoo"):  # which decide nothing
            (tmp_path / "t.csv").write_text(f"x\n{rows}\n")
            r = ss.sum(tmp_path / "t.csv", 0, 10, 1, column="x")
            assert isinstance(r.value, float)
            assert r.plan.method == "grid"
        assert isinstance(ss.sum(tmp_path / "t.csv", 0, 10, 1, column="x", dtype="int64").value, int)

    def test_a_file_that_may_not_be_read(self, tmp_path):
        """As the user nobody, if these tests run as root, who may read everything."""
        program = (
            "import os, sys, soundsum as ss; path, readable = sys.argv[1:]; ss.count(readable, 1)\n"
            "os.getuid() or os.setuid(65534); budget = ss.Budget(epsilon=1)\n"
            "try: ss.count(path, 1, budget=budget)\n"
            "except PermissionError as error: print(error, budget.entries())"
        )
        with tempfile.TemporaryDirectory() as folder:  # one that others may enter
            os.chmod(folder, 0o755)
            (readable := Path(folder, "r.csv")).write_text("x\n1\n")
            for name in ("t.csv", "t.parquet"):
                (path := Path(folder, name)).write_text("x\n1\n")
                path.chmod(0)
                command = [sys.executable, "-c", program, path, readable]
                ran = subprocess.run(command, capture_output=True, text=True)
                message = f"{path}: no permission to read it; ask its owner, or run as a user who may []"
                assert ran.stdout.strip() == message, ran.stderr

    def test_what_cannot_be_read_is_named(self, folder):
        with pytest.raises(FileNotFoundError, match="no such file; check the path"):
            ss.sum(folder / "none.parquet", 0, 1, 1, column="pay")
        (folder / "empty.csv").touch()
        (folder / "empty.parquet").touch()
        (folder / "t.txt").touch()
        for name, message in {
            "empty.csv": "empty.csv cannot be read as csv",
            "empty.parquet": "empty.parquet cannot be read as parquet",
            "t.txt": ".txt is not a known format; use .parquet",
        }.items():
            with pytest.raises(ValueError, match=message):
                ss.sum(folder / name, 0, 1, 1, column="pay")

    def test_no_rows_are_released_all_the_same(self, silent, folder):
        pyarrow.parquet.write_table(TABLE.slice(0, 0), folder / "none.parquet")
        (folder / "none.csv").write_text("pay,who\n")
        assert ss.sum(folder / "none.parquet", 0, 1, 1, column="pay").value == 0
        assert ss.mean(folder / "none.parquet", 0, 10, 1, column="pay").value == 5
        by_who = ss.sum(folder / "none.parquet", 0, 1, 1, column="pay", by="who", groups=["a"])
        assert by_who["a"].value == 0
        assert ss.sum(folder / "none.csv", 0, 1, 1, column="pay", dtype="float64").value == 0


def test_what_is_not_there_is_named():
    with refused("column", Reason.UNKNOWN, ValueError, column="column 'salary'", names="it has pay, n, who"):
        ss.sum(TABLE, 0, 1, 1, column="salary")
    with refused("column", Reason.WRONG_TYPE, TypeError, data="column 'who'", kind="text"):
        ss.sum(TABLE, 0, 1, 1, column="who")
    with refused("column", Reason.MISSING, ValueError, names="it has pay, n, who"):
        ss.sum(TABLE, 0, 1, 1)
    with refused("column", Reason.UNKNOWN, ValueError):
        ss.sum([1.0], 0, 1, 1, column="x")
    with refused("dtype", Reason.CONFLICT, TypeError, given="float32", column="column 'pay'", kind="float64"):
        ss.sum(TABLE, 0, 1, 1, column="pay", dtype="float32")
    with refused("size", Reason.MISSING, ValueError):
        ss.sum(TABLE.to_reader(), 0, 1, 1, column="pay", relation="change_one", method="kahan")


UNEQUAL = {
    "lists": {"x": [1.0, 2.0], "g": ["a"]},
    "not asked for": {"x": [1.0, 2.0], "g": ["a", "b"], "other": [1]},
    "arrays": {"x": np.ones(2), "g": np.array(["a", "b", "a"])},
    "Arrow": {"x": pa.array([1.0]), "g": pa.chunked_array([["a"], ["b"]])},
    "series": {"x": pd.Series([1.0]), "g": pl.Series(["a", "b"])},
    "empty": {"x": [], "g": ["a"]},
}


@pytest.mark.parametrize("table", UNEQUAL.values(), ids=UNEQUAL)
def test_columns_of_unequal_length_are_refused_uncharged_and_without_their_lengths(table):
    budget = ss.Budget(epsilon=9, max_failures=1)
    with refused("data", Reason.MISMATCH, ValueError) as caught:
        ss.sum(table, 0, 1, 1, column="x", by="g", groups=["a"], budget=budget)
    more = {name: [*column, None] for name, column in table.items()}  # a row more is refused in the same words
    with refused("data", Reason.MISMATCH, ValueError) as neighbour:
        ss.sum(more, 0, 1, 1, column="x", by="g", groups=["a"], budget=budget)
    assert str(caught.value) == str(neighbour.value)
    assert not any(character.isdigit() for character in str(caught.value))
    with refused("data", Reason.MISMATCH, ValueError):
        ss.Private(table, budget=budget)
    assert not budget.entries()


def test_columns_that_can_be_read_once_show_their_lengths_when_they_are_read():
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ss.ReadFailed):
        ss.count({"x": iter([1.0, 2.0]), "g": ["a"]}, 1, budget=budget)
    assert [entry.state for entry in budget.entries()] == ["failed"]


@pytest.mark.parametrize(
    "grouped",
    [pd.DataFrame({"x": [1.0], "g": ["a"]}).groupby("g"), pd.DataFrame({"x": [1.0], "g": ["a"]}).groupby("g")["x"],
     pl.DataFrame({"x": [1.0], "g": ["a"]}).group_by("g")],
)  # fmt: skip
def test_a_frame_in_groups_is_no_column_of_missing_values(grouped):
    with refused("data", Reason.WRONG_TYPE, TypeError):
        ss.sum(grouped, 0, 1, 1)


class _Broken:
    """A column whose length cannot be told without looking at a record."""

    def __len__(self):
        raise RuntimeError("record 42 of Alice is broken")

    def __iter__(self):
        return iter([1, 2])


def test_a_column_whose_length_fails_is_a_failed_read():
    budget = ss.Budget(epsilon=5)
    with pytest.raises(ss.ReadFailed) as caught:
        ss.sum({"a": _Broken()}, 0, 1, 1, column="a", budget=budget)
    assert "Alice" not in str(caught.value)
    assert budget.spent.epsilon == 1


def test_an_array_without_dimensions_is_refused():
    with refused("data", Reason.WRONG_TYPE, TypeError):
        ss.sum({"a": [1, 2], "b": np.array(3)}, 0, 1, 1, column="a")


def test_types_are_said_in_words_that_data_frames_have():
    frame = pa.table(
        {
            "name": pa.array(["a"], pa.large_string()),
            "ward": pa.array(["a"]).dictionary_encode(),
            "x": [1.5],
            "day": pa.array([0], pa.date32()),
        }
    )
    for column, words in (("name", "text"), ("ward", "categories of text"), ("day", "dates")):
        with pytest.raises(TypeError, match=f"column '{column}' is {words}, not numbers; name another column, or cast"):
            ss.sum(frame, 0, 1, 1, column=column)
    with refused("groups", Reason.MISMATCH, ValueError, groups="groups", few="'a'", kind="float64"):
        ss.count(frame, 1, by="x", groups=["a"])
    with refused("where", Reason.MISMATCH, ValueError, given="'2024'", column="'day'", kind="dates"):
        ss.count(frame, 1, where=[("day", "==", "2024")])


def test_bounds_the_wrong_way_round_are_said_in_the_units_of_decimals():
    from decimal import Decimal

    with refused("lower", Reason.SWAPPED, ValueError, lower="5000"):
        ss.sum(pa.table({"x": [Decimal("1.25")]}), 5000, 1, 1, column="x")
