"""A process that spends: python spender.py LEDGER RELEASED COST HOOK. Prints ready, waits for a line, releases once.

The release is a line appended to RELEASED and synced, after the commit. HOOK is what happens on the way: nothing,
"slow" (a pause between reading the ledger and writing to it), or "kill before|after STATEMENT" (SIGKILL at that point,
where `release` is the release itself and `sum` the reading and adding up before it).
"""

import os
import signal
import sqlite3
import sys
import time
from functools import partial

from soundsum.budget import Budget, BudgetExceeded, Cost


class Watched(sqlite3.Connection):
    def execute(self, sql, *parameters):
        reached("before", sql)
        result = super().execute(sql, *parameters)
        reached("after", sql)
        return result


def reached(when, where):
    global charging
    charging = charging or where.startswith("INSERT INTO lines")
    if where == "COMMIT" and not charging:
        return  # of the reservation, which only reads
    if hook == "slow" and when == "before" and where.startswith("INSERT INTO lines"):
        time.sleep(0.3)
    if hook.startswith(f"kill {when} ") and where.startswith(hook.split(maxsplit=2)[2]):
        os.kill(os.getpid(), signal.SIGKILL)


def release(budget, released, cost):
    """One release, in the order of DESIGN.md."""
    budget.charge(cost, f"by {os.getpid()}")
    reached("before", "sum")
    reached("before", "release")
    os.write(released, b"released\n")
    os.fsync(released)


hook, charging = "", False

if __name__ == "__main__":
    ledger, path, cost, hook = sys.argv[1:]
    budget = Budget(path=ledger)
    sqlite3.connect = partial(sqlite3.connect, factory=Watched)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        release(budget, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), Cost(cost))
    except BudgetExceeded as error:
        print(error)
        sys.exit(2)
