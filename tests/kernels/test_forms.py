"""The same records in another form have the same sums, of every kind."""

import math

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest

from soundsum import kernels
from soundsum.numbers import models
from soundsum.numbers.types import FloatType, IntType, bfloat16, float16, float64, int8, int64
from soundsum.tables.records import Column
from soundsum.tables.runs import Runs
from tests.sweeps import sweep

from .data import FLOATS, INTEGERS, NOTABLE_GRIDS, cleaned, gapped

GRID = NOTABLE_GRIDS["mixed signs"]


INTEGER_SUMS = ["wide_sum", "modular_sum", "saturating_sum", "split_saturating_sum", "sum_of_squares"]


def every_sum(data, kind, missing="zero", **options):
    """Every sum of such records, by name; NaN as text, because it does not equal itself."""
    low, high = (kind.round(-100), kind.round(100)) if kind.min else (3, 100)
    chosen = {"missing": missing, **options}
    if kind.is_integer:
        found = {name: getattr(kernels, name)(data, low, high, **chosen) for name in INTEGER_SUMS}
    else:
        found = {how: kernels.float_sum(how, data, low, high, **chosen) for how in models.FLOAT_SUMS}
        found["grid"] = kernels.grid_sum(data, GRID, **chosen)
    return {name: str(total) if total != total else total for name, total in found.items()}


def both_ways(data, kind, **options):
    """Every sum with missing records kept and dropped, and how many are missing."""
    sums = [every_sum(data, kind, missing, **options) for missing in ("zero", "drop")]
    return *sums, kernels.missing_count(data, **options)


def random_values(kind, size, seed=0):
    patterns = np.random.default_rng(seed).integers(0, 1 << kind.bits, size, dtype=f"u{kind.bits // 8}")
    return [kind.from_bits(p) for p in patterns.tolist()]


@pytest.mark.parametrize("kind", sweep(INTEGERS + FLOATS, quick=[int8, int64, float16, float64]), ids=str)
@pytest.mark.parametrize("lengths", [[], [(1, 1)], [(1, 5000)], [(3, 1500), (1, 2), (2, 1)], [(2047, 2), (2048, 2)],
                                     [(2049, 2)], [(5000, 3), (7, 900)]], ids=str)  # fmt: skip
def test_runs_sum_as_the_array_they_stand_for(kind, lengths):
    runs = Runs(kind, [(tuple(random_values(kind, length, i)), count) for i, (length, count) in enumerate(lengths)])
    assert both_ways(runs, kind) == both_ways(np.asarray(runs), kind)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_runs_of_missing_records_only(kind):
    runs = Runs(kind, [(math.nan, 5000), ((math.nan, math.nan, 1), 1)])
    assert both_ways(runs, kind) == both_ways(np.asarray(runs), kind)
    assert kernels.missing_count(runs) == 5002
    assert kernels.float_sum("pairwise", runs, 0, 1, missing="drop") == 1
    assert kernels.float_sum("iterated", Runs(kind, [(math.nan, 2**40)]), 0, 1, missing="drop") == 0


@pytest.mark.parametrize("kind", INTEGERS + FLOATS, ids=str)
def test_the_layout_in_memory_makes_no_difference(kind):
    values = np.asarray(Runs.of(random_values(kind, 3001), kind))
    expected = both_ways(values, kind)
    unaligned = np.frombuffer(b"x" + values.tobytes(), np.uint8)[1:].view(values.dtype)
    forms = {
        "gapped": gapped(values.view(kind.dtype)).view(values.dtype),
        "backwards twice": values[::-1].copy()[::-1],
        "read-only": np.frombuffer(values.tobytes(), values.dtype),
        "unaligned": unaligned,
        "a column": Column(values.view(kind.dtype), kind),
        "an unaligned column": Column(unaligned.view(kind.dtype), kind),
    }
    if kind is not bfloat16:
        forms["byte-swapped"] = values.astype(values.dtype.newbyteorder())
    assert {name: both_ways(data, kind) == expected for name, data in forms.items()} == dict.fromkeys(forms, True)


@pytest.mark.parametrize("kind", [kind for kind in INTEGERS + FLOATS if kind is not bfloat16], ids=str)
@pytest.mark.parametrize("offset", [0, 1, 3, 8, 13])
def test_an_arrow_slice_is_its_records(kind, offset):
    known = np.asarray(Runs.of(random_values(kind, 3000), kind))
    masked = np.ma.MaskedArray(known, np.random.default_rng(1).random(3000) < 0.2)
    piece, same = pa.array(known, mask=masked.mask)[offset:2900], masked[offset:2900]
    assert both_ways(piece, kind) == both_ways(same, kind)
    assert every_sum(piece, kind, "drop") == every_sum(same.compressed(), kind, "drop")
    filled = same.filled(0)  # a missing record counts as zero does
    assert every_sum(piece, kind) == every_sum(filled, kind)


def test_bfloat16_comes_as_ml_dtypes_and_as_bits():
    bits = np.random.default_rng(2).integers(0, 1 << 16, 3000, dtype=np.uint16)
    floats = bits.view(ml_dtypes.bfloat16)
    assert both_ways(bits, bfloat16, dtype="bfloat16") == both_ways(floats, bfloat16)
    codes = np.arange(3000) % 3
    grouped = kernels.grouped_grid_sum(floats, codes, 3, GRID)
    assert kernels.grouped_grid_sum(bits, codes, 3, GRID, dtype="bfloat16") == grouped
    assert sum(grouped) == kernels.grid_sum(floats, GRID)


def test_a_list_is_float64():
    assert both_ways([1, 2.5, math.nan], float64) == both_ways(np.array([1, 2.5, math.nan]), float64)
    assert kernels.float_sum("iterated", (x / 2 for x in range(4)), 0, 9) == 3


def test_types_without_a_kernel_use_the_model():
    tiny = IntType(3)
    runs = Runs(tiny, [((3, 3, -4, 1), 5), (-4, 2)])
    low, high = -4, 2
    kept = cleaned(runs, low, high)
    assert kernels.wide_sum(runs, low, high) == sum(kept)
    assert kernels.modular_sum(runs, low, high) == models.modular(tiny).sum(kept)
    assert kernels.saturating_sum(runs, low, high) == models.saturating(tiny).sum(kept)
    assert kernels.split_saturating_sum(runs, low, high) == models.split_saturating(tiny).sum(kept)
    assert kernels.sum_of_squares(runs, low, high) == sum(x * x for x in kept)
    floats = Runs(FloatType(2, 3), [((1, math.inf, math.nan), 4)])
    assert kernels.grid_sum(floats, GRID) == 4 * (GRID.integer(1) + GRID.high)
