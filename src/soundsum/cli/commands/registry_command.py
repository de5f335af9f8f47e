"""The command that writes an entry for OpenDP's registry of deployments."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from soundsum.budget.ledger import read
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.release_check import list_releases
from soundsum.server.deployment_entry import write_entry
from soundsum.server.owner_file import read_owner_file
from soundsum.tables.paths import expand, read_file


def write_registry_entry(
    file: Annotated[str, typer.Argument(help="Releases, as JSON.")],
    budget: Annotated[str, typer.Option(help="The ledger that was charged for them.")],
    owner: Annotated[str | None, typer.Option(help="The owner's file, if a server released them.")] = None,
    table: Annotated[str | None, typer.Option(help="The table in the owner's file, if it has several.")] = None,
) -> None:
    """Write an entry for OpenDP's registry of deployments: JSON, which is YAML. Fill in the fields marked TO DO.

    Example: soundsum registry release.json --budget visits.db --owner owner.toml > entry.yaml
    """
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
    app.command("registry")(write_registry_entry)
