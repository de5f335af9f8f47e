"""The command line. Exit codes: 0 fine; 1 a violation was found; 2 wrong usage or bad input; 3 a fault."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from soundsum import Plan, Problem, Relation, __version__, plan, plans
from soundsum.attack_commands import attack_app
from soundsum.release_commands import AsJson, register
from soundsum.reproduce_commands import register as register_reproduce

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"soundsum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Differentially private sums whose privacy proof covers the arithmetic the computer really does."""


@app.command()
def demo() -> None:
    """Show in a few seconds what goes wrong with ordinary sums, and what soundsum does instead."""
    from soundsum.demo import run

    run(Console())


@app.command("plan")
def show_plans(
    dtype: Annotated[str, typer.Option(help="The records' type: float32, int64, bfloat16, ...")],
    bounds: Annotated[tuple[str, str], typer.Option(help="Lower and upper bound of a record.", metavar="L U")],
    size: Annotated[int | None, typer.Option(help="The number of records, if it is public.")] = None,
    max_size: Annotated[int | None, typer.Option(help="Where to truncate, for methods that need a limit.")] = None,
    relation: Annotated[
        str | None, typer.Option(help=f"{', '.join(Relation)}. Default: change_one with --size, else symmetric.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="Explain this method alone; auto and float choose one.")] = None,
    as_json: AsJson = False,
) -> None:
    """What every way to add these records would cost: the proved sensitivity beside the ideal one.

    Examples:

        soundsum plan --dtype float32 --bounds 0 1 --size 1000000

        soundsum plan --dtype int32 --bounds -5 10 --relation insert_delete --max-size 1000

        soundsum plan --dtype float64 --bounds 0 1000 --method auto
    """
    relation = relation or (Relation.SYMMETRIC if size is None else Relation.CHANGE_ONE)
    problem = Problem(dtype, bounds[0], bounds[1], relation, size, max_size)
    if method is not None:
        _print_one(plan(problem, method), as_json)
    else:
        _print_all(plans(problem), as_json)


def _print_one(chosen: Plan, as_json: bool) -> None:
    from soundsum.explain import plan_as_json

    typer.echo(json.dumps(plan_as_json(chosen), indent=2) if as_json else chosen.explain())


def _print_all(every: list[Plan], as_json: bool) -> None:
    from soundsum.explain import plan_as_json, plans_table

    if as_json:
        typer.echo(json.dumps([plan_as_json(p) for p in every], indent=2))
    else:
        Console().print(plans_table(every))


@app.command()
def verify(
    quick: Annotated[bool, typer.Option("--quick", help="A part of the types and bounds, in about a minute.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check every method's sensitivity against its model, exhaustively, on tiny number types."""
    from soundsum.verify.report import run

    raise typer.Exit(run(Console(), quick=quick, as_json=as_json))


register(app)
app.add_typer(attack_app, name="attack")
register_reproduce(app)


def main() -> None:
    """The entry point: errors a person can mend are one line and exit code 2, others 3."""
    try:
        app()
    except (ValueError, TypeError, OSError) as error:
        Console(stderr=True).print(f"[red]error:[/red] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)
    except Exception:
        Console(stderr=True).print_exception()
        sys.exit(3)
