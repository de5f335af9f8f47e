"""What every engine must compute, to the last bit: tables full of awkward records, and questions to ask of them.

The definition is `Memory` over Arrow, which the tests beside this compare with the models. A question is a list of
statistics and options; `answers` gives the integers that are let out before any noise.
"""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa

import soundsum as ss
from soundsum.engines import open_engine
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.filters import Filter
from soundsum.tables.found_keys import SearchedGroups, name_groups
from soundsum.tables.periods import Period
from soundsum.tables.rows import Rows

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
]


def table_of(rows: int, seed: int = 1) -> pa.Table:
    """So many rows: the awkward ones first, in columns of lengths that have no common period, then random ones."""
    random = np.random.default_rng(seed)
    awkward = min(rows, 660)

    def fill(values, more, kind):
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

FLOAT_BOUNDS = [
    *((0, 1000), (-1, 1), (-1e308, 1e308), (0, 1e-300), (-3.7, 1000.1), (1, 1 + 2.0**-50), (1e6, 1e6 + 1), (-5, -1)),
    *((2, 2), (0, 0), (0, 1e-320), (1e300, 1e305), (-1e305, 0.5), (0, 3), (0.1, 0.3), (-1e-5, 1e12)),
]
BETWEEN_DOUBLES = [(2**53 + 1, 2**53 + 101), (-(2**60) - 3000, -(2**60) - 1), (10**6 + Fraction(1, 2**40), 10**6 + 1)]
INTEGER_BOUNDS = [(0, 1000), (-(2**63), 2**63 - 1), (-5, 7), (3, 3), (10, 20), (-(2**40), -1)]

