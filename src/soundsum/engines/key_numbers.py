"""The keys of groups that nobody listed, numbered as rows come.

Each key becomes an integer or a text (tuples the numbers of their parts), and equal ones get one number. Numbers follow
the order in which keys come, so they go no further than the engine; lots are drawn from the keys themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.kernels.persons import IntegerCodes, TextWords
from soundsum.tables.arrow_arrays import as_int64, bits_of, stored_bits, stored_numbers
from soundsum.tables.cells import LONGEST
from soundsum.tables.found_keys import KeyColumn, KeyParts
from soundsum.tables.identities import WRITTEN, identify
from soundsum.tables.periods import EARLIEST, LATEST, Period
from soundsum.tables.timestamps import DAY, EPOCH, HOUR, Wanted, second_of, seconds_of_text, units_of

FIRST_DAY, LAST_DAY = EARLIEST.toordinal() - EPOCH, LATEST.toordinal() - EPOCH

Texts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.bool_]]
"""Keys as texts: where each begins, their bytes, and which are there."""

Integers: TypeAlias = tuple[NDArray[np.int64], NDArray[np.bool_]]
"""Keys as integers, and which are there."""


class KeyNumbers:
    """The numbers of all keys met so far, and the keys themselves."""

    def __init__(self, parts: Sequence[KeyColumn], kinds: Sequence[Any]) -> None:
        """`kinds` are the Arrow types of the columns, None for one of Python objects."""
        self._leaves = [_make_leaf(part, kind) for part, kind in zip(parts, kinds, strict=True)]
        self._tuples = TextWords() if len(parts) > 1 else None

    def find(self, keys: Sequence[Any]) -> NDArray[np.int32]:
        """The number of every row's key, by the keys of each column; -1 for none."""
        codes = [leaf.find(own) for leaf, own in zip(self._leaves, keys, strict=True)]
        if self._tuples is None:
            return codes[0]
        joined = np.ascontiguousarray(np.stack(codes, axis=1))
        offsets = np.arange(len(joined) + 1, dtype=np.int64) * (4 * len(codes))
        there = np.logical_and.reduce([own >= 0 for own in codes])
        return self._tuples.find_codes(offsets, joined.view(np.uint8).reshape(-1), np.asarray(there, bool))

    @property
    def size(self) -> int:
        """All numbers are below this."""
        return (self._tuples or self._leaves[0].met).codes

    def names_for_lots(self) -> native.KeyNames:
        """How keys are spelled, whatever their numbers; no key is found after this."""
        columns = [(leaf.met.as_names(), leaf.letter) for leaf in self._leaves]
        return native.KeyNames(columns, None if self._tuples is None else self._tuples.as_names())

    def keys(self, numbers: NDArray[np.int64]) -> list[KeyParts]:
        """The keys of some numbers, column by column, once `names_for_lots` was called."""
        codes = numbers.astype(np.int32)
        if self._tuples is None:
            return [self._leaves[0].keys(codes)]
        _, data = self._tuples.list_codes(codes)
        each = np.frombuffer(data, np.int32).reshape(-1, len(self._leaves))
        return [leaf.keys(each[:, place]) for place, leaf in enumerate(self._leaves)]


class _TextLeaf:
    """The keys of a column of texts, or of Python objects as texts."""

    def __init__(self, letter: str, read: Callable[[Any], Texts]) -> None:
        self.met, self.letter, self._read = TextWords(), letter, read

    def find(self, keys: Any) -> NDArray[np.int32]:
        return self.met.find_codes(*self._read(keys))

    def keys(self, codes: NDArray[np.int32]) -> KeyParts:
        offsets, data = self.met.list_codes(codes)
        ends = offsets.tolist()
        texts = [data[start:end] for start, end in pairwise(ends)]
        return texts if self.letter == "s" else list(map(_decode_object, texts))


class _IntegerLeaf:
    """The keys of a column of integers, or of what is as good: truth values, dates and periods."""

    def __init__(self, letter: str, read: Callable[[Any], Integers]) -> None:
        self.met, self.letter, self._read = IntegerCodes(), letter, read

    def find(self, keys: Any) -> NDArray[np.int32]:
        return self.met.find_codes(*self._read(keys))

    def keys(self, codes: NDArray[np.int32]) -> KeyParts:
        found = self.met.list_codes(codes)
        return found.view(np.uint64) if self.letter == "u" else found == 1 if self.letter == "b" else found


