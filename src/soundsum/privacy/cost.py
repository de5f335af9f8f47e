"""The exact cost of a release: (epsilon, delta)-DP, rho-zCDP, or both, as proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from soundsum.numbers import formatting
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import decimal, is_special
from soundsum.refusals import Reason, RefusedValue

LARGEST = 10**30  # beyond this an epsilon, a delta or a rho is a mistake
LONGEST = 1024  # bits of a numerator or denominator; longer costs are rounded up to a multiple of 2^-1024
MOST_BITS = 4100  # of a privacy parameter's numerator or denominator; noise for longer ones would take minutes


@dataclass(frozen=True)
class Cost:
    """A release that is (epsilon, delta)-DP, or rho-zCDP, or both. Laplace noise: epsilon alone. Gaussian noise: rho.

    >>> Cost(epsilon="1/3").zcdp, Cost(rho="0.01").zcdp, Cost(epsilon=1, delta="1e-6").zcdp
    (Fraction(1, 18), Fraction(1, 100), None)
    >>> print(Cost(epsilon=1, delta="1e-6", rho="1/40"))
    epsilon = 1, delta = 1e-06, rho = 0.025
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __init__(self, epsilon: Any = None, delta: Any = 0, rho: Any = None) -> None:
        if epsilon is None and rho is None:
            raise RefusedValue(
                "epsilon",
                Reason.MISSING,
                "a cost has an epsilon, or a rho, or both",
                "give `epsilon` for Laplace, `rho` for Gaussian noise",
            )
        object.__setattr__(self, "epsilon", None if epsilon is None else _short(parse_amount("epsilon", epsilon)))
        object.__setattr__(self, "delta", _short(parse_amount("delta", delta)))
        object.__setattr__(self, "rho", None if rho is None else _short(parse_amount("rho", rho)))
        if self.delta and epsilon is None:
            raise RefusedValue(
                "delta",
                Reason.NEEDS,
                "`delta={given}` is given without an epsilon",
                "give `epsilon` too, or `rho` alone",
                given=formatting.amount(self.delta),
            )

    @property
    def zcdp(self) -> Fraction | None:
        """The release's rho, if one is known: as given, and epsilon^2/2 for pure DP (Bun and Steinke 2016, 1.4)."""
        if self.epsilon is None or self.delta:
            return self.rho
        pure = self.epsilon**2 / 2
        return pure if self.rho is None else min(self.rho, pure)

    def __str__(self) -> str:
        given = {"epsilon": self.epsilon, "delta": self.delta or None, "rho": self.rho}
        return ", ".join(f"{name} = {formatting.amount(x)}" for name, x in given.items() if x is not None)

    def to_json(self) -> dict[str, str | None]:
        """Exact numbers as strings."""
        return {"epsilon": exact_text(self.epsilon), "delta": exact_text(self.delta), "rho": exact_text(self.rho)}


@lru_cache(maxsize=1024)  # a ledger's last lines are read again and again
def read_cost(epsilon: str | None, delta: str | None, rho: str | None) -> Cost:
    """The cost that a ledger has written down."""
    return Cost(epsilon, delta, rho)


def parse_amount(name: str, value: Any) -> Fraction:
    """A privacy parameter at its exact value: finite and not negative."""
    x = _parse_finite(name, value)
    if x < 0:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is below 0",
            "give a number such as 1 or 1/3",
            given=quote(value),
        )
    return x


def parse_positive(name: str, value: Any) -> Fraction:
    """A privacy parameter at its exact value: finite, above 0, and short enough to draw noise for it."""
    example = _example(name)
    if value is None:
        raise RefusedValue(
            name,
            Reason.MISSING,
            "`{option}` is missing",
            "give a number above 0, such as `{option}={example}`",
            example=example,
        )
    x = _parse_finite(name, value)
    if x <= 0:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}`: a privacy parameter is a finite number above 0",
            "give one such as `{option}={example}`",
            given=quote(value),
            example=example,
        )
    if is_long(x, MOST_BITS):
        raise RefusedValue(
            name,
            Reason.TOO_MANY,
            "`{option}={given}` has more than {most:,} bits",
            "give fewer digits, such as `{option}={example}`",
            given=quote(value),
            most=MOST_BITS,
            example=example,
        )
    return x


def _parse_finite(name: str, value: Any) -> Fraction:
    is_short = type(value) is str and len(value) < 64
    return _parse_again(name, value) if is_short else _parse(name, value)


@lru_cache(maxsize=1024)  # a ledger's lines repeat a few texts
def _parse_again(name: str, value: str) -> Fraction:
    return _parse(name, value)


def _parse(name: str, value: Any) -> Fraction:
    x = value if type(value) is Fraction else decimal(value, name)
    if type(x) is Fraction and abs(x.numerator) <= LARGEST * x.denominator:
        return x
    if not is_special(x) and x > LARGEST:
        raise RefusedValue(
            name,
            Reason.TOO_LARGE,
            "`{option}={given}` promises nothing",
            "give a small number, such as 1 or 1/3",
            given=quote(value),
        )
    if is_special(x):
        raise RefusedValue(
            name,
            Reason.NOT_A_NUMBER,
            "`{option}={given}` is not a finite number",
            "give one such as `{option}={example}`",
            given=quote(value),
            example=_example(name),
        )
    return Fraction(x)


def _example(name: str) -> str:
    return "1e-6" if name == "delta" else "1"


def exact_text(x: Fraction | None) -> str | None:
    """An exact number for files and programs."""
    return None if x is None else str(x)


def is_long(x: Fraction, bits: int = LONGEST) -> bool:
    """Returns whether x has too many digits for a share or a cost that somebody chose."""
    return max(x.numerator, x.denominator).bit_length() > bits


def _short(x: Fraction) -> Fraction:
    """x itself, or rounded up, which is the safe side of a cost, where its digits would grow without end."""
    if x.denominator.bit_length() <= LONGEST:
        return x
    return Fraction(math.ceil(x * 2**LONGEST), 2**LONGEST)
