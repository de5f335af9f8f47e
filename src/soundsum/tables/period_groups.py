"""Periods as groups: which of them every row's date or time is in, by comparing integers of the column's own unit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote, say_kind
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.arrow_arrays import bits_of, stored_numbers
from soundsum.tables.keys import Codes, Groups, plain_list
from soundsum.tables.periods import Period, is_aware
from soundsum.tables.timestamps import Wanted, second_of, seconds_of_text, show, units_of

INT64 = np.iinfo(np.int64)
STRETCH = 1 << 15
"""Rows that are looked up at a time, so that they stay in the cache."""


class Periods(Groups):
    """A public list of periods of one column, which stand where other groups do."""

    def __init__(self, period: Period, groups: Any = None) -> None:
        given = None if groups is None else self._require_list(groups, period)
        if given is not None and period.zone is None and any(map(is_aware, given)):
            period = replace(period, zone="UTC")
        self.period = period
        self._starts = period.every() if given is None else [period.read(one) for one in given]
        if given is not None and period.has_range:
            listed = set(period.every())
            outside = [one for one, start in zip(given, self._starts, strict=True) if start not in listed]
            if outside:
                raise RefusedValue(
                    "groups",
                    Reason.CONFLICT,
                    "`groups` names {given}, which is not from first to last",
                    "widen the range",
                    given=quote(outside[0]),
                )
        if len(set(self._starts)) < len(self._starts):
            twice = next(start for start in self._starts if self._starts.count(start) > 1)
            raise RefusedValue(
                "groups",
                Reason.REPEATED,
                "`groups` names {given} twice",
                "name each once",
                given=str(period.name(twice)),
            )
        self._aware = period.zone is not None  # or the column is, which its type says
        self._wanted = Wanted(instants=self._aware, times=period.kind == "hour")
        self._spans = [period.span(start) for start in self._starts]
        self._sorted = self._in_units(1, 1)
        self._encoders: dict[Any, Callable[[Any], Codes]] = {}

    @staticmethod
    def _require_list(groups: Any, period: Period) -> list[Any]:
        if isinstance(groups, str | bytes) or not hasattr(groups, "__iter__"):
            raise RefusedType(
                "groups",
                Reason.WRONG_TYPE,
                "`groups={given}` is not a list",
                "list the {kind}s to release, or give a range",
                given=quote(groups),
                kind=period.kind,
            )
        given = plain_list(groups)
        if not given:
            raise RefusedValue("groups", Reason.EMPTY, "`groups` is empty", "list at least one")
        return given

    def __len__(self) -> int:
        return len(self._starts)

    @property
    def is_aware(self) -> bool:
        """Whether times say which instants they are: by a zone given, or the column's own."""
        return self._aware

    def declare_aware(self, aware: bool) -> None:
        """Set whether the column's type has a zone, where another reader of the table found out."""
        self._aware = aware

    @property
    def names(self) -> list[Any]:  # type: ignore[override]
        """Their first days, or the times at which hours begin: with a zone where the column's times have one."""
        return [self.period.name(start, self._aware) for start in self._starts]

    def __str__(self) -> str:
        """The column of the periods, with the time zone they are cut in, if any."""
        in_zone = self._aware and self.period.zone is None
        return str(replace(self.period, zone="UTC") if in_zone else self.period)

    @property
    def spans(self) -> list[tuple[datetime, datetime]]:
        """From which instant to before which each period is: in UTC, or without a zone where times have none."""
        made = [(show(start, None), show(end, None)) for start, end in self._spans]
        return made if self._aware else [(a.replace(tzinfo=None), b.replace(tzinfo=None)) for a, b in made]

    def boundaries(self, kind: Any) -> list[Any]:
        """The instants at which periods begin or end, going up, as values of a type that engines compare with."""
        import pyarrow as pa

        points = sorted({point for span in self.spans for point in span})
        return [point.date() for point in points] if pa.types.is_date(kind) else points

    def typed(self, kind: Any) -> list[Any]:
        """The number of boundaries at or before a time in each period; None for a period without any."""
        places = {point: place for place, point in enumerate(sorted({point for span in self.spans for point in span}))}
        return [places[start] + 1 if start < end else None for start, end in self.spans]

    def read_from_text(self) -> Any:
        import pyarrow as pa

        return pa.string()

    def _place(self, key: Any) -> int:
        second = second_of(key, self._wanted)
        if second is None:
            return len(self)
        firsts, lasts, places = self._sorted
        at = bisect_right(firsts, second) - 1
        return places[at] if at >= 0 and second <= lasts[at] else len(self)

    def _in_units(self, units: int, seconds: int) -> tuple[list[int], list[int], list[int]]:
        """First and last integer of every period that has any, and its place, in units of which so many make `seconds`.

        A time x, in these units, is in a period from s to before e just if s <= x seconds / units < e, which is to say
        ceil(s units / seconds) <= x <= ceil(e units / seconds) - 1, in integers.
        """
        limits = [(-(-s * units // seconds), -(-e * units // seconds) - 1) for s, e in self._spans]
        some = sorted((low, high, place) for place, (low, high) in enumerate(limits) if low <= high)
        if any(high >= low for (_, high, _), (low, _, _) in pairwise(some)):
            raise RefusedValue(
                "groups",
                Reason.REPEATED,
                "{period}: two of the groups overlap",
                "name each time once",
                period=str(self.period),
            )
        return [one[0] for one in some], [one[1] for one in some], [one[2] for one in some]

    def _encoder(self, kind: Any) -> Callable[[Any], Codes]:
        import pyarrow as pa

        if pa.types.is_null(kind):
            return lambda keys: np.full(len(keys), len(self), np.int32)
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            find_second = self._finder(1, 1)

            def find_text(keys: Any) -> Codes:
                seconds, there = seconds_of_text(keys, self._wanted)
                return find_second(seconds, there & bits_of(keys))

            return find_text
        units = units_of(kind)
        if units is None:
            raise RefusedValue(
                "by",
                Reason.MISMATCH,
                "{period}: the column is {kind}, not dates or times",
                "name another column, or cast it",
                period=str(self.period),
                kind=say_kind(kind),
            )
        self._require_type(kind)
        if pa.types.is_timestamp(kind):
            self._aware = kind.tz is not None
        find = self._finder(*units)
        return lambda keys: find(stored_numbers(keys).astype(np.int64, copy=False), bits_of(keys))

    def _require_type(self, kind: Any) -> None:
        """Refuses a type of dates or times that has no periods like these."""
        import pyarrow as pa

        if pa.types.is_timestamp(kind) and kind.tz is not None:
            return
        if self.period.zone is not None:
            raise RefusedValue(
                "zone",
                Reason.MISMATCH,
                "{period}: the column is {kind}, and `zone` is for times with a zone",
                "leave it out, and name periods without one",
                period=str(self.period),
                kind=say_kind(kind),
            )
        if self.period.kind == "hour" and not pa.types.is_timestamp(kind):
            raise RefusedValue(
                "by",
                Reason.MISMATCH,
                "{period}: the column is {kind}, which have no hours",
                "ask for days, weeks, months or years",
                period=str(self.period),
                kind=say_kind(kind),
            )

    def _finder(self, units: int, seconds: int) -> Callable[[NDArray[np.int64], NDArray[np.bool_]], Codes]:
        """Makes the search for the period of integers of a unit; periods beyond 64 bits have none of them."""
        none = len(self)
        edges, between = [INT64.min], [none]  # from each edge to before the next, which period it is
        for low, high, place in zip(*self._in_units(units, seconds), strict=True):
            if low <= INT64.max and high >= INT64.min:
                edges += [max(low, INT64.min), high + 1]
                between += [place, none]
        points = np.array([edge for edge in edges if edge <= INT64.max], np.int64)
        places = np.array(between[: len(points)], np.int32)

        def find(values: NDArray[np.int64], present: NDArray[np.bool_]) -> Codes:
            codes = np.empty(len(values), np.int32)
            for begin in range(0, len(values), STRETCH):
                some = slice(begin, begin + STRETCH)
                codes[some] = places[np.searchsorted(points, values[some], side="right") - 1]
            return np.where(present, codes, np.int32(none))  # not codes[~present] = none, whose time depends on one row

        return find
