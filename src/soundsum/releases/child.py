"""A child process that reads an owner's table, as its parent sees it: start it, ask it, and end it when it is late.

Requests and answers are pickled and travel through two pipes. The child is a fresh interpreter, never a fork, and ends
when its pipe closes. Its program is child_main.py.
"""

from __future__ import annotations

import math
import os
import pickle
import select
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from soundsum.numbers.quoting import say_type
from soundsum.refusals import Reason, RefusedType
from soundsum.tables.read_guard import OPERATOR, SENTENCE, ReadFailed

CHUNK = 1 << 20

OUT_OF_MEMORY = 137
"""The status of a process that ended itself because it held too much memory."""

SIZE = 8
"""Bytes before every message that say how long it is."""


class Child:
    """A child process that has the data, and answers one request at a time."""

    def __init__(self, data: Any, modules: Sequence[str], folder: str) -> None:
        """Start it in this folder, and wait until it has imported these modules and received the data."""
        receiving, self._send = os.pipe()
        self._receive, sending = os.pipe()
        self._close = weakref.finalize(self, _close, self._send, self._receive)
        path = [str(one) for one in sys.path]
        program = f"import sys; sys.path[:] = {path!r}; from soundsum.releases.child_main import serve; "
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", f"{program}serve({receiving}, {sending})"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # a reader may print a record
                stderr=subprocess.DEVNULL,
                pass_fds=(receiving, sending),
                cwd=folder,
                process_group=0,  # Ctrl-C is for the parent; what the child starts is killed with it
            )
        finally:
            os.close(receiving)
            os.close(sending)
        for pipe in (self._send, self._receive):
            os.set_blocking(pipe, False)
        self._is_idle = True
        self.memory: float = math.inf  # bytes that it may hold
        refusal = RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "{kind} cannot be sent to the process that reads a padded table",
            "give the path of a file, the address of a database or a table in memory, or leave `pad` out",
            kind=say_type(data),
        )
        error: BaseException | None = None
        try:
            self.ask("start", (modules, data), math.inf, refusal)
        except ReadFailed:
            error = RuntimeError("the process that reads a padded table does not start; check the memory that is left")
        except BaseException as refused:
            error = refused.with_traceback(None)  # whose frames have the data
        if error is not None:
            self.kill()
            self.wait()
            del data
            raise error

    @property
    def number(self) -> int:
        """The operating system's number of the process."""
        return self._process.pid

    @property
    def is_ready(self) -> bool:
        """Whether it runs and has answered every question."""
        return self._is_idle and self._process.poll() is None

    @property
    def is_gone(self) -> bool:
        return self._process.poll() is not None

    def ask(
        self,
        name: str,
        arguments: tuple[Any, ...],
        until: float,
        refusal: RefusedType | None = None,
        waits: bool = False,
    ) -> Any:
        """The answer to a request; raises its refusal, or ReadFailed if there is no answer in time.

        `refusal` is raised where it cannot be sent. With `waits` this returns or raises at `until`, never earlier.
        """
        given = until - time.monotonic()
        request = _pickle((name, arguments, given, self.memory), refusal)
        self._is_idle = False
        answer = self._exchange(request, until)
        if waits:
            sleep_until(until)
        if answer is None:
            status = self._process.poll()
            self.kill()
            self._tell_why(status, given)
            raise ReadFailed(SENTENCE)
        self._is_idle = True
        outcome, said = pickle.loads(answer)
        if outcome == "refused":
            raise said
        if outcome == "failed":
            OPERATOR.error("in the process that reads the table: %s", said)
            del answer, said  # which may hold a record, and an error's frames may be reported
            raise ReadFailed(SENTENCE)
        return said

    def _exchange(self, request: bytes, until: float) -> bytes | None:
        """The answer, if all of it is there in time."""
        unsent = [memoryview(len(request).to_bytes(SIZE)), memoryview(request)]
        received = bytearray()
        poll = select.poll()
        poll.register(self._receive, select.POLLIN)
        poll.register(self._send, select.POLLOUT)
        while (left := until - time.monotonic()) > 0:
            for pipe, _ in poll.poll(None if left == math.inf else math.ceil(1000 * left)):
                if pipe == self._receive:
                    more = os.read(self._receive, CHUNK)
                    if not more:  # it has ended
                        return None
                    received += more
                elif unsent:
                    try:
                        sent = os.write(self._send, unsent[0][:CHUNK])
                    except BrokenPipeError:
                        return None
                    unsent[0] = unsent[0][sent:]
                    unsent = unsent if unsent[0] else unsent[1:]
                else:
                    poll.unregister(self._send)
            if len(received) >= SIZE and len(received) == SIZE + int.from_bytes(received[:SIZE]):
                return bytes(memoryview(received)[SIZE:])
        return None

    def _tell_why(self, status: int | None, given: float) -> None:
        """Tell the operator, and nobody else, why there is no answer."""
        if status is None:
            why = f"was not done in the {given:.2f} s that the pad left it, or is just ending"
        elif status == OUT_OF_MEMORY:
            why = f"held more than the {self.memory / 2**20:,.0f} MiB of memory that it may"
        else:
            why = f"ended with status {status}"
        OPERATOR.error("the process that reads the table %s", why)

    def kill(self) -> None:
        """End it and whatever it started, whatever they are doing."""
        self._is_idle = False
        self._close()
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait until the operating system is done with it, which may take long if a disk does not answer."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)


def sleep_until(due: float) -> None:
    time.sleep(max(0.0, due - time.monotonic()))


def _pickle(what: Any, refusal: RefusedType | None) -> bytes:
    try:
        return pickle.dumps(what, pickle.HIGHEST_PROTOCOL)
    except Exception:  # of whatever kind: objects decide for themselves how they refuse
        pass
    if refusal is not None:
        raise refusal
    raise RefusedType(
        None,
        Reason.UNSUPPORTED,
        "this query cannot be sent to the process that reads a padded table",
        "give groups and conditions as lists of plain values",
    )


def _close(*pipes: int) -> None:
    for pipe in pipes:
        os.close(pipe)
