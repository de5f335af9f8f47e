"""Numbers to read: everything that turns an exact number into words for a person, and one layout for such words.

None of it decides anything. What programs read is `str(Fraction)`, exact.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Value, floor_log2, is_special, nearest_float, power_of_two

Number: TypeAlias = int | Fraction | Decimal | bool | str
"""The contents of a table's cell; a string is a statement."""

MOST_TERMS = 5
"""Values with up to this many ones in binary are written as sums of powers of two, exactly."""


def number(x: Fraction | int) -> str:
    """An integer in full, anything else to seven digits.

    >>> number(Fraction(1500)), number(Fraction(1, 2**60)), number(Fraction(1, 3)), number(2**64)
    ('1,500', '8.673617e-19', '0.3333333', '1.844674e+19')
    """
    x = Fraction(x)
    if x.denominator == 1 and abs(x) < 10**15:
        return f"{int(x):,}"
    if abs(floor_log2(x)) > 1000:
        return f"about {'-' if x < 0 else ''}2^{floor_log2(x)}"
    return f"{float(x):,.7g}"


def ratio(x: Fraction) -> str:
    """A ratio; where seven digits do not tell it from 1, on which side of it.

    >>> ratio(1 - Fraction(1, 2**50)), ratio(1 + Fraction(1, 2**40)), ratio(Fraction(1)), ratio(Fraction(3, 2))
    ('just under 1', 'just over 1', '1', '1.5')
    """
    excess = x - 1
    if excess and abs(excess) < Fraction(1, 10**6):
        return "just over 1" if excess > 0 else "just under 1"
    return number(x)


def ratio_from_below(x: Fraction | None) -> str:
    """A ratio in three digits, rounded down so that 1 means 1; nothing where every claim is 0 and is met.

    >>> ratio_from_below(Fraction(2, 3)), ratio_from_below(Fraction(1)), ratio_from_below(Fraction(999999, 10**6))
    ('0.666', '1', '0.999')
    """
    if x is None:
        return "exact"
    return str(x) if x.denominator == 1 else f"{int(x * 1000) / 1000:.3f}"


def amount(x: Fraction) -> str:
    """An epsilon, delta or rho: exact if that is short, otherwise to seven digits.

    >>> amount(Fraction(1, 3)), amount(Fraction(3, 10)), amount(Fraction(0.1)), amount(Fraction(1, 2**2000))
    ('1/3', '0.3', '0.1', 'about 2^-2000')
    """
    if x and abs(floor_log2(x)) > 1000:
        return f"about {'-' if x < 0 else ''}2^{floor_log2(x)}"
    short = f"{float(x):.7g}"
    return str(x) if x.denominator < 10**4 and Fraction(short) != x else short


def estimate(value: Value, low: Value, high: Value) -> str:
    """A value in as many digits as its interval needs; a whole number in full.

    >>> estimate(Fraction(1234567, 1000), 1234, 1235.5), estimate(1234567, 0, 10**7), estimate(10**400, 0, 2 * 10**400)
    ('1,234.6', '1,234,567', '1.0e+400')
    """
    exact, least, most = _printed(value), _printed(low), _printed(high)
    return _round(exact, _place(least, most), max(abs(exact), abs(least), abs(most)), round)


def interval(low: Value, high: Value) -> str:
    """Writes an interval in as many digits as it needs: two of the width, the ends rounded outward.

    >>> interval(1234.5678, 5e6), interval(4999991.5, 5000008.5), interval(37.94123, 37.94749), interval(7, 7)
    ('1,234 to 5,000,000', '4,999,991 to 5,000,009', '37.9412 to 37.9475', '7 to 7')
    >>> interval(1e-9, 3e-9), interval(10**17, 10**17 + 3), interval(-(10**30), 2 * 10**30)
    ('1.0e-09 to 3.0e-09', '100,000,000,000,000,000 to 100,000,000,000,000,003', '-1.0e+30 to 2.0e+30')
    """
    least, most = _printed(low), _printed(high)
    place, size = _place(least, most), max(abs(least), abs(most))
    return f"{_round(least, place, size, math.floor)} to {_round(most, place, size, math.ceil)}"


