"""Text of Python objects that spells a number, a whole number or a truth value, read as cells of CSV are (cells.py).

Each text is read on its own, and nothing raises: what spells none is NaN or None.
"""

from __future__ import annotations

import math
import re

NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,37}", re.ASCII)
TRUTH = {"true": True, "1": True, "false": False, "0": False}


def read_number(text: str) -> float:
    """The double nearest to the number that is spelled; NaN for none."""
    plain = text.strip()
    return float(plain) if NUMBER.fullmatch(plain) else math.nan


def read_whole(text: str) -> int | None:
    plain = text.strip()
    return int(plain) if WHOLE.fullmatch(plain) else None


def read_truth(text: str) -> bool | None:
    return TRUTH.get(text.strip().lower())
