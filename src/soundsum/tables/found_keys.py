"""Groups that nobody listed: the columns whose keys are groups, and the names of the groups found.

Keys are text, integers, booleans, dates, periods of dates and times, or tuples of these; a column without a type is
read object by object. Text is a key by its bytes. A missing key is never a group, and neither is text longer than
LONGEST or not UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import say_kind
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.keys import Codes
from soundsum.tables.period_groups import Periods
from soundsum.tables.periods import EARLIEST, LATEST, SPELLED, Period
from soundsum.tables.timestamps import DAY, EPOCH

KeyParts: TypeAlias = NDArray[Any] | list[Any]
"""A column's keys as they are put in order: numbers or bytes; of an untyped column, each after its type's letter."""


class KeyColumn:
    """A column whose values are groups, or are cut into periods that are."""

    def __init__(self, period: Period | None = None) -> None:
        self.period = period
        self._example = (
            None if period is None else Periods(replace(period, first=None, last=None), [SPELLED[period.kind]])
        )

    def read_from_text(self) -> Any:
        """The type in which a column of text is read."""
        import pyarrow as pa

        return pa.string()

    def codes(self, keys: Any) -> Codes:
        """Refuse the type of a column that holds no such keys, shown by an empty one."""
        import pyarrow as pa

        if self._example is not None:
            return self._example.codes(keys)
        if not isinstance(keys, list) and not _is_key_type(keys.type):
            is_time = pa.types.is_timestamp(keys.type)
            raise RefusedValue(
                "by",
                Reason.UNSUPPORTED,
                "groups are found in columns of text, integers, truth values or dates, and this one is {kind}",
                "{remedy}",
                kind=say_kind(keys.type),
                remedy="group by day, month or year" if is_time else "cast it, or list the groups",
            )
        return np.zeros(0, np.int32)

    def __str__(self) -> str:
        """The period, with the time zone it is cut in, if any."""
        return str(self._example) if self._example is not None else ""

    @property
    def named_period(self) -> Period | None:
        """The period with the zone that its names have: that of the column's times where it has none of its own."""
        if self.period is None or self._example is None or not self._example.is_aware:
            return self.period
        return replace(self.period, zone=self.period.zone or "UTC")

    @property
    def limits(self) -> tuple[int, int] | None:
        """The first and the last key that periods may have: those of their range, or of the years that have periods."""
        if self.period is None:
            return None
        if not self.period.has_range:
            unit = DAY if self.period.kind == "hour" else 1
            first, last = ((end.toordinal() - EPOCH) * unit for end in (EARLIEST, LATEST))
            return first, last
        starts = [
            self.period.read(end, role) for end, role in ((self.period.first, "first"), (self.period.last, "last"))
        ]
        first, last = (start if isinstance(start, int) else start.toordinal() - EPOCH for start in starts)
        return first, last

    def name(self, decoded: Any) -> Any:
        """The group's name, from its key; None for one that is no name."""
        if self.period is None:
            return decoded
        start = decoded if self.period.kind == "hour" else date.fromordinal(EPOCH + decoded)
        return self.period.name(start, self._example is not None and self._example.is_aware)


class SearchedGroups:
    """All groups in one or several columns; stands where a list of groups does.

    >>> [str(part) for part in SearchedGroups(["ward", Period("seen", "month")]).parts]
    ['', 'month(seen)']
    """

    def __init__(self, by: Any) -> None:
        columns = by if isinstance(by, list) else [by]
        self.parts = [KeyColumn(one if isinstance(one, Period) else None) for one in columns]


def _is_key_type(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind)
    return is_text or any(
        is_such(kind) for is_such in (types.is_integer, types.is_boolean, types.is_date, types.is_null)
    )


def has_one_key(part: KeyColumn, kind: Any) -> bool:
    """Whether rows of a listed group are those with the one key that it was found by, whatever they hold.

    Not so of Python objects, which are also looked up as they are spelled, of periods, and of dates with a time of day.
    """
    import pyarrow as pa

    return part.period is None and kind is not None and not pa.types.is_date64(kind)


def sort_keys(columns: Sequence[KeyParts]) -> NDArray[np.intp]:
    """The places of keys in their order, from the keys of each column."""
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) == len(columns):
        return np.argsort(arrays[0]) if len(arrays) == 1 else np.lexsort(arrays[::-1])
    each = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns]
    keys: Sequence[Any] = each[0] if len(each) == 1 else list(zip(*each, strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.intp)


def name_groups(
    parts: Sequence[KeyColumn], keys: Sequence[KeyParts], kinds: Sequence[Any], order: NDArray[np.intp]
) -> list[Any]:
    """The names of groups in an order, from the keys of each column: Python's own values, made anew; None for no name.

    A group of several columns is a tuple.
    """
    named = [_name(*own, order) for own in zip(parts, keys, kinds, strict=True)]
    return named[0] if len(parts) == 1 else [None if None in one else one for one in zip(*named, strict=True)]


def _name(part: KeyColumn, keys: KeyParts, kind: Any, order: NDArray[np.intp]) -> list[Any]:
    """The names of a column's keys."""
    import pyarrow as pa

    sorted_keys = keys[order].tolist() if isinstance(keys, np.ndarray) else [keys[place] for place in order.tolist()]
    if part.period is not None:
        return list(map(part.name, sorted_keys))
    if kind is None:
        return list(map(_name_object, sorted_keys))
    if pa.types.is_date(kind):
        return list(map(_name_day, sorted_keys))
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return list(map(_decode, sorted_keys)) if is_text else sorted_keys


def _name_object(key: tuple[str, Any]) -> Any:
    letter, decoded = key
    return _decode(decoded) if letter == "s" else _name_day(decoded) if letter == "d" else decoded


def _name_day(days: int) -> date:
    return date.fromordinal(EPOCH + days)


def _decode(text: bytes) -> str | None:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None
