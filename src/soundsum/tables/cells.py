"""Cells of CSV as numbers and as text, a column at a time; the same rules for single texts of Python objects.

Every cell goes the same way, whatever is in it: one that spells no number, is beyond 64 bits, or is not UTF-8, is
missing, and so is one that is too long to be read as anything but text. A number is [+-] digits [. digits] [e [+-]
digits], or inf, infinity or nan in any case, white space around it left out.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soundsum import native

LONGEST = native.LONGEST_CELL
"""Bytes of UTF-8 that a cell may have, wherever it lies, to be read as a number, a truth value or a date; a longer one
is missing. Text that stays text is compared by its bytes, however many there are."""


NUMBER = re.compile(r"[+-]?((\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?|(?i:inf|infinity|nan))", re.ASCII)
WHOLE = re.compile(r"[+-]?\d{1,37}", re.ASCII)
TRUTH = {"true": True, "1": True, "false": False, "0": False}
LEAST, MOST = -(10 ** (LONGEST - 1)) + 1, 10**LONGEST - 1
"""The integers that are spelled with no more than LONGEST characters."""


class RawCells(NamedTuple):
    """Bytes, and where in them each cell begins and how long it is."""

    block: NDArray[np.uint8]
    places: NDArray[np.uint32]


def parse_cells(cells: RawCells, kind: Any) -> Any:
    """An Arrow array of numbers, booleans or text; of None, of the bytes as they are."""
    import pyarrow as pa

    if kind is None:
        return _copied(cells, pa.binary())
    if pa.types.is_floating(kind):
        return _floats(cells, kind)
    if pa.types.is_integer(kind):
        return _integers(cells, kind)
    return _booleans(cells).cast(kind) if pa.types.is_boolean(kind) else _copied(cells, pa.string())


def _floats(cells: RawCells, kind: Any) -> Any:
    import pyarrow as pa

    held = pa.float32() if kind == pa.float32() else pa.float64()  # each rounded once
    size = len(cells.places)
    values, flags = np.empty(size, held.to_pandas_dtype()), np.empty(size, np.uint8)
    native.parse_floats(*cells, values, flags)
    return _masked(held, values, flags).cast(kind, safe=False)


def _integers(cells: RawCells, kind: Any) -> Any:
    import pyarrow as pa

    limits, size = np.iinfo(kind.to_pandas_dtype()), len(cells.places)
    low, high = max(int(limits.min), -(2**63)), min(int(limits.max), 2**63 - 1)
    values, flags = np.empty(size, np.int64), np.empty(size, np.uint8)
    native.parse_integers(*cells, low, high, values, flags)
    return _masked(pa.int64(), values, flags).cast(kind)


def _booleans(cells: RawCells) -> Any:
    """true and 1, false and 0."""
    import pyarrow as pa

    size = len(cells.places)
    values, flags = np.empty(size, np.uint8), np.empty(size, np.uint8)
    native.parse_truths(*cells, values, flags)
    return pa.Array.from_buffers(pa.bool_(), size, [_bitmap(flags), _bitmap(values)])


def _copied(cells: RawCells, kind: Any) -> Any:
    """Cells as bytes or as text, empty ones missing, and as text those that are not UTF-8."""
    import pyarrow as pa

    size = len(cells.places)
    offsets, flags = np.empty(size + 1, np.int32), np.empty(size, np.uint8)
    data = np.empty(int(cells.places[:, 1].sum(dtype=np.int64)), np.uint8)
    native.copy_cells(*cells, kind == pa.string(), offsets, data, flags)
    return pa.Array.from_buffers(kind, size, [_bitmap(flags), pa.py_buffer(offsets), pa.py_buffer(data)])


def _masked(kind: Any, values: NDArray[Any], flags: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [_bitmap(flags), pa.py_buffer(values)])


def _bitmap(flags: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def read_number(text: str) -> float:
    """Reads text as the nearest double; NaN if it spells no number. Linear in its length, and nothing raises."""
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
    """Returns whether a number has more characters than a cell may have; other objects have not."""
    if isinstance(number, int):
        return not LEAST <= number <= MOST
    if isinstance(number, Fraction):
        return is_endless(number.numerator) or is_endless(number.denominator)
    return isinstance(number, Decimal) and len(str(number)) > LONGEST