QUESTIONS = {
    "sums of doubles": ([ss.Sum("x", *bounds) for bounds in FLOAT_BOUNDS], {}),
    "sums of doubles, size public": ([ss.Sum("x", *bounds) for bounds in FLOAT_BOUNDS], {"relation": "change_one"}),
    "offsets that are no doubles": ([ss.Sum("x", *bounds) for bounds in BETWEEN_DOUBLES], {"relation": "change_one"}),
    "a sum and histograms, size public": (
        [ss.Histogram("h", [0, 5, 10]), ss.Sum("x", -1, 1), ss.Histogram("word", categories=["a", "b"])],
        {"relation": "change_one"},
    ),
    "sums of floats": ([ss.Sum("f", *bounds) for bounds in FLOAT_BOUNDS[:8]], {}),
    "means and variances": (
        [kind("x", *bounds) for kind in (ss.Mean, ss.Variance) for bounds in FLOAT_BOUNDS[:9]]
        + [
            ss.Variance("h", -100, 1000),
            ss.Std("h", -100, 1000),
            ss.Variance("i", -(2**31), 2**31),
            ss.Variance("price", -(2 * 10**7), 2**31 / 100),
            ss.Mean("i", -(2**63), 2**63 - 1),
            ss.Mean("price", 0, 50),
        ],
        {},
    ),
    "missing ones dropped": (
        [
            ss.Sum("x", 5, 10),
            ss.Mean("x", 5, 10),
            ss.Variance("f", -1, 1),
            ss.Mean("i", 5, 9),
            ss.Count("x"),
            ss.Count("word"),
            ss.Count("price"),
            ss.Count("when"),
            ss.Mean("price", 1, 2),
            ss.Sum("flag", 1, 1),
        ],
        {"missing": "drop"},
    ),
    "integers": (
        [ss.Sum("i", *bounds) for bounds in INTEGER_BOUNDS]
        + [ss.Sum("h", -(2**31), 2**31 - 1), ss.Sum("s", -7, 9), ss.Sum("flag", 0, 1), ss.Sum("flag", 1, 1)],
        {},
    ),
    "decimals": (
        [ss.Sum("price", *bounds) for bounds in [(0, 100), ("-0.005", "0.015"), (-(10**8), 10**8), (5, 6)]]
        + [ss.Sum("deep", *bounds) for bounds in [(0, 1), (-9, 9), ("0.000000000000000001", 3)]],
        {},
    ),
    "counts and histograms": (
        [
            ss.Count(),
            ss.Histogram("x", [-1, 0, 0.5, 1000, 1e300]),
            ss.Histogram("i", [-8, 0, 1, 2**52, 2**63 - 1]),
            ss.Histogram("i", [-0.5, 0.5, 7.5]),
            ss.Histogram("price", [0, 3.14, 12.5, 1000000000.0]),
            ss.Histogram("flag", [0, 1, 2]),
            ss.Histogram("word", categories=["a", "A", "", "ä", "zz"]),
            ss.Histogram("day", categories=[DAYS[0], DAYS[1]]),
        ],
        {},
    ),
    "by text": (
        [ss.Sum("x", -1, 1000), ss.Count(), ss.Variance("x", 0, 9)],
        {"by": "word", "groups": WORDS[:4] + WORDS[5:]},
    ),
    "by integers": ([ss.Sum("i", -5, 2**60)], {"by": "h", "groups": [5, 0, -7, 2**31 - 1, 99]}),
    "by doubles": ([ss.Sum("h", -5, 50)], {"by": "x", "groups": [0.0, 1.5, math.inf, 5e-324, 4.25]}),
    "by floats": ([ss.Sum("h", -5, 50)], {"by": "f", "groups": [0.0, FLOATS[9], 1.5]}),
    "by floats that are one": ([ss.Sum("h", -5, 50)], {"by": "f", "groups": [1.5, 1.5 + 2.0**-40, 0.0]}),
    "by truth": ([ss.Mean("h", -5, 50)], {"by": "flag", "groups": [True, False]}),
    "by decimals": (
        [ss.Sum("h", -5, 50)],
        {"by": "price", "groups": [Decimal("12.5"), Decimal("-0.01"), Decimal("0.00")]},
    ),
    "by days": ([ss.Sum("h", -5, 50)], {"by": "day", "groups": [d for d in DAYS if d]}),
    "by moments": ([ss.Sum("h", -5, 50)], {"by": "at", "groups": [m for m in MOMENTS if m]}),
    "by instants": (
        [ss.Sum("h", -5, 50)],
        {"by": "when", "groups": [m.replace(tzinfo=datetime.UTC) for m in MOMENTS if m]},
    ),
    "by months of days": ([ss.Sum("h", -5, 50)], {"by": ss.month("day", "2024-01", "2024-04")}),
    "by some weeks": ([ss.Count()], {"by": ss.week("at"), "groups": ["2024-W09", "1970-W01", "2024-W11"]}),
    "by hours in a zone": (
        [ss.Sum("x", 0, 50)],
        {"by": ss.hour("when", "2024-02-29T22", "2024-03-01T09", zone="America/New_York")},
    ),
    "by days of which one was skipped": (
        [ss.Count()],
        {"by": ss.day("when", "2011-12-28", "2012-01-02", zone="Pacific/Apia")},
    ),
    "by years and words": (
        [ss.Sum("x", -1, 1000), ss.Mean("h", 0, 9)],
        {
            "by": [ss.year("when", zone="Asia/Tokyo"), "word", ss.day("at")],
            "groups": [["2024", "1969", "1970"], ["a", "b"], ["2024-02-29", "2024-03-01", "1969-12-31"]],
        },
    ),
    "by several": (
        [ss.Sum("x", -1, 1000), ss.Histogram("s", [-50, 0, 50])],
        {"by": ["word", "flag", "h"], "groups": [["b", "a", "ä"], [False, True], [5, 0, 1]]},
    ),
    "by pairs": (
        [ss.Count()],
        {"by": ["word", "flag"], "groups": [("a", True), ("", False), ("b", True), ("A", True)]},
    ),
    "where numbers": (
        [ss.Sum("x", -1, 1000), ss.Mean("i", 0, 9), ss.Count()],
        {"where": [("x", ">=", 0.0), ("h", "<", 2**31 - 1), ("price", "!=", Decimal("12.50")), ("s", ">", -(2**15))]},
    ),
    "where decimals": (
        [ss.Count(), ss.Sum("x", 0, 9)],
        {"where": [("price", ">=", 3), ("deep", "<", Decimal("12.5"))]},
    ),
    "edges alike": ([ss.Histogram("i", [0, 2**53, 2**62]), ss.Histogram("i", [0.0, 2.0**53, 2.0**62])], {}),
    "where text": (
        [ss.Sum("x", -1, 1000), ss.Histogram("h", [0, 5, 10])],
        {"where": [("word", ">", "A"), ("word", "!=", "'; DROP TABLE t; --"), ("flag", "==", True)]},
    ),
    "where times": (
        [ss.Count("x"), ss.Sum("x", 0, 5)],
        {
            "where": [
                ("day", ">=", DAYS[1]),
                ("at", "<", MOMENTS[4]),
                ("when", ">", datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)),
            ],
            "missing": "drop",
        },
    ),
    "where times as text": (
        [ss.Count(), ss.Sum("x", 0, 5)],
        {
            "where": [
                ("day", ">=", str(DAYS[1])),
                ("at", "<", MOMENTS[4].isoformat()),
                ("when", ">", "2000-01-01T00:00Z"),
            ]
        },
    ),
    "where in": (
        [ss.Count(), ss.Sum("x", -1, 1000)],
        {"where": [("word", "in", ["a", "b", "'; DROP TABLE t; --"]), ("flag", "in", [True])]},
    ),
    "where in numbers": (
        [ss.Count()],
        {"where": [("x", "in", [0.0, 0.5, 1, -1, 1000]), ("h", "in", [0, 1, 2, 3, 5])]},
    ),
    "where in decimals": ([ss.Count()], {"where": [("price", "in", [3, Decimal("12.50")])]}),
    "where in times": (
        [ss.Count()],
        {"where": [("day", "in", [str(d) for d in DAYS if d]), ("at", "in", [m for m in MOMENTS if m])]},
    ),
    "where or": (
        [ss.Count(), ss.Sum("x", -1, 1000), ss.Mean("i", 0, 9)],
        {
            "where": [
                [("x", "<", 0.0), ("flag", "==", True)],
                [("word", "in", ["a", "b"])],
                [("price", ">", 3), ("day", "!=", DAYS[1]), ("h", ">=", 0)],
            ]
        },
    ),
    "where or, many": ([ss.Count()], {"where": [[("h", "==", i)] for i in range(1000)]}),
    "where or, and by": (
        [ss.Sum("x", -1, 1000), ss.Count("x"), ss.Histogram("s", [-50, 0, 50])],
        {
            "where": [[("x", "<", 900.0), ("f", "!=", 1.0)], [("x", ">=", 900.0)]],
            "by": "word",
            "groups": ["b", "a"],
            "relation": "change_one",
        },
    ),
    "where or, persons": (
        [ss.Sum("x", -1, 1000), ss.Count()],
        {"where": [[("flag", "==", True)], [("h", "in", [0, 3, 5])]], "privacy_unit": "who", "max_rows": 3},
    ),
    "where and by": (
        [ss.Sum("x", -1, 1000), ss.Count("x")],
        {"where": [("x", "<", 900.0), ("f", "!=", 1.0)], "by": "word", "groups": ["b", "a"], "relation": "change_one"},
    ),
    "persons": (
        [
            ss.Sum("x", -1, 1000),
            ss.Sum("i", -(2**63), 2**63 - 1),
            ss.Count(),
            ss.Mean("x", -3, 70),
            ss.Variance("h", -9, 9),
        ],
        {"privacy_unit": "who", "max_rows": 3},
    ),
    "persons by name": ([ss.Sum("x", 0, 10), ss.Mean("price", -2, 9)], {"privacy_unit": "name", "max_rows": 100}),
    "persons by float": ([ss.Sum("h", 0, 10), ss.Count("i")], {"privacy_unit": "x", "max_rows": 2, "missing": "drop"}),
    "persons by day": ([ss.Count()], {"privacy_unit": "day", "max_rows": 5}),
    "persons and groups": (
        [
            ss.Sum("x", -1, 1000),
            ss.Count(),
            ss.Mean("f", 0, 7),
            ss.Variance("x", -9, 9),
            ss.Histogram("s", [-50, 0, 3, 50]),
        ],
        {"privacy_unit": "who", "max_rows": 2, "max_groups": 2, "by": "word", "groups": ["c", "b", "a", "ä", "A"]},
    ),
    "persons and groups, missing ones dropped": (
        [ss.Sum("x", -1, 1000), ss.Mean("price", 0, 7), ss.Count("i"), ss.Histogram("word", categories=["a", "b"])],
        {
            "privacy_unit": "who",
            "max_rows": 1,
            "max_groups": 1,
            "by": ["flag", "s"],
            "missing": "drop",
            "groups": [[True, False], [0, 3, 7, -3]],
            "where": [("x", "<", 1e9)],
        },
    ),
}

