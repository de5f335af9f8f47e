"""One column of anything, as numbers or as keys: arrays, Arrow and data-frame columns, and Python iterables.

What has a type keeps it: booleans are 0 and 1, decimals exact scaled integers. Python objects have none, so each is
read on its own, as a cell of CSV is: as numbers they are float64, text that spells a number is that number, and
anything else is missing. Nothing here raises because of one value.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import numpy as np

from soundsum.numbers.quoting import say_column, say_kind
from soundsum.numbers.types import NumberType, find_number_type, float64, int64, number_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.arrow_arrays import bits_of, is_arrow, masked, plain_keys, stored_bits, stored_numbers
from soundsum.tables.cells import is_endless, read_number
from soundsum.tables.keys import is_missing
from soundsum.tables.records import Column, Records, records, unmasked
from soundsum.tables.runs import Runs

INT64 = np.iinfo(np.int64)
ONE = Fraction(1)


class Numbers(NamedTuple):
    """Records, and what 1 in them is worth: a decimal's last digit, otherwise 1."""

    records: Records
    unit_value: Fraction


def is_untyped(data: Any) -> bool:
    """Returns whether the column is made of Python objects; a pandas column may be, too."""
    if isinstance(data, Runs | Column):
        return False
    own = getattr(data, "dtype", None)
    if own is None:
        return not is_arrow(data)
    if isinstance(own, np.dtype):
        return own.kind == "O"
    return str(own) in ("object", "Object")  # of NumPy and pandas, and of Polars


def empty_like(data: Any) -> Any:
    """An empty column of the same type, for checks before anything is read."""
    if isinstance(data, Runs | Column) or is_untyped(data):
        return data.__class__(data.type, ()) if isinstance(data, Runs) else data if isinstance(data, Column) else []
    return data.iloc[:0] if hasattr(data, "iloc") else data[:0]


def write_out_categories(data: Any) -> Any:
    """A pandas categorical as its values, Python objects: its categories may be of types Arrow has no word for."""
    if not hasattr(data, "cat") or not hasattr(data.cat, "categories"):
        return data
    categories = np.empty(len(data.cat.categories) + 1, object)
    categories[:-1] = list(data.cat.categories)
    categories[-1] = None  # for the code -1
    return categories[data.cat.codes.to_numpy()]


def as_numbers(data: Any, dtype: object = None, column: Any = None) -> Numbers:
    """The column as records of its own type, or of `dtype` where that is the same; errors call it by its name."""
    data = write_out_categories(data)
    if isinstance(data, Runs | Column):
        return Numbers(records(data, dtype, column), ONE)
    if is_untyped(data):
        return Numbers(records(np.array([_as_float(x) for x in data], np.float64), dtype, column), ONE)
    if is_arrow(data):
        array = as_arrow(data)
        return Numbers(records(in_storage(array), dtype, column), arrow_type(array.type, column)[1])
    if data.dtype.kind in "US":
        raise RefusedType(
            "data" if column is None else "column",
            Reason.WRONG_TYPE,
            "{data} is text",
            "convert it with `astype(float)`, or pass a list, which is read item by item",
            data=say_column(column),
        )
    if data.dtype == np.dtype(bool):
        return Numbers(records(data.astype(np.uint8), dtype, column), ONE)
    return Numbers(records(data, dtype, column), ONE)


def as_keys(data: Any) -> Any:
    """The column as an Arrow array, or as a list of Python objects."""
    data = write_out_categories(data)
    if isinstance(data, Runs | Column) or is_untyped(data) or _is_python_text(data):
        return list(data)
    return _arrow_keys(data)


def _is_python_text(data: Any) -> bool:
    """Returns whether these are Python's strings, of NumPy or pandas, which may hold what is not Unicode."""
    dtype = getattr(data, "dtype", None)
    return getattr(dtype, "kind", "") == "U" or getattr(dtype, "storage", "") == "python"


def presence(data: Any) -> Column:
    """1 for every record, missing where it is null, None or NaN."""
    data = write_out_categories(data)
    if isinstance(data, Runs | Column) or is_untyped(data) or _is_python_text(data):
        there = np.array([not is_missing(x) for x in data], bool)
    elif is_arrow(data):
        there = bits_of(_arrow_keys(data))
    else:
        there = unmasked(data)
        if data.dtype.kind in "fcmM":  # NaN and NaT are not themselves
            there &= np.ma.getdata(data) == np.ma.getdata(data)
    return Column(np.ones(len(there), np.uint8), number_type("uint8"), np.packbits(there, bitorder="little"))


def as_arrow(data: Any) -> Any:
    """An Arrow array in one piece."""
    import pyarrow as pa

    with suppress(pa.ArrowNotImplementedError):  # because of its type, which is not in a value
        if hasattr(data, "__arrow_c_array__") or not hasattr(data, "__arrow_c_stream__"):
            return pa.array(_hold_days(data))
        chunks = _without_empty(pa.chunked_array(data))
        if pa.types.is_dictionary(chunks.type):  # whose indices may be too narrow for all chunks together
            chunks = pa.chunked_array(
                [plain_keys(chunk) for chunk in chunks.chunks] or [plain_keys(_none(chunks.type))]
            )
        return _widen(chunks).combine_chunks()
    raise RefusedType(
        "data",
        Reason.WRONG_TYPE,
        "a column of {kind} is neither numbers nor keys",
        "cast it",
        kind=" ".join(str(data.dtype).split()),
    )


