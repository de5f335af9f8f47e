"""Sums by person, fast: rows of the same person and group added up exactly, then bounded and added up by group.

Persons are 64-bit words, equal for the same person alone; `TextWords` makes such words of texts. Both keep hash tables,
whose random seeds come from the operating system, so that nobody can choose ids that meet in them. For many persons a
sum takes 25 to 60 bytes of memory for each (16 to 36 where rows alone are counted), by groups 25 to 75 for each pair of
person and group (16 to 45), and up to 31 more where squares are added; texts take 26 to 52 bytes each, 8 more, and up
to twice their own length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soundsum import native
from soundsum.kernels.arguments import RECORDS_PER_THREAD, threads_for
from soundsum.kernels.grouped import as_integers
from soundsum.randomness import random_bytes

BEYOND = 1 << 126
"""No person's sum reaches this (src/kernels/persons.cpp), so it replaces larger bounds."""

MOST_ROWS = (1 << 63) - 1

MOST_CODES = (1 << 31) - 1
"""Groups that may be found."""

ROWS_PER_THREAD = 1 << 15
"""Below this many rows a thread costs more than it saves; a row is looked up in memory far from the core."""


class BoundedPart(NamedTuple):
    """`weights` times a person's rows, the sum of their integers and of the squares of these, in [least, most]."""

    weights: tuple[int, int, int]
    least: int
    most: int


class Pairs(NamedTuple):
    """Pairs of person and group: the word of each person, the group, and what their rows add up to.

    `sums` has a row of 64-bit words for each pair: two of the sum, the low one first, and two of the sum of squares,
    as far as powers are added up.
    """

    words: NDArray[np.uint64]
    codes: NDArray[np.int32]
    rows: NDArray[np.uint64]
    sums: NDArray[np.uint64]


class PairSums:
    """The rows of every pair of person and group, the sum of their integers and, with 2 powers, of their squares."""

    def __init__(self, groups: int, powers: int) -> None:
        self._groups, self._powers = groups, powers
        self._sums = native.PersonSums(groups, powers, random_bytes(native.SEED_SIZE))

    def add(
        self,
        persons: NDArray[np.uint64],
        counts: NDArray[np.bool_],
        codes: NDArray[np.int32] | None,
        integers: NDArray[np.int64] | NDArray[np.uint64] | None,
        *,
        threads: int | None = None,
    ) -> None:
        """Adds rows: those that count, and whose code is a group."""
        is_unsigned = integers is not None and integers.dtype == np.uint64
        self._sums.add(
            _aligned(persons),
            np.ascontiguousarray(counts).view(np.uint8),
            None if codes is None else np.ascontiguousarray(codes, np.int32),
            None if integers is None else np.ascontiguousarray(integers).view(np.int64),
            is_unsigned,
            _threads(threads, len(persons)),
        )

    def add_pairs(self, pairs: Pairs) -> None:
        """Adds pairs whose rows were added up elsewhere."""
        words, rows, sums = (_aligned(own) for own in (pairs.words, pairs.rows, pairs.sums.reshape(-1)))
        self._sums.add_pairs(words, np.require(pairs.codes, requirements=["C", "A"]), rows, sums)

    def list_pairs(self) -> Pairs:
        """All pairs, in no order."""
        n = self.pairs
        words, codes, rows = np.empty(n, np.uint64), np.empty(n, np.int32), np.empty(n, np.uint64)
        sums = np.empty((n, 2 * self._powers), np.uint64)
        self._sums.list(words, codes, rows, sums.reshape(-1))
        return Pairs(words, codes, rows, sums)

    def totals(
        self,
        parts: Sequence[BoundedPart],
        max_rows: int,
        max_groups: int,
        *,
        in_proportion: bool,
        ids: native.PersonIds,
        threads: int | None = None,
    ) -> list[list[int]]:
        """Sum each person's bounded parts by group.

        A person counts in the `max_groups` groups with most of their rows; the lowest lots, drawn from ids, break ties
        (src/kernels/lots.hpp). In proportion, more than `max_rows` rows count as `max_rows` average ones: the part is
        scaled and rounded down.
        """
        asked = [
            [*part.weights, *(max(-BEYOND, min(end, BEYOND)) for end in (part.least, part.most))] for part in parts
        ]
        words = np.array([[_words(x) for x in numbers] for numbers in asked], np.uint64).reshape(len(parts), 5, 2)
        out = np.zeros((len(parts), self._groups, 2), np.uint64)
        rows, groups = min(max_rows, MOST_ROWS), min(max_groups, self._groups)
        self._sums.total(words, rows, groups, in_proportion, ids, out, _threads(threads, self._sums.held))
        return list(map(as_integers, out))

    def count(
        self, max_groups: int, ids: native.PersonIds, names: native.KeyNames, size: int, threads: int | None = None
    ) -> NDArray[np.int64]:
        """How many persons count in each of so many groups that nobody listed: each in at most `max_groups`."""
        out = np.zeros(size, np.int64)
        most = min(max_groups, self._groups)
        self._sums.count(most, ids, names, out, _threads(threads, self._sums.held))
        return out

    def renumber(self, numbers: NDArray[np.int32], groups: int, threads: int | None = None) -> None:
        """Leave the pairs of groups with a number below `groups`, by which they go from now on; -1 for the others."""
        self._sums.renumber(np.ascontiguousarray(numbers), groups, _threads(threads, self._sums.held))
        self._groups = groups

    @property
    def pairs(self) -> int:
        """The number of pairs of a person and a group."""
        return self._sums.pairs

    @property
    def bytes(self) -> int:
        """The memory they all take."""
        return self._sums.bytes