UNITS = ("who", "name", "long", "x", "f", "flag", "price", "deep", "day", "at", "when")
for _unit in UNITS:  # lots, of ids of every type
    QUESTIONS[f"persons by {_unit}, and groups with equally many rows"] = (
        [ss.Count(), ss.Sum("x", 0, 9)],
        {"privacy_unit": _unit, "max_rows": 2, "max_groups": 3, "by": "h", "groups": [3, 0, 1, 2147483647, 5, -7]},
    )

ALL = (-(2**63), 2**63 - 1)
QUESTIONS |= {
    "magnitudes of records": ([ss.Bounds(column) for column in ("x", "f", "i", "h", "price", "flag")], {}),
    "magnitudes of rows of persons": (
        [ss.Bounds("x"), ss.Bounds("deep")],
        {"privacy_unit": "who", "max_groups": 3},
    ),
    "magnitudes of persons' totals": (
        [
            *(ss.TotalBounds(column) for column in ("x", "f", "i", "h", "price", "flag")),
            ss.MaxRows(),
            ss.Sum("h", 0, 9),
        ],
        {"privacy_unit": "who", "max_rows": 3},
    ),
    "what bounds cut off": ([ss.Clipped("x", -1, 1000), ss.Clipped("i", 0, 7), ss.Clipped("price", "0.01", 13)], {}),
    "what bounds cut off of persons": (
        [ss.Clipped("x", -1, 1000), ss.Clipped("i", 0, 7), ss.Clipped("price", "0.01", 13)],
        {"privacy_unit": "who", "max_rows": 2, "max_groups": 2, "by": "h", "groups": [3, 0, 1, 2147483647, 5, -7]},
    ),
    "what bounds beyond the type cut off of persons": (
        [ss.Clipped("f", -1e308, 1e308), ss.Clipped("f", 1e300, 1e305), ss.Clipped("h", -1e308, -1e300)],
        {"privacy_unit": "who", "max_rows": 2},
    ),
    "magnitudes of some persons' totals": (
        [ss.TotalBounds("x"), ss.MaxRows(), ss.Histogram("word", categories=["a", "b"])],
        {"privacy_unit": "name", "where": [("h", ">", 0)], "missing": "drop"},
    ),
}

