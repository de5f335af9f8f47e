"""Releases on the screen: a table of values with their intervals, and what was promised below it."""

from __future__ import annotations

import json

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from soundsum.releases.outcome import Release
from soundsum.releases.several import Releases, Several


def show(outcome: Release | Releases | Several, as_json: bool) -> None:
    if as_json:
        plain = [one.to_dict() for one in outcome.values()] if isinstance(outcome, Releases) else outcome.to_dict()
        typer.echo(json.dumps(plain, indent=2, allow_nan=False))
    elif isinstance(outcome, Several):
        for name, one in zip(outcome.names, outcome, strict=True):
            _show_one(one, name)
    else:
        _show_one(outcome)


def _show_one(outcome: Release | Releases, name: str | None = None) -> None:
    releases = outcome if isinstance(outcome, Releases) else {None: outcome}
    first = next(iter(releases.values()))
    table = Table(box=None, pad_edge=False, header_style="bold")
    if isinstance(outcome, Releases):
        table.add_column("group")
    for heading in (f"private {first.statistic}" if name is None else name, "95% interval"):
        table.add_column(escape(heading), justify="right")
    for group, release in releases.items():
        table.add_row(*([escape(outcome.label(group))] if isinstance(outcome, Releases) else []), *release.shown())
    console = Console()
    console.print(table)
    facts = f"{first.guarantee} for {first.plan.unit.protected}; {first.plan.method}, sensitivity {first.sensitivity}"
    console.print(f"[dim]{facts}; {first.counted}[/dim]", highlight=False)