def _make_leaf(part: KeyColumn, kind: Any) -> _TextLeaf | _IntegerLeaf:
    """The letter of a column's keys, and how they become texts or integers."""
    import pyarrow as pa

    if part.period is not None:
        return _IntegerLeaf("h" if part.period.kind == "hour" else "d", _period_reader(part, kind))
    if kind is None:
        return _TextLeaf("o", _read_objects)
    types = pa.types
    if types.is_null(kind):
        return _IntegerLeaf("i", lambda keys: (np.zeros(len(keys), np.int64), bits_of(keys)))
    if types.is_boolean(kind):
        return _IntegerLeaf("b", lambda keys: (stored_bits(keys).astype(np.int64), bits_of(keys)))
    if types.is_date(kind):
        per_day = 1 if types.is_date32(kind) else 1000 * DAY
        return _IntegerLeaf("d", lambda keys: (_whole(keys) // per_day, _days_there(keys, per_day)))
    if types.is_integer(kind):
        return _IntegerLeaf("u" if types.is_uint64(kind) else "i", lambda keys: (as_int64(keys), bits_of(keys)))
    return _TextLeaf("s", _read_text)


def _whole(keys: Any) -> NDArray[np.int64]:
    return stored_numbers(keys).astype(np.int64, copy=False)


def _days_there(keys: Any, per_day: int) -> NDArray[np.bool_]:
    days = _whole(keys) // per_day
    return bits_of(keys) & (days >= FIRST_DAY) & (days <= LAST_DAY)


def _read_text(keys: Any) -> Texts:
    import pyarrow as pa

    keys = keys.cast(pa.large_string())
    if not len(keys):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8), np.zeros(0, bool)
    _, offsets, data = keys.buffers()
    starts = np.frombuffer(offsets, np.int64, len(keys) + 1, 8 * keys.offset)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return starts, text, bits_of(keys) & (starts[1:] - starts[:-1] <= LONGEST)


def _read_objects(keys: list[Any]) -> Texts:
    found = [_object_key(one) for one in keys]
    sizes = [0 if one is None else len(one) for one in found]
    offsets = np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)
    data = np.frombuffer(b"".join(one for one in found if one is not None), np.uint8)
    return offsets, data, np.array([one is not None for one in found], bool)


def _object_key(x: Any) -> bytes | None:
    """The letter of its type, and its text, digits or days; None for an object of any other kind."""
    kind = type(x)
    is_day = issubclass(kind, date) and not issubclass(kind, datetime)
    if not (is_day or issubclass(kind, str | int | np.integer | np.bool_)):
        return None
    found = identify(x)
    if found is None or (found[:1] == b"n" and not -WRITTEN < int(found[1:], 0) < WRITTEN):
        return None
    return {b"s": b"s", b"n": b"i", b"D": b"d"}[found[:1]] + found[1:]


def _decode_object(text: bytes) -> tuple[str, int] | tuple[str, bytes]:
    letter = text[:1].decode()
    return (letter, text[1:]) if letter == "s" else (letter, int(text[1:]))


# Periods


def _period_reader(part: KeyColumn, kind: Any) -> Callable[[Any], Integers]:
    """Reads the start of every row's period: a day since 1970, or the second at which an hour begins."""
    import pyarrow as pa

    period, limits = part.period, part.limits
    assert period is not None
    assert limits is not None
    find_start = _hour_finder(period) if period.kind == "hour" else _day_finder(period)
    is_text = kind is not None and (pa.types.is_string(kind) or pa.types.is_large_string(kind))
    wanted = Wanted(instants=period.zone is not None, times=period.kind == "hour")

    def read(keys: Any) -> Integers:
        if isinstance(keys, list):
            seconds = [second_of(one, wanted) for one in keys]
            there = np.array([one is not None for one in seconds], bool)
            second = np.array([one or 0 for one in seconds], np.int64)
        elif is_text:
            second, there = seconds_of_text(keys, wanted)
            there = there & bits_of(keys)
        elif pa.types.is_null(kind):
            second, there = np.zeros(len(keys), np.int64), np.zeros(len(keys), bool)
        else:
            units, seconds_each = units_of(kind) or (1, 1)
            second, there = _seconds(_whole(keys), units, seconds_each), bits_of(keys)
        is_near = (second >= FIRST_DAY * DAY) & (second < LAST_DAY * DAY)
        start = find_start(np.where(is_near, second, 0))
        return start, there & is_near & (start >= limits[0]) & (start <= limits[1])

    return read


def _seconds(values: NDArray[np.int64], units: int, seconds: int) -> NDArray[np.int64]:
    """Whole seconds of dates or times; of dates, those beyond the years that have periods are held at the ends."""
    if seconds > 1:
        return np.clip(values, FIRST_DAY - 1, LAST_DAY + 1) * seconds
    return values // units


def _local(period: Period, seconds: NDArray[np.int64]) -> NDArray[np.int64]:
    """The seconds that the period's clock shows."""
    if period.zone is None or period.zone == "UTC":
        return seconds
    import pyarrow as pa
    import pyarrow.compute as pc

    return stored_numbers(pc.local_timestamp(pa.array(seconds).view(pa.timestamp("s", period.zone))))


def _day_finder(period: Period) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    def find(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
        days = _local(period, seconds) // DAY
        if period.kind == "week":
            return days - (days + 3) % 7  # 1970 began on a Thursday
        if period.kind == "day":
            return days
        unit = f"M8[{'M' if period.kind == 'month' else 'Y'}]"
        return days.view("M8[D]").astype(unit).astype("M8[D]").view(np.int64)

    return find


def _hour_finder(period: Period) -> Callable[[NDArray[np.int64]], NDArray[np.int64]]:
    known: dict[int, int] = {}

    def find(seconds: NDArray[np.int64]) -> NDArray[np.int64]:
        starts = seconds - _local(period, seconds) % HOUR
        if period.zone in (None, "UTC"):
            return starts
        some, places = np.unique(starts, return_inverse=True)  # clocks may be put forward or back within an hour
        for start in some.tolist():
            if start not in known:
                known[start] = int(period.start_around(start))  # type: ignore[arg-type]
        return np.array([known[start] for start in some.tolist()], np.int64)[places]

    return find
