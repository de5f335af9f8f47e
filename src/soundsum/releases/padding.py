"""Answers at a time that is known beforehand: a query to a padded table, and the refusal of one, take just as long.

What is not there by then is ReadFailed, and the engine is told to stop.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from fractions import Fraction
from functools import wraps
from threading import Thread
from typing import Any, Protocol, TypeVar, cast

from soundsum.data.boundary import SENTENCE, ReadFailed
from soundsum.data.rows import Rows
from soundsum.engines import Engine, Totals
from soundsum.shown import shown
from soundsum.statistics import Task

F = TypeVar("F", bound=Callable[..., Any])

_UNTIL: ContextVar[float | None] = ContextVar("until", default=None)
"""When the answer to the query in hand is due, if its table is padded."""


class Padded(Protocol):
    """What is asked."""

    _pad: float | None  # seconds


def padded(ask: F) -> F:
    """A query whose answer, or refusal, comes at just the time the owner's pad says; ReadFailed if it is not there."""

    @wraps(ask)
    def answer(self: Padded, *arguments: Any, **options: Any) -> Any:
        if self._pad is None or _UNTIL.get() is not None:  # one query may ask another
            return ask(self, *arguments, **options)
        until = time.monotonic() + self._pad
        answers: list[Any] = []
        errors: list[BaseException] = []

        def work() -> None:
            _UNTIL.set(until)
            try:
                answers.append(ask(self, *arguments, **options))
            except BaseException as error:
                errors.append(error)

        Thread(target=work, daemon=True).start()
        time.sleep(max(0.0, until - time.monotonic()))
        if answers:
            return answers[0]
        raise errors[0] if errors else ReadFailed(SENTENCE)

    return cast(F, answer)


class InTime:
    """An engine whose answer counts only if it comes before the time of the answer."""

    def __init__(self, engine: Engine) -> None:
        self.name, self._engine, self._until = engine.name, engine, _UNTIL.get()

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        if self._until is not None:
            self._engine.limit(self._until - time.monotonic())
        added = self._engine.add_up(tasks, rows)
        if self._until is not None and time.monotonic() > self._until:
            raise TimeoutError("the read took longer than the pad")
        return added


def read_pad(pad: str) -> float:
    """Seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)", pad) if isinstance(pad, str) else None
    if found is None or not Fraction(found[1]):
        raise ValueError(f"pad={shown(pad)} is not a time; give one such as '0.5s' or '200ms'")
    return float(Fraction(found[1]) / (1000 if found[2] == "ms" else 1))
