"""Dask: workers add up their partitions with our kernel, and the exact totals merge; Python adds the noise.

Every partition is a part (engines/parts.py), so a worker that is lost loses nothing: what it had added up is added up
again, and counts once. Persons are shuffled by pairs of person and group, dealt out by the hash of the id, so that
all of a person's pairs meet in one place, where the caps apply.

pandas finds some types in the values of a partition: one missing value turns integers into doubles, and a partition in
which all are missing into objects. Types that a missing value changes are refused by the frame's own type; a partition
of any other is read as that type, so that no record decides whether a frame can be read.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import reduce, wraps
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

import numpy as np

from soundsum.engines.engine import ENGINES, Engine, Totals, import_extra
from soundsum.engines.ids import PersonWords
from soundsum.engines.memory import Memory
from soundsum.engines.parts import Added, PersonPairs
from soundsum.numbers.quoting import quote, say_column
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.statistics import Task
from soundsum.tables.columns import as_keys, as_numbers
from soundsum.tables.memory_table import MemoryTable, open_table
from soundsum.tables.paths import Watched
from soundsum.tables.read_guard import read_within
from soundsum.tables.records import Column
from soundsum.tables.rows import Rows

F = TypeVar("F", bound=Callable[..., Any])

Asked: TypeAlias = tuple[Sequence[Task], Rows]

MERGED = 16
"""Partial totals that are merged by one task."""

MOST_SHARDS = 64
"""Shards that persons are dealt out to; no more than there are partitions."""


@ENGINES.register
class Dask(Engine):
    name = "dask"
    package = "dask"
    classes = ("DataFrame",)
    opens_anywhere = False  # a cluster is the caller's

    schema: DaskTable

    def __init__(self, data: Any, beside: Mapping[str, Any], table: Any = None) -> None:
        self._frame = data.data if isinstance(data, Watched) else data
        self.schema = DaskTable(self._frame)

    def refuse_unsupported(self, tasks: Sequence[Task], rows: Rows) -> None:
        for claim in [task.claim for task in tasks]:
            if claim.record_steps is None:
                raise RefusedValue(
                    "method",
                    Reason.UNSUPPORTED,
                    "`method={method}` is not one that {engine} can run",
                    "leave `method` out",
                    method=quote(claim.plan.method),
                    engine=self.name,
                )
        for name in self._columns(tasks, rows):
            refuse_changing(name, self._frame._meta[name])

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        dask = import_extra("dask", "dask")
        wanted = self._columns(tasks, rows)
        asked, declared = dask.delayed((tuple(tasks), rows)), dask.delayed(self._frame._meta[wanted])
        parts = self._frame[wanted or self.schema.names[:1]].to_delayed()
        if rows.privacy_unit is None:
            added = [dask.delayed(_add_records)(part, asked, declared) for part in parts]
        else:
            of = min(len(parts), MOST_SHARDS)
            dealt = [dask.delayed(_deal_pairs)(part, asked, declared, of) for part in parts]
            picked = [[dask.delayed(_pick)(one, shard) for one in dealt] for shard in range(of)]
            added = [dask.delayed(_add_persons)(own, asked) for own in picked]
        while len(added) > 1:
            added = [dask.delayed(_merge)(added[i : i + MERGED]) for i in range(0, len(added), MERGED)]
        (found,) = dask.compute(added[0], traverse=False)
        if isinstance(found, FailedTask):
            raise RuntimeError(found.why)
        return list(found.totals), found.n or 0

    @staticmethod
    def _columns(tasks: Sequence[Task], rows: Rows) -> list[Any]:
        """The columns that are read."""
        columns = dict.fromkeys([*(task.statistic.column for task in tasks), *rows.columns])
        return [name for name in columns if name is not None]


class DaskTable(MemoryTable):
    """The columns of a frame, by its empty partition."""

    def __init__(self, frame: Any) -> None:
        table = open_table(frame._meta)
        assert isinstance(table, MemoryTable)
        super().__init__({name: frame._meta[name] for name in table.names})
        self._frame = frame

    def rows(self) -> int:
        return read_within(lambda: len(self._frame))


class FailedTask(NamedTuple):
    """The reason why a worker could not add up, for the operator: workers would log an error with their arguments."""

    why: str


def _quietly(function: F) -> F:
    """A task that hands on the first failure among its arguments, or its own."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        for one in arguments:
            for inner in one if isinstance(one, list) else [one]:
                if isinstance(inner, FailedTask):
                    return inner
        try:
            return function(*arguments)
        except Exception:
            return FailedTask(traceback.format_exc())

    return cast(F, call)


