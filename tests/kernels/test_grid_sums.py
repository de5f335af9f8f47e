"""Floats added as integers on a grid: every record's own integer, and the sums."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soundsum import kernels
from soundsum.numbers.grids import as_doubles
from soundsum.numbers.types import float64
from soundsum.tables.records import Column

from .data import (
    FLOATS,
    LENGTHS,
    MISSING,
    NOTABLE_GRIDS,
    THREADS,
    any_pattern,
    around,
    columns,
    datasets,
    gapped,
    grids,
    integers,
    with_bitmap,
)

IN_DOUBLES = {name: grid for name, grid in NOTABLE_GRIDS.items() if as_doubles(grid)}
notable = pytest.mark.parametrize("grid", NOTABLE_GRIDS.values(), ids=NOTABLE_GRIDS)
in_doubles = pytest.mark.parametrize("grid", IN_DOUBLES.values(), ids=IN_DOUBLES)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@given(st.data())
def test_the_sum_on_any_grid_is_the_sum_of_its_integers(kind, data):
    grid = data.draw(grids(kind) | grids(float64) | st.sampled_from(list(NOTABLE_GRIDS.values())))
    column = data.draw(datasets(kind, 20, around(grid, kind) | any_pattern(kind)))
    missing, threads = data.draw(MISSING), data.draw(THREADS)
    assert kernels.grid_sum(column, grid, missing=missing, threads=threads) == sum(integers(column, grid, missing))


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@given(st.data())
def test_a_sum_for_each_group(kind, data):
    grid = data.draw(grids(kind) | st.sampled_from(list(NOTABLE_GRIDS.values())))
    column = data.draw(columns(kind, 20, around(grid, kind) | any_pattern(kind)))
    groups, missing, threads = data.draw(st.integers(1, 5)), data.draw(MISSING), data.draw(THREADS)
    codes = data.draw(st.lists(st.integers(0, groups - 1), min_size=column.size, max_size=column.size))
    codes = np.array(codes, dtype=data.draw(st.sampled_from([np.int32, np.int64])))
    expected = [0] * groups
    for code, x in zip(codes, column, strict=True):
        expected[code] += sum(integers([x], grid, missing))
    assert kernels.grouped_grid_sum(column, codes, groups, grid, missing=missing, threads=threads) == expected


@notable
@settings(max_examples=30)
@given(st.data())
def test_each_record_becomes_its_own_integer(grid, data):
    values = data.draw(columns(float64, 40, around(grid, float64) | any_pattern(float64)))
    groups = np.arange(values.size)
    assert kernels.grouped_grid_sum(values, groups, values.size, grid) == integers(values, grid)
    for x, q in zip(values.values, integers(Column(values.values, float64), grid), strict=True):
        assert kernels.grid_sum(np.array([x]), grid) == q


def test_the_notable_grids_take_every_way_through_the_kernels():
    assert set(NOTABLE_GRIDS) - set(IN_DOUBLES) == {
        "no doubles for it",
        "step of a third",
        "offset between steps",
        "offset a double between steps",
    }
    known = [as_doubles(grid) for grid in IN_DOUBLES.values()]
    assert any(d.shift for d in known)
    assert any(d.more_scale != 1 for d in known)
    plain = [d for d in known if d.base == 0 and d.more_scale == 1]
    assert any(d.low >= 0 for d in plain)
    assert any(d.low < 0 and d.high <= 0 for d in plain)
    assert any(d.low < 0 < d.high for d in plain)


@in_doubles
@pytest.mark.parametrize("length", LENGTHS)
def test_sums_of_any_length(grid, length):
    """In place, copied for a stride, copied for a bitmap; 200 values over and over, some missing, all within reach."""
    rng = np.random.default_rng(length)
    few = rng.integers(0, 2**64, 100, dtype=np.uint64).view(np.float64)
    inside = [float(grid.lower + (grid.upper - grid.lower) * Fraction(i, 97)) for i in range(98)]
    values = rng.choice(np.concatenate([few, inside]), length)
    present = rng.random(length) < 0.9
    for column in [
        Column(values, float64),
        Column(gapped(values), float64),
        with_bitmap(values, float64, present, 5),
    ]:
        bits = np.ones(length, bool) if column.validity is None else present
        q = {x: grid.integer(x) for x in np.unique(values).tolist()}
        counts = Counter(values[bits & ~np.isnan(values)].tolist())
        dropped = sum(q[x] * count for x, count in counts.items())
        total = dropped + grid.missing * (length - counts.total())
        assert [kernels.grid_sum(column, grid, threads=t) for t in (1, 2, 3, 7)] == [total] * 4
        assert kernels.grid_sum(column, grid, missing="drop") == dropped


@in_doubles
@pytest.mark.parametrize("end", ["lower", "upper"])
def test_nothing_overflows_at_the_bounds(grid, end):
    n, x = 70_001, float(getattr(grid, end))
    assert kernels.grid_sum(np.full(n, x), grid) == n * grid.integer(x)


def test_groups_of_many_records():
    rng, grid = np.random.default_rng(1), NOTABLE_GRIDS["mixed signs"]
    values, codes = rng.uniform(-5, 1005, 70_001), rng.integers(0, 1000, 70_001, dtype=np.int32)
    sums = [kernels.grouped_grid_sum(values, codes, 1000, grid, threads=t) for t in (1, 2, 3, 7)]
    assert sums == [sums[0]] * 4
    assert sum(sums[0]) == kernels.grid_sum(values, grid)
    assert sums[0][7] == sum(integers(values[codes == 7].tolist(), grid))
    wide = kernels.grouped_wide_sum(codes.astype(np.int64), codes, 1000, 0, 999, threads=3)
    assert wide == (np.bincount(codes) * np.arange(1000)).tolist()
