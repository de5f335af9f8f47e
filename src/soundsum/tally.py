"""Exact power sums of a column: how many records, the sum of their integers, and of their squares, for every group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from soundsum.integers import Integers
from soundsum.kernels import (
    Missing,
    add_floats_by_group,
    add_integers_by_group,
    as_integers,
    grid_sum,
    missing_count,
    no_sums,
    sum_of_squares,
    wide_sum,
)
from soundsum.keys import Codes
from soundsum.lattice import Lattice, adds_up
from soundsum.numbers import int64
from soundsum.preparation import grid_integers
from soundsum.records import Column, Records, joined
from soundsum.runs import Runs
from soundsum.sensitivities import Part
from soundsum.stability import kept


class Tally(Protocol):
    """What is added up, batch by batch."""

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        """Adds so many rows, with a code of each row's group and the id of its person where those are asked for."""

    def totals(self) -> list[list[int]]:
        """Every part's sums, one for each group."""


class Planned:
    """A method's own sum over every row; a method that cannot add up the sums of batches gets them in one piece."""

    def __init__(self, to: Lattice, missing: Missing) -> None:
        self._to, self._missing = to, missing
        self._pieces: list[Records] = []
        self._total = 0

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        assert batch is not None
        if adds_up(self._to.adder):
            self._total += self._to.steps(batch, self._missing)
        else:
            self._pieces.append(batch)

    def totals(self) -> list[list[int]]:
        if adds_up(self._to.adder):
            return [[self._total]]
        return [[self._to.steps(joined(self._pieces, self._to.problem.dtype), self._missing)]]


class OneGroup:
    """The power sums over every row."""

    def __init__(self, to: Integers, parts: Sequence[Part], missing: Missing) -> None:
        self._to, self._parts, self._missing = to, parts, missing
        self._sums = [0, 0, 0]

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        self._sums[0] += rows
        if batch is None:
            return
        missing, grid, low, high = self._missing, self._to.grid, self._to.low, self._to.high
        if missing == "drop":
            self._sums[0] -= missing_count(batch)
        if needs(self._parts, 2) and grid is not None:
            batch, missing, grid = grid_integers(batch, grid, int64, missing=missing), "zero", None
        if needs(self._parts, 1):
            self._sums[1] += (
                wide_sum(batch, low, high, missing=missing) if grid is None else grid_sum(batch, grid, missing=missing)
            )
        if needs(self._parts, 2):
            self._sums[2] += sum_of_squares(batch, low, high, missing=missing)

    def totals(self) -> list[list[int]]:
        return [[sum(w * s for w, s in zip(part.weights, self._sums, strict=True))] for part in self._parts]


class ByGroup:
    """The power sums of each of a number of groups; rows of others have the code after the last."""

    def __init__(self, to: Integers, parts: Sequence[Part], missing: Missing, groups: int) -> None:
        self._to, self._parts, self._missing = to, parts, missing
        self._rows = np.zeros(groups + 1, np.int64)
        self._sums = [no_sums(groups + 1 if needs(parts, power) else 0) for power in (1, 2)]

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Any) -> None:
        assert codes is not None
        batch, codes = counted(batch, codes, self._missing)
        if needs(self._parts, 0):
            self._rows += np.bincount(codes, minlength=len(self._rows))
        first, second = self._sums
        if needs(self._parts, 2):
            assert batch is not None
            q = self._to.of(batch).astype(np.int64)
            add_integers_by_group(q, codes, first, int64.min, int64.max)
            add_integers_by_group(q * q, codes, second, int64.min, int64.max)
        elif needs(self._parts, 1) and self._to.grid is not None:
            add_floats_by_group(batch, codes, first, self._to.grid)
        elif needs(self._parts, 1):
            add_integers_by_group(batch, codes, first, self._to.low, self._to.high)

    def totals(self) -> list[list[int]]:
        sums = [self._rows[:-1].tolist(), *(as_integers(words[:-1]) for words in self._sums)]
        return [_weighted(part.weights, sums) for part in self._parts]


def needs(parts: Sequence[Part], power: int) -> bool:
    """Whether the sum of this power of the records goes into any part."""
    return any(part.weights[power] for part in parts)


def counted(batch: Records | None, codes: Codes, missing: Missing) -> tuple[Column | None, Codes]:
    """The rows to add, with their codes: without the missing ones if they are dropped."""
    assert not isinstance(batch, Runs)  # which have no groups
    if missing == "zero" or batch is None:
        return batch, codes
    there = ~batch.missing()
    return kept(batch, there), codes[there]


def _weighted(weights: Sequence[int], sums: Sequence[list[int]]) -> list[int]:
    used = [(w, s) for w, s in zip(weights, sums, strict=True) if w]
    if len(used) == 1 and used[0][0] == 1:
        return used[0][1]
    return [sum(w * x for (w, _), x in zip(used, row, strict=True)) for row in zip(*(s for _, s in used), strict=True)]
