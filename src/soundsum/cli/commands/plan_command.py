"""The command that shows the sensitivity of every method of adding."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from soundsum import Plan, Problem, Relation, plan, plans
from soundsum.cli.parameters import AsJson
from soundsum.cli.refusal_text import CommandLine, find_options
from soundsum.numbers.formatting import number, ratio
from soundsum.numbers.rationals import floor_log2
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
    """Every method that applies, and what it costs."""
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


def register(app: typer.Typer) -> None:
    app.command("plan")(show_plans)
