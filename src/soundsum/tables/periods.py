"""Dates and times in groups by year, month, week, day or hour: which periods there are, and where they begin and end.

A period is the instants from its start to before its end, both computed here from what is public; records are only
compared with them. Times with a zone are cut in UTC or in `zone=`, those without as their clocks show them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, NoReturn, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.timestamps import (
    DAY,
    EPOCH,
    HOUR,
    PATTERN,
    Wanted,
    day_start,
    find_zone,
    hour_end,
    hours_shown,
    is_hour_start,
    offset_at,
    second_of,
    show,
)

Start: TypeAlias = date | int
"""The key of a period: its first day, or the second at which an hour begins."""

SPELLED = {"year": "2024", "month": "2024-01", "week": "2024-W05", "day": "2024-01-31", "hour": "2024-01-31T07"}
MOST_PERIODS = 100_000  # made from a range, which a few letters ask for; twelve years of hours are more
EARLIEST, LATEST = date(2, 1, 1), date(9998, 12, 31)
"""Between these, Python has dates for where periods begin and end in every zone."""

ANY = Wanted(instants=False, times=False)


@dataclass(frozen=True)
class Period:
    """A column of dates or times, cut into periods of a kind: those from first to last, or those listed elsewhere."""

    column: str
    kind: str
    first: Any = None
    last: Any = None
    zone: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.column, str):
            raise RefusedType(
                "column",
                Reason.WRONG_TYPE,
                "{kind}({given}) does not name a column",
                "name the column of dates or times, such as 'admitted'",
                kind=self.kind,
                given=quote(self.column),
            )
        if not isinstance(self.zone, str | tzinfo | None):
            raise RefusedType(
                "zone",
                Reason.WRONG_TYPE,
                "`zone={given}` is not the name of a time zone",
                "give one such as 'Europe/Vienna'",
                given=quote(self.zone),
            )
        if self.zone is not None:
            object.__setattr__(self, "zone", str(self.zone))
            find_zone(str(self.zone))
        if (self.first is None) != (self.last is None):
            raise RefusedValue(
                "last" if self.last is None else "first",
                Reason.MISSING,
                "{period}: {option} is missing",
                "give both first and last, or neither and list the {kind}s in `groups`",
                period=str(self),
                kind=self.kind,
            )
        if self.first is not None:
            if self.zone is None and (is_aware(self.first) or is_aware(self.last)):
                object.__setattr__(self, "zone", "UTC")
            first, last = self.read(self.first, "first"), self.read(self.last, "last")
            if last < first:  # type: ignore[operator]
                raise RefusedValue(
                    "last",
                    Reason.SWAPPED,
                    "{period}: last is before first",
                    "give the earlier one first",
                    period=str(self),
                )
            object.__setattr__(self, "first", self.name(first))
            object.__setattr__(self, "last", self.name(last))

    def __str__(self) -> str:
        """The period as requests and queries spell it: `month(seen)`, or `month(sent, Europe/Vienna)`."""
        return f"{self.kind}({self.column}{'' if self.zone is None else f', {self.zone}'})"

    @property
    def heading(self) -> str:
        """The name of a column of these periods."""
        return f"{self.column}_{self.kind}"

    @property
    def has_range(self) -> bool:
        return self.first is not None

    @property
    def clock(self) -> ZoneInfo | None:
        return None if self.zone is None else find_zone(self.zone)

    def every(self) -> list[Start]:
        """All from first to last."""
        found = []
        for start in self._from(self.read(self.first, "first"), self.read(self.last, "last")):
            found.append(start)
            if len(found) > MOST_PERIODS:
                raise RefusedValue(
                    "last",
                    Reason.TOO_MANY,
                    "{period}: the range from first to last has more than {most} {kind}s",
                    "give a shorter range",
                    period=str(self),
                    most=f"{MOST_PERIODS:,}",
                    kind=self.kind,
                )
        return found

    def between(self, lower: Any, upper: Any) -> Period:
        """With the range of an owner's bounds: the periods that these are in, a day as a whole."""
        low, high = second_of(lower, ANY), second_of(upper, ANY)
        if low is None or high is None:
            return self
        low, high = self._instant(lower, low, "first"), self._instant(upper, high, "last")
        if _is_day(upper):
            high = day_start(_day_of(high + offset_at(high, self.clock)) + timedelta(1), self.clock) - 1
        return replace(self, first=self.name(self.start_around(low)), last=self.name(self.start_around(high)))

    def name(self, start: Start, aware: bool = False) -> date:
        """The label of a period: its first day, or the start of an hour."""
        if isinstance(start, date):
            return start
        moment = show(start, self.clock)
        return moment if aware or self.zone is not None else moment.replace(tzinfo=None)

    def spell(self, name: date) -> str:
        """A period's name as people write it, and as groups= takes it.

        >>> month("seen").spell(date(2024, 1, 1)), week("seen").spell(date(2024, 1, 29))
        ('2024-01', '2024-W05')
        """
        if isinstance(name, datetime):
            return name.isoformat(" ", "minutes")
        if self.kind == "week":
            iso = name.isocalendar()
            return f"{iso.year:04d}-W{iso.week:02d}"
        return name.isoformat()[: {"year": 4, "month": 7}.get(self.kind)]

    def span(self, start: Start) -> tuple[int, int]:
        """From which second to before which a period is."""
        if isinstance(start, date):
            return day_start(start, self.clock), day_start(_after(self.kind, start), self.clock)
        return start, hour_end(start, self.clock)

    def read(self, given: Any, role: str = "groups") -> Start:
        """The start of the period that somebody names: by text, or by its first day or instant."""
        if isinstance(given, np.datetime64):
            given = given.astype("M8[us]")
        plain = given.item() if isinstance(given, np.generic) else given
        return self._read_hour(plain, role) if self.kind == "hour" else self._read_day(plain, role)

    def _read_day(self, given: Any, role: str) -> date:
        found: date | None = None
        if self.kind == "year" and type(given) is int and EARLIEST.year <= given <= LATEST.year:
            found = date(given, 1, 1)
        elif isinstance(given, str):
            found = _spelled_day(self.kind, given.strip())
        elif isinstance(given, datetime):
            second = self._second_of(given, role)
            if is_aware(given):
                day = _day_of(second + offset_at(second, self.clock))
                found = day if second == day_start(day, self.clock) else None
            else:
                found = None if second % DAY else _day_of(second)
        elif isinstance(given, date):
            found = given
        if found is None or _first_day(self.kind, found) != found:
            self._refuse_start(given, role)
        self._require_near(found, given, role)
        return found

    def _read_hour(self, given: Any, role: str) -> int:
        second = self._second_of(given, role)
        if is_aware(given):
            if not is_hour_start(second, self.clock):
                self._refuse_start(given, role)
            return second
        found = [] if second % HOUR else hours_shown(second, self.clock)
        if not found:
            self._refuse_start(given, role)
        if len(found) > 1 and role == "groups" and not getattr(given, "fold", False):
            both = " and ".join(show(one, self.clock).isoformat(timespec="minutes") for one in found)
            raise RefusedValue(
                role,
                Reason.REPEATED,
                "{period}: {given} comes twice, as clocks are put back",
                "give {both}, or one of them",
                period=str(self),
                given=quote(given),
                both=both,
            )
        return found[0] if role == "first" else found[-1]

    def _second_of(self, given: Any, role: str) -> int:
        second = second_of(given, Wanted(instants=False, times=True))
        if second is None or getattr(given, "microsecond", None):
            self._refuse_start(given, role)
        self._require_near(second, given, role)
        return second

    def _require_near(self, start: Start, given: Any, role: str) -> None:
        place = start.toordinal() if isinstance(start, date) else EPOCH + start // DAY
        if not EARLIEST.toordinal() <= place <= LATEST.toordinal():
            raise RefusedValue(
                role,
                Reason.UNSUPPORTED,
                "{period}: {given} is too far away",
                "give years from {earliest} to {latest}",
                period=str(self),
                given=quote(given),
                earliest=EARLIEST.year,
                latest=LATEST.year,
            )

    def _instant(self, bound: Any, second: int, role: str) -> int:
        """The instant at which a clock shows an owner's bound, or of one that says how far it is from UTC."""
        self._require_near(second, bound, role)
        if self.clock is None or is_aware(bound):
            return second
        if _is_day(bound):
            return day_start(_day_of(second), self.clock)
        wall = datetime.fromtimestamp(second, UTC).replace(tzinfo=self.clock)
        return int(wall.timestamp())

    def _refuse_start(self, given: Any, role: str) -> NoReturn:
        facts = {
            "period": str(self),
            "given": quote(given),
            "one": f"an {self.kind}" if self.kind == "hour" else f"a {self.kind}",
            "kind": self.kind,
            "example": repr(SPELLED[self.kind]),
        }
        if isinstance(given, str) and ".." in given:
            raise RefusedValue(
                role,
                Reason.MALFORMED,
                "{period}: {given} is not {one}",
                "give {kind}s such as {example}, or for all of a range `ss.{kind}({column}, first, last)`",
                column=quote(self.column),
                **facts,
            )
        raise RefusedValue(
            role,
            Reason.MALFORMED,
            "{period}: {given} is not {one}",
            "give {kind}s such as {example}",
            **facts,
        )

    def _from(self, first: Start, last: Start) -> Iterator[Start]:
        start = first
        while start <= last:  # type: ignore[operator]
            yield start
            start = _after(self.kind, start) if isinstance(start, date) else hour_end(start, self.clock)

    def start_around(self, second: int) -> Start:
        """The period that an instant is in."""
        if self.kind == "hour":
            start = hour_end(second - 7200, self.clock)
            while (end := hour_end(start, self.clock)) <= second:
                start = end
            return start
        day = _day_of(second + offset_at(second, self.clock))
        if day_start(day + timedelta(1), self.clock) <= second:  # clocks were put back over midnight
            day += timedelta(1)
        return _first_day(self.kind, day)


