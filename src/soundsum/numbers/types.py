"""The finite number types, exactly: integers of any width and IEEE-shaped floats of any mantissa and exponent width.

Values are Python ints for integer types and Fractions for floats, plus `math.inf`, `-math.inf` and `math.nan`; nothing
here rounds except where a method says so. The paper's sections on integers and floating point (`sec:integers`,
`sec:floatingpoint`) are the specification. Zero is one value with two bit patterns: the sign of a zero is not kept.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import (
    Rounding,
    Value,
    floor_log2,
    is_special,
    power_of_two,
    require_whole,
    round_half_even,
)
from soundsum.refusals import Reason, RefusedType, RefusedValue


@dataclass(frozen=True)
class IntType:
    """Integers of `bits` bits, two's complement if signed.

    >>> IntType(8, signed=True).saturating_add(100, 100), IntType(8, signed=True).modular_add(100, 100)
    (127, -56)
    """

    bits: int
    signed: bool = True

    is_integer = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "bits", require_whole("bits", self.bits, 1))

    @cached_property
    def name(self) -> str:
        return f"{'' if self.signed else 'u'}int{self.bits}"

    def __str__(self) -> str:
        return self.name

    @property
    def min(self) -> int:
        return -(1 << (self.bits - 1)) if self.signed else 0

    @property
    def max(self) -> int:
        return (1 << (self.bits - self.signed)) - 1

    @property
    def modulus(self) -> int:
        return 1 << self.bits

    def __contains__(self, x: object) -> bool:
        return isinstance(x, int | Fraction) and x == int(x) and self.min <= x <= self.max

    def values(self) -> Iterator[int]:
        """Every value, from the smallest up."""
        return iter(range(self.min, self.max + 1))

    def round(self, x: Fraction | int, mode: Rounding = Rounding.NEAREST) -> int:
        """The integer x rounds to, saturated to the type."""
        return self.saturate(round_half_even(Fraction(x)) if mode == Rounding.NEAREST else int(x))

    def next_up(self, x: int) -> int | None:
        """The next larger value, or None above the largest."""
        return x + 1 if x < self.max else None

    def next_down(self, x: int) -> int | None:
        return x - 1 if x > self.min else None

    def saturate(self, x: int) -> int:
        return max(self.min, min(self.max, x))

    def wrap(self, x: int) -> int:
        """The representative of x modulo 2^bits in this type."""
        return (x - self.min) % self.modulus + self.min

    def saturating_add(self, a: int, b: int) -> int:
        return self.saturate(a + b)

    def modular_add(self, a: int, b: int) -> int:
        return self.wrap(a + b)

    def to_bits(self, x: int) -> int:
        """The bit pattern of x, as an unsigned integer."""
        if x not in self:
            raise RefusedValue(
                "x",
                Reason.MISMATCH,
                "{given} is not a value of {kind}",
                "it holds {least} to {most}",
                given=quote(x),
                kind=self.name,
                least=self.min,
                most=self.max,
            )
        return x % self.modulus

    def from_bits(self, pattern: int) -> int:
        _require_pattern(pattern, self.bits)
        return self.wrap(pattern)

    @cached_property
    def dtype(self) -> np.dtype[Any] | None:
        """The NumPy dtype that stores these values, or None."""
        return np.dtype(self.name) if self.bits in (8, 16, 32, 64) else None


@dataclass(frozen=True)
class FloatType:
    """IEEE-shaped floats with k mantissa bits and l exponent bits (`defn:fp`), subnormals, infinities and NaN included.

    >>> from fractions import Fraction
    >>> float16 = FloatType(10, 5)
    >>> float16.max, float16.ulp(Fraction(1)), float16.add(Fraction(2048), Fraction(1))
    (Fraction(65504, 1), Fraction(1, 1024), Fraction(2048, 1))
    """

    k: int
    l: int  # noqa: E741 - the paper's letter

    is_integer = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", require_whole("k", self.k, 1))
        object.__setattr__(self, "l", require_whole("l", self.l, 2))

    @cached_property
    def name(self) -> str:
        return _FLOAT_NAMES.get((self.k, self.l), f"float({self.k},{self.l})")

    def __str__(self) -> str:
        return self.name

    @property
    def bits(self) -> int:
        return 1 + self.l + self.k

    @property
    def max_exponent(self) -> int:
        """The exponent of the largest finite value."""
        return (1 << (self.l - 1)) - 1

    @property
    def min_exponent(self) -> int:
        """The exponent of the smallest normal value."""
        return 2 - (1 << (self.l - 1))

    @cached_property
    def max(self) -> Fraction:
        return (2 - power_of_two(-self.k)) * power_of_two(self.max_exponent)

    @property
    def min(self) -> Fraction:
        return -self.max

    @cached_property
    def smallest_normal(self) -> Fraction:
        return power_of_two(self.min_exponent)

    @cached_property
    def smallest_subnormal(self) -> Fraction:
        return power_of_two(self.min_exponent - self.k)

    @property
    def unit_roundoff(self) -> Fraction:
        """u = 2^-(k+1), the largest relative error of one rounding to nearest."""
        return power_of_two(-self.k - 1)

    def ulp(self, x: Fraction | int) -> Fraction:
        """The spacing of floats at |x| (`defn:ulp`), which is constant in the subnormal range."""
        exponent = floor_log2(x) if x else self.min_exponent
        return power_of_two(max(exponent, self.min_exponent) - self.k)

    def __contains__(self, x: object) -> bool:
        if is_special(x):
            return True
        if not isinstance(x, int | Fraction | float):
            return False
        top, bottom = x.as_integer_ratio()
        if not top:
            return True
        if bottom.bit_count() > 1:
            return False
        # x is an odd number times 2^last, and below 2^(exponent + 1). What is no multiple of its ulp is no float.
        exponent = top.bit_length() - bottom.bit_length()
        last = (top & -top).bit_length() - bottom.bit_length()
        return exponent <= self.max_exponent and last >= max(exponent, self.min_exponent) - self.k

    def round(self, x: Fraction | int | float, mode: Rounding = Rounding.NEAREST) -> Fraction | float:
        """Round x to the nearest float, ties to even, or toward zero.

        Rounding to nearest overflows to infinity from half an ulp above the largest finite value; rounding toward zero
        never does. Infinities and NaN stay as they are.
        """
        if is_special(x):
            return x
        x = Fraction(x)
        ulp = self.ulp(x)
        steps = round_half_even(x / ulp) if mode == Rounding.NEAREST else int(x / ulp)
        rounded = steps * ulp
        if abs(rounded) <= self.max:
            return rounded
        if mode == Rounding.TOWARD_ZERO:
            return self.max if x > 0 else self.min
        return math.inf if x > 0 else -math.inf

    def add(self, a: Value, b: Value, mode: Rounding = Rounding.NEAREST) -> Fraction | float:
        """Add as the machine does: exactly, then rounded once."""
        if is_special(a) or is_special(b):
            return sum(float(x) for x in (a, b) if is_special(x))  # inf + -inf is NaN, NaN stays
        return self.round(Fraction(a) + Fraction(b), mode)

    def next_up(self, x: Fraction | int | float) -> Fraction | float:
        """The smallest float above x; above the largest finite one it is infinity, and above infinity too."""
        if is_special(x):
            return self.min if x == -math.inf else x
        x = self._member(x)
        # Just below a power of two the floats are closer by half, so step by the spacing on that side.
        step = self.ulp(x) if x >= 0 else self.ulp(x + self.smallest_subnormal / 2)
        return x + step if x + step <= self.max else math.inf

    def next_down(self, x: Fraction | int | float) -> Fraction | float:
        return -self.next_up(-x)

    def round_up(self, x: Fraction | int) -> Fraction | float:
        """The smallest float at or above x."""
        lower = self._truncate(x)
        return lower if lower >= x else self.next_up(lower)

    def round_down(self, x: Fraction | int) -> Fraction | float:
        """The largest float at or below x."""
        return -self.round_up(-x)

    def values(self) -> Iterator[Fraction]:
        """Every finite value once, from the smallest up."""
        patterns = range(self.to_bits(self.max) + 1)
        yield from (-self._magnitude(p) for p in reversed(patterns) if p)
        yield from map(self._magnitude, patterns)

    def to_bits(self, x: Fraction | int | float) -> int:
        """The bit pattern of x; zero gives the pattern of +0, NaN the quiet one."""
        infinity = ((1 << self.l) - 1) << self.k
        if isinstance(x, float) and math.isnan(x):
            return infinity | 1 << (self.k - 1)
        sign = (1 << (self.bits - 1)) if x < 0 else 0
        if isinstance(x, float) and math.isinf(x):
            return sign | infinity
        x = abs(self._member(x))
        if x < self.smallest_normal:
            return sign | int(x / self.smallest_subnormal)
        e = floor_log2(x)
        return sign | (e - self.min_exponent + 1) << self.k | int(x / self.ulp(x)) - (1 << self.k)

    def from_bits(self, pattern: int) -> Fraction | float:
        _require_pattern(pattern, self.bits)
        negative, magnitude = divmod(pattern, 1 << (self.bits - 1))
        infinity = ((1 << self.l) - 1) << self.k
        if magnitude > infinity:
            return math.nan
        value = math.inf if magnitude == infinity else self._magnitude(magnitude)
        return -value if negative else value

    @cached_property
    def dtype(self) -> np.dtype[Any] | None:
        """The NumPy dtype that stores these values (bfloat16 in uint16), or None."""
        return np.dtype(_FLOAT_STORAGE[self.name]) if self.name in _FLOAT_STORAGE else None

    def holds(self, other: FloatType) -> bool:
        """Returns whether every finite value of `other` is one of this type's."""
        return self.k >= other.k and other.max in self and other.smallest_subnormal in self

    def _truncate(self, x: Fraction | int) -> Fraction:
        rounded = self.round(x, Rounding.TOWARD_ZERO)
        assert isinstance(rounded, Fraction)  # toward zero never gives an infinity
        return rounded

    def _magnitude(self, pattern: int) -> Fraction:
        exponent, mantissa = divmod(pattern, 1 << self.k)
        if not exponent:
            return mantissa * self.smallest_subnormal
        return ((1 << self.k) + mantissa) * power_of_two(self.min_exponent - self.k + exponent - 1)

    def _member(self, x: Fraction | int | float) -> Fraction:
        if x not in self:
            raise RefusedValue(
                "x",
                Reason.MISMATCH,
                "{given} is not a value of {kind}",
                "the nearest is {nearest}",
                given=quote(Fraction(x)),
                kind=self.name,
                nearest=quote(self.round(x)),
            )
        return Fraction(x)


