"""Runs behave as the list they stand for, and stay small where the list would have 2^30 records."""

import json
import math
import pickle
from collections import Counter
from fractions import Fraction
from itertools import chain, product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum import FloatType, IntType, Relation, Runs
from soundsum.numbers.types import NAMED
from tests.refusing import refused

SYM, ID, CO, HAM = Relation.SYMMETRIC, Relation.INSERT_DELETE, Relation.CHANGE_ONE, Relation.HAMMING
TYPES = [*NAMED.values(), IntType(5), FloatType(2, 3)]
inf, nan = math.inf, math.nan

parts_of = {
    True: st.lists(
        st.tuples(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=3), st.integers(0, 4)), max_size=5
    ),
    False: st.lists(
        st.tuples(st.lists(st.sampled_from([0, 0.5, -1, inf, nan]), min_size=1, max_size=3), st.integers(0, 4)),
        max_size=5,
    ),
}


@st.composite
def runs(draw, types=TYPES):
    T = draw(st.sampled_from(types))
    parts = draw(parts_of[T.is_integer])
    return Runs(T, parts), [x for pattern, count in parts for x in pattern * count]


@st.composite
def pairs(draw):
    T = draw(st.sampled_from(TYPES))
    return draw(runs([T])), draw(runs([T]))


def alike(left, right):
    """Equal records in equal order, NaN like NaN."""
    left, right = list(left), list(right)
    return len(left) == len(right) and all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))


# As the list


@given(runs())
def test_runs_are_a_sequence(case):
    data, plain = case
    n = len(plain)
    assert len(data) == data.size == n
    assert alike(data, plain)
    assert alike([data[i] for i in range(-n, n)], [plain[i] for i in range(-n, n)])
    assert all(isinstance(x, int) if data.type.is_integer else isinstance(x, Fraction | float) for x in data)
    with pytest.raises(IndexError, match=f"record {n} of {n}"):
        data[n]


@given(runs(), st.none() | st.integers(-30, 30), st.none() | st.integers(-30, 30))
def test_a_slice_is_the_slice_of_the_list(case, start, stop):
    data, plain = case
    assert alike(data[start:stop], plain[start:stop])


@given(pairs())
def test_concatenation_and_equality_are_those_of_the_lists(case):
    (left, plain_left), (right, plain_right) = case
    assert alike(left + right, plain_left + plain_right)
    assert (left == right) == alike(plain_left, plain_right)


def test_equality_and_hamming_distance_of_all_short_patterns():
    patterns = [pattern for length in range(1, 5) for pattern in product((0, 1), repeat=length)]
    written = [(Runs("int8", [(p, 12 // len(p))]), p * (12 // len(p))) for p in patterns]
    for (left, plain_left), (right, plain_right) in product(written, written):
        assert (left == right) == (plain_left == plain_right)
        assert HAM.distance(left, right) == HAM.distance(plain_left, plain_right)


@given(runs(), st.integers(0, 30))
def test_every_writing_of_a_sequence_is_equal(case, cut):
    data, plain = case
    for other in (Runs.of(plain, data.type), Runs(data.type, [(plain, 1)] if plain else []), data[:cut] + data[cut:]):
        assert other == data
        assert hash(other) == hash(data)
    assert data != plain
    assert data != Runs(FloatType(60, 12), data.parts)


@given(runs(), st.sampled_from([(0, 1), (1, 2), (-1, -1), (-1, 0), (1, 1)]))
def test_clamping_is_record_by_record(case, bounds):
    data, plain = case
    lower, upper = (max(b, data.type.min) for b in bounds)
    assert alike(data.clamp(lower, upper), [max(lower, min(upper, 0 if x != x else x)) for x in plain])


@given(runs())
def test_counts_are_those_of_the_list(case):
    data, plain = case
    counts = data.counts()
    number = Counter(x for x in plain if x == x)
    assert {x: n for x, n in counts.items() if x == x} == number
    assert counts.total() == len(plain)
    assert sum(x != x for x in counts) <= 1


@given(runs(list(NAMED.values())), st.integers(1, 20))
def test_arrays_hold_the_same_records(case, size):
    data, plain = case
    T = data.type
    array = np.asarray(data)
    assert array.dtype == (ml_dtypes.bfloat16 if T.name == "bfloat16" else T.dtype)
    assert alike(array.tolist(), plain)
    assert Runs.of(array) == Runs.of(array.view(T.dtype), T) == data
    assert np.asarray(data, dtype=complex).dtype == complex

    chunks = list(data.chunks(size))
    assert all(chunk.dtype == T.dtype for chunk in chunks)
    assert [len(chunk) for chunk in chunks] == [min(size, len(plain) - i) for i in range(0, len(plain), size)]
    assert alike(chain.from_iterable(chunk.view(array.dtype).tolist() for chunk in chunks), plain)

    values, lengths, counts = data.arrays()
    patterns = np.split(values, np.cumsum(lengths)[:-1])
    tiled = [np.tile(*part) for part in zip(patterns, counts, strict=True)] if len(counts) else []
    assert alike(chain.from_iterable(x.view(array.dtype).tolist() for x in tiled), plain)


@given(pairs())
def test_distances_are_those_of_the_lists(case):
    (left, plain_left), (right, plain_right) = case
    for relation in Relation:
        expected = relation.distance(plain_left, plain_right)
        assert relation.distance(left, right) == expected
        assert relation.distance(left, plain_right) == relation.distance(plain_left, right) == expected


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9))), st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9)))
)
def test_insert_delete_distance_of_many_runs(left, right):
    expected = ID.distance(*([x for x, count in parts for _ in range(count)] for parts in (left, right)))
    assert ID.distance(Runs("int8", left), Runs("int8", right)) == expected


