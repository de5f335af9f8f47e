"""Python objects as bytes that say whom they identify: equal bytes for equal ids, and a function of the object alone.

Numbers are equal where Python's are: 1, 1.0, True, Decimal(1) and numpy.int64(1) are one id. Text and bytes differ, and
so do dates, times with and without a zone, and UUIDs; times with a zone are compared as instants. A tuple is equal to
one of equal parts. The class of an object decides how it is read, with the methods of Python's, NumPy's and pandas' own
classes: no code of a subclass is run, and no object is ever compared with another. NaN and the like, objects of any
other class, and ids longer than LONGEST identify nobody; neither does a tuple with such a part.
"""

from __future__ import annotations

import operator
import sys
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from soundsum.tables.cells import LONGEST

BEYOND = 10**LONGEST
"""The smallest whole number with more digits."""

WRITTEN = 10**38
"""Whole numbers up to here are spelled in decimals, as databases spell theirs."""

EPOCH, EPOCH_IN_UTC, MICROSECOND = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)

SECONDS = {"W": 604_800, "D": 86_400, "h": 3600, "m": 60}
PARTS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
WORTH = {unit: Fraction(10**6 * SECONDS.get(unit, 1), PARTS.get(unit, 1)) for unit in (*SECONDS, *PARTS)}
"""NumPy's units of time, in microseconds."""

COUNTED = b"nDMmahid"
"""The first bytes of what is a number or stored as one: its whole part follows, up to a slash where there is more."""


def identify(x: Any) -> bytes | None:
    """Whom an object identifies; None for nobody."""
    try:
        return _read_tuple(x) if issubclass(type(x), tuple) else _read(x)
    except Exception:  # of this object alone, such as a time zone of somebody's own class
        return None


def spell(identity: bytes) -> bytes:
    """The text of which lots are drawn, spelled as the kernel spells ids that have a type (src/kernels/lots.hpp).

    Whole numbers, and what is stored as one, are spelled in decimals, other numbers without their fraction.
    """
    return identity[1:].partition(b"/")[0] if identity[0] in COUNTED else identity[1:]


def _read(x: Any) -> bytes | None:
    """An object that is not a tuple."""
    kind = type(x)
    if issubclass(kind, str):
        return _read_text(x)
    if issubclass(kind, int):
        return _count(b"n", int.__int__(x))
    if issubclass(kind, float):
        return _read_float(float.__float__(x))
    if issubclass(kind, np.generic):
        return _read_scalar(x)
    if issubclass(kind, bytes):
        own = bytes.__getitem__(x, slice(None))
        return b"b" + own if len(own) <= LONGEST else None
    if issubclass(kind, UUID):
        digits = b"%032x" % operator.index(vars(UUID)["int"].__get__(x))
        return b"u" + b"-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    if issubclass(kind, datetime):
        return _read_moment(x)
    if issubclass(kind, date):
        return _count(b"D", date.toordinal(x) - date.toordinal(EPOCH))
    if issubclass(kind, time):
        return _since_1970(b"hi", datetime.combine(EPOCH, x))
    if issubclass(kind, Decimal):
        return _read_decimal(x)
    if issubclass(kind, Fraction):
        parts = vars(Fraction)
        return _count(b"n", *(operator.index(parts[name].fget(x)) for name in ("numerator", "denominator")))
    if issubclass(kind, complex):
        return _read_complex(*(vars(complex)[name].__get__(x) for name in ("real", "imag")))
    if issubclass(kind, timedelta):
        return _read_duration(x)
    pyarrow: Any = sys.modules.get("pyarrow")
    return _read(x.as_py()) if pyarrow is not None and issubclass(kind, pyarrow.Scalar) else None


def _read_tuple(x: Any) -> bytes | None:
    """The number of parts before them, however deep they are; each part has its length before it."""
    written, room, left = [b"t"], LONGEST, [x]
    while left:
        one = left.pop()
        if issubclass(type(one), tuple):
            parts = tuple.__getitem__(one, slice(None))
            if len(parts) > room:
                return None
            left += parts[::-1]
            written.append(b"%d;" % len(parts))
        else:
            own = _read(one)
            if own is None:
                return None
            written.append(b"%d:%b" % (len(own), own))
        room -= len(written[-1])
        if room < 0:
            return None
    return b"".join(written)


