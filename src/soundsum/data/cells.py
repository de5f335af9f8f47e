"""Cells of CSV as numbers and as text, a column at a time.

Every cell goes the same way, whatever is in it: what spells no number, is beyond 64 bits, or is not UTF-8, is missing.
A number is [+-] digits [. digits] [e [+-] digits], or inf, infinity or nan in any case, white space around it left out.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum import native

CELLS_PER_THREAD = 1 << 14

REPLACED = "\N{REPLACEMENT CHARACTER}"
"""Stands in a file that is read as UTF-8 for what is none."""


def parse_cells(cells: Any, kind: Any) -> Any:
    """Binary cells as an Arrow array of numbers, booleans or text; None for cells as they are."""
    import pyarrow as pa

    if kind is None:
        return cells
    if pa.types.is_floating(kind):
        return parse_floats(cells, kind)
    if pa.types.is_integer(kind):
        return parse_integers(cells, kind)
    return parse_booleans(cells).cast(kind) if pa.types.is_boolean(kind) else as_text(cells)


def parse_floats(cells: Any, kind: Any) -> Any:
    import pyarrow as pa

    held = pa.float32() if kind == pa.float32() else pa.float64()  # each rounded once
    values, flags = np.empty(len(cells), held.to_pandas_dtype()), np.empty(len(cells), np.uint8)
    native.parse_floats(*_laid_out(cells), values, flags, _threads(cells))
    return _masked(held, values, flags).cast(kind, safe=False)


def parse_integers(cells: Any, kind: Any) -> Any:
    import pyarrow as pa

    limits = np.iinfo(kind.to_pandas_dtype())
    low, high = max(int(limits.min), -(2**63)), min(int(limits.max), 2**63 - 1)
    values, flags = np.empty(len(cells), np.int64), np.empty(len(cells), np.uint8)
    native.parse_integers(*_laid_out(cells), low, high, values, flags, _threads(cells))
    return _masked(pa.int64(), values, flags).cast(kind)


def parse_booleans(cells: Any) -> Any:
    """true and 1, false and 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lower = pc.utf8_lower(pc.utf8_trim_whitespace(as_text(cells)))
    is_true, is_false = (pc.is_in(lower, pa.array(words)) for words in (["true", "1"], ["false", "0"]))
    return pc.if_else(is_true, True, pc.if_else(is_false, False, None))


def as_text(cells: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    flags = np.empty(len(cells), np.uint8)
    offsets, data, bitmap, first_bit = _laid_out(cells)
    native.check_texts(offsets, data, bitmap, first_bit, flags, _threads(cells))
    buffers = [_bitmap(flags), pa.py_buffer(offsets), pa.py_buffer(data)]
    texts = pa.Array.from_buffers(pa.string(), len(cells), buffers)
    return pc.if_else(pc.match_substring(texts, REPLACED), None, texts)


def _laid_out(cells: Any) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.uint8] | None, int]:
    """Offsets, bytes, and the validity bitmap with its first bit."""
    bitmap, offsets, data = cells.buffers()
    nothing = np.zeros(0, np.uint8)
    return (
        np.frombuffer(offsets, np.int32, len(cells) + 1, 4 * cells.offset) if len(cells) else np.zeros(1, np.int32),
        nothing if data is None or not data.size else np.frombuffer(data, np.uint8),
        None if bitmap is None else np.frombuffer(bitmap, np.uint8),
        cells.offset,
    )


def _masked(kind: Any, values: NDArray[Any], flags: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    return pa.Array.from_buffers(kind, len(values), [_bitmap(flags), pa.py_buffer(values)])


def _bitmap(flags: NDArray[np.uint8]) -> Any:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def _threads(cells: Any) -> int:
    return max(1, min(len(os.sched_getaffinity(0)), len(cells) // CELLS_PER_THREAD))
