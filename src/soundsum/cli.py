"""The command line: `soundsum demo` and whatever else the rooms above offer."""

from __future__ import annotations

import typer

from soundsum import __version__

app = typer.Typer(no_args_is_help=True, add_completion=True, rich_markup_mode="rich", help=__doc__)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"soundsum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Differentially private sums whose privacy proof covers the arithmetic the computer really does."""


@app.command()
def demo() -> None:
    """Show in a few seconds what goes wrong with ordinary sums, and what soundsum does instead."""
    from soundsum.demo import run

    run()


def main() -> None:
    app()
