"""The protocol of engines: who holds a table, and adds up its integers exactly.

An engine is asked with `accepts` whether some data is its own, opened on it, and then says what is public about the
table (`schema`) and adds up (`add_up`). What it must compute is defined by `Memory`, to the last bit: for each task and
part the sum of `weights` times the power sums of the records' integers on the task's `record_steps`, by group and cell,
and under a unit of persons of each person's clamped totals; where the task's `missing` is "drop", without the records
that have no value. It must not raise, warn or take longer because of what is in one record. A new engine is one file
here, or a class registered in ENGINES from anywhere; those registered last are asked first, and `Memory` takes what is
left. The conformance list (soundsum.conformance) is the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.grids import as_doubles
from soundsum.numbers.quoting import quote
from soundsum.numbers.types import float64
from soundsum.privacy.noise import Noise
from soundsum.privacy.selection import GroupPlan
from soundsum.refusals import Reason, RefusedValue, say_install
from soundsum.registry import Registry
from soundsum.statistics import Task
from soundsum.tables.found_keys import KeyParts, name_groups, sort_keys
from soundsum.tables.paths import Watched, is_address, is_path, is_stored
from soundsum.tables.rows import Rows
from soundsum.tables.schemas import Schema

Totals: TypeAlias = list[list[int]]
"""For every part of a task, its sum for each entry: each group, or each pair of a group and a cell."""


class Engine(ABC):
    """An engine: adds up the rows of a table where they lie."""

    name: ClassVar[str]
    package: ClassVar[str] = ""  # with which it works; whose objects are its own,
    classes: ClassVar[tuple[str, ...]] = ()  # those of these classes
    schemes: ClassVar[tuple[str, ...]] = ()  # of addresses, such as postgresql
    reads_files: ClassVar[bool] = False  # whether it can be asked by name to read Parquet files
    has_tables: ClassVar[bool] = False  # whether table= names one of several
    opens_anywhere: ClassVar[bool] = True  # whether another process, started for it, can open the same data at once
    adds_any_method: ClassVar[bool] = False  # whether it runs methods other than the exact sums of integers
    finds_groups: ClassVar[bool] = False  # whether it counts the keys of groups that nobody listed
    schema: Schema  # what is public about the table
    seconds: float | None = None  # after which nobody waits any more

    @abstractmethod
    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        """Opens the data; `beside` are columns that belong to data that is a single one, `table` is one of its own."""

    @classmethod
    def accepts(cls, data: Any) -> bool:
        """Returns whether the data is this engine's own, by its type alone, or by how its address begins."""
        if isinstance(data, str):
            return data.partition("://")[0].lower() in cls.schemes
        kind = type(data)
        return kind.__name__ in cls.classes and kind.__module__.partition(".")[0].strip("_") == cls.package

    def refuse_unsupported(self, tasks: Sequence[Task], rows: Rows) -> None:
        """Refuses tasks that it cannot add up, before anything is charged; for engines that lack some methods."""
        for claim in [task.claim for task in tasks]:
            steps = claim.record_steps
            grid = None if steps is None else steps.grid
            if grid is not None and max(-grid.lower, grid.upper) > float64.max:
                raise RefusedValue(
                    "lower" if -grid.lower > float64.max else "upper",
                    Reason.TOO_LARGE,
                    "a bound is beyond the doubles with which {engine} computes",
                    "give a tighter one",
                    engine=self.name,
                )
            if steps is None or (grid is not None and as_doubles(grid) is None):
                raise RefusedValue(
                    "method",
                    Reason.UNSUPPORTED,
                    "`method={method}` is not one that {engine} can run",
                    "leave `method` out",
                    method=quote(claim.plan.method),
                    engine=self.name,
                )
            if any(part.weights[2] for part in claim.parts) and max(-steps.low, steps.high) > 1 << 31:
                raise RefusedValue(
                    "lower" if -steps.low > 1 << 31 else "upper",
                    Reason.TOO_LARGE,
                    "squares are exact for integers within 2^31 in {engine}",
                    "give tighter bounds",
                    engine=self.name,
                )

    def limit(self, seconds: float) -> None:
        """Says after how long nobody waits for an answer any more; an engine elsewhere then stops working on it."""
        self.seconds = max(0.001, seconds)

    @abstractmethod
    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        """The totals of every task, and the number of rows, which may be 0 where it is neither public nor asked for."""

    def add_up_with_noise(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]]
    ) -> tuple[list[Totals], int | None]:
        """Add up and add the noise; gives every task's noisy sums, and the number of records if that is public.

        Exact totals exist in this frame alone. An error in it becomes ReadFailed, raised where the frame is gone, so
        no report of an error can hold them.
        """
        sums, n = self.add_up(tasks, rows)
        return add_noise(tasks, sums, noises), n if all(
            task.claim.plan.problem.relation.sized for task in tasks
        ) else None

    def refuse_search(self, rows: Rows) -> None:
        """Refuses groups that it cannot find, before anything is charged."""
        assert rows.searched is not None
        if not self.finds_groups:
            raise RefusedValue(
                "groups",
                Reason.UNSUPPORTED,
                "{engine} finds no groups",
                "list them in `groups`",
                engine=self.name,
            )

    def count_keys(self, rows: Rows, max_groups: int) -> KeyCounts:
        """Count the persons, or without persons the rows, of every key of the columns `rows.searched` looks at.

        A person counts once in at most `max_groups` groups: those with most of their rows, of equals those whose lots,
        drawn from the id and the key, come first. Asked of engines that find groups.
        """
        raise NotImplementedError

    def find_groups(self, rows: Rows, plan: GroupPlan, max_groups: int) -> FoundGroups:
        """Count, add the noise and forget every group whose noisy count is below the threshold.

        Groups come in the order of their keys. As for `add_up_with_noise`, nothing exact leaves this frame.
        """
        return select_groups(self.count_keys(rows, max_groups), rows, plan)[0]

    def find_and_add_up(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]], plan: GroupPlan
    ) -> tuple[FoundGroups, list[Totals], int | None]:
        """Find groups, then add the tasks up over them as over groups that were listed; nothing if there are none."""
        found = self.find_groups(rows, plan, plan.norms.entries if rows.privacy_unit is not None else 1)
        if not tasks or not found.names:
            return found, [[[] for _ in drawn] for drawn in noises], None
        listed = rows.of_found(found.names)
        for column, groups in listed.groups_by_column:
            self.schema.expect_groups(column, groups)
        planned = [task.of_found(len(found.names)) for task in tasks]
        return found, *self.add_up_with_noise(planned, listed, noises)


