"""Questions that every engine must answer as `Memory` does: lists of statistics, each with the options of a request."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

from soundsum.conformance.awkward_tables import DAYS, FLOATS, MOMENTS, WORDS
from soundsum.statistics import (
    Bounds,
    Clipped,
    Count,
    Histogram,
    MaxRows,
    Mean,
    Quantile,
    Std,
    Sum,
    TotalBounds,
    Variance,
)
from soundsum.tables.periods import day, hour, month, week, year

Question: TypeAlias = tuple[list[Any], dict[str, Any]]
"""Statistics, and options of a request."""

FLOAT_BOUNDS = [
    *((0, 1000), (-1, 1), (-1e308, 1e308), (0, 1e-300), (-3.7, 1000.1), (1, 1 + 2.0**-50), (1e6, 1e6 + 1), (-5, -1)),
    *((2, 2), (0, 0), (0, 1e-320), (1e300, 1e305), (-1e305, 0.5), (0, 3), (0.1, 0.3), (-1e-5, 1e12)),
]
BETWEEN_DOUBLES = [(2**53 + 1, 2**53 + 101), (-(2**60) - 3000, -(2**60) - 1), (10**6 + Fraction(1, 2**40), 10**6 + 1)]
INTEGER_BOUNDS = [(0, 1000), (-(2**63), 2**63 - 1), (-5, 7), (3, 3), (10, 20), (-(2**40), -1)]

QUESTIONS: dict[str, Question] = {
    "sums of doubles": ([Sum("x", *bounds) for bounds in FLOAT_BOUNDS], {}),
    "sums of doubles, size public": ([Sum("x", *bounds) for bounds in FLOAT_BOUNDS], {"relation": "change_one"}),
    "offsets that are no doubles": ([Sum("x", *bounds) for bounds in BETWEEN_DOUBLES], {"relation": "change_one"}),
    "a sum and histograms, size public": (
        [Histogram("h", [0, 5, 10]), Sum("x", -1, 1), Histogram("word", categories=["a", "b"])],
        {"relation": "change_one"},
    ),
    "sums of floats": ([Sum("f", *bounds) for bounds in FLOAT_BOUNDS[:8]], {}),
    "means and variances": (
        [kind("x", *bounds) for kind in (Mean, Variance) for bounds in FLOAT_BOUNDS[:9]]
        + [
            Variance("h", -100, 1000),
            Std("h", -100, 1000),
            Variance("i", -(2**31), 2**31),
            Variance("price", -(2 * 10**7), 2**31 / 100),
            Mean("i", -(2**63), 2**63 - 1),
            Mean("price", 0, 50),
        ],
        {},
    ),
    "missing ones dropped": (
        [
            Sum("x", 5, 10),
            Mean("x", 5, 10),
            Variance("f", -1, 1),
            Mean("i", 5, 9),
            Count("x"),
            Count("word"),
            Count("price"),
            Count("when"),
            Mean("price", 1, 2),
            Sum("flag", 1, 1),
        ],
        {"missing": "drop"},
    ),
    "integers": (
        [Sum("i", *bounds) for bounds in INTEGER_BOUNDS]
        + [Sum("h", -(2**31), 2**31 - 1), Sum("s", -7, 9), Sum("flag", 0, 1), Sum("flag", 1, 1)],
        {},
    ),
    "decimals": (
        [Sum("price", *bounds) for bounds in [(0, 100), ("-0.005", "0.015"), (-(10**8), 10**8), (5, 6)]]
        + [Sum("deep", *bounds) for bounds in [(0, 1), (-9, 9), ("0.000000000000000001", 3)]],
        {},
    ),
    "counts and histograms": (
        [
            Count(),
            Histogram("x", [-1, 0, 0.5, 1000, 1e300]),
            Histogram("i", [-8, 0, 1, 2**52, 2**63 - 1]),
            Histogram("i", [-0.5, 0.5, 7.5]),
            Histogram("price", [0, 3.14, 12.5, 1000000000.0]),
            Histogram("flag", [0, 1, 2]),
            Histogram("word", categories=["a", "A", "", "ä", "zz"]),
            Histogram("day", categories=[DAYS[0], DAYS[1]]),
        ],
        {},
    ),
    "by text": (
        [Sum("x", -1, 1000), Count(), Variance("x", 0, 9)],
        {"by": "word", "groups": WORDS[:4] + WORDS[5:]},
    ),
    "by integers": ([Sum("i", -5, 2**60)], {"by": "h", "groups": [5, 0, -7, 2**31 - 1, 99]}),
    "by doubles": ([Sum("h", -5, 50)], {"by": "x", "groups": [0.0, 1.5, math.inf, 5e-324, 4.25]}),
    "by floats": ([Sum("h", -5, 50)], {"by": "f", "groups": [0.0, FLOATS[9], 1.5]}),
    "by floats that are one": ([Sum("h", -5, 50)], {"by": "f", "groups": [1.5, 1.5 + 2.0**-40, 0.0]}),
    "by truth": ([Mean("h", -5, 50)], {"by": "flag", "groups": [True, False]}),
    "by decimals": (
        [Sum("h", -5, 50)],
        {"by": "price", "groups": [Decimal("12.5"), Decimal("-0.01"), Decimal("0.00")]},
    ),
    "by days": ([Sum("h", -5, 50)], {"by": "day", "groups": [d for d in DAYS if d]}),
    "by moments": ([Sum("h", -5, 50)], {"by": "at", "groups": [m for m in MOMENTS if m]}),
    "by instants": (
        [Sum("h", -5, 50)],
        {"by": "when", "groups": [m.replace(tzinfo=datetime.UTC) for m in MOMENTS if m]},
    ),
    "by months of days": ([Sum("h", -5, 50)], {"by": month("day", "2024-01", "2024-04")}),
    "by some weeks": ([Count()], {"by": week("at"), "groups": ["2024-W09", "1970-W01", "2024-W11"]}),
    "by hours in a zone": (
        [Sum("x", 0, 50)],
        {"by": hour("when", "2024-02-29T22", "2024-03-01T09", zone="America/New_York")},
    ),
    "by days of which one was skipped": (
        [Count()],
        {"by": day("when", "2011-12-28", "2012-01-02", zone="Pacific/Apia")},
    ),
    "by years and words": (
        [Sum("x", -1, 1000), Mean("h", 0, 9)],
        {
            "by": [year("when", zone="Asia/Tokyo"), "word", day("at")],
            "groups": [["2024", "1969", "1970"], ["a", "b"], ["2024-02-29", "2024-03-01", "1969-12-31"]],
        },
    ),
    "by several": (
        [Sum("x", -1, 1000), Histogram("s", [-50, 0, 50])],
        {"by": ["word", "flag", "h"], "groups": [["b", "a", "ä"], [False, True], [5, 0, 1]]},
    ),
    "by pairs": (
        [Count()],
        {"by": ["word", "flag"], "groups": [("a", True), ("", False), ("b", True), ("A", True)]},
    ),
    "where numbers": (
        [Sum("x", -1, 1000), Mean("i", 0, 9), Count()],
        {"where": [("x", ">=", 0.0), ("h", "<", 2**31 - 1), ("price", "!=", Decimal("12.50")), ("s", ">", -(2**15))]},
    ),
    "where decimals": (
        [Count(), Sum("x", 0, 9)],
        {"where": [("price", ">=", 3), ("deep", "<", Decimal("12.5"))]},
    ),
    "edges alike": ([Histogram("i", [0, 2**53, 2**62]), Histogram("i", [0.0, 2.0**53, 2.0**62])], {}),
    "where text": (
        [Sum("x", -1, 1000), Histogram("h", [0, 5, 10])],
        {"where": [("word", ">", "A"), ("word", "!=", "'; DROP TABLE t; --"), ("flag", "==", True)]},
    ),
    "where times": (
        [Count("x"), Sum("x", 0, 5)],
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
        [Count(), Sum("x", 0, 5)],
        {
            "where": [
                ("day", ">=", str(DAYS[1])),
                ("at", "<", "2011-12-30T11:00:00"),
                ("when", ">", "2000-01-01T00:00Z"),
            ]
        },
    ),
    "where in": (
        [Count(), Sum("x", -1, 1000)],
        {"where": [("word", "in", ["a", "b", "'; DROP TABLE t; --"]), ("flag", "in", [True])]},
    ),
    "where in numbers": (
        [Count()],
        {"where": [("x", "in", [0.0, 0.5, 1, -1, 1000]), ("h", "in", [0, 1, 2, 3, 5])]},
    ),
    "where in decimals": ([Count()], {"where": [("price", "in", [3, Decimal("12.50")])]}),
    "where in times": (
        [Count()],
        {"where": [("day", "in", [str(d) for d in DAYS if d]), ("at", "in", [m for m in MOMENTS if m])]},
    ),
    "where or": (
        [Count(), Sum("x", -1, 1000), Mean("i", 0, 9)],
        {
            "where": [
                [("x", "<", 0.0), ("flag", "==", True)],
                [("word", "in", ["a", "b"])],
                [("price", ">", 3), ("day", "!=", DAYS[1]), ("h", ">=", 0)],
            ]
        },
    ),
    "where or, many": ([Count()], {"where": [[("h", "==", i)] for i in range(1000)]}),
    "where or, and by": (
        [Sum("x", -1, 1000), Count("x"), Histogram("s", [-50, 0, 50])],
        {
            "where": [[("x", "<", 900.0), ("f", "!=", 1.0)], [("x", ">=", 900.0)]],
            "by": "word",
            "groups": ["b", "a"],
            "relation": "change_one",
        },
    ),
    "where or, persons": (
        [Sum("x", -1, 1000), Count()],
        {"where": [[("flag", "==", True)], [("h", "in", [0, 3, 5])]], "privacy_unit": "who", "max_rows": 3},
    ),
    "where and by": (
        [Sum("x", -1, 1000), Count("x")],
        {"where": [("x", "<", 900.0), ("f", "!=", 1.0)], "by": "word", "groups": ["b", "a"], "relation": "change_one"},
    ),
    "persons": (
        [
            Sum("x", -1, 1000),
            Sum("i", -(2**63), 2**63 - 1),
            Count(),
            Mean("x", -3, 70),
            Variance("h", -9, 9),
        ],
        {"privacy_unit": "who", "max_rows": 3},
    ),
    "persons by name": ([Sum("x", 0, 10), Mean("price", -2, 9)], {"privacy_unit": "name", "max_rows": 100}),
    "persons by float": ([Sum("h", 0, 10), Count("i")], {"privacy_unit": "x", "max_rows": 2, "missing": "drop"}),
    "persons by day": ([Count()], {"privacy_unit": "day", "max_rows": 5}),
    "persons and groups": (
        [
            Sum("x", -1, 1000),
            Count(),
            Mean("f", 0, 7),
            Variance("x", -9, 9),
            Histogram("s", [-50, 0, 3, 50]),
        ],
        {"privacy_unit": "who", "max_rows": 2, "max_groups": 2, "by": "word", "groups": ["c", "b", "a", "ä", "A"]},
    ),
    "persons and groups, missing ones dropped": (
        [Sum("x", -1, 1000), Mean("price", 0, 7), Count("i"), Histogram("word", categories=["a", "b"])],
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
        [Count(), Sum("x", 0, 9)],
        {"privacy_unit": _unit, "max_rows": 2, "max_groups": 3, "by": "h", "groups": [3, 0, 1, 2147483647, 5, -7]},
    )

ALL = (-(2**63), 2**63 - 1)
QUESTIONS |= {
    "magnitudes of records": ([Bounds(column) for column in ("x", "f", "i", "h", "price", "flag")], {}),
    "magnitudes of rows of persons": (
        [Bounds("x"), Bounds("deep")],
        {"privacy_unit": "who", "max_groups": 3},
    ),
    "magnitudes of persons' totals": (
        [
            *(TotalBounds(column) for column in ("x", "f", "i", "h", "price", "flag")),
            MaxRows(),
            Sum("h", 0, 9),
        ],
        {"privacy_unit": "who", "max_rows": 3},
    ),
    "what bounds cut off": ([Clipped("x", -1, 1000), Clipped("i", 0, 7), Clipped("price", "0.01", 13)], {}),
    "what bounds cut off of persons": (
        [Clipped("x", -1, 1000), Clipped("i", 0, 7), Clipped("price", "0.01", 13)],
        {"privacy_unit": "who", "max_rows": 2, "max_groups": 2, "by": "h", "groups": [3, 0, 1, 2147483647, 5, -7]},
    ),
    "what bounds beyond the type cut off of persons": (
        [Clipped("f", -1e308, 1e308), Clipped("f", 1e300, 1e305), Clipped("h", -1e308, -1e300)],
        {"privacy_unit": "who", "max_rows": 2},
    ),
    "magnitudes of some persons' totals": (
        [TotalBounds("x"), MaxRows(), Histogram("word", categories=["a", "b"])],
        {"privacy_unit": "name", "where": [("h", ">", 0)], "missing": "drop"},
    ),
}

BETWEEN = [-3.7, 0.0, 0.5, 1.0, 1 + 2.0**-52, 999.5, 1000.0]
RANKED = [
    Quantile("x", 0.5, -1e308, 1e308, candidates=BETWEEN),
    Quantile("x", 0.5, -3.7, 1000, candidates=9),
    Quantile("f", "1/3", -1, 1000, candidates=[-0.5, 0, 2.5]),
    Quantile("i", 0, -(2**63), 2**63 - 1, candidates=5),
    Quantile("i", 0.25, -8, 12345, candidates=[-8, 0, 1, 7.5]),
    Quantile("h", 1, -7, 5),
    Quantile("s", 0.9, -(2**15), 2**15 - 1, candidates=7),
    Quantile("flag", 0.5, 0, 1),
    Quantile("price", 0.5, "-2.50", "12.50", candidates=["0.01", "3.14"]),
    Quantile("price", 0.5, 0, 1000),
    Quantile("deep", 0.75, 0, 1000, candidates=30),
]
PERSONS: dict[str, Any] = {"privacy_unit": "who", "max_rows": 2}
SIX: dict[str, Any] = {"by": "h", "groups": [3, 0, 1, 2147483647, 5, -7]}
QUESTIONS |= {
    "ranks": (RANKED, {}),
    "ranks of rows, size public": ([*RANKED[:3], Sum("x", 0, 9)], {"relation": "change_one"}),
    "ranks by group": (
        [*RANKED[:6], Count()],
        {"by": "word", "groups": ["b", "a", "ä"], "where": [("x", "<", 1e9)]},
    ),
    "ranks of persons": ([*RANKED, Sum("x", 0, 9)], PERSONS),
    "ranks of persons by group": ([*RANKED[:5], Count()], {**PERSONS, **SIX, "max_groups": 2}),
    "ranks of persons in all their groups": ([RANKED[1], TotalBounds("x")], {**PERSONS, "max_rows": 3}),
    "ranks of persons by name, of some rows": (
        [RANKED[1], RANKED[8], Histogram("s", [-50, 0, 50])],
        {"privacy_unit": "name", "max_rows": 40, "by": "word", "groups": ["a", "b"], "where": [("h", ">", 0)]},
    ),
}
for _unit in UNITS:
    QUESTIONS[f"ranks of persons by {_unit}"] = (
        [RANKED[1]],
        {"privacy_unit": _unit, "max_rows": 2, "max_groups": 3, **SIX},
    )

HEAVY_QUESTIONS: dict[str, Question] = {
    "ranks": ([Quantile("i", 0.5, -5, 5), Quantile("x", 0.5, 0, 9)], {"privacy_unit": "who", "max_rows": 70_001}),
    "persons": (
        [Sum("i", *ALL), Mean("i", *ALL), Sum("x", -1e308, 1e308), Variance("x", 0, 9)],
        {"privacy_unit": "who"},
    ),
    "persons with many rows": (
        [Sum("i", *ALL), Mean("x", -1e308, 1e308)],
        {"privacy_unit": "who", "max_rows": 90_000},
    ),
    "rows": ([Sum("i", *ALL), Sum("x", -1e308, 1e308)], {}),
}
