"""The command that reproduces the paper. Exit code 1 if a cell neither matches nor is a known erratum."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from soundsum.cli.file_access import require_writable, write_each


def reproduce(
    full: Annotated[bool, typer.Option("--full", help="Run every attack at the size the paper prints.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A section: lower, upper, errata, errata:kahan, ...; repeat for several."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Print every table, not only differences and errata.")] = False,
    to_json: Annotated[
        str | None, typer.Option("--json", help="Write everything as JSON (- for stdout).", metavar="FILE")
    ] = None,
    to_html: Annotated[
        Path | None, typer.Option("--html", help="Write everything as an HTML page with plots.", metavar="FILE")
    ] = None,
) -> None:
    """Recompute the paper's tables, attacks and experiments, and compare each with the printed figures.

    Examples:

        soundsum reproduce

        soundsum reproduce --all

        soundsum reproduce --full --json reproduction.json

        soundsum reproduce --html reproduction.html

        soundsum reproduce --only errata --only libraries
    """
    from soundsum.cli.views.reproduction_view import show, watch
    from soundsum.pages import template
    from soundsum.paper.page import page
    from soundsum.paper.reproduce import reproduce as computed

    if to_html is not None:  # what would fail in the end fails now
        template()
    to_file = None if to_json in (None, "-") else Path(str(to_json))
    require_writable("to_html", to_html)
    require_writable("to_json", to_file)
    console = Console(stderr=to_json == "-")
    if to_json == "-":
        result = computed(full, only)
        typer.echo(json.dumps(result.to_json(), indent=2))
    else:
        result = watch(console, full, only)
        show(console, result, every or only is not None)
    makers: list[tuple[Path | None, Callable[[], str]]] = [
        (to_file, lambda: json.dumps(result.to_json(), indent=2) + "\n"),
        (to_html, lambda: page(result)),
    ]
    write_each(console, {path: make for path, make in makers if path is not None})
    raise typer.Exit(1 if result.differs else 0)


def register(app: typer.Typer) -> None:
    app.command()(reproduce)
