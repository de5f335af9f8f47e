"""Persons' ids of any type as words of 64 bits: two rows have the same word if and only if they have the same id.

Integers, and whatever is stored as one (dates, times), are their own words; floats too, where 0.0 and -0.0 are one
person. Texts, decimals and intervals are looked up by their bytes, Python objects by what they identify
(tables/identities.py). The type of the column alone decides which of these happens and how ids are spelled for lots,
before the first row is read: what a batch leaves behind for the next tells persons apart and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.kernels.persons import TextWords, draw_shards
from soundsum.tables.arrow_arrays import as_int64, bits_of, stored_numbers
from soundsum.tables.cells import LONGEST
from soundsum.tables.identities import identify, spell

MICROSECONDS = {"s": 10**6, "ms": 1000}
"""In a unit of timestamps: what databases read from files that have them in it."""


class Ids(NamedTuple):
    """The word of every row's person, and whether it has one."""

    words: NDArray[np.uint64]
    known: NDArray[np.bool_]


class IdKind(NamedTuple):
    """The kind of a column's ids: equal kinds have the same words, spelled alike.

    `number` is what an integer is worth, or the scale of decimals; `column` says of which type the column is, as far as
    it matters who is the same person.
    """

    name: str
    number: int
    column: str


class PersonWords:
    """The words of one column's ids, the same in every batch, and how they are spelled (for lots)."""

    def __init__(self, kind: Any) -> None:
        """`kind` is the Arrow type of the column's keys, None if it has no type: Python objects."""
        self._arrow = kind
        self.kind = _find_kind(kind)
        self._find, self.spelled, self.write, self.read = _choose_reading(self.kind, kind)

    @classmethod
    def of(cls, kind: IdKind) -> PersonWords:
        """For ids that were written elsewhere, and are read by `read` alone."""
        own = object.__new__(cls)
        own._arrow, own.kind = None, kind
        own._find, own.spelled, own.write, own.read = _choose_reading(kind, None)
        return own

    def find(self, ids: Any) -> Ids:
        """The words of an Arrow array without NaN, or of a list of Python objects."""
        return self._find(ids if self._arrow is None or ids.type == self._arrow else ids.cast(self._arrow))


class ShardWords(PersonWords):
    """The words of the persons of one shard; others are left out."""

    def __init__(self, kind: Any, shard: int, of: int) -> None:
        super().__init__(kind)
        self._shard, self._of = shard, of

    def find(self, ids: Any) -> Ids:
        words, known = super().find(ids)
        return Ids(words, known & (draw_shards(self.spelled(), words, self._of) == self._shard))


class IdReading(NamedTuple):
    """How words are found for a batch's ids and spelled, and how ids are written and words found for them again."""

    find: Callable[[Any], Ids]
    spelled: Callable[[], native.PersonIds]
    write: Callable[[NDArray[np.uint64]], Any]
    read: Callable[[Any], NDArray[np.uint64]]


def _find_kind(kind: Any) -> IdKind:
    import pyarrow as pa

    types = pa.types
    if kind is None:
        return IdKind("objects", 0, "objects")
    if types.is_null(kind) or types.is_boolean(kind) or types.is_floating(kind):
        name = "floats" if types.is_floating(kind) else "integers"
        return IdKind(name, 1, "float" if types.is_floating(kind) else str(kind))
    if types.is_uint64(kind):
        return IdKind("naturals", 1, str(kind))
    if types.is_integer(kind):
        return IdKind("integers", 1, "integer")
    if types.is_temporal(kind) and kind.bit_width <= 64:
        return IdKind("integers", MICROSECONDS.get(kind.unit, 1) if types.is_timestamp(kind) else 1, str(kind))
    if types.is_decimal256(kind) or types.is_interval(kind):
        return IdKind("texts", 0, str(kind))
    if types.is_decimal(kind):
        return IdKind(
            "decimals", max(kind.scale, 0), f"decimal of scale {kind.scale}"
        )  # of whole hundreds by its digits
    is_text = types.is_string(kind) or types.is_large_string(kind)
    return IdKind("texts", 0, "text" if is_text else "bytes" if types.is_large_binary(kind) else str(kind))


