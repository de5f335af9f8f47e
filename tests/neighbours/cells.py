"""What can stand in a column: kinds of columns, each with a pool of awkward values that are drawn again and again.

Cells of a typed kind are what Arrow stores: dates and times are integers, so that they may lie beyond Python's years.
Cells of `object` kinds are Python objects, and those of `csv` kinds bytes.
"""

from __future__ import annotations

import datetime
import math
import numbers
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa

nan, inf = math.nan, math.inf
EPOCH = datetime.datetime(1970, 1, 1)
NEW_YORK = ZoneInfo("America/New_York")


class Odd:
    """An object of a class that nobody knows, and that is no number."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"ODD[{self.name!r}]"

    def __float__(self) -> float:
        raise RuntimeError("no number")


class Worse(Odd):
    """One that cannot even be compared, or looked up."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    def __hash__(self) -> int:
        raise RuntimeError("not hashable")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")


ODD = {"a": Odd("a"), "b": Odd("b"), "c": Worse("c")}


@dataclass(frozen=True)
class Kind:
    """A kind of column: its Arrow type, or None where cells have no type, and the cells to draw from."""

    type: Any
    pool: tuple[Any, ...]
    family: str = "typed"

    @property
    def is_number(self) -> bool:
        if self.type is None:
            return True
        types = pa.types
        plain = (types.is_integer, types.is_floating, types.is_boolean, types.is_null)
        return any(test(self.type) for test in plain) or (types.is_decimal(self.type) and self.type.bit_width < 256)

    @property
    def is_moment(self) -> bool:
        return self.type is not None and bool(pa.types.is_date(self.type) or pa.types.is_timestamp(self.type))


def _integers(bits: int, signed: bool) -> tuple[Any, ...]:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    pool = [0, 1, 2, 3, 7, 100, -1, -2, -3, -100, low, low + 1, high, high - 1, 2**31, -(2**31), 2**53 + 1, 2**61 - 1]
    return (*dict.fromkeys(x for x in pool if low <= x <= high), None)


DOUBLES = (
    *(0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1.5, 2.5, -2.5, 3.7, 999.9999999999999, 1000.0, nan, inf, -inf, None),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, 1e-16, 2.0**-41, 1.5 * 2.0**-41, 1e6, 2.0**53 + 2),
    *(-(2.0**63), 1e300, 1.7976931348623157e308, -1.7976931348623157e308, 1 + 2.0**-52),
)
SINGLES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, nan, inf, -inf, None, 2.0**-149, 2.0**127, -(2.0**127), 2.0**24 + 2, 1000.0)
HALVES = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, nan, inf, -inf, None, 2.0**-24, 65504.0, -65504.0, 100.0)
TEXTS = (
    *("a", "b", "A", "", None, "ä", "a\u0308", "a ", " a", "\x00", "\U0001f600", "1", "01", "1.0", "nan", "null", "-1"),
    *("True", "x" * 300, "x" * 299 + "y", "'; --", "a,b", 'a"b', "2024-02-29", "2024-03-01T05:00"),
)
BYTES = (b"a", b"b", b"", None, b"\xff\xfe", b"\x00", b"a\x00", "ä".encode(), b"x" * 300)
SECONDS = (
    *(0, -1, 1_709_164_800, 1_709_251_199, 1_709_251_200, 951_782_400, -2_208_988_800, 1_325_203_200),
    *(1_710_054_000, 1_710_055_800, 1_710_057_600, 1_730_611_800, 1_730_615_400, 4_102_444_800, None),
)
"""Around midnights, leap days, a day that Samoa skipped, and hours that New York's clocks skip or show twice."""

ALIKE = (
    *(Decimal(-1), np.int64(-2), Decimal(-2), np.int64(-1), Decimal(-1), np.int64(-2), -1, -2.0),
    *(Decimal(0), np.int64(2**61 - 1), 0, Decimal(1), np.int64(2**61), True, 1.0, np.int64(1)),
    *(np.int64(314159), Decimal("Infinity"), inf, None),
)
"""Numbers of which many have the same hash, and some are equal."""

