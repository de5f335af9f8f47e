"""Partitions of pandas frames, each read as the types that the whole frame has.

pandas finds some types in the values of a partition: one missing value turns integers into doubles, and a partition in
which all are missing into objects. Types that a missing value changes are refused by the frame's own type; a partition
of any other is read as that type, so that no record decides whether a frame can be read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soundsum.refusals import Reason, RefusedType
from soundsum.tables.columns import as_keys, as_numbers
from soundsum.tables.records import Column
from soundsum.tables.type_names import say_column


def refuse_changing(name: Any, declared: Any) -> None:
    """Refuses NumPy's integers and truth values: as doubles, large ids were one, and in each partition others."""
    if isinstance(declared.dtype, np.dtype) and declared.dtype.kind in "iub":
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "{column} is {kind} of NumPy, and where a value is missing pandas gives a partition another type",
            "read the frame with `dtype_backend='pyarrow'`, make it of `rows.convert_dtypes(dtype_backend='pyarrow')`, "
            "or cast the column with `astype('float64')`",
            column=say_column(name),
            kind=str(declared.dtype),
        )


def read_as_declared(column: Any, declared: Any) -> Any:
    """A partition's column as the type of the frame's own empty one; any other type ends the read."""
    kind, own, key_type = declared.dtype, column.dtype, _key_type(declared)
    if str(own) == str(kind) and _key_type(column) == key_type:
        return column
    is_plain = isinstance(own, np.dtype)
    if isinstance(kind, np.dtype) and kind.kind == "f" and is_plain and own.kind in "biufO":
        return declared.__class__(_as_doubles(column).astype(kind), index=column.index)
    if kind.kind == own.kind == "M" and str(getattr(kind, "tz", None)) == str(getattr(own, "tz", None)):
        return _in_unit(column, declared)
    if own.kind == "O" and key_type is None:  # each is read on its own, as text and categories are
        return column.astype(object)
    if own.kind == "O" and kind == "string":
        return declared.__class__([_text(x) for x in column], dtype=kind, index=column.index)
    if column.isna().all():
        return declared.reindex(range(len(column)))
    raise TypeError("a partition has a column of another type than the frame")


def _key_type(column: Any) -> Any:
    """The Arrow type of a column as keys; None if it is read object by object."""
    none = as_keys(column.iloc[:0])
    return None if isinstance(none, list) else none.type


def _as_doubles(column: Any) -> Any:
    """Every number rounded once, as pandas rounds the integers of a partition in which one is missing."""
    if column.dtype.kind == "O":
        read = as_numbers(list(column)).records
        assert isinstance(read, Column)
        return np.asarray(read.values)
    return column.to_numpy().astype(np.float64)


def _in_unit(column: Any, declared: Any) -> Any:
    """Times in another unit, rounded down; missing if they are beyond those of 64 bits."""
    zone, unit, own = getattr(declared.dtype, "tz", None), declared.dt.unit, column.dt.unit
    stored = column.to_numpy(f"M8[{own}]")
    held = stored.astype(f"M8[{unit}]")
    if np.timedelta64(1, unit) < np.timedelta64(1, own):
        held = np.where(held.astype(stored.dtype) == stored, held, np.datetime64("NaT"))
    times = declared.__class__(held, index=column.index)
    return times if zone is None else times.dt.tz_localize("UTC").dt.tz_convert(zone)


def _text(x: Any) -> str | None:
    """Text that can be written as UTF-8; anything else is missing."""
    return x if isinstance(x, str) and x == x.encode(errors="replace").decode() else None
