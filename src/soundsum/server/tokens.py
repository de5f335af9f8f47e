"""Tokens of analysts and owners, in a file beside the owner's: 256 random bits each, of which only a hash is stored.

A token names its row by number, so no secret is ever looked up: the hash of what was given is compared with the one
that is stored, in constant time. People who use the page have a session in memory: a cookie, and a second secret that
every form carries.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import sqlite3
import threading
import time
from base64 import urlsafe_b64encode
from collections import OrderedDict
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from soundsum.budget.ledger_file import KeptConnection
from soundsum.randomness import random_bytes
from soundsum.server.owner_file import require_plain_name

TOKEN = re.compile(r"ss_([1-9][0-9]{0,8})_([A-Za-z0-9_-]{43})")
DAYS = 365
LAY_OUT = """
CREATE TABLE IF NOT EXISTS tokens (
    number INTEGER PRIMARY KEY AUTOINCREMENT, who TEXT NOT NULL, is_owner INTEGER NOT NULL, digest BLOB NOT NULL,
    made TEXT NOT NULL, ends TEXT NOT NULL, revoked TEXT
)
"""


@dataclass(frozen=True)
class Token:
    """Somebody's token, without the secret."""

    number: int
    who: str
    is_owner: bool
    made: datetime
    ends: datetime
    revoked: datetime | None

    @property
    def is_valid(self) -> bool:
        return self.revoked is None and datetime.now(UTC) < self.ends


class Tokens:
    """The tokens that an owner gave out."""

    def __init__(self, owner_file: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(owner_file)).with_suffix(".tokens")
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        with closing(self._connect()) as db, db:
            db.execute(LAY_OUT)
        self._kept = KeptConnection()

    def add(self, who: str, *, is_owner: bool = False, days: int = DAYS) -> str:
        """Make a token, which is shown this once."""
        require_plain_name("analyst", who)
        secret = random_bytes(32)
        now = datetime.now(UTC)
        row = (who, is_owner, _digest(secret), now.isoformat(), (now + timedelta(days=days)).isoformat())
        with closing(self._connect()) as db, db:
            number = db.execute("INSERT INTO tokens VALUES (NULL, ?, ?, ?, ?, ?, NULL)", row).lastrowid
        return f"ss_{number}_{urlsafe_b64encode(secret).rstrip(b'=').decode()}"

    def revoke(self, who: str) -> int:
        """Revoke every token of somebody, or the one of this number; return how many that are."""
        with closing(self._connect()) as db, db:
            query = "UPDATE tokens SET revoked = ? WHERE revoked IS NULL AND (who = ? OR CAST(number AS TEXT) = ?)"
            return db.execute(query, (datetime.now(UTC).isoformat(), who, who)).rowcount

    def list(self) -> list[Token]:
        with closing(self._connect()) as db:
            rows = db.execute("SELECT number, who, is_owner, made, ends, revoked FROM tokens ORDER BY number")
            return [_read(row) for row in rows]

    def find(self, given: str) -> Token | None:
        """Return whose token this is; None if it is nobody's, has ended or was revoked."""
        with closing(self._connect()) as db:
            return _find(db, given)

    def find_at_once(self, given: str) -> Token | None:
        """As `find`, for one thread that must not wait: None too if the file is being written, or is another."""
        with suppress(OSError, sqlite3.Error), ExitStack() as ending:
            found = os.stat(self.path)
            place = found.st_dev, found.st_ino
            link = self._kept.take(place) or self._connect(patience=0)
            ending.callback(link.close)
            token = _find(link, given)
            if os.path.samestat(os.stat(self.path), found):  # or the connection may be to another file
                ending.pop_all()
                self._kept.keep(link, place)
            return token
        return None

    def find_number(self, number: int) -> Token | None:
        """Return a token by its number, if it is still valid: that of a session."""
        with closing(self._connect()) as db:
            query = "SELECT number, who, is_owner, made, ends, revoked FROM tokens WHERE number = ?"
            return _valid(db.execute(query, (number,)).fetchone())

    def _connect(self, patience: float = 5) -> sqlite3.Connection:
        address = f"{self.path.as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=patience, check_same_thread=False)


def _find(db: sqlite3.Connection, given: str) -> Token | None:
    found = TOKEN.fullmatch(given)
    number, secret = (0, "") if found is None else (int(found[1]), found[2])
    query = "SELECT number, who, is_owner, made, ends, revoked, digest FROM tokens WHERE number = ?"
    row = db.execute(query, (number,)).fetchone()
    digest = bytes(32) if row is None else row[6]
    is_same = hmac.compare_digest(_digest(_decode(secret)), digest)
    return _valid(row) if is_same and row is not None else None


def _valid(row: tuple[int, str, int, str, str, str | None] | None) -> Token | None:
    token = None if row is None else _read(row)
    return token if token is not None and token.is_valid else None


def _read(row: tuple[int, str, int, str, str, str | None]) -> Token:
    number, who, is_owner, made, ends, revoked = row[:6]
    read = datetime.fromisoformat
    return Token(number, who, bool(is_owner), read(made), read(ends), None if revoked is None else read(revoked))


def _decode(secret: str) -> bytes:
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(f"{secret}=") if secret else b""


def _digest(secret: bytes) -> bytes:
    return hashlib.sha256(secret).digest()


SESSION_LASTS = 12 * 60 * 60.0
MOST_SESSIONS, MOST_SESSIONS_EACH = 10_000, 20
"""The most sessions, and the most of one token."""


@dataclass(frozen=True)
class Session:
    """A login: with which token, until when, and the secret that its forms must carry."""

    number: int
    csrf: str
    ends: float

    def has_form(self, given: str) -> bool:
        """Whether a form is one that this server gave to this session."""
        return hmac.compare_digest(self.csrf.encode(), given.encode())


class Sessions:
    """Sessions in memory, by the hash of their cookie; a restart ends them."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[bytes, Session] = OrderedDict()
        self._lock = threading.Lock()

    def begin(self, number: int) -> str:
        cookie = random_bytes(32).hex()
        with self._lock:
            own = [place for place, session in self._sessions.items() if session.number == number]
            for place in own[: max(0, len(own) + 1 - MOST_SESSIONS_EACH)]:
                del self._sessions[place]
            self._sessions[_hash(cookie)] = Session(number, random_bytes(32).hex(), time.monotonic() + SESSION_LASTS)
            while len(self._sessions) > MOST_SESSIONS:
                self._sessions.popitem(last=False)
        return cookie

    def find(self, cookie: str) -> Session | None:
        with self._lock:
            found = self._sessions.get(_hash(cookie))
        return found if found is not None and time.monotonic() < found.ends else None

    def end(self, cookie: str) -> None:
        with self._lock:
            self._sessions.pop(_hash(cookie), None)


def _hash(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode()).digest()