ID_OBJECTS = (
    *(1, 1.0, Decimal(1), True, np.int8(1), np.float64(1), "1", b"1"),
    *(0, -0.0, False, Decimal("-0"), 2**61 - 1, Decimal(2**61 - 1), 2**61, 0.5, Decimal("0.5"), Fraction(1, 2)),
    *(inf, Decimal("Infinity"), 314159, -inf, -314159, 10**30, 1e30, Decimal("1E+30"), 2**53, 2.0**53, 2**53 + 1),
    *(None, nan, Decimal("NaN"), Decimal("sNaN"), np.float64("nan"), pd.NaT, pd.NA, np.datetime64("NaT")),
    *("a", "b", "", b"a", b"", "\ud800", "x" * 300, UUID(int=1), UUID(int=2), np.str_("a"), np.True_, np.bytes_(b"a")),
    *((), (1, 2), (1.0, 2), (1, (2,)), ("a",), ("b", None), [1], {}, {"a": 1}),
    *(datetime.date(2024, 1, 1), datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)),
    *(datetime.datetime(2023, 12, 31, 19, tzinfo=NEW_YORK), pd.Timestamp("2024-01-01"), datetime.date(1, 1, 1)),
    *(datetime.timedelta(1), datetime.time(1), ODD["a"], ODD["b"], ODD["c"]),
)
NUMBER_OBJECTS = (
    *(1, 1.0, Decimal(1), True, np.float64(2), np.int8(3), Fraction(1, 3), -0.0, 0, False, 10**400, -(10**400), 2**63),
    *(None, nan, Decimal("NaN"), Decimal("sNaN"), pd.NaT, pd.NA, np.datetime64("NaT"), inf, -inf, Decimal("1E+400")),
    *("1", " 1 ", "1e3", "0x10", "\uff11", "nan", "inf", "-Infinity", "1_000", "", "a", "9" * 50, "\ud800", "1\x00"),
    *(1 + 2j, b"1", [1], (1,), {}, datetime.date(2024, 1, 1), datetime.timedelta(1), UUID(int=1), ODD["a"], ODD["c"]),
    *(np.float32(0.5), np.str_("2"), np.bytes_(b"2"), np.longdouble(3), 5e-324, "1e-400", "-1e400", Decimal("1E-400")),
)
NUMBER_CELLS = (
    *(b"1", b" 1 ", b"1.5", b"-0", b"nan", b"inf", b"-Infinity", b"", b"a", b"\xff", b"1\xff", b"1e400", b"1e-400"),
    *(b"0x1", b"1_0", b"+5", b"--5", b"1,5", b"9" * 50, b"true", "\uff11".encode(), b"\x00", b"1\x00", b"12.50", b'"'),
    *(b"0.1", b".5", b"5.", b"1e5", b"-9223372036854775808", b"9223372036854775807", b"9223372036854775808", b"1\n"),
)
TEXT_CELLS = (
    *(b"a", b"A", b"", b"\xff", b"a\xff", b"7", b"07", b" 7", b'"', b'""', b"a,b", b"a\nb", b"a\r\nb", b"x" * 300),
    *("ä".encode(), "\U0001f600".encode(), b"a\x00", b"\xef\xbb\xbfa", b"\xed\xa0\x80", b"nan", b"NULL", b"1", b"1.0"),
    *(b"2024-02-29", b"2024-02-30", b"2024-03-01T05:00:00", b"2024-03-10 02:30", b"2024-03-01T05:00:00Z", b"1,5"),
)


