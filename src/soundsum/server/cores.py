"""On which cores the server's threads run.

Threads of Python run one at a time. On several cores each waits until another core wakes it, and finds what it needs in
that other core's cache, which takes as long again as its work. So the threads of a server of small tables share a core.
All of them do, as a thread that a library starts stays on the core of whoever started it, for whatever is read later.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from soundsum.randomness import random_bytes

SMALL = 1 << 19
"""Bytes of a file that is usually read in less time than Python takes for the rest of a release."""


class Cores:
    """The cores that this process has: one for all of its threads, or all for each."""

    def __init__(self) -> None:
        self._all: set[int] = set()  # that are to be used again

    def keep_to_one(self) -> None:
        """Keep this thread, and those that it starts, on one core, where the system lets it choose."""
        if sys.platform == "linux":
            with suppress(OSError):
                found = os.sched_getaffinity(0)
                # drawn, so that two servers seldom share one
                os.sched_setaffinity(0, {sorted(found)[int.from_bytes(random_bytes(4)) % len(found)]})
                self._all = found

    def use_all(self) -> None:
        """Let all threads run on all cores, for good."""
        if self._all and sys.platform == "linux":
            found, self._all = self._all, set()
            for thread in os.listdir("/proc/self/task"):
                with suppress(OSError):  # it has ended, or these cores are not this process's any more
                    os.sched_setaffinity(int(thread), found)
