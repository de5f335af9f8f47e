"""This process as an engine: a table's batches through the kernels, whatever the table is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.engines.accumulators import Accumulator, GroupSums, PlainSums, WholeSum
from soundsum.engines.engine import ENGINES, Engine, FoundGroups, KeyCounts, Totals, add_noise, select_groups
from soundsum.engines.ids import PersonWords
from soundsum.engines.key_numbers import KeyNumbers
from soundsum.engines.person_sums import PersonCells, PersonRanks, PersonSums
from soundsum.kernels.persons import MOST_CODES, PairSums, count_codes
from soundsum.methods import Ranks
from soundsum.privacy.noise import Noise
from soundsum.privacy.selection import GroupPlan
from soundsum.statistics import Task
from soundsum.tables.found_keys import has_one_key
from soundsum.tables.keys import cross_codes
from soundsum.tables.memory_table import open_table
from soundsum.tables.records import Records
from soundsum.tables.rows import Rows
from soundsum.tables.schemas import Batch, Table


@ENGINES.register
class Memory(Engine):
    name = "memory"
    reads_files = True
    adds_any_method = True
    finds_groups = True

    schema: Table

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        self.schema = open_table(data, beside)

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        persons = None if rows.privacy_unit is None else PersonWords(self.schema.key_type(rows.privacy_unit))
        sums, n = self.accumulate(tasks, rows, persons)
        return [own.totals() for own in sums], n

    def accumulate(
        self, tasks: Sequence[Task], rows: Rows, persons: PersonWords | None
    ) -> tuple[list[Accumulator], int]:
        """Every task's sums before caps on persons, and the number of rows; `persons` gives the words of ids."""
        columns = [task.statistic.column for task in tasks]
        sums = [accumulate(task, persons) for task in tasks]
        counted = [None if task.bins_persons else task.counted for task in tasks]
        n = 0
        for batch in self.schema.batches(*columns, *rows.columns):
            codes, by = None, rows.by
            if rows.groups is not None:
                codes = rows.groups.codes([batch.keys(one) for one in by] if isinstance(by, list) else batch.keys(by))
            elif rows.only_present:  # which those are is for each task to find
                codes = np.zeros(batch.rows, np.int32)
            if rows.where is not None:  # what fails is in no group that is listed
                passes, unlisted = rows.where.passes(batch), np.int32(rows.group_count or 1)
                codes = np.where(passes, np.int32(0) if codes is None else codes, unlisted)
            ids = None if persons is None else persons.find(batch.keys(rows.privacy_unit))
            for task, cells, own in zip(tasks, counted, sums, strict=True):
                places = codes
                if cells is not None:
                    cell = cells.codes(batch, task.statistic.column, task.claim.unit_value)
                    places = cross_codes(codes, cell, len(cells.names), rows.group_count or 0)
                own.add(_take(batch, task), batch.rows, places, ids)
            n += batch.rows
        return sums, n

    def count_keys(self, rows: Rows, max_groups: int) -> KeyCounts:
        assert rows.searched is not None
        kinds = self._key_types(rows)
        keys = KeyNumbers(rows.searched.parts, kinds)
        persons = None if rows.privacy_unit is None else PersonWords(self.schema.key_type(rows.privacy_unit))
        pairs, counts = PairSums(MOST_CODES, 0), np.zeros(0, np.int64)
        for batch, numbers in self._number_keys(rows, keys):
            if persons is None:
                counts = count_codes(numbers, numbers >= 0, counts, keys.size)
            else:
                ids = persons.find(batch.keys(rows.privacy_unit))
                pairs.add(ids.words, ids.known, numbers, None)
        names = keys.names_for_lots()
        if persons is not None:
            counts = pairs.count(max_groups, persons.spelled(), names, keys.size)
        return KeyCounts(counts, keys.keys, kinds)

    def find_and_add_up(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]], plan: GroupPlan
    ) -> tuple[FoundGroups, list[Totals], int | None]:
        """As every engine does it; sums of persons come from the pass that counts them.

        They are added up by person and key, whatever is found. Those of the groups found then get these groups'
        numbers, and are what a second pass would have added up.
        """
        if not tasks or not self._adds_by_key(tasks, rows):
            return super().find_and_add_up(tasks, rows, noises, plan)
        assert rows.searched is not None
        kinds = self._key_types(rows)
        keys, persons = KeyNumbers(rows.searched.parts, kinds), PersonWords(self.schema.key_type(rows.privacy_unit))
        sums = [own for own in (accumulate(task, persons) for task in tasks) if isinstance(own, PersonSums)]
        whole = [own for own, task in zip(sums, tasks, strict=True) if not _leaves_out(task)]
        pairs = None if whole else PairSums(MOST_CODES, 0)
        for batch, numbers in self._number_keys(rows, keys, *[task.statistic.column for task in tasks]):
            ids = persons.find(batch.keys(rows.privacy_unit))
            for task, own in zip(tasks, sums, strict=True):
                own.add(_take(batch, task), batch.rows, numbers, ids)
            if pairs is not None:
                pairs.add(ids.words, ids.known, numbers, None)
        names, size, most = keys.names_for_lots(), keys.size, plan.norms.entries
        counts = (
            whole[0].count(names, size, most) if pairs is None else pairs.count(most, persons.spelled(), names, size)
        )
        found, places = select_groups(KeyCounts(counts, keys.keys, kinds), rows, plan)
        if not found.names:
            return found, [[[] for _ in drawn] for drawn in noises], None
        codes = np.full(size, -1, np.int32)
        codes[places] = np.arange(len(places), dtype=np.int32)
        planned = [task.of_found(len(places)) for task in tasks]
        for task, own in zip(planned, sums, strict=True):
            own.restrict(codes, task.claim)
        return found, add_noise(planned, [own.totals() for own in sums], noises), None

    def _key_types(self, rows: Rows) -> list[Any]:
        return [self.schema.key_type(one) for one in (rows.by if isinstance(rows.by, list) else [rows.by])]

    def _number_keys(
        self, rows: Rows, keys: KeyNumbers, *columns: str | None
    ) -> Iterator[tuple[Batch, NDArray[np.int32]]]:
        """Every batch with the number of each row's key, -1 for a row that does not count."""
        by = rows.by if isinstance(rows.by, list) else [rows.by]
        for batch in self.schema.batches(*columns, *rows.columns):
            numbers = keys.find([batch.keys(one) for one in by])
            yield batch, numbers if rows.where is None else np.where(rows.where.passes(batch), numbers, np.int32(-1))

    def _adds_by_key(self, tasks: Sequence[Task], rows: Rows) -> bool:
        """Whether all tasks are sums of persons, over groups that are looked up by the keys they are found by."""
        assert rows.searched is not None
        parts = zip(rows.searched.parts, self._key_types(rows), strict=True)
        are_sums = all(task.claim.record_steps is not None and task.counted is None for task in tasks)
        return rows.privacy_unit is not None and are_sums and all(has_one_key(part, kind) for part, kind in parts)


