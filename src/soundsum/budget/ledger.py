"""A ledger: a budget in an SQLite file, which any number of processes share and which outlives them.

Lines are only ever added, each in one BEGIN IMMEDIATE transaction that reads the last line, decides and writes. Every
line has what is spent and how many reads failed after it, so nothing takes longer in a long ledger, and nothing has to
be taken back when a process dies. `read` goes through all lines and checks that they add up.

Every operation opens the file afresh: a connection must not survive a fork, and a ledger that was moved away or
replaced must not be written to. SQLite finds a journal by the file's name, so a ledger has one name.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from soundsum.budget.history import OUTCOMES, Book, Entry, Kind, State, Tally, change_state, refuse_closed
from soundsum.budget.limit import Limit
from soundsum.budget.query import Query
from soundsum.budget.scope import VALUES, Binding, BudgetMismatch
from soundsum.numbers.quoting import printed
from soundsum.numbers.rationals import as_printed
from soundsum.privacy.cost import Cost, exact_text
from soundsum.randomness import random_bytes
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.paths import expand

T = TypeVar("T")

PATIENCE = 5.0  # seconds to wait for another process's transaction, which takes milliseconds
APPLICATION = int.from_bytes(b"ssum")  # marks the file's header as a ledger
VERSION = 3
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
"""
BESIDE = ("-journal", "-wal", "-shm")
"""Files that SQLite keeps beside one, and finds by its name."""

UNREADABLE = (ValueError, TypeError, ZeroDivisionError, AssertionError, LookupError)
"""An entry is not a number or a date, or cannot follow the one before it."""

LINE = "number, at, kind, about, what, query, epsilon, delta, rho, total_epsilon, total_delta, total_rho, failures"


@dataclass(frozen=True)
class Terms:
    """The terms a ledger was created with."""

    limit: Limit
    binding: Binding
    max_failures: int


