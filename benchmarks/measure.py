"""The measurement of a row: ours, peer, ours, peer, ... on the same data; the median ratio with its quartiles.

Each ratio is taken within one repetition, so that other work on the machine affects both sides. A bare read of the same
memory runs in the same turns, so that a row's share of the bus is a ratio of the same kind.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.plain import NotMeasured, bare_read

SECONDS_PER_ROW = 4.0
FEWEST, MOST = 9, 101
"""Repetitions: as many as fit SECONDS_PER_ROW, judged by the warm-up and never by the ratios seen."""


@dataclass(frozen=True)
class Row:
    """One line of the table: a function of ours and a peer's, both called with the group's data."""

    name: str
    ours: Callable[[Any], Any]
    against: str = ""
    peer: Callable[[Any], Any] | None = None
    target: float | None = None
    threads: int = 1
    tolerance: float | None = None
    """How far the two answers may be apart, relatively; None where the peer's is another number."""
    fewest: int = FEWEST
    """Repetitions at least; fewer for what takes many seconds."""
    warm: int = 0
    """Rounds before those that count, besides the first two: for what Java compiles while it runs."""


@dataclass(frozen=True)
class Group:
    """Rows that share their data, which lives only while they run."""

    name: str
    make: Callable[[int], Any]
    streamed: Callable[[Any], Any] | None
    """The array that a row reads from end to end, or None where the memory bus is not what matters."""
    rows: tuple[Row, ...]
    share: int = 1
    """The group has 1/share of the records of the whole run."""


class Spread(NamedTuple):
    median: float
    low: float
    high: float


def spread(values: list[float]) -> Spread:
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(median, low, high)


@dataclass(frozen=True)
class Result:
    """The measurement of a row. `measured` is a speed relative to the peer's, unless `unit` says otherwise."""

    group: str
    name: str
    against: str = ""
    measured: Spread | None = None
    unit: str = "x"
    target: float | None = None
    at_most: bool = False
    seconds: float | None = None
    records: int | None = None
    bytes: int | None = None
    threads: int = 1
    cpus: float | None = None
    """CPU time over time: less than `threads` where other processes had a share of the machine."""
    of_bus: Spread | None = None
    repetitions: int = 0
    fault: str = ""

    @property
    def gigabytes_per_second(self) -> float | None:
        return self.bytes / self.seconds / 1e9 if self.bytes and self.seconds else None

    @property
    def reached(self) -> bool | None:
        if self.target is None or self.measured is None:
            return None
        return self.measured.median <= self.target if self.at_most else self.measured.median >= self.target

    @property
    def within_noise(self) -> bool:
        """Tell whether the target lies within the quartiles, so that another run may differ."""
        return (
            self.target is not None
            and self.measured is not None
            and self.measured.low < self.target < self.measured.high
        )


def measure(group: Group, row: Row, data: Any, records: int, tick: Callable[[float], None]) -> Result:
    """Measure the row; `tick` gets the part done, between repetitions."""
    array = group.streamed(data) if group.streamed else None
    runners: dict[str, Callable[[], Any]] = {"ours": lambda: row.ours(data)}
    if row.peer is not None:
        peer = row.peer
        runners["peer"] = lambda: peer(data)
    if array is not None:
        runners["bus"] = lambda: bare_read(array, row.threads)
    try:
        answers = {name: run() for name, run in runners.items()}
    except NotMeasured as reason:
        return Result(group.name, row.name, row.against, fault=str(reason))
    fault = ""
    if row.tolerance is not None and not math.isclose(answers["ours"], answers["peer"], rel_tol=row.tolerance):
        fault = f"ours gives {answers['ours']}, the peer {answers['peer']}"
    answers.clear()
    for _ in range(row.warm):
        for run in runners.values():
            run()

    once = sum(seconds(run) for run in runners.values())
    repetitions = max(row.fewest, min(MOST, round(SECONDS_PER_ROW / once)))
    times: dict[str, list[float]] = {name: [] for name in runners}
    cpus = []
    for done in range(repetitions):
        for name, run in runners.items():
            before = time.process_time()
            times[name].append(seconds(run))
            if name == "ours":
                cpus.append((time.process_time() - before) / times[name][-1])
        tick((done + 1) / repetitions)

    def ours_faster_than(name: str) -> Spread | None:
        return spread([b / a for a, b in zip(times["ours"], times[name], strict=True)]) if name in times else None

    return Result(
        group.name,
        row.name,
        row.against,
        measured=ours_faster_than("peer"),
        target=row.target,
        seconds=statistics.median(times["ours"]),
        records=records,
        bytes=None if array is None else array.nbytes,
        threads=row.threads,
        cpus=statistics.median(cpus),
        of_bus=ours_faster_than("bus"),
        repetitions=repetitions,
        fault=fault,
    )


def seconds(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    answer = run()
    end = time.perf_counter()
    del answer  # freed outside the time
    return end - start
