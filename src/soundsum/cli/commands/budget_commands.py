"""The commands about budgets: a ledger made, shown to people and to programs, and what its owner may do to it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from soundsum import Budget, Relation
from soundsum.budget.history import Asker
from soundsum.budget.ledger import read
from soundsum.budget.shares import say_share
from soundsum.cli.parameters import AsJson
from soundsum.numbers.quoting import printed
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.paths import expand

budget_app = typer.Typer(no_args_is_help=True, help="Create ledgers, and see what has been spent.")

LedgerFile = Annotated[str, typer.Argument(metavar="LEDGER", help="The ledger.")]
Unit = Annotated[str | None, typer.Option(help="Protect persons instead of records: the column of their ids.")]
Neighbours = Annotated[Relation, typer.Option(help="When two tables are neighbours.")]
Data = Annotated[str | None, typer.Option(help="The name of the data, which releases must then repeat.")]
Failures = Annotated[int, typer.Option(help="The number of failed reads that closes the ledger until it is reopened.")]


@budget_app.command("create")
def create_budget(
    ledger: Annotated[str, typer.Argument(help="The file to create.")],
    epsilon: Annotated[str | None, typer.Option(help="The limit on the total cost, such as 3 or 1/3.")] = None,
    delta: Annotated[str, typer.Option(help="With --epsilon: the limit on the total delta.")] = "0",
    rho: Annotated[str | None, typer.Option(help="Instead of --epsilon: the limit in zCDP.")] = None,
    privacy_unit: Unit = None,
    relation: Neighbours = Relation.SYMMETRIC,
    data: Data = None,
    max_failures: Failures = 1,
) -> None:
    """Create a ledger with a limit on the total cost, bound to one privacy unit, one relation and one dataset.

    Example: soundsum budget create ledger.db --epsilon 3 --privacy-unit patient --data visits
    """
    if epsilon is None and rho is None and os.path.lexists(expand(ledger)):
        raise RefusedValue(
            "ledger",
            Reason.EXISTS,
            "there is a file already at {ledger}",
            "`soundsum budget show` shows a ledger, and another path makes a new one",
            ledger=ledger,
        )
    whom: dict[str, Any] = {"privacy_unit": privacy_unit, "relation": relation, "data": data}
    Budget(epsilon, delta, rho, path=ledger, max_failures=max_failures, **whom)
    found = read(ledger)
    _say(f"{ledger} holds a budget of {found.terms.limit} for {found.terms.binding}; {_say_left(ledger)}")


@budget_app.command("show")
def show_budget(
    ledger: LedgerFile,
    every: Annotated[bool, typer.Option("--all", help="Print whole queries.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show each charge, and what is left."""
    if as_json:
        typer.echo(json.dumps(ledger_to_json(ledger), indent=2))
    else:
        Console().print(ledger_table(ledger, every))
        for asker, share in read(ledger).shares.items():
            _say(say_share(asker, share))


@budget_app.command("check")
def check_budget(ledger: LedgerFile) -> None:
    """Check that every line of a ledger follows from the lines before it."""
    found = read(ledger)
    count, left = len(found.entries), found.terms.limit.left(found.spent)
    Console().print(f"[green]adds up[/green]: {count:,} charge{'s' * (count != 1)}, {left} left", highlight=False)


@budget_app.command("refund")
def refund_charge(
    ledger: LedgerFile,
    number: Annotated[int, typer.Argument(help="The number of the charge, as listed by show.")],
) -> None:
    """Refund a charge whose read failed, so that nothing was released (for the owner of the data)."""
    budget = Budget(path=ledger)
    budget.refund(number)
    _say(f"charge {number} is refunded; {_say_left(ledger)}")


@budget_app.command("reopen")
def reopen_budget(ledger: LedgerFile) -> None:
    """Reopen a ledger that failed reads have closed (for the owner of the data, after finding the cause)."""
    budget = Budget(path=ledger)
    budget.reopen()
    _say(f"{ledger} is open again; {_say_left(ledger)}")


