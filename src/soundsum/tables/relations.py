"""Neighbouring relations between datasets: the four of the paper (`sec:distance-funcs`) and their distances.

Unordered relations look at a dataset as a multiset, ordered ones as a sequence; sized relations hold the number of
records public. Two NaNs count as the same record, and so do the two zeros. A distance costs time linear in what
differs where little does; two long sequences with nothing in common cost their product over the word size.
"""

from __future__ import annotations

import enum
import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

Codes: TypeAlias = NDArray[np.int64]

LONG, MOST_EDITS = 1000, 32
"""For sequences over LONG, at most MOST_EDITS insertions and deletions are tried first."""


@runtime_checkable
class Comparable(Protocol):
    """A dataset that knows its own distance to another one, without being written out."""

    def distance_to(self, other: object, relation: Relation) -> int | float: ...


class Relation(enum.StrEnum):
    """A notion of neighbouring datasets; members equal their names as strings.

    >>> Relation("change_one").distance([1, 2, 3], [3, 5, 1]), Relation.HAMMING.distance([1, 2, 3], [3, 5, 1])
    (1, 3)
    """

    SYMMETRIC = "symmetric"
    INSERT_DELETE = "insert_delete"
    CHANGE_ONE = "change_one"
    HAMMING = "hamming"

    @classmethod
    def read(cls, given: object) -> Relation:
        """The relation of this name; anything but text is refused by its type."""
        return cls(given) if isinstance(given, str) else cls._missing_(given)

    @classmethod
    def _missing_(cls, value: object) -> Relation:
        raise RefusedValue(
            "relation",
            Reason.UNKNOWN,
            "`relation={given}` is not one of {names}",
            "use one of these",
            given=quote(value),
            names=", ".join(cls),
        )

    @property
    def ordered(self) -> bool:
        """Whether the order of records matters to the distance."""
        return self in (Relation.INSERT_DELETE, Relation.HAMMING)

    @property
    def sized(self) -> bool:
        """Whether neighbours have the same, public number of records."""
        return self in (Relation.CHANGE_ONE, Relation.HAMMING)

    @property
    def unordered(self) -> Relation:
        """The relation that ignores the order: a uniform secret permutation turns an ordered bound into one for it."""
        return {Relation.INSERT_DELETE: Relation.SYMMETRIC, Relation.HAMMING: Relation.CHANGE_ONE}.get(self, self)

    def distance(self, left: Any, right: Any) -> int | float:
        """The distance of two datasets; infinite for a sized relation and datasets of different sizes."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Comparable):
                return one.distance_to(other, self)
        left, right = _codes(left, right)
        if self.sized and len(left) != len(right):
            return math.inf
        match self:
            case Relation.SYMMETRIC | Relation.CHANGE_ONE:
                codes = 1 + max(left.max(initial=-1), right.max(initial=-1))
                apart = np.bincount(left, minlength=codes) - np.bincount(right, minlength=codes)
                return int(np.abs(apart).sum()) // (2 if self.sized else 1)
            case Relation.HAMMING:
                return int(np.count_nonzero(left != right))
            case _:
                left, right = strip_common_ends(left, right)
                edits = few_edits(left, right) if min(len(left), len(right)) > LONG else None
                if edits is not None:
                    return edits
                return len(left) + len(right) - 2 * longest_common_subsequence(left.tolist(), right.tolist())


def convert(bound: Fraction, known: Relation, wanted: Relation) -> Fraction | None:
    """A bound on the `wanted` sensitivity from one on the `known`, or None where none follows (`thm:dsymtoid`).

    For functions on datasets of *every* length; on one length alone the doubling conversions are false.

    >>> convert(Fraction(3), Relation.SYMMETRIC, Relation.HAMMING)
    Fraction(6, 1)
    """
    if known == wanted:
        return bound
    if known.ordered and not wanted.ordered:
        return None
    if known.sized == wanted.sized:
        return bound
    return 2 * bound if wanted.sized else None


def multiset_distance(left: Counter[Any], right: Counter[Any]) -> int:
    """The number of records in one multiset and not in the other (`defn:symm-dist`)."""
    return sum(abs(left[key] - right[key]) for key in left.keys() | right.keys())


def strip_common_ends(left: Codes, right: Codes) -> tuple[Codes, Codes]:
    """Both sequences without their common beginning and common end, which the closest edit leaves alone."""
    start = _common_prefix(left, right)
    left, right = left[start:], right[start:]
    end = _common_prefix(left[::-1], right[::-1])
    return left[: len(left) - end], right[: len(right) - end]


def few_edits(left: Codes, right: Codes) -> int | None:
    """The insert-delete distance if it is at most MOST_EDITS, by the furthest-reaching paths of Myers (1986)."""
    reached = {1: 0}  # on each diagonal i - j of the usual table, the largest i that the edits so far can reach
    for edits in range(MOST_EDITS + 1):
        for diagonal in range(-edits, edits + 1, 2):
            i = max(reached.get(diagonal + 1, -1), reached.get(diagonal - 1, -1) + 1)
            i += _common_prefix(left[i:], right[i - diagonal :])
            if i >= len(left) and i - diagonal >= len(right):
                return edits
            reached[diagonal] = i
    return None


def longest_common_subsequence(left: Sequence[Hashable], right: Sequence[Hashable]) -> int:
    """Its length, with one row of the usual table kept as the bits of one integer (after Crochemore et al. 2001)."""
    if not left or not right:
        return 0
    where: dict[Hashable, int] = {}
    for i, key in enumerate(left):
        where[key] = where.get(key, 0) | 1 << i
    everywhere = (1 << len(left)) - 1
    row = everywhere
    for key in right:
        matched = row & where.get(key, 0)
        row = ((row + matched) | (row - matched)) & everywhere
    return len(left) - row.bit_count()


def _common_prefix(left: Codes, right: Codes) -> int:
    shorter = min(len(left), len(right))
    differs = left[:shorter] != right[:shorter]
    return int(differs.argmax()) if differs.any() else shorter


def _codes(left: Iterable[Any], right: Iterable[Any]) -> tuple[Codes, Codes]:
    """The records of both as integers, equal where the records are: NaNs alike, zeros alike."""
    for name, data in (("left", left), ("right", right)):
        if isinstance(data, np.ndarray) and data.ndim != 1:
            raise RefusedValue(
                name,
                Reason.WRONG_TYPE,
                "{option} has {dimensions} dimensions",
                "a dataset is one column, so pass one",
                dimensions=data.ndim,
            )
    both = [data for data in (left, right) if isinstance(data, np.ndarray) and data.dtype.kind in "iuf"]
    if len(both) == 2 and both[0].dtype == both[1].dtype:
        codes = np.unique(np.concatenate(both), return_inverse=True)[1]
        return codes[: len(both[0])], codes[len(both[0]) :]
    numbers: dict[Hashable, int] = {}
    left, right = (
        [numbers.setdefault("nan" if record != record else record, len(numbers)) for record in data]
        for data in (left, right)
    )
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)
