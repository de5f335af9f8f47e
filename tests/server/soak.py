"""The server under load for as long as you like: `python -m tests.server.soak`, one of

    --minutes 10 --analysts 1000    analysts who all ask at once, of a budget that is too small for them
    --kills 200                     kill -9 at random moments under load
    --half-open 10000               connections that never send a whole request

It prints what happened as JSON; exit code 1 means that something was overspent, lost, unfair or not served.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import resource
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import httpx

from soundsum.budget import ledger

from .load import Caller
from .running import SUM, Server, wait_until

RELEASE = "/v1/tables/visits/release"
COST = Fraction(1, 10)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.server.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--analysts", type=int, default=1000)
    parser.add_argument("--pad", default="0.5s", help="of the table; 'none' for none")
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--epsilon", default="600", help="of the table; each release costs 1/10")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--half-open", type=int, default=0)
    options = parser.parse_args()
    allow_connections()
    with tempfile.TemporaryDirectory() as folder:
        if options.kills:
            told = kill_under_load(Path(folder), options.kills, options.kills)
        elif options.half_open:
            told = hold_half_open(Path(folder), options.half_open)
        else:
            told = asyncio.run(load(Path(folder), options))
    told["load of the machine"] = [round(one, 1) for one in os.getloadavg()]
    print(json.dumps(told, indent=2))
    return 1 if told["wrong"] else 0


def allow_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


# Analysts who all ask at once


async def load(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    pad = None if options.pad == "none" else options.pad
    words = ["--slots", str(options.slots), "--waiting", str(2 * options.analysts), *([] if pad else ["--no-pad"])]
    with Server(folder, *words, pad=pad, epsilon=options.epsilon, max_failures=10**6) as server:
        who = [f"analyst{place}" for place in range(options.analysts)]
        tokens = [server.add(one, epsilon=options.epsilon, max_failures=10**6) for one in who]
        end = time.monotonic() + 60 * options.minutes
        statuses: list[Counter[object]] = [Counter() for _ in who]
        got: dict[tuple[int, str], bytes] = {}
        waits: list[float] = []

        async def ask(place: int) -> None:
            caller, number = Caller(server.port, tokens[place]), 0
            while time.monotonic() < end:
                number, begun, key = number + 1, time.monotonic(), f"{place}-{number}"
                status, body = await caller.ask(RELEASE, SUM, key)
                statuses[place][status] += 1
                waits.append(time.monotonic() - begun)
                if status == 200:
                    got[place, key] = body
            await caller.close()

        held: list[dict[str, float]] = []

        async def watch() -> None:
            while time.monotonic() < end:
                await asyncio.sleep(min(10.0, 6 * options.minutes))
                held.append(measure_memory(server))

        await asyncio.gather(watch(), *[ask(place) for place in range(options.analysts)])
        changed = 0
        callers = [Caller(server.port, token) for token in tokens]
        for (place, key), body in got.items():
            changed += (await callers[place].ask(RELEASE, SUM, key))[1] != body
        for caller in callers:
            await caller.close()
        found = ledger.read(server.ledger)
    answers = [sum(one.values()) for one in statuses]
    states = Counter(entry.state for entry in found.entries)
    early, late = (statistics.mean([one["server"] for one in part]) for part in halves(held))
    wrong = {
        "overspent": found.spent.epsilon > Fraction(options.epsilon)
        or found.spent.epsilon != COST * len(found.entries),
        "answers that changed or were lost": changed,
        "releases nobody got": states["released"] - len(got),
        "unfair": max(answers) - min(answers) > 2,
        "memory grew": late > 1.2 * early + 20,
        "other statuses": sorted({one for each in statuses for one in each} - {200, 409, 503}),
        "failed reads": states["failed"] != sum(one[503] for one in statuses),
    }
    return {
        "analysts": options.analysts, "minutes": options.minutes, "pad": options.pad, "slots": options.slots,
        "statuses": dict(sum(statuses, Counter())), "charges": dict(states),
        "epsilon spent": str(found.spent.epsilon), "of": options.epsilon,
        "answers of an analyst, fewest and most": [min(answers), max(answers)],
        "seconds waited, median and most": [round(statistics.median(waits), 1), round(max(waits), 1)],
        "megabytes of the server in each half": [round(early), round(late)],
        "megabytes of all its processes, most": round(max(one["all"] for one in held)),
        "wrong": {name: one for name, one in wrong.items() if one},
    }  # fmt: skip


def halves(values: list[dict[str, float]]) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """The second quarter, when all have begun, and the last."""
    quarter = max(1, len(values) // 4)
    return values[quarter : 2 * quarter] or values[:1], values[-quarter:]


def measure_memory(server: Server) -> dict[str, float]:
    def held(pid: int) -> float:
        try:
            return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
        except OSError:
            return 0.0

    assert server.process is not None
    own = held(server.process.pid)
    return {"server": own, "all": own + sum(map(held, server.children()))}


# kill -9


def kill_under_load(folder: Path, kills: int, seed: int) -> dict[str, object]:
    """Kill the server again and again under load: whatever a client got is stored, and no key is charged twice."""
    server = Server(folder, "--no-pad", epsilon="1000000")
    got: dict[str, bytes] = {}
    asked: list[str] = []
    changed: list[str] = []
    with server:
        token = server.add(epsilon="1000000", max_failures=10**6)
        end = threading.Event()

        def ask(worker: int) -> None:
            number = 0
            with server.client(token) as client:
                while not end.is_set():
                    key = f"{worker}-{number}"
                    asked.append(key)
                    for _ in range(3):
                        try:
                            answer = client.post(RELEASE, json=SUM, headers={"idempotency-key": key})
                        except httpx.TransportError:
                            time.sleep(0.2)
                            continue
                        if answer.status_code == 200 and got.setdefault(key, answer.content) != answer.content:
                            changed.append(key)
                        break
                    number += 1

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(4)]
        for thread in threads:
            thread.start()
        moments = random.Random(seed)
        for _ in range(kills):
            before = len(got)
            wait_until(lambda before=before: len(got) > before)
            time.sleep(moments.uniform(0, 0.5))
            server.kill()
            server.start()
        time.sleep(0.5)
        end.set()
        for thread in threads:
            thread.join(60)
        found = ledger.read(server.ledger)  # every line follows from those before
        with server.client(token) as client:
            for key, content in got.items():
                again = client.post(RELEASE, json=SUM, headers={"idempotency-key": key})
                if again.content != content:
                    changed.append(key)
        after = ledger.read(server.ledger)
    wrong = {
        "threads that hang": sum(thread.is_alive() for thread in threads),
        "spent beside the charges": found.spent.epsilon != COST * len(found.entries),
        "answers that changed or were lost": len(changed),
        "charges twice": len(after.entries) != len(found.entries) or len(found.entries) > len(set(asked)),
        "nothing was asked": len(got) < kills,
    }
    return {
        "kills": kills, "asked": len(asked), "got": len(got),
        "charges": dict(Counter(entry.state for entry in found.entries)),
        "wrong": {name: one for name, one in wrong.items() if one},
    }  # fmt: skip


# Half-open connections


def hold_half_open(folder: Path, count: int) -> dict[str, object]:
    """Open connections that never send a whole request: others are answered, and in the end these are closed."""
    beginnings = [b"", b"POST /v1/tables/visits/release HTTP/1.1\r\nhost: local"]
    beginnings += [b"POST /v1/tables/visits/release HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"]
    with Server(folder, "--no-pad") as server, server.client(server.add()) as client:
        opened, statuses = [], []
        for place in range(count):
            one = socket.create_connection(("127.0.0.1", server.port), timeout=60)
            one.sendall(beginnings[place % len(beginnings)])
            opened.append(one)
            if place % (1 + count // 10) == 0:
                statuses.append(client.post(RELEASE, json=SUM).status_code)
        assert server.process is not None
        files = Path(f"/proc/{server.process.pid}/fd")
        most = len(list(files.iterdir()))
        wait_until(lambda: len(list(files.iterdir())) < 100)
        statuses.append(client.post(RELEASE, json=SUM).status_code)
        for one in opened:
            one.close()
    wrong = {"not answered": [one for one in statuses if one != 200]}
    return {
        "half-open connections": count, "files of the server, most": most, "answers meanwhile and after": statuses,
        "wrong": {name: one for name, one in wrong.items() if one},
    }  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
