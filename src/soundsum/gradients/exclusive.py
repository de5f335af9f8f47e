"""One holder of a sum at a time: threads take turns, a fork is refused, and a saved sum is loaded once.

Otherwise two that release one sum (threads at the same moment, a signal handler in the middle of a method, a process
and its fork, two loads of one file) could each get its integers, with noise of their own: the average of the two hides
less than either.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import IO, Any, Concatenate, ParamSpec, TypeVar

from soundsum import randomness
from soundsum.gradients.lazy_import import torch
from soundsum.numbers.quoting import printed, quote
from soundsum.refusals import Reason, RefusedType, RefusedValue

Given = ParamSpec("Given")
Result = TypeVar("Result")
Object = TypeVar("Object", bound="Exclusive")


class Exclusive:
    """An object whose methods marked `exclusively` run one at a time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._busy = False
        self._process = os.getpid()

    def _require_process(self) -> None:
        if os.getpid() != self._process:
            raise RefusedValue(
                None,
                Reason.CLOSED,
                "this sum was made in the process that this one was forked from, which has it too",
                "make one here, and use `save()`, `load()` and `merge()` between processes",
            )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        with self._lock:
            if self._busy:
                raise RefusedValue(
                    None,
                    Reason.CLOSED,
                    "a signal handler interrupted a method of this sum, and cannot use the sum",
                    "use it when the method is done",
                )
            self._busy = True
            try:
                yield
            finally:
                self._busy = False


def exclusively(method: Callable[Concatenate[Object, Given], Result]) -> Callable[Concatenate[Object, Given], Result]:
    """Makes a method wait until nobody else changes its object, or another it is given."""

    @wraps(method)
    def waits(self: Object, /, *arguments: Given.args, **named: Given.kwargs) -> Result:
        involved: dict[int, Any] = {id(x): x for x in (self, *arguments, *named.values()) if isinstance(x, Exclusive)}
        for x in involved.values():
            x._require_process()  # before the lock, which a thread of the other process may hold for ever
        with ExitStack() as held:
            for _, x in sorted(involved.items()):  # always in one order, so that no two wait for each other
                held.enter_context(x._turn())
            return method(self, *arguments, **named)

    return waits


def new_file(path: Any) -> IO[bytes]:
    """Opens a new file that only its owner can read: a saved sum has no noise."""
    name = _name(path)
    try:
        return open(name, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))
    except FileExistsError:
        raise FileExistsError(f"{name}: there is such a file, and nothing is written over it; give another") from None


def read_once(path: Any, keys: Set[str]) -> Any:
    """Loads a dict with these keys that torch saved, and deletes the file; any other file stays as it is."""
    name = _name(path)
    _require_keys(name, keys)
    taken = f"{name}.{randomness.random_bytes(8).hex()}"
    try:
        os.rename(name, taken)  # one process gets it
    except FileNotFoundError:
        raise _gone(name) from None
    try:
        state = torch.load(taken, weights_only=True)
    except BaseException:
        os.rename(taken, name)
        raise
    os.remove(taken)
    return state


def _require_keys(name: str, keys: Set[str]) -> None:
    try:
        found = torch.load(name, weights_only=True, mmap=True)  # without reading the tensors
    except FileNotFoundError:
        raise _gone(name) from None
    except OSError:
        raise
    except Exception:  # as many kinds as there are files
        found = None
    if not isinstance(found, dict) or set(found) != keys:
        raise RefusedValue(
            "path",
            Reason.UNREADABLE,
            "{path} is not a whole file that `Sum.save` wrote, and stays as it is",
            "give one that is",
            path=printed(name),
        )


def _gone(name: str) -> FileNotFoundError:
    return FileNotFoundError(f"{name}: there is no such file; a saved sum can be loaded once")


def _name(path: Any) -> str:
    if not isinstance(path, str | os.PathLike):
        raise RefusedType(
            "path",
            Reason.WRONG_TYPE,
            "`path={given}` is not a path, and a sum is kept in a file so that it can be loaded once",
            "give the path of a file",
            given=quote(path),
        )
    return os.fsdecode(path)
