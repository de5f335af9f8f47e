"""The commands that release a private number from a file, and the one that checks a certificate."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Any, get_type_hints

import typer
from rich.console import Console
from rich.markup import escape

import soundsum as ss
from soundsum.budget.ledger import read
from soundsum.cli.opened import on_disk, watch
from soundsum.cli.options import AsCsv, AsJson, Data, Engine, Epsilon, File, Ledger, Rho, Table
from soundsum.cli.spelled import list_groups, read_condition, read_file, read_groups
from soundsum.cli.views.released import choose_form, show
from soundsum.numbers.quoting import printed
from soundsum.releases.certificates import Unreadable, compare_release, compare_with_ledger, list_releases

Missing = StrEnum("Missing", ["zero", "drop"])

Column = Annotated[str, typer.Option(help="The column to read.")]
Bounds = Annotated[tuple[str, str], typer.Option(help="The lower and the upper bound of a record.", metavar="L U")]
Size = Annotated[int | None, typer.Option(help="The number of rows, if it is public; it is checked.")]
Dtype = Annotated[
    str | None,
    typer.Option(help="For CSV, which has no types: float64, or int64, in which cells with decimals are missing."),
]


MARKS = {"certificate", "format", "statistic", "released", "versions"}
"""A JSON object with none of these keys is neither a release nor a certificate."""


def _common(
    epsilon: Epsilon = None,
    delta: Annotated[str | None, typer.Option(help="With --noise gaussian and --epsilon.")] = None,
    rho: Rho = None,
    noise: Annotated[
        str, typer.Option(help="laplace is pure; gaussian takes --rho, or --delta.", metavar="KIND")
    ] = "laplace",
    relation: Annotated[ss.Relation, typer.Option(help="When two tables are neighbours.")] = ss.Relation.SYMMETRIC,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Release by group: the column of the groups; may be repeated for more columns. For dates and times "
            "also year(C), month(C), week(C), day(C) or hour(C), or with a time zone: month(C, Europe/Vienna)."
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(
            help="The groups, separated by commas: a,b,c; or @FILE with one on each line. They are public. Once for "
            'each --by. Spaces around a name are ignored; double quotes keep spaces and commas: "Smith, Ann",b. '
            "Periods also as a range: 2024-01..2024-12."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only rows such as: age >= 18, or: ward in a,b. May be given several times.", metavar="COND"),
    ] = None,
    privacy_unit: Annotated[str | None, typer.Option(help="Protect persons: the column of their ids.")] = None,
    max_rows: Annotated[int, typer.Option(help="With --privacy-unit: how many rows of a person count in a group.")] = 1,
    max_groups: Annotated[
        int,
        typer.Option(
            help="With --privacy-unit and --by: in how many groups a person counts. These are the groups with most of "
            "their rows; between equals a hash of the id and the group decides."
        ),
    ] = 1,
    missing: Annotated[
        Missing | None,
        typer.Option(
            help="A missing record counts as the value nearest to 0 (zero) or is left out (drop). By default means and "
            "variances leave it out if the number of rows is private."
        ),
    ] = None,
    table: Table = None,
    engine: Engine = None,
    budget: Ledger = None,
    data: Data = None,
    as_json: AsJson = False,
    as_csv: AsCsv = False,
) -> None:
    """The options of every release."""


def _release(command: Callable[..., tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]) -> Callable[..., None]:
    """A command with the common options after its own; it says which function to call with what.

    Typer reads the options from the signature, so the two signatures are joined.
    """
    own, shared = (list(inspect.signature(f).parameters.values()) for f in (command, _common))
    named = [p.name for p in own]

    def run(**given: Any) -> None:
        form = choose_form(given.pop("as_json"), given.pop("as_csv"))
        ledger, given["name"] = given.pop("budget"), given.pop("data")
        with on_disk(given.pop("file")) as file:
            function, arguments, options = command(file, **{name: given.pop(name) for name in named if name in given})
            given["by"], given["groups"] = read_groups(given["by"] or [], given["groups"] or [], file, given["table"])
            given["where"] = [read_condition(text, file, given["table"]) for text in given["where"] or ()] or None
            if options.get("categories") is not None:
                options["categories"] = list_groups(
                    options["categories"], file, options["column"], "--categories", given["table"]
                )
            if ledger is not None:
                given["budget"] = ss.Budget(path=ledger)
            with watch(file) as table:
                outcome = function(table, *arguments, **options, **given)
        show(outcome, form)

    hints = {**get_type_hints(_common, include_extras=True), **get_type_hints(command, include_extras=True)}
    joined = [parameter.replace(annotation=hints[parameter.name]) for parameter in (*own, *shared)]
    run.__signature__ = inspect.Signature(joined)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in joined}
    run.__doc__, run.__name__ = command.__doc__, command.__name__.removeprefix("private_")
    return run


@_release
def private_sum(
    file: File,
    column: Column,
    bounds: Bounds,
    dtype: Dtype = None,
    size: Size = None,
    max_size: Annotated[int | None, typer.Option(help="Where to truncate, for methods that need a limit.")] = None,
    method: Annotated[str, typer.Option(help="How to add; auto reaches the ideal sensitivity.")] = "auto",
) -> Any:
    """A private sum of a column.

    Examples:

        soundsum sum pay.parquet --column pay --bounds 0 200000 --epsilon 1

        soundsum sum pay.parquet --column pay --bounds 0 200000 --epsilon 1 --by dept --groups sales,research

        soundsum sum postgresql://ann@host/clinic --table visits --column cost --bounds 0 500 --epsilon 1

        soundsum sum visits.csv --column cost --bounds 0 500 --epsilon 1 --privacy-unit patient --max-rows 10

        soundsum sum visits.csv --column cost --bounds 0 500 --epsilon 1 --by "month(day)" --groups 2024-01..2024-12

        soundsum sum visits.csv --column cost --bounds 0 500 --epsilon 1 --by ward --groups eye,heart --csv > wards.csv
    """
    return ss.sum, bounds, {"column": column, "dtype": dtype, "size": size, "max_size": max_size, "method": method}


@_release
def private_mean(file: File, column: Column, bounds: Bounds, dtype: Dtype = None, size: Size = None) -> Any:
    """A private mean of a column; the cost is shared by the sum and, where it is private, the count.

    Example: soundsum mean people.csv --column age --bounds 0 120 --epsilon 1
    """
    return ss.mean, bounds, {"column": column, "dtype": dtype, "size": size}


@_release
def private_variance(file: File, column: Column, bounds: Bounds, dtype: Dtype = None, size: Size = None) -> Any:
    """A private variance of a column.

    Example: soundsum variance people.csv --column age --bounds 0 120 --epsilon 1
    """
    return ss.variance, bounds, {"column": column, "dtype": dtype, "size": size}


@_release
def private_count(
    file: File, column: Annotated[str | None, typer.Option(help="With --missing drop: the column to look at.")] = None
) -> Any:
    """A private number of rows; with --missing drop, of those with a value in the column.

    Example: soundsum count people.csv --epsilon 1 --by dept --groups sales,research
    """
    return ss.count, (), {"column": column}


@_release
def private_histogram(
    file: File,
    column: Column,
    edges: Annotated[
        str | None,
        typer.Option(
            help="Increasing numbers, separated by commas: 0,10,20. A value on an edge is in the cell that begins "
            "there; on the last edge, in the last cell."
        ),
    ] = None,
    bins: Annotated[int | None, typer.Option(help="The number of cells of equal width, between --bounds.")] = None,
    bounds: Annotated[
        tuple[str, str] | None, typer.Option(help="With --bins: where the cells begin and end.", metavar="L U")
    ] = None,
    categories: Annotated[str | None, typer.Option(help="Categories, separated by commas: a,b,c; or @FILE.")] = None,
    dtype: Dtype = None,
) -> Any:
    """Private counts over given edges, bins or categories, empty ones too.

    Examples:

        soundsum histogram people.csv --column age --edges 0,20,40,60,80,120 --epsilon 1

        soundsum histogram people.csv --column age --bins 12 --bounds 0 120 --epsilon 1
    """
    if sum(given is not None for given in (edges, bins, categories)) != 1:
        raise ValueError("give one of --edges, --bins (with --bounds) and --categories")
    lower, upper = bounds or (None, None)
    points = None if edges is None else [_number(edge) for edge in edges.split(",")]
    if points is not None and any(not a < b for a, b in pairwise(points)):
        raise ValueError(f"--edges {edges}: edges go up, without repeats; give them so, such as 0,10,20")
    return (
        ss.histogram,
        (points,),
        {
            "column": column,
            "categories": categories,
            "dtype": dtype,
            "bins": bins,
            "lower": lower,
            "upper": upper,
        },
    )


def check_certificate(
    file: Annotated[str, typer.Argument(help="A certificate, or a release, as JSON.")],
    budget: Annotated[str | None, typer.Option(help="Look in this ledger for the charge of the release.")] = None,
) -> None:
    """Check that a certificate's sensitivity and noise follow from its problem, method and promise.

    With --budget, also that this ledger was charged for the same query and cost, and that no charge has more values
    than it was for. The value itself cannot be checked by anybody: it is the sum of the data and of noise that nobody
    knows.

    Example: soundsum sum pay.csv --column pay --bounds 0 9 --epsilon 1 --json > r.json; soundsum check r.json
    """
    text = read_file(file, "a file that --json printed")
    try:
        written = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ValueError(f"{file} is not JSON, by {place}; give a file that --json printed") from None
    except (ValueError, RecursionError):
        raise ValueError(f"{file} is not JSON of a release; give a file that --json printed") from None
    try:
        outcomes = list_releases(written)
        if any(MARKS.isdisjoint(one) for one in outcomes):
            raise ValueError
    except (ValueError, TypeError):
        raise ValueError(f"{file} holds no release and no certificate; give a file that --json printed") from None
    ledger = None if budget is None else read(budget)
    try:
        found = [compare_release(one) for one in outcomes] if ledger is None else compare_with_ledger(outcomes, ledger)
    except Unreadable as error:
        raise ValueError(f"{file}: {error}") from None
    problems = _join(found)
    console = Console()
    if problems:
        said = (f"\n  {escape(printed(problem))}" for problem in problems)
        console.print("[red]does not hold[/red]", *said, highlight=False)
        raise typer.Exit(1)
    paid = "" if budget is None else "; this ledger was charged for it"
    console.print(
        f"[green]holds[/green]: sensitivity and noise follow from the problem, the method and the promise{paid}. "
        "The value itself cannot be checked without the data: its noise is secret",
        soft_wrap=True,
    )


def _join(found: list[list[str]]) -> list[str]:
    """List the problems of all releases, each once, with the releases' numbers where not all have it."""
    where: dict[str, list[str]] = {}
    for number, one in enumerate(found, 1):
        for problem in dict.fromkeys(one):
            where.setdefault(problem, []).append(str(number))
    said = []
    for problem, numbers in where.items():
        which = f"release{'s' * (len(numbers) > 1)} {', '.join(numbers)}: " if len(numbers) < len(found) else ""
        said.append(f"{which}{problem}")
    return said


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--edges: {text!r} is not a number; give numbers with commas, such as 0,10,20") from None


def register(app: typer.Typer) -> None:
    for command in (private_sum, private_mean, private_variance, private_count, private_histogram):
        app.command()(command)
    app.command("check")(check_certificate)
