"""The owner's file: tables, their terms and their budgets, in TOML, in the words of `Private` and `Budget`.

Anything else in it is refused with its line. Paths are relative to the file's folder. `soundsum serve init` writes one
to start from: the terms, and the columns for the owner to describe.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soundsum.budget import Budget
from soundsum.budget.limit import Limit
from soundsum.numbers.quoting import quote
from soundsum.privacy.units import Unit
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.padding import read_pad
from soundsum.releases.private import Private
from soundsum.requests.parse_columns import Snapshot
from soundsum.tables.paths import expand, is_address, read_file
from soundsum.tables.relations import Relation

KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+)\s*[.=]""")
HEADER = re.compile(r"\s*(\[[^\]\n]+\])\s*(?:#.*)?$")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}")
"""Names of tables and analysts: they stand in addresses, logs and ledgers."""

TERMS = {
    **dict.fromkeys(("data", "privacy_unit", "name", "pad", "table", "engine", "relation"), str),
    **dict.fromkeys(("max_rows", "max_groups"), int),
    **dict.fromkeys(("budget", "schema"), dict),
}
LIMITS = {"epsilon", "delta", "rho", "path", "max_failures"}


@dataclass(frozen=True)
class OwnedTable:
    """A table as its owner serves it: the data, the terms, and the budget."""

    name: str
    data: str
    terms: Mapping[str, Any]
    budget: Mapping[str, Any]

    @property
    def pad(self) -> str | None:
        return self.terms.get("pad")

    def open_budget(self) -> Budget:
        """Open the ledger, or create it."""
        return Budget(
            **self.budget,
            privacy_unit=self.terms.get("privacy_unit"),
            relation=self.terms.get("relation"),
            data=self.terms["name"],
        )

    def open(self) -> Private:
        return Private(self.data, budget=self.open_budget(), **self.terms)


def read_owner_file(path: str) -> dict[str, OwnedTable]:
    """Read the tables of an owner's file; whatever is not known is refused with its line."""
    text = read_file("owner", path, "a TOML file")
    said = ""
    try:
        written = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
    except (RecursionError, ValueError):
        said = "it is nested too deeply, or has a number of too many digits"
    if said:
        raise RefusedValue(
            "owner", Reason.UNREADABLE, "{path}: it is not TOML: {said}", "mend it", path=path, said=said
        )
    _require_known(path, text, (), written, ["tables"])
    tables = written.get("tables", {})
    if not isinstance(tables, dict) or not tables or not all(isinstance(one, dict) for one in tables.values()):
        raise RefusedValue(
            "owner",
            Reason.MISSING,
            "{path}: it has no tables",
            "add one such as [tables.visits]; `soundsum serve init` writes a whole file",
            path=path,
        )
    folder = Path(os.path.abspath(expand(path))).parent
    return {name: _read_table(path, text, folder, name, own) for name, own in tables.items()}


def _read_table(path: str, text: str, folder: Path, name: str, written: dict[str, Any]) -> OwnedTable:
    place = ("tables", name)
    require_plain_name("table", name)
    _require_known(path, text, place, written, TERMS)
    for key, kind in TERMS.items():
        if key in written and type(written[key]) is not kind:
            raise _refuse_line(path, text, (*place, key), "`{option}={given}` is not {kind}", given=quote(written[key]),
                               kind={str: "a text", int: "a whole number", dict: "a table"}[kind])  # fmt: skip
    for key in ("data", "budget"):
        if key not in written:
            raise _refuse_line(path, text, (*place, key), "`{option}` is missing")
    _require_known(path, text, (*place, "budget"), written["budget"], LIMITS)
    if not isinstance(written["budget"].get("path"), str):
        raise _refuse_line(path, text, (*place, "budget"), "the budget has no `path`, the file of its ledger")
    if Relation.read(written.get("relation", "symmetric")).sized:
        raise _refuse_line(
            path,
            text,
            (*place, "relation"),
            "`relation={given}` makes the number of rows public, which a server hides",
            given=quote(written["relation"]),
        )
    terms = {"name": name, **{key: one for key, one in written.items() if key not in ("data", "budget")}}
    data = written["data"]
    table = OwnedTable(
        name,
        data if is_address(data) else os.path.join(folder, expand(data)),
        terms,
        {**written["budget"], "path": os.path.join(folder, expand(written["budget"]["path"]))},
    )
    for column, said in written.get("schema", {}).items():
        if not isinstance(said, dict | list | str):
            raise _refuse_line(path, text, (*place, "schema", column), "`{option}={given}` says nothing of a column",
                               given=quote(said))  # fmt: skip
    return table


def open_tables(path: str, tables: Mapping[str, OwnedTable]) -> dict[str, Private]:
    """Open every table; what is refused is said of its place in the owner's file."""
    opened = {}
    for name, table in tables.items():
        refusal: Refusal | None = None
        try:
            opened[name] = table.open()
        except Refusal as error:
            refusal = error
        if refusal is not None:
            raise refusal.within(f"{path}: [tables.{name}]")
    return opened


def require_plain_name(option: str, name: str) -> None:
    """Refuse a name that cannot stand in an address, or that looks like another."""
    if not isinstance(name, str) or NAME.fullmatch(name) is None:
        raise RefusedValue(
            option,
            Reason.MALFORMED,
            "`{option}={given}` is not a name",
            "give up to 64 letters and digits of ASCII, with - _ . or @ between them",
            given=quote(name),
        )


def _require_known(path: str, text: str, place: tuple[str, ...], written: Any, known: Collection[str]) -> None:
    for name in written:
        if name not in known:
            raise RefusedValue(
                "owner",
                Reason.UNKNOWN,
                "{path}, line {line}: {given} is not known",
                "give {known}",
                path=path,
                line=find_line(text, (*place, name)),
                given=quote(name),
                known=", ".join(sorted(known)),
            )


def _refuse_line(path: str, text: str, place: tuple[str, ...], problem: str, **facts: Any) -> RefusedValue:
    refusal = RefusedValue(
        place[-1],
        Reason.MALFORMED,
        problem,
        "see docs/server.md, or the file that `soundsum serve init` writes",
        **facts,
    )
    return refusal.within(f"{path}, line {find_line(text, place)}")


def find_line(text: str, place: tuple[str, ...]) -> int:
    """Return the line of a key, or of what is nearest above it.

    >>> find_line('[tables.a]\\ndata = "a.csv"\\nbudget = {epsilon = 1}\\n', ("tables", "a", "budget", "epsilon"))
    3
    """
    best, found = 0, 1
    current: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header, key = HEADER.match(line), KEY.match(line)
        if header is not None:
            here = current = _read_header(header[1])
        elif key is not None:
            here = (*current, key[1].strip("\"'"))
        else:
            continue
        if place[: len(here)] == here and len(here) > best:
            best, found = len(here), number
    return found


def _read_header(header: str) -> tuple[str, ...]:
    try:
        inside: Any = tomllib.loads(header)
    except tomllib.TOMLDecodeError:
        return ()
    names = []
    while isinstance(inside, dict) and inside:
        ((name, inside),) = inside.items()
        names.append(name)
    return tuple(names)


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
    """Write the file's text. Of the data, only the names and types of its columns are read."""
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
