"""Who counts is what Coq defines: which of a person's rows and groups, and how much, from that person's rows alone.

Each engine gets the conformance tables, and random ones in which lots decide everything, in several orders and cut into
several batches. What is left behind by one batch for the next would change the answer; the definition has no batches.
PostgreSQL and Spark are compared with memory, on the same tables, in tests/engines/databases.
"""

import datetime
import random
from functools import cache
from itertools import pairwise

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.conformance import NOTHING, NULLS, QUESTIONS, answers, table_of
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.cells import LONGEST
from soundsum.tables.keys import cross_codes
from tests.engines.model import integer_of, lot, person_of

from .oracle import ask, words
from .test_releases import KINDS, some_claims

TABLES = {"awkward": table_of(700), "empty": NOTHING, "all null": NULLS}
PERSONS = [
    name
    for name, (statistics, options) in QUESTIONS.items()
    if "privacy_unit" in options and all(type(asked).__name__.lower() in KINDS for asked in statistics)
]


def defined(table, statistics, **options):
    """The integers that Coq defines for a table, which is read as one batch."""
    opened, prepared = prepare(table.combine_chunks(), Request(tuple(statistics), **options))
    rows, lines = prepared.rows, []
    columns = [task.statistic.column for task in prepared.tasks]
    (batch,) = opened.schema.batches(*columns, *rows.columns) if table.num_rows else (None,)
    people = [owner_of(x) for x in table[rows.privacy_unit].to_pylist()]
    known = {person: str(i) for i, person in enumerate(dict.fromkeys(people))}
    owners = ["none" if person is None else known[person] for person in people]
    for task in prepared.tasks:
        records = [] if batch is None else list(read_rows(batch, task, rows, owners))
        unit, steps = task.claim.plan.unit, task.claim.record_steps
        low, high = (1, 1) if steps is None else (steps.low, steps.high)
        missing = 0 if task.statistic.takes != "numbers" else integer_of(float("nan"), steps)
        asked = words(
            task.claim.kind.name, unit.entries, task.missing == "drop", missing, unit.max_groups, unit.max_rows
        )
        lots = lots_of(known, unit.entries) if unit.entries > 1 else "none"
        lines.append(words("persons", asked, low, high, lots, *records))
    return [[numbers(part) for part in answer.split(";")] for answer in ask(lines)]


def owner_of(x):
    """Whom an id stands for; a text beyond the longest identifies nobody."""
    return None if isinstance(x, str) and len(x.encode()) > LONGEST else person_of(x)


def read_rows(batch, task, rows, owners):
    """A table's rows as the definition has them: whose each is, the group's number, the filter, the integer."""
    groups, statistic, codes, by = task.claim.plan.unit.entries, task.statistic, None, rows.by
    if rows.groups is not None:
        codes = rows.groups.codes([batch.keys(one) for one in by] if isinstance(by, list) else batch.keys(by))
    if statistic.cells is not None:
        cell = statistic.cells.codes(batch, statistic.column, task.claim.unit_value)
        codes = cross_codes(codes, cell, len(statistic.cells.names), rows.group_count or 0)
    codes = [0] * batch.rows if codes is None else codes.tolist()
    passes = [True] * batch.rows if rows.where is None else rows.where.passes(batch).tolist()
    values = [0] * batch.rows
    if statistic.takes == "numbers":
        values = list(batch.numbers(statistic.column))
    elif statistic.takes == "present rows" and task.missing == "drop":
        values = list(batch.presence(statistic.column))
    for owner, code, is_in, x in zip(owners, codes, passes, values, strict=True):
        integer = "none" if x != x else 0 if statistic.takes != "numbers" else integer_of(x, task.claim.record_steps)
        yield f"{owner}:{min(code, groups)}:{int(is_in)}:{integer}"


@cache
def drawn(person, group):
    if isinstance(person, datetime.datetime):  # spelled as microseconds
        start = datetime.datetime(1970, 1, 1, tzinfo=person.tzinfo)
        person = (person - start) // datetime.timedelta(microseconds=1)
    return int.from_bytes(lot(person, group)[:8])


def lots_of(known, groups):
    found = [f"{i}:{group}:{drawn(p, group)}" for p, i in known.items() if p is not None for group in range(groups)]
    return ",".join(found) or "none"