@dataclass(frozen=True)
class Identity:
    """Which ledger it is: what was drawn when it was made, and what it was made for."""

    id: str
    terms: Terms


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

        def look(db: sqlite3.Connection) -> tuple[Identity, int]:
            own = _identify(db, self.path)
            return own, _read_tip(db, self.path, own.terms).number

        self._own, self._lines = _transact(self.path, look)  # lines that were seen, at least
        self.limit, self.max_failures = self._own.terms.limit, self._own.terms.max_failures
        self.binding: Binding | None = self._own.terms.binding
        if not (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            raise _unwritable(self.path)  # now, rather than after the first sum
        if terms is not None and not _same(terms.limit, self.limit):
            own, asked = self.limit.to_json(), terms.limit.to_json()
            raise RefusedValue(
                next(name for name in ("rho", "epsilon", "delta") if asked[name] not in (None, own[name])),
                Reason.MISMATCH,
                "there is a ledger already at {path}, with {own} and not {asked}",
                "give its path alone to go on with it, or another path for a new one",
                path=printed(str(self.path)),
                own=str(self.limit),
                asked=str(terms.limit),
            )
        if binding is not None and binding != self._own.terms.binding:
            its_own, wanted = self._own.terms.binding.to_json(), binding.to_json()
            raise BudgetMismatch(
                next(name for name in wanted if wanted[name] != its_own[name]),
                Reason.MISMATCH,
                "there is a ledger already at {path}, for {own} and not for {asked}",
                "give its path alone to go on with it, or another path for a new one",
                path=printed(str(self.path)),
                own=str(self.binding),
                asked=str(binding),
            )
        if max_failures is not None and max_failures != self.max_failures:
            raise RefusedValue(
                "max_failures",
                Reason.MISMATCH,
                "there is a ledger already at {path}, which closes after {own} failed reads and not {asked}",
                "give its path alone to go on with it, or another path for a new one",
                path=printed(str(self.path)),
                own=self.max_failures,
                asked=max_failures,
            )

    def spent(self) -> Cost:
        return self._transact(lambda _, tally: tally.spent, "DEFERRED")

    def entries(self) -> list[Entry]:
        rows = self._transact(lambda db, _: _fetch_lines(db), "DEFERRED")
        return list(_read_book(rows, self.path, self.limit).entries.values())

    def failures(self) -> int:
        return self._transact(lambda _, tally: tally.failures, "DEFERRED")

    def charge(self, cost: Cost, what: Query | str, binding: Binding) -> int:
        """Write the charge down for good, or raise and write nothing. Once this returns, data may be read."""

        def write(db: sqlite3.Connection, tally: Tally) -> int:
            if binding.privacy_unit == VALUES:
                raise BudgetMismatch(
                    "privacy_unit",
                    Reason.UNSUPPORTED,
                    "ids given as values have no name that a ledger could know again; nothing was charged:",
                    "name the column of ids, or use a budget in memory (the release was: {release})",
                    release=str(what),
                )
            self._own.terms.binding.require(binding, what)
            if tally.failures >= self.max_failures:
                raise refuse_closed(tally.failures, what, cost, self.limit.left(tally.spent))
            after = Tally(self.limit.after(tally.spent, cost, what), tally.failures)
            return _write(db, "charge", None, what, cost, after)

        number = self._transact(write)
        self._lines = max(self._lines, number)
        return number

    def note(self, kind: Kind, about: int | None, what: str) -> None:
        """Write down what became of a charge, or that the ledger is open again."""

        def write(db: sqlite3.Connection, tally: Tally) -> int:
            charge = None if kind == "reopen" else change_state(_find_charge(db, about), kind, about)
            return _write(db, kind, about, what, None, tally.after(self.limit, kind, charge))

        self._lines = max(self._lines, self._transact(write))

    def _transact(self, act: Callable[[sqlite3.Connection, Tally], T], kind: str = "IMMEDIATE") -> T:
        """Act in a transaction on the very ledger that was opened, knowing what its lines amount to."""

        def require_own(db: sqlite3.Connection) -> T:
            if _identify(db, self.path) != self._own:
                raise _replaced(self.path, "another file is in its place; nothing was charged")
            tip = _read_tip(db, self.path, self._own.terms)
            if tip.number < self._lines:
                raise _replaced(self.path, "an older copy is in its place; nothing was charged")
            return act(db, tip.tally)

        return _transact(self.path, require_own, kind)


@dataclass(frozen=True)
class Reading:
    """A ledger, read: what it was made for, what is spent, every charge, and how many reads failed since reopening."""

    terms: Terms
    spent: Cost
    entries: list[Entry]
    failures: int


def read(path: str | os.PathLike[str]) -> Reading:
    """Everything in a ledger, checked from the first line to the last; the file may be read-only."""
    where = Path(os.path.abspath(expand(path)))

    def fetch(db: sqlite3.Connection) -> tuple[Terms, list[Any], int]:
        terms = _identify(db, where).terms
        if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
            raise _damage_error(where)
        return terms, _fetch_lines(db), _last_written(db)

    terms, rows, written = _transact(where, fetch, "DEFERRED")
    book = _read_book(rows, where, terms.limit)
    if written != len(rows):
        raise _damage_error(where)
    return Reading(terms, book.tally.spent, list(book.entries.values()), book.tally.failures)


def _transact(path: Path, act: Callable[[sqlite3.Connection], T], kind: str = "IMMEDIATE") -> T:
    """Do all of an act at the end, or, on any exception or death before that, nothing of it.

    synchronous = EXTRA, because under FULL a power cut just after a commit can bring the deleted journal back, and with
    it undo a charge whose release is out. It is a function and no context manager, as whatever such a manager raises
    for an error inside it has that error as its context.
    """
    failure: Exception | None = None
    before = _require_one_name(path)
    try:
        link = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=PATIENCE, isolation_level=None)
        with closing(link) as db:  # closing rolls back what is not committed
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute(f"BEGIN {kind}")
            if db.execute("PRAGMA journal_mode").fetchone() != ("delete",):
                raise RefusedValue(
                    "path",
                    Reason.UNSUPPORTED,
                    "{path} has a write-ahead log, a second file that holds charges; nothing was charged:",
                    "with the sqlite3 command, run PRAGMA journal_mode = DELETE on it",
                    path=printed(str(path)),
                )
            done = act(db)
            db.execute("COMMIT")
    except sqlite3.Error as error:
        failure = _explain(path, error)
    if failure is not None:
        raise failure
    if _require_one_name(path) != before:
        raise _replaced(path, "it was replaced just now; nothing was released")
    return done


