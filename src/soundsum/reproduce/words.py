"""Numbers for a person."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

Number: TypeAlias = int | Fraction | Decimal | bool | str
"""What can stand in a cell; a string is a statement that either is what was found or is not."""


def text(value: Number) -> str:
    """A number for a person: powers of two and their neighbours as such, long ones in three or four digits.

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
