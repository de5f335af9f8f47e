"""The command that verifies: a table for the terminal, JSON, or the Markdown of docs/verification/enumeration.md."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from soundsum.cli.parameters import AsJson
from soundsum.numbers.formatting import ratio_from_below
from soundsum.paper.verify import verify
from soundsum.paper.verify.verification import ACCURACY, Result, Verification
from soundsum.tables.relations import Relation


def verify_methods(
    quick: Annotated[bool, typer.Option("--quick", help="Check only the smallest types, in about a minute.")] = False,
    as_json: AsJson = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Check only this method; repeat for several.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print a line per relation, not only per method.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print the table for docs/verification.")] = False,
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
            print_report(Console(), done, every)
    raise typer.Exit(1 if done.violations else 0)


def watch(console: Console, quick: bool, only: list[str] | None = None) -> Verification:
    """The verification, with a bar while it runs."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("theorem against model", total=None)
        return verify(quick, only, lambda finished, total: bar.update(task, completed=finished, total=total))


def print_report(console: Console, done: Verification, every: bool = False) -> None:
    """One line for each method, or with `every` for each of its relations; then counterexamples and the verdict."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("method", no_wrap=True)
    table.add_column("relation" if every else "cases", no_wrap=True, justify="left" if every else "right")
    for name in ("pairs of states", "violations", "true/claimed"):
        table.add_column(name, justify="right", no_wrap=True)
    for cells, violated in _rows(done, every):
        table.add_row(*cells, style="bold red" if violated else None)
    console.print(table)
    console.print("true/claimed: the largest difference that was found, over the claimed one; 1 is tight.")
    if every:
        console.print("accuracy: how far the sum is from the exact sum, over what is claimed.")
    for example in done.counterexamples:
        console.print(f"[bold red]counterexample[/] {example}", highlight=False)
    verdict = "[green]no violation[/]" if not done.violations else f"[bold red]{done.violations:,} VIOLATIONS[/]"
    console.print(
        f"\n{verdict} in {done.cases:,} cases (bounds and sizes), {done.pairs:,} pairs of states; "
        f"{'quick' if done.quick else 'full'} run, {done.seconds:,.0f} s"
    )


def markdown(done: Verification) -> str:
    """The table of docs/verification/enumeration.md: a line per method, its largest true/claimed per relation."""
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


def _rows(done: Verification, every: bool) -> Iterator[tuple[list[str], bool]]:
    """The cells of each line, and whether it has violations."""
    results = done.by_method()
    for method in dict.fromkeys(result.method for result in results):
        found = [result for result in results if result.method == method]
        if every:
            for result in found:
                name = method if result is found[0] else ""
                yield [name, result.relation, *_cells([result], result.ratio)], bool(result.violations)
        else:
            ratios = [result.ratio for result in found if result.relation != ACCURACY and result.ratio is not None]
            cases = f"{sum(result.cases for result in found):,}"
            yield [method, cases, *_cells(found, max(ratios, default=None))], any(one.violations for one in found)


def _cells(results: Sequence[Result], ratio: Fraction | None) -> list[str]:
    counts = [f"{sum(getattr(result, name) for result in results):,}" for name in ("pairs", "violations")]
    return [*counts, ratio_from_below(ratio)]


def register(app: typer.Typer) -> None:
    app.command("verify")(verify_methods)
