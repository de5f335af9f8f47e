"""Types of columns in words that people who use data frames know; Arrow's own are its makers'."""

from __future__ import annotations

from typing import Any, NoReturn

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue


def say_kind(kind: Any) -> str:
    """Describe the contents of a column of an Arrow type.

    >>> import pyarrow as pa
    >>> [say_kind(kind) for kind in (pa.float64(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))]
    ['float64', 'text', 'categories of text']
    >>> [say_kind(kind) for kind in (pa.date32(), pa.timestamp("ns"), pa.timestamp("us", "UTC"), pa.decimal128(9, 2))]
    ['dates', 'times without a zone', 'times with the zone UTC', 'decimals']
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        return f"categories of {say_kind(kind.value_type)}"
    if types.is_timestamp(kind):
        return "times without a zone" if kind.tz is None else f"times with the zone {kind.tz}"
    if types.is_floating(kind):
        return f"float{kind.bit_width}"
    said = {
        "text": (types.is_string, types.is_large_string, types.is_string_view),
        "bytes": (types.is_binary, types.is_large_binary, types.is_binary_view, types.is_fixed_size_binary),
        "dates": (types.is_date,),
        "times of day": (types.is_time,),
        "lengths of time": (types.is_duration,),
        "decimals": (types.is_decimal,),
        "lists": (types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_map),
        "nested fields": (types.is_struct, types.is_union),
        "empty, without a type": (types.is_null,),
    }
    return next((words for words, tests in said.items() if any(test(kind) for test in tests)), str(kind))


def say_column(column: Any) -> str:
    return "the data" if column is None else f"column {quote(column)}"


def refuse_two_kinds(column: str, one: str, other: str) -> NoReturn:
    """Refuses to read a column without a type of its own in two ways at once."""
    raise RefusedValue(
        "column",
        Reason.CONFLICT,
        "{column} is asked for as {one} and as {other}, and is read as one of them",
        "name another column, or ask in two calls",
        column=say_column(column),
        one="numbers" if one == "float64" else one,
        other="numbers" if other == "float64" else other,
    )
