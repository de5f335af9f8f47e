"""Sums that a person with many rows moves little: their total in a group is clamped to what a few rows can add up to.

A person's rows are added up exactly, for each group apart. Of the groups a person is in, those with most of their rows
are kept; between equals a lot decides, which is a hash of the id and the group, so that every group has the same
chance. Each total is then clamped to [r min(low, 0), r max(high, 0)], where r is the number of rows allowed. All of it
looks at the rows of that person alone, so adding or removing a person moves nothing but their own clamped totals. Rows
without an id are left out. Memory grows with the pairs of person and group.

In a mean or variance sums and counts must go together, so whoever has more rows than allowed counts as that many of
their average row, and the clamp only stands guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.engines.accumulators import Accumulator
from soundsum.engines.ids import Ids, PersonWords
from soundsum.kernels.grouped import count_ranks
from soundsum.kernels.persons import MOST_CODES, MOST_ROWS, BoundedPart, Pairs, PairSums
from soundsum.kernels.preparation import find_present
from soundsum.methods.steps import RecordSteps
from soundsum.privacy.units import FOUND, Norms, Unit
from soundsum.statistics import Claim, Task
from soundsum.statistics.statistic import Part
from soundsum.tables.keys import Codes
from soundsum.tables.records import Column, Missing, Records, stretch


@runtime_checkable
class Paired(Accumulator, Protocol):
    """Sums by person and group, which can be listed and added to other such sums before any cap applies."""

    def pairs(self) -> Pairs:
        """Every pair of person and group, with what its rows add up to."""

    def add_pairs(self, pairs: Pairs) -> None: ...


STRETCH = 1 << 18
"""Rows that are made integers and added at a time."""


class PersonSums:
    """For each group, or over every row if there are none; where groups are found, for each number of a key."""

    def __init__(
        self, steps: RecordSteps, parts: Sequence[Part], missing: Missing, unit: Unit, persons: PersonWords
    ) -> None:
        """`persons` gives the words of all ids that are added."""
        self._record_steps, self._parts, self._missing, self._unit = steps, parts, missing, unit
        self._persons = persons
        self._powers = max(power for part in parts for power in (0, 1, 2) if part.weights[power])
        self._pairs = PairSums(MOST_CODES if unit.groups == FOUND else unit.entries, self._powers)

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Ids | None) -> None:
        assert ids is not None
        assert batch is None or isinstance(batch, Column)
        for begin in range(0, rows, STRETCH):
            some = slice(begin, min(begin + STRETCH, rows))
            own = batch if batch is None or rows <= STRETCH else stretch(batch, some)
            there = ids.known[some]
            if self._missing == "drop" and own is not None:
                there = there & find_present(own)
            integers = None
            if self._powers:
                assert own is not None
                integers = self._record_steps.integers(own)
            self._pairs.add(ids.words[some], there, None if codes is None else codes[some], integers)

    def count(self, names: native.KeyNames, keys: int, max_groups: int) -> NDArray[np.int64]:
        """How many persons count by each key's number, each in at most so many."""
        return self._pairs.count(max_groups, self._persons.spelled(), names, keys)

    def restrict(self, numbers: NDArray[np.int32], claim: Claim) -> None:
        """Leave the groups that were found, for which the claim is; `numbers` are theirs by key, -1 for all others."""
        self._pairs.renumber(numbers, claim.plan.unit.entries)
        self._parts, self._unit = claim.parts, claim.plan.unit

    def pairs(self) -> Pairs:
        return self._pairs.list_pairs()

    def add_pairs(self, pairs: Pairs) -> None:
        self._pairs.add_pairs(pairs)

    def totals(self) -> list[list[int]]:
        allowed = self._unit.max_rows
        assert allowed is not None
        bounded = [bound_part(part, allowed) for part in self._parts]
        together = len(self._parts) > 1  # a mean or variance
        spelled = self._persons.spelled()
        return self._pairs.totals(bounded, allowed, self._unit.max_groups, in_proportion=together, ids=spelled)

    def bounded(self, parts: Sequence[BoundedPart], max_groups: int) -> list[list[int]]:
        """Totals of other parts, of persons with any number of rows."""
        ids = self._persons.spelled()
        return self._pairs.totals(parts, MOST_ROWS, max_groups, in_proportion=False, ids=ids)


