"""Files of partial sums: whole ones are read back as they were, and any other is refused."""

import json
import stat
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from uuid import UUID

import numpy as np
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.releases.partial_file import FORMAT, KEY, read_partial
from soundsum.releases.plan_json import read_value, write_value
from soundsum.tables.keys import FoundNames
from tests.releases.test_partials import BY_WARD, COST, WEEK, copied, refuses, totals

RECORDS = ss.Partial.plan(COST, **BY_WARD).add(WEEK, part="a")
PERSONS = ss.Partial.plan([*COST, ss.Variance("cost", 0, 9)], privacy_unit="who").add(
    WEEK | {"who": pa.array(WEEK["who"])}, part="a"
)
SHARD = ss.Partial.plan(COST, privacy_unit="who").shard(0, of=2).add(WEEK)


def signed(body):
    """A file with this body, whatever it is, and its right digest."""
    return body + sha256(body).digest()


def opened(partial):
    """The metadata and the table of a file."""
    reader = pa.ipc.open_stream(partial._to_bytes())
    return json.loads(reader.schema.metadata[KEY]), reader.read_all()


def written(said, table):
    sink = pa.BufferOutputStream()
    schema = table.schema.with_metadata({KEY: json.dumps(said).encode()})
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(table.replace_schema_metadata(schema.metadata))
    return signed(sink.getvalue().to_pybytes())


def test_only_its_owner_can_read_a_file_and_nothing_is_written_over(tmp_path):
    RECORDS.save(tmp_path / "a.sum")
    assert stat.S_IMODE((tmp_path / "a.sum").stat().st_mode) == 0o600
    assert totals(ss.Partial.load(tmp_path / "a.sum")) == totals(RECORDS)
    refuses(lambda: PERSONS.save(tmp_path / "a.sum"), "path", "exists")
    assert totals(ss.Partial.load(str(tmp_path / "a.sum"))) == totals(RECORDS)
    with pytest.raises(FileNotFoundError):
        ss.Partial.load(tmp_path / "b.sum")


def test_another_process_reads_and_releases_it(tmp_path):
    RECORDS.save(tmp_path / "a.sum")
    program = "import soundsum as ss, sys; print(list(ss.Partial.load(sys.argv[1]).release(epsilon=1)[0]))"
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "a.sum"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "['a', 'b']"


def test_the_format_is_the_documented_one():
    said, table = opened(RECORDS)
    assert table.column_names == ["statistic", "part", "entry", "total"]
    assert table["entry"].to_pylist() == [0, 1, 0, 1]
    assert table["total"].to_pylist()[2:] == [2, 1]
    assert (said["format"], said["parts"], said["n"]) == (FORMAT, ["a"], None)
    said, table = opened(PERSONS)
    assert table.column_names == ["statistic", "id", "entry", "rows", "sum", "squares"]
    rows = {(row["statistic"], row["id"]): row["rows"] for row in table.to_pylist()}
    assert rows == {(place, who): 3 - who for place in range(3) for who in (1, 2)}
    said, table = opened(SHARD)
    assert "id" not in table.column_names
    assert b"person" not in SHARD._to_bytes()


@pytest.mark.parametrize("partial", [RECORDS, PERSONS, SHARD], ids=["records", "persons", "shard"])
def test_a_file_that_was_cut_or_changed_is_refused(partial, tmp_path):
    whole = partial._to_bytes()
    step = max(1, len(whole) // 50)
    changed = [whole[:i] for i in range(0, len(whole), step)] + [whole + b"\0"]
    changed += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(0, len(whole), step)]
    for broken in changed:
        refuses(lambda broken=broken: read_partial(broken, "a.sum"), "path", "unreadable")
    (tmp_path / "a.sum").write_bytes(whole[:-1])
    with pytest.raises(ValueError, match=r"a\.sum is not a whole file of partial sums"):
        ss.Partial.load(tmp_path / "a.sum")


def test_a_file_of_something_else_is_refused():
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, pa.schema({"a": pa.int64()})) as writer:
        writer.write_table(pa.table({"a": [1]}))
    for body in (b"", b"PAR1", sink.getvalue().to_pybytes()):
        refuses(lambda body=body: read_partial(signed(body), "x"), "path", "unreadable")


def test_a_pair_takes_as_many_bytes_as_the_page_says():
    plan = ss.Partial.plan([ss.Count()], privacy_unit="who")
    for ids, each in ((np.arange(8_000), 56), (pa.array([f"{i:05}" for i in range(8_000)]), 56 + 5)):
        sizes = [len(plan.add({"who": ids[:count]}, part="a")._to_bytes()) for count in (800, 8_000)]
        assert sizes[1] - sizes[0] == pytest.approx(7_200 * each, abs=64)


def test_a_newer_format_is_refused_by_its_number():
    said, table = opened(RECORDS)
    newer = written({"format": FORMAT + 1, "soundsum": "9.1", "parts": "unlike"}, table)
    with pytest.raises(ValueError, match=r"format 2, and this version of soundsum reads format 1; .* 9\.1 of"):
        read_partial(newer, "x")
    assert read_partial(written(said, table), "x")[1] == ["a"]