NumberType: TypeAlias = IntType | FloatType


def _require_pattern(pattern: int, bits: int) -> None:
    if not 0 <= pattern < 1 << bits:
        raise RefusedValue(
            "pattern",
            Reason.MISMATCH,
            "`pattern={given}` does not fit into {bits} bits",
            "give 0 or more, and less than 2^{bits}",
            given=quote(pattern),
            bits=bits,
        )


_FLOAT_NAMES = {(10, 5): "float16", (7, 8): "bfloat16", (23, 8): "float32", (52, 11): "float64"}
_FLOAT_STORAGE = {"float16": "float16", "bfloat16": "uint16", "float32": "float32", "float64": "float64"}

int8, int16, int32, int64 = (IntType(bits, True) for bits in (8, 16, 32, 64))
uint8, uint16, uint32, uint64 = (IntType(bits, False) for bits in (8, 16, 32, 64))
float16, bfloat16, float32, float64 = (FloatType(*widths) for widths in _FLOAT_NAMES)

NAMED: dict[str, NumberType] = {
    t.name: t for t in (int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32, float64)
}
"""The types with a name, which are those with kernels."""


@lru_cache(maxsize=64)
def dtype_name(dtype: np.dtype[Any]) -> str:
    """NumPy's own name of a dtype, which it takes its time to make."""
    return dtype.name


