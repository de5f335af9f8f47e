"""Keys that nobody listed are counted as they are defined, whatever the engine, the batches or the others do."""

import datetime
import hashlib
import random
from collections import Counter, defaultdict

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.conformance import NOTHING, NULLS, SEARCHES, UNITS, search, table_of
from soundsum.engines.engine import Engine
from soundsum.privacy.noise import NoNoise
from soundsum.privacy.selection import plan_groups
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.memory_table import MemoryTable
from soundsum.tables.stream import StreamTable
from tests.engines.model import spelled
from tests.engines.searches import SUMS_FOUND, sum_found

SURE = 10**6
"""An epsilon at which every key of two persons is found."""

TABLES = {"awkward": table_of(2_000), "empty": NOTHING, "all null": NULLS}
TABLE = TABLES["awkward"]


def spell_key(*key):
    """A key's letter, length and text, part by part."""
    parts = b""
    for part in key:
        letter = "b" if isinstance(part, bool) else "i" if isinstance(part, int) else "s"
        letter = "d" if isinstance(part, datetime.date) else letter
        text = part.encode() if isinstance(part, str) else b""
        if letter == "d":
            text = str((part - datetime.date(1970, 1, 1)).days).encode()
        elif letter != "s":
            text = str(int(part)).encode()
        parts += f"{letter}{len(text)}:".encode() + text
    return parts


def count_by_definition(ids, keys, max_groups):
    """In dictionaries: each person once in the keys with most of their rows, equals by a hash of id and key."""
    own = defaultdict(Counter)
    for person, key in zip(ids, keys, strict=True):
        if person is not None and None not in key:
            own[person][key] += 1
    found = Counter()
    for person, counts in own.items():

        def rank(key, person=person, counts=counts):
            return -counts[key], hashlib.sha256(spelled(person) + b"/" + spell_key(*key)).digest()[:8]

        found.update(sorted(counts, key=rank)[:max_groups])
    return found


@pytest.mark.parametrize("by", [["word"], ["h"], ["flag"], ["day"], ["word", "flag", "s"], ["i", "day"]])
@pytest.mark.parametrize("max_groups", [1, 2, 5])
@pytest.mark.parametrize("person", ["who", "name"])
def test_memory_counts_keys_as_they_are_defined(by, max_groups, person):
    columns = [[None if x == datetime.date(1, 1, 1) else x for x in TABLE.column(one).to_pylist()] for one in by]
    expected = count_by_definition(TABLE.column(person).to_pylist(), zip(*columns, strict=True), max_groups)
    found = search(TABLE, by if len(by) > 1 else by[0], person, max_groups)
    assert {key if isinstance(key, tuple) else (key,): n for key, n in found.items()} == expected
    assert expected


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.int8()], ids=str)
def test_lots_of_integers_are_drawn_of_all_their_digits(kind):
    """Beside ids of every length around those with which a lot fits one block of SHA-256."""
    ends = np.iinfo(kind.to_pandas_dtype())
    keys = {end + step for end in (int(ends.min), 0, int(ends.max)) for step in range(-2, 3)}
    keys |= {sign * 10**digits + step for digits in range(20) for sign in (1, -1) for step in (-1, 0)}
    keys = sorted(key for key in keys if ends.min <= key <= ends.max)
    ids = [person * size for person in "abc" for size in [*range(1, 40), 54, 55, 64, 119]]
    rows = [(person, key) for person in ids for key in keys[len(person) % 3 :]]  # an odd and an even number of lots
    own, groups = zip(*rows, strict=True)
    table = pa.table({"id": pa.array(own), "key": pa.array(groups, kind)})
    for g in (1, 2, 7):
        expected = count_by_definition(own, [(key,) for key in groups], g)
        assert {(key,): n for key, n in search(table, "key", "id", g).items()} == expected


@pytest.mark.parametrize("question", SEARCHES)
@pytest.mark.parametrize("table", TABLES)
def test_every_engine_counts_what_memory_counts(question, table, tmp_path):
    table, asked = TABLES[table], SEARCHES[question]
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(table, file, row_group_size=300)
    lazy = pl.from_arrow(table).lazy()
    with duckdb.connect() as connection:
        connection.register("rows", table)
        for persons in ({}, {"person": "who", "max_groups": 2}):
            expected = search(table, **asked, **persons)
            assert search(connection, **asked, **persons, table="rows") == expected
            assert search(lazy, **asked, **persons) == expected
            for engine in ("memory", "duckdb", "polars"):
                assert search(file, **asked, **persons, engine=engine) == expected
    if table is TABLE and question != "nothing passes":
        assert len(expected) > 1