BETWEEN = [-3.7, 0.0, 0.5, 1.0, 1 + 2.0**-52, 999.5, 1000.0]
RANKED = [
    ss.Quantile("x", 0.5, -1e308, 1e308, candidates=BETWEEN),
    ss.Quantile("x", 0.5, -3.7, 1000, candidates=9),
    ss.Quantile("f", "1/3", -1, 1000, candidates=[-0.5, 0, 2.5]),
    ss.Quantile("i", 0, -(2**63), 2**63 - 1, candidates=5),
    ss.Quantile("i", 0.25, -8, 12345, candidates=[-8, 0, 1, 7.5]),
    ss.Quantile("h", 1, -7, 5),
    ss.Quantile("s", 0.9, -(2**15), 2**15 - 1, candidates=7),
    ss.Quantile("flag", 0.5, 0, 1),
    ss.Quantile("price", 0.5, "-2.50", "12.50", candidates=["0.01", "3.14"]),
    ss.Quantile("price", 0.5, 0, 1000),
    ss.Quantile("deep", 0.75, 0, 1000, candidates=30),
]
PERSONS = {"privacy_unit": "who", "max_rows": 2}
SIX = {"by": "h", "groups": [3, 0, 1, 2147483647, 5, -7]}
QUESTIONS |= {
    "ranks": (RANKED, {}),
    "ranks of rows, size public": ([*RANKED[:3], ss.Sum("x", 0, 9)], {"relation": "change_one"}),
    "ranks by group": (
        [*RANKED[:6], ss.Count()],
        {"by": "word", "groups": ["b", "a", "ä"], "where": [("x", "<", 1e9)]},
    ),
    "ranks of persons": ([*RANKED, ss.Sum("x", 0, 9)], PERSONS),
    "ranks of persons by group": ([*RANKED[:5], ss.Count()], {**PERSONS, **SIX, "max_groups": 2}),
    "ranks of persons in all their groups": ([RANKED[1], ss.TotalBounds("x")], {**PERSONS, "max_rows": 3}),
    "ranks of persons by name, of some rows": (
        [RANKED[1], RANKED[8], ss.Histogram("s", [-50, 0, 50])],
        {"privacy_unit": "name", "max_rows": 40, "by": "word", "groups": ["a", "b"], "where": [("h", ">", 0)]},
    ),
}
for _unit in UNITS:
    QUESTIONS[f"ranks of persons by {_unit}"] = (
        [RANKED[1]],
        {"privacy_unit": _unit, "max_rows": 2, "max_groups": 3, **SIX},
    )

