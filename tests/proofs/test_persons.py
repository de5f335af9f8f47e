"""Who counts is what Coq defines: which of a person's rows and groups, and how much, from that person's rows alone.

Each engine gets the conformance tables, and random ones in which lots decide everything, in several orders and cut into
several batches. What is left behind by one batch for the next would change the answer; the definition has no batches.
Every other engine is compared with Coq's stored answers, in tests/engines.
"""

import json
import random
from itertools import pairwise

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from soundsum.conformance import QUESTIONS, answers
from tests.engines.counted import PERSONS, STATISTICS, STORED, TABLES, crowds

from .counted import defined, definitions, numbers
from .oracle import ask, words
from .test_releases import KINDS, some_claims


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


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_random_tables_in_which_lots_decide(missing):
    rng = np.random.default_rng(1)
    for table, options in crowds(missing, 60):
        expected = defined(table, STATISTICS, **options)
        assert answers(table, STATISTICS, **options)[0] == expected
        assert answers(shuffled(table, rng), STATISTICS, **options)[0] == expected


def test_the_stored_answers_are_those_of_coq():
    """With which PostgreSQL, Spark, SQLite and Dask are compared, where there is no Coq."""
    assert definitions() == json.loads(STORED.read_text())


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
