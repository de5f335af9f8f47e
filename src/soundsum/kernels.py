"""The sums, fast: checked arguments in, exact values out; C++ where the type has a kernel, else the model.

Every sum clamps its records to [lower, upper] first. A missing record (NaN, or absent in a validity bitmap) counts as
the value in the bounds nearest zero, or not at all with missing="drop". Results are ints for integers and for grids,
and Fractions (or an infinity or NaN the additions really reached) for floats.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum import _kernels, models
from soundsum.grids import Grid, as_doubles
from soundsum.numbers import NAMED, FloatType, IntType, NumberType, double, from_double, number_type
from soundsum.rationals import Value, exact, is_special
from soundsum.records import Column, Records, records
from soundsum.runs import Runs

Missing: TypeAlias = Literal["zero", "drop"]
FloatSum: TypeAlias = Literal["iterated", "pairwise", "kahan", "toward_zero"]

Sums: TypeAlias = NDArray[np.uint64]
"""One sum of 128 bits for each group, as rows of two words."""

RECORDS_PER_THREAD = 1 << 18
"""Below this many records a thread costs more than it saves."""


def wide_sum(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero", threads: int | None = None) -> int:
    """The exact sum of integers.

    >>> wide_sum(np.array([2**62, 2**62, 2**62]), lower=0, upper=2**63 - 1) == 3 * 2**62
    True
    """
    column, low, high = _integers(data, lower, upper)
    fill = int(models.clean(0, low, high))
    drop, workers = _drops(missing), _threads(threads, column.size)
    if isinstance(column, Runs):
        return sum(int(models.clean(x, low, high)) * count for x, count in column.counts().items())
    raw = raw_records(column)
    total = _kernels.wide_sum(raw, low, high, workers)
    return total - fill * _kernels.missing_count(raw) if drop and fill else total


def modular_sum(data: Any, lower: Any, upper: Any, *, dtype: object = None, missing: Missing = "zero") -> int:
    """The sum modulo 2^w, as a value of the w-bit type given, or of the data's own."""
    column, low, high = _integers(data, lower, upper)
    kind = column.type if dtype is None else number_type(dtype)
    if not isinstance(kind, IntType):
        raise TypeError(f"dtype={kind}: a modulus belongs to an integer type; give IntType(bits, signed)")
    return kind.wrap(wide_sum(column, low, high, missing=missing))  # reducing once or at every step is the same


