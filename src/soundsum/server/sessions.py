"""Sessions of people who use the page: a cookie each, and a second secret that every form carries."""

from __future__ import annotations

import hashlib
import hmac
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

from soundsum.randomness import random_bytes

LASTS = 12 * 60 * 60.0
MOST, MOST_EACH = 10_000, 20
"""Sessions, and those of one token."""


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
            for place in own[: max(0, len(own) + 1 - MOST_EACH)]:
                del self._sessions[place]
            self._sessions[_hash(cookie)] = Session(number, random_bytes(32).hex(), time.monotonic() + LASTS)
            while len(self._sessions) > MOST:
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
