"""The options of each function, and the words that only it has for them.

Docstrings are filled from here (`explain`), and a call with options of other libraries is told what to give instead.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedType
from soundsum.releases.options import OPTIONS, REQUIRED, Flag, Option

D = TypeVar("D", bound=Callable[..., Any])
P = ParamSpec("P")
T = TypeVar("T")

WIDTH = 116
"""The width of a docstring's lines, which are indented by four spaces."""


@dataclass(frozen=True)
class Call:
    """A function that takes options, in the order of its signature; `options` are those it has its own facts of."""

    positional: tuple[str, ...]
    keywords: tuple[str, ...]
    words: Mapping[str, str] = field(default_factory=dict)  # for the braces
    changes: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict
    )  # fields of its options that differ from the table
    required: frozenset[str] = frozenset()  # by its command, which reads one column of a table
    options: Mapping[str, Option] = field(init=False)

    def __post_init__(self) -> None:
        names = (*self.positional, *self.keywords)
        found = {name: replace(OPTIONS[name], **self.changes.get(name, {})) for name in names}
        own = {name: replace(one, words=one.words.format_map(_Words(self.words))) for name, one in found.items()}
        object.__setattr__(self, "options", own)

    def parameters(self) -> list[tuple[str, str, Any, bool]]:
        """Name, annotation, default and whether it is positional, for every parameter of the signature."""
        return [(name, one.annotation, one.default, name in self.positional) for name, one in self.options.items()]

    def document(self) -> str:
        """A paragraph for a docstring; neighbours with the same words share a line."""
        names: dict[str, list[str]] = {}
        for name, option in self.options.items():
            names.setdefault(option.words, []).append(name)
        return "\n".join(_fill(f"{', '.join(several)}: {words}") for words, several in names.items())


class _Words(dict[str, str]):
    """Words for braces; those that a call does not have stay as they are, as `{...}` may be Python."""

    def __missing__(self, name: str) -> str:
        return f"{{{name}}}"