def estimates(rows: Sequence[tuple[Value, Value, Value]]) -> list[tuple[str, str]]:
    """Values and their intervals as the rows of one table: all with as many decimals as the narrowest interval needs.

    >>> estimates([(3.5, 3.21, 4.1), (12, 9, 15)]), estimates([(10**30, 0, 2 * 10**30), (5, 1, 9)])
    ([('3.50', '3.21 to 4.10'), ('12.00', '9.00 to 15.00')], [('1.0e+30', '0 to 2.0e+30'), ('5', '1 to 9')])
    """
    printed = [(_printed(value), _printed(low), _printed(high)) for value, low, high in rows]
    place = min(_place(low, high) for _, low, high in printed)
    size = max(abs(x) for row in printed for x in row)
    if not _fits_in_full(size, place):
        return [(estimate(*row), interval(*row[1:])) for row in printed]
    return [
        (
            _round(value, place, size, round),
            f"{_round(low, place, size, math.floor)} to {_round(high, place, size, math.ceil)}",
        )
        for value, low, high in printed
    ]


def bound(x: Fraction) -> str:
    """An exact number as somebody may have written it: whole, as a float prints, or as a fraction.

    >>> bound(Fraction(200000)), bound(Fraction(0.1)), bound(Fraction(1, 3)), bound(Fraction(-1, 4))
    ('200,000', '0.1', '1/3', '-0.25')
    """
    if x.denominator == 1 and abs(x) < 10**15:
        return f"{int(x):,}"
    near = nearest_float(x)
    return repr(near) if math.isfinite(near) and Fraction(near) == x else quote(x)


def edge(x: int | float) -> str:
    """The edge of a cell, as somebody may have written it.

    >>> edge(2_000_000), edge(0.1), edge(5.0), edge(-math.inf)
    ('2,000,000', '0.1', '5', '-inf')
    """
    return bound(Fraction(x)) if math.isfinite(x) else str(x)


def rough(x: float | Decimal) -> str:
    """A number whose order of magnitude matters: a p-value, a percentage.

    >>> rough(0.000123456), rough(12.5)
    ('0.00012', '12')
    """
    return f"{x:.2g}"


def binary(x: Any) -> str:
    """An exact value: short numbers in full, others as a power of two times one plus a remainder.

    >>> binary(Fraction(3, 2)), binary(Fraction(1, 2**60)), binary((1 + Fraction(1, 2**49)) / 2), binary(2**64 - 1)
    ('1.5', '2^-60', '2^-1 (1 + 2^-49)', '2^64 - 1')
    >>> binary(Fraction(1.7976931348623157e308))
    '2^1024 - 2^971'
    """
    if not isinstance(x, int | Fraction) or isinstance(x, bool):
        return str(x)  # an infinity, NaN, a word
    x = Fraction(x)
    if x < 0:
        return f"-{binary(-x)}" if " " not in binary(-x) else f"-({binary(-x)})".replace("-(about ", "about -(")
    if x == 0 or (x.denominator <= 2**10 and abs(x) < 10**7 and len(_plain(x)) <= 12):
        return _plain(x)
    e = floor_log2(x)
    if power_of_two(e + 1) - x == 1:
        return f"2^{e + 1} - 1"
    terms: list[int] = []
    rest = x / power_of_two(e)
    while rest and len(terms) < MOST_TERMS:
        terms.append(floor_log2(rest))
        rest -= power_of_two(terms[-1])
    below = power_of_two(e + 1) - x
    if rest and below == power_of_two(floor_log2(below)):
        return f"2^{e + 1} - {binary(below)}"
    if rest:
        return f"about {number(x).removeprefix('about ')}"
    inner = " + ".join(["1", *(f"2^{term}" for term in terms[1:])])
    return f"2^{e}" if len(terms) == 1 else inner if e == 0 else f"2^{e} ({inner})"


def times(ratio: Fraction | float) -> str:
    """Writes a ratio in words.

    >>> times(Fraction(16)), times(Fraction(2**64 - 1, 2**47)), times(Fraction(3, 2))
    ('16 times', 'about 131,072 times', '1.5 times')
    """
    if is_special(ratio):
        return "infinitely many times"
    exact = Fraction(ratio)
    whole = round(exact)
    near = exact != whole and abs(exact - whole) * 10**4 < exact
    return f"about {whole:,} times" if near else f"{number(exact)} times"


def size(n: int) -> str:
    """A number of records, in full up to a billion or so.

    >>> size(393216), size(2**30), size(4 * 2**52 + 2)
    ('393,216', '1,073,741,824', 'about 2^54')
    """
    return f"{n:,}" if n < 10**10 else f"about 2^{floor_log2(n)}"