def _take(batch: Batch, task: Task) -> Records | None:
    """Read the numbers of a batch that a task adds up; nothing where it counts every row."""
    column, takes = task.statistic.column, task.statistic.takes
    if takes == "numbers":
        return batch.numbers(column)
    return batch.presence(column) if takes == "present rows" and task.missing == "drop" else None


def _leaves_out(task: Task) -> bool:
    """Whether a task leaves out rows without a value."""
    return task.missing == "drop" and task.statistic.takes != "rows"


def accumulate(task: Task, persons: PersonWords | None) -> Accumulator:
    """An empty accumulator for a task; `persons` gives the words of ids."""
    steps, parts, plan = task.claim.record_steps, task.claim.parts, task.claim.plan
    if steps is None:
        return WholeSum(plan.problem, plan.adder, task.missing)
    if task.bins_persons:
        assert persons is not None
        return PersonCells(task, persons)
    if task.counted is not None and isinstance(plan.adder, Ranks):
        entries = plan.unit.entries * len(task.counted.names)
        if persons is None:
            return GroupSums(steps, parts, task.missing, entries)
        return PersonRanks(plan.unit, len(task.counted.names), persons)
    if plan.unit.max_rows is not None:
        assert persons is not None
        return PersonSums(steps, parts, task.missing, plan.unit, persons)
    if plan.unit.groups is not None:
        return GroupSums(steps, parts, task.missing, plan.unit.entries)
    return PlainSums(steps, parts, task.missing)
