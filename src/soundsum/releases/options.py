"""Every option of a release, declared once: its name, type, default and words, and how commands and requests spell it.

Public functions write their signatures out, so that editors complete them, and a test holds each to these declarations.
Commands take their flags from here, docstrings their words (signatures.py), and `schema` describes a request.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from soundsum.statistics import STATISTICS, Statistic
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

BOUNDS = "the bounds of a record. They are public: take them from what everybody knows, not from the data."
"""The words for lower and upper, which commands and requests call bounds."""

_DECLARED = (
    Option(
        "data",
        "Any",
        REQUIRED,
        "a column (an array, a series, a list), or a table: a data frame (pandas, Polars, Arrow, DuckDB, Spark), a "
        "dict of columns, a path to Parquet, CSV or Arrow files, or the address of a database with table=. What has no "
        "type, such as a list, is read item by item: numbers, and text that spells one; anything else is missing.",
        Flag("Parquet, CSV or Arrow IPC, globs too; - reads CSV from stdin; or postgresql://...", str, "FILE", "file"),
    ),
    Option(
        "statistics",
        "Sequence[Statistic] | Mapping[str, Statistic]",
        REQUIRED,
        "a list of `Sum`, `Mean`, `Variance`, `Count` and `Histogram`, or a dict of them by name. With weight=2 a "
        "statistic gets twice the share of epsilon that one without a weight gets.",
        Flag("What to release, as TOML; see the example.", str, None, "request"),
    ),
    Option(
        "edges",
        "Sequence[Any] | None",
        None,
        "increasing numbers; or give bins or categories instead.",
        Flag(
            "Increasing numbers, separated by commas: 0,10,20. A value on an edge is in the cell that begins there; on "
            "the last edge, in the last cell."
        ),
        LIST,
    ),
    Option(
        "categories",
        "Sequence[Any] | None",
        None,
        "the categories to count. They are public: list them from what everybody knows.",
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
        "lower",
        "Any",
        REQUIRED,
        BOUNDS,
        Flag("The lower and the upper bound of a record.", tuple[str, str], "L U", "bounds"),
        AMOUNT,
    ),
    Option("upper", "Any", REQUIRED, BOUNDS, None, AMOUNT),
    Option(
        "epsilon",
        "Any",
        None,
        'what this release may cost, such as 1 or "1/3"; smaller is more private.',
        Flag("What this release may cost, such as 1 or 1/3.", str, "E"),
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
        "one {result} for each group: the column of the groups, or its values if data is a single column. For dates "
        'and times also a period with its range, such as ss.month("seen", "2024-01", "2024-12").',
        Flag(
            "Release by group: the column of the groups; may be repeated for more columns. For dates and times also "
            "year(C), month(C), week(C), day(C) or hour(C), or with a time zone: month(C, Europe/Vienna).",
            list[str],
        ),
        {"type": ["string", "array"], "items": TEXT},
    ),
    Option(
        "groups",
        "Any",
        None,
        "the groups to release, with by=. They are public: list them from what everybody knows. With several columns "
        'in by=["ward", "year"], tuples of their values, or a list for each column to combine.',
        Flag(
            "The groups, separated by commas: a,b,c; or @FILE with one on each line. They are public. Once for each "
            '--by. Spaces around a name are ignored; double quotes keep spaces and commas: "Smith, Ann",b. Periods '
            "also as a range: 2024-01..2024-12.",
            list[str],
        ),
        {"type": ["string", "array"]},
    ),
    Option(
        "where",
        "Any",
        None,
        'only rows that meet all of these conditions: a list such as [("age", ">=", 18)], each value of its column\'s '
        'own type; dates and times also as text, "2024-01-31". ("ward", "in", ["a", "b"]) takes one of several values; '
        "of a list of lists of conditions, a row meets every condition of one list. The number of rows that meet them "
        "is then private, under every relation.",
        Flag(
            "Only rows such as: age >= 18, or: ward in a,b, or: age < 18 or age >= 65. May be given several times; "
            "rows then meet each.",
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
        "without an id are left out.",
        Flag("Protect persons: the column of their ids."),
        TEXT,
    ),
    Option(
        "max_rows",
        "int",
        1,
        "with privacy_unit=, {person}.",
        Flag("With --privacy-unit: how many rows of a person count in a group.", int),
        COUNT,
    ),
    Option(
        "max_groups",
        "int",
        1,
        "with privacy_unit= and by=, how many groups a person counts in: those with most of their rows. Between groups "
        "with equally many, a hash of the id and the group decides.",
        Flag(
            "With --privacy-unit and --by: in how many groups a person counts. These are the groups with most of their "
            "rows; between equals a hash of the id and the group decides.",
            int,
        ),
        COUNT,
    ),
    Option(
        "relation",
        "Relation | str",
        Relation.SYMMETRIC,
        'when two tables are neighbours: "symmetric" (one row more or less), "insert_delete" (the same, in order), '
        '"change_one" or "hamming" (one row changed; the number of rows is then public).',
        Flag("When two tables are neighbours.", Relation),
        {"enum": [str(one) for one in Relation]},
    ),
    Option(
        "size",
        "int | None",
        None,
        "under change_one and hamming, the number of rows. It is checked; by default it is that of the data.",
        Flag("The number of rows, if it is public; it is checked.", int),
        {"type": "integer", "minimum": 0},
    ),
    Option(
        "max_size",
        "int | None",
        None,
        "for methods that need a limit: how many rows count; any beyond it are left out.",
        Flag("Where to truncate, for methods that need a limit.", int),
        {"type": "integer", "minimum": 0},
    ),
    Option(
        "dtype",
        "object",
        None,
        "the column's type, if it has none of its own, as in CSV; it is never taken from the values.",
        Flag("For CSV, which has no types: float64, or int64, in which cells with decimals are missing."),
        TEXT,
    ),
    Option(
        "method",
        "str | Method",
        "auto",
        'how to add. "auto" reaches the ideal sensitivity; `plans` lists the others with what they cost.',
        Flag("How to add; auto reaches the ideal sensitivity."),
        TEXT,
    ),
    Option("weight", "Any", 1, "its part of epsilon, relative to those of the others.", None, AMOUNT),
    Option(
        "noise",
        "str",
        "laplace",
        '"laplace" takes epsilon alone; "gaussian" takes rho, or epsilon and delta.',
        Flag("laplace is pure; gaussian takes --rho, or --delta.", str, "KIND"),
        TEXT,
    ),
    Option(
        "delta", "Any", None, "with Gaussian noise and epsilon.", Flag("With --noise gaussian and --epsilon."), AMOUNT
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
        'a null or NaN counts as the value within the bounds nearest to zero ("zero"), or not at all ("drop"). '
        '"drop" is the default if the number of rows is private. Under change_one and hamming "zero" is the default, '
        'and "drop" makes the number of rows private there too, for a part of epsilon. Infinities are clamped.',
        Flag(
            "A missing record counts as the value nearest to 0 (zero) or is left out (drop). By default means and "
            "variances leave it out if the number of rows is private."
        ),
        {"enum": ["zero", "drop"]},
    ),
    Option(
        "budget",
        "Budget | None",
        None,
        "a `Budget` that is charged before any data is read, and refuses a release that would exceed it.",
        Flag("Charge this ledger; soundsum budget create makes one."),
    ),
    Option(
        "name",
        "str | None",
        None,
        "what the data is called, if the budget is for data with a name.",
        Flag("What the data is called, if the ledger is for data with a name.", str, None, "data"),
    ),
    Option(
        "table",
        "Any",
        None,
        'which table, if the data is a database: "postgresql://user@host/db", or a DuckDB connection.',
        Flag("With a database: which table, such as visits or clinic.visits."),
        {"type": ["string", "array"], "items": TEXT},
    ),
    Option(
        "engine",
        "str | None",
        None,
        'what adds up Parquet files: "memory", "duckdb", "polars" or "spark". A database adds up its own data.',
        Flag(
            "What adds up Parquet files: memory, duckdb, polars or spark. PostgreSQL adds up its own tables.",
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
        "type, categories, lower and upper. What is not given comes from the data's own types, never from values. A "
        "type makes a number of a key in folders' names; bounds that are dates are the range of `soundsum.month`. What "
        "does not fit the table is refused at once.",
    ),
    Option(
        "pad",
        "str | None",
        None,
        'a time, such as "0.5s": every answer, refusals too, then takes exactly that long; one that would take longer '
        "is ReadFailed. The table is read in a child process, which opens paths and addresses itself and gets a copy "
        "of a table in memory; an open connection or a Spark frame is refused.",
    ),
)

OPTIONS: Mapping[str, Option] = {option.name: option for option in _DECLARED}
"""Every option, by its name in Python."""

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


def schema() -> dict[str, Any]:
    """Requests as JSON Schema: the settings, and the statistics by name, each with the options of its kind.

    >>> sorted(schema()["properties"]["statistics"]["additionalProperties"]["oneOf"][1]["properties"])
    ['column', 'statistic', 'weight']
    """
    kinds = [
        {
            "type": "object",
            "properties": {"statistic": {"const": name}, **dict(_properties(list_fields(STATISTICS[name])))},
            "required": ["statistic"],
            "additionalProperties": False,
        }
        for name in STATISTICS
    ]
    named = {"type": "object", "minProperties": 1, "additionalProperties": {"oneOf": kinds}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {**dict(_properties(SETTINGS)), "statistics": named},
        "required": ["statistics"],
        "additionalProperties": False,
    }


def _properties(names: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in names:
        called, option = name_in_request(name), OPTIONS.get(name)
        if called is None:
            continue
        if option is None or option.json is None:  # of a statistic from elsewhere
            yield called, {}
            continue
        said = dict(option.json)
        if called == "bounds":
            said = {"type": "array", "items": said, "minItems": 2, "maxItems": 2}
        if option.default is not REQUIRED and option.default is not None:
            said["default"] = str(option.default) if isinstance(option.default, Relation) else option.default
        yield called, said | ({} if option.flag is None else {"description": option.flag.help})
