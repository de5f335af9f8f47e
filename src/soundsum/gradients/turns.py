"""One thread at a time: what changes or closes a sum is done whole before the next begins.

Otherwise two threads that release one sum at the same moment could each get its integers, with noise of their own: the
average of the two hides less than either.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")
Object = TypeVar("Object", bound="Turns")


class Turns:
    """An object whose methods take turns where they are `in_turn`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()


def in_turn(method: Callable[Concatenate[Object, Given], Result]) -> Callable[Concatenate[Object, Given], Result]:
    """A method that waits until nobody else changes the object, or another that it is given."""

    @wraps(method)
    def waits(self: Object, /, *arguments: Given.args, **named: Given.kwargs) -> Result:
        involved: dict[int, Any] = {id(x): x for x in (self, *arguments, *named.values()) if isinstance(x, Turns)}
        with ExitStack() as held:
            for _, x in sorted(involved.items()):  # always in one order, so that no two wait for each other
                held.enter_context(x._lock)
            return method(self, *arguments, **named)

    return waits
