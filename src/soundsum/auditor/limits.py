"""The limits of an audit: seconds and bytes, the attacks that did not fit, and the clock that counts.

Seconds are CPU time of this process and its children, whatever else the machine does, under a ceiling of wall-clock
time for targets that wait and do not compute.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

from soundsum.attacks import Attack
from soundsum.numbers.formatting import size as records_in_words

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


COPIES = 4
"""An array, its clamped copy, and a library's own copies."""


@dataclass(frozen=True)
class LeftOut:
    """An attack that was not tried, and the limit that it would have exceeded."""

    attack: str
    records: int
    limit: str

    def __str__(self) -> str:
        return f"{self.attack} with {records_in_words(self.records)} records: {self.limit}"


@dataclass
class Limits:
    """Limits in seconds of CPU time and in bytes, and the attacks left out because of them."""

    seconds: float = 60.0
    memory: int = 8 << 30
    watch: Stopwatch = field(default_factory=Stopwatch)
    rate: float = 0.0  # seconds for each record, as last seen
    left_out: list[LeftOut] = field(default_factory=list)

    @property
    def left(self) -> float:
        return self.seconds - self.watch.elapsed

    def restart(self) -> None:
        """Start the clock now: loading a library is not part of its sums."""
        self.watch = Stopwatch()

    def share(self, part: float) -> Limits:
        """A share of the remaining time, from now on."""
        return Limits(max(0.0, self.left) * part, self.memory, rate=self.rate, left_out=self.left_out)

    def allow(self, made: Attack, times: float = 2.0, streams: bool = False) -> bool:
        """Whether the attack fits if its datasets are summed this many times; if not, note it.

        `streams`: its records are never all in memory.
        """
        needed = 0 if streams else made.records * _itemsize(made) * COPIES
        if needed > self.memory:
            self.left_out.append(LeftOut(made.name, made.records, f"memory ({needed / 2**30:.0f} GB, --memory)"))
            return False
        if self.left <= 0 or made.records * times * self.rate > self.left:
            self.left_out.append(LeftOut(made.name, made.records, "time (--time)"))
            return False
        return True

    def took(self, records: int, seconds: float) -> None:
        """Learn from the last one; small datasets tell about calls and not about records."""
        if records >= 1 << 16:
            self.rate = seconds / records


def _itemsize(made: Attack) -> int:
    dtype = made.problem.dtype.dtype
    return 8 if dtype is None else dtype.itemsize
