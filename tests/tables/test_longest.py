"""The time one record takes is bounded: cells are read in linear time, and one of over 4,096 bytes spells nothing."""

import math
import subprocess
import sys
import time
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import soundsum as ss
from soundsum.engines import duckdb as duckdb_engine
from soundsum.tables.cells import LONGEST, read_number, read_truth, read_whole
from soundsum.tables.columns import as_numbers
from soundsum.tables.filters import Condition, Filter
from soundsum.tables.keys import Groups
from soundsum.tables.timestamps import Wanted, second_of

LITTLE_NOISE = 10**6
LONG = 1_000_000
SECONDS = 5
"""Of processor time, for what takes milliseconds; where time grows with the square of the length, it takes hours."""

HOSTILE = {
    "digits": "1" * LONG + "x",
    "a point": "1" * LONG + "." + "1" * LONG + "x",
    "an exponent": "1" * LONG + "e" + "1" * LONG + "x",
    "blanks": " " * LONG + "1" + " " * LONG,
    "zeros": "0." + "0" * LONG + "1",
    "a fraction of a second": "2024-01-31T07:00:00." + "1" * LONG + "x",
    "letters": "\U0001f600" * LONG,
}
NUMBERS = {
    "a Decimal's exponent": Decimal("1E+1000000"),
    "a Decimal's digits": Decimal("1" * LONG),
    "an int": 1 << 4 * LONG,
    "a negative int": -(1 << 4 * LONG),
    "a Fraction": Fraction(4, 3) ** (2 * LONG),  # a power of a fraction needs no common divisor, which takes long
    "bytes": bytearray(b"1" * LONG + b"x"),
}


def read_in_every_way(item):
    """What an item of an untyped column is as a number, a key and a value to compare."""
    number = as_numbers([item]).records.values[0]
    groups = ([1, 2], [1.5], [True], ["a"], [Decimal("1.5"), Fraction(1, 3)], [datetime(2024, 1, 31)])
    places = [Groups(listed).codes([item])[0] - len(listed) for listed in groups]
    values = (1, 1.5, True, "a", Decimal("1.5"), b"a", datetime(2024, 1, 31))
    holds = [Condition("x", sign, value).passes([item])[0] for value in values for sign in ("==", "<")]
    month = ss.month("x", "2024-01", "2024-12")
    second_of(item, Wanted(False, False))
    ss.count({"x": [item]}, 1, by=month)
    return number, places, holds


@pytest.mark.parametrize("item", [*HOSTILE.values(), *NUMBERS.values()], ids=[*HOSTILE, *NUMBERS])
def test_no_item_of_an_untyped_column_takes_long(item):
    begin = time.process_time()
    number, places, _ = read_in_every_way(item)
    assert time.process_time() - begin < SECONDS
    assert math.isnan(number) or item == NUMBERS["a Decimal's exponent"]
    assert set(places) == {0}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("where", ["csv", "csv as truth", "arrow"])
def test_no_cell_takes_long(text, where, tmp_path):
    begin = time.process_time()
    if where == "arrow":
        ss.count(pa.table({"x": [text] * 3}), 1, by=ss.month("x", "2024-01", "2024-12"))
    else:
        (tmp_path / "t.csv").write_text("x\n" + f"{text[: LONG + 1]}\n" * 3)
        if where == "csv":
            assert ss.sum(tmp_path / "t.csv", 1, 9, LITTLE_NOISE, column="x").value == pytest.approx(3, abs=0.01)
        else:
            ss.count(tmp_path / "t.csv", 1, by="x", groups=[True])
    assert time.process_time() - begin < SECONDS


def test_the_time_of_a_pattern_grows_with_the_length():
    """The pattern by itself, as nothing but the limit would hide one that is quadratic."""
    code = "from soundsum.tables.cells import NUMBER; NUMBER.fullmatch('1' * 300_000 + 'x')"
    run = [sys.executable, "-c", f"import resource; resource.setrlimit(resource.RLIMIT_CPU, (30, 30)); {code}"]
    assert subprocess.run(run, check=False).returncode == 0


def pad(text, size):
    return text + " " * (size - len(text.encode()))


