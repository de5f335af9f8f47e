"""Exact power sums of a column: how many records, the sum of their integers, and of their squares, for every group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from soundsum.kernels import (
    add_floats_by_group,
    add_integers_by_group,
    as_integers,
    grid_sum,
    missing_count,
    no_sums,
    sum_of_squares,
    wide_sum,
)
from soundsum.kernels.grouped import count_rows
from soundsum.kernels.preparation import find_present, grid_integers
from soundsum.methods import Method
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.types import int64
from soundsum.statistics.statistic import Part
from soundsum.tables.keys import Codes
from soundsum.tables.records import Column, Missing, Records, join, stretch
from soundsum.tables.runs import Runs

STRETCH = 1 << 26
"""Rows that are added without a pause, in a few tenths of a second: Ctrl-C is heard between."""


class Accumulator(Protocol):
    """Sums that grow batch by batch."""

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        """Adds rows, with a code of each row's group and the id of its person where those are needed."""

    def totals(self) -> list[list[int]]:
        """Every part's sums, one for each group."""


class WholeSum:
    """A method's own sum over every row; one that cannot add up the sums of batches gets them in one piece."""

    def __init__(self, problem: Problem, adder: Method, missing: Missing) -> None:
        self._problem, self._adder, self._missing = problem, adder, missing
        self._pieces: list[Records] = []
        self._total = 0

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        assert batch is not None
        if self._adder.adds_up:
            self._total += self._steps(batch)
        else:
            self._pieces.append(batch)

    def totals(self) -> list[list[int]]:
        return [[self._total if self._adder.adds_up else self._steps(join(self._pieces, self._problem.dtype))]]

    def _steps(self, data: Records) -> int:
        return self._adder.sum_in_steps(self._problem, data, self._missing)


class PlainSums:
    """The power sums over every row."""

    def __init__(self, steps: RecordSteps, parts: Sequence[Part], missing: Missing) -> None:
        self._record_steps, self._parts, self._missing = steps, parts, missing
        self._sums = [0, 0, 0]

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        if isinstance(batch, Column) and rows > STRETCH:
            for begin in range(0, rows, STRETCH):
                some = slice(begin, min(begin + STRETCH, rows))
                self.add(stretch(batch, some), some.stop - begin, None, None)
            return
        self._sums[0] += rows
        if batch is None:
            return
        missing, grid = self._missing, self._record_steps.grid
        low, high = self._record_steps.low, self._record_steps.high
        if missing == "drop" and needs_power(self._parts, 0):
            self._sums[0] -= missing_count(batch)
        if needs_power(self._parts, 2) and grid is not None:
            batch, missing, grid = grid_integers(batch, grid, int64, missing=missing), "zero", None
        if needs_power(self._parts, 1):
            self._sums[1] += (
                wide_sum(batch, low, high, missing=missing) if grid is None else grid_sum(batch, grid, missing=missing)
            )
        if needs_power(self._parts, 2):
            self._sums[2] += sum_of_squares(batch, low, high, missing=missing)

    def totals(self) -> list[list[int]]:
        return [[sum(w * s for w, s in zip(part.weights, self._sums, strict=True))] for part in self._parts]


class GroupSums:
    """The power sums of each of a number of groups; rows of others have the code after the last."""

    def __init__(self, steps: RecordSteps, parts: Sequence[Part], missing: Missing, groups: int) -> None:
        self._record_steps, self._parts, self._missing = steps, parts, missing
        self._rows = np.zeros(groups + 1, np.int64)
        self._sums = [no_sums(groups + 1 if needs_power(parts, power) else 0) for power in (1, 2)]

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        assert codes is not None
        assert not isinstance(batch, Runs)  # which have no groups
        if rows > STRETCH:
            for begin in range(0, rows, STRETCH):
                some = slice(begin, min(begin + STRETCH, rows))
                self.add(None if batch is None else stretch(batch, some), some.stop - begin, codes[some], None)
            return
        if self._missing == "drop" and batch is not None:
            codes = np.where(find_present(batch), codes, np.int32(len(self._rows) - 1))
        if needs_power(self._parts, 0):
            count_rows(codes, self._rows)
        first, second = self._sums
        if needs_power(self._parts, 2):
            assert batch is not None
            q = self._record_steps.integers(batch).view(np.int64)  # within 2^31, as squares are
            if needs_power(self._parts, 1):
                add_integers_by_group(q, codes, first, int64.min, int64.max)
            add_integers_by_group(q * q, codes, second, int64.min, int64.max)
        elif needs_power(self._parts, 1) and self._record_steps.grid is not None:
            add_floats_by_group(batch, codes, first, self._record_steps.grid)
        elif needs_power(self._parts, 1):
            add_integers_by_group(batch, codes, first, self._record_steps.low, self._record_steps.high)

    def totals(self) -> list[list[int]]:
        sums = [self._rows[:-1].tolist(), *(as_integers(words[:-1]) for words in self._sums)]
        return [_weigh(part.weights, sums) for part in self._parts]


def needs_power(parts: Sequence[Part], power: int) -> bool:
    """Returns whether the sum of this power of the records goes into any part."""
    return any(part.weights[power] for part in parts)


def _weigh(weights: Sequence[int], sums: Sequence[list[int]]) -> list[int]:
    used = [(w, s) for w, s in zip(weights, sums, strict=True) if w]
    if len(used) == 1 and used[0][0] == 1:
        return used[0][1]
    return [sum(w * x for (w, _), x in zip(used, row, strict=True)) for row in zip(*(s for _, s in used), strict=True)]
