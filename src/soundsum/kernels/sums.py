"""The sums, fast: checked arguments in, exact values out; C++ where the type has a kernel, else the model.

Every sum clamps its records to [lower, upper] first. A missing record (NaN, or absent in a validity bitmap) counts as
the value in the bounds nearest zero, or not at all with missing="drop". Results are ints for integers and for grids,
and Fractions (or an infinity or NaN the additions really reached) for floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal, TypeAlias

from soundsum import native
from soundsum.kernels.arguments import (
    bounds_of,
    clean_records,
    drops_missing,
    float_arguments,
    integer_arguments,
    raw_records,
    threads_for,
)
from soundsum.numbers import models
from soundsum.numbers.grids import RecordGrid, as_doubles
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import is_special
from soundsum.numbers.types import NAMED, FloatType, IntType, double, from_double, number_type
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.tables.records import Missing, records
from soundsum.tables.runs import Runs

FloatSum: TypeAlias = Literal["iterated", "pairwise", "kahan", "toward_zero"]

QUAD = FloatType(112, 15)
"""IEEE's binary128, in which sums to nearest have a kernel where the compiler has the type."""


def wide_sum(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero", threads: int | None = None) -> int:
    """The exact sum of integers.

    >>> import numpy as np
    >>> wide_sum(np.array([2**62, 2**62, 2**62]), lower=0, upper=2**63 - 1) == 3 * 2**62
    True
    """
    column, low, high = integer_arguments(data, lower, upper)
    fill = int(models.clean(0, low, high))
    drop, workers = drops_missing(missing), threads_for(threads, column.size)
    if isinstance(column, Runs):
        return sum(int(models.clean(x, low, high)) * count for x, count in column.counts().items())
    raw = raw_records(column)
    total = native.wide_sum(raw, low, high, workers)
    return total - fill * native.missing_count(raw) if drop and fill else total


def modular_sum(data: Any, lower: Any, upper: Any, *, dtype: object = None, missing: Missing = "zero") -> int:
    """The sum modulo 2^w, as a value of the w-bit type given, or of the data's own."""
    column, low, high = integer_arguments(data, lower, upper)
    kind = column.type if dtype is None else number_type(dtype)
    if not isinstance(kind, IntType):
        raise RefusedType(
            "dtype",
            Reason.WRONG_TYPE,
            "`dtype={given}`: a modulus belongs to an integer type",
            "give `IntType(bits, signed)`",
            given=kind.name,
        )
    return kind.wrap(wide_sum(column, low, high, missing=missing))  # reducing once or at every step is the same


def saturating_sum(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero") -> int:
    """The sum in order, held at the limits of the data's own type after every addition."""
    column, low, high = integer_arguments(data, lower, upper)
    drop = drops_missing(missing)
    if column.type.name not in NAMED:
        assert isinstance(column.type, IntType)
        return int(models.saturating(column.type).sum(clean_records(column, low, high, drop)))
    return native.saturating_sum(raw_records(column), low, high, drop)


def split_saturating_sum(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero") -> int:
    """Negatives and the rest summed apart, each held at the limits of the type, then added, held again.

    Sums of one sign move one way only, so holding them once at the end is holding them at every step.
    """
    column, low, high = integer_arguments(data, lower, upper)
    assert isinstance(column.type, IntType)
    total = wide_sum(column, low, high, missing=missing)
    # The positive parts are the records clamped once more to at least 0; a dropped record stays dropped.
    positive = wide_sum(column, max(low, 0), max(high, 0), missing=missing)
    return column.type.saturating_add(column.type.saturate(total - positive), column.type.saturate(positive))


def sum_of_squares(data: Any, lower: Any, upper: Any, *, missing: Missing = "zero") -> int:
    """The exact sum of the squares of integers."""
    column, low, high = integer_arguments(data, lower, upper)
    fill = int(models.clean(0, low, high))
    drop = drops_missing(missing)
    if isinstance(column, Runs):
        return sum(int(models.clean(x, low, high)) ** 2 * count for x, count in column.counts().items())
    raw = raw_records(column)
    total = native.square_sum(raw, low, high)
    return total - fill**2 * native.missing_count(raw) if drop and fill else total


def float_sum(
    how: FloatSum,
    data: Any,
    lower: Any,
    upper: Any,
    *,
    dtype: object = None,
    accumulator: object = None,
    missing: Missing = "zero",
) -> Fraction | float:
    """The sum of floats as floats: every addition rounded to the data's own type, or to a wider `accumulator`.

    >>> import numpy as np
    >>> float_sum("iterated", np.array([1e16, 1, 1]), -1e17, 1e17)
    Fraction(10000000000000000, 1)
    >>> float_sum("kahan", np.array([1e16, 1, 1]), -1e17, 1e17)
    Fraction(10000000000000002, 1)
    """
    if how not in models.FLOAT_SUMS:
        raise RefusedValue(
            "how",
            Reason.UNKNOWN,
            "`how={given}` is not one of {names}",
            "use one of these",
            given=quote(how),
            names=", ".join(models.FLOAT_SUMS),
        )
    column = records(data, dtype)
    kind = column.type
    if not isinstance(kind, FloatType):
        raise RefusedType(
            "data",
            Reason.WRONG_TYPE,
            "the records are {kind}, and {how} adds floats",
            "for integers use `wide_sum`",
            kind=kind.name,
            how=how,
        )
    wider = kind if accumulator is None else number_type(accumulator)
    if not isinstance(wider, FloatType) or not wider.holds(kind):
        raise RefusedValue(
            "accumulator",
            Reason.MISMATCH,
            "`accumulator={given}` does not hold every value of {kind}",
            "use {kind} or a wider float type",
            given=wider.name,
            kind=kind.name,
        )
    low, high = (Fraction(b) for b in bounds_of(lower, upper, kind))
    drop = drops_missing(missing)
    if kind.name in NAMED and wider.name in NAMED:
        return from_double(native.float_sum(raw_records(column), how, wider.name, double(low), double(high), drop))
    if kind.name in NAMED and wider == QUAD and native.quad_sum and how != "toward_zero":
        upper_bits, lower_bits = native.quad_sum(raw_records(column), how, double(low), double(high), drop)
        return QUAD.from_bits(upper_bits << 64 | lower_bits)
    result = models.FLOAT_SUMS[how](wider).sum(clean_records(column, low, high, drop))
    return float(result) if is_special(result) else Fraction(result)


def grid_sum(
    data: Any, grid: RecordGrid, *, dtype: object = None, missing: Missing = "zero", threads: int | None = None
) -> int:
    """The exact sum of the records' integers on a grid.

    >>> from soundsum.numbers.grids import power_of_two_grid
    >>> import numpy as np
    >>> grid = power_of_two_grid(number_type("float64"), Fraction(0), Fraction(1), sized=False)
    >>> grid.value(grid_sum(np.full(10, 0.1), grid)), 10 * Fraction(0.1)
    (Fraction(281474976710655, 281474976710656), Fraction(18014398509481985, 18014398509481984))
    """
    column = float_arguments(data, dtype)
    drop, workers = drops_missing(missing), threads_for(threads, column.size)
    if isinstance(column, Runs):
        return sum(grid.integer(x) * count for x, count in column.counts().items() if not (drop and x != x))
    doubles = as_doubles(grid)
    if doubles is None:
        return sum(grid.integer(x) for x in column if not (drop and x != x))
    raw = raw_records(column)
    total = native.grid_sum(raw, *doubles[:-1], workers) + doubles.shift * column.size
    return total - grid.missing * native.missing_count(raw) if drop and grid.missing else total


def missing_count(data: Any, *, dtype: object = None) -> int:
    """Counts the missing records: NaN, or absent in the validity bitmap."""
    column = records(data, dtype)
    if isinstance(column, Runs):
        return sum(count for x, count in column.counts().items() if x != x)
    return native.missing_count(raw_records(column))
