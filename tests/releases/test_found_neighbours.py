"""Two tables that differ by one record or person, and everything that is released over groups that were found.

The law of a search is that of the code which carries it out, in exact rationals: the engine counts keys once, and every
outcome of the noise is tried. Statistics over the groups found are compared before their noise.
"""

import itertools
import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.engines import open_engine
from soundsum.methods import Ranks
from soundsum.paper.verify.searches import excess, truncated
from soundsum.privacy.choice import find_errors
from soundsum.privacy.selection import GroupPlan, TruncatedLaplace
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.statistics.task import MOST_COUNTS
from soundsum.tables.found_keys import SearchedGroups
from soundsum.tables.rows import Rows
from tests.refusing import refused

KEYS = ["a", "b", "c"]


@dataclass(frozen=True)
class Tried(TruncatedLaplace):
    """Noise whose values are those to try."""

    values: tuple[int, ...] = ()

    def draw_integers(self, count):
        return list(self.values[:count])


def law_of_search(rows, unit, relation, noise, reach):
    """How likely every list of groups with their noisy numbers is."""
    ids, keys = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table({"id": pa.array(ids, pa.int64()), "key": pa.array(keys, pa.string())})
    asked = Rows("key", None, None if unit.max_rows is None else "id", searched=SearchedGroups("key"))
    engine, norms, law = open_engine(table), unit.norms(1, 1, relation), Counter()
    counted = engine.count_keys(asked, unit.max_groups)
    engine.count_keys = lambda *_: counted  # numbers of keys differ from time to time
    for values in itertools.product(noise, repeat=np.count_nonzero(counted.counts)):
        plan = GroupPlan(
            Tried(Fraction(1), reach, values), reach + 1, Fraction(1), Fraction(1, 2), Fraction(1, 2), norms
        )
        found, _, _ = engine.find_and_add_up([], asked, [], plan)
        chance = Fraction(1)
        for z in values:
            chance *= noise[z]
        law[tuple(zip(found.names, found.noisy, strict=True))] += chance
    assert sum(law.values()) == 1
    return law


@pytest.mark.parametrize("relation", [ss.Relation.SYMMETRIC, ss.Relation.CHANGE_ONE])
@pytest.mark.parametrize("reach, groups", [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)])
def test_the_law_of_a_search_keeps_its_epsilon_and_delta(relation, reach, groups):
    """Of a person with any rows, by whom the delta is reached, or of a record that changes."""
    chosen = random.Random(f"{relation} {reach} {groups}")
    a, worst = Fraction(1, 2), 0
    of_persons = not relation.sized
    unit = Unit(FOUND, 1, groups) if of_persons else Unit(FOUND)
    noise, entries = truncated(a, reach), unit.norms(1, 1, relation).entries
    claimed = 1 - (1 - noise[reach]) ** entries
    for _ in range(60):
        others = [(chosen.randrange(3), chosen.choice([*KEYS, None])) for _ in range(chosen.randrange(6))]
        left, right = others, others + [(9, chosen.choice(KEYS)) for _ in range(chosen.randrange(1, 6))]
        if not of_persons:
            left, right = ([*others, (0, chosen.choice([*KEYS, None]))] for _ in range(2))
        right = chosen.sample(right, len(right))
        one, other = (law_of_search(rows, unit, relation, noise, reach) for rows in (left, right))
        both = excess(one, other, a**-entries), excess(other, one, a**-entries)
        assert max(both) <= claimed, (left, right)
        worst = max(worst, *both)
    assert worst == claimed if of_persons else worst > claimed / 2


VALUES = [None, 0.0, -1.0, 1.0, 2.5, 5.0, 1e30, -1e30, float("nan"), float("inf"), 4.99, 5.01, 7.0]


def draw_row(chosen, person=None):
    return (
        chosen.choice([0, 1, 2, 3, None]) if person is None else person,
        chosen.choice(["a", "b", "c", "d", None]),
        chosen.choice([True, False, None]),
        chosen.choice(VALUES),
    )


@cache
def database():
    return duckdb.connect()


def make_table(rows, engine):
    columns = zip(*rows, strict=True) if rows else [()] * 4
    kinds = {"id": pa.int64(), "k": pa.string(), "f": pa.bool_(), "x": pa.float64()}
    table = pa.table({name: pa.array(own, kind) for own, (name, kind) in zip(columns, kinds.items(), strict=True)})
    if engine == "duckdb":
        connection = database().cursor()
        connection.register("rows", table)
        return connection.table("rows")
    return pl.from_arrow(table).lazy() if engine == "polars" else table


