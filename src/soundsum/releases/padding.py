"""Answers at a time that is known beforehand: every query to a padded table, and every refusal, takes just as long.

A padded table is opened, read and added up in a child process, which also draws the noise, so exact totals never leave
it. Whatever a record makes a reader do there, the parent keeps time. Shortly before the answer is due it decides
whether the child's answer is there; if not, it kills the child, and the read has failed. The decision comes at the same
moment of every query, so how long everything after it takes depends on public things alone. So does the charge: how
long a table took to open is not to be read off the moment of the charge.
"""

from __future__ import annotations

import math
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

from soundsum.engines import FoundGroups, Totals, find_engine
from soundsum.numbers.quoting import quote
from soundsum.privacy.noise import Noise
from soundsum.privacy.selection import GroupPlan
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.child import Child, sleep_until
from soundsum.statistics import Task
from soundsum.tables.rows import Rows

F = TypeVar("F", bound=Callable[..., Any])

MARGIN, MOST_MARGIN = 1 / 4, 1.0
"""The share of the pad, and the most seconds, between the decision and the answer: the outcome is written down then."""

OPENING, MOST_OPENING = 1 / 4, 5.0
"""The share of the pad, and the most seconds, in which the table is opened; the charge comes at their end."""

LOADED = ("pyarrow.acero", "pyarrow.compute", "pyarrow.dataset")
"""Modules that a child process imports beforehand, so that no query waits for them."""


class Padded(Protocol):
    """A table, whose queries are padded if it has child processes."""

    _children: Children | None


def padded(ask: F) -> F:
    """Decorate a query: its answer or refusal comes exactly when the owner's pad says; a late answer is ReadFailed."""

    @wraps(ask)
    def answer(self: Padded, *arguments: Any, **options: Any) -> Any:
        turn = TURN.get()
        if self._children is None or (turn is not None and turn.children is self._children):  # one query asks another
            return ask(self, *arguments, **options)
        with self._children.take_turn():
            return ask(self, *arguments, **options)

    return cast(F, answer)


@dataclass(frozen=True)
class Turn:
    """One query, and the child that works on it."""

    children: Children
    child: Child
    charge: float  # when it is charged, unless it is refused
    decision: float  # until when the child may work on it
    due: float  # when it is answered

    def look(self, *question: Any) -> None:
        """See `prepare.look`."""
        self.child.ask("look", question, self.decision)

    def prepare(self, request: Any) -> tuple[Elsewhere, Any]:
        """See `prepare.prepare`."""
        name, prepared = self.child.ask("prepare", (request,), self.charge, waits=self.charge < math.inf)
        return Elsewhere(name, self), prepared


@dataclass(frozen=True)
class Elsewhere:
    """The engine in the child process."""

    name: str
    turn: Turn

    def add_up_with_noise(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]]
    ) -> tuple[list[Totals], int | None]:
        """Adds up what was last prepared, as every engine does; it returns or raises at the moment of the decision."""
        added: tuple[list[Totals], int | None]
        added = self.turn.child.ask("add_up", (noises,), self.turn.decision, waits=True)
        return added

    def find_and_add_up(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]], plan: GroupPlan
    ) -> tuple[FoundGroups, list[Totals], int | None]:
        """Likewise, with groups that are found first."""
        found: tuple[FoundGroups, list[Totals], int | None]
        found = self.turn.child.ask("find_and_add_up", (noises, plan), self.turn.decision, waits=True)
        return found


TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)
"""The query in progress, if its table is padded."""


def require_time() -> None:
    """Refuse an answer that was made too late: for very many groups that takes its time after the decision, too."""
    turn = TURN.get()
    if turn is not None and time.monotonic() > turn.due:
        raise TimeoutError("the answer took longer than the pad")


class Children:
    """The child processes of a padded table: one for each query in progress, kept for the next."""

    def __init__(self, data: Any, engine: str | None, pad: float) -> None:
        kind = find_engine(data, engine)
        if not kind.opens_anywhere:
            raise RefusedType(
                "data",
                Reason.UNSUPPORTED,
                "{kind} cannot be asked from the process that reads a padded table",
                "give the path of a file, the address of a database or a table in memory, or leave `pad` out",
                kind=kind.name,
            )
        self._data, self._pad = data, pad
        self.memory = math.inf  # bytes that each of them may hold
        self._modules = [*LOADED, kind.__module__, *([kind.package] if kind.package else [])]
        self._folder = os.getcwd()
        self._idle: list[Child] = []
        self._killed: list[Child] = []
        self._process, self._lock = os.getpid(), threading.Lock()

    @contextmanager
    def take_turn(self, is_timed: bool = True) -> Iterator[Turn]:
        """One query. Its time begins when a child is ready for it; one is started if none is idle.

        How long that takes grows with the data in memory, so it is rounded up to a multiple of the pad.
        """
        asked = time.monotonic()
        child, is_new = self._take()
        if is_new and is_timed:
            sleep_until(asked + math.ceil((time.monotonic() - asked) / self._pad) * self._pad)
        child.memory = self.memory
        now = time.monotonic()
        due = now + self._pad if is_timed else math.inf
        opened = now + min(OPENING * self._pad, MOST_OPENING) if is_timed else math.inf
        token = TURN.set(turn := Turn(self, child, opened, due - min(MARGIN * self._pad, MOST_MARGIN), due))
        try:
            yield turn
        except (KeyboardInterrupt, SystemExit):
            due = now
            raise
        finally:
            TURN.reset(token)
            self._give_back(child)
            if due < math.inf:
                sleep_until(due)

    def _take(self) -> tuple[Child, bool]:
        """A child that is ready, and whether it was started just now."""
        with self._lock:
            if self._process != os.getpid():  # this is a fork, and they are its parent's
                self._idle, self._killed, self._process = [], [], os.getpid()
            while self._idle:
                if (child := self._idle.pop()).is_ready:
                    return child, False
                self._kill(child)
        return Child(self._data, self._modules, self._folder), True

    def _give_back(self, child: Child) -> None:
        with self._lock:
            if child.is_ready:
                self._idle.append(child)
            else:
                self._kill(child)

    def _kill(self, child: Child) -> None:
        child.kill()
        self._killed = [one for one in (*self._killed, child) if not one.is_gone]

    def end(self) -> None:
        """End all of them, for good."""
        if self._process == os.getpid():
            for child in (*self._idle, *self._killed):
                child.kill()
                child.wait()


def read_pad(pad: str) -> float:
    """Seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)", pad) if isinstance(pad, str) else None
    if found is None or not Fraction(found[1]):
        raise RefusedValue(
            "pad",
            Reason.MALFORMED,
            "`pad={given}` is not a time",
            "give one such as '0.5s' or '200ms'",
            given=quote(pad),
        )
    return float(Fraction(found[1]) / (1000 if found[2] == "ms" else 1))
