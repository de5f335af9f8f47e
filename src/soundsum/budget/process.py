"""A budget in memory: the charges of one process, which its threads share."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import Any

from soundsum.budget.binding import Binding
from soundsum.budget.book import Book, BookLine, Entry, Kind, refuse_closed
from soundsum.budget.limit import Limit
from soundsum.privacy.cost import Cost


class MemoryStore:
    """Charges of one process; bound as it is made, or else by its first charge."""

    def __init__(self, limit: Limit, binding: Binding | None, max_failures: int) -> None:
        self.limit, self.binding, self.max_failures = limit, binding, max_failures
        self._book = Book(limit, max_failures)
        self._lines = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    def spent(self) -> Cost:
        return self._book.spent

    def entries(self) -> list[Entry]:
        return list(self._book.entries.values())

    def failures(self) -> int:
        return self._book.failures

    def charge(self, cost: Cost, what: str, binding: Binding) -> int:
        """Write the charge down, or raise and write nothing."""
        self._require_own_process()
        with self._lock:
            if self.binding not in (None, binding):
                (self.binding or binding).require(binding, what)
            if self._book.failures >= self.max_failures:
                raise refuse_closed(self._book.failures, what, cost, self.limit.left(self._book.spent))
            total = self.limit.after(self._book.spent, cost, what)
            self.binding = self.binding or binding
            return self._write("charge", None, what, cost, total)

    def note(self, kind: Kind, about: int | None, what: str) -> None:
        self._require_own_process()
        with self._lock:
            self._write(kind, about, what, None, None)

    def _write(self, kind: Kind, about: int | None, what: str, cost: Cost | None, total: Cost | None) -> int:
        self._book.add(BookLine(self._lines + 1, datetime.now(UTC), kind, about, what, cost), total)
        self._lines += 1
        return self._lines

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:  # a fork
            raise _second_process()

    def __reduce__(self) -> tuple[Any, ...]:
        raise _second_process()


def _second_process() -> TypeError:
    return TypeError("a budget in memory is for one process, a copy could be spent twice; give the budget a path=")
