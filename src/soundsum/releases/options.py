"""Every option of a release, declared once: its name, type, default and words, and how commands and requests spell it.

Public functions write their signatures out, so that editors complete them, and a test holds each to these declarations.
Commands take their flags from here, docstrings their words (signatures.py), and requests their JSON Schema
(requests/write_request.py).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from soundsum.statistics import Statistic
from soundsum.tables.relations import Relation

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Flag:
    """A command's spelling of an option: its help, the type it is parsed to, and its name if that is another."""

    help: str
    kind: Any = str
    metavar: str | None = None
    name: str | None = None


@dataclass(frozen=True)
class Option:
    """An option of a release. `annotation` is what a signature says, `json` the JSON Schema of its value in a request.

    Words in braces are those of the function: `one {result} for each group`.
    """

    name: str
    annotation: str
    default: Any
    words: str
    flag: Flag | None = None  # None: no command has it
    json: Mapping[str, Any] | None = None  # None: no request has it


AMOUNT: dict[str, Any] = {"type": ["number", "string"]}
TEXT: dict[str, Any] = {"type": "string"}
COUNT: dict[str, Any] = {"type": "integer", "minimum": 1}
LIST: dict[str, Any] = {"type": "array"}

BOUNDS = "the bounds that each record is clamped to. They are public: never take them from the data."
"""The words for lower and upper, which commands and requests call bounds."""

