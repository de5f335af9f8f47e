"""The tables of a ledger: whose budget it is, and its lines, each with everything that is spent after it.

A line is understood only if it follows from the one before it. Whatever does not is refused as damage.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from soundsum.budget.history import OUTCOMES, Asker, Entry, History, Kind, State, Tally
from soundsum.budget.ledger_file import refuse_damaged, refuse_other_file
from soundsum.budget.limit import Limit
from soundsum.budget.query import Query
from soundsum.budget.scope import Binding
from soundsum.budget.shares import TABLES, follow_questions
from soundsum.numbers.quoting import printed
from soundsum.privacy.cost import Cost, exact_text, read_cost
from soundsum.randomness import random_bytes
from soundsum.refusals import Reason, RefusedValue

APPLICATION = int.from_bytes(b"ssum")  # marks the file's header as a ledger
VERSION = 4
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE promise (
    id TEXT NOT NULL,  -- drawn when the ledger is made, so that another file in its place is noticed
    epsilon TEXT, delta TEXT NOT NULL, rho TEXT,
    privacy_unit TEXT, relation TEXT NOT NULL, data TEXT, max_failures INTEGER NOT NULL
);
CREATE TABLE lines (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, kind TEXT NOT NULL, about INTEGER,
    what TEXT, query TEXT,  -- one of them: a note, or the query that a charge is for
    epsilon TEXT, delta TEXT, rho TEXT,
    total_epsilon TEXT, total_delta TEXT NOT NULL, total_rho TEXT,  -- spent after this line
    failures INTEGER NOT NULL  -- since the ledger was last reopened, after this line
);
CREATE INDEX outcomes ON lines (about) WHERE about IS NOT NULL;
{TABLES}"""
UNREADABLE = (ValueError, TypeError, ZeroDivisionError, AssertionError, LookupError)
"""An entry is not a number or a date, or cannot follow the one before it."""

WRITTEN = "(SELECT seq FROM sqlite_sequence WHERE name = 'lines')"
LINE = "number, at, kind, about, what, query, epsilon, delta, rho, total_epsilon, total_delta, total_rho, failures"


@dataclass(frozen=True)
class Terms:
    """The terms a ledger was created with."""

    limit: Limit
    binding: Binding
    max_failures: int


@dataclass(frozen=True)
class Identity:
    """A ledger's identity: a number drawn when it was made, and the data and unit it was made for."""

    id: str
    terms: Terms