def _open(part: Any, declared: Any) -> Memory:
    """A partition, each column as the empty one that is declared."""
    columns = {name: read_as_declared(part[name], declared[name]) for name in declared.columns}
    return Memory(columns or part, {})


@_quietly
def _add_records(part: Any, asked: Asked, declared: Any) -> Added:
    return Added(*_open(part, declared).add_up(*asked))


@_quietly
def _deal_pairs(part: Any, asked: Asked, declared: Any, of: int) -> list[PersonPairs]:
    """The pairs of a partition's persons, by shard."""
    opened, (tasks, rows) = _open(part, declared), asked
    persons = PersonWords(opened.schema.key_type(rows.privacy_unit))
    sums, _ = opened.accumulate(tasks, rows, persons)
    return PersonPairs.of(sums, persons).deal(of)


@_quietly
def _pick(dealt: Sequence[PersonPairs], shard: int) -> PersonPairs:
    return dealt[shard]


@_quietly
def _add_persons(dealt: Sequence[PersonPairs], asked: Asked) -> Added:
    tasks, _ = asked
    return Added(*reduce(lambda one, other: one.merge(other, tasks), dealt).add_up(tasks))


@_quietly
def _merge(added: Sequence[Added]) -> Added:
    return reduce(lambda one, other: one.merge(other, ()), added)


def refuse_changing(name: Any, declared: Any) -> None:
    """Refuses NumPy's integers and truth values: as doubles, large ids were one, and in each partition others."""
    if isinstance(declared.dtype, np.dtype) and declared.dtype.kind in "iub":
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "{column} is {kind} of NumPy, and where a value is missing pandas gives a partition another type",
            "read the frame with `dtype_backend='pyarrow'`, make it of `rows.convert_dtypes(dtype_backend='pyarrow')`, "
            "or cast the column with `astype('float64')`",
            column=say_column(name),
            kind=str(declared.dtype),
        )


def read_as_declared(column: Any, declared: Any) -> Any:
    """A partition's column as the type of the frame's own empty one; any other type ends the read."""
    kind, own, key_type = declared.dtype, column.dtype, _key_type(declared)
    if str(own) == str(kind) and _key_type(column) == key_type:
        return column
    is_plain = isinstance(own, np.dtype)
    if isinstance(kind, np.dtype) and kind.kind == "f" and is_plain and own.kind in "biufO":
        return declared.__class__(_as_doubles(column).astype(kind), index=column.index)
    if kind.kind == own.kind == "M" and str(getattr(kind, "tz", None)) == str(getattr(own, "tz", None)):
        return _in_unit(column, declared)
    if own.kind == "O" and key_type is None:  # each is read on its own, as text and categories are
        return column.astype(object)
    if own.kind == "O" and kind == "string":
        return declared.__class__([_text(x) for x in column], dtype=kind, index=column.index)
    if column.isna().all():
        return declared.reindex(range(len(column)))
    raise TypeError("a partition has a column of another type than the frame")


def _key_type(column: Any) -> Any:
    """The Arrow type of a column as keys; None if it is read object by object."""
    none = as_keys(column.iloc[:0])
    return None if isinstance(none, list) else none.type


def _as_doubles(column: Any) -> Any:
    """Every number rounded once, as pandas rounds the integers of a partition in which one is missing."""
    if column.dtype.kind == "O":
        read = as_numbers(list(column)).records
        assert isinstance(read, Column)
        return np.asarray(read.values)
    return column.to_numpy().astype(np.float64)


def _in_unit(column: Any, declared: Any) -> Any:
    """Times in another unit, rounded down; missing if they are beyond those of 64 bits."""
    zone, unit, own = getattr(declared.dtype, "tz", None), declared.dt.unit, column.dt.unit
    stored = column.to_numpy(f"M8[{own}]")
    held = stored.astype(f"M8[{unit}]")
    if np.timedelta64(1, unit) < np.timedelta64(1, own):
        held = np.where(held.astype(stored.dtype) == stored, held, np.datetime64("NaT"))
    times = declared.__class__(held, index=column.index)
    return times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)


def _text(x: Any) -> str | None:
    """Text that can be written as UTF-8; anything else is missing."""
    return x if isinstance(x, str) and x == x.encode(errors="replace").decode() else None
