"""One thread at a time, in one process: what changes or closes a sum is done whole before the next begins.

Otherwise two that release one sum (threads at the same moment, a signal handler in the middle of a method, a process
and its fork) could each get its integers, with noise of their own: the average of the two hides less than either.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")
Object = TypeVar("Object", bound="Turns")


class Turns:
    """An object whose methods take turns where they are `in_turn`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self._process = os.getpid()

    def _require_process(self) -> None:
        if os.getpid() != self._process:
            raise ValueError(
                "this sum was made in the process that this one was forked from, which has it too; make one here, and "
                "use save, load and merge between processes"
            )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._lock:
            if self._busy:
                raise ValueError(
                    "a signal handler interrupted a method of this sum, and cannot use it; do so when that is done"
                )
            self._busy = True
            try:
                yield
            finally:
                self._busy = False


def in_turn(method: Callable[Concatenate[Object, Given], Result]) -> Callable[Concatenate[Object, Given], Result]:
    """A method that waits until nobody else changes the object, or another that it is given."""

    @wraps(method)
    def waits(self: Object, /, *arguments: Given.args, **named: Given.kwargs) -> Result:
        involved: dict[int, Any] = {id(x): x for x in (self, *arguments, *named.values()) if isinstance(x, Turns)}
        for x in involved.values():
            x._require_process()  # before the lock, which a thread of the other process may hold for ever
        with ExitStack() as held:
            for _, x in sorted(involved.items()):  # always in one order, so that no two wait for each other
                held.enter_context(x._turn())
            return method(self, *arguments, **named)

    return waits
