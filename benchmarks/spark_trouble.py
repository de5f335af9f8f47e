"""Spark in trouble: `python -m benchmarks.spark_trouble`, a few minutes (`make databases` installs Spark).

Two executors of one core each add up a million rows (or `--rows`) by person and group: with keys that are spread
evenly, with half of the rows of one person in one group, in 2,000 partitions, and with an executor killed in mid-job.
It prints the time of each, as a ratio to the first, and whether the integers are those of memory.
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from tests.engines.databases.servers import find_java

import soundsum as ss
from soundsum.conformance import answers

PERSONS, GROUPS = 40_000, 100
STATISTICS = [ss.Sum("x", 0, 1000), ss.Count()]
OPTIONS: dict[str, Any] = {
    "by": "g",
    "groups": range(GROUPS),
    "privacy_unit": "who",
    "max_rows": 10,
    "max_groups": 2,
}
ROUNDS = 3


def _table(rows: int, is_skewed: bool) -> pa.Table:
    place = np.arange(rows)
    alone = (place % 2 == 0) & is_skewed
    who, group = place * 7919 % PERSONS, place * 31 % 997 % GROUPS
    return pa.table({"x": (place % 1001).astype(float), "who": np.where(alone, 0, who), "g": np.where(alone, 0, group)})


def _frame(session: Any, rows: int, is_skewed: bool, partitions: int) -> Any:
    alone = f"id % 2 = 0 AND {str(is_skewed).lower()}"
    who, group = f"id * 7919 % {PERSONS}", f"id * 31 % 997 % {GROUPS}"
    return session.range(0, rows, 1, partitions).selectExpr(
        "CAST(id % 1001 AS double) AS x", f"IF({alone}, 0, {who}) AS who", f"IF({alone}, 0, {group}) AS g"
    )


def _kill_one(session: Any) -> None:
    """Kill an executor as soon as it works."""
    application, status = session.sparkContext.applicationId, session.sparkContext.statusTracker()
    while not any(info and info.numActiveTasks for info in map(status.getStageInfo, status.getActiveStageIds())):
        time.sleep(0.02)
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            said = (folder / "cmdline").read_text(errors="replace")
        except OSError:  # it has ended
            continue
        if "CoarseGrainedExecutorBackend" in said and application in said:
            os.kill(int(folder.name), signal.SIGKILL)
            return


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark_trouble")
    parser.add_argument("--rows", type=int, default=10**6)
    rows = parser.parse_args().rows
    os.environ["JAVA_HOME"] = find_java()
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    first = None
    for name, is_skewed, partitions, is_killed in (
        ("keys spread evenly, 8 partitions", False, 8, False),
        ("half of the rows of one person and group", True, 8, False),
        ("2,000 partitions", False, 2_000, False),
        ("an executor killed in mid-job", False, 8, True),
    ):
        frame = _frame(session, rows, is_skewed, partitions)
        expected = answers(_table(rows, is_skewed), STATISTICS, **OPTIONS)
        took, are_equal = [], True
        for _ in range(1 if is_killed or partitions > 8 else ROUNDS):
            killer = threading.Thread(target=_kill_one, args=(session,), daemon=True)
            if is_killed:
                killer.start()
            begin = time.perf_counter()
            are_equal &= answers(frame, STATISTICS, **OPTIONS) == expected
            took.append(time.perf_counter() - begin)
        first = first or min(took)
        print(
            f"{name}: {min(took):.1f} s, {min(took) / first:.1f}x; {'equal' if are_equal else 'NOT EQUAL'}", flush=True
        )
    session.stop()


if __name__ == "__main__":
    main()