_DECLARED = (
    Option(
        "data",
        "Any",
        REQUIRED,
        "a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a "
        "dict of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. Untyped "
        "data such as a list is read item by item: numbers, and text that spells a number; anything else is missing.",
        Flag(
            "Parquet, CSV or Arrow IPC files (globs too), - for CSV from stdin, or postgresql://...",
            str,
            "FILE",
            "file",
        ),
    ),
    Option(
        "statistics",
        "Sequence[Statistic] | Mapping[str, Statistic]",
        REQUIRED,
        "a list of `Sum`, `Mean`, `Variance`, `Count`, `Histogram`, ..., or a dict of them by name. A statistic with "
        "weight=2 gets twice the default share of epsilon.",
        Flag("The request, a TOML file as in the example.", str, None, "request"),
    ),
    Option(
        "edges",
        "Sequence[Any] | None",
        None,
        "the edges of the cells, increasing; or give bins or categories instead.",
        Flag(
            "The edges of the cells, increasing: 0,10,20. A value on an edge is in the cell that begins there; on the "
            "last edge, in the last cell."
        ),
        LIST,
    ),
    Option(
        "categories",
        "Sequence[Any] | None",
        None,
        "the categories to count. They are public: never take them from the data.",
        Flag("Categories, separated by commas: a,b,c; or @FILE."),
        LIST,
    ),
    Option(
        "bins",
        "int | None",
        None,
        "the number of cells of equal width between lower and upper, instead of edges.",
        Flag("The number of cells of equal width, between --bounds.", int),
        COUNT,
    ),
    Option(
        "quantile",
        "Any",
        REQUIRED,
        "the quantile, from 0 to 1, such as 0.5 for the median, with a denominator of at most 10^6; or a list of "
        "quantiles, which share epsilon and do not cross.",
        Flag("The quantile, such as 0.5 for the median; or several, separated by commas: 0.25,0.5,0.75."),
        AMOUNT,
    ),
    Option(
        "candidates",
        "Any",
        None,
        "the numbers to choose from: a public list, or how many, evenly spaced from bound to bound. By default "
        "4,096, or all integers if the column has integers and there are fewer.",
        Flag("How many evenly spaced numbers to choose from, by default 4,096; or the numbers, separated by commas."),
        {"type": ["array", "integer"]},
    ),
    Option(
        "lower",
        "Any",
        REQUIRED,
        BOUNDS,
        Flag("The bounds that each record is clamped to.", tuple[str, str], "L U", "bounds"),
        AMOUNT,
    ),
    Option("upper", "Any", REQUIRED, BOUNDS, None, AMOUNT),
    Option(
        "bounds",
        "Any",
        None,
        "both bounds at once, instead of lower and upper: a pair, or what `suggest_bounds` returned.",
    ),
    Option(
        "coverage",
        "Any",
        0.99,
        "the share of {units} that the suggestion should not cut off, above 0 and below 1.",
        Flag("The share that the suggestion should not cut off, such as 0.99."),
        AMOUNT,
    ),
    Option(
        "epsilon",
        "Any",
        None,
        'the privacy loss to spend, such as 1 or "1/3"; smaller is more private.',
        Flag("The privacy loss to spend, such as 1 or 1/3.", str, "E"),
        AMOUNT,
    ),
    Option(
        "column",
        "str | None",
        None,
        "the column to {verb}, if the data is a table.",
        Flag("The column to read."),
        TEXT,
    ),
    Option(
        "by",
        "Any",
        None,
        "release one {result} per group: the column of the groups, or its values if data is a single column. Group "
        'dates and times by a period, such as ss.month("seen", "2024-01", "2024-12").',
        Flag(
            "The column to group by; repeat for several. Group dates and times by year(C), month(C), week(C), day(C) "
            "or hour(C), or with a time zone: month(C, Europe/Vienna).",
            list[str],
        ),
        {"type": ["string", "array"], "items": TEXT},
    ),
    Option(
        "groups",
        "Any",
        None,
        "with by=, the groups to release. They are public: never take them from the data. For several columns, "
        'by=["ward", "year"], give tuples of values, or one list per column to release all combinations. Where nobody '
        'knows them, give `ss.Found(delta="1e-9")` to find them for the same charge, or what `ss.groups` found.',
        Flag(
            "The groups to release, once per --by: a,b,c, or @FILE with one per line, or a range of periods, "
            "2024-01..2024-12. They are public: never take them from the data. Spaces around a name are ignored; "
            'quote names that contain spaces or commas: "Smith, Ann",b. Or found, with --delta, to find them.',
            list[str],
        ),
        {"type": ["string", "array"]},
    ),
    Option(
        "where",
        "Any",
        None,
        'count only rows that meet every condition in a list such as [("age", ">=", 18), ("ward", "in", ["a", "b"])]; '
        "given a list of such lists, rows that meet every condition of at least one. Values have their column's type; "
        'dates and times may be text, "2024-01-31". The number of selected rows is private under every relation.',
        Flag(
            "Count only rows that meet a condition: age >= 18, or: ward in a,b, or: age < 18 or age >= 65. Repeat for "
            "several conditions; rows must meet all of them.",
            list[str],
            "COND",
        ),
        {"type": "array", "items": TEXT},
    ),
    Option(
        "privacy_unit",
        "Any",
        None,
        "protect persons instead of rows: the column of their ids, or its values if data is a single column. Rows "
        "without an id are dropped.",
        Flag("Protect persons instead of rows: the column of their ids."),
        TEXT,
    ),
    Option(
        "max_rows",
        "int",
        1,
        "with privacy_unit=, {person}.",
        Flag(
            "With --privacy-unit: how many rows of a person count in a group. A lower limit clamps what a person adds "
            "(sums), scales their rows down (means) or drops some (counts, quantiles).",
            int,
        ),
        COUNT,
    ),
    Option(
        "max_groups",
        "int",
        1,
        "with privacy_unit= and by=, the most groups a person contributes to: those with most of their rows. Their "
        "other groups are dropped. A hash of id and group breaks ties.",
        Flag(
            "With --privacy-unit and --by: the most groups a person contributes to, those with most of their rows. "
            "Their other groups are dropped. A hash of id and group breaks ties.",
            int,
        ),
        COUNT,
    ),
    Option(
        "relation",
        "Relation | str",
        Relation.SYMMETRIC,
        'when two tables are neighbours: "symmetric" (add or remove a row), "insert_delete" (likewise, in order), '
        '"change_one" or "hamming" (one row changed; the number of rows is then public).',
        Flag("When two tables are neighbours.", Relation),
        {"enum": [str(one) for one in Relation]},
    ),
    Option(
        "size",
        "int | None",
        None,
        "under change_one and hamming, the number of rows, by default that of the data. It must be right.",
        Flag("The number of rows, if it is public. It must be right.", int),
        {"type": "integer", "minimum": 0},
    ),
    Option(
        "max_size",
        "int | None",
        None,
        "for methods that need a limit on the number of rows: rows beyond it are dropped.",
        Flag("For methods that need a limit on the number of rows: rows beyond it are dropped.", int),
        {"type": "integer", "minimum": 0},
    ),
    Option(
        "dtype",
        "object",
        None,
        "the type of an untyped column, as in CSV; it is never inferred from the values.",
        Flag("The type of a CSV column: float64, or int64, which treats cells with decimals as missing."),
        TEXT,
    ),
    Option(
        "method",
        "str | Method",
        "auto",
        'the summation method. "auto" reaches the ideal sensitivity; `plans` lists them all.',
        Flag("The summation method; auto reaches the ideal sensitivity, soundsum plan lists them all."),
        TEXT,
    ),
    Option("weight", "Any", 1, "its share of epsilon, relative to the other statistics.", None, AMOUNT),
    Option(
        "noise",
        "str",
        "laplace",
        '"laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.',
        Flag("laplace takes --epsilon alone; gaussian takes --rho, or --epsilon and --delta.", str, "KIND"),
        TEXT,
    ),
    Option(
        "delta",
        "Any",
        None,
        "with Gaussian noise and epsilon.",
        Flag("With --noise gaussian and --epsilon; or with --groups found, for the search (half of it, with both)."),
        AMOUNT,
    ),
    Option(
        "rho",
        "Any",
        None,
        "with Gaussian noise, instead of epsilon: the cost as zCDP.",
        Flag("With --noise gaussian: the cost as zCDP."),
        AMOUNT,
    ),
    Option(
        "missing",
        "Missing | None",
        None,
        'a null or NaN counts as the value within the bounds nearest to zero ("zero"), or is dropped ("drop"). '
        '"drop" is the default if the number of rows is private. Under change_one and hamming "zero" is the default; '
        '"drop" makes the number of rows private and spends part of epsilon on it. Infinities are clamped.',
        Flag(
            "zero counts a missing record as the value within the bounds nearest to 0; drop drops it, the default of "
            "means and variances if the number of rows is private."
        ),
        {"enum": ["zero", "drop"]},
    ),
    Option(
        "budget",
        "Budget | None",
        None,
        "a `Budget` to charge before any data is read; it refuses a release that would exceed it.",
        Flag("The ledger to charge; create one with soundsum budget create."),
    ),
    Option(
        "name",
        "str | None",
        None,
        "the name of the data, if the budget is bound to one.",
        Flag("The name of the data, if the ledger is bound to one.", str, None, "data"),
    ),
    Option(
        "table",
        "Any",
        None,
        'the table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.',
        Flag("The table of a database, such as visits or clinic.visits."),
        {"type": ["string", "array"], "items": TEXT},
    ),
    Option(
        "engine",
        "str | None",
        None,
        'the program that sums Parquet files: "memory", "duckdb", "polars" or "spark". A database sums its own tables.',
        Flag(
            "The program that sums Parquet files: memory, duckdb, polars or spark. PostgreSQL sums its own tables.",
            str,
            "NAME",
        ),
        TEXT,
    ),
    Option(
        "schema",
        "Mapping[str, Any] | None",
        None,
        'for columns by name: a type ("float64"), public categories (a list), ("float64", lower, upper), or a dict of '
        "type, categories, lower and upper. Types that you leave out come from the table's own schema, never from "
        "values. Dates as bounds are the range of `soundsum.month`; a type turns keys in folder names into numbers. A "
        "schema that does not fit the table is refused.",
    ),
    Option(
        "pad",
        "str | None",
        None,
        'a time, such as "0.5s", that every answer and refusal takes exactly; a slower one is ReadFailed. A child '
        "process reads the table: give a path, an address or a table in memory, not an open connection or a Spark "
        "frame.",
    ),
)

OPTIONS: Mapping[str, Option] = {option.name: option for option in _DECLARED}
"""All options, by name in Python."""

SETTINGS = (
    *("epsilon", "delta", "rho", "noise", "relation", "by", "groups", "where", "privacy_unit", "max_rows"),
    *("max_groups", "missing", "table", "engine"),
)
"""The options of a request that are about all of its statistics."""


def name_in_request(name: str) -> str | None:
    """The name of an option in a request; None for upper, which it gives together with lower as bounds."""
    return {"lower": "bounds", "upper": None}.get(name, name)


def list_fields(kind: type[Statistic]) -> tuple[str, ...]:
    """The options of one statistic, where several are asked for at once."""
    return tuple(one.name for one in fields(kind) if one.init)  # type: ignore[arg-type]
