"""The protocol of engines: who holds a table, and adds up its integers exactly.

An engine is asked with `accepts` whether some data is its own, opened on it, and then says what is public about the
table (`schema`) and adds up (`add_up`). What it must compute is defined by `Memory`, to the last bit: for each task and
part the sum of `weights` times the power sums of the records' integers on the task's `record_steps`, by group and cell,
and under a unit of persons of each person's clamped totals; where the task's `missing` is "drop", without the records
that have no value. It must not raise, warn or take longer because of what is in one record. A new engine is one file
here, or a class registered in ENGINES from anywhere; those registered last are asked first, and `Memory` takes what is
left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

from soundsum.data.rows import Rows
from soundsum.data.schemas import Schema
from soundsum.registry import Registry
from soundsum.statistics import Task

Totals: TypeAlias = list[list[int]]
"""For every part of a task, its sum for each entry: each group, or each pair of a group and a cell."""


class Engine(ABC):
    """Where a table's rows are added up."""

    name: ClassVar[str]
    schema: Schema  # what is public about the table

    @abstractmethod
    def __init__(self, data: Any, beside: Mapping[str, Any]) -> None:
        """Opens the data; `beside` are columns that belong to data that is a single one."""

    @classmethod
    @abstractmethod
    def accepts(cls, data: Any) -> bool:
        """Whether the data is this engine's own, by its type alone."""

    @abstractmethod
    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        """The totals of every task, and the number of rows, read once."""


ENGINES: Registry[type[Engine]] = Registry("engine", first=("memory",))


def open_engine(data: Any, beside: Mapping[str, Any] | None = None) -> Engine:
    """The engine that holds the data."""
    for kind in reversed(list(ENGINES.values())):
        if kind.accepts(data):
            return kind(data, beside or {})
    raise TypeError(f"{type(data).__name__} is neither a table nor a column; pass a data frame, array or path")
