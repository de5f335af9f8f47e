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
from soundsum.kernels.persons import TextWords
from soundsum.tables.arrow_arrays import as_int64, bits_of, stored_numbers
from soundsum.tables.cells import LONGEST
from soundsum.tables.identities import identify, spell

MICROSECONDS = {"s": 10**6, "ms": 1000}
"""In a unit of timestamps: what databases read from files that have them in it."""


class Ids(NamedTuple):
    """The word of every row's person, and whether it has one."""

    words: NDArray[np.uint64]
    known: NDArray[np.bool_]


class PersonWords:
    """The words of one column's ids, the same in every batch, and how they are spelled (for lots)."""

    def __init__(self, kind: Any) -> None:
        """`kind` is the Arrow type of the column's keys, None if it has no type: Python objects."""
        self._kind = kind
        self._find, self.spelled = _read_objects() if kind is None else _read_typed(kind)

    def find(self, ids: Any) -> Ids:
        """The words of an Arrow array without NaN, or of a list of Python objects."""
        return self._find(ids if self._kind is None or ids.type == self._kind else ids.cast(self._kind))


Reading = tuple[Callable[[Any], Ids], Callable[[], native.PersonIds]]
"""Finds the words of a batch's ids, and says how all those found are spelled."""


def _read_typed(kind: Any) -> Reading:
    import pyarrow as pa

    types = pa.types
    if types.is_null(kind):
        return _find_nobody, native.PersonIds.integers
    if types.is_boolean(kind):
        return (lambda ids: _find_integers(ids.cast(pa.uint8()))), native.PersonIds.integers
    if types.is_floating(kind):
        return _find_floats, native.PersonIds.floats
    if types.is_uint64(kind):
        return _find_integers, native.PersonIds.naturals
    if types.is_integer(kind) or (types.is_temporal(kind) and kind.bit_width <= 64):
        worth = MICROSECONDS.get(kind.unit, 1) if types.is_timestamp(kind) else 1
        return _find_integers, partial(native.PersonIds.integers, worth)
    texts = TextWords()
    if types.is_decimal256(kind):
        return (lambda ids: _find_bytes(ids.cast(pa.string()), texts)), texts.as_ids
    if types.is_decimal(kind):
        wide = pa.decimal128(kind.precision, kind.scale)
        scale = max(kind.scale, 0)  # one of whole hundreds by its digits
        return (lambda ids: _find_bytes(ids.cast(wide).view(pa.binary(16)), texts)), partial(texts.as_ids, scale)
    if types.is_interval(kind):  # months, days and nanoseconds
        return (lambda ids: _find_bytes(ids.view(pa.binary(16)), texts)), texts.as_ids
    return (lambda ids: _find_bytes(ids, texts)), texts.as_ids


def _read_objects() -> Reading:
    numbers: dict[bytes, int] = {}

    def find(ids: list[Any]) -> Ids:
        found = [None if person is None else numbers.setdefault(person, len(numbers)) for person in map(identify, ids)]
        known = np.array([number is not None for number in found], bool)
        return Ids(np.array([number or 0 for number in found], np.uint64), known)

    return find, lambda: native.PersonIds.listed([spell(person) for person in numbers])


def _find_nobody(ids: Any) -> Ids:
    return Ids(np.zeros(len(ids), np.uint64), np.zeros(len(ids), bool))


def _find_floats(ids: Any) -> Ids:
    with np.errstate(invalid="ignore"):  # a signalling NaN, in a row without an id
        words = (stored_numbers(ids).astype(np.float64) + 0.0).view(np.uint64)
    return Ids(words, bits_of(ids))


def _find_integers(ids: Any) -> Ids:
    return Ids(as_int64(ids).view(np.uint64), bits_of(ids))


def _find_bytes(ids: Any, texts: TextWords) -> Ids:
    """Ids of equal bytes; one that is too long is missing, as in every engine."""
    import pyarrow as pa

    ids = ids.cast(pa.large_binary())
    _, offsets, data = ids.buffers()
    if not len(ids):
        return _find_nobody(ids)
    starts = np.frombuffer(offsets, np.int64, len(ids) + 1, 8 * ids.offset)
    known = bits_of(ids) & (starts[1:] - starts[:-1] <= LONGEST)
    text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
    return Ids(texts.find(starts, text, known), known)