@budget_app.command("share")
def share_budget(
    ledger: LedgerFile,
    analyst: Annotated[str, typer.Argument(help="Who may ask.")],
    source: Annotated[
        str, typer.Argument(metavar="TABLE", help="The table they may ask about, as the server calls it.")
    ],
    epsilon: Annotated[str | None, typer.Option(help="The most they may spend, such as 1 or 1/3.")] = None,
    delta: Annotated[str, typer.Option(help="With --epsilon.")] = "0",
    rho: Annotated[str | None, typer.Option(help="Instead of --epsilon, where the ledger counts rho.")] = None,
    max_failures: Annotated[int, typer.Option(help="After this many failed reads of theirs the share is closed.")] = 1,
) -> None:
    """Give an analyst a share of the budget, in place of the one they had; what they spent of it stays spent.

    Shares may add up to more than the ledger's limit, which bounds what all analysts get together.

    Example: soundsum budget share ledger.db alice visits --epsilon 1
    """
    budget = Budget(path=ledger)
    asker = Asker(analyst, source)
    budget.set_share(asker, epsilon, delta, rho, max_failures=max_failures)
    _say(say_share(asker, read(ledger).shares[asker]))


def _say_left(ledger: str) -> str:
    found = read(ledger)
    return f"{found.terms.limit.left(found.spent)} left"


def _say(sentence: str) -> None:
    typer.echo(printed(sentence))


def ledger_table(path: str | os.PathLike[str], every: bool = False) -> Table:
    """Every charge, below the limit, the unit it protects and the rest; in full detail if wanted."""
    found = read(path)
    limit = found.terms.limit
    closed = "; closed after failed reads" if found.failures >= found.terms.max_failures else ""
    title = f"{limit.left(found.spent)} left of {limit}{closed}\nfor {escape(printed(str(found.terms.binding)))}"
    more = "" if every else " --all prints every detail."
    caption = f"Lines between these say what became of a charge.{more}" if found.entries else None
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left", box=SIMPLE_HEAD)
    table.add_column("line", justify="right", no_wrap=True)
    table.add_column("when (UTC)", no_wrap=True)
    if found.shares:
        table.add_column("who")
    table.add_column("what")
    table.add_column("cost", justify="right")
    for entry in found.entries:
        cost = str(entry.cost) if entry.state == "released" else f"{entry.cost} ({entry.state})"
        full = [entry.what] if entry.query is None else entry.query.sentences
        said = full if every else [entry.brief(found.terms.binding.data is None)]
        said = [printed(one) for one in said]  # with names that an analyst chose
        who = [] if not found.shares else ["" if entry.asker is None else escape(printed(entry.asker.analyst))]
        table.add_row(str(entry.number), f"{entry.at:%Y-%m-%d %H:%M}", *who, escape(";\n".join(said)), cost)
    return table


def ledger_to_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the ledger as a plain dict, exact numbers as strings."""
    found = read(path)
    limit = found.terms.limit
    return {
        "path": os.path.abspath(path),
        "promised": limit.to_json(),
        "bound": found.terms.binding.to_json(),
        "max_failures": found.terms.max_failures,
        "failures": found.failures,
        "spent": found.spent.to_json(),
        "left": limit.left(found.spent).to_json(),
        "charges": [
            {
                "number": entry.number,
                "at": entry.at.isoformat(),
                "what": entry.what,
                "query": None if entry.query is None else entry.query.to_json(),
                "cost": entry.cost.to_json(),
                "state": entry.state,
                "asker": None if entry.asker is None else asdict(entry.asker),
            }
            for entry in found.entries
        ],
        "shares": [
            asdict(asker)
            | {"promised": share.limit.to_json(), "left": share.left.to_json(), "failures": share.failures}
            for asker, share in found.shares.items()
        ],
    }


def register(app: typer.Typer) -> None:
    app.add_typer(budget_app, name="budget")