def _hold_days(data: Any) -> Any:
    """NumPy's dates without those beyond Arrow's, which has 32 bits for a day: cut to these, two would be one."""
    dtype = getattr(data, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind != "M" or np.datetime_data(dtype)[0] != "D":
        return data
    days = np.ma.getdata(data).astype(np.int64)
    return np.ma.array(data, mask=np.ma.getmaskarray(data) | (days != days.astype(np.int32)))


def _widen(array: Any) -> Any:
    """Text and bytes with 64-bit offsets, as those of 32 bits end at 2 GiB."""
    import pyarrow as pa

    wider = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(array.type)
    return array if wider is None else array.cast(wider)


def _without_empty(chunked: Any) -> Any:
    """Chunks without those of no rows, whose buffers may end before they begin."""
    import pyarrow as pa

    return pa.chunked_array([chunk for chunk in chunked.chunks if len(chunk)], chunked.type)


def _none(kind: Any) -> Any:
    import pyarrow as pa

    return pa.array([], kind)


def _arrow_keys(data: Any) -> Any:
    """Plain keys in one piece. Chunks become so one by one: their dictionaries need not fit into one."""
    import pyarrow as pa

    if hasattr(data, "__arrow_c_array__") or not hasattr(data, "__arrow_c_stream__"):
        return plain_keys(as_arrow(data))
    chunked = _without_empty(pa.chunked_array(data))
    kind = _widen(plain_keys(pa.nulls(0, chunked.type))).type
    return pa.chunked_array([_widen(plain_keys(chunk)) for chunk in chunked.chunks], kind).combine_chunks()


def arrow_type(kind: Any, column: Any = None) -> tuple[NumberType, Fraction]:
    """The number type of an Arrow type, and what 1 is worth in it."""
    import pyarrow as pa

    if pa.types.is_boolean(kind):
        return number_type("uint8"), Fraction(1)
    if pa.types.is_null(kind):  # no row has a value
        return float64, Fraction(1)
    if pa.types.is_decimal(kind) and not pa.types.is_decimal256(kind):
        return int64, Fraction(10) ** -kind.scale
    found = None
    with suppress(NotImplementedError, TypeError):
        found = find_number_type(kind.to_pandas_dtype())
    if found is None:
        raise RefusedType(
            "data" if column is None else "column",
            Reason.WRONG_TYPE,
            "{data} is {kind}, not numbers",
            "name another column, or cast it",
            data=say_column(column),
            kind=say_kind(kind),
        )
    return found, Fraction(1)


def in_storage(array: Any) -> Any:
    """An Arrow array in the storage of its number type: booleans as 0 and 1, decimals by their last digits."""
    import pyarrow as pa

    if pa.types.is_boolean(array.type):
        return masked(pa.uint8(), stored_bits(array).view(np.uint8), bits_of(array))
    if pa.types.is_null(array.type):
        return array.cast(pa.float64())
    if pa.types.is_decimal(array.type) and not pa.types.is_decimal256(array.type):
        return _last_digits(array)
    return array


def _last_digits(array: Any) -> Any:
    """Decimals of up to 128 bits as integers of 64, held at their limits: bounds of a record are within those."""
    import pyarrow as pa

    if not len(array):
        return pa.array([], pa.int64())
    if array.type.bit_width < 128:
        held = stored_numbers(array).astype(np.int64)
    else:
        words = np.frombuffer(array.buffers()[1], np.int64, 2 * len(array), 16 * array.offset)
        low, high = words[::2], words[1::2]
        held = np.where(high == low >> 63, low, np.where(high < 0, INT64.min, INT64.max))
    return masked(pa.int64(), held, bits_of(array))


def _as_float(x: Any) -> float:
    """Numbers, and text that spells one, as doubles, those beyond them as infinities; anything else as NaN."""
    if isinstance(x, str):
        return read_number(x)
    if isinstance(x, bytes | complex | np.complexfloating | np.ndarray) or x is np.ma.masked:
        return math.nan
    if not hasattr(x, "__float__") and not hasattr(x, "__index__"):  # float would read bytes as text
        return math.nan
    try:
        return math.nan if is_endless(x) else float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.inf
    except Exception:  # of a class of somebody's own, too
        return math.nan


def refuse_two_kinds(column: str, one: str, other: str) -> NoReturn:
    """Refuses to read a column without a type of its own in two ways at once."""
    raise RefusedValue(
        "column",
        Reason.CONFLICT,
        "{column} is asked for as {one} and as {other}, and is read as one of them",
        "name another column, or ask in two calls",
        column=say_column(column),
        one="numbers" if one == "float64" else one,
        other="numbers" if other == "float64" else other,
    )
