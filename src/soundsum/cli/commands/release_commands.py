"""The commands that release a private number from a file, and the one that checks a certificate."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

import soundsum as ss
from soundsum.budget.ledger import read
from soundsum.cli.file_access import on_disk, watch
from soundsum.cli.parameters import read_options, take
from soundsum.cli.views.release_view import choose_form, show
from soundsum.numbers.quoting import printed, quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.releases.certificates import Unreadable
from soundsum.releases.ledger_check import compare_with_ledger
from soundsum.releases.release_check import compare_release, list_releases
from soundsum.releases.signatures import CALLS
from soundsum.requests.parse_conditions import read_where
from soundsum.requests.parse_groups import FOUND, list_groups, read_found, read_groups
from soundsum.tables.paths import read_file

MARKS = {"certificate", "format", "statistic", "released", "versions"}
"""A JSON object with none of these keys is neither a release nor a certificate."""


def _release(convert: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[..., None]:
    """A command that releases one statistic: the function of its name, with the options declared for that.

    `convert` refuses or reads those that are spelled in a way of their own; it has the command's help.
    """
    name = convert.__name__.removeprefix("private_")
    call = CALLS[name]

    def run(**given: Any) -> None:
        form = choose_form(given.pop("as_json"), given.pop("as_csv"))
        ledger, given["name"] = given.pop("budget"), given.pop("data")
        if "lower" in call.options:  # both are one flag
            given["lower"], given["upper"] = given.pop("bounds") or (None, None)
        with on_disk(given.pop("file")) as file:
            asked, table = convert(given), given["table"]
            if "by" in asked:
                asked = _read_by(asked, file, table)
            asked["where"] = read_where(asked["where"] or [], file, table)
            if asked.get("categories") is not None:
                asked["categories"] = list_groups(asked["categories"], file, asked["column"], "categories", table)
            if ledger is not None:
                asked["budget"] = ss.Budget(path=ledger)
            with watch(file) as rows:
                outcome = getattr(ss, name)(rows, **asked)
        show(outcome, form)

    run.__doc__, run.__name__ = convert.__doc__, name
    return take(run, read_options(call.options.values(), call.required))


def _read_by(asked: dict[str, Any], file: str, table: str | None) -> dict[str, Any]:
    """The columns of groups, and the groups; those of a command that finds them have no list."""
    if "groups" not in asked:
        return asked | {"by": read_groups(asked["by"] or [], [FOUND], file, table)[0]}
    by, groups = read_groups(asked["by"] or [], asked["groups"] or [], file, table)
    return read_found(asked | {"by": by, "groups": groups})


@_release
def private_sum(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private sum of a column.

    Examples:

        soundsum sum pay.parquet --column pay --bounds 0 200000 --epsilon 1

        soundsum sum pay.parquet --column pay --bounds 0 200000 --epsilon 1 --by dept --groups sales,research

        soundsum sum postgresql://ann@host/clinic --table visits --column cost --bounds 0 500 --epsilon 1

        soundsum sum visits.csv --column cost --bounds 0 500 --epsilon 1 --privacy-unit patient --max-rows 10

        soundsum sum visits.csv --column cost --bounds 0 500 --epsilon 1 --by "month(day)" --groups 2024-01..2024-12

        soundsum sum visits.csv --column cost --bounds 0 500 --epsilon 1 --by ward --groups eye,heart --csv > wards.csv

        soundsum sum sales.csv --column price --bounds 0 50 --epsilon 1 --by product --groups found --delta 1e-9
    """
    return given


