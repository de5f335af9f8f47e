"""The owner's file as `soundsum serve init` writes it: the terms, and the columns for the owner to describe."""

from __future__ import annotations

import json
import os
from pathlib import Path

from soundsum.budget.limit import Limit
from soundsum.numbers.quoting import quote
from soundsum.privacy.units import Unit
from soundsum.refusals import Reason, RefusedValue
from soundsum.releases.padding import read_pad
from soundsum.requests.parse_columns import Snapshot
from soundsum.tables.paths import expand, is_address


def write_start(
    name: str,
    data: str,
    folder: Path,
    *,
    table: str | None,
    privacy_unit: str,
    max_rows: int,
    max_groups: int,
    pad: str,
    epsilon: str,
) -> str:
    """Write the file's text. Of the data, only the names and types of its columns are looked at."""
    place = data if is_address(data) else os.path.abspath(expand(data))
    shown = data if is_address(data) else os.path.relpath(place, os.path.abspath(folder))
    snapshot = Snapshot.of(place, table)
    if privacy_unit not in snapshot.names:
        raise RefusedValue(
            "privacy_unit",
            Reason.UNKNOWN,
            "`{option}={given}` is not in the table",
            "it has {names}",
            given=quote(privacy_unit),
            names=", ".join(map(quote, snapshot.names)),
        )
    Unit(max_rows=max_rows, max_groups=max_groups)  # these three refuse what cannot be served
    Limit.of(epsilon, 0, None)
    read_pad(pad)
    columns = [
        f"# {_key(column)} = {example}"
        for column in snapshot.names
        if column != privacy_unit
        for example in _examples(snapshot, column)
    ]
    within = [] if table is None else [f"table = {_text(table)}"]
    lines = [
        "# The tables that analysts may ask about; docs/server.md explains every line.",
        "",
        f"[tables.{_key(name)}]",
        f"data = {_text(shown)}",
        *within,
        f"privacy_unit = {_text(privacy_unit)}  # protects persons: the column of their ids",
        "# Higher limits add noise. A lower max_rows clamps what a person adds (sums), scales their rows down",
        "# (means) or drops some (counts, quantiles); a lower max_groups drops whole groups.",
        f"max_rows = {max_rows}  # of each person, in a group",
        f"max_groups = {max_groups}  # that a person counts in, where a question has groups",
        f"pad = {_text(pad)}  # every answer takes this long; choose it well above the time of a query",
        "# for all analysts together; it closes after max_failures failed reads, an analyst's share after one",
        f"budget = {{epsilon = {_text(epsilon)}, path = {_text(f'{name}.db')}, max_failures = 5}}",
        "",
        "# What is public about the columns: types, bounds, categories. Never take them from the values.",
        f"[tables.{_key(name)}.schema]",
        *columns,
        "",
    ]
    return "\n".join(lines)


def _examples(snapshot: Snapshot, column: str) -> list[str]:
    import pyarrow as pa

    kind = snapshot.types[column]
    if snapshot.has_no_types:
        return ['["a", "b"]  # if it names groups', '{type = "float64", lower = 0, upper = 100}  # if it holds numbers']
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return ["{lower = 0, upper = 100}"]
    if pa.types.is_temporal(kind):
        return ["{lower = 2020-01-01, upper = 2024-12-31}"]
    return ['["a", "b"]']


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _text(name)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
