"""Many processes on one ledger, killed at random: python hammer.py LEDGER RELEASED COST PROCESSES SEED.

Every process releases again and again until the budget is spent; one that was killed is replaced by another.
Prints the number of kills.
"""

import os
import random
import signal
import sys
import time
from contextlib import suppress

from spender import release

from soundsum.budget import Budget, BudgetExceeded, Cost


def work(budget, released, cost):
    try:
        while True:
            with suppress(TimeoutError):  # on a machine busy for seconds; nothing is charged then
                release(budget, released, cost)
    except BudgetExceeded:
        os._exit(0)
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        os._exit(1)


def main(ledger, path, cost, processes, seed):
    chance, kills, living = random.Random(seed), 0, set()
    budget = Budget(path=ledger)
    released = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    ended, start = 0, time.monotonic()
    release(budget, released, Cost(cost))
    pause = time.monotonic() - start  # so that a process dies at any point of a charge, whatever the disk
    while ended < processes:
        while len(living) < processes - ended:
            if not (child := os.fork()):
                work(budget, released, Cost(cost))
            living.add(child)
        time.sleep(chance.uniform(0, pause))
        victim = chance.choice(sorted(living))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        living.remove(victim)
        if os.WIFSIGNALED(status):
            kills += 1
        elif os.WEXITSTATUS(status) == 0:
            ended += 1
        else:
            sys.exit("a process failed")
    print(kills)


if __name__ == "__main__":
    ledger, path, cost, processes, seed = sys.argv[1:]
    main(ledger, path, cost, int(processes), int(seed))
