"""The owner's file: tables, their terms and their budgets, in TOML, in the words of `Private` and `Budget`.

Anything else in it is refused with its line. Paths are relative to the file's folder.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from soundsum.budget import Budget
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.private import Private
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
