"""The rows on arrays. All values lie within the bounds, so that peers that do not clamp get the same sum."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import polars as pl
from numpy.typing import NDArray

import soundsum as ss
from benchmarks.measure import Group, Row
from benchmarks.plain import bare_read, plain_loop
from soundsum import kernels
from soundsum.numbers.grids import RecordGrid, power_of_two_grid
from soundsum.numbers.types import FloatType, number_type

Array = NDArray[Any]
LOWER, UPPER = 100, 1000
SEED = 20


def _between(lower: float, upper: float, dtype: str) -> Callable[[int], Array]:
    def make(n: int) -> Array:
        array: Array = np.random.default_rng(SEED).random(n, dtype=np.dtype(dtype))  # scaled in place: no copies
        array *= upper - lower
        array += lower
        np.clip(array, lower, upper, out=array)  # where rounding went past a bound
        return array

    return make


def _grid(dtype: str, lower: int, upper: int, sized: bool = False) -> RecordGrid:
    kind = number_type(dtype)
    assert isinstance(kind, FloatType)
    return power_of_two_grid(kind, Fraction(lower), Fraction(upper), sized)


def _grid_sum(dtype: str, lower: int, upper: int, sized: bool = False, threads: int = 1) -> Callable[[Array], Fraction]:
    grid = _grid(dtype, lower, upper, sized)
    return lambda array: grid.value(kernels.grid_sum(array, grid, threads=threads), array.size)


def _released(array: Array) -> float:
    """Release the array's sum with so little noise that it can be compared."""
    return ss.sum(array, 0, UPPER, epsilon=10**6).value


def _on_one_cpu(work: Callable[[Array], float]) -> Callable[[Array], float]:
    def run(array: Array) -> float:
        every = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(every)})
        try:
            return work(array)
        finally:
            os.sched_setaffinity(0, every)

    return run


def _itself(array: Array) -> Array:
    return array


FLOAT64 = Group(
    "grid sum, float64",
    _between(LOWER, UPPER, "float64"),
    _itself,
    (
        Row("bare read, one thread", bare_read),
        Row("bare read, two threads", lambda a: bare_read(a, 2), "one thread", bare_read, threads=2),
        Row("one thread", _grid_sum("float64", 0, UPPER), "np.sum", np.sum, 1.0, tolerance=1e-9),
        Row(
            "two threads",
            _grid_sum("float64", 0, UPPER, threads=2),
            "np.sum",
            np.sum,
            1.3,
            threads=2,
            tolerance=1e-9,
        ),
        Row(
            "one thread",
            _grid_sum("float64", 0, UPPER),
            "np.clip + np.sum",
            lambda a: np.clip(a, 0, UPPER).sum(),
            3.5,
            tolerance=1e-9,
        ),
        Row("ss.sum, one CPU", _on_one_cpu(_released), "np.sum", np.sum, 1.0, tolerance=1e-9),
        Row("ss.sum, all CPUs", _released, "np.sum", np.sum, 1.3, threads=len(os.sched_getaffinity(0)), tolerance=1e-9),
        Row("bounds of both signs", _grid_sum("float64", -UPPER, UPPER), "np.sum", np.sum, tolerance=1e-9),
        Row("offset (change_one)", _grid_sum("float64", LOWER, UPPER, True), "np.sum", np.sum, tolerance=1e-9),
    ),
)

FLOAT32 = Group(
    "grid sum, float32",
    _between(LOWER, UPPER, "float32"),
    _itself,
    (Row("one thread", _grid_sum("float32", 0, UPPER), "np.sum", np.sum, 1.0, tolerance=1e-3),),
)

# np.sum of bfloat16 is slow, hence fewer records, and stops growing once a record is below half an ulp of the sum.
BFLOAT16 = Group(
    "grid sum, bfloat16",
    lambda n: _between(LOWER, UPPER, "float32")(n).astype(ml_dtypes.bfloat16),
    _itself,
    (Row("one thread", _grid_sum("bfloat16", 0, UPPER), "np.sum (ml_dtypes)", np.sum, 1.0),),
    share=10,
)


