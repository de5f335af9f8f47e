"""The owner's server without a pad: its time on top of the release itself, and how many small releases it answers.

The server runs in a process of its own, and the requests come from this one, over connections that stay open. The table
has 300 rows in a Parquet file; the ledger lies in the folder for temporary files.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Result, spread

GROUP = "the owner's server"
NAMES = {
    "overhead": "a release beyond itself",
    "rate": "small releases a second",
    "processor": "processor time of a small release",
}
PAIRS, ROUNDS, SECONDS = 200, 5, 4.0
ANALYSTS, SLOTS = 64, "32"


def overhead(tick: Callable[[float], None]) -> Result:
    """The milliseconds of a release over HTTP, less those of the same release by the same table here, in turns."""
    from tests.server.running import SUM, Server

    from soundsum.budget.history import Asker
    from soundsum.budget.shares import Question
    from soundsum.releases.stored import read_releases  # noqa: F401  (loaded before anything is timed)
    from soundsum.statistics import Sum

    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), "--no-pad") as server:
        token, beyond, both = server.add(epsilon="100000"), [], []
        private = server.owned["visits"].open()
        asker = Asker("alice", "visits")
        with server.client(token) as client:
            for number in range(PAIRS + 20):
                begun = time.perf_counter()
                answer = client.post("/v1/tables/visits/release", json=SUM)
                middle = time.perf_counter()
                own = private.on_behalf_of(Question(asker, f"own-{number}", "body"))
                own.release({"total": Sum("cost", 0, 100)}, epsilon="1/10")
                took = middle - begun, time.perf_counter() - middle
                assert answer.status_code == 200, answer.text
                if number >= 20:
                    beyond.append(1000 * (took[0] - took[1]))
                    both.append(took[0])
                tick(number / (PAIRS + 20))
    return Result(
        GROUP, NAMES["overhead"], "the same release here", measured=spread(beyond), unit=" ms", target=5, at_most=True,
        seconds=spread(both).median, records=300, repetitions=PAIRS,
    )  # fmt: skip


def rate(tick: Callable[[float], None]) -> Result:
    rates, _, fault = _under_load(tick)
    return Result(
        GROUP, NAMES["rate"], measured=spread(rates), unit=" / s", target=500, seconds=SECONDS, records=300,
        threads=2, repetitions=ROUNDS, fault=fault,
    )  # fmt: skip


def processor(tick: Callable[[float], None]) -> Result:
    """The milliseconds of processor time that the server takes for each; the machine's other work changes it little."""
    _, used, fault = _under_load(tick)
    return Result(
        GROUP, NAMES["processor"], measured=spread(used), unit=" ms", at_most=True, seconds=SECONDS, records=300,
        threads=2, repetitions=ROUNDS, fault=fault,
    )  # fmt: skip


def _under_load(tick: Callable[[float], None]) -> tuple[list[float], list[float], str | None]:
    """Ask for several rounds; return the releases of a second in each, the server's time for one, and what is wrong."""
    from tests.server.running import COUNT, Server

    with tempfile.TemporaryDirectory() as folder, Server(Path(folder), "--no-pad", "--slots", SLOTS) as server:
        tokens = [server.add(f"analyst{place}", epsilon="100000") for place in range(ANALYSTS)]
        statuses: list[int] = []
        asyncio.run(_load(server.port, tokens, COUNT, SECONDS / 4, statuses))
        rates, used = [], []
        for place in range(ROUNDS):
            asked, before = len(statuses), _time_of(server.process.pid)
            rates.append(asyncio.run(_load(server.port, tokens, COUNT, SECONDS, statuses)))
            used.append(1000 * (_time_of(server.process.pid) - before) / (len(statuses) - asked))
            tick((place + 1) / ROUNDS)
        others = [status for status in statuses if status != 200]
    return rates, used, f"{len(others)} answers were no releases" if others else None


def _time_of(process: int) -> float:
    """The seconds of processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _load(port: int, tokens: list[str], request: object, seconds: float, statuses: list[int]) -> float:
    """Ask all the time, each analyst one question after the other; return the releases of a second."""
    from tests.server.load import Caller

    begun, before = time.perf_counter(), len(statuses)

    async def ask(token: str) -> None:
        caller = Caller(port, token)
        while time.perf_counter() < begun + seconds:
            statuses.append((await caller.ask("/v1/tables/visits/release", request))[0])
        await caller.close()

    await asyncio.gather(*[ask(token) for token in tokens])
    return (len(statuses) - before) / (time.perf_counter() - begun)


ROWS: dict[str, Callable[[Callable[[float], None]], Result]] = {
    NAMES["overhead"]: overhead,
    NAMES["rate"]: rate,
    NAMES["processor"]: processor,
}
