"""The kernels' arguments, checked: records of a type, bounds that are values of it, codes, threads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from soundsum import native
from soundsum.numbers import models
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import Value, exact, is_special, require_whole
from soundsum.numbers.types import FloatType, IntType, NumberType
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.records import Column, Missing, Records, records
from soundsum.tables.runs import Runs

RECORDS_PER_THREAD = 1 << 18
"""Below this many records a thread costs more than it saves."""


def raw_records(column: Records) -> native.Records:
    if isinstance(column, Runs):
        values, lengths, repeats = column.arrays()
        return native.Records.of_runs(_as_bits(values), column.type.name, lengths, repeats)
    bits, name = _as_bits(column.values), column.type.name
    return native.Records.of_array(bits, name, column.validity, column.first_bit, column.nullable)


def _as_bits(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return values.view(f"u{values.itemsize}")


def clean_records(column: Records, lower: Value, upper: Value, drop: bool) -> Iterator[Value]:
    return (models.clean(x, lower, upper) for x in column if not (drop and x != x))


def integer_arguments(data: Any, lower: Any, upper: Any) -> tuple[Records, int, int]:
    column = data if isinstance(data, Column) else records(data)
    if not isinstance(column.type, IntType):
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "the records are {kind}, and this sum adds integers",
            "for floats use `grid_sum` or `float_sum`",
            kind=column.type.name,
        )
    low, high = bounds_of(lower, upper, column.type)
    return column, int(low), int(high)


def float_arguments(data: Any, dtype: object) -> Records:
    column = data if isinstance(data, Column) and dtype is None else records(data, dtype)
    if not isinstance(column.type, FloatType):
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "the records are {kind}, and a grid is for floats",
            "for integers use `wide_sum`",
            kind=column.type.name,
        )
    return column


def array_only(data: Any, dtype: object = None) -> Column:
    column = records(data, dtype)
    if isinstance(column, Runs):
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "data is Runs, and sums by group need a code for each record",
            "pass `np.asarray(runs)`",
        )
    return column


def bounds_of(lower: Any, upper: Any, kind: NumberType) -> tuple[Value, Value]:
    """Both bounds, exact and of the type, or an error that names the nearest that would do."""
    low, high = exact(lower, "lower"), exact(upper, "upper")
    for name, bound in (("lower", low), ("upper", high)):
        if is_special(bound):
            raise RefusedValue(
                name,
                Reason.NOT_A_NUMBER,
                "`{option}={given}`: bounds are finite numbers",
                "give the range the records may lie in",
                given=quote(bound),
            )
        if bound not in kind:
            raise RefusedValue(
                name,
                Reason.MISMATCH,
                "`{option}={given}` is not a value of {kind}",
                "the nearest is {nearest}",
                given=quote(bound),
                kind=kind.name,
                nearest=quote(kind.round(Fraction(bound))),
            )
    if low > high:
        raise RefusedValue(
            "lower",
            Reason.SWAPPED,
            "`lower={lower}` is above `upper={upper}`",
            "swap them",
            lower=quote(low),
            upper=quote(high),
        )
    return low, high


def drops_missing(missing: Missing) -> bool:
    if missing not in ("zero", "drop"):
        raise RefusedValue(
            "missing",
            Reason.UNKNOWN,
            '`missing={given}` is neither "zero" nor "drop"',
            "give one of these",
            given=quote(missing),
        )
    return missing == "drop"


def threads_for(threads: int | None, size: int) -> int:
    if threads is None:
        wanted = size // RECORDS_PER_THREAD
        return min(len(os.sched_getaffinity(0)), wanted) if wanted > 1 else 1
    return min(require_whole("threads", threads, 1), max(1, size))


def group_threads_for(threads: int | None, size: int, groups: int) -> int:
    """Each thread keeps a sum per group, so they pay only with more records than groups."""
    return threads_for(threads, size) if threads is not None or size > 4 * groups else 1


def group_codes(codes: Any, size: int) -> np.ndarray[Any, Any]:
    checked = np.asarray(codes)
    if checked.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise RefusedType(
            "codes",
            Reason.WRONG_TYPE,
            "codes are {kind}",
            "give int32 or int64",
            kind=checked.dtype.name,
        )
    if checked.shape != (size,):
        raise RefusedValue(
            "codes",
            Reason.MISMATCH,
            "codes have shape {shape}",
            "give one code for each of the {records} records",
            shape=str(checked.shape),
            records=size,
        )
    return np.require(checked, requirements=["C", "A"])


def refuse_codes(codes: np.ndarray[Any, Any], groups: int) -> None:
    """Refuses codes that are not groups."""
    if ((codes < 0) | (codes >= groups)).any():
        raise RefusedValue(
            "codes",
            Reason.UNKNOWN,
            "one of the codes is not a group",
            "give codes of 0 or more, and less than {groups}, the number of groups",
            groups=groups,
        )
