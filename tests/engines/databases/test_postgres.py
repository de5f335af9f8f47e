"""PostgreSQL, a real one: the very integers that memory gives, whatever the records are."""

import psycopg
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, SEARCHES, answers, search, table_of
from tests.engines.counted import list_miscounts
from tests.engines.databases.servers import load_into_postgres
from tests.engines.searches import SUMS_FOUND, add_one_more, sum_found

pytestmark = pytest.mark.xdist_group("postgres")

TABLES = {"awkward": table_of(2_000), "nothing": NOTHING, "nulls": NULLS, "heavy": HEAVY, "many": table_of(1_000_000)}


@pytest.fixture(scope="session")
def find(postgres):
    """The address, once a table is loaded there."""
    loaded = set()

    def load(name):
        if name not in loaded:
            load_into_postgres(postgres.address(), name, TABLES[name])
            loaded.add(name)
        return postgres.address()

    return load


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("table", ["awkward", "nothing", "nulls"])
def test_the_integers_are_those_of_memory(find, table, question):
    statistics, options = QUESTIONS[question]
    assert answers(find(table), statistics, table=table, **options) == answers(TABLES[table], statistics, **options)


def test_those_count_whom_coq_counts(postgres):
    def load(table):
        load_into_postgres(postgres.address(), "counted", table)
        return postgres.address()

    assert list_miscounts(load, table="counted") == []


@pytest.mark.parametrize("question", SEARCHES)
@pytest.mark.parametrize("persons", [{}, {"person": "who", "max_groups": 2}, {"person": "name"}], ids=str)
def test_the_keys_found_are_those_of_memory(find, question, persons):
    asked = SEARCHES[question] | persons
    for table in ("awkward", "nothing", "nulls"):
        assert search(find(table), table=table, **asked) == search(TABLES[table], **asked)


@pytest.mark.parametrize("question", SUMS_FOUND)
def test_sums_over_found_groups_are_those_of_memory(find, question):
    by, options = SUMS_FOUND[question]
    found = sum_found(find("awkward"), by, table="awkward", **options)
    assert found == sum_found(TABLES["awkward"], by, **options)
    assert len(found) > 2


@pytest.mark.parametrize("g", [1, 2, 3])
def test_one_more_person_changes_nobody_else_s_groups(postgres, g):
    def find(rows, g):
        load_into_postgres(postgres.address(), f"crowd_{g}_{len(rows)}", rows)
        return search(postgres.address(), "key", "id", g, table=f"crowd_{g}_{len(rows)}")

    changed = add_one_more(find, g)
    assert list(changed.values()) == [1] * g
    assert changed == add_one_more(lambda rows, g: search(rows, "key", "id", g), g)


@pytest.mark.parametrize("question", ["sums of doubles", "by text", "persons and groups"])
def test_a_million_rows(find, question):
    statistics, options = QUESTIONS[question]
    assert answers(find("many"), statistics, table="many", **options) == answers(TABLES["many"], statistics, **options)


@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows(find, question):
    statistics, options = HEAVY_QUESTIONS[question]
    assert answers(find("heavy"), statistics, table="heavy", **options) == answers(HEAVY, statistics, **options)


def test_text_is_compared_by_its_bytes_whatever_the_collation(postgres):
    """In a column where a, A and á are equal, and where an order of words is that of a dictionary."""
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute("CREATE COLLATION alike (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
        connection.execute("CREATE TABLE spelled (x float8, word text COLLATE alike)")
        connection.execute("INSERT INTO spelled VALUES (1, 'a'), (2, 'A'), (4, '\u00e1'), (8, 'Z')")
    asked = {"column": "x", "table": "spelled"}
    made = ss.sum(postgres.address(), 0, 10, 10**6, by="word", groups=["A", "a"], **asked)
    assert [one.value for one in made.values()] == pytest.approx([2, 1], abs=0.01)
    assert ss.count(postgres.address(), 10**6, table="spelled", privacy_unit="word").value == 4
    for condition, expected in ((("word", "==", "a"), 1), (("word", "<", "a"), 10), (("word", ">", "Z"), 5)):
        assert ss.sum(postgres.address(), 0, 10, 10**6, where=[condition], **asked).value == pytest.approx(
            expected, abs=0.01
        )


IDS = {
    "bytea": [r"'\x00ff'", r"'\x'", r"'\x61'"],
    "time": ["'00:00:00.000001'", "'23:59:59.999999'", "'24:00'"],
    "date": ["'infinity'", "'-infinity'", "'2024-02-29'"],
    "timestamp": ["'infinity'", "'-infinity'", "'294276-12-31 23:59:59.999999'"],
    "timestamptz": ["'infinity'", "'-infinity'", "'4713-01-01 00:00 BC'"],
    "float8": ["'NaN'", "'Infinity'", "'-1e308'"],
    "real": ["'NaN'", "'-Infinity'", "'16777216.5'"],
    "numeric(38, 2)": ["'NaN'", "'-99999999999999999999.99'", "'0.00'"],
    "uuid": [f"'{i:032x}'" for i in range(3)],
    "char(4)": ["'a'", "'a b'", "''"],
}


@pytest.mark.parametrize("kind", IDS)
def test_a_lot_is_drawn_from_any_id(postgres, kind):
    """Each is in four groups with one row, and counts in one of them; NaN is nobody."""
    with psycopg.connect(postgres.address(), autocommit=True) as connection:
        connection.execute(f"DROP TABLE IF EXISTS lots; CREATE TABLE lots (id {kind}, part integer)")
        rows = ", ".join(f"({value}, {part})" for value in IDS[kind] for part in range(4))
        connection.execute(f"INSERT INTO lots VALUES {rows}")
    made = ss.count(postgres.address(), 10**6, table="lots", by="part", groups=[0, 1, 2, 3], privacy_unit="id")
    assert sum(one.value for one in made.values()) == 3 - IDS[kind].count("'NaN'")


def test_bytes_draw_the_lots_that_they_draw_in_memory(postgres):
    """Also those of up to 4,096 bytes; longer ones are no ids."""
    ids = [bytes([i, 0, 255 - i]) * (1, 1365, 1366)[i % 3] for i in range(40) for _ in range(4)]
    table = pa.table({"id": pa.array(ids, pa.binary()), "part": pa.array([0, 1, 2, 3] * 40, pa.int32())})
    load_into_postgres(postgres.address(), "bytes", table)
    asked = {"by": "part", "groups": [0, 1, 2, 3], "privacy_unit": "id"}
    statistics = [ss.Count()]
    assert answers(postgres.address(), statistics, table="bytes", **asked) == answers(table, statistics, **asked)


def test_a_release_opens_one_connection_and_closes_it(postgres, find, monkeypatch):
    find("awkward")
    opened = []

    def count_connections(address, connect=psycopg.connect, **options):
        opened.append(connect(address, **options))
        return opened[-1]

    monkeypatch.setattr(psycopg, "connect", count_connections)
    ss.sum(postgres.address(), 0, 10, 1, column="x", table="awkward", by="word", groups=["a"], privacy_unit="who")
    assert len(opened) == 1
    assert opened[0].closed