@pytest.mark.parametrize("question", SUMS_FOUND)
def test_sums_over_found_groups_are_the_same_in_every_engine(question, tmp_path):
    by, options = SUMS_FOUND[question]
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(TABLE, file, row_group_size=300)
    expected = sum_found(TABLE, by, **options)
    assert len(expected) > 2
    for engine in ("memory", "duckdb", "polars"):
        assert sum_found(file, by, engine=engine, **options) == expected


@pytest.mark.parametrize("person", UNITS)
def test_lots_are_drawn_of_ids_of_every_type(person, tmp_path):
    file = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(TABLE, file)
    assert search(file, "h", person, 3, engine="duckdb") == search(TABLE, "h", person, 3)


ONE_PASS = {
    "integers": (pa.int64(), lambda i: i - 3),
    "naturals": (pa.uint64(), lambda i: 2**63 + i),
    "texts": (pa.string(), lambda i: f"key {i}" * (i % 7)),
    "large texts": (pa.large_string(), lambda i: f"{i}"),
    "a dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda i: f"key {i}"),
    "truth values": (pa.bool_(), lambda i: i % 2 == 0),
    "days": (pa.date32(), lambda i: datetime.date(1700 + i, 2, 1)),
    "nothing": (pa.null(), lambda i: None),
}
TWO_PASSES = {
    "dates with a time": (pa.date64(), lambda i: datetime.date(1970, 1, 1 + i % 28)),
    "months": (pa.timestamp("us"), lambda i: datetime.datetime(2020, 1 + i % 12, 3, 4)),
}


def draw_table(chosen, kind, make, objects=False):
    """Rows with nulls, NaN and infinities, in batches of any size, which begin anywhere."""

    def draw(values, n):
        return [None if chosen.random() < 0.1 else chosen.choice(values) for _ in range(n)]

    n, keys = chosen.choice([0, 1, 40, 300]), chosen.choice([2, 12, 80])
    numbers = [float("nan"), float("inf"), -float("inf"), 1e300, 0.5, -0.25, 3.0, 7.25]
    columns = {
        "k": pa.array(draw([make(i) for i in range(keys)], n), kind),
        "f": pa.array(draw([True, False], n), pa.bool_()),
        "x": pa.array(draw(numbers, n), pa.float64()),
        "i": pa.array(draw([-(2**31), 2**31, 5, 0], n), pa.int64()),
        "id": pa.array(draw([*range(25)], n), pa.int64()),
        "name": pa.array(draw([f"person {i}" for i in range(9)], n), pa.string()),
    }
    if objects:
        return {name: column.to_pylist() if name == "k" else column for name, column in columns.items()}
    table, cut = pa.table(columns), chosen.randrange(n + 1)
    return pa.concat_tables([table.slice(0, cut), table.slice(cut, 0), table.slice(cut)]).slice(chosen.randrange(2))


def draw_request(chosen, by):
    asked = [ss.Sum("x", -2, 5), ss.Sum("i", 0, 9), ss.Count("x"), ss.Mean("x", -2, 5), ss.Variance("x", 0, 5)]
    options = {"max_rows": chosen.choice([1, 2, 30]), "max_groups": chosen.choice([1, 2, 5])}
    options |= {"where": [("x", ">", 0)]} if chosen.random() < 0.3 else {}
    options |= {"missing": chosen.choice(["zero", "drop"])} if chosen.random() < 0.5 else {}
    person = chosen.choice(["id", "name"])
    groups = ss.Found("1/2")
    return Request(
        tuple(chosen.sample(asked, chosen.choice([1, 1, 3]))), by=by, groups=groups, privacy_unit=person, **options
    )


