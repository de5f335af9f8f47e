"""Records to sum: one column of a public number type, as an array or as runs.

The number type comes from the schema or from `dtype=`, never from the values. An array is taken as it lies in memory
(any stride, read-only too); an Arrow array keeps its validity bitmap; a masked array's mask becomes one.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.numbers.quoting import say_column, say_kind
from soundsum.numbers.rationals import Value, exact
from soundsum.numbers.types import NAMED, FloatType, NumberType, dtype_name, find_number_type, number_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.runs import Runs

Missing: TypeAlias = Literal["zero", "drop"]
"""The treatment of missing records: as the value within the bounds nearest zero, or left out."""


@dataclass(frozen=True, eq=False)
class Column:
    """Records in an array, with an Arrow validity bitmap where some may be missing.

    `values` is stored as `type.dtype` says; record i is present if bit `first_bit + i` of `validity` is set, or if
    there is no bitmap. `nullable` says that there might be one, and that the column takes the time of one that has.
    """

    values: NDArray[Any]
    type: NumberType
    validity: NDArray[np.uint8] | None = None
    first_bit: int = 0
    nullable: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "nullable", self.nullable or self.validity is not None)

    @property
    def size(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        """The exact values, NaN for missing ones."""
        bits = self.valid_bits()
        for i, value in enumerate(self.values.tolist()):
            if bits is not None and not bits[i]:
                yield float("nan")
            elif isinstance(self.type, FloatType) and self.values.dtype == np.uint16:
                yield self.type.from_bits(value)
            else:
                yield exact(value)

    def valid_bits(self) -> NDArray[np.uint8] | None:
        """One 0 or 1 per record, 0 for those absent in the bitmap; None if there can be none."""
        if not self.nullable:
            return None
        return native.expand_validity(self.validity, self.first_bit, self.size)

    def missing(self) -> NDArray[np.bool_]:
        """Marks the missing records: NaN, or absent in the bitmap."""
        bits = self.valid_bits()
        absent = np.zeros(self.size, dtype=bool) if bits is None else bits == 0
        if self.type.is_integer:
            return absent
        if self.values.dtype == np.uint16:  # bfloat16
            nan: NDArray[np.bool_] = self.values & 0x7FFF > 0x7F80
        else:
            nan = np.isnan(self.values)
        return absent | nan

    def negative(self) -> NDArray[np.bool_]:
        """Marks the records that are present and below zero."""
        if self.type.name == "bfloat16":
            return (self.values > 0x8000) & ~self.missing()
        below: NDArray[np.bool_] = self.values < 0
        return below & ~self.missing()


Records: TypeAlias = Column | Runs


def records(data: Any, dtype: object = None, column: Any = None) -> Records:
    """Data as records of a number type: runs, a column, an array, an Arrow array, or any iterable (float64 then).

    `column` is its name, for errors.

    >>> records(np.array([1, 2, 3], dtype=np.int32)).type.name, records([1, 2.5]).type.name
    ('int32', 'float64')
    """
    if isinstance(data, Runs | Column):
        if dtype is not None and number_type(dtype) != data.type:
            raise RefusedType(
                "dtype",
                Reason.CONFLICT,
                "`dtype={given}` but the records are {kind}",
                "leave `dtype` out",
                given=number_type(dtype).name,
                kind=data.type.name,
            )
        return data
    if hasattr(data, "__arrow_c_array__") or hasattr(data, "__arrow_c_stream__"):
        return _from_arrow(data, dtype, column)
    if isinstance(data, np.ma.MaskedArray):
        whole = _from_array(data.data, dtype, column)
        present = unmasked(data)
        return Column(whole.values, whole.type, np.packbits(present, bitorder="little"))
    return _from_array(data if isinstance(data, np.ndarray) else _doubles(data, column), dtype, column)


def unmasked(data: Any) -> NDArray[np.bool_]:
    """Marks the records of an array without a mask; NumPy may leave out a mask that hides nothing."""
    present = np.empty(len(data), bool)
    np.logical_not(np.ma.getmask(data), out=present)
    return present


def join(pieces: Sequence[Records], kind: NumberType) -> Records:
    """Records one after another, as one."""
    if len(pieces) == 1:
        return pieces[0]
    if not pieces:
        return Runs(kind, []) if kind.dtype is None else Column(np.empty(0, kind.dtype), kind)
    columns = [piece for piece in pieces if isinstance(piece, Column)]  # runs come in one piece
    whole = np.concatenate([column.values for column in columns])
    if not any(column.nullable for column in columns):
        return Column(whole, kind)
    valid = [np.ones(column.size, np.uint8) if (b := column.valid_bits()) is None else b for column in columns]
    return Column(whole, kind, np.packbits(np.concatenate(valid), bitorder="little"))


def present(data: Records) -> Records:
    """The records that are not missing, in order."""
    if isinstance(data, Runs):
        return keep_values(data, lambda x: x == x)
    return Column(data.values[~data.missing()], data.type)


def keep_values(data: Runs, wanted: Callable[[Value], bool]) -> Runs:
    """The records whose values are wanted, in order."""
    parts = ((tuple(filter(wanted, pattern)), count) for pattern, count in data.parts)
    return Runs(data.type, (part for part in parts if part[0]))


def keep(data: Column, which: NDArray[Any]) -> Column:
    """Some records of a column, by mask or by index, with their validity."""
    bits = data.valid_bits()
    validity = None if bits is None else np.packbits(bits[which], bitorder="little")
    return Column(data.values[which], data.type, validity)


def stretch(data: Column, rows: slice) -> Column:
    """Rows of a column one after another, in place."""
    return Column(data.values[rows], data.type, data.validity, data.first_bit + rows.start, data.nullable)


def _doubles(data: Any, column: Any) -> NDArray[np.float64]:
    """Any iterable of numbers as float64, None as NaN; numbers beyond its range as infinities, which clamp.

    NumPy alone would read text and booleans as numbers too, and refuse a large integer. What is no number is refused
    without showing it.
    """
    values: Any = None
    with suppress(TypeError, ValueError, OverflowError):
        values = data if hasattr(data, "__array__") else [_require_number(record) for record in data]
        with suppress(OverflowError):
            return np.array(values, dtype=np.float64)
        return np.array([_clamp_to_floats(x) for x in values], dtype=np.float64)
    raise RefusedType(
        _blame(column),
        Reason.WRONG_TYPE,
        "{data} is not a column of numbers",
        "pass an array or an iterable of numbers",
        data=say_column(column),
    )


def _blame(column: Any) -> str:
    """The option that the type of a column is to be blamed on."""
    return "data" if column is None else "column"


def _clamp_to_floats(x: Any) -> Any:
    """x, or an infinity of its sign where it is a number beyond the floats."""
    return x if x is None or not abs(x) > sys.float_info.max else math.inf if x > 0 else -math.inf


def _require_number(record: Any) -> Any:
    if isinstance(record, str | bytes | bool | np.bool_):
        raise TypeError
    return record


def _from_array(array: NDArray[Any], dtype: object, column: Any) -> Column:
    if array.ndim == 0:
        raise RefusedValue(
            _blame(column),
            Reason.WRONG_TYPE,
            "{data} has 0 dimensions",
            "pass a one-dimensional array",
            data=say_column(column),
        )
    if array.ndim != 1:
        raise RefusedValue(
            _blame(column),
            Reason.WRONG_TYPE,
            "{data} has {dimensions} dimensions, and a column has one",
            "give columns by name, several sums in one release: "
            '`ss.release({{"a": x[:, 0], "b": x[:, 1]}}, [ss.Sum("a", 0, 9), ss.Sum("b", 0, 9)], epsilon=1)`',
            data=say_column(column),
            dimensions=array.ndim,
        )
    kind = find_number_type(array.dtype) if dtype is None else number_type(dtype)
    if kind is None:
        raise RefusedType(
            _blame(column),
            Reason.WRONG_TYPE,
            "{data} is {kind}, which is not a number type soundsum can add",
            "convert it to one of {names}",
            data=say_column(column),
            kind=dtype_name(array.dtype),
            names=", ".join(NAMED),
        )
    stored = kind.dtype
    if stored is None:
        raise RefusedType(
            "dtype",
            Reason.UNSUPPORTED,
            "`dtype={given}` has no array storage",
            "give the records as Runs",
            given=kind.name,
        )
    if dtype_name(array.dtype) != kind.name and not (kind.name == "bfloat16" and array.dtype == np.uint16):
        raise RefusedType(
            "dtype",
            Reason.CONFLICT,
            "{data} is {kind} but `dtype={given}`",
            "convert it with `astype` first, or leave `dtype` out",
            data=say_column(column),
            kind=dtype_name(array.dtype),
            given=kind.name,
        )
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not array.flags.aligned or array.strides[0] % array.itemsize:
        array = array.copy()
    return Column(array.view(stored) if array.dtype != stored else array, kind)


def _from_arrow(data: Any, dtype: object, column: Any) -> Column:
    import pyarrow as pa

    whole_column = hasattr(data, "__arrow_c_array__")  # otherwise in chunks, from Arrow or a data frame
    array = pa.array(data) if whole_column else pa.chunked_array(data).combine_chunks()
    own = None
    with suppress(NotImplementedError, TypeError):
        own = find_number_type(array.type.to_pandas_dtype())
    if own is None:
        raise RefusedType(
            _blame(column),
            Reason.WRONG_TYPE,
            "{data} is {kind}",
            "soundsum adds integers and floats, so cast it",
            data=say_column(column),
            kind=say_kind(array.type),
        )
    kind = own if dtype is None else number_type(dtype)
    if kind != own:
        raise RefusedType(
            "dtype",
            Reason.CONFLICT,
            "{data} is {kind} but `dtype={given}`",
            "cast it first, or leave `dtype` out",
            data=say_column(column),
            kind=say_kind(array.type),
            given=kind.name,
        )
    bitmap, values = array.buffers()
    stop = array.offset + len(array)  # the buffer may go on for any number of bytes
    whole = np.frombuffer(values, dtype=kind.dtype, count=stop) if stop else np.empty(0, kind.dtype)
    taken = np.require(whole[array.offset :], requirements="A")
    validity = np.frombuffer(bitmap, dtype=np.uint8) if bitmap is not None else None
    # Arrow leaves out the bitmap where nothing is missing, so whether there is one must make no difference.
    return Column(taken, kind, validity, array.offset, nullable=True)
