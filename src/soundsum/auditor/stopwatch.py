"""Time as an audit's limits count it: CPU time of this process and its children, whatever else the machine does.

A ceiling of wall-clock time stands above it, for targets that wait and do not compute.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

CEILING = 3.0
"""The wall-clock time allowed for each second of CPU time."""

LOADED = 1.25
"""A machine with more than this many runnable processes for each core is loaded."""


def cpu_time() -> float:
    """The CPU seconds of this process and its children, running ones too."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _of_children(os.getpid())


def cpu_time_of(process: int) -> float:
    """The CPU seconds of another process and its children; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return 0.0
    own: float = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")  # its own, and of children that ended
    return own + _of_children(process)


def _of_children(process: int) -> float:
    """Those of the children of every thread, whichever started them."""
    total = 0.0
    try:
        for thread in Path(f"/proc/{process}/task").iterdir():
            total += sum(map(cpu_time_of, map(int, (thread / "children").read_text(encoding="ascii").split())))
    except OSError:
        pass
    return total


@dataclass
class Stopwatch:
    """Elapsed seconds: of CPU time, or of wall-clock time divided by the ceiling, whichever is more."""

    cpu: float = field(default_factory=cpu_time)
    wall: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        return max(cpu_time() - self.cpu, (time.monotonic() - self.wall) / CEILING)


def load() -> float:
    """Runnable processes for each core, over the last minute."""
    return os.getloadavg()[0] / (os.cpu_count() or 1)
