"""The commands that release a private number from a file, and those about certificates and budgets."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

import soundsum as ss
from soundsum.explain import number
from soundsum.outcome import Release, Releases

File = Annotated[str, typer.Argument(help="Parquet, CSV or Arrow IPC; globs too; - reads CSV from stdin.")]
Column = Annotated[str, typer.Option(help="The column to read.")]
Bounds = Annotated[tuple[str, str], typer.Option(help="Lower and upper bound of a record.", metavar="L U")]
Epsilon = Annotated[str | None, typer.Option(help="What this release may cost, such as 1 or 1/3.")]
Delta = Annotated[str | None, typer.Option(help="With --noise gaussian and --epsilon.")]
Rho = Annotated[str | None, typer.Option(help="With --noise gaussian: the cost as zCDP.")]
Noise = Annotated[str, typer.Option(help="laplace or gaussian.")]
Neighbours = Annotated[str, typer.Option("--relation", help=f"When datasets are neighbours: {', '.join(ss.Relation)}.")]
Missing = Annotated[str, typer.Option(help="A missing record counts as the value nearest 0 (zero), or not (drop).")]
Ledger = Annotated[str | None, typer.Option("--budget", help="Charge this ledger; soundsum budget create makes one.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

budget_app = typer.Typer(no_args_is_help=True, help="Ledgers: what may be spent, and what has been.")


def register(app: typer.Typer) -> None:
    for command in (private_sum, private_mean, private_variance, private_count, private_histogram, check_certificate):
        app.command(command.__name__.split("_")[1 if command.__name__.startswith("private") else 0])(command)
    app.add_typer(budget_app, name="budget")


def private_sum(
    file: File,
    column: Column,
    bounds: Bounds,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    noise: Noise = "laplace",
    relation: Neighbours = "symmetric",
    size: Annotated[int | None, typer.Option(help="The number of rows, where it is public; checked.")] = None,
    method: Annotated[str, typer.Option(help="How to add; auto reaches the ideal sensitivity.")] = "auto",
    missing: Missing = "zero",
    budget: Ledger = None,
    as_json: AsJson = False,
) -> None:
    """A private sum of a column.

    Example: soundsum sum pay.parquet --column pay --bounds 0 200000 --epsilon 1
    """
    options = _options(column, epsilon, delta, rho, noise, relation, budget)
    _show(ss.sum(_table(file), *bounds, size=size, method=method, missing=_missing(missing), **options), as_json)


def private_mean(
    file: File,
    column: Column,
    bounds: Bounds,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    noise: Noise = "laplace",
    relation: Neighbours = "symmetric",
    missing: Missing = "zero",
    budget: Ledger = None,
    as_json: AsJson = False,
) -> None:
    """A private mean of a column; the cost is shared by the sum and, where it is private, the count."""
    options = _options(column, epsilon, delta, rho, noise, relation, budget)
    _show(ss.mean(_table(file), *bounds, missing=missing, **options), as_json)


def private_variance(
    file: File,
    column: Column,
    bounds: Bounds,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    noise: Noise = "laplace",
    relation: Neighbours = "symmetric",
    missing: Missing = "zero",
    budget: Ledger = None,
    as_json: AsJson = False,
) -> None:
    """A private variance of a column."""
    options = _options(column, epsilon, delta, rho, noise, relation, budget)
    _show(ss.variance(_table(file), *bounds, missing=missing, **options), as_json)


def private_count(
    file: File,
    column: Column,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    noise: Noise = "laplace",
    relation: Neighbours = "symmetric",
    missing: Missing = "zero",
    budget: Ledger = None,
    as_json: AsJson = False,
) -> None:
    """A private number of rows; with --missing drop, of those with a value in the column."""
    options = _options(column, epsilon, delta, rho, noise, relation, budget)
    _show(ss.count(_table(file), missing=_missing(missing), **options), as_json)


def private_histogram(
    file: File,
    column: Column,
    edges: Annotated[str | None, typer.Option(help="Numbers that go up, with commas: 0,10,20.")] = None,
    categories: Annotated[str | None, typer.Option(help="Categories, with commas: a,b,c.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    noise: Noise = "laplace",
    relation: Neighbours = "symmetric",
    budget: Ledger = None,
    as_json: AsJson = False,
) -> None:
    """Private counts over given edges or categories, empty ones too."""
    options = _options(column, epsilon, delta, rho, noise, relation, budget)
    points = None if edges is None else [float(edge) for edge in edges.split(",")]
    named = None if categories is None else categories.split(",")
    _show(ss.histogram(_table(file), points, categories=named, **options), as_json)


def check_certificate(file: Annotated[Path, typer.Argument(help="A certificate, or a release, as JSON.")]) -> None:
    """Check that a certificate's sensitivity and noise follow from its problem, method and promise."""
    try:
        written = json.loads(file.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{file} is not JSON: {error}; give what --json printed") from None
    problems = ss.check(written.get("certificate", written))
    console = Console()
    if problems:
        console.print("[red]does not hold[/red]", *(f"\n  {problem}" for problem in problems), highlight=False)
        raise typer.Exit(1)
    console.print("[green]holds[/green]: sensitivity and noise follow from the problem, the method and the promise")


@budget_app.command("create")
def create_budget(
    ledger: Annotated[str, typer.Argument(help="The file to make.")],
    epsilon: Epsilon = None,
    delta: Annotated[str, typer.Option(help="With --epsilon.")] = "0",
    rho: Rho = None,
) -> None:
    """Make a ledger with the most that may ever be let out."""
    typer.echo(repr(ss.Budget(epsilon, delta, rho, path=ledger)))


@budget_app.command("show")
def show_budget(ledger: Annotated[str, typer.Argument(help="The ledger.")], as_json: AsJson = False) -> None:
    """What has been spent, on what, and what is left."""
    from soundsum.budget.show import ledger_as_json, ledger_table

    if as_json:
        typer.echo(json.dumps(ledger_as_json(ledger), indent=2))
    else:
        Console().print(ledger_table(ledger))


def _options(
    column: str, epsilon: Any, delta: Any, rho: Any, noise: str, relation: str, budget: str | None
) -> dict[str, Any]:
    ledger = None if budget is None else ss.Budget(path=budget)
    privacy = {"epsilon": epsilon, "delta": delta, "rho": rho, "noise": noise}
    return {"column": column, "relation": relation, "budget": ledger, **privacy}


def _missing(value: str) -> Literal["zero", "drop"]:
    if value not in ("zero", "drop"):
        raise ValueError(f"--missing {value} is neither zero nor drop")
    return "drop" if value == "drop" else "zero"


def _table(file: str) -> Any:
    if file != "-":
        return file
    from pyarrow import csv

    return csv.read_csv(sys.stdin.buffer)


def _show(outcome: Release | Releases, as_json: bool) -> None:
    releases = outcome if isinstance(outcome, Releases) else {None: outcome}
    if as_json:
        listed = [_as_json(group, release) for group, release in releases.items()]
        typer.echo(json.dumps(listed if isinstance(outcome, Releases) else listed[0], indent=2))
        return
    first = next(iter(releases.values()))
    table = Table(box=None, pad_edge=False, header_style="bold")
    if isinstance(outcome, Releases):
        table.add_column("group")
    for heading in (f"private {first.statistic}", "95% interval"):
        table.add_column(heading, justify="right")
    for group, release in releases.items():
        low, high = release.interval(0.95)
        cells = [f"{release.value:,.10g}", f"{low:,.6g} to {high:,.6g}"]
        table.add_row(*([str(group)] if isinstance(outcome, Releases) else []), *cells)
    console = Console()
    console.print(table)
    plan = first.plan
    console.print(
        f"[dim]{first.guarantee}; {plan.method}, sensitivity {number(plan.sensitivity)}[/dim]", highlight=False
    )


def _as_json(group: Any, release: Release) -> dict[str, Any]:
    low, high = release.interval(0.95)
    shown = {"value": release.value, "exact": str(release.exact), "interval_95": [low, high]}
    return ({} if group is None else {"group": group}) | shown | {"certificate": release.certificate}