def year(column: str, first: Any = None, last: Any = None, zone: Any = None) -> Period:
    """Group by year, in `by=`; first and last as 2024 or "2024". See `month`."""
    return Period(column, "year", first, last, zone)


def month(column: str, first: Any = None, last: Any = None, zone: Any = None) -> Period:
    """Group by month of a column of dates or times, in `by=`; every month of the range is released, empty ones too.

    column: the column of dates or times (in CSV, ISO 8601 text; a cell that is not a date is in no group).
    first, last: the range, both included: "2024-01", or the first day. Public: never take it from the data.
        Without a range, list the months in groups=; with one, groups= selects some of its months.
    zone: the time zone in which months of zoned times begin, such as "Europe/Vienna"; by default UTC. Times without a
        zone stay as they are.

    >>> month("admitted", "2024-01", "2024-12")
    Period(column='admitted', kind='month', first=datetime.date(2024, 1, 1), last=datetime.date(2024, 12, 1), zone=None)
    """
    return Period(column, "month", first, last, zone)


def week(column: str, first: Any = None, last: Any = None, zone: Any = None) -> Period:
    """Group by ISO week, from Monday, in `by=`; first and last as "2024-W05" or Mondays. See `month`."""
    return Period(column, "week", first, last, zone)


def day(column: str, first: Any = None, last: Any = None, zone: Any = None) -> Period:
    """Group by day, in `by=`; first and last as "2024-01-31" or dates. See `month`."""
    return Period(column, "day", first, last, zone)


