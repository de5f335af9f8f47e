"""The commands of an owner's server: its file, its tokens, the server itself, and its entry in OpenDP's registry."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from soundsum.budget.history import Asker
from soundsum.budget.ledger import read
from soundsum.budget.shares import say_share
from soundsum.numbers.quoting import quote
from soundsum.refusals import INSTALL, Reason, Refusal, RefusedValue
from soundsum.tables.paths import expand, read_file


class ServeGroup(TyperGroup):
    """`soundsum serve FILE` starts the server; other words are commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["start", *args]
        return super().parse_args(ctx, args)


serve_app = typer.Typer(
    cls=ServeGroup,
    no_args_is_help=True,
    help="Serve tables to analysts, who can ask questions but not read the data. `soundsum serve OWNER` is short for "
    "`start OWNER`.",
)

OwnerFile = Annotated[str, typer.Argument(metavar="OWNER", help="The owner's file, such as owner.toml.")]
Action = StrEnum("Action", ["add", "list", "revoke"])


@serve_app.command("start")
def start_server(
    owner: OwnerFile,
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    certificate: Annotated[str | None, typer.Option(help="A certificate for HTTPS, a PEM file.")] = None,
    key: Annotated[str | None, typer.Option(help="The certificate's private key.")] = None,
    behind_proxy: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of a proxy in front that does HTTPS.")
    ] = None,
    no_pad: Annotated[
        bool, typer.Option("--no-pad", help="Serve tables without a pad: response times may reveal something.")
    ] = False,
    slots: Annotated[int, typer.Option(help="How many questions to each table are answered at once.")] = 4,
    waiting: Annotated[int, typer.Option(help="How many questions wait for a slot; others get status 429.")] = 256,
    memory: Annotated[
        str | None, typer.Option(help="The most memory for each process that reads a table, such as 2G.")
    ] = None,
    each: Annotated[int, typer.Option(help="How many questions an analyst may have in progress.")] = 8,
) -> None:
    """Serve the tables of an owner's file, until SIGTERM or Ctrl-C.

    Example: soundsum serve owner.toml --port 8000
    """
    _require_installed()
    from soundsum.server.endpoints import Capacity
    from soundsum.server.running import Place, read_memory, serve

    for name, count in (("slots", slots), ("waiting", waiting), ("each", each)):
        if count < (name != "waiting"):
            raise RefusedValue(name, Reason.TOO_SMALL, "`{option}={given}` is too small", "give 1 or more", given=count)
    place = Place(host, port, certificate, key, behind_proxy)
    path = expand(owner)
    say = Console(stderr=True, highlight=False, soft_wrap=True).print
    say(f"opening the tables of {path}")
    most = None if memory is None else read_memory(memory)
    serve(path, place, Capacity(slots, waiting, each), not no_pad, most, say)


@serve_app.command("init")
def write_owner_file(
    owner: Annotated[str, typer.Argument(metavar="OWNER", help="The file to write, such as owner.toml.")],
    data: Annotated[str | None, typer.Option(help="The table: a file, or a database's address.")] = None,
    name: Annotated[str | None, typer.Option(help="What analysts call the table.")] = None,
    privacy_unit: Annotated[
        str | None, typer.Option(help="The column that says whose row it is: persons' ids.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The epsilon that all analysts together may spend; 1.")] = None,
    max_rows: Annotated[int | None, typer.Option(help="How many rows of a person count in a group; 1.")] = None,
    max_groups: Annotated[int | None, typer.Option(help="How many groups a person counts in; 1.")] = None,
    pad: Annotated[str | None, typer.Option(help="The time that every answer takes; 0.5s.")] = None,
    table: Annotated[str | None, typer.Option(help="The table's name in its database.")] = None,
) -> None:
    """Write an owner's file, to which you add what is public about the columns.

    In a terminal it asks for what you leave out; elsewhere it takes the numbers at the end of these lines.

    Example: soundsum serve init owner.toml --data visits.parquet --name visits --privacy-unit patient --max-rows 12
    --max-groups 4
    """
    from soundsum.server.owner_file import read_owner_file, require_plain_name, write_start

    path = Path(expand(owner))
    if os.path.lexists(path):
        raise RefusedValue("owner", Reason.EXISTS, "{path} is there already", "name another file", path=str(path))
    data = _ask("data", data, "The table: a file, or a database's address")
    name = _ask("name", name, "Its name for analysts")
    require_plain_name("name", name)
    text = write_start(
        name,
        data,
        path.parent,
        table=table,
        privacy_unit=_ask("privacy_unit", privacy_unit, "The column of persons' ids"),
        epsilon=(epsilon := _ask("epsilon", epsilon, "The epsilon that all analysts together may spend", "1")),
        max_rows=_ask("max_rows", max_rows, "Rows of a person that count in a group", 1),
        max_groups=_ask("max_groups", max_groups, "Groups that a person counts in", 1),
        pad=_ask("pad", pad, "The time that every answer takes", "0.5s"),
    )
    with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
        file.write(text)  # for the owner alone, as a database's address may have a password
    read_owner_file(str(path))
    typer.echo(f"written: {path}. Add the bounds and categories that are public, and give out tokens:")
    typer.echo(f"soundsum serve token {path} add alice --epsilon {epsilon}")


T = TypeVar("T", str, int)


def _ask(option: str, given: T | None, words: str, default: T | None = None) -> T:
    """Return the option as given, or ask for it in a terminal; elsewhere return its default."""
    if given is not None:
        return given
    if sys.stdin is not None and sys.stdin.isatty():
        asked: T = typer.prompt(words, default=default)
        return asked
    if default is None:
        raise RefusedValue(option, Reason.MISSING, "`{option}` is missing", "give it")
    return default


