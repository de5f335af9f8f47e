"""Releases on the screen: a table of values with their intervals, and what was promised below it."""

from __future__ import annotations

import json
import sys
from enum import Enum, auto

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, RefusedValue
from soundsum.releases.collections import Releases
from soundsum.releases.outcomes import Conclusion, Outcome, Several
from soundsum.releases.released import DASH, SAYS_NOTHING, Release


class OutputFormat(Enum):
    """The formats that releases are printed in."""

    TABLE = auto()
    JSON = auto()
    CSV = auto()


def choose_form(as_json: bool, as_csv: bool) -> OutputFormat:
    """Choose the format; done before anything is charged."""
    if as_json and as_csv:
        raise RefusedValue(
            "as_csv",
            Reason.CONFLICT,
            "`as_json` and `as_csv` are both given",
            "give one, as only one of them can be printed",
        )
    return OutputFormat.JSON if as_json else OutputFormat.CSV if as_csv else OutputFormat.TABLE


def show(outcome: Outcome | Several, form: OutputFormat) -> None:
    if form is OutputFormat.JSON:
        plain = [one.to_dict() for one in outcome.values()] if isinstance(outcome, Releases) else outcome.to_dict()
        typer.echo(json.dumps(plain, indent=2, allow_nan=False))
    elif form is OutputFormat.CSV:
        text = outcome.to_csv()
        if sys.stdout.isatty():  # which would obey what the names of found groups have in them
            text = "\n".join(map(printed, text.split("\n")))
        sys.stdout.write(text)
    elif isinstance(outcome, Several):
        for name, one in zip(outcome.names, outcome, strict=True):
            _show_read(one, name) if isinstance(one, Conclusion) else _show_one(one, name)
    elif isinstance(outcome, Conclusion):
        _show_read(outcome)
    else:
        _show_one(outcome)


def _show_read(outcome: Conclusion, name: str | None = None) -> None:
    """Print advice: its title, and a line for each fact."""
    (_, title), *rows = outcome.rows()
    console, table = Console(), Table(box=None, pad_edge=False, show_header=False)
    console.print(f"[bold]{escape(title if name is None else f'{printed(name)}: {title}')}[/bold]", highlight=False)
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)


def _show_one(outcome: Release | Releases, name: str | None = None) -> None:
    first = outcome.general if isinstance(outcome, Releases) else outcome
    headings = outcome.headings if isinstance(outcome, Releases) else []
    rows = outcome.rows(outcome) if isinstance(outcome, Releases) else [[*outcome.shown()]]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(escape(heading))
    for heading in (f"private {first.facts.named}" if name is None else printed(name), first.facts.says_how_far):
        table.add_column(escape(heading), justify="right")
    for row in rows:
        table.add_row(*map(escape, row))
    console = Console()
    console.print(table if rows else "no group was found")
    console.print(
        f"[dim]the {'rank error' if first.facts.is_ranked else 'interval'} is for {escape(first.facts.covered)}[/dim]",
        highlight=False,
    )
    if any(DASH in row for row in rows):
        console.print(f"[dim]{SAYS_NOTHING}[/dim]", highlight=False)
    facts = f"{first.guarantee} for {first.plan.unit.protected}; {first.plan.method}, sensitivity {first.sensitivity}"
    where = "" if first.origin.where is None else f"where {escape(printed(first.origin.where))}; "
    console.print(f"[dim]{facts}; {where}{first.counted}[/dim]", highlight=False)
    if not first.origin.is_declared:
        console.print("[dim]--dtype declares the type of the column[/dim]", highlight=False)
