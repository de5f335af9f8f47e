"""Arrow arrays as they lie in memory: numbers, bits and validity, read without asking whether a value is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum import native


def is_arrow(data: Any) -> bool:
    return hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__")


def plain_keys(array: Any) -> Any:
    """Keys as Arrow's functions compare them: dictionaries and views written out, NaN as no key, -0.0 as 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        return _write_out(array)
    if pa.types.is_run_end_encoded(kind):
        return plain_keys(pc.run_end_decode(array))
    if pa.types.is_string_view(kind):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_floating(kind):
        wide = pa.float64() if kind == pa.float64() else pa.float32()  # Arrow does not compare those of 16 bits
        with np.errstate(invalid="ignore"):  # a signalling NaN
            values = stored_numbers(array).astype(wide.to_pandas_dtype()) + wide.to_pandas_dtype()(0)
        return masked(wide, values, bits_of(array) & (values == values))
    return array


def _write_out(array: Any) -> Any:
    """A dictionary's keys, in steps that do not ask whether one is missing: the first stands in for those that are."""
    import pyarrow as pa

    values = plain_keys(array.dictionary)
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(values.type, values.type)
    values = values.cast(wide)  # as they may be longer than 32-bit offsets reach
    if not len(values):
        return pa.nulls(len(array), values.type)
    places = np.where(bits_of(array), stored_numbers(array.indices), 0)
    there = bits_of(array) & bits_of(values)[places]
    written = without_validity(values).take(pa.array(places))
    bitmap = pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(written.type, len(written), [bitmap, *written.buffers()[1:]])


def bits_of(array: Any) -> NDArray[np.bool_]:
    """Marks the entries of an Arrow array that are not null."""
    import pyarrow as pa

    if pa.types.is_null(array.type):
        return np.zeros(len(array), bool)
    bitmap = array.buffers()[0]  # which Arrow leaves out where all are there; that takes the kernel as long
    validity = None if bitmap is None else np.frombuffer(bitmap, np.uint8)
    return native.expand_validity(validity, array.offset, len(array)).view(bool)


def stored_bits(array: Any) -> NDArray[np.bool_]:
    """Arrow booleans as they lie in memory, whatever lies in those that are missing."""
    if not len(array):
        return np.zeros(0, bool)
    bits = np.frombuffer(array.buffers()[1], np.uint8)
    return native.expand_validity(bits, array.offset, len(array)).view(bool)


def without_validity(array: Any) -> Any:
    """The array as it lies in memory, whatever lies in those that are missing: `bits_of` says which these are.

    Arrow's functions take another way where something is missing, so that is left to us.
    """
    import pyarrow as pa

    if pa.types.is_null(array.type):
        return array
    return pa.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]], offset=array.offset)


def masked(kind: Any, values: NDArray[Any], there: NDArray[np.bool_]) -> Any:
    """Numbers as an Arrow array with a bitmap, even if all are there."""
    import pyarrow as pa

    bitmap = pa.py_buffer(np.packbits(there, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(values)])


def stored_numbers(array: Any) -> NDArray[Any]:
    """Arrow numbers as they lie in memory, whatever lies in those that are missing."""
    import pyarrow as pa

    width = array.type.bit_width // 8
    signs = {pa.types.is_floating(array.type): "f", pa.types.is_unsigned_integer(array.type): "u"}
    kind = f"{signs.get(True, 'i')}{width}"
    if not len(array):
        return np.empty(0, kind)
    return np.frombuffer(array.buffers()[1], kind, len(array), width * array.offset)


def as_int64(keys: Any) -> NDArray[np.int64]:
    """Arrow integers as 64 bits, those of uint64 as their bits."""
    return stored_numbers(keys).astype(np.int64, copy=False)
