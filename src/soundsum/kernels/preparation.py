"""Records made ready for another summation: cleaned, shifted, or turned into integers on a grid.

Each runs in the environment its theorem assumes (rounding to nearest, subnormals kept), not the caller's.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.kernels.arguments import raw_records, threads_for
from soundsum.numbers import models
from soundsum.numbers.grids import Doubles, RecordGrid, as_doubles
from soundsum.numbers.rationals import Value
from soundsum.numbers.types import FloatType, IntType, double, from_double
from soundsum.randomness import bernoulli, random_words
from soundsum.tables.records import Column, Missing, Records, present
from soundsum.tables.runs import Runs


def clean_array(data: Records, lower: Fraction, upper: Fraction, *, missing: Missing = "zero") -> NDArray[Any]:
    """An array of the clamped records, missing ones decided."""
    data = present(data) if missing == "drop" else data
    if isinstance(data, Runs):
        return np.asarray(data.clamp(lower, upper))
    return native.clean(raw_records(data), double(lower), double(upper), 0.0).view(data.values.dtype)


def shift_records(data: Records, lower: Fraction, upper: Fraction) -> Records:
    """The clamped records less `lower`, each rounded to the type."""
    kind = cast(FloatType, data.type)
    if isinstance(data, Runs):
        return _map_runs(data, lambda x: kind.add(models.clean(x, lower, upper), -lower))
    moved = native.clean(raw_records(data), double(lower), double(upper), double(lower))
    return Column(moved.view(data.values.dtype), kind)


def numpy_sum(values: NDArray[Any]) -> Fraction:
    """np.sum of an aligned one-dimensional array, in the environment NumPy means to run in."""
    with native.Environment():
        total = np.sum(values)
    return cast(Fraction, from_double(total.item()))


def grid_integers(
    data: Records, grid: RecordGrid, kind: IntType, *, randomised: bool = False, missing: Missing = "zero"
) -> Records:
    """Every record's integer on the grid, as records of an integer type that holds them.

    Randomised, y = (x - offset) / D becomes floor(y) + 1 with probability y - floor(y), else floor(y).
    """
    data = present(data) if missing == "drop" else data
    doubles = as_doubles(grid)
    if isinstance(data, Runs):
        if not randomised:
            return Runs(kind, ((tuple(map(grid.integer, pattern)), count) for pattern, count in data.parts))
        return Runs(kind, ((_round_randomly(grid, x), 1) for x in data))
    if doubles is None:
        integers: Any = [_round_randomly(grid, x) if randomised else grid.integer(x) for x in data]
    elif randomised:
        integers = _round_doubles_randomly(as_doubles_array(data), grid, doubles)
    else:
        integers = grid_array(data, grid, doubles)
    return (
        Column(np.asarray(integers, dtype=kind.dtype), kind)
        if kind.dtype
        else Runs(kind, ((int(q), 1) for q in integers))
    )


def grid_array(data: Column, grid: RecordGrid, doubles: Doubles) -> NDArray[np.int64]:
    """Every record's integer on a grid that doubles compute exactly."""
    missing_one, workers = grid.missing - doubles.shift, threads_for(None, len(data.values))
    integers: NDArray[np.int64] = native.grid_integers(raw_records(data), *doubles[:-1], missing_one, workers)
    return integers + doubles.shift if doubles.shift else integers


def clamped_integers(data: Column, lower: int, upper: int) -> NDArray[Any]:
    """Every integer record within the bounds, as 64 bits, of its own sign; a missing one as the nearest to 0."""
    integers = native.wide_integers(raw_records(data), lower, upper, threads_for(None, data.size))
    return integers.view(np.uint64) if data.type.name == "uint64" else integers


def find_present(data: Column) -> NDArray[np.bool_]:
    """Marks the records that are there: neither NaN nor absent in the bitmap."""
    return native.find_present(raw_records(data)).view(bool)


def _round_randomly(grid: RecordGrid, x: Value) -> int:
    y = (Fraction(models.clean(x, grid.lower, grid.upper)) - grid.offset) / grid.step
    below = math.floor(y)
    return max(grid.low, min(grid.high, below + bernoulli(y - below)))


def _round_doubles_randomly(values: NDArray[np.float64], grid: RecordGrid, doubles: Doubles) -> NDArray[np.int64]:
    """Round many records at once: 64 random bits decide, and exact arithmetic where they tie.

    |y| becomes floor(|y|) + 1 with probability |y| - floor(|y|), which is the same. That difference is exact for every
    double, as y - floor(y) is not just below 0; so `digits` are the first 64 bits of the probability. Beyond the bounds
    y stops one step outside the grid, so that nothing overflows; the last clamp decides there.
    """
    with native.Environment(), np.errstate(all="ignore"):  # what overflows is held
        y = np.where(np.isnan(values), 0.0, values)
        y = np.clip((y - doubles.base) * doubles.scale * doubles.more_scale, doubles.low - 1, doubles.high + 1)
        whole = np.floor(np.abs(y))
        digits = ((np.abs(y) - whole) * 2.0**64).astype(np.uint64)
    words = random_words(len(values))
    away = words < digits
    for i in np.flatnonzero(words == digits).tolist():
        x = Fraction(models.clean(values[i].item(), grid.lower, grid.upper))
        away[i] = bernoulli(abs(x - Fraction(doubles.base)) / grid.step % 1 * 2**64 - int(digits[i]))
    integers: NDArray[np.int64] = np.copysign(whole + away, y).astype(np.int64)
    return integers.clip(doubles.low, doubles.high) + doubles.shift


def as_doubles_array(data: Column) -> NDArray[np.float64]:
    """The column's values as doubles, NaN for missing ones."""
    if data.type.name == "bfloat16":
        values = (data.values.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    else:
        with np.errstate(invalid="ignore"):  # a signalling NaN
            values = data.values.astype(np.float64)
    return np.where(data.missing(), np.nan, values)


def _map_runs(data: Runs, f: Any) -> Runs:
    return Runs(data.type, ((tuple(map(f, pattern)), count) for pattern, count in data.parts))
