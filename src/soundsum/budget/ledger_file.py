"""The file of a ledger: how it is made, one transaction on it, and what SQLite's errors mean for a budget.

SQLite finds a journal by the file's name, so a ledger has one name; a second one, a write-ahead log or a file that is
replaced meanwhile is refused.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from soundsum.numbers.quoting import printed
from soundsum.randomness import random_bytes
from soundsum.refusals import Reason, RefusedValue

T = TypeVar("T")

PATIENCE = 5.0  # seconds to wait for another process's transaction, which takes milliseconds
BESIDE = ("-journal", "-wal", "-shm")
"""Files that SQLite keeps beside one, and finds by its name."""


class KeptConnection:
    """A connection that stays open after a transaction, for the next one on the very same file.

    It serves the process that opened it, and a file of the same name, permissions and identity, as SQLite finds the
    journal by the name that it was opened by. It keeps what SQLite has learnt of the tables and statements, and no page
    of the file.
    """

    def __init__(self) -> None:
        self._link: sqlite3.Connection | None = None
        self._place: object = None

    def __reduce__(self) -> tuple[type[KeptConnection], tuple[()]]:
        return KeptConnection, ()  # it stays in this process

    def take(self, place: object) -> sqlite3.Connection | None:
        """The connection, if it is to this place; it is then another's to keep or to close."""
        link, self._link = self._link, None
        if link is not None and (place is None or place != self._place):
            link.close()
            link = None
        return link

    def keep(self, link: sqlite3.Connection, place: object) -> None:
        link.execute("PRAGMA shrink_memory")  # the next transaction reads every page from the file again
        self._link, self._place = link, place

    def __del__(self) -> None:
        if self._link is not None:
            self._link.close()


def transact(
    path: Path,
    act: Callable[[sqlite3.Connection], T],
    kind: str = "IMMEDIATE",
    kept: KeptConnection | None = None,
) -> T:
    """Do all of an act at the end, or, on any exception or death before that, nothing of it.

    synchronous = EXTRA, because under FULL a power cut just after a commit can bring the deleted journal back, and with
    it undo a charge whose release is out. It is a function and no context manager, as whatever such a manager raises
    for an error inside it has that error as its context.

    kept: where a connection is kept from one transaction to the next; one caller at a time may give it.
    """
    failure: Exception | None = None
    before = _require_one_name(path)
    place = None if kept is None else _find_place(path)
    link = None if kept is None else kept.take(place)
    try:
        link = link or _connect(path)
        with ExitStack() as ending:
            ending.callback(link.close)  # closing rolls back what is not committed
            db = link
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
            if _require_one_name(path) != before:  # so the connection may be to another file, and is not kept
                raise refuse_replaced(path, "it was replaced just now; nothing was released")
            if kept is not None and place is not None:
                ending.pop_all()
                kept.keep(db, place)
    except sqlite3.Error as error:
        failure = _explain(path, error)
    if failure is not None:
        raise failure
    return done


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        _find_address(path), uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
    )


def _find_place(path: Path) -> object:
    """Identify what a kept connection belongs to: this process, this name, and this file with who may write it.

    None where that cannot be known, or where an open file cannot be moved away.
    """
    if os.name != "posix":
        return None
    try:
        found = os.stat(path)
        return os.getpid(), os.path.realpath(path), found.st_dev, found.st_ino, found.st_mode, found.st_uid
    except OSError:
        return None


@lru_cache
def _find_address(path: Path) -> str:
    return f"{path.as_uri()}?mode=rw"


def _require_one_name(path: Path) -> tuple[int, int] | None:
    """Identifies the file if it has a single name; returns None where that cannot be known."""
    try:
        found = os.stat(path)
    except OSError:
        return None  # SQLite will say why
    if not stat.S_ISREG(found.st_mode):
        raise refuse_other_file(path)
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


def create_ledger(path: Path, lay_out: Callable[[sqlite3.Connection], None]) -> None:
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
        transact(draft, lay_out)
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


def refuse_other_file(path: Path) -> RefusedValue:
    return RefusedValue(
        "path",
        Reason.UNREADABLE,
        "{path} is not a soundsum ledger",
        "give the path of one, or make one: `soundsum budget create`",
        path=printed(str(path)),
    )


def refuse_replaced(path: Path, how: str) -> RefusedValue:
    return RefusedValue(
        "path",
        Reason.MISMATCH,
        "{path} is not the ledger that was opened: {how}:",
        "put the right file back, or open the one that is there now with `Budget(path=...)`",
        path=printed(str(path)),
        how=how,
    )


def refuse_damaged(path: Path, where: str = "") -> RefusedValue:
    return RefusedValue(
        "path",
        Reason.UNREADABLE,
        "{path} is not a soundsum ledger, or is damaged{where}; nothing was charged:",
        "keep the file, and treat its budget as spent unless a copy shows every charge",
        path=printed(str(path)),
        where=where,
    )


def refuse_unwritable(path: Path) -> PermissionError:
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
        return refuse_unwritable(path)
    if name.startswith("SQLITE_CANTOPEN"):
        with suppress(PermissionError):  # of a directory that may not be looked into
            if not path.exists():
                return FileNotFoundError(
                    f"there is no ledger at {path}; make one: soundsum budget create, or Budget with its total and "
                    "the path"
                )
            if path.is_dir():
                return refuse_other_file(path)
        return PermissionError(
            f"{path} cannot be opened; nothing was charged: it must be a file, writable like its directory"
        )
    if name.startswith("SQLITE_NOTADB"):
        return refuse_other_file(path)
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_ERROR", "SQLITE_MISMATCH")):
        return refuse_damaged(path)
    return OSError(f"{path}: {error}; nothing was released: mend that and look at the ledger before trying again")
