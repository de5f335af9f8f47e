"""Datasets written as runs, so that the 2^30 records of an attack take a few hundred bytes.

A part is a pattern of values and how often it repeats: `(1, 2**29)` is one value 2^29 times, `((x, y), 2**28)` is
x, y, x, y, ... The datasets of the paper's attacks are all of this shape, and near-equal or reorderings of each other,
so their distances are computed here without writing them out.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, repeat
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Value, exact, is_special, require_whole
from soundsum.numbers.types import FloatType, NumberType, double, number_type
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.tables.patterns import (
    MOST_RUN_PAIRS,
    Part,
    common_subsequence,
    cut,
    differences,
    merge,
    same,
    side_by_side,
)
from soundsum.tables.relations import Relation, multiset_distance

MOST_BYTES = 1 << 33
"""An array takes at most this much: 2^30 doubles, the largest of the paper's datasets. More may kill the process."""


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Runs:
    """A dataset of one number type as repeated patterns.

    >>> left = Runs("float64", [(1, 2**29), ((0.25, -0.5), 2**28)])
    >>> len(left), left
    (1073741824, Runs('float64', [(1.0, 536870912), ((0.25, -0.5), 268435456)]))
    >>> Relation.INSERT_DELETE.distance(left, left[1:])
    1
    """

    type: NumberType
    parts: tuple[Part, ...]

    def __init__(self, dtype: object, parts: Iterable[tuple[Any, int]] = ()) -> None:
        kind = number_type(dtype)
        checked = [_checked_part(kind, pattern, count) for pattern, count in parts]
        self._set(kind, merge(checked))

    def _set(self, kind: NumberType, parts: tuple[Part, ...]) -> None:
        object.__setattr__(self, "type", kind)
        object.__setattr__(self, "parts", parts)

    def _with(self, parts: Iterable[Part]) -> Runs:
        """Replace the parts by others whose values are known to be of the type."""
        made = object.__new__(Runs)
        made._set(self.type, merge(parts))
        return made

    @classmethod
    def of(cls, values: Iterable[Any], dtype: object = None) -> Runs:
        """Make runs of an array, or of any values and a dtype."""
        if isinstance(values, np.ndarray):
            kind = number_type(values.dtype if dtype is None else dtype)
            if values.ndim != 1:
                raise RefusedValue(
                    "values",
                    Reason.WRONG_TYPE,
                    "values has {dimensions} dimensions",
                    "a dataset is one column, so pass one",
                    dimensions=values.ndim,
                )
            if kind.name == "bfloat16" and values.dtype == np.uint16:
                values = map(kind.from_bits, values.tolist())
            else:
                values = values.tolist()
        elif dtype is None:
            raise RefusedType(
                "dtype",
                Reason.MISSING,
                "`dtype` is missing, as only an array has a type of its own",
                "give it, such as `dtype='float64'`",
            )
        else:
            kind = number_type(dtype)
        is_number = True
        try:
            return cls(kind, ((value, 1) for value in values))
        except Refusal as refusal:  # which quotes a value, that of a record perhaps
            is_number = refusal.reason != Reason.NOT_A_NUMBER
        if not is_number:
            raise RefusedType(
                "values", Reason.NOT_A_NUMBER, "one of the values is not a number", "give an iterable of numbers"
            )
        raise RefusedValue(
            "values",
            Reason.MISMATCH,
            "one of the values is not a value of {kind}",
            "round them first, or give a wider type",
            kind=kind.name,
        )

    # A sequence of exact values

    @property
    def size(self) -> int:
        """The number of records, however large."""
        return sum(len(pattern) * count for pattern, count in self.parts)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Value]:
        return chain.from_iterable(chain.from_iterable(repeat(pattern, count)) for pattern, count in self.parts)

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Value | Runs:
        if isinstance(index, slice):
            if index.step not in (None, 1):
                raise RefusedValue(
                    "step",
                    Reason.UNSUPPORTED,
                    "`step={given}`: runs are cut in steps of 1",
                    "`np.asarray(runs)` takes any step",
                    given=quote(index.step),
                )
            start, stop, _ = index.indices(self.size)
            return self._with(cut(self.parts, start, max(start, stop)))
        if not -self.size <= index < self.size:
            raise IndexError(f"record {index} of {self.size:,}")
        (pattern, _), *_ = cut(self.parts, index % self.size, index % self.size + 1)
        return pattern[0]

    def __add__(self, other: Runs) -> Runs:
        if not isinstance(other, Runs):
            return NotImplemented
        if other.type != self.type:
            raise RefusedType(
                "dtype",
                Reason.CONFLICT,
                "{left} and {right} records do not make one dataset",
                "use one `dtype`",
                left=self.type.name,
                right=other.type.name,
            )
        return self._with(self.parts + other.parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Runs):
            return NotImplemented
        return (self.type, self.size) == (other.type, other.size) and self._first_difference(other) is None

    def __hash__(self) -> int:
        return hash((self.type, frozenset(self.counts().items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return Runs, (self.type.name, self.parts)  # made anew: a pickled NaN comes back as another object

    def clamp(self, lower: Value, upper: Value) -> Runs:
        """Clamp every record to [lower, upper]; NaN becomes the value there nearest zero."""

        def clamped(x: Value) -> Value:
            return max(lower, min(upper, 0 if x != x else x))

        return Runs(self.type, ((tuple(map(clamped, pattern)), count) for pattern, count in self.parts))

    def counts(self) -> Counter[Value]:
        """The number of records of each value (`defn:histogram`)."""
        total: Counter[Value] = Counter()
        for pattern, count in self.parts:
            for value in pattern:
                total[value] += count
        return total

    # As arrays

    def arrays(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """The patterns one after another, the length of each, and how often each repeats: what kernels read."""
        values = _store(self.type, list(chain.from_iterable(pattern for pattern, _ in self.parts)))
        lengths = np.array([len(pattern) for pattern, _ in self.parts], dtype=np.int64)
        return values, lengths, np.array([count for _, count in self.parts], dtype=np.int64)

    def chunks(self, records: int = 1 << 20) -> Iterator[NDArray[Any]]:
        """Iterate over the dataset as arrays of at most `records` records, in order."""
        start = 0
        while start < self.size:
            parts = cut(self.parts, start, min(start + records, self.size))
            yield np.concatenate([np.tile(_store(self.type, list(pattern)), count) for pattern, count in parts])
            start += records

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise RefusedValue(
                "copy", Reason.UNSUPPORTED, "runs are written out into a new array", "leave `copy` unset"
            )
        own = _bfloat16_dtype() if self.type.name == "bfloat16" else _store(self.type, []).dtype
        wanted = own if dtype is None else np.dtype(dtype)
        if self.size * wanted.itemsize > MOST_BYTES:
            raise RefusedValue(
                None,
                Reason.TOO_LARGE,
                "{records} records make an array of over {most} GiB",
                "take them by `chunks()`, or ask for fewer (an attack takes `max_records`)",
                records=f"{self.size:,}",
                most=MOST_BYTES >> 30,
            )
        values, lengths, counts = self.arrays()
        array, at, start = np.empty(self.size, wanted), 0, 0  # filled in place: two copies may not fit memory
        for length, count in zip(lengths.tolist(), counts.tolist(), strict=True):
            array[at : at + length * count].reshape(count, length)[:] = values[start : start + length].view(own)
            at, start = at + length * count, start + length
        return array

    def total(self) -> Fraction:
        """The exact sum of the records, which are all numbers.

        >>> Runs("float64", [(1, 2**29), ((0.25, -0.5), 2**28)]).total()
        Fraction(469762048, 1)
        """
        return sum((Fraction(x) * count for x, count in self.counts().items()), Fraction(0))

    # Distances

    def distance_to(self, other: object, relation: Relation) -> int | float:
        if not isinstance(other, Runs):
            other = Runs.of(other, self.type)  # type: ignore[arg-type]
        if relation.sized and self.size != other.size:
            return math.inf
        match relation:
            case Relation.SYMMETRIC:
                return multiset_distance(self.counts(), other.counts())
            case Relation.CHANGE_ONE:
                return multiset_distance(self.counts(), other.counts()) // 2
            case Relation.HAMMING:
                return sum(differences(*pair) for pair in side_by_side(self.parts, other.parts))
            case _:
                left, right = self._strip_common_ends(other)
                return left.size + right.size - 2 * common_subsequence(left._plain_runs(), right._plain_runs())

    def _first_difference(self, other: Runs) -> int | None:
        """The index of the first record that differs, or None if none does up to the shorter's end."""
        at = 0
        for left, right, length in side_by_side(self.parts, other.parts):
            period = min(math.lcm(len(left), len(right)), length)
            for i in range(period):
                if not same(left[i % len(left)], right[i % len(right)]):
                    return at + i
            at += length
        return None

    def _strip_common_ends(self, other: Runs) -> tuple[Runs, Runs]:
        left, right = self, other
        for _ in range(2):  # strip the beginning, turn round, strip the end, turn back
            start = left._first_difference(right)
            start = min(left.size, right.size) if start is None else start
            left, right = left[start:]._reverse(), right[start:]._reverse()
        return left, right

    def _reverse(self) -> Runs:
        return self._with((pattern[::-1], count) for pattern, count in reversed(self.parts))

    def _plain_runs(self) -> list[tuple[Value, int]]:
        """One value and its count each, patterns written out."""
        if sum(count if len(pattern) > 1 else 1 for pattern, count in self.parts) > MOST_RUN_PAIRS:
            raise RefusedValue(
                None,
                Reason.TOO_MANY,
                "the insert-delete distance looks at every run, and there are over {most}",
                "the symmetric distance is a lower bound that needs no order",
                most=f"{MOST_RUN_PAIRS:,}",
            )
        plain: list[tuple[Value, int]] = []
        for pattern, count in self.parts:
            plain.extend([(pattern[0], count)] if len(pattern) == 1 else [(x, 1) for x in pattern] * count)
        return plain

    # As text

    def __repr__(self) -> str:
        parts = ", ".join(
            f"({_text(pattern[0]) if len(pattern) == 1 else '(' + ', '.join(map(_text, pattern)) + ')'}, {count})"
            for pattern, count in self.parts
        )
        return f"Runs({self.type.name!r}, [{parts}])"

    def to_json(self) -> dict[str, Any]:
        """A plain dict: the dtype's name and the parts, each value as an exact string."""
        return {"dtype": self.type.name, "parts": [[list(map(str, p)), count] for p, count in self.parts]}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Runs:
        def value(text: str) -> Value:
            return float(text) if text in ("inf", "-inf", "nan") else Fraction(text)

        return cls(plain["dtype"], [(tuple(map(value, pattern)), count) for pattern, count in plain["parts"]])


def _checked_part(kind: NumberType, pattern: Any, count: Any) -> Part:
    if type(count) is not int or count < 0:
        count = require_whole("count", count, 0)
    values = tuple(exact(x, "parts") for x in (pattern if isinstance(pattern, tuple | list) else (pattern,)))
    if not values:
        raise RefusedValue("parts", Reason.EMPTY, "a pattern is empty", "leave the part out instead")
    for x in (one for one in values if one not in kind):
        if is_special(x):
            raise RefusedValue(
                "parts",
                Reason.MISMATCH,
                "{given} is not a value of {kind}",
                "integers have no infinity or NaN",
                given=quote(x),
                kind=kind.name,
            )
        raise RefusedValue(
            "parts",
            Reason.MISMATCH,
            "{given} is not a value of {kind}",
            "the nearest is {nearest}",
            given=quote(x),
            kind=kind.name,
            nearest=quote(kind.round(Fraction(x))),
        )
    canonical = (
        math.nan if x != x else int(x) if kind.is_integer else x if is_special(x) else Fraction(x) for x in values
    )
    return tuple(canonical), count


def _store(kind: NumberType, values: list[Value]) -> NDArray[Any]:
    """Exact values as an array of the dtype that stores their type."""
    if kind.dtype is None:
        raise RefusedValue(
            "dtype",
            Reason.UNSUPPORTED,
            "{kind} has no NumPy dtype",
            "iterate over the exact values instead",
            kind=kind.name,
        )
    if kind.name == "bfloat16" and isinstance(kind, FloatType):
        return np.array([kind.to_bits(x) for x in values], dtype=np.uint16)
    plain = values if kind.is_integer else [float(x) if is_special(x) else double(Fraction(x)) for x in values]
    return np.array(plain, dtype=kind.dtype)


def _bfloat16_dtype() -> np.dtype[Any]:
    with suppress(ImportError):
        from ml_dtypes import bfloat16

        dtype: np.dtype[Any] = np.dtype(bfloat16)
        return dtype
    raise RefusedValue(
        "dtype",
        Reason.NEEDS,
        "an array of bfloat16 needs ml_dtypes",
        "run `pip install ml_dtypes`, or use `chunks()`",
    )


def _text(value: Value) -> str:
    if isinstance(value, Fraction) and abs(value) < sys.float_info.max and Fraction(float(value)) == value:
        return repr(float(value))
    return (
        f"float({str(value)!r})" if is_special(value) else repr(value) if isinstance(value, int) else repr(str(value))
    )