@pytest.mark.parametrize("name", [*ONE_PASS, *TWO_PASSES, "objects"])
def test_sums_that_are_added_while_keys_are_counted_are_those_of_a_second_pass(name, monkeypatch):
    """And a type decides whether there is one: in some, other rows are looked up than were found."""
    chosen, found = random.Random(name), 0
    kind, make = {**ONE_PASS, **TWO_PASSES, "objects": (pa.string(), str)}[name]
    passes = []
    batches = MemoryTable.batches if name == "objects" else StreamTable.batches
    table_type = MemoryTable if name == "objects" else StreamTable
    monkeypatch.setattr(table_type, "batches", lambda self, *columns: passes.append(columns) or batches(self, *columns))
    for _ in range(30):
        key = ss.month("k") if name == "months" else "k"
        table = draw_table(chosen, kind, make, name == "objects")
        engine, prepared = prepare(table, draw_request(chosen, chosen.choice([key, [key, "f"], ["f", key]])))
        tasks, plan = prepared.tasks[:-1], plan_groups(SURE, "1/2", prepared.tasks[0].claim.plan.unit.max_groups)
        noises = [tuple(NoNoise() for _ in task.claim.parts) for task in tasks]
        passes.clear()
        one = engine.find_and_add_up(tasks, prepared.rows, noises, plan)
        assert len(passes) == (1 if name in ONE_PASS or not one[0].names else 2)
        assert one == Engine.find_and_add_up(engine, tasks, prepared.rows, noises, plan)
        found += len(one[0].names)
    assert found > 30 or name == "nothing"


def persons_of(rows, seed):
    chosen = random.Random(seed)
    return [(chosen.randrange(40), chosen.choice("abcdefgh")) for _ in range(rows)]


@pytest.mark.parametrize("seed", range(5))
def test_one_more_person_changes_no_other_persons_groups(seed):
    """Not even where their new keys come first, so that all others get other numbers."""
    rows = persons_of(300, seed)
    added = [(99, "0"), (99, "a"), (99, "zz"), (99, "h"), (99, "h")]
    arranged = [rows + added, added + rows, rows[:100] + added + rows[100:]]
    for g in (1, 2, 3):
        before = search(table_from(rows), "key", "id", g)
        own = search(table_from(added), "key", "id", g)
        for more in arranged:
            assert Counter(search(table_from(more), "key", "id", g)) == Counter(before) + Counter(own)


def table_from(rows):
    ids, keys = zip(*rows, strict=True)
    return pa.table({"id": ids, "key": keys})


def test_a_column_without_a_type_is_read_object_by_object():
    class Text(str):
        pass

    keys = ["tea", Text("tea"), 3, np.int64(3), True, 1.0, None, float("nan"), b"tea", object(), ("a",), 10**40]
    keys += [
        datetime.date(2024, 1, 1),
        np.datetime64("2024-01-01"),
        datetime.datetime(2024, 1, 1),
        "x" * 4097,
        "\ud800",
    ]
    assert search({"key": keys}, "key") == {"tea": 2, 3: 2, 1: 1, datetime.date(2024, 1, 1): 1, None: 1}
    months = {"seen": ["2024-01-05", datetime.date(2024, 1, 9), "2024-02-01", "never", 7]}
    assert search(months, ss.month("seen")) == {datetime.date(2024, 1, 1): 2, datetime.date(2024, 2, 1): 1}


def test_text_is_a_key_by_its_bytes_and_what_is_no_text_is_none():
    broken = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], np.int32)), pa.py_buffer(b"a\xffb")]
    )
    assert search(pa.table({"key": broken}), "key") == {"a": 1, "b": 1, None: 1}
    dictionary = pa.array(["e\u0301", "\u00e9", "A", "a", "a"]).dictionary_encode()
    assert search(pa.table({"key": dictionary}), "key") == {"e\u0301": 1, "\u00e9": 1, "A": 1, "a": 2}


FIRST = datetime.datetime(2, 1, 1, 0, 30)
EDGES = {
    "days": (ss.week("t"), datetime.date(2, 1, 1)),
    "times": (ss.week("t"), FIRST),
    "a zone behind": (ss.year("t", zone="America/New_York"), FIRST.replace(tzinfo=datetime.UTC)),
    "hours of a zone": (ss.hour("t", zone="America/New_York"), datetime.datetime(2, 1, 1, tzinfo=datetime.UTC)),
}


@pytest.mark.parametrize("by, moment", EDGES.values(), ids=EDGES)
def test_a_period_that_begins_before_all_that_can_be_listed_is_not_found(by, moment):
    """Asked for again to be summed, it would be refused, and whether it was found depends on records."""
    table = pa.table({"t": [moment] * 300, "v": [1.0] * 300})
    found = ss.sum(table, 0, 1, 1, column="v", by=by, groups=ss.Found(delta="1e-6"))
    assert list(found) == []
    with duckdb.connect() as connection:
        connection.register("rows", table)
        assert search(connection, by, table="rows") == search(table, by) == {}
