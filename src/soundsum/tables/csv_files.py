"""CSV files, read a block at a time: our own kernel finds rows and cells, so other libraries cannot change them.

There are no types in a CSV file, and none are guessed: whoever asks says what a column is read as. A cell of another
type is missing, a row with too few or too many cells or of over 4 MiB is left out, an empty line is a row of missing
cells, and nothing raises. Quotes must be in pairs: one that is not takes what follows it into its cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import RawCells, parse_cells
from soundsum.tables.paths import RawPath, compression
from soundsum.tables.prefetch import read_ahead

BLOCK = 1 << 22
"""Bytes read at a time; no row is longer, nor is the header."""

HEADER = 1 << 16
"""Bytes read at first to find the header; doubled until its end is found."""

NOWHERE = 2**32 - 1
"""The place of a column that nobody wants."""

SPARE = 64
"""Bytes after a block that the kernel may use."""

ROW_START = 0
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""The first two bytes of a file in UTF-16, before the names in its first line, and as public as these."""

BINARY = {b"PAR1\x15": ("a Parquet", ".parquet"), b"ARROW1\0\0": ("an Arrow", ".arrow")}
"""The first bytes of files that may be named as CSV by mistake."""

SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "vertical bars"}


class IsUtf16(Exception):
    """A file begins as those in UTF-16 do."""


class HasLongHeader(Exception):
    """A file's first line is longer than a row may be."""


class IsBinary(Exception):
    """A file begins as those of another format do: its name, and its suffix."""


class CsvFiles:
    """CSV files, each with the column names that it begins with; the first one's are the table's."""

    def __init__(self, files: Sequence[str], system: Any = None) -> None:
        """`system` is Arrow's file system for files that are not this machine's."""
        import pyarrow as pa

        self.files, self._system = list(files), system
        self._names = {file: _read_header(file, system) for file in files}
        if not all(self._names.values()):
            raise csv.Error("an empty line has no names")
        self.schema = pa.schema([(name, pa.null()) for name in self._names[self.files[0]]])

    @property
    def has_odd_names(self) -> bool:
        """Whether the names of the first file have letters that are not UTF-8."""
        return any("\ufffd" in name for name in self.schema.names)

    def padded_name(self, column: str) -> str | None:
        """The name in the first file's first line that is this one with blanks around it."""
        return next((name for name in self.schema.names if name != column and name.strip() == column), None)

    def separator_of(self, column: str) -> str | None:
        """Name the separator of the first file's header, if splitting by it would give this column."""
        for sign, words in SEPARATORS.items():
            names = [part.strip(' "') for name in self.schema.names if sign in name for part in name.split(sign)]
            if column in names and column not in self.schema.names:
                return words
        return None

    def require_column(self, column: str) -> None:
        """Refuses a column that is not in every file just once."""
        if not all(names.count(column) == 1 for names in self._names.values()):
            raise RefusedValue(
                "data",
                Reason.MISMATCH,
                "one of the files has no column {column}, or has it twice",
                "give all files the same column names",
                column=quote(column),
            )

    def batches(self, kinds: Mapping[str, Any]) -> Iterator[Any]:
        """The rows, with these columns as these Arrow types; None for any, where the values do not matter."""
        blocks = ((file, *block) for file in self.files for block in whole_rows(file, self._system))
        parts = (self._parse(file, block, size, kinds) for file, block, size in blocks)
        return read_ahead(parts)

    def _parse(self, file: str, block: NDArray[np.uint8], size: int, kinds: Mapping[str, Any]) -> Iterator[Any]:
        import pyarrow as pa

        places = {name: place for place, name in enumerate(kinds)}
        place = [places.get(name, NOWHERE) for name in self._names[file]]
        cells = native.split_rows(block, size, place, len(places), BLOCK)
        columns = [parse_cells(RawCells(block, cells[:, i]), kind) for i, kind in enumerate(kinds.values())]
        yield pa.record_batch(columns, names=list(kinds))


def whole_rows(path: str, system: Any = None) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """The rows after the header, in blocks of whole rows: the bytes, some to spare, and how many are rows."""
    with _open(path, system) as file:
        begin = file.read(len(BYTE_ORDER_MARK))
        rest = np.frombuffer(begin.removeprefix(BYTE_ORDER_MARK), np.uint8)
        skips, state = True, ROW_START  # the header is skipped as too long a row is
        while True:
            block, is_last = _read_block(file, rest)
            if skips:
                end, _, state = native.scan_rows(block[:-SPARE], state)
                if end is None:
                    if is_last:
                        return
                    rest = rest[:0]
                    continue
                block, skips = block[end:], False
            _, end, state = native.scan_rows(block[:-SPARE], ROW_START)
            size = len(block) - SPARE
            end = size if is_last else end or 0
            rest = block[end:size].copy()
            if end:
                yield block, end
            if is_last:
                return
            if len(rest) > BLOCK + 1:  # the last may be half of a line end
                rest, skips = rest[:0], True


def _read_block(file: Any, rest: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], bool]:
    """Join the rest of the last block with the next one, with bytes to spare; and tell whether it is the last."""
    block = np.empty(len(rest) + BLOCK + SPARE, np.uint8)
    block[: len(rest)] = rest
    filled = len(rest)
    while filled < len(block) - SPARE:
        read = file.readinto(block[filled:-SPARE].data)
        if not read:
            return block[: filled + SPARE], True
        filled += read
    return block, False


def _read_header(path: str, system: Any) -> list[str]:
    """The names in the first line. Records follow: nothing is charged yet, so they are not read."""
    header = _header_bytes(path, system)
    if header[:2] in UTF_16:
        raise IsUtf16
    for first, kind in BINARY.items():
        if header.startswith(first):
            raise IsBinary(*kind)
    return next(csv.reader(io.StringIO(header.decode("utf-8-sig", errors="replace"), newline="")))


def _header_bytes(path: str, system: Any) -> bytes:
    """A file up to its first line end that is not in quotes. How much is read depends on the header alone."""
    begin: bytes = b""
    with _open(path, system) as file:
        while len(begin) <= BLOCK:
            more = file.read(max(HEADER, len(begin)))
            begin += more
            end = native.find_row_end(np.frombuffer(begin.removeprefix(BYTE_ORDER_MARK), np.uint8))
            if end is not None or not more:
                mark = len(BYTE_ORDER_MARK) if begin.startswith(BYTE_ORDER_MARK) else 0
                header = begin if end is None else begin[: mark + end]
                if len(header) > BLOCK:
                    break
                return header
    raise HasLongHeader


def _open(path: str, system: Any) -> Any:
    """A stream of the file's bytes, decompressed if its suffix says so."""
    import pyarrow as pa

    if system is not None:
        return system.open_input_stream(path, compression=compression(path))
    return pa.input_stream(RawPath(path), compression=compression(path))
