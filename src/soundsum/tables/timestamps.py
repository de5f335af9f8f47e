"""Dates and times as seconds, and the beginnings of days and hours.

Seconds count from 1970: in UTC where a time says how far it is from that, otherwise as its clock shows it. Times come
as Python's objects, ISO 8601 text or Arrow's integers. Parts of a second are left out, which moves no time over a full
second. Each value is read on its own; what is no date or time of the kind looked for, or is too long, is None, or not
present, and nothing raises.

A day begins with the first instant at which the clock shows its midnight or later. An hour begins where the clock shows
a full hour, or is changed, and ends where the next begins: one that comes twice is two hours, one that is skipped none.
So days and hours follow each other without gaps, and each instant is in one of each.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.numbers.quoting import quote as say_back
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import strip

HOUR, DAY = 3600, 86400
EPOCH = date(1970, 1, 1).toordinal()
START = datetime(1970, 1, 1, tzinfo=UTC)


def find_zone(name: str) -> ZoneInfo:
    """The zone of a name such as Europe/Vienna."""
    with suppress(OSError, TypeError, ValueError, LookupError):  # a folder, no text, ../, or no such zone
        return ZoneInfo(name)
    raise RefusedValue(
        "zone",
        Reason.UNKNOWN,
        "`zone={given}` is not a time zone known here",
        "give one such as 'Europe/Vienna'",
        given=say_back(name),
    )


def clock_second(moment: datetime) -> int:
    """The seconds of what a clock shows, whatever its zone."""
    clock = moment.hour * HOUR + moment.minute * 60 + moment.second
    return (moment.toordinal() - EPOCH) * DAY + clock


def offset_at(second: int, zone: ZoneInfo | None) -> int:
    """The clock's offset from UTC at an instant."""
    return 0 if zone is None else _seconds(_in_zone(second, zone).utcoffset())


def day_start(day: date, zone: ZoneInfo | None) -> int:
    """The first instant of a day: at which the clock shows its midnight, or more where midnight is skipped."""
    midnight = datetime(day.year, day.month, day.day)
    wanted = clock_second(midnight)
    if zone is None:
        return wanted
    before, after = (_seconds(midnight.replace(tzinfo=zone, fold=fold).utcoffset()) for fold in (0, 1))
    late = wanted - before
    if offset_at(late, zone) == before:  # it is shown, perhaps twice; this is the first time
        return late
    early = wanted - after  # before the clock is put forward over midnight, as `late` is after it
    while late - early > 1:
        middle = (early + late) // 2
        early, late = (early, middle) if middle + offset_at(middle, zone) >= wanted else (middle, late)
    return late


def hour_end(second: int, zone: ZoneInfo | None) -> int:
    """The end of the hour that an instant is in: the next full hour on the clock, or a change of it."""
    now = offset_at(second, zone)
    late = second + HOUR - (second + now) % HOUR
    if zone is None or offset_at(late, zone) == now:
        return late
    early = second
    while late - early > 1:  # to the first instant after the change
        middle = (early + late) // 2
        early, late = (middle, late) if offset_at(middle, zone) == now else (early, middle)
    return late


def is_hour_start(second: int, zone: ZoneInfo | None) -> bool:
    return hour_end(second - 1, zone) == second


def hours_shown(wanted: int, zone: ZoneInfo | None) -> list[int]:
    """The beginnings of the hours during which the clock shows the one that begins with `wanted`: none, one or two."""
    if zone is None:
        return [wanted]
    clock = (START + timedelta(seconds=wanted)).replace(tzinfo=zone)
    offsets = [_seconds(clock.replace(fold=fold).utcoffset()) for fold in (0, 1)]
    start, found = hour_end(wanted - max(offsets) - 2 * HOUR, zone), []
    while start <= wanted - min(offsets) + HOUR:
        if (start + offset_at(start, zone)) // HOUR == wanted // HOUR:
            found.append(start)
        start = hour_end(start, zone)
    return found


def show(second: int, zone: ZoneInfo | None) -> datetime:
    """The clock's reading at an instant, with its offset from UTC.

    Not with the zone: Python takes the two hours of a zone that are shown alike for the same.
    """
    if zone is None:
        return START + timedelta(seconds=second)
    ahead = timezone(timedelta(seconds=offset_at(second, zone)))
    return (START + timedelta(seconds=second)).astimezone(ahead)


def _in_zone(second: int, zone: ZoneInfo) -> datetime:
    return (START + timedelta(seconds=second)).astimezone(zone)


def _seconds(offset: timedelta | None) -> int:
    assert offset is not None
    return offset.days * DAY + offset.seconds


