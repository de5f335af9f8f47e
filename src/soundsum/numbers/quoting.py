"""Quotes of arguments in errors: one short line, and never a table's data; conditions and types of columns in words.

Types are in words that people who use data frames know; Arrow's own are its makers'.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unicodedata import bidirectional, category

import numpy as np

LONGEST = 60
"""Characters of what somebody gave that an error says back."""

TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Characters that change the order in which others are read."""

PLAIN = int | float | Decimal | Fraction | datetime.date | datetime.time | datetime.timedelta | type | np.dtype
"""Types quoted as they are: single values and types, never tables."""


def quote(given: object, depth: int = 3) -> str:
    """Quote an argument in one short line; of anything that may hold data, only the type.

    >>> quote("a"), quote([("age", ">", np.arange(3))]), quote({"age": [41]}), quote(np.float32(0.5))
    ("'a'", "[('age', '>', a numpy ndarray)]", 'a dict', '0.5')
    >>> quote(Fraction(1, 3)), quote(10**5000)
    ('1/3', 'a number of thousands of digits')
    >>> quote(list(range(100)))
    '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16...'
    """
    if isinstance(given, np.bool_ | np.integer | np.floating):
        given = given.item()
    if type(given) in (list, tuple) and depth:
        several: Any = given
        inner = ", ".join(quote(one, depth - 1) for one in several[:LONGEST])
        whole = f"[{inner}]" if isinstance(given, list) else f"({inner},)" if len(several) == 1 else f"({inner})"
    elif isinstance(given, str | bytes):
        whole = repr(given[: 2 * LONGEST])
    elif given is None or isinstance(given, PLAIN):
        try:
            whole = " ".join((str(given) if isinstance(given, Fraction) else repr(given)).split())
        except ValueError:  # of more digits than Python writes
            whole = "a number of thousands of digits"
    else:
        whole = say_type(given)
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 3]}..."


def printed(name: str) -> str:
    """A name as a table or a picture has it: in one line, with control characters written out.

    >>> print(printed("two" + chr(10) + "lines"), printed(chr(27) + "[31m"))
    two\\nlines \\x1b[31m
    """
    if name.isprintable():
        return name
    return "".join(repr(one)[1:-1] if _is_obeyed(one) else one for one in name)


def _is_obeyed(one: str) -> bool:
    """Returns whether a character ends a line, moves the cursor, reverses others, or is half of one."""
    return category(one) in ("Cc", "Cs", "Zl", "Zp") or bidirectional(one) in TURNING


def is_hashable(given: object) -> bool:
    """Returns whether an argument can be looked up; an expression of Polars cannot, though it has a hash."""
    try:
        hash(given)
    except TypeError:
        return False
    return True


def say_type(given: object) -> str:
    """Name the type of an object and its package.

    >>> say_type(np.arange(3)), say_type([1]), say_type(1)
    ('a numpy ndarray', 'a list', 'an int')
    """
    kind = type(given)
    package = kind.__module__.partition(".")[0]
    named = kind.__name__ if package in ("builtins", "__main__") else f"{package} {kind.__name__}"
    return f"{'an' if named[0] in 'aeiouAEIO' else 'a'} {named}"


def say_alternatives(alternatives: Sequence[Sequence[str]]) -> str:
    """Conditions in words: all of one list, or all of those of one of several lists.

    >>> say_alternatives([["age >= 65"], ["age < 18", "ward == 'a'"]])
    "age >= 65 or (age < 18 and ward == 'a')"
    """
    several = len(alternatives) > 1
    each = [f"({' and '.join(one)})" if several and len(one) > 1 else " and ".join(one) for one in alternatives]
    return " or ".join(each)


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
