"""Dates and times as seconds, whatever they come as: Python's objects, ISO 8601 text, Arrow's integers.

Seconds count from 1970: in UTC where a time says how far it is from that, otherwise as its clock shows it. Parts of a
second are left out, which moves no time over a full second. Each value is read on its own; what is no date or time of
the kind looked for is None, or not present, and nothing raises.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soundsum.data.clocks import DAY, EPOCH, HOUR, shown

TEXT = (
    "[ \t]*(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    "(?:[T ](?P<hour>[0-9]{2})(?::(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,][0-9]+)?)?)?"
    "(?P<utc>Z|(?P<sign>[+-])(?P<ahead>[0-9]{2})(?::?(?P<minutes>[0-9]{2})(?::?(?P<seconds>[0-9]{2}))?)?)?)?[ \t]*"
)
"""A date, or a date and a time of day to the hour or finer, perhaps with how far it is from UTC."""

PATTERN = re.compile(TEXT, re.ASCII)
CLOCK = ("hour", "minute", "second", "ahead", "minutes", "seconds")
FINER = {"ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Wanted(NamedTuple):
    """Which values are looked for: with `instants` those that say how far from UTC they are, with `times` no dates."""

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
                return None if wanted.instants else shown(value)
            return shown(value) - ahead.days * DAY - ahead.seconds - (ahead.microseconds > value.microsecond)
        if isinstance(value, date):
            return None if wanted.instants or wanted.times else (value.toordinal() - EPOCH) * DAY
    except Exception:  # of NaT, or a class of somebody's own
        return None
    return None


def _second_of_text(text: str, wanted: Wanted) -> int | None:
    found = PATTERN.fullmatch(text)
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
    """The second of every text of an Arrow array, and which have one; the same as `second_of`, all at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = texts.cast(pa.large_binary())  # so that what is no UTF-8 matches nothing
    found = pc.extract_regex(wide, f"^(?:{TEXT})$")
    spelled = {name: pc.fill_null(pc.struct_field(found, name), b"") for name in PATTERN.groupindex}
    number = {name: _digits(spelled[name]) for name in PATTERN.groupindex if name not in ("utc", "sign")}
    months = (number["year"] - 1970) * 12 + np.clip(number["month"], 1, 12) - 1
    first, after = (m.astype("M8[M]").astype("M8[D]").astype(np.int64) for m in (months, months + 1))
    is_there = found.is_valid().to_numpy(zero_copy_only=False) & (number["year"] > 0)
    is_there &= (number["month"] >= 1) & (number["month"] <= 12)
    is_there &= (number["day"] >= 1) & (number["day"] <= after - first)
    is_there &= np.maximum(number["hour"], number["ahead"]) < 24
    for name in ("minute", "second", "minutes", "seconds"):
        is_there &= number[name] < 60
    for name, is_wanted in (("utc", wanted.instants), ("hour", wanted.times)):
        if is_wanted:
            is_there &= pc.not_equal(spelled[name], b"").to_numpy(zero_copy_only=False)
    sign = np.where(pc.equal(spelled["sign"], b"-").to_numpy(zero_copy_only=False), -1, 1)
    clock = number["hour"] * HOUR + number["minute"] * 60 + number["second"]
    ahead = sign * (number["ahead"] * HOUR + number["minutes"] * 60 + number["seconds"])
    return (first + number["day"] - 1) * DAY + clock - ahead, is_there


def _digits(spelled: Any) -> NDArray[np.int64]:
    """Digits as numbers, nothing as 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    filled = pc.if_else(pc.equal(spelled, b""), b"0", spelled).cast(pa.large_string())
    return np.asarray(filled.cast(pa.int64()).to_numpy(zero_copy_only=False))


def units_of(kind: Any) -> tuple[int, int] | None:
    """How many of a date's or timestamp's integers make how many seconds, by its Arrow type; None for other types."""
    import pyarrow as pa

    if pa.types.is_timestamp(kind):
        return PER_SECOND[kind.unit], 1
    return {pa.date32(): (1, DAY), pa.date64(): (1000, 1)}.get(kind)


def is_exact(value: Any, kind: Any) -> bool:
    """Whether a date or time is one of an Arrow type as it is: Arrow itself would cut it off, or put it into UTC."""
    import pyarrow as pa

    if not isinstance(value, datetime):
        return isinstance(value, date) and pa.types.is_date(kind)
    finer = value.microsecond * 1000 + getattr(value, "nanosecond", 0)  # which pandas has
    if pa.types.is_date(kind):
        return value.utcoffset() is None and not shown(value) % DAY and not finer
    return (value.utcoffset() is None) == (kind.tz is None) and not finer * PER_SECOND[kind.unit] % 10**9
