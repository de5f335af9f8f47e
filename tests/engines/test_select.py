"""The SELECT that PostgreSQL and Spark run, run by DuckDB, which needs no server: the very integers that memory gives.

What is the same in every SQL is tested here (`engines/select.py`, `query.py`, `dialect.py`), with sums in one integer,
as in PostgreSQL, and in limbs, as in Spark. The expressions that each of them keeps by hand are tested in the folder
beside, by `make engines`.
"""

import bisect
from functools import cache

import duckdb
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.conformance import HEAVY, HEAVY_QUESTIONS, NOTHING, NULLS, QUESTIONS, SEARCHES, answers, search, table_of
from soundsum.engines.dialect import Dialect
from soundsum.engines.key_query import KeySelection
from soundsum.engines.select import Selection
from soundsum.engines.sum_query import LIMB, SumQuery, limbs
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.rows import Rows

TABLES = {"awkward": table_of(2_000), "empty": NOTHING, "all null": NULLS}


class DuckDialect(Dialect):
    """DuckDB's expressions: casts round half to even, least and greatest pass over NULL, NaN is above every number."""

    double, whole = "double", "hugeint"

    def __init__(self):
        self.values, self.searches = {}, {}

    def quote(self, name):
        return '"' + name.replace('"', '""') + '"'

    def key(self, own):
        return own.text

    def is_nan(self, own):
        return f"isnan({own.text})" if pa.types.is_floating(own.kind) else None

    def value(self, value, own):
        return self._bind(value, "double" if pa.types.is_floating(own.kind) else self._spell(own.kind))

    def list_of(self, name, keys, places):
        listed = [
            (self._bind(values, f"{'integer' if own is None else self._spell(own.kind)}[]"), f"k{i}")
            for i, (values, own) in enumerate(keys)
        ]
        listed.append((self._bind(places, "bigint[]"), "place"))
        return f"(SELECT {', '.join(f'unnest({values}) AS {column}' for values, column in listed)}) AS {name}"

    def bucket(self, text, points, own):
        def spell(point):
            if own is not None:
                return self._bind(point, self._spell(own.kind))
            return self.literal(point) if isinstance(point, float) else f"CAST('{point}' AS hugeint)"

        if own is None and len(points) > 64:  # too many to write out
            name = f"search{len(self.searches)}"
            self.searches[name] = points
            return f"coalesce({name}({text}), 0)"
        return f"({' + '.join(f'CASE WHEN {text} >= {spell(point)} THEN 1 ELSE 0 END' for point in points)})"

    def literal(self, x):
        return f"CAST('{x!r}' AS double)"

    def round(self, text):
        return f"CAST({text} AS bigint)"

    def scaled(self, own, low, high):
        digits = f"CAST(replace(CAST({own.text} AS varchar), '.', '') AS hugeint)"
        return f"CASE WHEN {own.text} IS NOT NULL THEN CAST(least(greatest({digits}, {low}), {high}) AS bigint) END"

    def truncate(self, text):
        return f"CAST(trunc({text}) AS bigint)"

    def since_1970(self, text, kind):
        return f"({text} - DATE '1970-01-01')" if pa.types.is_date(kind) else f"epoch_us({text})"

    def local_since_1970(self, text, zone):
        return f"epoch_us(timezone({self._bind(zone, 'varchar')}, {text}))"

    def floor_of(self, text, unit):
        return f"(({text} - ({text} % {unit} + {unit}) % {unit}) // {unit})"

    def first_day(self, days, kind):
        day = f"(DATE '1970-01-01' + CAST({days} AS integer))"
        return f"(CAST(date_trunc('{kind}', {day}) AS date) - DATE '1970-01-01')"

    def as_text(self, text):
        return f"CAST({text} AS varchar)"

    def digest(self, text, entry, is_bytes):
        after = f"'/' || CAST({entry} AS varchar)"
        return f"sha256({text} || encode({after}))" if is_bytes else f"sha256(CAST({text} AS varchar) || {after})"

    def first_word(self, digest):
        return f"CAST('0x' || substr({digest}, 1, 8) AS bigint)"

    def floor_quotient(self, top, bottom):
        return f"(({top} - ({top} % {bottom} + {bottom}) % {bottom}) // {bottom})"

    def _bind(self, value, kind):
        name = f"v{len(self.values)}"
        self.values[name] = value
        return f"CAST(${name} AS {kind})"

    def _spell(self, kind):
        if pa.types.is_decimal(kind):
            return f"decimal({kind.precision}, {kind.scale})"
        if pa.types.is_timestamp(kind):
            return "timestamp" if kind.tz is None else "timestamptz"
        return {"float": "real", "bool": "boolean", "string": "varchar", "date32[day]": "date"}.get(
            str(kind), str(kind)
        )


