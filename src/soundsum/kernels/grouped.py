"""Sums and counts by group: integers added exactly to 128-bit sums, rows counted by cell, a few rows of each person."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.kernels.arguments import (
    array_only,
    drops_missing,
    float_arguments,
    group_codes,
    group_threads_for,
    integer_arguments,
    raw_records,
    refuse_codes,
    threads_for,
)
from soundsum.numbers import models
from soundsum.numbers.grids import RecordGrid, as_doubles
from soundsum.numbers.rationals import require_whole
from soundsum.tables.records import Missing

Sums: TypeAlias = NDArray[np.uint64]
"""One sum of 128 bits for each group, as rows of two words."""


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
    column = array_only(data)
    _, low, high = integer_arguments(column, lower, upper)
    fill = 0 if drops_missing(missing) else int(models.clean(0, low, high))
    checked, workers = group_codes(codes, len(column.values)), group_threads_for(threads, len(column.values), len(into))
    raw = raw_records(column)
    _add_or_refuse(lambda: native.grouped_wide_sum(raw, checked, into, low, high, fill, workers), checked, len(into))


def add_floats_by_group(
    data: Any,
    codes: Any,
    into: Sums,
    grid: RecordGrid,
    *,
    dtype: object = None,
    missing: Missing = "zero",
    threads: int | None = None,
) -> None:
    """Adds every record's integer on the grid to the sum of its group: record i to row codes[i] of `into`, exactly."""
    column = array_only(data, dtype)
    float_arguments(column, None)
    fill = 0 if drops_missing(missing) else grid.missing
    checked, workers = group_codes(codes, len(column.values)), group_threads_for(threads, len(column.values), len(into))
    doubles = as_doubles(grid)
    if doubles is None or doubles.shift:
        # Beyond what doubles compute exactly; a given step may be so fine that the integers need more than 64 bits.
        refuse_codes(checked, len(into))
        for code, x in zip(checked.tolist(), column, strict=True):
            total = as_integers(into[code : code + 1])[0] + (fill if x != x else grid.integer(x))
            into[code] = total & (1 << 64) - 1, (total >> 64) & (1 << 64) - 1
    else:
        raw, constants = raw_records(column), doubles[:-1]
        _add_or_refuse(
            lambda: native.grouped_grid_sum(raw, checked, into, *constants, fill, workers), checked, len(into)
        )


def grouped_wide_sum(data: Any, codes: Any, groups: int, lower: Any, upper: Any, **options: Any) -> list[int]:
    """One exact sum of integers per group; codes[i] is the group of record i, from 0 to groups - 1.

    >>> grouped_wide_sum(np.array([5, 6, 7]), np.array([1, 0, 1]), 3, lower=0, upper=10)
    [6, 12, 0]
    """
    sums = no_sums(groups)
    add_integers_by_group(data, codes, sums, lower, upper, **options)
    return as_integers(sums)


def grouped_grid_sum(data: Any, codes: Any, groups: int, grid: RecordGrid, **options: Any) -> list[int]:
    """One exact sum of grid integers per group; codes[i] is the group of record i, from 0 to groups - 1."""
    sums = no_sums(groups)
    add_floats_by_group(data, codes, sums, grid, **options)
    return as_integers(sums)


def no_sums(groups: int) -> Sums:
    """Sums of zero for this many groups, to be added to."""
    return np.zeros((require_whole("groups", groups, 0), 2), np.uint64)


def _add_or_refuse(add: Callable[[], None], codes: NDArray[Any], groups: int) -> None:
    """Refuse codes that are not groups, which kernels find as they add; naming the code could reveal a record."""
    try:
        add()
        return
    except ValueError:
        if ((codes >= 0) & (codes < groups)).all():
            raise
    refuse_codes(codes, groups)


FEW = 8
"""Up to this many integers are made one at a time, since arrays take longer to set up."""


def as_integers(words: NDArray[np.uint64]) -> list[int]:
    """Signed integers from their words, the low one first, one to a row.

    >>> as_integers(np.array([[5, 0], [2**64 - 1, 2**64 - 1], [0, 1]], np.uint64))
    [5, -1, 18446744073709551616]
    """
    if len(words) <= FEW:
        return [int.from_bytes(row.tobytes(), "little", signed=True) for row in words]
    last = words[:, 0].astype(np.int64)  # the whole number where the other words only repeat its sign
    integers: list[int] = last.tolist()
    data, size = words.tobytes(), 8 * words.shape[1]
    for i in np.flatnonzero((words[:, 1:].view(np.int64) != (last >> 63)[:, np.newaxis]).any(axis=1)).tolist():
        integers[i] = int.from_bytes(data[size * i : size * (i + 1)], "little", signed=True)
    return integers


MOST_RANKED = (1 << 31) - 1
"""Rows of a person in a group that may count; more are never there."""


def find_cells(numbers: NDArray[Any], edges: Sequence[Any], *, threads: int | None = None) -> NDArray[np.int32]:
    """The number of edges at or below each number: of 64-bit integers where both are, otherwise of doubles.

    NaN is in the cell after the last.

    >>> find_cells(np.array([-5.0, 1.0, 1.5, np.nan]), [1.0, 2.0])
    array([0, 1, 1, 3], dtype=int32)
    """
    is_whole = numbers.dtype.kind in "iu" and all(isinstance(edge, int) for edge in edges)
    if is_whole and numbers.dtype == np.uint64:
        # In the order of 64-bit integers, with 2^63 taken away from both.
        numbers, edges = (numbers ^ np.uint64(1 << 63)).view(np.int64), [edge - (1 << 63) for edge in edges]
    kind: Any = np.int64 if is_whole else np.float64
    found = np.empty(len(numbers), np.int32)
    native.find_cells(
        np.ascontiguousarray(numbers, kind), np.array(edges, kind), found, threads_for(threads, len(numbers))
    )
    return found


def count_rows(codes: NDArray[np.int32], into: NDArray[np.int64]) -> None:
    """Add 1 for every row in the place of its code."""
    native.count_rows(np.ascontiguousarray(codes, np.int32), into)


def count_ranks(
    persons: NDArray[np.uint64],
    codes: NDArray[np.int32],
    cells: int,
    groups: int,
    max_rows: int,
    max_groups: int,
    ids: native.PersonIds,
) -> NDArray[np.int64]:
    """Count rows by group and cell (`codes` is group * cells + cell), of each person a few, by order (ranks.hpp).

    Takes 16 bytes for each row beside its arguments.
    """
    counts = np.zeros(cells * groups, np.int64)
    native.count_ranks(
        np.ascontiguousarray(persons),
        np.ascontiguousarray(codes, np.int32),
        cells,
        groups,
        min(max_rows, MOST_RANKED),
        max_groups,
        ids,
        counts,
    )
    return counts