def number_type(dtype: object) -> NumberType:
    """The type named by a string ("float32", "int5", "float(2,3)"), a NumPy dtype or scalar type, or a type itself.

    >>> number_type("bfloat16"), number_type(np.int32), number_type(np.dtype("f8")).name
    (FloatType(k=7, l=8), IntType(bits=32, signed=True), 'float64')
    """
    kind = find_number_type(dtype)
    if kind is None:
        raise RefusedType(
            "dtype",
            Reason.UNKNOWN,
            "`dtype={given}` is not a number type soundsum can add",
            "use one of {names}, or `IntType(bits, signed)`, or `FloatType(k, l)`",
            given=quote(dtype),
            names=", ".join(NAMED),
        )
    return kind


def find_number_type(dtype: object) -> NumberType | None:
    """The number type of this name or dtype, None if there is none."""
    if isinstance(dtype, IntType | FloatType):
        return dtype
    if isinstance(dtype, str) and dtype in NAMED:
        return NAMED[dtype]
    if isinstance(dtype, str):
        if match := re.fullmatch(r"(u?)int([1-9]\d*)", dtype):
            return IntType(int(match[2]), signed=not match[1])
        if match := re.fullmatch(r"float\((\d+), ?(\d+)\)", dtype):
            return FloatType(int(match[1]), int(match[2]))
    try:
        name = None if dtype is None else dtype_name(np.dtype(dtype))  # type: ignore[call-overload]
    except (TypeError, ValueError, SyntaxError):
        name = None
    return NAMED.get(name or "")


def double(x: Fraction) -> float:
    """A value of float64 as a float, by its bits: `float(x)` loses subnormals in a thread that flushes them to zero."""
    result: float = struct.unpack("<d", struct.pack("<Q", float64.to_bits(x)))[0]
    return result


def from_double(x: float) -> Fraction | float:
    """The exact value of a float, by its bits; infinities and NaN stay."""
    return float64.from_bits(struct.unpack("<Q", struct.pack("<d", x))[0])
