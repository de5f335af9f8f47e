"""The commands about methods of adding: the sensitivity of each, and the check of all by enumeration.

The check prints a table, JSON, or the Markdown of docs/verification/enumeration.md.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from soundsum import Plan, Problem, Relation, plan, plans
from soundsum.cli.parameters import AsJson
from soundsum.cli.refusal_text import CommandLine, find_options
from soundsum.numbers.formatting import number, ratio, ratio_from_below
from soundsum.numbers.rationals import floor_log2
from soundsum.paper.verify import verify
from soundsum.paper.verify.verification import ACCURACY, Result, Verification
from soundsum.refusals import Spelling, join_clauses


def show_plans(
    context: typer.Context,
    dtype: Annotated[str, typer.Option(help="The records' type: float32, int64, bfloat16, ...")],
    bounds: Annotated[tuple[str, str], typer.Option(help="The bounds that each record is clamped to.", metavar="L U")],
    size: Annotated[
        int | None, typer.Option(help="The number of records, if it is public: under change_one and hamming.")
    ] = None,
    max_size: Annotated[
        int | None, typer.Option(help="For methods that need a limit on the number of records: drop those beyond it.")
    ] = None,
    relation: Annotated[Relation, typer.Option(help="When two datasets are neighbours.")] = Relation.SYMMETRIC,
    method: Annotated[str | None, typer.Option(help="Explain only this method; auto and float choose one.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Also list methods that do not apply, and why.")] = False,
    as_json: AsJson = False,
) -> None:
    """List every summation method for these records, with its proved sensitivity and the ideal one.

    Examples:

        soundsum plan --dtype float32 --bounds 0 1 --relation change_one --size 1000000

        soundsum plan --dtype int32 --bounds -5 10 --relation insert_delete --max-size 1000

        soundsum plan --dtype float64 --bounds 0 1000 --method auto
    """
    problem = Problem(dtype, bounds[0], bounds[1], relation, size, max_size)
    if method is not None:
        chosen = plan(problem, method)
        typer.echo(json.dumps(chosen.to_json(), indent=2) if as_json else chosen.explain())
    elif as_json:
        typer.echo(json.dumps([p.to_json() for p in plans(problem)], indent=2))
    else:
        found = plans(problem)
        console = Console()
        console.print(_table(found))
        refused = sum(bool(p.unmet) for p in found)
        if refused and not every:
            console.print(f"  {refused} other methods do not apply; --all says why", style="dim", highlight=False)
            return
        for line in _list_refused(found, console.width, CommandLine(find_options(context.command, []))):
            console.print(line, style="dim", highlight=False, markup=False)


def _list_refused(every: Sequence[Plan], width: int, spelling: Spelling) -> Iterator[str]:
    """Methods that do not apply, and why; those for the same reasons together, at the width of the screen."""
    refused: dict[tuple[str, ...], list[str]] = {}
    for p in every:
        if p.unmet:
            refused.setdefault(p.unmet, []).append(p.method)
    if refused:
        yield "  These do not apply:"
    for reasons, methods in refused.items():
        said = f"{', '.join(methods)}: {join_clauses(reasons).say(spelling)}"
        yield from textwrap.wrap(said, width, initial_indent="  ", subsequent_indent="      ", break_on_hyphens=False)


def _table(every: Sequence[Plan]) -> Table:
    """Every method that applies, and its sensitivity."""
    problem = every[0].problem
    table = Table(title=f"{problem}\nideal sensitivity {number(problem.ideal)}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("method")
    table.add_column("sensitivity", justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("how")
    for p in every:
        if not p.unmet:
            how = " -> ".join(p.steps) + ("" if p.modulus is None else f", modulo 2^{floor_log2(p.modulus)}")
            table.add_row(f"[bold]{p.method}[/bold]", number(p.sensitivity), ratio(p.ratio), how)
    return table


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
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
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
    app.command("plan")(show_plans)
    app.command("verify")(verify_methods)