@serve_app.command("token")
def change_tokens(
    owner: OwnerFile,
    action: Annotated[Action, typer.Argument(help="What to do.")],
    who: Annotated[str | None, typer.Argument(help="The analyst; to revoke one token, its number.")] = None,
    epsilon: Annotated[str | None, typer.Option(help="Their share: the most they may spend, such as 1 or 1/3.")] = None,
    delta: Annotated[str, typer.Option(help="With --epsilon.")] = "0",
    rho: Annotated[str | None, typer.Option(help="Instead of --epsilon, where the budget counts rho.")] = None,
    table: Annotated[list[str] | None, typer.Option(help="The table of the share; by default, every one.")] = None,
    max_failures: Annotated[int, typer.Option(help="Failed reads of theirs that close their share.")] = 1,
    days: Annotated[int, typer.Option(help="The days until the token ends.", min=1)] = 365,
    is_owner: Annotated[
        bool, typer.Option("--owner", help="A token that sees who spent what, and cannot ask.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Give out, list or revoke tokens. A new one is printed once; only its hash is stored.

    Shares may add up to more than the budget, which bounds what all analysts get together.

    Example: soundsum serve token owner.toml add alice --epsilon 1 --table visits
    """
    from soundsum.server.owner_file import read_owner_file, require_plain_name
    from soundsum.server.tokens import Tokens

    os.umask(0o077)  # tokens and ledgers are for the owner alone
    owned = read_owner_file(expand(owner))
    tokens = Tokens(expand(owner))
    if action == "list":
        rows = tokens.list()
        if as_json:
            plain = [{"number": one.number, "who": one.who, "owner": one.is_owner, "made": one.made.isoformat(),
                      "ends": one.ends.isoformat(), "valid": one.is_valid} for one in rows]  # fmt: skip
            typer.echo(json.dumps(plain, indent=2))
        else:
            Console().print(_list_tokens(rows))
            for ledger in sorted({str(one.budget["path"]) for one in owned.values()}):
                for asker, share in read(ledger).shares.items() if os.path.exists(ledger) else ():
                    typer.echo(say_share(asker, share))
        return
    if who is None:
        raise RefusedValue("who", Reason.MISSING, "whose token it is is missing", "give the analyst's name")
    if action == "revoke":
        count = tokens.revoke(who)
        typer.echo(f"{count} token{'s' * (count != 1)} revoked")
        return
    for name in table or ():
        if name not in owned:
            raise RefusedValue("table", Reason.UNKNOWN, "there is no table {given} in {path}", "it has {known}",
                               given=quote(name), path=owner, known=", ".join(owned))  # fmt: skip
    require_plain_name("analyst", who)
    if epsilon is not None or rho is not None:
        for name in table or owned:
            budget = owned[name].open_budget()
            budget.set_share(Asker(who, name), epsilon, delta, rho, max_failures=max_failures)
    shares = {name: owned[name].open_budget().share(Asker(who, name)) for name in owned}
    has = [f"{share.limit} of {name}" for name, share in shares.items() if share is not None]
    may = "see who spent what" if is_owner else f"spend {'; '.join(has)}" if has else "ask nothing yet: give --epsilon"
    typer.echo(f"the token of {who}, who may {may}; it is shown this once:", err=True)
    typer.echo(tokens.add(who, is_owner=is_owner, days=days))


def _list_tokens(rows: Sequence[Any]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("number", "who", "is owner", "ends", "state"):
        table.add_column(heading)
    for one in rows:
        state = "revoked" if one.revoked else "valid" if one.is_valid else "ended"
        table.add_row(str(one.number), one.who, "owner" if one.is_owner else "", f"{one.ends:%Y-%m-%d}", state)
    return table


def _require_installed() -> None:
    for package in ("fastapi", "uvicorn", "jinja2"):
        if find_spec(package) is None:
            raise RefusedValue(
                None, Reason.MISSING, "the server needs {package}, which is not installed",
                INSTALL, package=package, extra="server",
            )  # fmt: skip


def write_registry_entry(
    file: Annotated[str, typer.Argument(help="Releases, as JSON.")],
    budget: Annotated[str, typer.Option(help="The ledger that was charged for them.")],
    owner: Annotated[str | None, typer.Option(help="The owner's file, if a server released them.")] = None,
    table: Annotated[str | None, typer.Option(help="The table in the owner's file, if it has several.")] = None,
) -> None:
    """Write an entry for OpenDP's registry of deployments: JSON, which is YAML. Fill in the fields marked TO DO.

    Example: soundsum registry release.json --budget visits.db --owner owner.toml > entry.yaml
    """
    from soundsum.releases.release_check import list_releases
    from soundsum.server.deployment_entry import write_entry
    from soundsum.server.owner_file import read_owner_file

    owned = None
    if owner is not None:
        tables = read_owner_file(expand(owner))
        name = next(iter(tables)) if table is None and len(tables) == 1 else table
        if name not in tables:
            raise RefusedValue(
                "table", Reason.UNKNOWN, "{path} has the tables {known}", "name one of them, not {given}",
                path=owner, known=", ".join(tables), given=quote(name),
            )  # fmt: skip
        owned = tables[name]
    refusal: Refusal | None = None
    try:
        releases = list_releases(read_file("file", file, "a file that --json printed"))
        typer.echo(json.dumps(write_entry(releases, read(budget), owned), indent=2, ensure_ascii=False))
    except Refusal as error:
        refusal = error
    if refusal is not None:
        raise refusal


def register(app: typer.Typer) -> None:
    app.add_typer(serve_app, name="serve")
    app.command("registry")(write_registry_entry)
