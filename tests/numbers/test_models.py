"""The models: small sums by hand, NumPy's sum exactly, and the heights of trees the theorems speak of."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum.numbers import models
from soundsum.numbers.types import FloatType, IntType, float32, float64, int8
from tests.kernels.data import gapped

TINY = FloatType(2, 3)  # steps of 2 from 8 on, the largest value is 14


@pytest.mark.parametrize(
    "model, values, expected",
    [
        (models.wide(), [127, 127], 254),
        (models.squares(), [-3, 4], 25),
        (models.modular(int8), [100, 100], -56),
        (models.modular(IntType(5, signed=False)), [31, 2], 1),
        (models.saturating(int8), [127, 1, -1], 126),
        (models.saturating(int8), [100, 100, -128, -128], -128),
        (models.split_saturating(int8), [100, 100, -128, -128], -1),
        (models.iterated(TINY), [8, 1, 1], 8),  # each 9 is a tie, and 8 is even
        (models.iterated(TINY), [10, 1], 12),  # 11 is a tie too, and 12 is even
        (models.iterated(TINY), [8, 1.5], 10),
        (models.iterated(TINY), [14, 14, -14], math.inf),
        (models.pairwise(TINY), [8, 1, 1], 10),  # 8 + (1 + 1)
        (models.pairwise(TINY), [1, 1, 8, 1], 10),  # (1 + 1) + (8 + 1)
        (models.kahan(TINY), [8, 1, 1], 10),
        (models.toward_zero(TINY), [8, 1.5], 8),
        (models.toward_zero(TINY), [-8, -1.5], -8),
        (models.toward_zero(TINY), [14, 14, -14], 0),  # held at the largest
        (models.toward_zero(TINY), [10, -1, 1.5], 8),  # 10 and -1 apart, and 9 is a tie
        (models.numpy_pairwise(TINY), [8, 1, 1], 8),
        (models.numpy_pairwise(TINY), [1, 1, 1, 1, 2, 2, 2, 4], 14),
    ],
)
def test_small_sums_by_hand(model, values, expected):
    assert model.sum(values) == expected


def test_the_sum_of_nothing_is_zero():
    integers = [f(int8) for f in (models.modular, models.saturating, models.split_saturating)]
    floats = [f(TINY) for f in models.FLOAT_SUMS.values()]
    assert {m.sum([]) for m in [models.wide(), models.squares(), *integers, *floats, models.numpy_pairwise(TINY)]} == {
        0
    }


def test_kahan_errs_by_more_than_2u():
    """The paper's 2 u sum|x| is too small; 3 u n M holds."""
    values = [16, -(2**57 + 32), 119, -(2**57 + 32), -128]
    error = abs(models.kahan(float64).sum(values) - sum(values))
    total, u = sum(map(abs, values)), float64.unit_roundoff
    assert error == Fraction("2.21875") * u * 2**58
    assert 2 * u * total < error < 3 * u * len(values) * max(map(abs, values))


@given(st.lists(st.integers(-8, 7), max_size=5))
def test_split_sums_know_no_order(values):
    assert len({models.split_saturating(IntType(4)).sum(order) for order in permutations(values)}) == 1


@given(st.fractions() | st.sampled_from([math.inf, -math.inf, math.nan]), st.fractions(), st.fractions())
def test_clean_records_are_the_nearest_within_the_bounds(x, a, b):
    lower, upper = sorted([a, b])
    clean = models.clean(x, lower, upper)
    wanted = 0 if x != x else x
    assert lower <= clean <= upper
    assert clean == wanted or clean == (lower if wanted < lower else upper)
    assert clean == wanted or not lower <= wanted <= upper


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [np.array, gapped, lambda x: x[::-1]], ids=["contiguous", "gapped", "backwards"])
def test_numpy_pairwise_is_what_numpy_does(dtype, layout):
    rng, tree = np.random.default_rng(3), models.numpy_pairwise(float32 if dtype is np.float32 else float64)
    for n in [*range(301), 1000, 5000, 8200]:
        values = layout((rng.standard_normal(n) * 2.0 ** rng.integers(-12, 12, n)).astype(dtype))
        assert tree.sum(map(Fraction, values.tolist())) == np.sum(values), n


def height(shape):
    return 0 if isinstance(shape, int) else 1 + max(map(height, shape))


def leaves(shape):
    return [shape] if isinstance(shape, int) else leaves(shape[0]) + leaves(shape[1])


SIZES = [*range(1, 700), 1023, 1024, 1025, 4096, 5000]


def test_the_height_of_pairwise_is_the_logarithm():
    shape = models.pairwise(float64).shape
    for n in SIZES:
        assert leaves(shape(n)) == list(range(n))
        assert height(shape(n)) == math.ceil(math.log2(n))


def numpy_height(n):
    """H(n) of THEOREMS.md."""
    if n < 8:
        return n - 1
    if n <= 128:
        return n // 8 + 2 + n % 8
    half = n // 2 // 8 * 8
    return 1 + max(numpy_height(half), numpy_height(n - half))


def test_the_height_of_numpy_pairwise():
    shape = models.numpy_pairwise(float64).shape
    for n in SIZES:
        assert sorted(leaves(shape(n))) == list(range(n))
        assert height(shape(n)) == numpy_height(n)
        assert numpy_height(n) <= (n - 1 if n < 8 else 24 if n <= 128 else 25 + math.ceil(math.log2(n / 128)))
    assert (numpy_height(127), numpy_height(129)) == (24, 12)