def _require_one_name(path: Path) -> tuple[int, int] | None:
    """Which file it is, if it is one with a single name; None if that cannot be known."""
    try:
        found = os.stat(path)
    except OSError:
        return None  # SQLite will say why
    if not stat.S_ISREG(found.st_mode):
        raise _not_a_ledger(path)
    if found.st_nlink > 1:
        _remove_drafts(path, found)
        found = os.stat(path)
    if found.st_nlink > 1:
        raise RefusedValue(
            "path",
            Reason.UNSOUND,
            "{path} has {names} names (hard links), and a charge through one can be undone through another; "
            "nothing was charged:",
            "remove the other names (find -samefile lists them); for a backup, copy the file",
            path=printed(str(path)),
            names=found.st_nlink,
        )
    return found.st_dev, found.st_ino


def _remove_drafts(path: Path, ledger: os.stat_result) -> None:
    """Finish what a process began that is making this ledger, or died at it: the draft's name is a second one."""
    place = Path(os.path.realpath(path))
    for draft in place.parent.glob(f".{_literal(place.name)}.*.new"):
        with suppress(FileNotFoundError):
            if os.path.samestat(os.lstat(draft), ledger):
                draft.unlink()


def _literal(name: str) -> str:
    """A name as a pattern that only itself matches."""
    return "".join(f"[{one}]" if one in "*?[" else one for one in name)


def _create(path: Path, terms: Terms) -> None:
    """Start a ledger, whole or not at all: written beside its place, then linked there unless another came first."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory; make it first, then start {path.name} in it")
    for beside in (path.with_name(path.name + ending) for ending in BESIDE):
        if os.path.lexists(beside) and not os.path.lexists(path):
            raise FileExistsError(
                f"{beside} is left of another ledger, and would be taken for a part of the new one; put that ledger "
                "back in its place, or move this file away"
            )
    draft = path.with_name(f".{path.name}.{random_bytes(8).hex()}.new")
    try:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        _transact(draft, lambda db: _lay_out(db, terms))
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


def _identify(db: sqlite3.Connection, path: Path) -> Identity:
    """Which ledger it is, once the file is known to be one of this format."""
    if db.execute("PRAGMA application_id").fetchone() != (APPLICATION,):
        raise _not_a_ledger(path)
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
    raise _damage_error(path)


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


def _read_line(row: tuple[Any, ...]) -> LedgerLine:
    number, at, kind, about, what, query, *amounts, failures = row
    if (what is None) == (query is None) or (kind == "charge") != (amounts[1] is not None):
        raise ValueError("a line is about one thing, and a charge has a cost")
    asked = what if query is None else Query.from_json(json.loads(query))
    own = Cost(*amounts[:3]) if kind == "charge" else None
    return LedgerLine(number, datetime.fromisoformat(at), kind, about, asked, own, Tally(Cost(*amounts[3:]), failures))


@dataclass(frozen=True)
class Tip:
    """The number of the last line, and what all lines amount to by what it says."""

    number: int
    tally: Tally


def _read_tip(db: sqlite3.Connection, path: Path, terms: Terms) -> Tip:
    """The last line, if it follows from the one before and is the last that was written."""
    start = Tip(0, Tally(terms.limit.nothing))
    try:
        rows = db.execute(f"SELECT {LINE} FROM lines ORDER BY number DESC LIMIT 2").fetchall()
        written = _last_written(db)
        if not rows and not written:
            return start
        last, *before = map(_read_line, rows)
        previous = Tip(before[0].number, before[0].tally) if before else start
        charge = last.entry if last.kind == "charge" else _find_charge(db, last.about)
        follows = previous.tally.after(terms.limit, last.kind, charge)
        if written == last.number == previous.number + 1 and last.tally == follows:
            return Tip(last.number, last.tally)
    except UNREADABLE:
        pass
    raise _damage_error(path)


def _last_written(db: sqlite3.Connection) -> Any:
    """The number of the last line there has ever been."""
    (written,) = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'lines'").fetchone() or (0,)
    return written


def _fetch_lines(db: sqlite3.Connection) -> list[Any]:
    """Every line as it is written. They are understood after the transaction, which keeps others from writing."""
    return db.execute(f"SELECT {LINE} FROM lines ORDER BY number").fetchall()


def _find_charge(db: sqlite3.Connection, number: int | None) -> Entry | None:
    """A charge as it stands, found without reading other lines; None if there is none of this number."""
    row = db.execute(f"SELECT {LINE} FROM lines WHERE number = ? AND kind = 'charge'", (number,)).fetchone()
    if row is None:
        return None
    about = "SELECT kind FROM lines WHERE about = ? ORDER BY number DESC LIMIT 1"
    (became,) = db.execute(about, (number,)).fetchone() or (None,)
    state: State = "charged" if became is None else OUTCOMES[became][1]
    charge = _read_line(row).entry
    return Entry(charge.number, charge.at, charge.asked, charge.cost, state, charge.by_rho)


def _read_book(rows: list[Any], path: Path, limit: Limit) -> Book:
    """Every line, if each follows from those before it."""
    book = Book(limit)
    for number, row in enumerate(rows, 1):
        try:
            line = _read_line(row)
            if line.kind == "charge":
                book.charge(line.entry)
            else:
                book.note(line.kind, line.about)
            follows = line.number == number and line.tally == book.tally
        except UNREADABLE:
            follows = False
        if not follows:
            raise _damage_error(path, f" (line {number:,} does not follow from those before it)")
    return book


def _write(
    db: sqlite3.Connection, kind: Kind, about: int | None, asked: Query | str, cost: Cost | None, tally: Tally
) -> int:
    costs = [None, None, None] if cost is None else _texts(cost)
    what, query = (asked, None) if isinstance(asked, str) else (None, asked.text)
    row = (datetime.now(UTC).isoformat(), kind, about, what, query, *costs, *_texts(tally.spent), tally.failures)
    number = db.execute(f"INSERT INTO lines VALUES (NULL{', ?' * len(row)})", row).lastrowid
    assert number is not None
    return number


def _same(one: Limit, other: Limit) -> bool:
    """Whether two totals are the same, one perhaps written with a float's binary value."""
    pairs = ((one.epsilon, other.epsilon), (one.delta, other.delta), (one.rho, other.rho))
    return all(a == b or (a is not None and b is not None and as_printed(a) == as_printed(b)) for a, b in pairs)


