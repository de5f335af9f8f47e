"""Cells of CSV are the numbers and texts that Python and Arrow read in them, and missing where they are none."""

import re
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from soundsum.tables.cells import RawCells, parse_cells

FLOAT = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|(?i:inf|infinity|nan))", re.ASCII)
INTEGER = re.compile(r"[+-]?\d{1,37}", re.ASCII)
SPACES = " \t\n\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


def decode(cell):
    """The cell as text, None for none: the model of all that follows."""
    try:
        return None if cell is None else cell.decode()
    except UnicodeDecodeError:
        return None


def laid_out(cells):
    """The cells one after another in a block; None as an empty one, which is missing too."""
    lengths = np.array([len(cell or b"") for cell in cells], np.uint32)
    begins = np.cumsum(lengths, dtype=np.uint32) - lengths
    return RawCells(
        np.frombuffer(b"".join(cell or b"" for cell in cells), np.uint8), np.stack([begins, lengths], axis=1)
    )


def as_float(cell):
    text = decode(cell)
    text = None if text is None else text.strip(SPACES)
    return float(text) if text is not None and FLOAT.fullmatch(text) else None


def as_integer(cell, low=-(2**63), high=2**63 - 1):
    text = decode(cell)
    text = None if text is None else text.strip(SPACES)
    if text is None or not INTEGER.fullmatch(text):
        return None
    return int(text) if low <= int(text) <= high else None


NUMBERS = (
    st.floats().map(repr)
    | st.integers().map(str)
    | st.decimals(allow_nan=False, allow_infinity=False).map(str)
    | st.from_regex(FLOAT, fullmatch=True)
    | st.from_regex(INTEGER, fullmatch=True)
    | st.text("0123456789+-.eE infaty", max_size=30)
    | st.sampled_from(
        ["", "1_000", "0x10", "1e", ".", "-.", "1.e5", "+.5", "1e+", "++1", "5e-324", "2.4703282292062327e-324"]
    )
    | st.sampled_from(
        ["0" * 60 + "1", "1" + "0" * 400, "." + "0" * 400 + "1", "0" * 37, "0" * 38, "1e999999999999", "-1e-99999"]
    )
    | st.sampled_from(["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"])
    | st.sampled_from(
        ["9007199254740993", "9007199254740992e22", "1e23", "123456789012345678901e-5", "0e5", "-0.0", "0." + "0" * 30]
    )
)
PADDED = st.tuples(st.text(SPACES, max_size=2), NUMBERS, st.text(SPACES, max_size=2)).map("".join).map(str.encode)
BROKEN = st.sampled_from(
    [
        b"\xff",
        b"1\xff",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x80",
        b"\xc2",
        b"1\xc2\xa0",
        b"\xe3\x80\x801",
    ]
)
CELLS = st.lists(st.none() | PADDED | st.binary(max_size=6) | st.text(max_size=4).map(str.encode) | BROKEN, max_size=30)


def same(found, wanted):
    """The same bits, NaN for NaN."""
    assert len(found) == len(wanted)
    for x, y in zip(found, wanted, strict=True):
        assert (x is None) == (y is None)
        assert x is None or (x != x and y != y) or struct.pack("d", x) == struct.pack("d", y)


@settings(max_examples=400, deadline=None)
@given(CELLS)
@example([b"179769313486231580793728971405301e277", b"1e308", b"1e309", b"-1e309", b"4.9e-324", b"2e-324"])
def test_floats_are_what_python_reads(cells):
    same(parse_cells(laid_out(cells), pa.float64()).to_pylist(), list(map(as_float, cells)))


@settings(max_examples=200, deadline=None)
@given(CELLS)
def test_floats_of_32_bits_are_rounded_once(cells):
    found = parse_cells(laid_out(cells), pa.float32())
    spelled = [
        None if x is None else decode(cell).strip(SPACES) for x, cell in zip(map(as_float, cells), cells, strict=True)
    ]
    wanted = pa.array(spelled, pa.string()).cast(pa.float32())
    same(found.to_pylist(), wanted.to_pylist())


@settings(max_examples=200, deadline=None)
@given(CELLS, st.sampled_from(["int64", "int8", "uint8", "uint32", "uint64"]))
def test_integers_are_what_python_reads(cells, name):
    limits = np.iinfo(name)
    found = parse_cells(laid_out(cells), pa.type_for_alias(name))
    low, high = int(limits.min), min(int(limits.max), 2**63 - 1)
    assert found.type == name
    assert found.to_pylist() == [as_integer(cell, low, high) for cell in cells]


@settings(max_examples=200, deadline=None)
@given(CELLS)
def test_texts_are_what_python_decodes_and_missing_where_empty(cells):
    found = parse_cells(laid_out(cells), pa.string())
    found.validate(full=True)
    assert found.to_pylist() == [decode(cell) or None for cell in cells]
    assert parse_cells(laid_out(cells), None).to_pylist() == [cell or None for cell in cells]


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.bool_(), pa.string(), None])
def test_no_cells(kind):
    assert len(parse_cells(laid_out([]), kind)) == 0


def test_every_second_cell_of_a_block():
    block, places = laid_out([b"%d.5" % i for i in range(1000)])
    assert parse_cells(RawCells(block, places[::2]), pa.float64()).to_pylist() == [i + 0.5 for i in range(0, 1000, 2)]
