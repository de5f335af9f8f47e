"""Integers: wide, modular, saturating and split sums, and sums of squares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum import kernels
from soundsum.numbers import models
from soundsum.numbers.types import IntType, int8, int64, uint64
from soundsum.tables.records import Column
from soundsum.tables.runs import Runs
from tests.sweeps import sweep

from .data import (
    INTEGERS,
    LENGTHS,
    MISSING,
    THREADS,
    bounds,
    cleaned,
    columns,
    datasets,
    gapped,
    with_bitmap,
)


@pytest.mark.parametrize("kind", sweep(INTEGERS, quick=[int8, uint64]), ids=str)
@given(st.data())
def test_every_sum_is_its_model(kind, data):
    column, (lower, upper) = data.draw(datasets(kind)), data.draw(bounds(kind))
    missing, other = data.draw(MISSING), data.draw(st.builds(IntType, st.sampled_from([1, 5, 31, 70]), st.booleans()))
    kept, chosen = cleaned(column, lower, upper, missing), {"missing": missing}
    assert {
        "wide": kernels.wide_sum(column, lower, upper, threads=data.draw(THREADS), **chosen),
        "modular": kernels.modular_sum(column, lower, upper, **chosen),
        "other modulus": kernels.modular_sum(column, lower, upper, dtype=other, **chosen),
        "saturating": kernels.saturating_sum(column, lower, upper, **chosen),
        "split": kernels.split_saturating_sum(column, lower, upper, **chosen),
        "squares": kernels.sum_of_squares(column, lower, upper, **chosen),
    } == {
        "wide": models.wide().sum(kept),
        "modular": models.modular(kind).sum(kept),
        "other modulus": models.modular(other).sum(kept),
        "saturating": models.saturating(kind).sum(kept),
        "split": models.split_saturating(kind).sum(kept),
        "squares": models.squares().sum(kept),
    }


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("kind", sweep(INTEGERS, quick=[int8, uint64]), ids=str)
def test_sums_of_any_length(kind, length):
    """In place, copied for a stride, copied for a bitmap; bounds all of the type, and less than 2^52 apart."""
    rng = np.random.default_rng(length)
    values = rng.integers(kind.min, kind.max, length, dtype=kind.dtype, endpoint=True)
    present = rng.random(length) < 0.9
    narrow = (kind.max // 2, min(kind.max, kind.max // 2 + 2**52 - 1))
    for lower, upper in [(kind.min, kind.max), narrow]:
        for column in [Column(values, kind), Column(gapped(values), kind), with_bitmap(values, kind, present, 5)]:
            there = present | (column.validity is None)
            for missing, kept in [("zero", np.where(there, values, 0)), ("drop", values[there])]:
                kept = kept.astype(kind.dtype).clip(lower, upper).tolist()
                sums = [kernels.wide_sum(column, lower, upper, missing=missing, threads=t) for t in (1, 2, 3, 7)]
                assert sums == [sum(kept)] * 4
                saturated = models.saturating(kind).sum(kept)
                assert kernels.saturating_sum(column, lower, upper, missing=missing) == saturated
                squares = sum(x * x for x in kept)
                assert kernels.sum_of_squares(column, lower, upper, missing=missing) == squares


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
@pytest.mark.parametrize("limit", ["min", "max"])
def test_nothing_overflows_at_the_limits(kind, limit):
    n, x = 70_001, getattr(kind, limit)
    values = np.full(n, x, kind.dtype)
    for width in [2**52 - 1, 2**52, 2**54, 2**64]:  # a lane of 2^11 holds no 2^54
        lower, upper = max(kind.min, x - width), min(kind.max, x + width)
        assert kernels.wide_sum(values, lower, upper) == n * x
        assert kernels.sum_of_squares(values, lower, upper) == n * x * x
        assert kernels.saturating_sum(values, lower, upper) == kind.saturate(n * x)
        assert kernels.split_saturating_sum(values, lower, upper) == kind.saturate(n * x)


def test_a_split_sum_is_held_apart_and_then_together():
    high, low = np.iinfo(np.int8).max, np.iinfo(np.int8).min
    values = np.array([high, high, low, low, low], dtype=np.int8)
    assert kernels.split_saturating_sum(values, low, high) == high + low == -1
    assert kernels.saturating_sum(values, low, high) == low


def test_runs_of_more_records_than_memory():
    data = Runs(uint64, [(uint64.max, 2**62), ((1, 2), 2**61)])
    assert kernels.wide_sum(data, 0, uint64.max) == uint64.max * 2**62 + 3 * 2**61
    assert kernels.sum_of_squares(data, 0, uint64.max) == uint64.max**2 * 2**62 + 5 * 2**61
    assert kernels.split_saturating_sum(Runs(int64, [(-1, 2**62), (1, 2**63)]), -1, 1) == int64.max - 2**62


@pytest.mark.parametrize("kind", sweep(INTEGERS, quick=[int8, uint64]), ids=str)
@given(st.data())
def test_a_sum_for_each_group(kind, data):
    column, (lower, upper) = data.draw(columns(kind)), data.draw(bounds(kind))
    groups, missing = data.draw(st.integers(1, 5)), data.draw(MISSING)
    codes = data.draw(st.lists(st.integers(0, groups - 1), min_size=column.size, max_size=column.size))
    codes = np.array(codes, dtype=data.draw(st.sampled_from([np.int32, np.int64])))
    expected = [0] * groups
    for code, x in zip(codes, column, strict=True):
        expected[code] += sum(cleaned([x], lower, upper, missing))
    threads = data.draw(THREADS)
    assert kernels.grouped_wide_sum(column, codes, groups, lower, upper, missing=missing, threads=threads) == expected
