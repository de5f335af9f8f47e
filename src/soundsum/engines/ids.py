"""Persons' ids of any type as words of 64 bits: two rows have the same word if and only if they have the same id.

Integers, and whatever is stored as one (dates, times), are their own words; floats too, where 0.0 and -0.0 are one
person. Texts and decimals are looked up by their bytes. Ids without a type, and those of the few other types Arrow has,
are numbered as Python compares them. Which of these happens depends on the type of the column alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, partial
from numbers import Real
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.data.keys import as_int64, bits_of, is_missing, stored_numbers
from soundsum.kernels.persons import TextWords

MICROSECONDS = {"s": 10**6, "ms": 1000}
"""In a unit of timestamps: what databases read from files that have them in it."""


class Ids(NamedTuple):
    """The word of every row's person, whether it has one, and how all words met so far are spelled (for lots)."""

    words: NDArray[np.uint64]
    known: NDArray[np.bool_]
    spelled: Callable[[], native.PersonIds] = native.PersonIds.integers


class PersonWords:
    """The words of one column's ids, the same in every batch."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    @cached_property
    def _texts(self) -> TextWords:
        return TextWords()

    def find(self, ids: Any) -> Ids:
        """The words of an Arrow array without NaN, or of a list of Python objects."""
        import pyarrow as pa

        if isinstance(ids, list):
            return self._of_objects(ids)
        kind = ids.type
        if pa.types.is_null(kind):
            return Ids(np.zeros(len(ids), np.uint64), np.zeros(len(ids), bool))
        known = bits_of(ids)
        if pa.types.is_boolean(kind):
            return Ids(stored_numbers(ids.cast(pa.uint8())).astype(np.uint64), known)
        if pa.types.is_floating(kind):
            with np.errstate(invalid="ignore"):  # a signalling NaN, in a row without an id
                words = (stored_numbers(ids).astype(np.float64) + 0.0).view(np.uint64)
            return Ids(words, known, native.PersonIds.floats)
        if pa.types.is_integer(kind) or (pa.types.is_temporal(kind) and kind.bit_width <= 64):
            return Ids(as_int64(ids).view(np.uint64), known, _spelled_as(kind))
        scale = None
        if pa.types.is_decimal256(kind):
            ids = ids.cast(pa.string())
        elif pa.types.is_decimal(kind):
            scale = max(kind.scale, 0)  # one of whole hundreds by its digits
            ids = ids.cast(pa.decimal128(kind.precision, kind.scale)).view(pa.binary(16))
        if is_bytes(ids.type):
            words = self._of_bytes(ids.cast(pa.large_binary()), known)
            return Ids(words, known, lambda: self._texts.as_ids(scale))
        encoded = ids.dictionary_encode()
        listed = self._of_objects(encoded.dictionary.to_pylist())
        places = np.where(known, stored_numbers(encoded.indices), 0)
        nobody = Ids(np.zeros(len(ids), np.uint64), known)
        if not len(listed.words):
            return nobody
        return Ids(listed.words[places], known & listed.known[places], listed.spelled)

    def _of_objects(self, ids: list[Any]) -> Ids:
        found = [self._number(person) for person in ids]
        known = np.array([number is not None for number in found], bool)
        return Ids(np.array([number or 0 for number in found], np.uint64), known, self._spell_objects)

    def _spell_objects(self) -> native.PersonIds:
        return native.PersonIds.listed([spell(person) for person in self._numbers])

    def _number(self, person: Any) -> int | None:
        """A number for everybody who is equal to nobody before; None for no id at all."""
        try:
            return None if is_missing(person) else self._numbers.setdefault(person, len(self._numbers))
        except (TypeError, ValueError, ArithmeticError):  # not hashable, so no id
            return None

    def _of_bytes(self, ids: Any, known: NDArray[np.bool_]) -> NDArray[np.uint64]:
        _, offsets, data = ids.buffers()
        if not len(ids):
            return np.zeros(0, np.uint64)
        starts = np.frombuffer(offsets, np.int64, len(ids) + 1, 8 * ids.offset)
        text = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(0, np.uint8)
        return self._texts.find(starts, text, known)


def is_bytes(kind: Any) -> bool:
    """Whether equal values of an Arrow type have equal bytes of any length."""
    import pyarrow as pa

    types = pa.types
    is_text = types.is_string(kind) or types.is_large_string(kind)
    return bool(is_text or types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind))


def _spelled_as(kind: Any) -> Callable[[], native.PersonIds]:
    """How integers, and what is stored as one, are spelled."""
    import pyarrow as pa

    if pa.types.is_uint64(kind):
        return native.PersonIds.naturals
    return partial(native.PersonIds.integers, MICROSECONDS.get(kind.unit, 1) if pa.types.is_timestamp(kind) else 1)


def spell(person: Any) -> bytes:
    """An id without a type, as the kernel spells those that have one; nothing for one of somebody's own class.

    Never as it prints: that may be where it lies in memory, which depends on the other rows.
    """
    try:
        if isinstance(person, np.generic):
            person = person.item()
        if isinstance(person, tuple):
            return b",".join(map(spell, person))
        if isinstance(person, str):
            return str.encode(person, errors="surrogatepass")
        if isinstance(person, UUID):
            return UUID.__str__(person).encode()
        if isinstance(person, bytes):
            return person
        if isinstance(person, datetime):
            since = person - datetime(1970, 1, 1, tzinfo=None if person.tzinfo is None else UTC)
            return str(since // timedelta(microseconds=1)).encode()
        if isinstance(person, date):
            return str(person.toordinal() - date(1970, 1, 1).toordinal()).encode()
        if isinstance(person, float) and not abs(person) < 2**53:
            return b"0"
        return str(math.trunc(person)).encode() if isinstance(person, Real | Decimal) else b""
    except Exception:  # it is still told from all others
        return b""