def hour(column: str, first: Any = None, last: Any = None, zone: Any = None) -> Period:
    """Group by hour of a column of times, in `by=`; first and last as "2024-01-31T07" or datetimes. See `month`.

    When clocks go back, the repeated hour makes two groups with different UTC offsets; a skipped hour makes none.
    """
    return Period(column, "hour", first, last, zone)


def _spelled_day(kind: str, text: str) -> date | None:
    """The first day of a period as it is spelled, or as its date."""
    try:
        if kind == "week" and (found := re.fullmatch(r"([0-9]{4})-W([0-9]{2})", text)):
            return date.fromisocalendar(int(found[1]), int(found[2]), 1)
        whole = {"year": f"{text}-01-01", "month": f"{text}-01"}.get(kind, text)
        pattern = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
        return date.fromisoformat(next(t for t in (whole, text) if re.fullmatch(pattern, t)))
    except (ValueError, StopIteration):
        return None


def _first_day(kind: str, day: date) -> date:
    """The first day of the period that a day is in."""
    if kind == "week":
        return day - timedelta(day.weekday())
    return day if kind == "day" else day.replace(day=1) if kind == "month" else day.replace(month=1, day=1)


def _after(kind: str, start: date) -> date:
    """The first day of the next period."""
    if kind in ("day", "week"):
        return start + timedelta(1 if kind == "day" else 7)
    months = 1 if kind == "month" else 12
    return date(start.year + (start.month - 1 + months) // 12, (start.month - 1 + months) % 12 + 1, 1)


def _day_of(second: int) -> date:
    return date.fromordinal(EPOCH + second // DAY)


def is_aware(given: Any) -> bool:
    """Returns whether a period's first day or time states its offset from UTC."""
    if isinstance(given, str):
        found = PATTERN.fullmatch(given.strip())
        return found is not None and bool(found["utc"])
    return isinstance(given, datetime) and given.utcoffset() is not None


def _is_day(bound: Any) -> bool:
    if isinstance(bound, str):
        found = PATTERN.fullmatch(bound.strip())
        return found is not None and not found["hour"]
    return not isinstance(bound, datetime)
