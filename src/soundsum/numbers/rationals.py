"""Exact arithmetic on rationals: the small functions every bound is made of. No float decides anything here."""

from __future__ import annotations

import enum
import math
import operator
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType, RefusedValue

Value: TypeAlias = int | Fraction | float
"""A value of a number type: an int, a Fraction, or one of the floats inf, -inf and nan."""


class Rounding(enum.StrEnum):
    """The rounding of reals to floats: to nearest (`defn:bankers-rounding`) or toward zero (`defn:roundto0`)."""

    NEAREST = "nearest"
    TOWARD_ZERO = "toward_zero"


def is_special(x: object) -> bool:
    """Returns whether x is an infinity or NaN."""
    return isinstance(x, float) and not math.isfinite(x)


def floor_log2(x: Fraction | int) -> int:
    """The exponent e with 2^e <= |x| < 2^(e+1), computed exactly.

    >>> floor_log2(Fraction(1, 3)), floor_log2(8), floor_log2(Fraction(7, 8))
    (-2, 3, -1)
    """
    top, bottom = abs(x.numerator), x.denominator
    if not top:
        raise ValueError("log2 of 0 is not a number; ask for it only of nonzero values")
    e = top.bit_length() - bottom.bit_length()
    reaches = bottom << e <= top if e >= 0 else bottom <= top << -e
    return e if reaches else e - 1


@lru_cache(4096)
def power_of_two(e: int) -> Fraction:
    """2^e, exactly, for any integer e."""
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)


def round_half_even(x: Fraction) -> int:
    """The integer nearest x, the even one of two."""
    return round(x)


def exact(value: Any, name: str = "value") -> Value:
    """The exact value of anything number-like: a float at its binary value, a string such as "1/3" or "0.1" as written.

    >>> exact("1/3"), exact(0.5), exact(np.float32(0.1)) == Fraction(13421773, 2**27)
    (Fraction(1, 3), Fraction(1, 2), True)
    """
    if type(value) is Fraction or type(value) is int:
        return value
    try:
        if isinstance(value, bool | np.bool_) or (isinstance(value, str) and _is_endless(value)):
            raise TypeError
        if isinstance(value, np.longdouble) and np.isfinite(value):
            return Fraction(*value.as_integer_ratio())
        plain = value
        if isinstance(value, np.generic):
            plain = value.item()
            if not isinstance(plain, int | float | str):  # bfloat16 and friends
                plain = float(plain)
        if isinstance(plain, int) or (isinstance(plain, float) and not math.isfinite(plain)):
            return plain
        return Fraction(plain)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        pass  # refused below, so that the error, which may quote the value, does not come along
    raise RefusedType(
        name,
        Reason.NOT_A_NUMBER,
        "`{option}={given}` is not a number",
        "give one such as 5, 0.5 or `'1/3'`",
        given=quote(value),
    )


def _is_endless(text: str) -> bool:
    """Returns whether a text spells a number of more digits than anybody means, such as 1e99999999."""
    exponent = text.lower().partition("e")[2].lstrip("+-").lstrip("0")
    return len(text) > 5000 or len(exponent) > 4


def require_whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`, as an int; refuses anything else, and booleans."""
    whole = None
    if not isinstance(value, bool | np.bool_):
        with suppress(TypeError):
            whole = operator.index(value)
    if whole is None:
        raise RefusedValue(
            name,
            Reason.NOT_WHOLE,
            "`{option}={given}` is not a whole number",
            "give one, {least} or more",
            given=quote(value),
            least=least,
        )
    if whole < least:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is below {least}",
            "give a whole number, {least} or more",
            given=quote(whole),
            least=least,
        )
    return whole


def decimal(value: Any, name: str = "value") -> Value:
    """Convert as `exact` does, but a float means the decimal it prints as: whoever writes 0.1 means 1/10.

    >>> decimal(0.1), decimal(np.float32(0.1)), decimal("1/3")
    (Fraction(1, 10), Fraction(1, 10), Fraction(1, 3))
    """
    if type(value) is Fraction or type(value) is int or type(value) is str:
        return exact(value, name)
    own = isinstance(value, float) or (isinstance(value, np.generic) and value.dtype.kind in "fV")  # bfloat16 is a V
    return Fraction(str(value)) if own and math.isfinite(float(value)) else exact(value, name)


def as_printed(x: Fraction) -> Fraction:
    """The decimal that a float prints as, where x is the binary value of one; otherwise x."""
    near = nearest_float(x)
    return Fraction(repr(near)) if math.isfinite(near) and Fraction(near) == x else x


def nearest_float(x: Fraction | int | float) -> float:
    """x as a float to show, an infinity where it is beyond them. Nothing is decided by it."""
    try:
        return float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf


def finite(value: int | float) -> int | float | None:
    """A number as JSON can hold it: None for an infinity.

    >>> finite(2.5), finite(float("inf"))
    (2.5, None)
    """
    return value if isinstance(value, int) or math.isfinite(value) else None
