"""The command that reproduces the paper. Exit code 1 if a cell neither matches nor is a known erratum."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def reproduce(
    full: Annotated[bool, typer.Option("--full", help="Every attack at the size the paper prints.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A section: lower, upper, errata, errata:kahan, ...; may be repeated."),
    ] = None,
    to_json: Annotated[
        str | None, typer.Option("--json", help="Write everything as JSON, - for the screen.", metavar="FILE")
    ] = None,
) -> None:
    """Compute the paper's tables, attacks and experiments anew, and compare each with what it prints.

    Examples:

        soundsum reproduce

        soundsum reproduce --full --json reproduction.json

        soundsum reproduce --only errata --only libraries
    """
    from soundsum.reproduce import reproduce as computed
    from soundsum.reproduce.show import show, watched

    if to_json == "-":
        result = computed(full, only)
        typer.echo(json.dumps(result.as_json(), indent=2))
    else:
        console = Console()
        result = watched(console, full, only)
        show(console, result)
        if to_json is not None:
            Path(to_json).write_text(json.dumps(result.as_json(), indent=2) + "\n")
            console.print(f"\nwritten: {to_json}", highlight=False)
    raise typer.Exit(1 if result.differs else 0)


def register(app: typer.Typer) -> None:
    app.command()(reproduce)
