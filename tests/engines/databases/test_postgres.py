"""PostgreSQL, a real one: the very integers that memory gives, whatever the records are."""

import psycopg
import pytest
from tests.engines.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, answers, table_of
from tests.engines.databases.servers import load_into_postgres

import soundsum as ss

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
