"""The rows that need fresh processes: memory of a run-length dataset and of keys, and the time of an import."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.key_memory import ROWS as KEYS
from benchmarks.measure import Result, spread

ROOT = Path(__file__).resolve().parents[1]
IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
NAMES = {
    "memory": "memory of 2^30 records",
    "integers": "memory of a key, integers",
    "texts": "memory of a key, texts",
    "import": "time of import soundsum",
}
GROUP = "fresh processes"


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"python {' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


def runs_memory(tick: Callable[[float], None], repetitions: int = 3) -> Result:
    seen = []
    for done in range(repetitions):
        seen.append(json.loads(_python("-m", "benchmarks.repeated_rounding")))
        tick((done + 1) / repetitions)
    return Result(
        GROUP,
        NAMES["memory"],
        f"{max(each['before'] for each in seen):.0f} MB before it",
        measured=spread([each["megabytes"] for each in seen]),
        unit=" MB",
        target=100,
        at_most=True,
        seconds=statistics.median(each["seconds"] for each in seen),
        records=2**30,
        repetitions=repetitions,
        fault=seen[0]["fault"],
    )


def key_memory(kind: str, tick: Callable[[float], None], repetitions: int = 3) -> Result:
    """What twice as many keys take more."""
    seen = []
    for done in range(repetitions):
        few, many = (int(_python("-m", "benchmarks.key_memory", kind, str(keys))) for keys in (KEYS // 2, KEYS))
        seen.append((many - few) / (KEYS // 2))
        tick((done + 1) / repetitions)
    return Result(
        GROUP,
        NAMES[kind],
        "half as many",
        measured=spread(seen),
        unit=" bytes",
        records=KEYS,
        repetitions=repetitions,
    )


def import_time(tick: Callable[[float], None], batches: int = 7, tries: int = 5) -> Result:
    """Take the best of a few tries, because other work only adds to so short a time."""

    def once(module: str) -> float:
        return float(_python("-c", IMPORT.format(module)))

    once("soundsum")  # warms the disk's cache
    ours, ratios = [], []
    for done in range(batches):
        pairs = [(once("soundsum"), once("numpy")) for _ in range(tries)]
        best_of_ours, best_of_peer = (min(times) for times in zip(*pairs, strict=True))
        ours.append(best_of_ours)
        ratios.append(best_of_ours / best_of_peer)
        tick((done + 1) / batches)
    return Result(
        GROUP,
        NAMES["import"],
        "import numpy",
        measured=spread(ratios),
        target=2.0,
        at_most=True,
        seconds=statistics.median(ours),
        repetitions=batches * tries,
    )


ROWS: dict[str, Callable[[Callable[[float], None]], Result]] = {
    NAMES["memory"]: runs_memory,
    NAMES["integers"]: partial(key_memory, "integers"),
    NAMES["texts"]: partial(key_memory, "texts"),
    NAMES["import"]: import_time,
}
