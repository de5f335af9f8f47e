"""The totals by their definitions, slowly, in exact numbers; None where a table or question is not modelled.

Who wins where a person has equally many rows in several groups is for a lot to decide, and not modelled either.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from tests.neighbours.cells import EPOCH, KINDS, SCALES, as_python, identify, is_known_id
from tests.neighbours.claims import integer_range
from tests.neighbours.queries import Ask, Period, Query
from tests.neighbours.tables import Table

NUMBER = re.compile(r"[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))")
SIGNS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
LENGTHS = ("year", "month", "day", "hour")

Number = Fraction | float
"""A number, or an infinity."""


class Unmodelled(Exception):
    """The definition is not written down here."""


def spelled_number(text: str) -> Number | None:
    plain = text.strip(" \t\n\r\v\f")
    return _number(float(plain)) if NUMBER.fullmatch(plain) else None


def _number(x: float) -> Number | None:
    return None if math.isnan(x) else x if math.isinf(x) else Fraction(x)


def number_of(kind: str, cell: Any) -> Number | None:
    """The number in a cell, None for a missing one."""
    if isinstance(cell, bytes) and KINDS[kind].family == "csv":
        try:
            return spelled_number(cell.decode())
        except UnicodeDecodeError:
            return None
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    if isinstance(cell, str):
        return spelled_number(cell)
    if isinstance(cell, bool | np.bool_):
        return Fraction(int(cell))
    if isinstance(cell, int | np.integer):
        exact = Fraction(int(cell))
        if KINDS[kind].type is not None:
            return exact
        return (math.inf if exact > 0 else -math.inf) if abs(exact) >= 2**1024 - 2**970 else Fraction(float(cell))
    if isinstance(cell, float | np.floating):
        return _number(float(cell))
    if isinstance(cell, Decimal):
        if KINDS[kind].type is not None:
            return Fraction(cell)
        return None if cell.is_nan() else _number(float(cell))
    return Fraction(float(cell)) if isinstance(cell, Fraction) else None


def key_of(kind: str, cell: Any) -> Any:
    """A cell as a key: as queries name it, or None."""
    family, own = KINDS[kind].family, KINDS[kind].type
    if own is not None and (pa.types.is_nested(own) or isinstance(own, pa.UuidType)):
        raise Unmodelled
    if family == "objects" and not (cell is None or isinstance(cell, str)):
        raise Unmodelled
    plain = as_python(kind, cell)
    return (plain or None) if family == "csv" else None if plain is None or plain != plain else plain


def compare_key(kind: str, cell: Any, sign: str, value: Any) -> bool:
    if KINDS[kind].family == "objects":
        raise Unmodelled
    if KINDS[kind].family == "csv" and not isinstance(value, str):
        key: Any = number_of(kind, cell)
    elif _is_temporal(kind):  # beyond Python's years too
        key, value = None if cell is None else _instant(kind, cell), _seconds(value)
    else:
        key = key_of(kind, cell)
    if isinstance(key, str):
        key, value = key.encode(), value.encode()
    return key is not None and bool(SIGNS[sign](key, value))


def _is_temporal(kind: str) -> bool:
    own = KINDS[kind].type
    return own is not None and pa.types.is_temporal(own) and not pa.types.is_interval(own)


def _seconds(value: Any) -> Fraction:
    """A date, a time or a length of time, as `_instant` counts."""
    if isinstance(value, datetime.time):
        value = datetime.datetime.combine(EPOCH, value)
    elif isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        value = datetime.datetime(value.year, value.month, value.day)
    since = value if isinstance(value, datetime.timedelta) else value.replace(tzinfo=None) - EPOCH
    return Fraction(since // datetime.timedelta(microseconds=1), 10**6)


def _instant(kind: str, cell: int) -> Fraction:
    """Seconds since 1970, or since midnight."""
    own = KINDS[kind].type
    if pa.types.is_date(own):
        return Fraction(cell * 86400 if pa.types.is_date32(own) else cell // 86_400_000 * 86400)
    return Fraction(cell, SCALES[own.unit])


def place_in(period: Period, kind: str, cell: Any) -> int | None:
    """Which period from first to last a moment is in."""
    if not KINDS[kind].is_moment:
        raise Unmodelled
    second = None if cell is None else math.floor(_instant(kind, cell))
    if second is None or not -62_135_596_800 <= second < 253_402_300_800:
        return None

    def places(moment: datetime.datetime) -> int:
        day = moment.toordinal()
        every = {"year": moment.year, "month": 12 * moment.year + moment.month, "day": day, "hour": 24 * day}
        return every[period.kind] + (moment.hour if period.kind == "hour" else 0)

    first, last = (places(_spelled(end)) for end in (period.first, period.last))
    place = places(EPOCH + datetime.timedelta(seconds=second)) - first
    return place if 0 <= place <= last - first else None


def _spelled(text: str) -> datetime.datetime:
    parts = [int(part) for part in re.split("[-T]", text)]
    return datetime.datetime(*[*parts, 1, 1, 0][: max(3, len(parts))])  # type: ignore[arg-type]


def count_groups(query: Query) -> int:
    sizes = [_count_periods(one) if isinstance(one, Period) else None for one in query.by]
    if query.groups is not None:
        return math.prod(map(len, query.groups)) if len(query.by) > 1 else len(query.groups)
    return math.prod(size for size in sizes if size is not None)


def _count_periods(period: Period) -> int:
    if period.kind not in LENGTHS or period.zone is not None:
        raise Unmodelled
    first, last = _spelled(period.first), _spelled(period.last)
    months = 12 * (last.year - first.year) + last.month - first.month
    hours = (last - first) // datetime.timedelta(hours=1)
    return {"year": months // 12, "month": months, "day": hours // 24, "hour": hours}[period.kind] + 1


def entry_of(query: Query, ask: Ask, table: Table, row: dict[str, Any]) -> int | None:
    """Which entry of the vector a row counts in."""
    kinds = table.kinds
    if not all(compare_key(kinds[column], row[column], sign, value) for column, sign, value in query.where):
        return None
    place: int | None = 0
    for number, one in enumerate(query.by):
        if isinstance(one, Period):
            size, own = _count_periods(one), place_in(one, kinds[one.column], row[one.column])
        else:
            listed = query.groups[number] if len(query.by) > 1 else query.groups  # type: ignore[index]
            size, own = len(listed), _find(listed, kinds[one], row[one])
        place = None if own is None or place is None else place * size + own
    if ask.statistic != "Histogram" or place is None:
        return place
    cell = _cell_of(ask, kinds, row)
    return None if cell is None or ask.cells is None else place * ask.cells + cell


def _find(listed: tuple[Any, ...], kind: str, cell: Any) -> int | None:
    if KINDS[kind].type is None and not all(isinstance(name, str) for name in listed):
        raise Unmodelled
    key = key_of(kind, cell)
    return next((place for place, name in enumerate(listed) if key is not None and name == key), None)


def _cell_of(ask: Ask, kinds: dict[str, str], row: dict[str, Any]) -> int | None:
    assert ask.column is not None
    kind, edges = kinds[ask.column], ask.get("edges")
    if edges is None:
        return _find(ask.get("categories"), kind, row[ask.column])
    if KINDS[kind].type is not None and pa.types.is_decimal(KINDS[kind].type):
        raise Unmodelled  # compared as doubles
    x = number_of(kind, row[ask.column])
    if KINDS[kind].type is None or pa.types.is_floating(KINDS[kind].type):
        edges = tuple(map(float, edges))  # as the column is
    if x is None or not edges[0] <= x <= edges[-1]:
        return None
    return max(i for i, edge in enumerate(edges[:-1]) if edge <= x)


def grid_of(lower: Fraction, upper: Fraction, step: Fraction, near: bool) -> Fraction:
    """Where integers are counted from: 0, or near the bounds if the number of records is public or divided by."""
    if not near:
        return Fraction(0)
    if lower == upper:
        return lower
    return step * max(0, math.floor(lower / step)) if lower > 0 else step * min(0, math.ceil(upper / step))


def totals(
    query: Query, ask: Ask, table: Table, parts: list[tuple[str, Fraction]], ends: tuple[int, int] | None
) -> list[list[int]]:
    """Every part's total for each entry; `parts` are their names and steps, `ends` those of the type of integers."""
    entries = count_groups(query) * (ask.cells or 1) if query.by else ask.cells or 1
    steps = dict(parts)
    plain = query.sized and not query.by and not query.where and query.missing != "drop" and query.person is None
    drops = query.missing == "drop" or (
        query.missing is None and ask.statistic in ("Mean", "Variance", "Std") and not plain
    )
    integer: Callable[[Any], int] = lambda x: 0  # noqa: E731
    low = high = 0
    if ask.statistic in ("Sum", "Mean", "Variance", "Std"):
        step = steps["sum"] if "sum" in steps else 2 * steps["sum of c"]
        lower, upper = Fraction(ask.get("lower")), Fraction(ask.get("upper"))
        is_float = ends is None
        start = grid_of(lower, upper, step, is_float and (plain or ask.statistic != "Sum"))
        low, high = integer_range(lower - start, upper - start, step, ends)

        def integer(x: Number | None) -> int:
            x = 0 if x is None else x
            held = lower if x < lower else upper if x > upper else Fraction(x)
            return max(low, min(high, round((held - start) / step)))

    found: dict[Any, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for place, cells in enumerate(table.rows):
        row = dict(zip(table.kinds, cells, strict=True))
        entry, own = entry_of(query, ask, table, row), place
        if query.person is not None:
            if not is_known_id(row[query.person]):
                raise Unmodelled
            own = identify(table.kinds[query.person], row[query.person])
        x = None
        if ask.column is not None and ask.statistic != "Histogram":
            kind = table.kinds[ask.column]
            if ask.statistic == "Count" and drops:
                x = None if _is_absent(kind, row[ask.column], query.uses(ask.column)) else Fraction(0)
            elif ask.statistic != "Count":
                x = number_of(kind, row[ask.column])
            if x is None and drops:
                entry = None
        if entry is not None and own is not None:
            found[own][entry].append(integer(x))
    sums = [[0] * entries for _ in parts]
    for mine in found.values():
        for entry in _kept(mine, query):
            for place, (name, _) in enumerate(parts):
                sums[place][entry] += _own(name, mine[entry], low, high, query, len(parts) > 1)
    return sums


def _is_absent(kind: str, cell: Any, uses: int) -> bool:
    if KINDS[kind].family == "objects" or (KINDS[kind].family == "csv" and uses > 1):  # which may give it a type
        raise Unmodelled
    return cell == b"" if KINDS[kind].family == "csv" else cell is None or cell != cell


def _kept(mine: dict[int, list[int]], query: Query) -> list[int]:
    """The entries a person counts in: those with most rows."""
    if query.person is None or len(mine) <= query.max_groups:
        return list(mine)
    ranked = sorted(mine, key=lambda entry: -len(mine[entry]))
    if len(mine[ranked[query.max_groups - 1]]) == len(mine[ranked[query.max_groups]]):
        raise Unmodelled  # a lot decides
    return ranked[: query.max_groups]


def _own(name: str, integers: list[int], low: int, high: int, query: Query, together: bool) -> int:
    """What somebody's rows add to a part in one entry."""
    n, s, t, ends, width = len(integers), sum(integers), sum(q * q for q in integers), low + high, high - low
    total = {"sum": s, "count": n, "sum of c": 2 * s - ends * n, "sum of c^2": 4 * t - 4 * ends * s + ends**2 * n}[name]
    if query.person is None:
        return total
    if together and n > query.max_rows:
        total = total * query.max_rows // n
    least, most = {"sum": (low, high), "count": (1, 1), "sum of c": (-width, width), "sum of c^2": (0, width**2)}[name]
    return min(max(total, query.max_rows * min(least, 0)), query.max_rows * max(most, 0))
