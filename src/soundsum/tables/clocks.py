"""The beginnings of days and hours, as seconds: since 1970 in UTC, or on a clock without a zone since it showed 1970.

A day begins with the first instant at which the clock shows its midnight or later. An hour begins where the clock shows
a full hour, or is changed, and ends where the next begins: one that comes twice is two hours, one that is skipped none.
So days and hours follow each other without gaps, and each instant is in one of each. All of it is public: no record is
looked at here.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from soundsum.numbers.quoting import quote as say_back
from soundsum.refusals import Reason, RefusedValue

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