def lay_out(db: sqlite3.Connection, terms: Terms) -> None:
    """The tables of an empty ledger."""
    _make_tables(db)
    binding = terms.binding
    whom = (binding.privacy_unit, str(binding.relation), binding.data)
    row = (random_bytes(16).hex(), *_texts(terms.limit), *whom, terms.max_failures)
    db.execute("INSERT INTO promise VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def _make_tables(db: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";\n")[:-1]:
        db.execute(statement)


@lru_cache(maxsize=1)
def _own_tables() -> list[Any]:
    with closing(sqlite3.connect(":memory:")) as db:
        _make_tables(db)
        return _list_tables(db)


def _list_tables(db: sqlite3.Connection) -> list[Any]:
    """Every table, index, view and trigger, beside statistics that SQLite keeps of them."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name"
    return db.execute(query).fetchall()


def identify(db: sqlite3.Connection, path: Path) -> Identity:
    """Reads the ledger's identity, once the file is known to have this format."""
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise refuse_other_file(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise RefusedValue(
            "path",
            Reason.UNSUPPORTED,
            "{path} has the ledger format {found}, this soundsum knows {known}",
            "use the newer soundsum",
            path=printed(str(path)),
            found=version,
            known=VERSION,
        )
    if version != VERSION:
        raise RefusedValue(
            "path",
            Reason.UNSUPPORTED,
            "{path} has the ledger format {found}, and this soundsum knows {known} alone; nothing was charged:",
            "keep the file, see with the soundsum that made it what is left, and start a new ledger with that",
            path=printed(str(path)),
            found=version,
            known=VERSION,
        )
    try:
        if _list_tables(db) == _own_tables():
            columns = "id, epsilon, delta, rho, privacy_unit, relation, data, max_failures"
            ((own, *row),) = db.execute(f"SELECT {columns} FROM promise")
            return Identity(own, _read_terms(*row))
    except UNREADABLE:
        pass
    raise refuse_damaged(path)


@lru_cache(maxsize=64)
def _read_terms(epsilon: str | None, delta: str, rho: str | None, *rest: Any) -> Terms:
    *binding, most = rest
    return Terms(Limit.of(epsilon, Fraction(delta), rho), Binding(*binding), most)


@dataclass(frozen=True)
class LedgerLine:
    """A line as it is written."""

    number: int
    at: datetime
    kind: Kind
    about: int | None
    asked: Query | str
    cost: Cost | None  # of a charge
    tally: Tally

    @property
    def entry(self) -> Entry:
        """The charge that it is."""
        assert self.cost is not None
        return Entry(self.number, self.at, self.asked, self.cost, by_rho=self.tally.spent.rho is not None)


@lru_cache(maxsize=256)  # the last ones are read in every transaction
def _read_line(row: tuple[Any, ...]) -> LedgerLine:
    number, at, kind, about, what, query, *amounts, failures = row
    if (what is None) == (query is None) or (kind == "charge") != (amounts[1] is not None):
        raise ValueError("a line is about one thing, and a charge has a cost")
    asked = what if query is None else _read_query(query)
    own = read_cost(*amounts[:3]) if kind == "charge" else None
    return LedgerLine(
        number, datetime.fromisoformat(at), kind, about, asked, own, Tally(read_cost(*amounts[3:]), failures)
    )


@lru_cache(maxsize=256)  # the same is asked again and again
def _read_query(text: str) -> Query:
    return Query.from_json(json.loads(text))


@dataclass(frozen=True)
class Tip:
    """The number of the last line, and what all lines amount to by what it says."""

    number: int
    tally: Tally


def read_tip(db: sqlite3.Connection, path: Path, terms: Terms) -> Tip:
    """The last line, if it follows from the one before and is the last that was written."""
    start = Tip(0, Tally(terms.limit.nothing))
    try:
        rows = db.execute(f"SELECT {LINE}, {WRITTEN} FROM lines ORDER BY number DESC LIMIT 2").fetchall()
        written = rows[0][-1] if rows else read_last_number(db)
        if not rows and not written:
            return start
        last, *before = (_read_line(row[:-1]) for row in rows)
        previous = Tip(before[0].number, before[0].tally) if before else start
        charge = last.entry if last.kind == "charge" else find_charge(db, last.about)
        follows = previous.tally.after(terms.limit, last.kind, charge)
        if written == last.number == previous.number + 1 and last.tally == follows:
            return Tip(last.number, last.tally)
    except UNREADABLE:
        pass
    raise refuse_damaged(path)


def follow_own(db: sqlite3.Connection, tip: Tip) -> Tip:
    """The last line after this very transaction has written more, which it need not doubt."""
    query = "SELECT number, total_epsilon, total_delta, total_rho, failures FROM lines ORDER BY number DESC LIMIT 1"
    row = db.execute(query).fetchone()
    return tip if row is None else Tip(row[0], Tally(read_cost(*row[1:4]), row[4]))


def read_last_number(db: sqlite3.Connection) -> Any:
    """The number of the last line there has ever been."""
    (written,) = db.execute(f"SELECT {WRITTEN}").fetchone()
    return written or 0


@dataclass(frozen=True)
class LedgerRows:
    """Every line, and every analyst's question, as they are written.

    They are understood after the transaction, which keeps others from writing.
    """

    lines: list[Any]
    questions: list[Any]


def fetch_rows(db: sqlite3.Connection) -> LedgerRows:
    questions = db.execute("SELECT * FROM questions ORDER BY line").fetchall()
    return LedgerRows(db.execute(f"SELECT {LINE} FROM lines ORDER BY number").fetchall(), questions)


def find_charge(db: sqlite3.Connection, number: int | None) -> Entry | None:
    """A charge as it stands, found without reading other lines; None if there is none of this number."""
    rows = fetch_charges(db, [number])
    return read_charge(rows[0]) if rows else None


def fetch_charges(db: sqlite3.Connection, numbers: Sequence[int | None]) -> list[Any]:
    """The charges of these numbers as they are written, each with the last that became of it."""
    found = []
    for number in numbers:
        became = "SELECT kind FROM lines WHERE about = ?1 ORDER BY number DESC LIMIT 1"
        query = f"SELECT ({became}), {LINE} FROM lines WHERE number = ?1 AND kind = 'charge'"
        row = db.execute(query, (number,)).fetchone()
        if row is not None:
            found.append(row)
    return found


def read_charge(fetched: tuple[Any, ...]) -> Entry:
    """Understand a charge as it stands."""
    became, *row = fetched
    state: State = "charged" if became is None else OUTCOMES[became][1]
    charge = _read_line(tuple(row)).entry
    return Entry(charge.number, charge.at, charge.asked, charge.cost, state, charge.by_rho)


def read_history(rows: LedgerRows, path: Path, limit: Limit) -> History:
    """Every line, if each follows from those before it; each charge with the analyst it is for."""
    history = History(limit)
    askers = {line: Asker(analyst, source) for line, analyst, source, *_ in rows.questions}
    changes: dict[int, tuple[Kind, Entry | None]] = {}
    for number, row in enumerate(rows.lines, 1):
        try:
            line = _read_line(row)
            if line.kind == "charge":
                history.charge(replace(line.entry, asker=askers.get(number)))
            else:
                history.note(line.kind, line.about)
            about = number if line.kind == "charge" else line.about
            changes[number] = line.kind, None if about is None else history.entries[about]
            follows = line.number == number and line.tally == history.tally
        except UNREADABLE:
            follows = False
        if not follows:
            raise refuse_damaged(path, f" (line {number:,} does not follow from those before it)")
    try:
        follows = follow_questions(rows.questions, changes, limit)
    except UNREADABLE:
        follows = False
    if not follows:
        raise refuse_damaged(path, " (what analysts have spent does not follow from the lines)")
    return history


def write_line(
    db: sqlite3.Connection, kind: Kind, about: int | None, asked: Query | str, cost: Cost | None, tally: Tally
) -> int:
    costs = [None, None, None] if cost is None else _texts(cost)
    what, query = (asked, None) if isinstance(asked, str) else (None, asked.text)
    row = (datetime.now(UTC).isoformat(), kind, about, what, query, *costs, *_texts(tally.spent), tally.failures)
    number = db.execute(f"INSERT INTO lines VALUES (NULL{', ?' * len(row)})", row).lastrowid
    assert number is not None
    return number


def _texts(amounts: Cost | Limit) -> list[str | None]:
    return [exact_text(amounts.epsilon), exact_text(amounts.delta), exact_text(amounts.rho)]
