"""Threads that use a ledger at the same time share a transaction, as most of its time goes to waiting for the disk.

The first to come leads: it carries out what is waiting, each in a savepoint, so that one that is refused leaves nothing
behind and the others stand. All learn what became of theirs after the commit. Whoever comes meanwhile waits for the
next transaction, which the first of them leads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


@dataclass(eq=False)
class Act(Generic[T]):
    """Something to do in a transaction, and what became of it."""

    do: Callable[..., T]
    writes: bool
    outcome: T | None = None
    failure: BaseException | None = None
    is_done: bool = False
    told: threading.Event = field(default_factory=threading.Event)  # that it is done, or that it is to lead

    def carry_out(self, db: Any, *facts: Any) -> None:
        """Do it; a refusal undoes it alone, and an error of the database all of the transaction."""
        db.execute("SAVEPOINT act")
        try:
            self.outcome = self.do(db, *facts)
        except Exception as error:
            if type(error).__module__ == "sqlite3":
                raise
            self.failure = error.with_traceback(None)  # its frames are those of another thread's call
        if self.failure is not None:
            db.execute("ROLLBACK TO act")
        db.execute("RELEASE act")


class SharedTransactions:
    """Turns at a ledger, for the threads of one process."""

    def __init__(self, transact: Callable[[list[Act[Any]]], None]) -> None:
        """`transact` carries out every act in one transaction, or raises and leaves nothing of any."""
        self._transact, self._lock = transact, threading.Lock()
        self._waiting: list[Act[Any]] = []
        self._is_led = False
        _MADE.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return SharedTransactions, (self._transact,)  # who waits stays in this process

    def run(self, do: Callable[..., T], writes: bool) -> T:
        """Return what it returns, once it is committed; raise what it raises, or why there was no transaction."""
        own = Act(do, writes)
        with self._lock:
            self._waiting.append(own)
            leads, self._is_led = not self._is_led, True
        if not leads:
            try:
                own.told.wait()
            except BaseException:  # Ctrl-C
                self._give_up(own)
                raise
        if not own.is_done:
            self._lead()
        if own.failure is not None:
            raise own.failure
        return own.outcome  # type: ignore[return-value]

    def _lead(self) -> None:
        with self._lock:
            acts, self._waiting = self._waiting, []
        failure: BaseException | None = None
        try:
            self._transact(acts)
        except BaseException as error:
            failure = error
        for act in acts:
            act.failure = act.failure if failure is None else failure
            act.is_done = True
        self._pass_on()
        for act in acts:
            act.told.set()

    def _pass_on(self) -> None:
        with self._lock:
            self._is_led = bool(self._waiting)
            if self._waiting:
                self._waiting[0].told.set()

    def _give_up(self, own: Act[Any]) -> None:
        with self._lock:
            was_chosen = own.told.is_set() and not own.is_done
            if own in self._waiting:
                self._waiting.remove(own)
        if was_chosen:
            self._pass_on()


_MADE: WeakSet[SharedTransactions] = WeakSet()


def _begin_anew() -> None:
    """In a fork, where there is one thread as yet: those who wait are in its parent."""
    for one in list(_MADE):
        one.__init__(one._transact)  # type: ignore[misc]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
