"""Tables full of awkward records: ties, denormals, infinities, the limits of every type, nulls and odd text."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

DOUBLES = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -0.5, -1.5, 3.7, -3.7, 999.9999999999999, 1000.0, 1000.0000000000001),
    *(math.nan, math.inf, -math.inf, None, 1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308),
    *(5e-324, -5e-324, 2.2250738585072014e-308, 1e-310, -1e-300, 1e-16, 2.0**-41, 1.5 * 2.0**-41, 2.5 * 2.0**-41),
    *(
        1 + 2.0**-52,
        1 + 3 * 2.0**-52,
        1e6,
        1e6 + 2.0**-33,
        1e6 + 2.0**-32 * 1.5,
        1e15,
        2.0**53 + 2,
        -(2.0**63),
        1e300,
        3e304,
    ),
]
FLOATS = [
    None if x is None else float(np.float32(min(max(x, -3.4e38), 3.4e38) if math.isfinite(x) else x)) for x in DOUBLES
]
INTEGERS = [
    0,
    1,
    -1,
    None,
    2**53 + 1,
    7,
    -8,
    2**31,
    -(2**31) - 1,
    2**52,
    2**63 - 1,
    -(2**63),
    2**62,
    12345,
    -999,
    2**40,
]
PRICES = ["0.00", "0.01", "-0.01", "12.50", None, "99999999.99", "-99999999.99", "3.14", "1000.00", "-2.50"]
DEEP = [None if p is None else f"{p}0000000000000001" for p in PRICES]
WORDS = ["a", "b", "A", "", None, "ä", "ab", "a ", "'; DROP TABLE t; --", "c", "\U0001f600", "%s {t} `k`"]
LONG = ["x" * 4096, "x" * 4097, "\u00e4" * 2048, "\u00e4" * 2048 + "x", None, "y", "\U0001f600" * 1025]
DAYS = [
    datetime.date(2024, 2, 29),
    datetime.date(1969, 12, 31),
    None,
    datetime.date(2024, 3, 1),
    datetime.date(1, 1, 1),
    datetime.date(2, 1, 1),  # in a week that begins in the year before, which has no periods
    datetime.date(9998, 12, 30),
]
MOMENTS = [
    datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
    datetime.datetime(2024, 3, 1),
    None,
    datetime.datetime(1969, 12, 31, 23),
    datetime.datetime(2011, 12, 30, 11),
    datetime.datetime(2024, 3, 10, 2, 30),  # which New York's clocks do not show
    datetime.datetime(2024, 3, 10, 3, 30),
    datetime.datetime(2024, 11, 3, 1, 30),  # which they show twice
    datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(1, 12, 31, 23, 30),
    datetime.datetime(2, 1, 1, 0, 30),
    datetime.datetime(9998, 12, 30, 23, 30),
    datetime.datetime(9998, 12, 31),
]


def table_of(rows: int, seed: int = 1) -> pa.Table:
    """So many rows: the awkward ones first, in columns of lengths that have no common period, then random ones."""
    random = np.random.default_rng(seed)
    awkward = min(rows, 660)

    def fill(values: list[Any], more: Any, kind: pa.DataType) -> pa.Array:
        listed = [values[i % len(values)] for i in range(awkward)]
        return pa.concat_arrays([pa.array(listed, kind), pa.array(more, kind)])

    left = rows - awkward
    numbers = random.normal(300, 400, left)
    cents = random.integers(-(10**9), 10**9, left)
    return pa.table(
        {
            "x": fill(DOUBLES, numbers, pa.float64()),
            "f": fill(FLOATS, numbers.astype(np.float32), pa.float32()),
            "i": fill(INTEGERS, random.integers(-(2**40), 2**40, left), pa.int64()),
            "h": fill([0, 1, None, 2**31 - 1, -(2**31), 5, -7], random.integers(-1000, 1000, left), pa.int32()),
            "s": fill([0, None, 2**15 - 1, -(2**15), 3], random.integers(-50, 50, left).astype(np.int16), pa.int16()),
            "flag": fill([True, False, None], random.integers(0, 2, left).astype(bool), pa.bool_()),
            "price": fill(
                [None if p is None else Decimal(p) for p in PRICES],
                [Decimal(int(c)).scaleb(-2) for c in cents],
                pa.decimal128(10, 2),
            ),
            "deep": fill(
                [None if p is None else Decimal(p) for p in DEEP],
                [Decimal(int(c)).scaleb(-18) for c in cents],
                pa.decimal128(38, 18),
            ),
            "word": fill(WORDS, random.choice(["a", "b", "c", "d"], left), pa.string()),
            "who": fill([1, 2, 3, 1, 1, None, 4, 2, 5, 6, 7], random.integers(0, max(1, left // 7), left), pa.int64()),
            "name": fill(
                ["ann", "Ann", "bob", None, "", "ann "], random.choice(["eve", "ann", "joe"], left), pa.string()
            ),
            "long": fill(LONG, ["y"] * left, pa.string()),
            "day": fill(DAYS, [DAYS[0]] * left, pa.date32()),
            "at": fill(MOMENTS, [MOMENTS[1]] * left, pa.timestamp("us")),
            "when": fill(MOMENTS, [MOMENTS[0]] * left, pa.timestamp("us", "UTC")),
        }
    )


NOTHING = table_of(1).slice(0, 0)
NULLS = pa.table(
    {name: pa.nulls(5, kind) for name, kind in zip(NOTHING.column_names, NOTHING.schema.types, strict=True)}
)
HEAVY = pa.table(  # one person with very many rows at the bounds, and some with few
    {
        "i": pa.array([2**63 - 1] * 100_000 + [-(2**63)] * 100_000 + [5] * 10, pa.int64()),
        "x": pa.array([1e308] * 100_000 + [-1e308] * 100_000 + [5.0] * 10, pa.float64()),
        "who": pa.array([7] * 100_000 + [8] * 100_000 + list(range(10)), pa.int64()),
    }
)

TABLES = {"awkward": table_of(2_000), "empty": NOTHING, "all null": NULLS}
"""What every question is asked of."""
