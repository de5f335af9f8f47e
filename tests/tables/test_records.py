"""Records are taken as they lie in memory, with the type of their schema and what is missing in them."""

import math
from collections import deque
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum import FloatType, IntType, Runs
from soundsum.numbers.types import NAMED, bfloat16, float64
from soundsum.tables.records import Column, records
from tests.refusing import refused

inf, nan = math.inf, math.nan
TYPES = list(NAMED.values())
ARROW_TYPES = [T for T in TYPES if T.name != "bfloat16"]


def array_of(T, count=13):
    """Values from limit to limit, infinities and NaN where the type has them."""
    values = [0, 1, 2, 100, T.min, T.max] + ([] if T.is_integer else [-1, 0.5, -0.0, inf, -inf, nan])
    dtype = ml_dtypes.bfloat16 if T.name == "bfloat16" else T.dtype
    return np.resize(np.array([x if isinstance(x, int) else float(x) for x in values], dtype=dtype), count)


def alike(left, right):
    left, right = list(left), list(right)
    return len(left) == len(right) and all(a == b or (a != a and b != b) for a, b in zip(left, right, strict=True))


def unaligned(array):
    whole = np.zeros(array.nbytes + 1, dtype=np.uint8)
    moved = whole[1:].view(array.dtype)
    moved[:] = array
    return moved


def in_a_table(array):
    table = np.zeros(len(array), dtype=[("tag", "u1"), ("value", array.dtype)])
    table["value"] = array
    return table["value"]


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS = {
    "plain": np.copy,
    "strided": lambda a: np.repeat(a, 3)[::3],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "constant": lambda a: np.broadcast_to(a[1], a.shape),
    "read-only": read_only,
    "unaligned": unaligned,
    "a field of a table": in_a_table,
    "byte-swapped": lambda a: a.astype(a.dtype.newbyteorder()) if a.dtype.kind != "V" else a,
    "empty": lambda a: a[:0],
}


# Arrays


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_an_array_of_any_layout(T, layout):
    array = LAYOUTS[layout](array_of(T))
    for column in (records(array), records(array, T), records(array, T.name)):
        assert column.type == T
        assert column.size == len(array)
        assert column.values.dtype == T.dtype
        assert column.validity is None
        assert column.values.flags.aligned
        assert alike(column, array.tolist())


@pytest.mark.parametrize("layout", ["plain", "strided", "reversed", "constant", "read-only"])
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_an_array_is_not_copied(T, layout):
    array = LAYOUTS[layout](array_of(T))
    assert np.shares_memory(records(array).values, array)
    assert records(array).values.strides == array.strides


def test_bfloat16_may_come_in_16_bit_integers():
    array = array_of(bfloat16)
    assert alike(records(array.view(np.uint16), "bfloat16"), array.tolist())
    assert records(array.view(np.uint16)).type == IntType(16, signed=False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("T", TYPES, ids=str)
def test_a_mask_marks_what_is_missing(T, layout):
    array = LAYOUTS[layout](array_of(T))
    mask = np.arange(len(array)) % 3 == 1
    column = records(np.ma.MaskedArray(array, mask))
    assert column.type == T
    assert alike(column, np.where(mask, nan, array.astype(object)))
    assert column.missing().tolist() == [x != x for x in column]
    assert column.negative().tolist() == [x < 0 for x in column]
    assert alike(records(np.ma.MaskedArray(array)), array.tolist())


# Arrow


@pytest.mark.parametrize("T", ARROW_TYPES, ids=str)
@given(data=st.data())
def test_an_arrow_slice_keeps_its_nulls(T, data):
    count = data.draw(st.integers(0, 40))
    values = array_of(T, count)
    present = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), dtype=bool)
    start, stop = data.draw(st.integers(0, count)), data.draw(st.integers(0, count))
    whole = pa.array(values, mask=~present, from_pandas=False)
    column = records(whole[start:stop])
    assert column.type == T
    assert column.values.dtype == T.dtype
    assert alike(column, np.where(present, values.astype(object), nan)[start:stop])
    assert column.nullable  # whether anything is missing or not


@pytest.mark.parametrize("offset", range(17))
def test_an_arrow_array_is_not_copied(offset):
    whole = pa.array([1.0, None] * 16)
    column = records(whole[offset:])
    assert column.values.ctypes.data == whole.buffers()[1].address + 8 * offset
    assert alike(column, ([1.0, nan] * 16)[offset:])


def test_an_arrow_buffer_may_be_longer_or_out_of_line():
    values = np.array([7, -9], dtype=np.int32)
    for buffer in (pa.py_buffer(values.tobytes() + b"xyz"), pa.py_buffer(b"x" + values.tobytes())[1:]):
        column = records(pa.Array.from_buffers(pa.int32(), 2, [None, buffer]))
        assert list(column) == [7, -9]
        assert column.values.flags.aligned


def test_an_arrow_array_may_hold_nothing():
    assert list(records(pa.array([], pa.int16()))) == []
    assert records(pa.array([], pa.int16())).type == IntType(16)
    assert alike(records(pa.array([None] * 3, pa.float32())), [nan] * 3)


