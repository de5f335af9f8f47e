"""Where charges are written down: in memory for one process, or in an SQLite file for many.

The file is only ever appended to, each charge in one BEGIN IMMEDIATE transaction that reads the sum so far, decides and
writes; there is no other state, so nothing has to be taken back when a process dies. Every operation opens the file
afresh: a connection must not survive a fork, and a ledger that was moved away must not be written to.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from soundsum.budget.limit import Limit
from soundsum.privacy.cost import Cost, exact_text

PATIENCE = 5.0  # seconds to wait for another process's transaction, which takes milliseconds
APPLICATION = int.from_bytes(b"ssum")  # marks the file's header as a ledger
VERSION = 1
SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE promise (epsilon TEXT, delta TEXT NOT NULL, rho TEXT);
CREATE TABLE charges (
    number INTEGER PRIMARY KEY, at TEXT NOT NULL, what TEXT NOT NULL,
    epsilon TEXT, delta TEXT NOT NULL, rho TEXT,
    total_epsilon TEXT, total_delta TEXT NOT NULL, total_rho TEXT  -- of this charge and all before it
);
"""


@dataclass(frozen=True)
class Entry:
    """One charge: when, for what, how much."""

    at: datetime
    what: str
    cost: Cost


class MemoryStore:
    """Charges of one process, which its threads share."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self._entries: list[Entry] = []
        self._spent = limit.nothing
        self._lock = threading.Lock()
        self._process = os.getpid()

    def spent(self) -> Cost:
        return self._spent

    def entries(self) -> list[Entry]:
        return list(self._entries)

    def charge(self, cost: Cost, what: str) -> None:
        """Write the charge down, or raise and write nothing."""
        if os.getpid() != self._process:  # a fork
            raise _second_process()
        with self._lock:
            self._spent = self.limit.after(self._spent, cost, what)
            self._entries.append(Entry(datetime.now(UTC), what, cost))

    def __reduce__(self) -> tuple[Any, ...]:
        raise _second_process()


def _second_process() -> TypeError:
    return TypeError("a budget in memory is for one process, a copy could be spent twice; give the budget a path=")


class Ledger:
    """Charges in a file, which processes share."""

    def __init__(self, path: str | os.PathLike[str], limit: Limit | None) -> None:
        """Open the ledger, or start it where there is none and the limit is given."""
        self.path = Path(os.path.abspath(path))
        if limit is not None and not os.path.lexists(self.path):
            _create(self.path, limit)
        with _transaction(self.path) as db:
            self.limit = _check(db, self.path)[0]
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise _unwritable(self.path)  # now, rather than after the first sum
        if limit not in (None, self.limit):
            raise ValueError(
                f"{self.path} promises {self.limit}, not {limit}; leave the total out to go on with it, "
                "or give another path"
            )

    def spent(self) -> Cost:
        with _transaction(self.path, "DEFERRED") as db:
            return _spent(db, self.limit)

    def entries(self) -> list[Entry]:
        with _transaction(self.path, "DEFERRED") as db:
            return _entries(db)

    def charge(self, cost: Cost, what: str) -> None:
        """Write the charge down for good, or raise and write nothing. Once this returns, noise may be drawn."""
        with _transaction(self.path) as db:
            limit = _limit(db)
            total = limit.after(_spent(db, limit), cost, what)
            row = (datetime.now(UTC).isoformat(), what, *_texts(cost), *_texts(total))
            db.execute("INSERT INTO charges VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def read(path: str | os.PathLike[str]) -> tuple[Limit, Cost, list[Entry]]:
    """A ledger's limit, what is spent of it, and the charges, checked; the file may be read-only."""
    where = Path(os.path.abspath(path))
    with _transaction(where, "DEFERRED") as db:
        return _check(db, where)


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


def _create(path: Path, limit: Limit) -> None:
    """Start a ledger, whole or not at all: written beside its place, then linked there unless another came first."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory; make it first, then start {path.name} in it")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        with _transaction(draft) as db:
            for statement in SCHEMA.split(";\n")[:-1]:
                db.execute(statement)
            db.execute("INSERT INTO promise VALUES (?, ?, ?)", _texts(limit))
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


def _check(db: sqlite3.Connection, path: Path) -> tuple[Limit, Cost, list[Entry]]:
    """What the ledger says, once the file is known to be a ledger, whole, and adding up."""
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise ValueError(f"{path} is not a soundsum ledger; give the path of one, or of a file that does not exist yet")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        raise ValueError(
            f"{path} has the ledger format {version}, this soundsum knows {VERSION}; use the newer soundsum"
        )
    whole = db.execute("PRAGMA quick_check").fetchone() == ("ok",)
    try:
        limit, entries = _limit(db), _entries(db)
        spent = limit.nothing
        for entry in entries:
            spent = limit.plus(spent, entry.cost)
        if whole and spent == _spent(db, limit):
            return limit, spent, entries
    except (ValueError, TypeError, ZeroDivisionError):
        pass  # what is written there is no number, or no date
    raise _damage_error(path)


def _limit(db: sqlite3.Connection) -> Limit:
    ((epsilon, delta, rho),) = db.execute("SELECT epsilon, delta, rho FROM promise")
    return Limit.of(epsilon, Fraction(delta), rho)


def _spent(db: sqlite3.Connection, limit: Limit) -> Cost:
    last = "SELECT total_epsilon, total_delta, total_rho FROM charges ORDER BY number DESC LIMIT 1"
    row = db.execute(last).fetchone()
    return Cost(*row) if row else limit.nothing


def _entries(db: sqlite3.Connection) -> list[Entry]:
    rows = db.execute("SELECT at, what, epsilon, delta, rho FROM charges ORDER BY number")
    return [Entry(datetime.fromisoformat(at), what, Cost(*cost)) for at, what, *cost in rows]


def _texts(amounts: Cost | Limit) -> list[str | None]:
    return [exact_text(amounts.epsilon), exact_text(amounts.delta), exact_text(amounts.rho)]


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
                f"there is no ledger at {path}; give the budget's total (epsilon= or rho=) to start one"
            )
        return PermissionError(
            f"{path} cannot be opened; nothing was charged: it must be a file, writable like its directory"
        )
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_MISMATCH")):
        return _damage_error(path)
    return OSError(f"{path}: {error}; nothing was released: mend that and look at the ledger before trying again")
