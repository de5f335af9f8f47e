"""PostgreSQL, a real one: the very integers that memory gives, whatever the records are."""

import pytest
from tests.engines.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, answers, table_of
from tests.engines.databases.servers import load_into_postgres

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
