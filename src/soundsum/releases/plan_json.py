"""A request as JSON and back, with the type of every value: how files of partial sums say what was asked.

Values that JSON has stand for themselves. Every other value is an object of one entry, named after its type. Reading
makes plain values, periods and statistics, and runs no code that a file names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from soundsum.methods import Method, make_method, parameters
from soundsum.numbers.quoting import quote
from soundsum.numbers.types import number_type
from soundsum.refusals import Reason, RefusedType
from soundsum.releases.options import list_fields
from soundsum.releases.request import Request
from soundsum.statistics import STATISTICS, Statistic
from soundsum.tables.keys import FoundNames, plain_list
from soundsum.tables.periods import Period
from soundsum.tables.relations import Relation

SPELLED: dict[str, tuple[type, Callable[[Any], str], Callable[[str], Any]]] = {
    "float": (float, float.hex, float.fromhex),
    "fraction": (Fraction, str, Fraction),
    "decimal": (Decimal, str, Decimal),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "bytes": (bytes, bytes.hex, bytes.fromhex),
    "uuid": (UUID, str, UUID),
}
"""Types whose values are written as a text; of two that fit, the first."""

MICROSECOND = timedelta(microseconds=1)

OWN = ("by", "groups", "where", "privacy_unit")
"""Options of a request that hold values of many types."""


def write_value(value: Any) -> Any:
    """A value as JSON has it.

    >>> write_value([1, "a", None, 0.5, Fraction(1, 3)])
    [1, 'a', None, {'float': '0x1.0000000000000p-1'}, {'fraction': '1/3'}]
    """
    if isinstance(value, np.datetime64):
        value = value.astype("M8[us]")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | str):
        return int(value) if isinstance(value, int) else str(value)
    for name, (kind, write, _) in SPELLED.items():
        if isinstance(value, kind):
            return {name: write(value)}
    if isinstance(value, timedelta):
        return {"microseconds": value // MICROSECOND}
    if isinstance(value, tuple):
        return {"tuple": [write_value(one) for one in value]}
    if isinstance(value, FoundNames):
        return {"found": [write_value(one) for one in value]}
    if isinstance(value, Period):
        own = (value.column, value.kind, value.first, value.last, value.zone)
        return {"period": [write_value(one) for one in own]}
    if isinstance(value, Mapping) or not hasattr(value, "__iter__"):
        raise RefusedType(
            None,
            Reason.UNSUPPORTED,
            "{given} cannot be written to a file of partial sums",
            "give numbers, text, dates or times",
            given=quote(value),
        )
    return [write_value(one) for one in plain_list(value)]


def read_value(written: Any) -> Any:
    """The value that was written; raises ValueError, LookupError or TypeError for anything else."""
    if isinstance(written, list):
        return [read_value(one) for one in written]
    if not isinstance(written, dict):
        return written
    ((name, inner),) = written.items()
    if name in SPELLED:
        return SPELLED[name][2](inner)
    if name == "microseconds":
        return inner * MICROSECOND
    several = [read_value(one) for one in inner]
    made: dict[str, Callable[[], Any]] = {
        "tuple": lambda: tuple(several),
        "found": lambda: FoundNames(several),
        "period": lambda: Period(*several),
    }
    return made[name]()


def request_to_json(request: Request) -> dict[str, Any]:
    """Everything that was asked, and of which rows; not where the data is."""
    return {
        "statistics": [_write_statistic(one) for one in request.statistics],
        "names": None if request.names is None else list(request.names),
        "relation": str(request.relation),
        "missing": request.missing,
        "max_rows": int(request.max_rows),
        "max_groups": int(request.max_groups),
        "name": request.name,
        "is_private": request.is_private,
    } | {name: write_value(getattr(request, name)) for name in OWN}


def request_from_json(written: Mapping[str, Any]) -> Request:
    """The request that was written; raises whatever Python does for anything else."""
    own = {name: read_value(written[name]) for name in OWN}
    plain = {name: written[name] for name in ("missing", "max_rows", "max_groups", "name", "is_private")}
    return Request(
        statistics=tuple(_read_statistic(one) for one in written["statistics"]),
        names=None if written["names"] is None else tuple(written["names"]),
        relation=Relation.read(written["relation"]),
        **plain,
        **own,
    )


def _write_statistic(statistic: Statistic) -> dict[str, Any]:
    given: dict[str, Any] = {}
    defaults = {field.name: field.default for field in fields(statistic)}  # type: ignore[arg-type]
    for name in list_fields(type(statistic)):
        value = getattr(statistic, name)
        if value is defaults[name]:
            continue
        if name == "dtype":
            given[name] = number_type(value).name
        elif isinstance(value, Method):
            given[name] = parameters("", value)
        elif name == "categories" and statistic.cells is not None:
            given[name] = write_value(statistic.cells.names)
        else:
            given[name] = write_value(value)
    return {"statistic": statistic.name, "options": given}


def _read_statistic(written: Mapping[str, Any]) -> Statistic:
    given = dict(written["options"])
    method = given.pop("method", None)
    options = {name: read_value(value) for name, value in given.items()}
    if method is not None:
        options["method"] = make_method("", method) if isinstance(method, dict) else method
    return STATISTICS.find(written["statistic"])(**options)