class KeyCounts(NamedTuple):
    """The number of persons, or rows, of every key: by the key's number, which says nothing else."""

    counts: NDArray[np.int64]
    keys: Callable[[NDArray[np.int64]], list[KeyParts]]  # of some numbers, column by column
    kinds: Sequence[Any]  # the Arrow types of the columns, None for one of Python objects


class FoundGroups(NamedTuple):
    """The groups that are released, and their noisy numbers of persons or rows."""

    names: list[Any]
    noisy: list[int]


def select_groups(counted: KeyCounts, rows: Rows, plan: GroupPlan) -> tuple[FoundGroups, NDArray[np.int64]]:
    """The groups that are released, in the order of their keys, and the numbers of these."""
    assert rows.searched is not None
    places, noisy = plan.select(counted.counts)
    keys = counted.keys(places)
    order = sort_keys(keys)
    names = name_groups(rows.searched.parts, keys, counted.kinds, order)
    if None in names:
        order = order[[name is not None for name in names]]
        names = [name for name in names if name is not None]
    return FoundGroups(names, noisy[order].tolist()), places[order]


def add_noise(
    tasks: Sequence[Task], sums: Sequence[Totals], noises: Sequence[tuple[Noise, ...]]
) -> list[list[list[int]]]:
    """Every task's sums with their noise."""
    return [
        [noise.add_to(own, part.wraps) for own, noise, part in zip(totals, drawn, task.claim.parts, strict=True)]
        for task, totals, drawn in zip(tasks, sums, noises, strict=True)
    ]


ENGINES: Registry[type[Engine]] = Registry("engine", first=("memory",))


def open_engine(
    data: Any, beside: Mapping[str, Any] | None = None, table: Any = None, engine: str | None = None
) -> Engine:
    """The engine that holds the data, or one asked for by name to read files."""
    kind = find_engine(data, engine)
    if table is not None and not kind.has_tables:
        raise RefusedValue(
            "table",
            Reason.CONFLICT,
            "`table={given}` is for databases, and this data is a table itself",
            "leave `table` out",
            given=quote(table),
        )
    return kind(data, beside or {}) if table is None else kind(data, beside or {}, table)


def find_engine(data: Any, engine: str | None = None) -> type[Engine]:
    """The kind of engine that holds the data, or the one asked for by name."""
    inside = data.data if isinstance(data, Watched) else data
    own = [kind for kind in reversed(list(ENGINES.values())) if kind.accepts(inside)]
    if is_address(inside) and not own and not is_stored(inside):  # which may have a password in it
        raise RefusedValue(
            "data",
            Reason.UNKNOWN,
            "there is no engine for this kind of address",
            "PostgreSQL's begin with postgresql://",
        )
    kind = own[0] if own else ENGINES["memory"]
    return kind if engine is None else _named(engine, kind, inside)


def _named(name: str, holder: type[Engine], data: Any) -> type[Engine]:
    """The engine of this name, where the data is its own or files that it can read."""
    asked = ENGINES.find(name)
    are_files = is_path(data) and not is_stored(data) and holder.name == "memory"
    if asked is not holder and not (are_files and asked.reads_files):
        raise RefusedValue(
            "engine",
            Reason.MISMATCH,
            "`engine={given}` cannot add up this data, which is for {holder}",
            "leave `engine` out",
            given=quote(name),
            holder=holder.name,
        )
    return asked


def import_extra(package: str, extra: str) -> Any:
    """Import a package that an engine needs, or say what to install."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise ImportError(f"{package.partition('.')[0]} is not installed; " + say_install(extra)) from None