def text(value: Number) -> str:
    """A number in a table: powers of two and their neighbours as such, long ones in three or four digits.

    >>> text(2**64 - 1), text(Fraction(1, 2**49)), text(393216), text(Fraction(33)), text(Fraction(10, 3))
    ('2^64 - 1', '2^-49', '393,216', '33', '3.333')
    >>> text(1 + Fraction(1, 3125)), text(Fraction(268435459, 2))
    ('1 + 0.00032', '134,217,729.5')
    """
    if isinstance(value, str | bool):
        return str(value)
    if isinstance(value, Decimal):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:,.1f}"
    number = Fraction(value)
    if number.denominator == 1 and abs(number) < 2**20:
        return f"{int(number):,}"
    for offset, suffix in ((0, ""), (1, " - 1"), (-1, " + 1")):
        size = abs(number) + offset if number.denominator == 1 else abs(number)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if size == Fraction(2) ** exponent and (not offset or number > 0):
            return f"{'-' if number < 0 else ''}2^{exponent}{suffix}"
    if number.denominator == 1:
        return f"{int(number):,}"
    if (number * 1000).denominator == 1:
        return f"{Decimal(int(number * 1000)) / 1000:,}"
    nearest = round(number)
    beyond = Decimal((number - nearest).numerator) / Decimal((number - nearest).denominator)
    if nearest and abs(beyond) < Decimal("1e-3") * abs(nearest):
        return f"{nearest:,} {'+' if beyond > 0 else '-'} {abs(beyond):.2g}"
    return f"{nearest + beyond:.4g}"


def chance(p: Decimal) -> str:
    """A probability; near 1 as what is missing from it.

    >>> chance(Decimal("0.00016773")), chance(Decimal("0.99983227")), chance(Decimal("0.25"))
    ('0.0001677', '1 - 0.0001677', '0.2500')
    """
    if Decimal("0.01") <= p <= Decimal("0.99"):
        return f"{p:.4f}"
    return f"{p:.4g}" if p < 1 / Decimal(2) else "1" if p == 1 else f"1 - {1 - p:.4g}"


def _plain(x: Value) -> str:
    return f"{int(x):,}" if x == int(x) else f"{float(x):.12g}"


def _printed(x: Value) -> Fraction:
    """The number itself, a float as the decimal it prints as."""
    return Fraction(repr(float(x))) if isinstance(x, float) else Fraction(x)


def _place(low: Fraction, high: Fraction) -> int:
    """The power of ten of the last digit to show of what lies between: the second of the width."""
    if low.denominator == high.denominator == 1:
        return max(0, floor_log10(high - low) - 1) if high > low else 0
    return floor_log10(high - low) - 1 if high > low else floor_log10(high) - 9


def _fits_in_full(size: Fraction, place: int) -> bool:
    """Returns whether numbers up to a size are written without a power of ten."""
    if not size or 10**15 <= size < 10**24:
        return not size or abs(place) <= 3
    return Fraction(1, 10**4) <= size < 10**15 and place >= -12


def _round(x: Fraction, place: int, size: Fraction, rounding: Callable[[Fraction], int]) -> str:
    """x to the place given, in full or, among very large and very small numbers, with a power of ten."""
    if _fits_in_full(size, place):
        decimals = max(0, -place)
        whole, rest = divmod(abs(rounding(x * 10**decimals)), 10**decimals)
        sign = "-" if rounding(x * 10**decimals) < 0 else ""
        return f"{sign}{whole:,}" + (f".{rest:0{decimals}d}" if decimals else "")
    if not x:
        return "0"
    power = floor_log10(x)
    decimals = max(1, power - place)
    digits = rounding(x / Fraction(10) ** (power - decimals))
    if abs(digits) >= 10 ** (decimals + 1):  # rounded up to the next power of ten
        power, digits = power + 1, digits // 10
    whole, rest = divmod(abs(digits), 10**decimals)
    return f"{'-' if x < 0 else ''}{whole}.{rest:0{decimals}d}e{power:+03d}"


def floor_log10(x: Fraction) -> int:
    """The exponent e with 10^e <= |x| < 10^(e+1)."""
    x = abs(x)
    e = math.floor(floor_log2(x) * math.log10(2))  # or one less than it is
    return e + 1 if x >= Fraction(10) ** (e + 1) else e


def layout(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title and facts under headings, as lines for a terminal of 80 columns.

    >>> print(layout("a sum", [("method", "grid"), ("promise", "one record moves it by at most 1")]))
    a sum
      method      grid
      promise     one record moves it by at most 1
    """
    lines = [title]
    for heading, said in rows:
        first, rest = f"  {heading:<11} ", " " * 14
        lines += textwrap.wrap(said, 80, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    return "\n".join(lines)
