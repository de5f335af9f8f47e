"""A ledger: a budget in an SQLite file, which any number of processes share and which outlives them.

The file is only ever appended to, each line in one BEGIN IMMEDIATE transaction that reads the sum so far, decides and
writes; there is no other state, so nothing has to be taken back when a process dies. Every operation opens the file
afresh: a connection must not survive a fork, and a ledger that was moved away must not be written to.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

from soundsum.arithmetic.rationals import as_printed
from soundsum.budget.binding import VALUES, Binding, BudgetMismatch
from soundsum.budget.book import Book, BookLine, Entry, Kind, refuse_closed
from soundsum.budget.limit import Limit
from soundsum.data.paths import expand
from soundsum.privacy.cost import Cost, exact_text

PATIENCE = 5.0  # seconds to wait for another process's transaction, which takes milliseconds
APPLICATION = int.from_bytes(b"ssum")  # marks the file's header as a ledger
VERSION = 2  # 1 did not know whom it protects
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE promise (
    epsilon TEXT, delta TEXT NOT NULL, rho TEXT,
    privacy_unit TEXT, relation TEXT NOT NULL, data TEXT, max_failures INTEGER NOT NULL
);
CREATE TABLE lines (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL, about INTEGER, what TEXT NOT NULL,
    epsilon TEXT, delta TEXT, rho TEXT,
    total_epsilon TEXT, total_delta TEXT NOT NULL, total_rho TEXT  -- spent after this line
);
CREATE INDEX failures ON lines (number) WHERE kind = 'failure';
CREATE INDEX reopenings ON lines (number) WHERE kind = 'reopen';
"""


@dataclass(frozen=True)
class Terms:
    """What a ledger was made for."""

    limit: Limit
    binding: Binding
    max_failures: int


