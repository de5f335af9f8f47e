"""A budget in memory: the charges of one process, which its threads share."""

from __future__ import annotations

import os
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from soundsum.budget.history import Entry, History, Kind, refuse_closed
from soundsum.budget.limit import Limit
from soundsum.budget.query import Query
from soundsum.budget.scope import Binding
from soundsum.privacy.cost import Cost
from soundsum.refusals import Reason, RefusedType

if TYPE_CHECKING:
    from soundsum.budget.shares import Question


class MemoryStore:
    """Charges of one process; bound as it is made, or else by its first charge."""

    def __init__(self, limit: Limit, binding: Binding | None, max_failures: int) -> None:
        self.limit, self.binding, self.max_failures = limit, binding, max_failures
        self._history = History(limit)
        self._lines = 0
        self._lock = threading.Lock()
        self._process = os.getpid()

    def spent(self) -> Cost:
        return self._history.tally.spent

    def entries(self) -> list[Entry]:
        return list(self._history.entries.values())

    def failures(self) -> int:
        return self._history.tally.failures

    def charge(self, cost: Cost, what: Query | str, binding: Binding, question: Question | None = None) -> int:
        """Write the charge down, or raise and write nothing."""
        self._require_own_process()
        with self._lock:
            if self.binding not in (None, binding):
                (self.binding or binding).refuse_other(binding, what)
            spent, failures = self._history.tally.spent, self._history.tally.failures
            if failures >= self.max_failures:
                raise refuse_closed(failures, what, cost, self.limit.left(spent))
            self.limit.after(spent, cost, what)
            self.binding = self.binding or binding
            self._history.charge(Entry(self._lines + 1, datetime.now(UTC), what, cost))
            self._lines += 1
            return self._lines

    def note(self, kind: Kind, about: int | None, what: str, _: str | None = None) -> None:
        self._require_own_process()
        with self._lock:
            self._history.note(kind, about)
            self._lines += 1

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:  # a fork
            raise _second_process()

    def __reduce__(self) -> tuple[Any, ...]:
        raise _second_process()


def _second_process() -> RefusedType:
    return RefusedType(
        "path",
        Reason.MISSING,
        "a budget in memory is for one process: a copy could be spent twice",
        "give the budget a `path`",
    )