def _texts(amounts: Cost | Limit) -> list[str | None]:
    return [exact_text(amounts.epsilon), exact_text(amounts.delta), exact_text(amounts.rho)]


def _not_a_ledger(path: Path) -> RefusedValue:
    return RefusedValue(
        "path",
        Reason.UNREADABLE,
        "{path} is not a soundsum ledger",
        "give the path of one, or make one: `soundsum budget create`",
        path=printed(str(path)),
    )


def _replaced(path: Path, how: str) -> RefusedValue:
    return RefusedValue(
        "path",
        Reason.MISMATCH,
        "{path} is not the ledger that was opened: {how}:",
        "put the right file back, or open the one that is there now with `Budget(path=...)`",
        path=printed(str(path)),
        how=how,
    )


def _damage_error(path: Path, where: str = "") -> RefusedValue:
    return RefusedValue(
        "path",
        Reason.UNREADABLE,
        "{path} is not a soundsum ledger, or is damaged{where}; nothing was charged:",
        "keep the file, and treat its budget as spent unless a copy shows every charge",
        path=printed(str(path)),
        where=where,
    )


def _unwritable(path: Path) -> PermissionError:
    return PermissionError(
        f"{path} cannot be written to; nothing was charged: make the file and its directory writable"
    )


def _explain(path: Path, error: sqlite3.Error) -> Exception:
    """Describe SQLite's error in one line, with the remedy."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return TimeoutError(
            f"{path} was locked by another process for {PATIENCE:g} seconds; nothing was charged: "
            "try again, or end that process"
        )
    if name.startswith("SQLITE_READONLY"):
        return _unwritable(path)
    if name.startswith("SQLITE_CANTOPEN"):
        with suppress(PermissionError):  # of a directory that may not be looked into
            if not path.exists():
                return FileNotFoundError(
                    f"there is no ledger at {path}; make one: soundsum budget create, or Budget with its total and "
                    "the path"
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
