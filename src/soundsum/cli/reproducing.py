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
    every: Annotated[
        bool, typer.Option("--all", help="Print every table, not only what differs and the errata.")
    ] = False,
    to_json: Annotated[
        str | None, typer.Option("--json", help="Write everything as JSON, - for the screen.", metavar="FILE")
    ] = None,
    to_html: Annotated[
        Path | None, typer.Option("--html", help="Write everything as one HTML page with plots.", metavar="FILE")
    ] = None,
) -> None:
    """Recompute the paper's tables, attacks and experiments, and compare each with what it prints.

    Examples:

        soundsum reproduce

        soundsum reproduce --all

        soundsum reproduce --full --json reproduction.json

        soundsum reproduce --html reproduction.html

        soundsum reproduce --only errata --only libraries
    """
    from soundsum.cli.reproduced import show, watch
    from soundsum.report import template, write_page
    from soundsum.reproduce import reproduce as computed

    if to_html is not None:  # what would fail in the end fails now
        template()
        _must_be_writable(to_html)
    console = Console(stderr=to_json == "-")
    if to_json == "-":
        result = computed(full, only)
        typer.echo(json.dumps(result.to_json(), indent=2))
    else:
        result = watch(console, full, only)
        show(console, result, every or only is not None)
        if to_json is not None:
            Path(to_json).write_text(json.dumps(result.to_json(), indent=2) + "\n")
            console.print(f"\nwritten: {to_json}", highlight=False)
    if to_html is not None:
        write_page(result, to_html)
        console.print(f"\nwritten: {to_html}; open it in a browser", highlight=False)
    raise typer.Exit(1 if result.differs else 0)


def _must_be_writable(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise ValueError(f"--html {path}: there is no folder {path.parent}; make it, or name another file")
    if path.is_dir():
        raise ValueError(f"--html {path} is a folder; name a file in it")


def register(app: typer.Typer) -> None:
    app.command()(reproduce)
