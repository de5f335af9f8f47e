"""This process as an engine: a table's batches through the kernels, whatever the table is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from soundsum.engines.accumulators import Accumulator, GroupSums, PlainSums, WholeSum
from soundsum.engines.engine import ENGINES, Engine, KeyCounts, Totals
from soundsum.engines.ids import PersonWords
from soundsum.engines.key_numbers import KeyNumbers
from soundsum.engines.person_sums import PersonCells, PersonRanks, PersonSums
from soundsum.kernels.persons import MOST_CODES, PairSums, count_codes
from soundsum.methods import Ranks
from soundsum.statistics import Task
from soundsum.tables.keys import cross_codes
from soundsum.tables.memory_table import open_table
from soundsum.tables.rows import Rows
from soundsum.tables.schemas import Table


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
                column, takes = task.statistic.column, task.statistic.takes
                drops = takes == "present rows" and task.missing == "drop"
                taken = batch.numbers(column) if takes == "numbers" else batch.presence(column) if drops else None
                own.add(taken, batch.rows, places, ids)
            n += batch.rows
        return sums, n

    def count_keys(self, rows: Rows, max_groups: int) -> KeyCounts:
        assert rows.searched is not None
        by = rows.by if isinstance(rows.by, list) else [rows.by]
        kinds = [self.schema.key_type(one) for one in by]
        keys = KeyNumbers(rows.searched.parts, kinds)
        persons = None if rows.privacy_unit is None else PersonWords(self.schema.key_type(rows.privacy_unit))
        pairs, counts = PairSums(MOST_CODES, 0), np.zeros(0, np.int64)
        for batch in self.schema.batches(*rows.columns):
            numbers = keys.find([batch.keys(one) for one in by])
            there = numbers >= 0
            if rows.where is not None:
                there = there & rows.where.passes(batch)
            if persons is None:
                counts = count_codes(numbers, there, counts, keys.size)
            else:
                ids = persons.find(batch.keys(rows.privacy_unit))
                pairs.add(ids.words, ids.known & there, numbers, None)
        names = keys.names_for_lots()
        if persons is not None:
            counts = pairs.count(max_groups, persons.spelled(), names, keys.size)
        return KeyCounts(counts, keys.keys, kinds)


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