def shift_of(part, task, one, other):
    """By how much of its norms a part differs between two tables: of a choice, of its range for the loss."""
    if not isinstance(task.claim.plan.adder, Ranks):
        changes = [x - y for x, y in zip(one, other, strict=True)]
        own = sum(map(abs, changes)), sum(change**2 for change in changes)
        return own, (part.norms.l1, part.norms.l2_squared)
    norms, ranges = part.norms, []
    for begin in range(0, len(one), norms.cells):
        errors = [
            find_errors(side[begin : begin + norms.cells], np.array(norms.points), norms.quantile)
            for side in (one, other)
        ]
        changes = (errors[0] - errors[1]).tolist()
        is_one_sided = norms.quantile in (0, 1) and (min(changes) >= 0 or max(changes) <= 0)
        ranges.append(max(map(abs, changes)) * (1 if is_one_sided else 2))
    return (sum(ranges), sum(width**2 for width in ranges)), (norms.span, norms.squares)


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
@pytest.mark.parametrize("relation", [None, *ss.Relation])
def test_statistics_over_found_groups_stay_within_their_norms(relation, engine):
    """Of persons, where no relation is given. Every bound is reached."""
    chosen, closest = random.Random(f"{relation} {engine}"), Counter()
    for _ in range(120 if engine == "memory" else 15):
        options = {"relation": ss.Relation.SYMMETRIC if relation is None else relation}
        rows = [draw_row(chosen) for _ in range(chosen.randrange(8))]
        more = rows + [draw_row(chosen, 9) for _ in range(chosen.randrange(1, 8))]
        if relation is None:
            options |= {"privacy_unit": "id", "max_rows": chosen.choice([1, 2, 3]), "max_groups": chosen.choice([1, 2])}
        elif relation.sized:
            rows, more = ([*rows, draw_row(chosen)] for _ in range(2))
        else:
            more = [*rows, draw_row(chosen)]
        by = chosen.choice(["k", ["k", "f"]])
        there = {row[1:2] if by == "k" else row[1:3] for row in rows + more}
        names = [name if len(name) > 1 else name[0] for name in sorted(name for name in there if None not in name)]
        if not names:
            continue
        if chosen.random() < 0.3:
            options["where"] = [("x", ">", 0)]
        asked = [
            *(ss.Sum("x", -2, 5), ss.Count(), ss.Mean("x", -2, 5), ss.Variance("x", 0, 5), ss.Clipped("x", -2, 5)),
            ss.Histogram("x", [-2, 0, 3, 5]),
            ss.Quantile("x", chosen.choice(["1/2", "0", "1", "99/100"]), -2, 5, candidates=chosen.choice([2, 5])),
        ]
        sums = []
        for side in (rows, more):
            opened, prepared = prepare(
                make_table(side, engine), Request(tuple(asked), by=by, groups=ss.Found("1e-6"), **options)
            )
            planned = prepared.tasks[:-1]
            sums.append(
                opened.add_up([task.of_found(len(names)) for task in planned], prepared.rows.of_found(names))[0]
            )
        for task, one, other in zip(planned, *sums, strict=True):
            for part, *moved in zip(task.claim.parts, one, other, strict=True):
                for own, limit in zip(*shift_of(part, task, *moved), strict=True):
                    assert own <= limit, (task.statistic, rows, more, names, options)
                    closest[task.statistic.name] = max(closest[task.statistic.name], Fraction(own, limit))
    if engine == "memory":
        assert set(closest.values()) == {1}


def test_more_counts_than_memory_has_end_a_read():
    table = {"k": ["a"] * 50, "x": [1.0] * 50}
    options = {"by": "k", "groups": ss.Found("1e-6")}
    asked = (ss.Histogram("x", [0, 1, 2]), ss.Quantile("x", 0.5, 0, 2, candidates=1000), ss.Sum("x", 0, 1))
    _, prepared = prepare(table, Request(asked, **options))
    for task in prepared.tasks[:-1]:
        cells = 1 if task.counted is None else len(task.counted.names)
        most = MOST_COUNTS // cells
        assert task.of_found(most).claim.plan.unit.most_groups == task.claim.plan.unit.most_groups
        with refused("groups", Reason.TOO_MANY):
            task.of_found(most + 1)