class PersonCells:
    """Persons counted over cells, by group: each by the exact total of their rows' integers, or by how many there are.

    How many persons have more than t is what their totals, clamped to [t, t + 1], add up to beyond t for each person.
    """

    def __init__(self, task: Task, persons: PersonWords) -> None:
        plan, steps = task.claim.plan, task.claim.record_steps
        assert steps is not None
        assert task.statistic.cells is not None
        self._power = task.statistic.binned  # type: ignore[attr-defined]
        weights = (0, 1, 0) if self._power else (1, 0, 0)
        cells = len(task.statistic.cells.names)
        self._thresholds, self._most_groups = task.thresholds, plan.unit.max_groups
        self._persons, groups = persons, plan.unit.entries // cells
        part = Part("total", steps.step, Norms(1, 1), weights, (steps.low, steps.high))
        self._sums = PersonSums(steps, [part], task.missing, replace(plan.unit, groups=groups), persons)
        self._weights = weights

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Ids | None) -> None:
        self._sums.add(batch, rows, codes, ids)

    def pairs(self) -> Pairs:
        return self._sums.pairs()

    def add_pairs(self, pairs: Pairs) -> None:
        self._sums.add_pairs(pairs)

    def totals(self) -> list[list[int]]:
        asked = [BoundedPart((1, 0, 0), 0, 1), *(BoundedPart(self._weights, t, t + 1) for t in self._thresholds)]
        found = self._sums.bounded(asked, self._most_groups)
        persons, above = (
            found[0],
            [_beyond(sums, found[0], t) for sums, t in zip(found[1:], self._thresholds, strict=True)],
        )
        return [count_cells(persons, above)]


def _beyond(sums: list[int], persons: list[int], threshold: int) -> list[int]:
    """The persons whose totals are above the threshold, from sums modulo 2^128."""
    return [(total - threshold * n) % (1 << 128) for total, n in zip(sums, persons, strict=True)]


def count_cells(persons: Sequence[int], above: Sequence[Sequence[int]]) -> list[int]:
    """The persons in each cell, group by group, from how many there are and how many are above each threshold."""
    reached = [*zip(persons, *above, strict=True)]
    return [n - more for one in reached for n, more in zip(one, [*one[1:], 0], strict=True)]


def bound_part(part: Part, rows: int) -> BoundedPart:
    """A part of a person, clamped to the most that their number of rows can add up to."""
    assert part.range is not None
    low, high = part.range
    return BoundedPart(part.weights, rows * min(low, 0), rows * max(high, 0))


NO_WORDS, NO_CODES = np.zeros(0, np.uint64), np.zeros(0, np.int32)


class PersonRanks:
    """The cells of some rows of each person, by group: of more rows than allowed, as many at equal distances in order.

    A person with m rows in a group, more than r, counts with those at floor((j + u) m / r) for j < r, in the order of
    their values; u in [0, 1) is a lot of the id and the group. Rows of one cell are alike, so only cells are kept.
    """

    def __init__(self, unit: Unit, cells: int, persons: PersonWords) -> None:
        """`persons` gives the words of all ids that are added."""
        self._unit, self._cells, self._persons = unit, cells, persons
        self._words: list[NDArray[np.uint64]] = []
        self._codes: list[NDArray[np.int32]] = []

    def add(self, batch: Records | None, rows: int, codes: Codes | None, ids: Ids | None) -> None:
        assert ids is not None
        assert codes is not None
        there = ids.known & (codes < self._unit.entries * self._cells)
        self._words.append(ids.words[there])
        self._codes.append(codes[there])

    def pairs(self) -> Pairs:
        """The pairs of person and cell, with the rows of each."""
        words, codes = self._all()
        order = np.lexsort((codes, words))
        words, codes = words[order], codes[order]
        is_first = np.ones(len(words), bool)
        is_first[1:] = (words[1:] != words[:-1]) | (codes[1:] != codes[:-1])
        first = np.flatnonzero(is_first)
        rows = np.diff(np.append(first, len(words))).astype(np.uint64)
        return Pairs(words[first], codes[first], rows, np.zeros((len(first), 0), np.uint64))

    def add_pairs(self, pairs: Pairs) -> None:
        self._words.append(np.repeat(pairs.words, pairs.rows.astype(np.int64)))
        self._codes.append(np.repeat(pairs.codes, pairs.rows.astype(np.int64)))

    def _all(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        return np.concatenate([NO_WORDS, *self._words]), np.concatenate([NO_CODES, *self._codes])

    def totals(self) -> list[list[int]]:
        unit, entries = self._unit, self._unit.entries
        assert unit.max_rows is not None
        words, codes = self._all()
        ids, groups = self._persons.spelled(), unit.most_groups
        return [count_ranks(words, codes, self._cells, entries, unit.max_rows, groups, ids).tolist()]