def _typed() -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for bits in (8, 16, 32, 64):
        for signed in (True, False):
            name = f"{'' if signed else 'u'}int{bits}"
            kinds[name] = Kind(getattr(pa, name)(), _integers(bits, signed))
    kinds |= {
        "float64": Kind(pa.float64(), DOUBLES),
        "float32": Kind(pa.float32(), SINGLES),
        "float16": Kind(pa.float16(), HALVES),
        "bool": Kind(pa.bool_(), (True, False, None)),
        "null": Kind(pa.null(), (None,)),
    }
    for make, digits, scale in (
        *((pa.decimal128, 10, 2), (pa.decimal128, 38, 18), (pa.decimal128, 5, -2), (pa.decimal128, 38, 0)),
        *((pa.decimal128, 3, 3), (pa.decimal32, 7, 2), (pa.decimal64, 18, 1), (pa.decimal256, 50, 10)),
    ):
        most = 10**digits - 1
        last = [0, 1, -1, 2, -2, 100, 12, -12, most, -most, 2**62, 2**63, -(2**63) - 1]
        pool = [Decimal((x < 0, tuple(map(int, str(abs(x)))), -scale)) for x in last if abs(x) <= most]
        kinds[f"{make.__name__}({digits}, {scale})"] = Kind(make(digits, scale), (*pool, None))
    for name in ("string", "large_string", "string_view"):
        kinds[name] = Kind(getattr(pa, name)(), TEXTS)
    for name in ("binary", "large_binary", "binary_view"):
        kinds[name] = Kind(getattr(pa, name)(), BYTES)
    kinds["fixed_binary"] = Kind(pa.binary(3), (b"abc", b"abd", b"\x00\x00\x00", b"\xff\xff\xff", None))
    kinds["uuid"] = Kind(pa.uuid(), (bytes(16), bytes([1] * 16), b"\xff" * 16, None))
    days = [None if x is None else x // 86400 for x in SECONDS]
    kinds["date32"] = Kind(pa.date32(), (*days, 2**31 - 1, -(2**31), -719162, 2932896))
    kinds["date64"] = Kind(pa.date64(), (*(None if x is None else x * 86_400_000 for x in days), 2932897 * 86_400_000))
    for unit, scale in (("s", 1), ("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        fine = [None if x is None else x * scale for x in SECONDS]
        for zone in (None, "UTC", "America/New_York"):
            edges = (2**63 - 1, -(2**63), 1_709_251_200 * scale - 1)
            kinds[f"timestamp({unit}, {zone})"] = Kind(pa.timestamp(unit, zone), (*fine, *edges))
        kinds[f"duration({unit})"] = Kind(pa.duration(unit), (0, 1, -1, 2**63 - 1, -(2**63), None))
    kinds["time32"] = Kind(pa.time32("s"), (0, 1, 86399, None))
    kinds["time64"] = Kind(pa.time64("us"), (0, 1, 86_399_999_999, None))
    spans = ((0, 0, 0), (1, 0, 0), (0, 30, 0), (0, 0, 1000), (-1, 2, -3000), (2, 0, 0), (3, 0, 0), None, None)
    kinds["interval"] = Kind(pa.month_day_nano_interval(), spans)
    for inside, pool in (("string", TEXTS), ("int64", _integers(64, True)), ("float64", DOUBLES)):
        kinds[f"dictionary({inside})"] = Kind(pa.dictionary(pa.int8(), kinds[inside].type), pool)
    kinds["list"] = Kind(pa.list_(pa.int64()), ([1], [], [None], None))
    kinds["struct"] = Kind(pa.struct([("a", pa.int64())]), ({"a": 1}, {"a": None}, None))
    return kinds


KINDS: dict[str, Kind] = _typed() | {
    "objects": Kind(None, ID_OBJECTS, "objects"),
    "alike objects": Kind(None, ALIKE, "objects"),
    "number objects": Kind(None, NUMBER_OBJECTS, "objects"),
    "text objects": Kind(None, (*TEXTS, "\ud800", nan), "objects"),
    "day objects": Kind(
        None,
        (*(EPOCH.date() + datetime.timedelta(x // 86400) for x in SECONDS if x is not None), None, pd.NaT),
        "objects",
    ),
    "number cells": Kind(None, NUMBER_CELLS, "csv"),
    "text cells": Kind(None, TEXT_CELLS, "csv"),
}


def identify(kind: str, cell: Any) -> Any:
    """Whom an id stands for, as a key of a dict; None for nobody. Python's equality, of numbers by their values."""
    if KINDS[kind].family == "csv":
        return _decoded(cell)
    if cell is None or cell is pd.NA or isinstance(cell, Worse) or (isinstance(cell, Decimal) and cell.is_nan()):
        return None
    if cell != cell:
        return None
    if isinstance(cell, np.generic):
        cell = float(cell) if isinstance(cell, np.longdouble) else cell.item()
    if isinstance(cell, bool | numbers.Real | Decimal):
        infinite = cell.is_infinite() if isinstance(cell, Decimal) else isinstance(cell, float) and math.isinf(cell)
        return ("infinity", cell > 0) if infinite else Fraction(cell)
    if isinstance(cell, tuple):
        return tuple(("nothing",) if part is None else identify(kind, part) for part in cell)
    return None if isinstance(cell, list | dict | np.ndarray) else cell


def is_known_id(cell: Any) -> bool:
    """Whether its class is one that ids are certainly of, or certainly not."""
    if isinstance(cell, tuple):
        return all(part is not None and is_known_id(part) for part in cell)
    known = (type(None), str, bytes, numbers.Real, Decimal, np.generic, UUID, datetime.date, list, dict)
    return isinstance(cell, known) or cell is pd.NA or cell is pd.NaT


def _decoded(cell: bytes) -> str | None:
    try:
        return cell.decode() or None
    except UnicodeDecodeError:
        return None


SCALES = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def as_python(kind: str, cell: Any) -> Any:
    """A cell as somebody would name it in a query, such as a date for what is stored as an integer; None for none."""
    own = KINDS[kind].type
    if own is None or cell is None or not pa.types.is_temporal(own) or pa.types.is_interval(own):
        return _decoded(cell) if isinstance(cell, bytes) and KINDS[kind].family == "csv" else cell
    if pa.types.is_date(own):
        days = cell if pa.types.is_date32(own) else cell // 86_400_000
        return EPOCH.date() + datetime.timedelta(days) if -719162 <= days <= 2932896 else None
    microseconds = Fraction(cell) * 10**6 / SCALES[own.unit]
    if microseconds.denominator != 1 or abs(microseconds) > 2 * 10**17:
        return None
    since = datetime.timedelta(microseconds=int(microseconds))
    if pa.types.is_duration(own):
        return since
    if pa.types.is_time(own):
        return (EPOCH + since).time()
    return EPOCH + since if own.tz is None else (EPOCH + since).replace(tzinfo=datetime.UTC)