def _choose_reading(kind: IdKind, arrow: Any) -> IdReading:
    """`arrow` is the Arrow type of the column, where there is one."""
    import pyarrow as pa

    if kind.name == "objects":
        return _read_objects()
    if kind.name not in ("texts", "decimals"):
        spelled: dict[str, Callable[[], native.PersonIds]] = {
            "integers": partial(native.PersonIds.integers, kind.number),
            "naturals": native.PersonIds.naturals,
            "floats": native.PersonIds.floats,
        }
        return IdReading(_find_numbers(arrow), spelled[kind.name], pa.array, stored_numbers)
    texts = TextWords()

    def read(ids: Any) -> NDArray[np.uint64]:
        return _find_bytes(ids, texts, longest=None).words

    def write(words: NDArray[np.uint64]) -> Any:
        offsets, data = texts.list_texts(words)
        return pa.Array.from_buffers(pa.large_binary(), len(words), [None, pa.py_buffer(offsets), pa.py_buffer(data)])

    as_ids = texts.as_ids if kind.name == "texts" else partial(texts.as_ids, kind.number)
    return IdReading(lambda ids: _find_bytes(_as_bytes(ids), texts), as_ids, write, read)


def _find_numbers(kind: Any) -> Callable[[Any], Ids]:
    import pyarrow as pa

    if kind is None or pa.types.is_null(kind):
        return _find_nobody
    if pa.types.is_boolean(kind):
        return lambda ids: _find_integers(ids.cast(pa.uint8()))
    return _find_floats if pa.types.is_floating(kind) else _find_integers


def _as_bytes(ids: Any) -> Any:
    """Ids as texts or bytes: decimals as 16 bytes, or as texts where they have more; intervals as theirs."""
    import pyarrow as pa

    kind = ids.type
    if pa.types.is_decimal256(kind):
        return ids.cast(pa.string())
    if pa.types.is_decimal(kind):
        return ids.cast(pa.decimal128(kind.precision, kind.scale)).view(pa.binary(16))
    return ids.view(pa.binary(16)) if pa.types.is_interval(kind) else ids  # months, days and nanoseconds


def _read_objects() -> IdReading:
    import pyarrow as pa

    numbers: dict[bytes, int] = {}

    def find(ids: list[Any]) -> Ids:
        found = [None if person is None else numbers.setdefault(person, len(numbers)) for person in map(identify, ids)]
        known = np.array([number is not None for number in found], bool)
        return Ids(np.array([number or 0 for number in found], np.uint64), known)

    def write(words: NDArray[np.uint64]) -> Any:
        known = list(numbers)
        return pa.array([known[word] for word in words.tolist()], pa.large_binary())

    def read(ids: Any) -> NDArray[np.uint64]:
        return np.array([numbers.setdefault(person, len(numbers)) for person in ids.to_pylist()], np.uint64)

    return IdReading(find, lambda: native.PersonIds.listed([spell(person) for person in numbers]), write, read)


def _find_nobody(ids: Any) -> Ids:
    return Ids(np.zeros(len(ids), np.uint64), np.zeros(len(ids), bool))


def _find_floats(ids: Any) -> Ids:
    with np.errstate(invalid="ignore"):  # a signalling NaN, in a row without an id
        words = (stored_numbers(ids).astype(np.float64) + 0.0).view(np.uint64)
    return Ids(words, bits_of(ids))


def _find_integers(ids: Any) -> Ids:
    return Ids(as_int64(ids).view(np.uint64), bits_of(ids))


def _find_bytes(ids: Any, texts: TextWords, longest: int | None = LONGEST) -> Ids:
    """Ids of equal bytes; one that is too long is missing, as in every engine."""
    import pyarrow as pa

    ids = ids.cast(pa.large_binary())
    _, offsets, data = ids.buffers()
    if not len(ids):
        return _find_nobody(ids)
    starts = np.frombuffer(offsets, np.int64, len(ids) + 1, 8 * ids.offset)
    known = bits_of(ids)
    if longest is not None:
        known = known & (starts[1:] - starts[:-1] <= longest)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return Ids(texts.find(starts, text, known), known)