# Runs, columns and iterables


def test_runs_and_columns_stay_what_they_are():
    for data in (Runs(FloatType(2, 3), [(1, 5)]), records(np.ones(3))):
        assert records(data) is records(data, data.type) is data
        with refused("dtype", "conflict", TypeError, given="int8", kind=data.type.name):
            records(data, "int8")


@pytest.mark.parametrize(
    "data",
    [
        [1, 2.5, inf],
        (1, Fraction(5, 2), inf),
        (x for x in (1, 2.5, inf)),
        deque([1, Decimal("2.5"), inf]),
        {1: 0, 2.5: 0, inf: 0}.keys(),
        [np.int8(1), np.float32(2.5), np.float64(inf)],
    ],
    ids=lambda data: type(data).__name__,
)
def test_iterables_are_float64(data):
    column = records(data)
    assert column.type == float64
    assert list(column) == [1, 2.5, inf]


def test_none_is_missing_and_nothing_is_a_dataset():
    assert alike(records([1, None, nan]), [1, nan, nan])
    assert list(records([])) == []
    assert list(records(range(3))) == [0, 1, 2]


def test_chunks_of_arrow_and_of_data_frames_keep_their_type():
    chunked = pa.chunked_array([[1, None], [3]], type=pa.int16())
    column = records(chunked)
    assert column.type.name == "int16"
    assert alike(column, [1, nan, 3])


def test_integers_beyond_the_floats_are_infinite_not_an_error():
    assert list(records([1, 10**400, -(10**400)])) == [1, math.inf, -math.inf]


# What is refused

NO_NUMBERS = ("data", "wrong-type", {})


@pytest.mark.parametrize(
    "data, dtype, error, option, reason, facts",
    [
        (np.ones(3), "float32", TypeError, "dtype", "conflict", {"kind": "float64", "given": "float32"}),
        (np.ones(3, np.uint16), "float16", TypeError, "dtype", "conflict", {"kind": "uint16", "given": "float16"}),
        (np.ones(3, np.int16), "bfloat16", TypeError, "dtype", "conflict", {"kind": "int16", "given": "bfloat16"}),
        (np.ones(3), "int5", TypeError, "dtype", "unsupported", {"given": "int5"}),
        (np.ones(3), "real", TypeError, "dtype", "unknown", {"given": "'real'"}),
        (np.ones((2, 3)), None, ValueError, "data", "wrong-type", {"dimensions": 2}),
        (np.array(1.0), None, ValueError, "data", "wrong-type", {}),
        ([[1, 2], [3, 4]], None, ValueError, "data", "wrong-type", {"dimensions": 2}),
        (np.ma.MaskedArray(np.ones((2, 3))), None, ValueError, "data", "wrong-type", {"dimensions": 2}),
        (np.array([True]), None, TypeError, "data", "wrong-type", {"kind": "bool"}),
        (np.array(["1"]), None, TypeError, "data", "wrong-type", {"kind": "str32"}),
        (np.array([1, None]), None, TypeError, "data", "wrong-type", {"kind": "object"}),
        (np.array([1j]), None, TypeError, "data", "wrong-type", {"kind": "complex128"}),
        (np.array([1], "M8[s]"), None, TypeError, "data", "wrong-type", {"kind": "datetime64[s]"}),
        (["1", "2"], None, TypeError, *NO_NUMBERS),
        ([1.5, "2"], None, TypeError, *NO_NUMBERS),
        ([True, False], None, TypeError, *NO_NUMBERS),
        ([1, np.False_], None, TypeError, *NO_NUMBERS),
        ("123", None, TypeError, *NO_NUMBERS),
        ([1j], None, TypeError, *NO_NUMBERS),
        ([[1], [1, 2]], None, TypeError, *NO_NUMBERS),
        (3.5, None, TypeError, *NO_NUMBERS),
        (None, None, TypeError, *NO_NUMBERS),
        (pa.array(["a"]), None, TypeError, "data", "wrong-type", {"kind": "text"}),
        (pa.array([True]), None, TypeError, "data", "wrong-type", {"kind": "bool"}),
        (pa.array([Decimal(1)]), None, TypeError, "data", "wrong-type", {"kind": "decimals"}),
        (pa.array([1, 2]), "float64", TypeError, "dtype", "conflict", {"kind": "int64", "given": "float64"}),
        (pa.array([1, 2]), "real", TypeError, "dtype", "unknown", {"given": "'real'"}),
        (Runs("int8"), "real", TypeError, "dtype", "unknown", {"given": "'real'"}),
    ],
)
def test_what_records_refuse(data, dtype, error, option, reason, facts):
    with refused(option, reason, error, **facts):
        records(data, dtype)


def test_a_column_of_bits_is_read_from_its_first_bit():
    column = Column(np.array([5, 6, 7]), IntType(64), np.array([0b10100000, 0b1], dtype=np.uint8), first_bit=6)
    assert alike(column, [nan, 6, 7])