class Ledger:
    """Charges in a file, which processes share."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        terms: Terms | None,
        binding: Binding | None = None,
        max_failures: int | None = None,
    ) -> None:
        """Open the ledger, or start it where there is none and its terms are given.

        `binding` and `max_failures` are insisted on where they are given.
        """
        self.path = Path(os.path.abspath(expand(path)))
        if terms is not None and not os.path.lexists(self.path):
            _create(self.path, terms)
        with _transaction(self.path) as db:
            own, _ = _check(db, self.path)
        self.limit, self.max_failures = own.limit, own.max_failures
        self.binding: Binding | None = own.binding
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise _unwritable(self.path)  # now, rather than after the first sum
        if terms is not None and not _same(terms.limit, self.limit):
            raise ValueError(
                f"there is a ledger already at {self.path}, with {self.limit} and not {terms.limit}; "
                "give its path alone to go on with it, or another path for a new one"
            )
        if binding is not None and binding != self.binding:
            raise BudgetMismatch(
                f"there is a ledger already at {self.path}, for {self.binding} and not for {binding}; "
                "give its path alone to go on with it, or another path for a new one"
            )
        if max_failures not in (None, self.max_failures):
            raise ValueError(
                f"there is a ledger already at {self.path}, which closes after {self.max_failures} failed reads and "
                f"not {max_failures}; give its path alone to go on with it, or another path for a new one"
            )

    def spent(self) -> Cost:
        with _transaction(self.path, "DEFERRED") as db:
            return _spent(db, self.limit)

    def entries(self) -> list[Entry]:
        with _transaction(self.path, "DEFERRED") as db:
            return list(_read_book(db, _terms(db)).entries.values())

    def failures(self) -> int:
        with _transaction(self.path, "DEFERRED") as db:
            return _failures(db)

    def charge(self, cost: Cost, what: str, binding: Binding) -> int:
        """Write the charge down for good, or raise and write nothing. Once this returns, data may be read."""
        with _transaction(self.path) as db:
            terms, spent = _terms(db), _spent(db, self.limit)
            if binding.privacy_unit == VALUES:
                raise BudgetMismatch(
                    "ids given as values have no name that a ledger could know again; nothing was charged: name the "
                    f"column of ids, or use a budget in memory (the release was: {what})"
                )
            terms.binding.require(binding, what)
            if (failures := _failures(db)) >= terms.max_failures:
                raise refuse_closed(failures, what, cost, terms.limit.left(spent))
            return _write(db, "charge", None, what, cost, terms.limit.after(spent, cost, what))

    def note(self, kind: Kind, about: int | None, what: str) -> None:
        """Write down what became of a charge, or that the ledger is open again."""
        with _transaction(self.path) as db:
            terms = _terms(db)
            if kind == "release" and about is not None and _is_fresh(db, about):
                _write(db, kind, about, what, None, _spent(db, terms.limit))
                return
            book = _read_book(db, terms)
            book.add(BookLine(0, datetime.now(UTC), kind, about, what, None))
            _write(db, kind, about, what, None, book.spent)


@dataclass(frozen=True)
class Reading:
    """A ledger, read: what it was made for, what is spent, every charge, and how many reads failed since reopening."""

    terms: Terms
    spent: Cost
    entries: list[Entry]
    failures: int


def read(path: str | os.PathLike[str]) -> Reading:
    """Everything in a ledger, checked; the file may be read-only."""
    where = Path(os.path.abspath(expand(path)))
    with _transaction(where, "DEFERRED") as db:
        terms, book = _check(db, where)
    return Reading(terms, book.spent, list(book.entries.values()), book.failures)


def bind(path: str | os.PathLike[str], binding: Binding, max_failures: int = 1) -> None:
    """Say what an old ledger, which does not know it, was for; its charges are kept."""
    where = Path(os.path.abspath(expand(path)))
    with _transaction(where) as db:
        if db.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
            raise _not_a_ledger(where)
        if db.execute("PRAGMA user_version").fetchone() != (1,):
            raise ValueError(f"{where} is bound already, to {_terms(db).binding}; a ledger is bound once")
        ((epsilon, delta, rho),) = db.execute("SELECT epsilon, delta, rho FROM promise")
        amounts = "epsilon, delta, rho, total_epsilon, total_delta, total_rho"
        charges = db.execute(f"SELECT number, at, what, {amounts} FROM charges ORDER BY number").fetchall()
        for table in ("promise", "charges"):
            db.execute(f"DROP TABLE {table}")
        terms = Terms(Limit.of(epsilon, Fraction(delta), rho), binding, max_failures)
        _lay_out(db, terms)
        for number, at, what, *costs in charges:
            row = (number, at, "charge", None, what, *costs)
            db.execute("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        _check(db, where)


@contextmanager
def _transaction(path: Path, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """All that is done inside happens at the end, or, on any exception or death before that, not at all.

    synchronous = EXTRA, because under FULL a power cut just after a commit can bring the deleted journal back, and with
    it undo a charge whose release is out.
    """
    try:
        link = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None)
        with closing(link) as db:  # closing rolls back what is not committed
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute(f"BEGIN {kind}")
            yield db
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise _explain(path, error) from error


def _create(path: Path, terms: Terms) -> None:
    """Start a ledger, whole or not at all: written beside its place, then linked there unless another came first."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory; make it first, then start {path.name} in it")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        with _transaction(draft) as db:
            _lay_out(db, terms)
        with suppress(FileExistsError):
            os.link(draft, path)
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(
            f"a ledger cannot be started at {path}: {reason}; give a path on a local disk you may write to"
        ) from error
    finally:
        with suppress(FileNotFoundError):
            draft.unlink()