def test_datasets_of_many_runs():
    bits = np.random.default_rng(0).integers(0, 2, 50_000).astype(np.int8)
    data = Runs.of(bits)
    assert data == Runs.of(bits.tolist(), "int8")
    assert data[:2000] == Runs("int8", [(bits[:2000].tolist(), 1)])
    assert HAM.distance(data, Runs("int8", [(0, bits.size)])) == bits.sum()
    assert HAM.distance(data, Runs("int8", [((0, 1), bits.size // 2)])) == (bits != np.arange(bits.size) % 2).sum()
    assert [r.distance(data, data[1:]) for r in (SYM, ID)] == [1, 1]


# As text


@given(runs())
def test_text_and_pickle_bring_the_runs_back(case):
    data, _ = case
    for back in (
        eval(repr(data), {"Runs": Runs}),
        Runs.from_json(json.loads(json.dumps(data.to_json()))),
        pickle.loads(pickle.dumps(data)),
    ):
        assert back == data
        assert back.type == data.type
        assert hash(back) == hash(data)


HUGE = [
    Runs("float64", [(1, 2**29), ((0.1, -0.5 + 2**-40), 2**28)]),
    Runs("float32", [(inf, 2**28), ((nan, -inf, 2.0**-149), 2**28), (float(2**127), 1)]),
    Runs("uint64", [(2**64 - 1, 2**29), ((0, 1), 2**28)]),
    Runs(FloatType(2, 3), [(Fraction(7, 16), 2**29), ((nan, 14, "-1/16"), 2**29)]),
    Runs(FloatType(60, 12), [((1 + Fraction(1, 2**60), 3), 2**29)]),
]


@pytest.mark.parametrize("data", HUGE, ids=lambda data: data.type.name)
def test_a_billion_records_take_few_bytes(data):
    assert len(data) >= 2**30
    assert len(pickle.dumps(data)) < 500
    assert len(json.dumps(data.to_json())) < 500
    assert len(repr(data)) < 300
    for back in (
        eval(repr(data)),
        Runs.from_json(json.loads(json.dumps(data.to_json()))),
        pickle.loads(pickle.dumps(data)),
    ):
        assert back == data
        assert back.parts == data.parts


@pytest.mark.parametrize("x", [2**1500, Fraction(-3, 2**1500), 2**53 + 1])
def test_values_no_double_holds_are_written_exactly(x):
    data = Runs(FloatType(60, 12), [(x, 1)])
    assert eval(repr(data))[0] == Runs.from_json(data.to_json())[0] == x


# Distances of attack-shaped datasets

N = 2**30


def distances(left, right):
    return [relation.distance(left, right) for relation in (SYM, ID, CO, HAM)]


@pytest.mark.parametrize("i", [0, 1, N // 2 - 1, N // 2, N - 1])
def test_dropping_or_changing_one_record_of_a_billion(i):
    data = Runs("float64", [(1, N // 2), ((0.25, -0.5), N // 4)])
    changed = data[:i] + Runs("float64", [(7, 1)]) + data[i + 1 :]
    assert distances(data, data[:i] + data[i + 1 :]) == [1, 1, inf, inf]
    assert distances(data, changed) == [2, 2, 1, 1]
    assert distances(data, data) == [0, 0, 0, 0]


@pytest.mark.parametrize("b, c", [(3, 5), (N // 4, 3 * N // 4), (N // 2, N // 2), (N - 1, 1)])
def test_reordering_a_billion_records(b, c):
    low, high = Runs("int32", [(-2, b)]), Runs("int32", [(5, c)])
    assert distances(low + high, high + low) == [0, 2 * min(b, c), 0, 2 * min(b, c)]


def test_patterns_against_each_other():
    half = N // 2
    once, twice = Runs("int8", [((0, 1), half)]), Runs("int8", [((1, 0), half)])
    assert [r.distance(once, twice) for r in (SYM, CO, HAM)] == [0, 0, N]
    threes = Runs("int8", [((0, 1, 1), N // 3), (0, 1)])
    first_twelve = HAM.distance([0, 1] * 6, [0, 1, 1] * 4)
    assert HAM.distance(once[: 12 * 10**7], threes[: 12 * 10**7]) == first_twelve * 10**7


def test_repeated_rounding_drops_one_record():
    tail = [((0.75, -0.25), N // 4)]
    left, right = Runs("float64", [(1, N // 2), *tail]), Runs("float64", [(1, N // 2 - 1), *tail])
    assert distances(left, right) == [1, 1, inf, inf]
    copies = [((1 + 2.0**-23) * 2**i, 2**23) for i in range(15)]
    assert distances(Runs("float32", [(2**23, 2), *copies]), Runs("float32", [(2**23, 1), *copies])) == [1, 1, inf, inf]


# What is refused


@pytest.mark.parametrize(
    "make, error, option, reason, facts",
    [
        (lambda: Runs("int8", [(1, -1)]), ValueError, "count", "too-small", {"given": "-1"}),
        (lambda: Runs("int8", [(1, 1.5)]), ValueError, "count", "not-whole", {"given": "1.5"}),
        (lambda: Runs("int8", [(1, True)]), ValueError, "count", "not-whole", {"given": "True"}),
        (lambda: Runs("int8", [((), 3)]), ValueError, "parts", "empty", {}),
        (
            lambda: Runs("int8", [(200, 1)]),
            ValueError,
            "parts",
            "mismatch",
            {"given": "200", "kind": "int8", "nearest": "127"},
        ),
        (lambda: Runs("int8", [("5/2", 1)]), ValueError, "parts", "mismatch", {"given": "5/2", "nearest": "2"}),
        (lambda: Runs("int8", [(inf, 1)]), ValueError, "parts", "mismatch", {"given": "inf"}),
        (
            lambda: Runs(FloatType(2, 3), [(1.1, 1)]),
            ValueError,
            "parts",
            "mismatch",
            {"kind": "float(2,3)", "nearest": "1"},
        ),
        (lambda: Runs("float64", [("0.1", 1)]), ValueError, "parts", "mismatch", {"nearest": str(Fraction(0.1))}),
        (lambda: Runs("float64", [("x", 1)]), TypeError, "parts", "not-a-number", {"given": "'x'"}),
        (lambda: Runs(None, [(1, 1)]), TypeError, "dtype", "unknown", {"given": "None"}),
        (lambda: Runs.of([1, 2]), TypeError, "dtype", "missing", {}),
        (lambda: Runs.of(np.ones((2, 2))), ValueError, "values", "wrong-type", {"dimensions": 2}),
        (lambda: Runs("int8", [(1, 9)])[::2], ValueError, "step", "unsupported", {"given": "2"}),
        (lambda: Runs("int8") + Runs("int16"), TypeError, "dtype", "conflict", {"left": "int8", "right": "int16"}),
        (lambda: np.asarray(Runs(IntType(5), [(1, 1)])), ValueError, "dtype", "unsupported", {"kind": "int5"}),
        (lambda: np.array(Runs("int8", [(1, 1)]), copy=False), ValueError, "copy", "unsupported", {}),
        (
            lambda: Runs("int8", [(1, 1)]).clamp(0, 500).clamp(500, 500),
            ValueError,
            "parts",
            "mismatch",
            {"given": "500"},
        ),
        (
            lambda: ID.distance(Runs("int8", [((0, 1), N)]), Runs("int8", [((1, 0), N)])),
            ValueError,
            None,
            "too-many",
            {"most": "1,000,000"},
        ),
        (
            lambda: ID.distance(Runs("int8", [((0, 1), 1000)]), Runs("int8", [((1, 2), 1000)])),
            ValueError,
            None,
            "too-many",
            {"left": "2,000", "right": "2,000"},
        ),
    ],
)
def test_what_runs_refuse(make, error, option, reason, facts):
    with refused(option, reason, error, **facts):
        make()


def test_runs_of_an_iterable_do_not_quote_its_values():
    for values, kind, reason, error in [
        (["HIV"], "int8", "not-a-number", TypeError),
        ([271], "int8", "mismatch", ValueError),
    ]:
        with refused("values", reason, error) as caught:
            Runs.of(values, kind)
        assert str(values[0]) not in str(caught.value)


def test_numbers_in_a_16_bit_array_are_numbers_unless_they_are_bfloat16():
    array = np.array([1, 2], dtype=np.uint16)
    assert list(Runs.of(array, "float32")) == [1, 2]
    assert (
        list(Runs.of(array.view(ml_dtypes.bfloat16))) == list(Runs.of(array, "bfloat16")) == [2**-133 * 1.0, 2.0**-132]
    )
