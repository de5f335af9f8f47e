"""Permuting, truncating, splitting and dropping records do what their lemmas assume."""

import itertools
import math
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.methods import method
from soundsum.methods.method import MOST_PERMUTED, by_sign, permute, truncate
from soundsum.tables.records import present, records
from tests.refusing import refused

COLUMNS = {
    "array": records(np.array([3.0, -1.0, math.nan, 0.0, -math.inf, 2.0, -0.0])),
    "strided": records(np.arange(20, dtype=np.int16)[::-3] - 10),
    "arrow": records(pa.array([9, 1.5, None, -2.5, None, 4.0, -1.0])[1:]),
    "masked": records(np.ma.array([1, -2, 3], mask=[0, 1, 0], dtype=np.int32)),
    "bfloat16": records(np.asarray(ss.Runs("bfloat16", [((1, -2, math.nan, 0, -math.inf), 2)]))),
    "runs": ss.Runs("float64", [(1, 3), ((-2, math.nan), 2), (0, 1)]),
    "tiny": ss.Runs(ss.FloatType(2, 3), [(1, 2), (-2, 3)]),
}


def keys(data):
    return ["missing" if x != x else x for x in data]


@pytest.fixture(params=COLUMNS)
def column(request):
    return COLUMNS[request.param]


def test_a_permutation_keeps_every_record(column):
    assert Counter(keys(permute(column))) == Counter(keys(column))


def test_permutations_differ():
    orders = {tuple(permute(records(np.arange(8.0)))) for _ in range(50)}
    assert len(orders) > 40


def test_truncation_keeps_the_first(column):
    for n in (0, 1, 3, 100):
        assert keys(truncate(column, n)) == keys(column)[:n]


def test_halves_by_sign_keep_order_and_take_every_record_once(column):
    negative, rest = (keys(half) for half in by_sign(column))
    assert negative == [x for x in keys(column) if x != "missing" and x < 0]
    assert rest == [x for x in keys(column) if x == "missing" or not x < 0]


def test_present_records_are_those_not_missing(column):
    assert keys(present(column)) == [x for x in keys(column) if x != "missing"]


def test_too_many_records_are_not_brought_into_memory():
    with refused("data", "too-many", ValueError, most=f"{MOST_PERMUTED:,}"):
        permute(ss.Runs("int8", [(1, MOST_PERMUTED + 1)]))


def test_as_many_runs_are_permuted_as_the_limit_says(monkeypatch):
    monkeypatch.setattr(method, "MOST_PERMUTED", 3)
    assert permute(ss.Runs("int8", [(1, 3)])).size == 3
    with refused("data", "too-many", ValueError, most="3"):
        permute(ss.Runs("int8", [(1, 4)]))


def test_hamming_is_not_enough_for_truncation():
    """f(a, b) = a - b, else 0: insert-delete 1 up to two records, Hamming 1 on two, but 2 after truncation to two."""

    def f(u):
        return u[0] - u[1] if len(u) == 2 else 0

    def sensitivity(relation, lengths, g):
        datasets = [u for n in lengths for u in itertools.product((0, 1), repeat=n)]
        return max(abs(g(u) - g(v)) for u, v in itertools.product(datasets, repeat=2) if relation.distance(u, v) <= 1)

    truncated = sensitivity(ss.Relation.INSERT_DELETE, range(5), lambda u: f(u[:2]))
    assert sensitivity(ss.Relation.INSERT_DELETE, range(3), f) == 1
    assert sensitivity(ss.Relation.HAMMING, [2], f) == 1
    assert sensitivity(ss.Relation.CHANGE_ONE, [2], f) == truncated == 2


def test_of_a_public_size_the_first_records_are_hamming_neighbours():
    """And change-one neighbours need a permutation first: f is any function, here one that tells all datasets apart."""

    def f(u):
        return sum(x << i for i, x in enumerate(u))

    def sensitivity(relation, n, g):
        datasets = list(itertools.product((0, 1), repeat=n))
        return max(abs(g(u) - g(v)) for u, v in itertools.product(datasets, repeat=2) if relation.distance(u, v) <= 1)

    kept = sensitivity(ss.Relation.HAMMING, 4, lambda u: f(u[:2]))
    assert kept == sensitivity(ss.Relation.HAMMING, 2, f) == 2
    assert sensitivity(ss.Relation.CHANGE_ONE, 4, lambda u: f(u[:2])) == 3