def _count(first: bytes, top: int, bottom: int = 1) -> bytes | None:
    """A rational number in lowest terms; in base 16 where Python may refuse to write that many digits."""
    if bottom == 1 and -WRITTEN < top < WRITTEN:
        return b"%b%d" % (first, top)
    if max(abs(top), bottom) >= BEYOND:
        return None
    whole = abs(top) // bottom * (-1 if top < 0 else 1)
    spelled = b"%d" % whole if -WRITTEN < whole < WRITTEN else b"%#x" % whole
    return first + spelled if bottom == 1 else b"%b%b/%x/%x" % (first, spelled, top, bottom)


def _read_text(x: str) -> bytes | None:
    encoded = str.encode(x, "utf-8", "surrogatepass")
    return b"s" + encoded if len(encoded) <= LONGEST else None


def _read_float(x: Any) -> bytes | None:
    if x != x:
        return None
    if x in (np.inf, -np.inf):
        return _endless(x > 0)
    return _count(b"n", *x.as_integer_ratio())


def _read_decimal(x: Decimal) -> bytes | None:
    if Decimal.is_nan(x):
        return None
    if Decimal.is_infinite(x):
        return _endless(not Decimal.is_signed(x))
    if Decimal.is_zero(x):
        return b"n0"
    _, digits, exponent = Decimal.as_tuple(x)
    assert isinstance(exponent, int)
    if max(len(digits) + exponent, len(digits), -exponent) > LONGEST:  # before it is written out
        return None
    return _count(b"n", *Decimal.as_integer_ratio(x))


def _read_complex(real: Any, imaginary: Any) -> bytes | None:
    one, other = _read(real), _read(imaginary)
    if one is None or other is None:
        return None
    return one if other == b"n0" else b"c%b,%b" % (one, other)


def _endless(is_positive: bool) -> bytes:
    return b"n0/inf" if is_positive else b"n0/-inf"


def _read_moment(x: datetime) -> bytes | None:
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not issubclass(type(x), (pandas.Timestamp, type(pandas.NaT))):
        return _since_1970(b"ma", x)
    if x is pandas.NaT:
        return None
    has_zone = vars(datetime)["tzinfo"].__get__(x) is not None
    return _read_scalar(pandas.Timestamp.to_datetime64(x), b"a" if has_zone else b"m")


def _since_1970(tags: bytes, x: datetime) -> bytes | None:
    """Microseconds, with the first tag if there is no zone."""
    is_local = datetime.utcoffset(x) is None
    since: timedelta = datetime.__sub__(x, EPOCH if is_local else EPOCH_IN_UTC)
    return _count(tags[:1] if is_local else tags[1:], since // MICROSECOND)


def _read_duration(x: timedelta) -> bytes | None:
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and issubclass(type(x), pandas.Timedelta):
        return _read_scalar(pandas.Timedelta.to_timedelta64(x))
    return _count(b"d", timedelta.__floordiv__(x, MICROSECOND))


def _read_scalar(x: Any, moment: bytes = b"m") -> bytes | None:
    """One of NumPy's; its times in exact microseconds, whatever their unit, those in days as dates."""
    kind = type(x)
    if issubclass(kind, (np.datetime64, np.timedelta64)):
        if np.isnat(x):
            return None
        (unit, step), first = np.datetime_data(x.dtype), moment if issubclass(kind, np.datetime64) else b"d"
        number = int(np.generic.astype(x, np.int64)) * step
        if unit in ("Y", "M") and first == b"m":
            day = np.generic.item(x)
            return _read(day) if issubclass(type(day), date) else _count(b"M", number * (12 if unit == "Y" else 1))
        if unit in ("W", "D") and first == b"m":
            return _count(b"D", number * (7 if unit == "W" else 1))
        exact = Fraction(number) * WORTH[unit] if unit in WORTH else None  # months differ in length
        return None if exact is None else _count(first, exact.numerator, exact.denominator)
    if issubclass(kind, np.clongdouble):
        return _read_complex(np.real(x), np.imag(x))
    if issubclass(kind, np.longdouble):
        return _read_float(x)  # which is exact
    return _read(np.generic.item(x)) if issubclass(kind, (np.number, np.bool_, np.bytes_)) else None
