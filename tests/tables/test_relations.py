"""The four distances against brute force, and what one relation's bound says of another's."""

import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum import Relation
from soundsum.numbers.types import NAMED
from soundsum.tables.relations import MOST_EDITS, convert, few_edits
from tests.refusing import refused

SYM, ID, CO, HAM = Relation.SYMMETRIC, Relation.INSERT_DELETE, Relation.CHANGE_ONE, Relation.HAMMING
TINY = [data for n in range(5) for data in product(range(3), repeat=n)]
nan = math.nan


@cache
def edits(u, v):
    """The insertions and deletions from u to v, one record at a time."""
    if not u or not v:
        return len(u) + len(v)
    if u[0] == v[0]:
        return edits(u[1:], v[1:])
    return 1 + min(edits(u[1:], v), edits(u, v[1:]))


def changes(u, v):
    return sum(a != b for a, b in zip(u, v, strict=True)) if len(u) == len(v) else math.inf


def over_permutations(distance, u, v):
    return min(distance(u, order) for order in set(permutations(v)))


def test_distances_of_all_tiny_datasets():
    for u, v in product(TINY, TINY):
        assert ID.distance(u, v) == edits(u, v)
        assert HAM.distance(u, v) == changes(u, v)
        assert SYM.distance(u, v) == (Counter(u) - Counter(v)).total() + (Counter(v) - Counter(u)).total()
        if len(u) == len(v):
            assert SYM.distance(u, v) == 2 * CO.distance(u, v)
            assert ID.distance(u, v) <= 2 * HAM.distance(u, v)
        else:
            assert CO.distance(u, v) == math.inf


def test_unordered_distances_are_the_least_over_permutations():
    for u, v in product(TINY, TINY[:40]):
        assert SYM.distance(u, v) == over_permutations(edits, u, v)
        assert CO.distance(u, v) == over_permutations(changes, u, v)


def test_neighbours_are_one_step_apart():
    for u in TINY:
        inserted = {(*u[:i], x, *u[i:]) for i in range(len(u) + 1) for x in range(3)}
        assert {v for v in TINY if ID.distance(u, v) == 1 and len(v) > len(u)} == (inserted if len(u) < 4 else set())
        changed = {(*u[:i], x, *u[i + 1 :]) for i in range(len(u)) for x in range(3)} - {u}
        assert {v for v in TINY if HAM.distance(u, v) == 1} == changed


@given(st.lists(st.integers(0, 2), max_size=60), st.lists(st.integers(0, 2), max_size=60))
def test_insert_delete_is_a_metric_and_the_two_ways_to_it_agree(u, v):
    distance = edits_by_table(u, v)
    assert ID.distance(u, v) == ID.distance(v, u) == distance
    assert few_edits(np.array(u), np.array(v)) == (distance if distance <= MOST_EDITS else None)
    assert SYM.distance(u, v) <= distance <= len(u) + len(v)


def edits_by_table(u, v):
    row = list(range(len(v) + 1))
    for i, a in enumerate(u, 1):
        last, row = row, [i]
        for j, b in enumerate(v, 1):
            row.append(last[j - 1] if a == b else 1 + min(row[-1], last[j]))
    return row[-1]


# What a dataset may be


@pytest.mark.parametrize("relation", Relation)
@given(data=st.data())
def test_arrays_lists_and_iterators_are_the_same_datasets(relation, data):
    T = data.draw(st.sampled_from(list(NAMED.values())))
    dtype = ml_dtypes.bfloat16 if T.name == "bfloat16" else T.dtype
    records = st.lists(st.sampled_from([0, 1, 2, 100] + ([] if T.is_integer else [nan, math.inf, -0.0])), max_size=6)
    u, v = data.draw(records), data.draw(records)
    expected = relation.distance(u, v)
    arrays = [np.array(x, dtype=dtype) for x in (u, v)]
    assert relation.distance(*arrays) == expected
    assert relation.distance(arrays[0], v) == relation.distance(u, arrays[1]) == expected
    assert relation.distance(iter(u), tuple(v)) == expected
    assert relation.distance(np.array(u, dtype=float), arrays[1]) == expected


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("make", [list, np.array, lambda x: np.array(x, np.float32), lambda x: np.array(x, "float16")])
def test_nan_is_nan_and_minus_zero_is_zero(relation, make):
    assert relation.distance(make([nan, -0.0, 1.0]), make([float("nan"), 0.0, 1.0])) == 0
    assert relation.distance(make([nan]), make([0.0])) == (1 if relation.sized else 2)


def test_close_numbers_of_different_types_stay_apart():
    assert HAM.distance(np.array([2**53 + 1]), np.array([2.0**53])) == 1
    assert HAM.distance(np.array([0.1], dtype=np.float32), [0.1]) == 1
    assert HAM.distance([Fraction(1, 2), 3], [0.5, 3.0]) == 0


def test_a_million_records_nearly_equal():
    u = np.random.default_rng(0).integers(0, 1000, 10**6)
    changed = u.copy()
    changed[[3, 999_000]] = -1
    dropped = np.delete(u, [0, 500_000, 999_999])
    assert [r.distance(u, u[1:]) for r in Relation] == [1, 1, math.inf, math.inf]
    assert [r.distance(u, dropped) for r in Relation] == [3, 3, math.inf, math.inf]
    assert [r.distance(u, changed) for r in Relation] == [4, 4, 2, 2]
    assert [r.distance(u, np.roll(u, 1)) for r in (SYM, ID, CO)] == [0, 2, 0]


@pytest.mark.parametrize("relation", Relation)
def test_a_table_is_not_a_dataset(relation):
    table, column = np.ones((2, 2)), np.ones(2)
    for left, right, name in [(table, table, "left"), (table, [1, 1], "left"), (column, table, "right")]:
        with refused(name, "wrong-type", ValueError, dimensions=2):
            relation.distance(left, right)
    with refused("right", "wrong-type", ValueError, dimensions=0):
        relation.distance(column, np.array(1.0))


# The relations themselves


def test_relations_are_their_names():
    assert [str(r) for r in Relation] == ["symmetric", "insert_delete", "change_one", "hamming"]
    assert all(Relation(name) == name for name in Relation)
    assert {r for r in Relation if r.ordered} == {ID, HAM}
    assert {r for r in Relation if r.sized} == {CO, HAM}
    assert [r.unordered for r in (SYM, ID, CO, HAM)] == [SYM, SYM, CO, CO]


@pytest.mark.parametrize("name", ["swap", "SYMMETRIC", None, 1])
def test_an_unknown_relation_is_told_the_four(name):
    with refused("relation", "unknown", ValueError, given=repr(name), names=", ".join(Relation)):
        Relation(name)


FOLLOWS = {(SYM, ID): 1, (CO, HAM): 1, (SYM, CO): 2, (ID, HAM): 2, (SYM, HAM): 2} | {(r, r): 1 for r in Relation}


@pytest.mark.parametrize("known, wanted", list(product(Relation, Relation)))
def test_a_bound_converts_as_the_theorems_say(known, wanted):
    bound, factor = Fraction(7, 3), FOLLOWS.get((known, wanted))
    assert convert(bound, known, wanted) == (None if factor is None else factor * bound)


@pytest.mark.parametrize("known, wanted", FOLLOWS)
def test_a_converted_bound_holds(known, wanted):
    """A step under the wanted relation is at most as many steps under the known one as the bound grows by."""
    for u, v in product(TINY, TINY):
        if wanted.distance(u, v) == 1:
            assert known.distance(u, v) <= FOLLOWS[known, wanted]
