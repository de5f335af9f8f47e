"""How many persons, or rows, each key of a table has, as one SELECT: for groups that nobody listed.

From the inside out: every row's person, keys and whether it counts; the rows of every pair of person and key; the rank
of each key among its person's; and the persons for whom a key is among the first. As in `Selection`, a filter is a CASE
inside the sums. Keys come out as text, truth values and integers: dates and periods as days since 1970, hours as
seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.engines.dialect import Dialect, Own
from soundsum.engines.engine import KeyCounts
from soundsum.engines.select import Selection
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import LONGEST
from soundsum.tables.found_keys import KeyColumn, KeyParts
from soundsum.tables.periods import EARLIEST, LATEST
from soundsum.tables.rows import Rows
from soundsum.tables.timestamps import HOUR

DAY_MICROSECONDS = 86_400 * 10**6


class KeySelection:
    """The SELECT that counts keys, and how its answer is read."""

    def __init__(self, rows: Rows, selection: Selection, dialect: Dialect, max_groups: int) -> None:
        """`selection` is one of the same table without tasks, for ids and filters."""
        assert rows.searched is not None
        self._rows, self._selection, self._sql, self._most = rows, selection, dialect, max_groups
        by = rows.by if isinstance(rows.by, list) else [rows.by]
        self._columns = [selection.own(str(one)) for one in by]
        self._parts: Sequence[KeyColumn] = rows.searched.parts
        self._names = [f"k{i}" for i in range(len(by))]

    def text(self, table: str) -> str:
        rows, names = self._rows, ", ".join(self._names)
        passes = "true" if rows.where is None else self._selection.passes(rows.where)
        columns = zip(self._columns, self._parts, self._names, strict=True)
        keys = [f"{self._key(own, part)} AS {name}" for own, part, name in columns]
        person = [] if rows.privacy_unit is None else [f"{self._selection.identify(rows.privacy_unit)} AS id"]
        each = f"SELECT {', '.join([*person, *keys])}, {passes} AS counts FROM {table} AS t"
        own = ", ".join([*(["id"] if person else []), names])
        added = f"SELECT {own}, count(CASE WHEN counts THEN 1 END) AS n FROM ({each}) AS r GROUP BY {own}"
        if not person:
            return added
        is_key = " AND ".join(["n > 0", "id IS NOT NULL", *(f"{name} IS NOT NULL" for name in self._names)])
        lot = self._sql.lot("id", self._selection.own(str(rows.privacy_unit)).kind, self._spelled())
        order = f"CASE WHEN {is_key} THEN 0 ELSE 1 END, n DESC, {lot}, {names}"
        ranked = f"SELECT a.*, row_number() OVER (PARTITION BY id ORDER BY {order}) AS place FROM ({added}) AS a"
        counted = f"sum(CASE WHEN {is_key} AND place <= {self._most} THEN 1 ELSE 0 END)"
        return f"SELECT {names}, {counted} AS n FROM ({ranked}) AS p GROUP BY {names}"

    def read(self, answer: Iterable[Sequence[Any]]) -> KeyCounts:
        """The keys that are there, each with its number of persons or rows."""
        keys: list[tuple[Any, ...]] = []
        counts = []
        for *key, n in answer:
            if None not in key:
                keys.append(tuple([one.encode() if isinstance(one, str) else one for one in key]))
                counts.append(int(n))

        def list_keys(numbers: NDArray[np.int64]) -> list[KeyParts]:
            chosen = [keys[number] for number in numbers.tolist()]
            return [[key[place] for key in chosen] for place in range(len(self._columns))]

        return KeyCounts(np.array(counts, np.int64), list_keys, [own.kind for own in self._columns])

    def _key(self, own: Own, part: KeyColumn) -> str:
        import pyarrow as pa

        key = self._sql.key(own)
        if pa.types.is_string(own.kind):
            return f"CASE WHEN octet_length({key}) <= {LONGEST} THEN {key} END"
        if not pa.types.is_temporal(own.kind):
            return key
        low, high = (self._sql.value(_as_value(end, own.kind), own) for end in (EARLIEST, LATEST))
        before = "<=" if part.period is None else "<"
        start = self._start(own, part)
        within = f"CASE WHEN {own.text} >= {low} AND {own.text} {before} {high} THEN {start} END"
        if part.limits is None:
            return within
        return f"CASE WHEN {within} BETWEEN {part.limits[0]} AND {part.limits[1]} THEN {within} END"

    def _start(self, own: Own, part: KeyColumn) -> str:
        """The day since 1970 with which a date's or time's period begins, or the second of its hour."""
        import pyarrow as pa

        sql, period = self._sql, part.period
        if pa.types.is_date(own.kind):
            days = sql.since_1970(own.text, own.kind)
        else:
            assert period is not None
            zone = None if period.zone in (None, "UTC") else str(period.zone)
            moment = sql.since_1970(own.text, own.kind) if zone is None else sql.local_since_1970(own.text, zone)
            if period.kind == "hour":
                return f"({sql.floor_of(moment, HOUR * 10**6)} * {HOUR})"
            days = sql.floor_of(moment, DAY_MICROSECONDS)
        kind = "day" if period is None else period.kind
        if kind == "week":
            return f"({days} - mod(mod({days} + 3, 7) + 7, 7))"
        return days if kind == "day" else sql.first_day(days, kind)

    def _spelled(self) -> str:
        """The keys as lots are drawn of them: the letter of their type, their length, a colon and themselves."""
        import pyarrow as pa

        spelled = []
        for own, part, name in zip(self._columns, self._parts, self._names, strict=True):
            is_text, is_truth = pa.types.is_string(own.kind), pa.types.is_boolean(own.kind)
            letter = "s" if is_text else "b" if is_truth else "d" if pa.types.is_temporal(own.kind) else "i"
            if part.period is not None and part.period.kind == "hour":
                letter = "h"
            key = (
                name if is_text else f"CASE WHEN {name} THEN '1' ELSE '0' END" if is_truth else self._sql.as_text(name)
            )
            spelled.append(f"'{letter}' || {self._sql.as_text(f'octet_length({key})')} || ':' || {key}")
        return " || ".join(spelled)


def _as_value(day: date, kind: Any) -> date:
    """The beginning of a day, to compare with dates or times of a type."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return day
    return datetime.combine(day, time(), None if kind.tz is None else UTC)


def refuse_search(rows: Rows, kind_of: Callable[[str], Any], engine: str) -> None:
    """Refuse periods that a database cannot cut as they are cut here."""
    import pyarrow as pa

    assert rows.searched is not None
    by = rows.by if isinstance(rows.by, list) else [rows.by]
    for column, part in zip(by, rows.searched.parts, strict=True):
        period = part.period
        if period is None:
            continue
        is_text = pa.types.is_string(kind_of(str(column)))
        if is_text or (period.kind == "hour" and period.zone not in (None, "UTC")):
            raise RefusedValue(
                "by",
                Reason.UNSUPPORTED,
                "{period}: {engine} cannot find these periods",
                "{remedy}",
                period=str(period),
                engine=engine,
                remedy="cast the column to dates or times" if is_text else "leave `zone` out, or list the hours",
            )
