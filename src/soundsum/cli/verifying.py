"""The command that verifies: a table for the terminal, JSON, or the Markdown of docs/verification.md."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from soundsum.arithmetic.words import ratio_from_below
from soundsum.cli.options import AsJson
from soundsum.data.relations import Relation
from soundsum.verify import verify
from soundsum.verify.results import ACCURACY, Result, Verification


def verify_methods(
    quick: Annotated[bool, typer.Option("--quick", help="A part of the types and bounds, in about a minute.")] = False,
    as_json: AsJson = False,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this method; may be repeated.")] = None,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table of docs/verification.md.")] = False,
) -> None:
    """Check every method's sensitivity against its model, exhaustively, on tiny number types."""
    if as_json:
        done = verify(quick, only)
        typer.echo(json.dumps(done.to_json(), indent=2))
    else:
        done = watch(Console(stderr=as_markdown), quick, only)
        if as_markdown:
            typer.echo(markdown(done))
        else:
            print_report(Console(), done)
    raise typer.Exit(1 if done.violations else 0)


def watch(console: Console, quick: bool, only: list[str] | None = None) -> Verification:
    """The verification, with a bar while it runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("theorem against model", total=None)
        return verify(quick, only, lambda finished, total: bar.update(task, completed=finished, total=total))


def print_report(console: Console, done: Verification) -> None:
    verdict = "no violation" if not done.violations else f"{done.violations:,} VIOLATIONS"
    console.print(
        f"{verdict} in {done.cases:,} cases (L, U, n) and {done.pairs:,} pairs of states, "
        f"{'quick' if done.quick else 'full'} run, {done.seconds:,.0f} s"
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method", no_wrap=True)
    table.add_column("relation", no_wrap=True)
    for name in ("cases", "pairs", "violations", "true/claimed"):
        table.add_column(name, justify="right", no_wrap=True)
    wide = console.width >= 120
    if wide:
        table.add_column("where", no_wrap=True)
    last = ""
    for result in done.by_method():
        method, *rest, where = _row(result)
        cells = ["" if method == last else method, *rest, *([where] if wide else [])]
        table.add_row(*cells, style="bold red" if result.violations else None)
        last = method
    console.print(table)
    console.print(
        "true/claimed: the largest true difference over the claimed one, of two records or more; 1 is tight. "
        "accuracy: the sum against the exact sum."
    )
    for example in done.counterexamples:
        console.print(f"[bold red]counterexample[/] {example}", highlight=False)


def markdown(done: Verification) -> str:
    """The table of docs/verification.md: one line per method, the largest true/claimed value under each relation."""
    columns = [*Relation, ACCURACY]
    lines = [
        f"| method | cases | pairs of states | violations | {' | '.join(columns)} |",
        f"|---|---:|---:|---:|{'---:|' * len(columns)}",
    ]
    results = done.by_method()
    for method in dict.fromkeys(result.method for result in results):
        found = {result.relation: result for result in results if result.method == method}
        cases, pairs, violations = (
            f"{sum(getattr(result, name) for result in found.values()):,}" for name in ("cases", "pairs", "violations")
        )
        ratios = [ratio_from_below(found[column].ratio) if column in found else "" for column in columns]
        lines.append(f"| {' | '.join([method, cases, pairs, violations, *ratios])} |")
    total = f"{done.cases:,} cases, {done.pairs:,} pairs of states, {done.violations:,} violations"
    return "\n".join([f"{total}, {done.seconds / 60:.0f} minutes.", "", *lines])


def _row(result: Result) -> tuple[str, ...]:
    return (
        result.method,
        result.relation,
        f"{result.cases:,}",
        f"{result.pairs:,}",
        f"{result.violations:,}",
        ratio_from_below(result.ratio),
        "" if result.at is None or not result.ratio else str(result.at),
    )


def register(app: typer.Typer) -> None:
    app.command("verify")(verify_methods)