def numbers(text):
    return [int(x) for x in text.split(",")]


def shuffled(table, rng):
    """The same rows in another order, in batches that begin anywhere."""
    mixed = table.take(pa.array(rng.permutation(table.num_rows)))
    ends = sorted({0, *rng.integers(0, table.num_rows + 1, 5).tolist(), table.num_rows})
    pieces = [mixed.slice(begin, end - begin) for begin, end in pairwise(ends)]
    return pa.concat_tables(pieces) if pieces else mixed


@pytest.mark.parametrize("question", PERSONS)
@pytest.mark.parametrize("name", TABLES)
def test_engines_count_whom_coq_counts(name, question):
    statistics, options = QUESTIONS[question]
    table, rng = TABLES[name], np.random.default_rng(1)
    expected = defined(table, statistics, **options)
    assert answers(table, statistics, **options)[0] == expected
    for _ in range(3):
        mixed = shuffled(table, rng)
        assert answers(mixed, statistics, **options)[0] == expected
        reader = pa.RecordBatchReader.from_batches(mixed.schema, mixed.to_batches(max_chunksize=97))
        assert answers(reader, statistics, **options)[0] == expected
    with duckdb.connect() as connection:
        connection.register("mixed", mixed)
        assert answers(connection, statistics, table="mixed", **options)[0] == expected
    assert answers(pl.from_arrow(mixed).lazy(), statistics, **options)[0] == expected


STATISTICS = [ss.Sum("x", -4, 9), ss.Count("x"), ss.Mean("x", -2, 6), ss.Variance("x", 0, 5)]


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_random_tables_in_which_lots_decide(missing):
    """Few persons with equally many rows in several groups, some rows without an id, a value, or a group."""
    rng = np.random.default_rng(len(missing))
    for _ in range(60):
        n = int(rng.integers(0, 25))
        columns = {
            "id": [None if rng.random() < 0.1 else int(rng.integers(0, 4)) for _ in range(n)],
            "group": [int(rng.integers(0, 5)) for _ in range(n)],
            "x": [None if rng.random() < 0.2 else int(rng.integers(-9, 12)) for _ in range(n)],
        }
        table = pa.table({name: pa.array(column, pa.int64()) for name, column in columns.items()})
        options = {
            "privacy_unit": "id",
            "max_rows": int(rng.integers(1, 4)),
            "missing": missing,
            "by": "group",
            "groups": [3, 0, 2, 1],
            "max_groups": int(rng.integers(1, 4)),
        }
        if rng.random() < 0.3:
            options["where"] = [("x", ">", -3)]
        expected = defined(table, STATISTICS, **options)
        mixed = shuffled(table, rng)
        assert answers(table, STATISTICS, **options)[0] == expected
        assert answers(mixed, STATISTICS, **options)[0] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_parts_weigh_rows_as_is_proved(kind):
    claims = [claim for claim in some_claims(kind) if claim.plan.unit.max_rows is not None]
    lines = [words("weights", kind, claim.record_steps.low, claim.record_steps.high) for claim in claims]
    for claim, answer in zip(claims, ask(lines), strict=True):
        assert answer == " ".join(",".join(map(str, part.weights)) for part in claim.parts), claim
    assert len(claims) > 100


def test_a_person_in_two_tables_moves_the_sums_as_far_as_is_proved():
    """The definition itself, between tables with and without all rows of one person."""
    rng = random.Random("neighbours")
    for _ in range(100):
        rows = [f"{rng.randint(0, 3)}:{rng.randint(0, 3)}:1:{rng.randint(-4, 9)}" for _ in range(rng.randint(1, 12))]
        lots = ",".join(f"{p}:{g}:{rng.randint(0, 3)}" for p in range(4) for g in range(3))  # many of them the same
        most_groups, most_rows = rng.randint(1, 3), rng.randint(1, 3)
        asked = words("persons sum", 3, True, 0, most_groups, most_rows, -4, 9, lots)
        others = [row for row in rows if not row.startswith("0:")]
        mixed = rng.sample(others, len(others))
        with_them, without = (numbers(answer) for answer in ask([words(asked, *rows), words(asked, *mixed)]))
        moved = [abs(a - b) for a, b in zip(with_them, without, strict=True)]
        assert sum(moved) <= most_groups * most_rows * 9
        assert sum(map(bool, moved)) <= most_groups
