"""The commands about budgets: a ledger made, and shown to people and to programs."""

from __future__ import annotations

import json
import os
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from soundsum import Budget
from soundsum.budget.ledger import read
from soundsum.cli.options import AsJson, Epsilon, Rho

budget_app = typer.Typer(no_args_is_help=True, help="Ledgers: what may be spent, and what has been.")


@budget_app.command("create")
def create_budget(
    ledger: Annotated[str, typer.Argument(help="The file to make.")],
    epsilon: Epsilon = None,
    delta: Annotated[str, typer.Option(help="With --epsilon.")] = "0",
    rho: Rho = None,
) -> None:
    """Make a ledger with the most that may ever be let out."""
    typer.echo(repr(Budget(epsilon, delta, rho, path=ledger)))


@budget_app.command("show")
def show_budget(ledger: Annotated[str, typer.Argument(help="The ledger.")], as_json: AsJson = False) -> None:
    """What has been spent, on what, and what is left."""
    if as_json:
        typer.echo(json.dumps(ledger_to_json(ledger), indent=2))
    else:
        Console().print(ledger_table(ledger))


def ledger_table(path: str | os.PathLike[str]) -> Table:
    """Every charge, with the limit and what is left above them."""
    limit, spent, entries = read(path)
    table = Table(title=f"{limit.left(spent)} left of {limit}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("what")
    table.add_column("cost", justify="right")
    for entry in entries:
        table.add_row(f"{entry.at:%Y-%m-%d %H:%M:%S}", escape(entry.what), str(entry.cost))
    return table


def ledger_to_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The same as a plain dict, exact numbers as strings."""
    limit, spent, entries = read(path)
    return {
        "path": os.path.abspath(path),
        "promised": limit.to_json(),
        "spent": spent.to_json(),
        "left": limit.left(spent).to_json(),
        "charges": [
            {"at": entry.at.isoformat(), "what": entry.what, "cost": entry.cost.to_json()} for entry in entries
        ],
    }


def register(app: typer.Typer) -> None:
    app.add_typer(budget_app, name="budget")
