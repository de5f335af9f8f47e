"""The program of the child process that reads a padded table (child.py).

It opens and plans as an unpadded table would in the owner's own process, adds up and draws the noise. Only what is
public and the noisy sums go back. It ends when its pipe closes, and in any case soon after nobody waits any more.
"""

from __future__ import annotations

import faulthandler
import io
import logging
import math
import os
import pickle
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from soundsum.engines import Engine, FoundGroups, Totals
from soundsum.privacy.noise import Noise
from soundsum.privacy.selection import GroupPlan
from soundsum.refusals import Reason, RefusedType
from soundsum.releases.child import OUT_OF_MEMORY, SIZE
from soundsum.releases.pipeline import Prepared
from soundsum.releases.prepare import look, prepare
from soundsum.releases.request import Request
from soundsum.releases.schema import ColumnSchema
from soundsum.tables.read_guard import OPERATOR, ReadFailed, read_within

LONGEST = 10_000
"""Characters at the end of what went wrong, for the operator; a reader may quote a record of any length."""

OFTEN = 0.02
"""Seconds between two looks at how much memory is held."""

GRACE = 1.0
"""Seconds after which a child that its parent did not kill ends itself."""


class Reader:
    """The table, with the data that was opened last."""

    def __init__(self) -> None:
        self._data: Any = None
        self._opened: tuple[Engine, Prepared] | None = None
        self.seconds = math.inf  # that are left for the request in hand
        self.memory = math.inf  # bytes that may be held

    def start(self, modules: Sequence[str], data: Any) -> None:
        """Take the data, and import beforehand what queries will need."""
        for name in modules:
            with suppress(ImportError):
                import_module(name)
        self._data = data

    def look(self, request: Request, schema: Mapping[str, ColumnSchema], columns: Sequence[str]) -> None:
        look(self._data, request, schema, columns)

    def prepare(self, request: Request) -> tuple[str, Prepared]:
        self._opened = engine, prepared = prepare(self._data, request)
        return engine.name, prepared

    def add_up(self, noises: Sequence[tuple[Noise, ...]]) -> tuple[list[Totals], int | None]:
        assert self._opened is not None
        (engine, prepared), self._opened = self._opened, None
        engine.limit(self.seconds)
        return read_within(lambda: engine.add_up_with_noise(prepared.tasks, prepared.rows, noises))

    def find_and_add_up(
        self, noises: Sequence[tuple[Noise, ...]], plan: GroupPlan
    ) -> tuple[FoundGroups, list[Totals], int | None]:
        assert self._opened is not None
        (engine, prepared), self._opened = self._opened, None
        engine.limit(self.seconds)
        return read_within(lambda: engine.find_and_add_up(prepared.tasks[:-1], prepared.rows, noises, plan))


def serve(receiving: int, sending: int) -> None:
    """Answer requests from one pipe through the other, until the first closes."""
    requests: SimpleQueue[bytes] = SimpleQueue()
    reader, words = Reader(), io.StringIO()
    threading.Thread(target=_listen, args=(receiving, requests), daemon=True).start()
    threading.Thread(target=_watch_memory, args=(reader,), daemon=True).start()
    with open(os.devnull, "w") as nowhere, open(sending, "wb") as pipe:
        OPERATOR.addHandler(logging.StreamHandler(words))
        while True:
            request = requests.get()
            answer = _answer(reader, request, words, nowhere)
            faulthandler.cancel_dump_traceback_later()
            pipe.write(len(answer).to_bytes(SIZE) + answer)
            pipe.flush()


def _listen(receiving: int, requests: SimpleQueue[bytes]) -> None:
    """Take requests in while others are worked on: so a closed pipe ends the process whatever it is doing."""
    with open(receiving, "rb") as pipe:
        while size := pipe.read(SIZE):
            requests.put(pipe.read(int.from_bytes(size)))
    os._exit(0)


def _watch_memory(reader: Reader) -> None:
    """End the process when it holds more than it may; the kernel, where memory runs out, ends it before its parent."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    with suppress(OSError):  # systems without /proc
        page = os.sysconf("SC_PAGE_SIZE")
        with open("/proc/self/statm", "rb", buffering=0) as held:
            while True:
                held.seek(0)
                if page * int(held.read().split()[1]) > reader.memory:
                    os._exit(OUT_OF_MEMORY)
                time.sleep(OFTEN)


def _answer(reader: Reader, request: bytes, words: io.StringIO, nowhere: Any) -> bytes:
    """The outcome of a request and its answer, pickled."""
    words.seek(0)
    words.truncate()
    try:
        name, arguments, reader.seconds, reader.memory = pickle.loads(request)
    except Exception:
        return _pickle("refused", _unknown())
    if reader.seconds < math.inf:  # even if the parent is gone and a reader lets no other thread run
        faulthandler.dump_traceback_later(reader.seconds + GRACE, exit=True, file=nowhere)
    ask: Callable[..., Any] = getattr(reader, name)
    try:
        return _pickle("answered", ask(*arguments))
    except ReadFailed:
        pass
    except Exception as error:  # refused before a value was looked at
        return _pickle("refused", error)
    except BaseException:
        OPERATOR.exception("a read failed")
    return _pickle("failed", words.getvalue()[-LONGEST:])


def _unknown() -> RefusedType:
    return RefusedType(
        None,
        Reason.UNSUPPORTED,
        "the process that reads a padded table cannot import what it was sent",
        "define classes and functions in a module, not in the script that runs",
    )


def _pickle(outcome: str, said: Any) -> bytes:
    try:
        answer = pickle.dumps((outcome, said), pickle.HIGHEST_PROTOCOL)
        pickle.loads(answer) if outcome == "refused" else None  # some errors cannot be made from their own arguments
    except Exception:
        error: Exception = ValueError(str(said)) if outcome == "refused" else _unknown()
        return pickle.dumps(("refused", error), pickle.HIGHEST_PROTOCOL)
    return answer