class TextWords:
    """Texts, or any bytes, as words of 64 bits: the same for equal bytes alone."""

    def __init__(self) -> None:
        self._texts = native.Texts(random_bytes(native.SEED_SIZE))

    def find(
        self,
        offsets: NDArray[np.int64],
        data: NDArray[np.uint8],
        counts: NDArray[np.bool_],
        *,
        threads: int | None = None,
    ) -> NDArray[np.uint64]:
        """A word for each text that counts, 0 for the others; text i is data[offsets[i]:offsets[i + 1]]."""
        words = np.empty(len(counts), np.uint64)
        flags = np.ascontiguousarray(counts).view(np.uint8)
        at = np.require(offsets, requirements=["C", "A"])
        self._texts.number(at, data, flags, words, None, _threads(threads, len(counts)))
        return words

    def find_codes(
        self,
        offsets: NDArray[np.int64],
        data: NDArray[np.uint8],
        counts: NDArray[np.bool_],
        *,
        threads: int | None = None,
    ) -> NDArray[np.int32]:
        """A small number for each text that counts, below `codes`, -1 for the others."""
        words, codes = np.empty(len(counts), np.uint64), np.empty(len(counts), np.int32)
        flags = np.ascontiguousarray(counts).view(np.uint8)
        at = np.require(offsets, requirements=["C", "A"])
        self._texts.number(at, data, flags, words, codes, _threads(threads, len(counts)))
        return codes

    @property
    def codes(self) -> int:
        """All codes are below this; some numbers below it may be none."""
        return self._texts.codes

    def list_texts(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.int64], bytes]:
        """The texts of words, one behind the other, and where each begins and ends."""
        offsets = np.empty(len(words) + 1, np.int64)
        return offsets, self._texts.list(_aligned(words), offsets)

    def as_names(self) -> native.Texts:
        """The texts that codes stand for, for lots (src/kernels/lots.hpp)."""
        self._texts.index()
        return self._texts

    def list_codes(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], bytes]:
        """The texts of codes, as `list_texts` gives those of words, once `as_names` was called."""
        offsets = np.empty(len(codes) + 1, np.int64)
        return offsets, self._texts.list_codes(np.ascontiguousarray(codes, np.int32), offsets)

    def as_ids(self, scale: int | None = None) -> native.PersonIds:
        """The ids as the kernel takes them: texts, or with a scale decimals of 16 bytes."""
        return native.PersonIds.texts(self._texts) if scale is None else native.PersonIds.decimals(self._texts, scale)

    @property
    def bytes(self) -> int:
        """The memory they all take."""
        return self._texts.bytes


class IntegerCodes:
    """Small numbers for integers, in the order in which these come."""

    def __init__(self) -> None:
        self._codes = native.IntegerCodes(random_bytes(native.SEED_SIZE))

    def find_codes(
        self, keys: NDArray[np.int64], counts: NDArray[np.bool_], *, threads: int | None = None
    ) -> NDArray[np.int32]:
        """The number of each integer that counts, below `codes`, -1 for the others."""
        codes = np.empty(len(counts), np.int32)
        flags = np.ascontiguousarray(counts).view(np.uint8)
        whole = np.require(keys, np.int64, ["C", "A"])
        self._codes.number(whole, flags, codes, _threads(threads, len(counts)))
        return codes

    @property
    def codes(self) -> int:
        """All codes are below this; some numbers below it may be none."""
        return self._codes.codes

    def as_names(self) -> native.IntegerCodes:
        """The integers that codes stand for, for lots (src/kernels/lots.hpp)."""
        return self._codes

    def list_codes(self, codes: NDArray[np.int32]) -> NDArray[np.int64]:
        """The integers of codes."""
        out = np.empty(len(codes), np.int64)
        self._codes.list(np.ascontiguousarray(codes, np.int32), out)
        return out


def draw_shards(ids: native.PersonIds, words: NDArray[np.uint64], shards: int) -> NDArray[np.uint64]:
    """The shard of each person, among `count`: the start of SHA-256 of the spelled id, modulo their number."""
    out = np.empty(len(words), np.uint64)
    native.draw_shards(ids, _aligned(words), shards, out, _threads(None, len(words)))
    return out


def count_codes(
    codes: NDArray[np.int32], counts: NDArray[np.bool_], into: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Add 1 for every row that counts in the place of its code, in an array that grows to `size` places and more."""
    if len(into) < size:
        grown = np.zeros(2 * size, np.int64)
        grown[: len(into)] = into
        into = grown
    native.count_codes(np.ascontiguousarray(codes), np.ascontiguousarray(counts).view(np.uint8), into)
    return into


def _aligned(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words aligned as the kernel takes them: in a buffer that came over a network they may not be."""
    return np.require(words, requirements=["C", "A"])


def _threads(threads: int | None, rows: int) -> int:
    return threads_for(threads, rows * (RECORDS_PER_THREAD // ROWS_PER_THREAD) if threads is None else rows)


def _words(x: int) -> tuple[int, int]:
    """The two words of a signed integer of 128 bits, the low one first."""
    return x & (1 << 64) - 1, (x >> 64) & (1 << 64) - 1
