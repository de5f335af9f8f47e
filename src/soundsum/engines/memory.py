"""This process as an engine: a table's batches through the kernels, whatever the table is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from soundsum.data.keys import cross_codes
from soundsum.data.rows import Rows
from soundsum.data.tables import Table, open_table
from soundsum.engines.accumulators import Accumulator, GroupSums, PlainSums, WholeSum
from soundsum.engines.engine import ENGINES, Engine, Totals
from soundsum.engines.ids import PersonWords
from soundsum.engines.persons import PersonSums
from soundsum.statistics import Task


@ENGINES.register
class Memory(Engine):
    name = "memory"

    def __init__(self, data: Any, beside: Mapping[str, Any]) -> None:
        self._table: Table = open_table(data, beside)

    @classmethod
    def accepts(cls, data: Any) -> bool:
        return True

    @property
    def schema(self) -> Table:
        return self._table

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        sums = [accumulate(task, rows) for task in tasks]
        persons, n = PersonWords(), 0
        for batch in self._table.batches(*(task.column for task in tasks), rows.by, rows.person):
            codes = None if rows.groups is None else rows.groups.codes(batch.keys(rows.by))
            ids = None if rows.person is None else persons.find(batch.keys(rows.person))
            for task, own in zip(tasks, sums, strict=True):
                places = codes
                if task.cells is not None:
                    cell = task.cells.codes(batch, task.column, task.claim.worth)
                    places = cross_codes(codes, cell, len(task.cells.names), rows.group_count or 0)
                own.add(task.read(batch, rows.missing), batch.rows, places, ids)
            n += batch.rows
        return [own.totals() for own in sums], n


def accumulate(task: Task, rows: Rows) -> Accumulator:
    """An empty accumulator for a task."""
    steps, unit = task.record_steps, task.unit
    if steps is None:
        return WholeSum(task.plan.problem, task.plan.adder, rows.missing)
    if unit.max_rows is not None:
        return PersonSums(steps, task.parts, rows.missing, unit)
    if unit.groups is not None:
        return GroupSums(steps, task.parts, rows.missing, unit.groups)
    return PlainSums(steps, task.parts, rows.missing)