HEAVY_QUESTIONS = {
    "ranks": ([ss.Quantile("i", 0.5, -5, 5), ss.Quantile("x", 0.5, 0, 9)], {"privacy_unit": "who", "max_rows": 70_001}),
    "persons": (
        [ss.Sum("i", *ALL), ss.Mean("i", *ALL), ss.Sum("x", -1e308, 1e308), ss.Variance("x", 0, 9)],
        {"privacy_unit": "who"},
    ),
    "persons with many rows": (
        [ss.Sum("i", *ALL), ss.Mean("x", -1e308, 1e308)],
        {"privacy_unit": "who", "max_rows": 90_000},
    ),
    "rows": ([ss.Sum("i", *ALL), ss.Sum("x", -1e308, 1e308)], {}),
}


SEARCHES = {
    "text": {"by": "word"},
    "long text": {"by": "long"},
    "integers": {"by": "h"},
    "wide integers": {"by": "i"},
    "truth": {"by": "flag"},
    "days": {"by": "day"},
    "months of days": {"by": ss.month("day")},
    "weeks of moments": {"by": ss.week("at")},
    "years of moments": {"by": ss.year("at")},
    "hours": {"by": ss.hour("at")},
    "hours of instants": {"by": ss.hour("when")},
    "days in a zone": {"by": ss.day("when", zone="America/New_York")},
    "months within a range": {"by": ss.month("at", "1969-01", "2024-02")},
    "several": {"by": ["word", "flag", ss.month("day"), "s"]},
    "rows that pass": {"by": "word", "where": [("x", ">=", 0.0), ("h", "<", 2**31 - 1)]},
    "nothing passes": {"by": "word", "where": [("x", ">", 1e308), ("x", "<", -1e308)]},
}
"""Groups that nobody listed."""


def search(data, by, person=None, max_groups=1, where=None, table=None, engine=None, count=None):
    """The number of persons, or rows, of every key, as an engine counts them before any noise."""
    columns = [one.column if isinstance(one, Period) else one for one in (by if isinstance(by, list) else [by])]
    searched = SearchedGroups(by)
    rows = Rows(
        columns if isinstance(by, list) else columns[0],
        None,
        person,
        None if where is None else Filter.of(where),
        searched=searched,
    )
    opened = open_engine(data, {}, table, engine)
    for column, part in zip(columns, searched.parts, strict=True):
        opened.schema.expect_groups(column, part)
    opened.refuse_search(rows)
    counted = (count or type(opened).count_keys)(opened, rows, max_groups)
    numbers = [number for number, count in enumerate(counted.counts.tolist()) if count]
    names = name_groups(searched.parts, [counted.key(number) for number in numbers], counted.kinds)
    return dict(zip(names, counted.counts[numbers].tolist(), strict=True))


def answers(data, statistics, table=None, engine=None, **options):
    """The integers of every statistic, part and entry, and the number of rows where it counts."""
    relation = ss.Relation(options.pop("relation", "symmetric"))
    request = Request(tuple(statistics), relation=relation, **options, table=table, engine=engine)
    opened, prepared = prepare(data, request)
    totals, n = opened.add_up(prepared.tasks, prepared.rows)
    return totals, n if relation.sized else None
