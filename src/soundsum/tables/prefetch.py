"""Reads ahead: while one batch is used, the next are read by other threads, in bounded memory and in order."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from queue import Full, Queue
from threading import Event, Thread
from typing import Any

DEPTH = 2
"""Batches of one part that may wait to be used."""

PATIENCE = 0.1
"""Seconds after which a reader looks whether anybody still wants its batches."""


class _End:
    """The end of a part, with its error, if any."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def read_ahead(parts: Iterable[Iterator[Any]], readers: int | None = None) -> Iterator[Any]:
    """Everything of one part after another, several parts being read at once, each by one thread."""
    readers = readers or min(4, len(os.sched_getaffinity(0)))
    wanted, waiting, left = Event(), deque[tuple[Queue[Any], Thread]](), iter(parts)
    wanted.set()
    try:
        while True:
            while len(waiting) < readers and (part := next(left, None)) is not None:
                waiting.append(_start(part, wanted))
            if not waiting:
                return
            queue, _ = waiting[0]
            while not isinstance(batch := queue.get(), _End):
                yield batch
            if batch.error is not None:
                raise batch.error
            waiting.popleft()
    finally:
        wanted.clear()
        for _, reader in waiting:
            if not sys.is_finalizing():  # when daemons stand still, and would be waited for without end
                reader.join()


def _start(part: Iterator[Any], wanted: Event) -> tuple[Queue[Any], Thread]:
    queue: Queue[Any] = Queue(DEPTH)
    # A daemon, because whoever leaves a table half read, and Python, must not wait for a reader that waits for them.
    reader = Thread(target=_fill, args=(queue, part, wanted), name="soundsum-reader", daemon=True)
    reader.start()
    return queue, reader


def _fill(queue: Queue[Any], part: Iterator[Any], wanted: Event) -> None:
    try:
        for batch in part:
            _put(queue, batch, wanted)
            if not wanted.is_set():
                return
        end = _End()
    except BaseException as error:
        end = _End(error)
    _put(queue, end, wanted)


def _put(queue: Queue[Any], item: Any, wanted: Event) -> None:
    while wanted.is_set():
        with suppress(Full):
            queue.put(item, timeout=PATIENCE)
            return
