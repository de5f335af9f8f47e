"""Text of Python objects that spells a number, a whole number or a truth value, read as cells of CSV are (cells.py).

Each text is read on its own, in linear time, and nothing raises: one that spells none, or is too long, is NaN or None.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

from soundsum.tables.cells import LONGEST

NUMBER = re.compile(r"[+-]?((\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?|(?i:inf|infinity|nan))", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,37}", re.ASCII)
TRUTH = {"true": True, "1": True, "false": False, "0": False}
LEAST, MOST = -(10 ** (LONGEST - 1)) + 1, 10**LONGEST - 1
"""The integers that are spelled with no more than LONGEST characters."""


def read_number(text: str) -> float:
    """The double nearest to the number that is spelled; NaN for none."""
    plain = strip(text)
    return float(plain) if NUMBER.fullmatch(plain) else math.nan


def read_whole(text: str) -> int | None:
    plain = strip(text)
    return int(plain) if WHOLE.fullmatch(plain) else None


def read_truth(text: str) -> bool | None:
    return TRUTH.get(strip(text).lower())


def strip(text: str) -> str:
    """The text without white space around it; nothing of one that is too long to spell anything."""
    if len(text) > LONGEST // 4 and len(text.encode(errors="surrogatepass")) > LONGEST:
        return ""
    return text.strip()


def is_endless(number: Any) -> bool:
    """Whether a number is spelled with more characters than a cell may have; other objects are not."""
    if isinstance(number, int):
        return not LEAST <= number <= MOST
    if isinstance(number, Fraction):
        return is_endless(number.numerator) or is_endless(number.denominator)
    return isinstance(number, Decimal) and len(str(number)) > LONGEST