def saturating_sum(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero") -> int:
    """The sum in order, held at the limits of the data's own type after every addition."""
    column, low, high = _integers(data, lower, upper)
    drop = _drops(missing)
    if column.type.name not in NAMED:
        assert isinstance(column.type, IntType)
        return int(models.saturating(column.type).sum(_clean(column, low, high, drop)))
    return _kernels.saturating_sum(raw_records(column), low, high, drop)


def split_saturating_sum(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero") -> int:
    """Negatives and the rest summed apart, each held at the limits of the type, then added, held again.

    Sums of one sign move one way only, so holding them once at the end is holding them at every step.
    """
    column, low, high = _integers(data, lower, upper)
    assert isinstance(column.type, IntType)
    total = wide_sum(column, low, high, missing=missing)
    # The positive parts are the records clamped once more to at least 0; a dropped record stays dropped.
    positive = wide_sum(column, max(low, 0), max(high, 0), missing=missing)
    return column.type.saturating_add(column.type.saturate(total - positive), column.type.saturate(positive))


def sum_of_squares(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero") -> int:
    """The exact sum of the squares of integers."""
    column, low, high = _integers(data, lower, upper)
    fill = int(models.clean(0, low, high))
    drop = _drops(missing)
    if isinstance(column, Runs):
        return sum(int(models.clean(x, low, high)) ** 2 * count for x, count in column.counts().items())
    raw = raw_records(column)
    total = _kernels.square_sum(raw, low, high)
    return total - fill**2 * _kernels.missing_count(raw) if drop and fill else total


def float_sum(
    how: FloatSum,
    data: Any,
    lower: Any,
    upper: Any,
    *,
    dtype: object = None,
    accumulator: object = None,
    missing: Missing = "zero",
) -> Fraction | float:
    """The sum of floats as floats: every addition rounded to the data's own type, or to a wider `accumulator`.

    >>> float_sum("iterated", np.array([1e16, 1, 1]), -1e17, 1e17)
    Fraction(10000000000000000, 1)
    >>> float_sum("kahan", np.array([1e16, 1, 1]), -1e17, 1e17)
    Fraction(10000000000000002, 1)
    """
    if how not in models.FLOAT_SUMS:
        raise ValueError(f"how={how!r} is not one of {', '.join(models.FLOAT_SUMS)}")
    column = records(data, dtype)
    kind = column.type
    if not isinstance(kind, FloatType):
        raise TypeError(f"the records are {kind}; {how} adds floats, for integers use wide_sum")
    wider = kind if accumulator is None else number_type(accumulator)
    if not isinstance(wider, FloatType) or not wider.holds(kind):
        raise ValueError(f"accumulator={wider} does not hold every value of {kind}; use {kind} or a wider float type")
    low, high = (Fraction(b) for b in _bounds(lower, upper, kind))
    drop = _drops(missing)
    if kind.name in NAMED and wider.name in NAMED:
        return from_double(_kernels.float_sum(raw_records(column), how, wider.name, double(low), double(high), drop))
    result = models.FLOAT_SUMS[how](wider).sum(_clean(column, low, high, drop))
    return float(result) if is_special(result) else Fraction(result)


def grid_sum(
    data: Any, grid: Grid, *, dtype: object = None, missing: Missing = "zero", threads: int | None = None
) -> int:
    """The exact sum of the records' integers on a grid.

    >>> from soundsum.grids import power_of_two_grid
    >>> grid = power_of_two_grid(number_type("float64"), Fraction(0), Fraction(1), sized=False)
    >>> grid.value(grid_sum(np.full(10, 0.1), grid)), 10 * Fraction(0.1)
    (Fraction(281474976710655, 281474976710656), Fraction(18014398509481985, 18014398509481984))
    """
    column = _floats(data, dtype)
    drop, workers = _drops(missing), _threads(threads, column.size)
    if isinstance(column, Runs):
        return sum(grid.integer(x) * count for x, count in column.counts().items() if not (drop and x != x))
    doubles = as_doubles(grid)
    if doubles is None:
        return sum(grid.integer(x) for x in column if not (drop and x != x))
    raw = raw_records(column)
    total = _kernels.grid_sum(raw, *doubles[:-1], workers) + doubles.shift * column.size
    return total - grid.missing * _kernels.missing_count(raw) if drop and grid.missing else total


def add_integers_by_group(
    data: Any,
    codes: Any,
    into: Sums,
    lower: Any,
    upper: Any,
    *,
    missing: Missing = "zero",
    threads: int | None = None,
) -> None:
    """Adds every integer to the sum of its group: record i to row codes[i] of `into`, exactly.

    >>> sums = no_sums(3)
    >>> add_integers_by_group(np.array([5, 6, 7]), np.array([1, 0, 1]), sums, lower=0, upper=10)
    >>> as_integers(sums)
    [6, 12, 0]
    """
    column, low, high = _integers(_array_only(data), lower, upper)
    fill = 0 if _drops(missing) else int(models.clean(0, low, high))
    checked, workers = _codes(codes, column.size), _group_threads(threads, column.size, len(into))
    _kernels.grouped_wide_sum(raw_records(column), checked, into, low, high, fill, workers)


def add_floats_by_group(
    data: Any,
    codes: Any,
    into: Sums,
    grid: Grid,
    *,
    dtype: object = None,
    missing: Missing = "zero",
    threads: int | None = None,
) -> None:
    """Adds every record's integer on the grid to the sum of its group: record i to row codes[i] of `into`, exactly."""
    column = _floats(_array_only(data, dtype), None)
    fill = 0 if _drops(missing) else grid.missing
    checked, workers = _codes(codes, column.size), _group_threads(threads, column.size, len(into))
    doubles = as_doubles(grid)
    if doubles is None or doubles.shift:
        # Beyond what doubles compute exactly; a given step may be so fine that the integers need more than 64 bits.
        for code, x in zip(checked.tolist(), column, strict=True):
            if not 0 <= code < len(into):
                raise ValueError(f"{code} is not a group; codes are 0 to {len(into) - 1}")
            total = as_integers(into[code : code + 1])[0] + (fill if x != x else grid.integer(x))
            into[code] = total & (1 << 64) - 1, (total >> 64) & (1 << 64) - 1
    else:
        _kernels.grouped_grid_sum(raw_records(column), checked, into, *doubles[:-1], fill, workers)


def grouped_wide_sum(data: Any, codes: Any, groups: int, lower: Any, upper: Any, **options: Any) -> list[int]:
    """One exact sum of integers per group; codes[i] is the group of record i, from 0 to groups - 1.

    >>> grouped_wide_sum(np.array([5, 6, 7]), np.array([1, 0, 1]), 3, lower=0, upper=10)
    [6, 12, 0]
    """
    sums = no_sums(groups)
    add_integers_by_group(data, codes, sums, lower, upper, **options)
    return as_integers(sums)


def grouped_grid_sum(data: Any, codes: Any, groups: int, grid: Grid, **options: Any) -> list[int]:
    """One exact sum of grid integers per group; codes[i] is the group of record i, from 0 to groups - 1."""
    sums = no_sums(groups)
    add_floats_by_group(data, codes, sums, grid, **options)
    return as_integers(sums)


def missing_count(data: Any, *, dtype: object = None) -> int:
    """How many records are missing: NaN, or absent in the validity bitmap."""
    column = records(data, dtype)
    if isinstance(column, Runs):
        return sum(count for x, count in column.counts().items() if x != x)
    return _kernels.missing_count(raw_records(column))


def no_sums(groups: int) -> Sums:
    """Sums of zero for so many groups, to be added to."""
    if not isinstance(groups, int) or groups < 0:
        raise ValueError(f"groups={groups!r}: the number of groups is a whole number, 0 or more")
    return np.zeros((groups, 2), np.uint64)


def as_integers(words: NDArray[np.uint64]) -> list[int]:
    """Signed integers from their words, the low one first, one to a row.

    >>> as_integers(np.array([[5, 0], [2**64 - 1, 2**64 - 1], [0, 1]], np.uint64))
    [5, -1, 18446744073709551616]
    """
    last = words[:, 0].astype(np.int64)  # the whole number where the other words only repeat its sign
    integers: list[int] = last.tolist()
    data, size = words.tobytes(), 8 * words.shape[1]
    for i in np.flatnonzero((words[:, 1:].view(np.int64) != (last >> 63)[:, np.newaxis]).any(axis=1)).tolist():
        integers[i] = int.from_bytes(data[size * i : size * (i + 1)], "little", signed=True)
    return integers


# Checking arguments


def raw_records(column: Records) -> _kernels.Records:
    if isinstance(column, Runs):
        values, lengths, repeats = column.arrays()
        return _kernels.Records.of_runs(_as_bits(values), column.type.name, lengths, repeats)
    return _kernels.Records.of_array(_as_bits(column.values), column.type.name, column.validity, column.first_bit)


def _as_bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.view(f"u{values.itemsize}")


def _clean(column: Records, lower: Value, upper: Value, drop: bool) -> Iterator[Value]:
    return (models.clean(x, lower, upper) for x in column if not (drop and x != x))


def _integers(data: Any, lower: Any, upper: Any) -> tuple[Records, int, int]:
    column = records(data)
    if not isinstance(column.type, IntType):
        raise TypeError(f"the records are {column.type}; this sum adds integers, for floats use grid_sum or float_sum")
    low, high = _bounds(lower, upper, column.type)
    return column, int(low), int(high)


def _floats(data: Any, dtype: object) -> Records:
    column = records(data, dtype)
    if not isinstance(column.type, FloatType):
        raise TypeError(f"the records are {column.type}; a grid is for floats, for integers use wide_sum")
    return column


def _array_only(data: Any, dtype: object = None) -> Column:
    column = records(data, dtype)
    if isinstance(column, Runs):
        raise TypeError("data is Runs; sums by group need a code per record, so pass np.asarray(runs)")
    return column


def _bounds(lower: Any, upper: Any, kind: NumberType) -> tuple[Value, Value]:
    """Both bounds, exact and of the type, or an error that names the nearest that would do."""
    low, high = exact(lower, "lower"), exact(upper, "upper")
    for name, bound in (("lower", low), ("upper", high)):
        if is_special(bound):
            raise ValueError(f"{name}={bound}: bounds are finite numbers; give the range the records may lie in")
        if bound not in kind:
            raise ValueError(f"{name}={bound} is not a value of {kind}; the nearest is {kind.round(Fraction(bound))}")
    if low > high:
        raise ValueError(f"lower={low} is above upper={high}; swap them")
    return low, high


def _drops(missing: Missing) -> bool:
    if missing not in ("zero", "drop"):
        raise ValueError(f'missing={missing!r} is neither "zero" nor "drop"')
    return missing == "drop"


def _threads(threads: int | None, size: int) -> int:
    if threads is None:
        return max(1, min(len(os.sched_getaffinity(0)), size // RECORDS_PER_THREAD))
    if not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads={threads!r}: at least 1 thread is needed, or None to choose")
    return min(threads, max(1, size))


def _group_threads(threads: int | None, size: int, groups: int) -> int:
    """Each thread keeps a sum per group, so they pay only with more records than groups."""
    return _threads(threads, size) if threads is not None or size > 4 * groups else 1


def _codes(codes: Any, size: int) -> np.ndarray[Any, Any]:
    checked = np.asarray(codes)
    if checked.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise TypeError(f"codes are {checked.dtype}; group codes are int32 or int64")
    if checked.shape != (size,):
        raise ValueError(f"codes have shape {checked.shape}; one code for each of the {size} records is needed")
    return np.require(checked, requirements=["C", "A"])