@pytest.mark.parametrize(
    "read, text, value",
    [(read_number, "1.5", 1.5), (read_whole, "7", 7), (read_truth, "True", True)],
)
def test_the_limit_is_one_of_bytes(read, text, value):
    assert read(pad(text, LONGEST)) == value
    longer = read(pad(text, LONGEST + 1))
    assert longer is None or math.isnan(longer)
    wide = "\u3000" * (LONGEST // 3)  # of three bytes each
    assert read(wide + text[:1]) == (read(text[:1]))
    longer = read(wide + "\u3000" + text[:1])
    assert longer is None or math.isnan(longer)


def test_numbers_are_held_to_the_limit_as_they_are_spelled():
    assert as_numbers([10**LONGEST - 1]).records.values[0] == math.inf
    items = [10**LONGEST, -(10 ** (LONGEST - 1)), Decimal("1" * LONGEST + "1"), Fraction(1, 10**LONGEST)]
    assert np.isnan(as_numbers(items).records.values).all()
    where = Filter.of([("x", "!=", 5)])
    assert where.conditions[0].passes([*items, 6]).tolist() == [False] * 4 + [True]
    assert Condition("x", "!=", "a").passes([10**5000, 5]).tolist() == [False, True]


LENGTHS = {LONGEST: 1, LONGEST + 1: 0}


@pytest.mark.parametrize("size, expected", LENGTHS.items())
@pytest.mark.parametrize("what", ["numbers", "whole", "truth", "dates"])
def test_the_limit_is_the_same_in_every_reader(tmp_path, size, expected, what):
    """One cell of this length: it is there, or missing, in a list, an object column and a CSV file."""
    text = pad({"numbers": "1", "whole": "1", "truth": "true", "dates": "2024-01-31"}[what], size)
    (tmp_path / "t.csv").write_text(f'x,y\n"{text}",1\n')
    for data in ({"x": [text], "y": [1]}, {"x": np.array([text], object), "y": [1]}, tmp_path / "t.csv"):
        if what == "numbers":
            found = ss.sum(data, 0, 9, LITTLE_NOISE, column="x").value
        elif what == "dates":
            found = next(iter(ss.count(data, LITTLE_NOISE, by=ss.month("x", "2024-01", "2024-01")).values())).value
        else:
            groups = [True] if what == "truth" else [1]
            found = next(iter(ss.count(data, LITTLE_NOISE, by="x", groups=groups).values())).value
            number = True if what == "truth" else 1
            assert ss.count(data, LITTLE_NOISE, where=("x", "==", number)).value == expected
        assert found == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("size, expected", LENGTHS.items())
def test_dates_as_text_are_held_to_the_limit_whoever_reads(tmp_path, size, expected):
    table = pa.table({"x": [pad("2024-01-31", size)]})
    pq.write_table(table, tmp_path / "t.parquet")
    by = ss.month("x", "2024-01", "2024-01")
    kinds = [table, pa.table({"x": table["x"].dictionary_encode()}), pl.from_arrow(table).lazy(), table.to_pandas()]
    counts = [ss.count(data, LITTLE_NOISE, by=by) for data in kinds]
    counts += [ss.count(tmp_path / "t.parquet", LITTLE_NOISE, by=by, engine=e) for e in ("memory", "duckdb", "polars")]
    with duckdb.connect() as connection:
        connection.register("t", table)
        counts.append(ss.count(connection, LITTLE_NOISE, by=by, table="t"))
    assert [next(iter(count.values())).value for count in counts] == [expected] * len(counts)


def test_no_cell_of_duckdb_can_overflow_a_batch():
    """Arrow counts the bytes of a batch of texts in 31 bits."""
    with duckdb.connect() as connection:
        texts = "repeat('é', 10 * i) AS x, encode(repeat('a', 10 * i)) AS y"
        connection.execute(f"CREATE TABLE t AS SELECT {texts} FROM range(1000) r(i)")
        rows = 0
        for batch in duckdb_engine.RelationTable(connection.table("t"))._record_batches(["x", "y"]):
            longest = max(len(cell) for column in batch.columns for cell in column.cast(pa.binary()).to_pylist())
            assert LONGEST < longest <= 4 * (LONGEST + 1) < 2**31 / duckdb_engine.ROWS
            rows += batch.num_rows
    assert rows == 1000


@pytest.mark.parametrize("size", LENGTHS)
def test_text_is_compared_whole(tmp_path, size):
    """Comparing bytes takes no longer than reading them, so that text that stays text has no limit."""
    text = pad("a", size)
    (tmp_path / "t.csv").write_text(f'x,y\n"{text}",1\n')
    pq.write_table(pa.table({"x": [text]}), tmp_path / "t.parquet")
    for data in ({"x": [text]}, tmp_path / "t.csv", tmp_path / "t.parquet", pa.table({"x": [text]})):
        for options in ({"by": "x", "groups": [text]}, {"where": ("x", "==", text)}):
            found = ss.count(data, LITTLE_NOISE, **options)
            assert (found if "where" in options else next(iter(found.values()))).value == 1