class InLimbs(DuckDialect):
    """Integers are added up by 17 bits at a time, as where sums have 64 bits."""

    def shifts(self, bits):
        return list(limbs(bits))

    def limb(self, text, shift, first):
        moved = f"(({text}) >> {shift})" if shift else f"({text})"
        return moved if first else f"({moved} & {(1 << LIMB) - 1})"


def select(table, statistics, dialect, **options):
    """As `answers`, by the SELECT."""
    relation = ss.Relation(options.pop("relation", "symmetric"))
    _, prepared = prepare(table, Request(tuple(statistics), relation=relation, **options))
    query = SumQuery(prepared.tasks, prepared.rows)
    asked = Selection(query, types(table), dialect)
    totals, n = asked.totals(fetch(table, asked, dialect))
    return totals, n if relation.sized else None


def types(table):
    return dict(zip(table.column_names, table.schema.types, strict=True))


@cache
def database():
    """All tables in one DuckDB."""
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'America/New_York'")
    connection.execute("CREATE MACRO octet_length(x) AS strlen(x)")  # DuckDB's own is of bytes alone
    names = {}
    for number, table in enumerate([*TABLES.values(), HEAVY]):
        names[id(table)] = f"records{number}"
        connection.register("arrow", table)
        connection.execute(f"CREATE TABLE records{number} AS SELECT * FROM arrow")
    return connection, names


def fetch(table, asked, dialect):
    connection, names = database()
    text = asked.text(names[id(table)])
    for name, points in dialect.searches.items():
        kind = "DOUBLE" if isinstance(points[0], float) else "HUGEINT"
        connection.create_function(name, counter_below(points), [kind], "BIGINT")
    try:
        return connection.execute(text, dialect.values).fetchall()
    finally:
        for name in dialect.searches:
            connection.remove_function(name)


def counter_below(points):
    return lambda x: bisect.bisect_right(points, x)


@pytest.mark.parametrize(
    "table, dialect",
    [("awkward", DuckDialect), ("awkward", InLimbs), ("empty", DuckDialect), ("all null", DuckDialect)],
)
@pytest.mark.parametrize("question", QUESTIONS)
def test_the_integers_are_those_of_memory(table, question, dialect):
    statistics, options = QUESTIONS[question]
    expected = answers(TABLES[table], statistics, **options)
    assert select(TABLES[table], statistics, dialect(), **options) == expected


@pytest.mark.parametrize("dialect", [DuckDialect, InLimbs])
@pytest.mark.parametrize("question", HEAVY_QUESTIONS)
def test_a_person_with_very_many_rows(question, dialect):
    statistics, options = HEAVY_QUESTIONS[question]
    assert select(HEAVY, statistics, dialect(), **options) == answers(HEAVY, statistics, **options)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("question", SEARCHES)
@pytest.mark.parametrize("persons", [{}, {"person": "who", "max_groups": 2}, {"person": "name"}], ids=str)
def test_the_keys_found_are_those_of_memory(table, question, persons):
    asked, searched = SEARCHES[question] | persons, TABLES[table]

    def count(_, rows, max_groups):
        dialect = DuckDialect()
        selection = KeySelection(rows, Selection(SumQuery([], Rows()), types(searched), dialect), dialect, max_groups)
        return selection.read(fetch(searched, selection, dialect))

    assert search(searched, **asked, count=count) == search(searched, **asked)