def _lay_out(db: sqlite3.Connection, terms: Terms) -> None:
    """The tables of an empty ledger."""
    for statement in SCHEMA.split(";\n")[:-1]:
        db.execute(statement)
    binding = terms.binding
    row = (*_texts(terms.limit), binding.privacy_unit, str(binding.relation), binding.data, terms.max_failures)
    db.execute("INSERT INTO promise VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _check(db: sqlite3.Connection, path: Path) -> tuple[Terms, Book]:
    """What the ledger says, once the file is known to be a ledger, whole, and adding up."""
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise _not_a_ledger(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == 1:
        raise ValueError(
            f"{path} is of a format that does not say whom it protects; say it once with soundsum budget bind "
            f"{path.name} --privacy-unit COLUMN (or without, for records), --relation and --data"
        )
    if version != VERSION:
        raise ValueError(
            f"{path} has the ledger format {version}, this soundsum knows {VERSION}; use the newer soundsum"
        )
    whole = db.execute("PRAGMA quick_check").fetchone() == ("ok",)
    try:
        terms = _terms(db)
        book = _read_book(db, terms)
        if whole and book.spent == _spent(db, terms.limit):
            return terms, book
    except (ValueError, TypeError, ZeroDivisionError, AssertionError):
        pass  # what is written there is no number, or no date, or cannot follow what is before it
    raise _damage_error(path)


def _terms(db: sqlite3.Connection) -> Terms:
    columns = "epsilon, delta, rho, privacy_unit, relation, data, max_failures"
    (row,) = db.execute(f"SELECT {columns} FROM promise")
    return _read_terms(*row)


@lru_cache(maxsize=64)
def _read_terms(epsilon: str | None, delta: str, rho: str | None, *rest: Any) -> Terms:
    *binding, most = rest
    return Terms(Limit.of(epsilon, Fraction(delta), rho), Binding(*binding), most)


def _read_book(db: sqlite3.Connection, terms: Terms) -> Book:
    book = Book(terms.limit, terms.max_failures)
    rows = db.execute("SELECT number, at, kind, about, what, epsilon, delta, rho FROM lines ORDER BY number")
    for number, at, kind, about, what, *cost in rows:
        own = None if kind != "charge" else Cost(*cost)
        book.add(BookLine(number, datetime.fromisoformat(at), kind, about, what, own))
    return book


def _spent(db: sqlite3.Connection, limit: Limit) -> Cost:
    last = "SELECT total_epsilon, total_delta, total_rho FROM lines ORDER BY number DESC LIMIT 1"
    row = db.execute(last).fetchone()
    return Cost(*row) if row else limit.nothing


def _is_fresh(db: sqlite3.Connection, number: int) -> bool:
    """Whether this is a charge of which nothing has become yet, asked without reading every line."""
    after = "SELECT count(*) FROM lines WHERE number > ? AND about = ?"  # as every line about it is
    query = f"SELECT (SELECT kind FROM lines WHERE number = ?), ({after})"
    return bool(db.execute(query, (number, number, number)).fetchone() == ("charge", 0))


def _failures(db: sqlite3.Connection) -> int:
    """How many reads failed since the ledger was last reopened."""
    reopened = "SELECT coalesce(max(number), 0) FROM lines WHERE kind = 'reopen'"
    query = f"SELECT count(*) FROM lines WHERE kind = 'failure' AND number > ({reopened})"
    failures: int
    (failures,) = db.execute(query).fetchone()
    return failures


def _write(db: sqlite3.Connection, kind: Kind, about: int | None, what: str, cost: Cost | None, total: Cost) -> int:
    costs = [None, None, None] if cost is None else _texts(cost)
    row = (datetime.now(UTC).isoformat(), kind, about, what, *costs, *_texts(total))
    number = db.execute("INSERT INTO lines VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row).lastrowid
    assert number is not None
    return number


def _same(one: Limit, other: Limit) -> bool:
    """Whether two totals are the same, one perhaps written with a float's binary value."""
    pairs = ((one.epsilon, other.epsilon), (one.delta, other.delta), (one.rho, other.rho))
    return all(a == b or (a is not None and b is not None and as_printed(a) == as_printed(b)) for a, b in pairs)


def _texts(amounts: Cost | Limit) -> list[str | None]:
    return [exact_text(amounts.epsilon), exact_text(amounts.delta), exact_text(amounts.rho)]


def _not_a_ledger(path: Path) -> ValueError:
    return ValueError(f"{path} is not a soundsum ledger; give the path of one, or make one: soundsum budget create")


def _damage_error(path: Path) -> ValueError:
    return ValueError(
        f"{path} is not a soundsum ledger, or is damaged; nothing was charged: keep the file, "
        "and treat its budget as spent unless a copy shows every charge"
    )


def _unwritable(path: Path) -> PermissionError:
    return PermissionError(
        f"{path} cannot be written to; nothing was charged: make the file and its directory writable"
    )


def _explain(path: Path, error: sqlite3.Error) -> Exception:
    """What SQLite said, as one line with the remedy."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return TimeoutError(
            f"{path} was locked by another process for {PATIENCE:g} seconds; nothing was charged: "
            "try again, or end that process"
        )
    if name.startswith("SQLITE_READONLY"):
        return _unwritable(path)
    if name.startswith("SQLITE_CANTOPEN"):
        if not path.exists():
            return FileNotFoundError(
                f"there is no ledger at {path}; make one: soundsum budget create, or Budget with its total and the path"
            )
        if path.is_dir():
            return _not_a_ledger(path)
        return PermissionError(
            f"{path} cannot be opened; nothing was charged: it must be a file, writable like its directory"
        )
    if name.startswith("SQLITE_NOTADB"):
        return _not_a_ledger(path)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_MISMATCH")):
        return _damage_error(path)
    return OSError(f"{path}: {error}; nothing was released: mend that and look at the ledger before trying again")