def _fill(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


ROWS = ("by", "groups", "where", "privacy_unit", "max_rows", "max_groups", "relation")
COST = ("noise", "delta", "rho")
WHERE_IT_IS = ("budget", "name", "table", "engine")

AVERAGE = "a person with more rows in a group counts as this many rows of their average value"
RANKED = (
    "the most rows a person contributes to a group: of more, as many at equal distances in the order of their values"
)
CLAMPED = "a person's total in a group is clamped to what this many rows can add"
OR_BOUNDS: Mapping[str, Mapping[str, Any]] = {"lower": {"default": None}, "upper": {"default": None}}
OF_RANKS = {**OR_BOUNDS, "missing": {"words": "has no effect here: missing values are left out."}}
NUMBERS = frozenset({"column", "lower", "upper"})

CALLS: Mapping[str, Call] = {
    "release": Call(
        ("data", "statistics", "epsilon"),
        (*ROWS, *COST, "missing", *WHERE_IT_IS),
        {"result": "result", "person": CLAMPED},
        {
            "data": {
                "words": "a data frame (pandas, Polars, Arrow, DuckDB, Spark), a dict of columns, a path to Parquet, "
                "CSV or Arrow files, or the address of a database with table=."
            },
            "missing": {
                "words": 'a null or NaN counts as the value within the bounds nearest to zero ("zero"), or is dropped '
                '("drop"). By default it counts as zero, except in means and variances if the number of rows is '
                "private. Infinities are clamped."
            },
        },
    ),
    "sum": Call(
        ("data", "lower", "upper", "epsilon"),
        ("bounds", "column", *ROWS, "size", "max_size", "dtype", "method", *COST, "missing", *WHERE_IT_IS),
        {"result": "sum", "verb": "sum", "person": CLAMPED},
        {
            **OR_BOUNDS,
            "missing": {
                "default": "zero",
                "words": 'a null or NaN counts as the value within the bounds nearest to zero ("zero"), or is dropped '
                '("drop"). Infinities are clamped.',
            },
        },
        NUMBERS,
    ),
    "mean": Call(
        ("data", "lower", "upper", "epsilon"),
        ("bounds", "column", *ROWS, "size", "dtype", *COST, "missing", *WHERE_IT_IS),
        {"result": "mean", "verb": "average", "person": AVERAGE},
        OR_BOUNDS,
        NUMBERS,
    ),
    "variance": Call(
        ("data", "lower", "upper", "epsilon"),
        ("bounds", "column", *ROWS, "size", "dtype", *COST, "missing", *WHERE_IT_IS),
        {"result": "variance", "verb": "take the variance of", "person": AVERAGE},
        OR_BOUNDS,
        NUMBERS,
    ),
    "std": Call(
        ("data", "lower", "upper", "epsilon"),
        ("bounds", "column", *ROWS, "size", "dtype", *COST, "missing", *WHERE_IT_IS),
        {"result": "standard deviation", "verb": "take the standard deviation of", "person": AVERAGE},
        OR_BOUNDS,
        NUMBERS,
    ),
    "count": Call(
        ("data", "epsilon"),
        ("column", *ROWS, *COST, "missing", *WHERE_IT_IS),
        {"result": "count", "person": "the most rows a person contributes to a group"},
        {
            "column": {
                "words": 'with missing="drop", the column whose missing values are dropped, if the data is a table.',
                "flag": Flag("With --missing drop: the column whose missing values are dropped."),
            },
            "missing": {
                "default": "zero",
                "words": '"zero" counts every row, "drop" only rows with a value in the column.',
            },
        },
    ),
    "histogram": Call(
        ("data", "edges", "epsilon"),
        ("categories", "bins", "lower", "upper", "bounds", "column", *ROWS, "dtype", *COST, "missing", *WHERE_IT_IS),
        {"result": "histogram", "verb": "count", "person": "the most rows a person contributes to a cell"},
        {
            "lower": {
                "default": None,
                "words": "with bins, where the first cell begins and the last one ends. They are public.",
                "flag": Flag("With --bins: where the cells begin and end.", tuple[str, str], "L U", "bounds"),
            },
            "upper": {
                "default": None,
                "words": "with bins, where the first cell begins and the last one ends. They are public.",
            },
            "max_groups": {
                "words": "with privacy_unit=, the most cells a person contributes to: those with most of their rows. "
                "A hash of id and cell breaks ties."
            },
            "missing": {
                "default": "zero",
                "words": "has no effect here: missing values are in no cell.",
            },
        },
        frozenset({"column"}),
    ),
    "groups": Call(
        ("data", "by", "epsilon", "delta"),
        ("where", "privacy_unit", "max_groups", "relation", "noise", *WHERE_IT_IS),
        {},
        {
            "by": {
                "default": REQUIRED,
                "words": "the column of the groups: text, integers, truth values, dates, or a period of these such as "
                'ss.month("seen"); or a list of columns, whose groups are tuples. Rows without a group are left out.',
            },
            "delta": {
                "words": "the probability that a group of one person is released: far below 1/(number of persons), "
                'such as "1e-9". The charge is at most this.',
                "flag": Flag("The probability that a group of one person is released, such as 1e-9."),
            },
            "max_groups": {
                "words": "with privacy_unit=, the most groups a person counts in, once each: those with most of their "
                "rows. A hash of id and group breaks ties.",
            },
            "noise": {
                "words": '"laplace", whose intervals are certain; or "gaussian", which has no intervals, and a lower '
                "threshold if a person may count in about four groups or more.",
                "flag": Flag("laplace, or gaussian for persons in many groups.", str, "KIND"),
            },
        },
        frozenset({"by"}),
    ),
    "quantile": Call(
        ("data", "quantile", "lower", "upper", "epsilon"),
        ("bounds", "column", "candidates", *ROWS, "dtype", *COST, "missing", *WHERE_IT_IS),
        {"result": "quantile", "verb": "rank", "person": RANKED},
        OF_RANKS,
        NUMBERS | {"quantile"},
    ),
    "median": Call(
        ("data", "lower", "upper", "epsilon"),
        ("bounds", "column", "candidates", *ROWS, "dtype", *COST, "missing", *WHERE_IT_IS),
        {"result": "median", "verb": "rank", "person": RANKED},
        OF_RANKS,
        NUMBERS,
    ),
    "suggest_bounds": Call(
        ("data", "epsilon"),
        (*("column", "coverage", "where", "privacy_unit", "max_rows", "relation", "dtype"), *COST, *WHERE_IT_IS),
        {"verb": "look at", "units": "values other than 0 (of persons, their totals)"},
        {
            "privacy_unit": {
                "words": "protect persons instead of rows: the column of their ids, or its values if data is a single "
                "column. The bounds are then for each person's total, in a sum with max_rows=1."
            },
            "max_rows": {
                "annotation": "int | None",
                "default": None,
                "words": "with privacy_unit=, bounds for rows instead, for a sum with this max_rows. A person counts "
                "once in each of this many cells, those with most of their rows.",
                "flag": Flag("With --privacy-unit: suggest bounds for rows, for a sum with this --max-rows.", int),
            },
        },
        frozenset({"column"}),
    ),
    "suggest_max_rows": Call(
        ("data", "privacy_unit", "epsilon"),
        ("coverage", "where", *COST, *WHERE_IT_IS),
        {"units": "persons"},
        {
            "privacy_unit": {
                "default": REQUIRED,
                "words": "the column of the persons' ids, or its values if data is a single column.",
            },
        },
        frozenset({"privacy_unit"}),
    ),
    "Private": Call(
        ("data",),
        (
            *("budget", "privacy_unit", "relation", "max_rows", "max_groups", "name", "schema", "pad", "table"),
            "engine",
        ),
        changes={
            "data": {
                "words": "a data frame, a dict of columns, a path to Parquet, CSV or Arrow files, or the address of "
                "a database."
            },
            "budget": {
                "annotation": "Budget",
                "default": REQUIRED,
                "words": "the total privacy loss of all releases. It is bound to the same unit, relation and name.",
            },
            "privacy_unit": {
                "annotation": "str | None",
                "words": "protect persons instead of rows: the column of their ids.",
            },
            "relation": {"words": "when two tables are neighbours."},
            "max_rows": {
                "words": "the most rows a person contributes to a group. A query may override it; its noise follows."
            },
            "max_groups": {
                "words": "the most groups a person contributes to. A query may override it; its noise follows."
            },
            "name": {"words": "the name of the data; the budget is bound to it."},
            "table": {"words": "the table, if the data is a database."},
            "engine": {"words": "the program that sums Parquet files, as for `soundsum.sum`."},
        },
    ),
    "Partial.plan": Call(
        ("statistics",),
        (*ROWS, "missing", "name"),
        {"result": "result", "person": CLAMPED},
        {"privacy_unit": {"annotation": "str | None"}},
    ),
    "Private.release": Call(
        ("statistics", "epsilon"),
        ("by", "groups", "where", "max_rows", "max_groups", *COST, "missing"),
        changes={
            "statistics": {
                "words": "a list of `Sum`, `Mean`, ..., or a dict of them by name. Leave out bounds that the schema "
                'has: ss.Sum("pay").'
            },
            "by": {
                "annotation": "str | Period | list[str | Period] | None",
                "words": "release one result per group: a column, a period (`soundsum.month`), or a list of these.",
            },
            "groups": {
                "words": "the groups to release, by default those in the schema, or the periods between the column's "
                "bounds in the schema, which are dates."
            },
            "where": {"words": 'count only rows that meet every condition in a list such as [("age", ">=", 18)].'},
            "max_rows": {
                "annotation": "int | None",
                "default": None,
                "words": "the most rows a person contributes to a group, by default the owner's limit.",
            },
            "max_groups": {
                "annotation": "int | None",
                "default": None,
                "words": "the most groups a person contributes to, by default the owner's limit.",
            },
            "missing": {"words": "as for `soundsum.release`."},
        },
    ),
}
"""Every function that takes options, with what it says of them in its own words."""


def explain(name: str) -> Callable[[D], D]:
    """Decorate a function or class: `{options}` in its docstring becomes the words of its options.

    >>> @explain("count")
    ... def count():
    ...     '''Counts.
    ...
    ...     {options}
    ...     '''
    >>> print(next(line for line in count.__doc__.splitlines() if line.startswith("epsilon")))
    epsilon: the privacy loss to spend, such as 1 or "1/3"; smaller is more private.
    """

    def put_in(explained: D) -> D:
        if explained.__doc__ is not None:  # with -OO there is none
            explained.__doc__ = inspect.cleandoc(explained.__doc__).replace("{options}", CALLS[name].document())
        return explained

    return put_in


NO_SEED = "leave it out: noise is drawn from the operating system and cannot be seeded"

MEANT = {
    "eps": "give `epsilon`, such as `epsilon=1`",
    "bounds": "give `lower` and `upper`, such as `lower=0`, `upper=100`",
    "seed": NO_SEED,
    "random_state": NO_SEED,
    "rng": NO_SEED,
    "rho": "no search for groups has a rho, as a group of one person either can be found or never is: give `epsilon` "
    "and `delta`, or list the groups",
    "pad": "only an owner's table pads its answers, `ss.Private(..., pad='1s')`",
    "weights": "to weight records, sum a column of products; to share epsilon, give each statistic of `ss.release` a "
    "weight, such as `ss.Sum('pay', 0, 100, weight=2)`",
}
"""For each option that other libraries or calls have, what to do instead: the remedy of a refusal."""


def with_hints(function: Callable[P, T]) -> Callable[P, T]:
    """Wrap the function so that a call which does not fit its signature gets a hint."""

    @wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return function(*arguments, **options)
        except TypeError as error:
            inside = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            hint = None if inside else _find_hint(function.__name__, arguments, options)
            if hint is None:
                raise
        raise hint

    return call


def _find_hint(function: str, arguments: Sequence[Any], options: Mapping[str, Any]) -> RefusedType | None:
    for name in MEANT:
        if name in options and name not in (CALLS[function].options if function in CALLS else ()):
            return RefusedType(
                name, Reason.UNKNOWN, "`{function}()` takes no `{option}`", MEANT[name], function=function
            )
    column = next((one for one in arguments[1:] if isinstance(one, str)), None)  # after the data
    if column is None:
        return None
    return RefusedType(
        "column",
        Reason.NEEDS,
        "these arguments do not fit `{function}()`",
        "if {given} is a column, give `column={given}`",
        function=function,
        given=quote(column),
    )
