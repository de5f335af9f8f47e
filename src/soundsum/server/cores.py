"""On which cores the server's threads run.

Threads of Python run one at a time. On several cores each waits until another core wakes it, and finds what it needs in
that other core's cache, which takes as long again as its work. So threads that answer from small tables share one core.
Only they do: a thread that an engine starts runs where its parent may.
"""

from __future__ import annotations

import os
import threading

from soundsum.randomness import random_bytes

SMALL = 1 << 22
"""Bytes of a file that one thread reads."""


class OneCore:
    """One of the cores that this process has, for threads that are kept on it; nothing where there is no choice."""

    def __init__(self) -> None:
        self._all = os.sched_getaffinity(0) if hasattr(os, "sched_setaffinity") else {0}
        # drawn, so that two servers seldom share one
        self._one = {sorted(self._all)[int.from_bytes(random_bytes(4)) % len(self._all)]}
        self._own = threading.local()

    def keep(self, is_kept: bool) -> None:
        """Keep this thread on the core, or let it run on all of them."""
        wanted = self._one if is_kept else self._all
        if len(self._all) > 1 and getattr(self._own, "cores", None) != wanted:
            os.sched_setaffinity(0, wanted)
            self._own.cores = wanted
