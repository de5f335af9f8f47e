"""Cells of numbers between ascending edges, and which rows of a person count where their order decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.kernels.arguments import threads_for

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
