"""A ledger for people and for programs: `soundsum budget show`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from soundsum.budget.ledger import read

if TYPE_CHECKING:
    from rich.table import Table


def ledger_table(path: str | os.PathLike[str]) -> Table:
    """Every charge, with the promise and what is left above them."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    promise, spent, entries = read(path)
    table = Table(title=f"{promise.left(spent)} left of {promise}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("what")
    table.add_column("cost", justify="right")
    for entry in entries:
        table.add_row(f"{entry.at:%Y-%m-%d %H:%M:%S}", escape(entry.what), str(entry.cost))
    return table


def ledger_as_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The same as a plain dict, exact numbers as strings."""
    promise, spent, entries = read(path)
    return {
        "path": os.path.abspath(path),
        "promised": promise.as_json(),
        "spent": spent.as_json(),
        "left": promise.left(spent).as_json(),
        "charges": [
            {"at": entry.at.isoformat(), "what": entry.what, "cost": entry.cost.as_json()} for entry in entries
        ],
    }