TEXT = (
    "(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    "(?:[T ](?P<hour>[0-9]{2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?)?"
    "(?P<utc>Z|(?P<sign>[+-])(?P<ahead>[0-9]{2})(?::?(?P<minutes>[0-9]{2})(?::?(?P<seconds>[0-9]{2}))?)?)?)?"
)
"""A date, or a date and a time of day to the hour or finer, perhaps with how far it is from UTC.

White space around it is left out."""

PATTERN = re.compile(TEXT, re.ASCII)
CLOCK = ("hour", "minute", "second", "ahead", "minutes", "seconds")
FINER = {"ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Wanted(NamedTuple):
    """The values looked for: with `instants` those that state their offset from UTC, with `times` no dates."""

    instants: bool
    times: bool


def second_of(value: Any, wanted: Wanted) -> int | None:
    """The second of an object of any class."""
    try:
        if isinstance(value, str):
            return _second_of_text(value, wanted)
        if isinstance(value, np.datetime64):
            finer = FINER.get(np.datetime_data(value.dtype)[0])
            plain = value.item()
            if finer is None:
                return second_of(plain, wanted) if isinstance(plain, date) else None
            return None if wanted.instants or plain is None else plain // finer
        if isinstance(value, datetime):
            ahead = value.utcoffset()
            if ahead is None:
                return None if wanted.instants else clock_second(value)
            return clock_second(value) - ahead.days * DAY - ahead.seconds - (ahead.microseconds > value.microsecond)
        if isinstance(value, date):
            return None if wanted.instants or wanted.times else (value.toordinal() - EPOCH) * DAY
    except Exception:  # of NaT, or a class of somebody's own
        return None
    return None


def _second_of_text(text: str, wanted: Wanted) -> int | None:
    found = PATTERN.fullmatch(strip(text))
    if found is None:
        return None
    day = date(int(found["year"]), int(found["month"]), int(found["day"]))
    hour, minute, second, ahead, *more = (int(found[name] or 0) for name in CLOCK)
    if max(hour, ahead) > 23 or max(minute, second, *more) > 59:
        return None
    if (wanted.instants and not found["utc"]) or (wanted.times and not found["hour"]):
        return None
    offset = (ahead * HOUR + more[0] * 60 + more[1]) * (-1 if found["sign"] == "-" else 1)
    return (day.toordinal() - EPOCH) * DAY + hour * HOUR + minute * 60 + second - offset


def seconds_of_text(texts: Any, wanted: Wanted) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The second of every text of an Arrow array, and which have one: as `second_of` has it, by the kernel."""
    import pyarrow as pa

    size, flags = len(texts), np.zeros(len(texts), np.uint8)
    seconds = np.zeros(size, np.int64)
    if size:
        _, offsets, data = texts.buffers()
        width = np.dtype(np.int64 if pa.types.is_large_string(texts.type) else np.int32)
        ends = np.frombuffer(offsets, width, size + 1, texts.offset * width.itemsize)
        _parse(np.frombuffer(data or b"", np.uint8), ends, wanted, seconds, flags)
    return seconds, flags.view(bool)


def _parse(
    data: NDArray[np.uint8], ends: NDArray[Any], wanted: Wanted, seconds: NDArray[np.int64], flags: NDArray[np.uint8]
) -> None:
    """Some texts at a time, as the kernel counts bytes in 32 bits; one that is longer is no date."""
    if ends[-1] - ends[0] < 1 << 32:
        places = np.stack([ends[:-1] - ends[0], np.diff(ends)], axis=1).astype(np.uint32)
        native.parse_moments(data[ends[0] : ends[-1]], places, wanted.instants, wanted.times, seconds, flags)
    elif len(ends) > 2:
        half = len(flags) // 2
        _parse(data, ends[: half + 1], wanted, seconds[:half], flags[:half])
        _parse(data, ends[half:], wanted, seconds[half:], flags[half:])


def units_of(kind: Any) -> tuple[int, int] | None:
    """The ratio of a date's or timestamp's integers to seconds, by its Arrow type; None for other types."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return PER_SECOND[kind.unit], 1
    return {pa.date32(): (1, DAY), pa.date64(): (1000, 1)}.get(kind)


def is_exact(value: Any, kind: Any) -> bool:
    """Returns whether an Arrow type holds a date or time exactly: Arrow would cut it off, or convert it to UTC."""
    import pyarrow as pa

    if not isinstance(value, datetime):
        return isinstance(value, date) and pa.types.is_date(kind)
    finer = value.microsecond * 1000 + getattr(value, "nanosecond", 0)  # which pandas has
    if pa.types.is_date(kind):
        return value.utcoffset() is None and not clock_second(value) % DAY and not finer
    return (value.utcoffset() is None) == (kind.tz is None) and not finer * PER_SECOND[kind.unit] % 10**9