def _wide_sum(lower: int, upper: int) -> Callable[[Array], int]:
    return lambda array: kernels.wide_sum(array, lower, upper, threads=1)


INT64 = Group(
    "wide sum, int64",
    lambda n: np.random.default_rng(SEED).integers(-1000, 1000, n),
    _itself,
    (
        Row("narrow bounds", _wide_sum(-1000, 1000), "np.sum", np.sum, 1.0, tolerance=0),
        Row("full bounds", _wide_sum(-(2**63), 2**63 - 1), "np.sum", np.sum, 1.0, tolerance=0),
    ),
)


def _ordered(how: kernels.FloatSum) -> Row:
    return Row(
        how.replace("_", "-"),
        lambda array: kernels.float_sum(how, array, -UPPER, UPPER),
        "plain C loop",
        lambda array: plain_loop(how, array),
        0.95,
        tolerance=0,
    )


ORDERED = Group(
    "sums in order, float64",
    _between(-UPPER, UPPER, "float64"),
    _itself,
    (_ordered("iterated"), _ordered("toward_zero"), _ordered("kahan")),
)


def _grouped_data(n: int) -> tuple[Array, Array, int]:
    groups = max(1, n // 50)
    return _between(LOWER, UPPER, "float64")(n), np.random.default_rng(SEED).integers(0, groups, n), groups


def _grouped_sum() -> Callable[[tuple[Array, Array, int]], Fraction]:
    grid = _grid("float64", 0, UPPER)
    return lambda data: grid.value(kernels.grouped_grid_sum(*data, grid, threads=1)[0])


GROUPED = Group(
    "grid sum by group, float64",
    _grouped_data,
    None,
    (
        Row(
            "one thread",
            _grouped_sum(),
            "np.bincount",
            lambda data: np.bincount(data[1], weights=data[0], minlength=data[2])[0],
            tolerance=1e-9,
        ),
    ),
    share=2,
)


def _keyed_frame(n: int) -> tuple[pl.DataFrame, Array]:
    array, keys, groups = _grouped_data(n)
    names = np.random.default_rng(SEED).permutation(10 * groups)[:groups]  # keys have gaps, in no order
    return pl.DataFrame({"key": names[keys], "x": array}), names


def _released_by_group(data: tuple[pl.DataFrame, Array]) -> float:
    frame, names = data
    releases = ss.sum(frame, 0, UPPER, epsilon=10**6, column="x", by="key", groups=names)
    return releases[int(names[0])].value


def _polars(data: tuple[pl.DataFrame, Array]) -> float:
    frame, names = data
    sums = frame.group_by("key").agg(pl.col("x").sum())
    return float(sums.filter(pl.col("key") == names[0])["x"][0])


KEYED = Group(
    "ss.sum by group, keys encoded",
    _keyed_frame,
    None,
    (Row("int64 keys, noise included", _released_by_group, "Polars group_by", _polars, 1.0, 2, 1e-5),),
    share=2,
)


@cache
def _make_opendp_median() -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    return dp.m.make_private_quantile(*space, dp.max_divergence(), list(np.linspace(LOWER, UPPER, 4096)), 0.5, 1e-6)


def _opendp_median(array: Array) -> float:
    return float(_make_opendp_median()(array))


QUANTILES = Group(
    "median, float64",
    _between(LOWER, UPPER, "float64"),
    _itself,
    (
        Row(
            "whole release, one CPU",
            _on_one_cpu(lambda a: ss.median(a, LOWER, UPPER, epsilon=10**6).value),
            "np.quantile",
            lambda a: float(np.quantile(a, 0.5)),
            1.0,
            tolerance=1e-3,
        ),
        Row(
            "whole release, 4,096 candidates",
            lambda a: ss.median(a, LOWER, UPPER, epsilon=10**6).value,
            "OpenDP, the same",
            _opendp_median,
            3.0,
            threads=len(os.sched_getaffinity(0)),
            tolerance=1e-3,
            fewest=5,
        ),
    ),
    share=10,
)

GROUPS = (FLOAT64, FLOAT32, BFLOAT16, INT64, ORDERED, GROUPED, KEYED, QUANTILES)