def change(said, path, value):
    """The same, with another value in one place."""
    copy = json.loads(json.dumps(said))
    *inner, last = path
    found = copy
    for name in inner:
        found = found[name]
    found[last] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["parts"], []),
        (["parts"], ["a", "a"]),
        (["parts"], [1]),
        (["n"], 5),
        (["plan"], None),
        (["plan", "terms", "max_rows"], 7),
        (["plan", "request", "relation"], "hamming"),
        (["plan", "request", "relation"], []),
        (["plan", "request", "groups"], ["a", "b", "c"]),
        (["plan", "request", "statistics", 0, "statistic"], "nothing"),
        (["plan", "request", "statistics", 0, "options", "upper"], 101),
        (["plan", "request", "statistics", 0, "options", "upper"], {"run": "this"}),
        (["plan", "types", 0, 1], "float32"),
        (["plan", "shards"], 2),
    ],
    ids=str,
)
def test_a_file_that_says_something_else_of_its_plan_is_refused(path, value):
    said, table = opened(RECORDS)
    refuses(lambda: read_partial(written(change(said, path, value), table), "x"), "path", "unreadable")


@pytest.mark.parametrize(
    ("partial", "column", "value"),
    [
        (RECORDS, "entry", 1),
        (RECORDS, "statistic", 1),
        (RECORDS, "total", None),
        (PERSONS, "entry", 1),
        (PERSONS, "entry", -1),
        (PERSONS, "rows", 0),
        (PERSONS, "rows", 1 << 60),
        (PERSONS, "statistic", 3),
        (PERSONS, "squares", 1),
        (PERSONS, "id", None),
    ],
)
def test_a_file_with_columns_that_do_not_fit_its_plan_is_refused(partial, column, value):
    said, table = opened(partial)
    values = [value, *table[column].to_pylist()[1:]]
    own = table.set_column(table.column_names.index(column), column, pa.array(values, table[column].type))
    for other in (own, table.drop_columns([column])):
        refuses(lambda other=other: read_partial(written(said, other), "x"), "path", "unreadable")
    if partial is RECORDS:
        refuses(lambda: read_partial(written(said, table.slice(1)), "x"), "path", "unreadable")
        twice = pa.concat_tables([table, table])
        refuses(lambda: read_partial(written(said, twice), "x"), "path", "unreadable")


VALUES = [
    *(None, True, 0, -(10**40), "a", 0.5, -0.0, float("inf"), Fraction(1, 3), Decimal("1.50"), b"\0", time(1, 2, 3)),
    *(date(2024, 1, 1), datetime(2024, 1, 1, 2, 3, 4, 5), datetime(2024, 1, 1, tzinfo=UTC), timedelta(-1, 1, 1)),
    *(UUID(int=7), ("a", 1), ("a", ("b", date(1, 1, 1))), ["a", ["b"]], ss.month("at", "2024-01", "2024-03")),
    *(ss.day("at", zone="Europe/Vienna"),),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_keep_their_types(value):
    again = read_value(json.loads(json.dumps(write_value(value))))
    assert (type(again), again, repr(again)) == (type(value), value, repr(value))


def test_values_of_arrays_are_plain():
    assert write_value(np.arange(3)) == [0, 1, 2]
    assert write_value(np.float32(0.5)) == write_value(0.5)
    assert read_value(write_value(np.datetime64("2024-01-01", "ns"))) == datetime(2024, 1, 1)
    assert type(read_value(write_value(FoundNames(["a"])))) is FoundNames


ASKED = {
    "a method with parameters": [ss.Sum("cost", 0, 100, method="grid")],
    "decimals": [ss.Sum("price", "0.01", Decimal("9.99")), ss.Histogram("price", [0, 1, 5])],
    "categories": [ss.Histogram("ward", categories=("a", "b")), ss.Histogram("cost", bins=4, lower=0, upper=100)],
    "a type": [ss.Sum("cost", 0, 100, dtype="float32"), ss.Std("cost", 0, 9, dtype=np.float32, weight="1/3")],
    "quantiles": [ss.Quantile("cost", "1/3", 0, 100, candidates=[1, "2.5", 7])],
    "a count of what is there": [ss.Count("cost")],
    "a weight": [ss.Mean("cost", 0, 1, weight=Fraction(2, 7)), ss.Clipped("cost", 0, 1)],
}


@pytest.mark.parametrize("asked", ASKED)
def test_whatever_is_asked_is_read_back(asked):
    data = {
        "cost": np.array([1.5, 2.5], np.float32),
        "ward": ["a", "b"],
        "price": [Decimal("1.50"), Decimal("7.00")],
    }
    data["price"] = pa.array(data["price"], pa.decimal128(9, 2))
    part = ss.Partial.plan(ASKED[asked], where=[("ward", "in", ["a", "b"])]).add(data, part="a")
    again = copied(part)
    assert again._plan.terms == part._plan.terms
    assert again._plan.query == part._plan.query
    assert [task.claim for task in again._plan.tasks] == [task.claim for task in part._plan.tasks]
    assert totals(again + ss.Partial.plan(ASKED[asked], where=part._plan.request.where).add(data, part="b"))
