"""Values that filters compare with: their kind, and their exact value in a column's own type."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import numpy as np

from soundsum.numbers.quoting import quote, say_kind
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import read_number, read_truth

DATE = re.compile(r"\d{4}-\d\d-\d\d")

MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
"""Dates and times as text; a date alone is its midnight."""


def name_kind(value: Any) -> str | None:
    """The kind of a value; values are compared with others of the same kind."""
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, int | float | Decimal | np.integer | np.floating):
        return "number"
    if isinstance(value, datetime.datetime):
        return "moment" if value.tzinfo is None else "moment in a zone"
    kinds = {
        str: "text",
        bytes: "bytes",
        datetime.date: "day",
        datetime.time: "time of day",
        datetime.timedelta: "time",
    }
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), None)


def read_moment(value: Any, kind: str | None) -> Any:
    """A text as the day, or the moment without or in a zone, that it spells, or None.

    >>> read_moment("2024-01-31", "day"), read_moment("2024-01-31", "moment")
    (datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 0, 0))
    >>> read_moment("2024-01-31", "moment in a zone"), read_moment("2024-02-31", "day")
    (None, None)
    """
    found = MOMENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or kind not in ("day", "moment", "moment in a zone"):
        return None
    try:
        if kind == "day":
            return datetime.date.fromisoformat(value) if DATE.fullmatch(value) else None
        return datetime.datetime.fromisoformat(value) if (found[1] is not None) == (kind != "moment") else None
    except ValueError:  # such as the 31st of February
        return None


def as_value(value: Any, kind: Any) -> Any:
    """A value to compare with a column of an Arrow type: of dates and times, what a text spells."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return read_moment(value, "day") or value
    if pa.types.is_timestamp(kind):
        return read_moment(value, "moment" if kind.tz is None else "moment in a zone") or value
    return value


def read_as(kind: str | None, key: Any) -> Any:
    """An object without a type as a cell of CSV that spells it, where the condition has another kind of value."""
    if kind == "number" and isinstance(key, str):
        return read_number(key)
    if kind == "truth" and isinstance(key, str):
        return read_truth(key)
    if kind == "moment" and name_kind(key) == "day":
        return datetime.datetime(key.year, key.month, key.day)
    return str(key) if kind == "text" and name_kind(key) in ("number", "day", "moment") else key


def read_from_text(value: Any) -> Any:
    """The type in which a column of text is read to be compared with a value."""
    import pyarrow as pa

    kinds = {"truth": pa.bool_(), "number": pa.float64(), "text": pa.string()}
    kind = kinds.get(name_kind(value) or "")
    if kind is None:
        raise RefusedValue(
            "where",
            Reason.UNSUPPORTED,
            "where: a CSV file has numbers, text, true and false, and cannot be compared with {given}",
            "give text, such as '2024-01-31'",
            given=quote(value),
        )
    return kind


def _example(kind: Any) -> str:
    """An example in Python of a date or time of an Arrow type, as these are easily confused."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return ", such as '2024-01-31' or datetime.date(2024, 1, 31)"
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else ", tzinfo=datetime.UTC"
        return f", such as '2024-01-31T00:00{'Z' if zone else ''}' or datetime.datetime(2024, 1, 31{zone})"
    return ""


def as_scalar(value: Any, kind: Any, column: str) -> Any:
    """The value as an Arrow scalar of a column's type, exactly; floats are compared as doubles."""
    import pyarrow as pa

    given, value = value, as_value(value, kind)
    types, own = pa.types, name_kind(value)
    fits = {
        "truth": types.is_boolean(kind),
        "number": types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind),
        "text": types.is_string(kind) or types.is_large_string(kind),
        "bytes": types.is_binary(kind) or types.is_large_binary(kind),
        "day": types.is_date(kind),
        "moment": types.is_timestamp(kind) and kind.tz is None,
        "moment in a zone": types.is_timestamp(kind) and kind.tz is not None,
        "time of day": types.is_time(kind),
        "time": types.is_duration(kind),
    }
    wanted = pa.float64() if types.is_floating(kind) else kind
    scalar = None
    try:
        if own is not None and fits[own] and not (types.is_floating(kind) and isinstance(value, Decimal)):
            plain = value.item() if isinstance(value, np.generic) else value
            plain = float(plain) if types.is_floating(kind) and not isinstance(plain, bool) else plain
            scalar = pa.scalar(plain, wanted)
    except MemoryError:
        raise
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        scalar = None
    if scalar is None or not scalar.as_py() == value:
        raise RefusedValue(
            "where",
            Reason.MISMATCH,
            "where: {given} is not a value of column {column}, which holds {kind}",
            "give one of that type{example}",
            given=quote(given),
            column=quote(column),
            kind=say_kind(kind),
            example=_example(kind),
        )
    return scalar