@_release
def private_mean(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private mean of a column; the sum and, if it is private, the count share the cost.

    Example: soundsum mean people.csv --column age --bounds 0 120 --epsilon 1
    """
    return given


@_release
def private_variance(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private variance of a column.

    Example: soundsum variance people.csv --column age --bounds 0 120 --epsilon 1
    """
    return given


@_release
def private_std(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private standard deviation of a column.

    Example: soundsum std people.csv --column age --bounds 0 120 --epsilon 1
    """
    return given


@_release
def private_count(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private number of rows; with --missing drop, only of rows with a value in the column.

    Example: soundsum count people.csv --epsilon 1 --by dept --groups sales,research
    """
    return given


@_release
def private_histogram(given: dict[str, Any]) -> dict[str, Any]:
    """Release private counts by edges, bins or categories, empty cells included.

    Examples:

        soundsum histogram people.csv --column age --edges 0,20,40,60,80,120 --epsilon 1

        soundsum histogram people.csv --column age --bins 12 --bounds 0 120 --epsilon 1
    """
    edges = given["edges"]
    if sum(given[name] is not None for name in ("edges", "bins", "categories")) != 1:
        raise RefusedValue(
            "edges",
            Reason.CONFLICT,
            "a histogram has edges, bins or categories",
            "give one of `edges`, `bins` (with `bounds`) and `categories`",
        )
    points = None if edges is None else [_number(edge) for edge in edges.split(",")]
    if points is not None and any(not a < b for a, b in pairwise(points)):
        raise RefusedValue(
            "edges",
            Reason.SWAPPED,
            "`edges={given}`: edges go up, without repeats",
            "give them so, such as `edges=[0, 10, 20]`",
            given=quote(edges),
        )
    return given | {"edges": points}


@_release
def private_groups(given: dict[str, Any]) -> dict[str, Any]:
    """Find groups that nobody listed, with the noisy number of persons (or records) in each.

    Example: soundsum groups sales.csv --by product --epsilon 0.5 --delta 1e-9 --privacy-unit customer --max-groups 4
    """
    return given


@_release
def private_quantile(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private quantile of a column, or several.

    Examples:

        soundsum quantile pay.parquet --column pay --quantile 0.9 --bounds 0 200000 --epsilon 1

        soundsum quantile pay.parquet --column pay --quantile 0.25,0.5,0.75 --bounds 0 200000 --epsilon 1
    """
    listed = [one.strip() for one in given["quantile"].split(",")]
    return _read_candidates(given) | {"quantile": listed if len(listed) > 1 else listed[0]}


@_release
def private_median(given: dict[str, Any]) -> dict[str, Any]:
    """Release a private median of a column.

    Example: soundsum median pay.parquet --column pay --bounds 0 200000 --epsilon 1
    """
    return _read_candidates(given)


@_release
def private_suggest_bounds(given: dict[str, Any]) -> dict[str, Any]:
    """Suggest bounds for a column, from noisy counts of its orders of magnitude.

    Example: soundsum suggest-bounds pay.parquet --column pay --epsilon 0.1
    """
    return given


@_release
def private_suggest_max_rows(given: dict[str, Any]) -> dict[str, Any]:
    """Suggest how many rows of a person to count, for --max-rows.

    Example: soundsum suggest-max-rows visits.csv --privacy-unit patient --epsilon 0.1
    """
    return given


def check_certificate(
    file: Annotated[str, typer.Argument(help="A certificate, or a release, as JSON.")],
    budget: Annotated[str | None, typer.Option(help="The ledger that was charged for the release.")] = None,
) -> None:
    """Check that a certificate's sensitivity and noise follow from its problem, method and guarantee.

    With --budget, check also that this ledger was charged for the same query and cost, and that no charge stands for
    more values than it paid for. Nobody can check the value itself, because nobody knows the noise in it.

    Example: soundsum sum pay.csv --column pay --bounds 0 9 --epsilon 1 --json > r.json; soundsum check r.json
    """
    text = read_file("file", file, "a file that --json printed")
    outcomes = _read_releases(file, text)
    ledger = None if budget is None else read(budget)
    try:
        found = [compare_release(one) for one in outcomes] if ledger is None else compare_with_ledger(outcomes, ledger)
    except Unreadable as error:
        found, unreadable = [], str(error)
    else:
        unreadable = ""
    if unreadable:
        raise RefusedValue("file", Reason.UNREADABLE, "{file}: {said}", file=file, said=unreadable)
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


def _read_releases(file: str, text: str) -> list[dict[str, Any]]:
    place, written, outcomes = "", None, []
    try:
        written = json.loads(text)
    except json.JSONDecodeError as error:
        place = f", by line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        place = " of a release"
    if place:
        raise RefusedValue(
            "file",
            Reason.UNREADABLE,
            "{file} is not JSON{place}",
            "give a file that --json printed",
            file=file,
            place=place,
        )
    with suppress(ValueError, TypeError):
        outcomes = list_releases(written)
    if not outcomes or any(MARKS.isdisjoint(one) for one in outcomes):
        raise RefusedValue(
            "file",
            Reason.UNREADABLE,
            "{file} holds no release and no certificate",
            "give a file that --json printed",
            file=file,
        )
    return outcomes


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


def _read_candidates(given: dict[str, Any]) -> dict[str, Any]:
    """How many candidates, or a list of them."""
    said = given["candidates"]
    if said is None:
        return given
    listed = [one.strip() for one in said.split(",")]
    return given | {"candidates": int(said) if said.isdecimal() and len(said) < 20 else listed}


def _number(text: str) -> float:
    with suppress(ValueError):
        return float(text)
    raise RefusedValue(
        "edges",
        Reason.NOT_A_NUMBER,
        "`edges`: {given} is not a number",
        "give numbers with commas, such as `edges=[0, 10, 20]`",
        given=quote(text),
    )


def register(app: typer.Typer) -> None:
    sums = private_sum, private_mean, private_variance, private_std, private_count, private_histogram
    advice = private_suggest_bounds, private_suggest_max_rows
    for command in (*sums, private_groups, private_quantile, private_median, *advice):
        app.command()(command)
    app.command("check")(check_certificate)
