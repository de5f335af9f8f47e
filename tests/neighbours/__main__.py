"""`python -m tests.neighbours [--minutes 10 | --draws 20000] [--seed S]`: exit code 1 where a promise is broken.

Every draw follows from the seed and its number alone, so that `--seed S --only N` looks at one again, and the verdict
on so many draws is the same on every machine. Without --seed the draws are new ones.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import secrets
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat

from tests.neighbours.running import Tally, join, run


def report(tally: Tally) -> None:
    kinds: dict[str, list[str]] = {}
    for (what, name), times in sorted(tally.covered.items(), key=lambda item: (item[0][0], -item[1])):
        kinds.setdefault(what, []).append(f"{name} {times:,}")
    for what, names in kinds.items():
        print(f"{what + ':':12}{', '.join(names)}")
    outcomes = tally.outcomes
    rate = outcomes["compared"] / tally.cpu if tally.cpu else 0
    print(
        f"{tally.draws:,} draws: {outcomes['compared']:,} pairs compared, {outcomes['modelled']:,} with definitions, "
        f"{outcomes['refused']:,} refused, {outcomes['undelivered']:,} that a library could not hold; "
        f"{rate:.0f} pairs per CPU second"
    )
    for number, rule, details, code in tally.found:
        print(f"\nDraw {number}: {rule}.\n{details}\n\n{code}")
    for rule, times in tally.rules.items():
        print(f"\n{rule}: {times:,} pairs", end="")
    print("" if tally.rules else "Nothing was found.")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.neighbours", description=__doc__)
    parser.add_argument("--draws", type=int, help="how many; 20,000 unless --minutes is given")
    parser.add_argument("--minutes", type=float, help="for how long to draw")
    parser.add_argument("--seed", help="what the draws follow from; by default a new one")
    parser.add_argument("--only", type=int, help="the number of one draw to look at")
    parser.add_argument("--processes", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--engines", nargs="+", choices=("postgres", "spark"), help="look at tables in these instead")
    given = parser.parse_args()
    seed = given.seed or secrets.token_hex(4)
    print(f"seed {seed}")
    deadline = None if given.minutes is None else time.monotonic() + 60 * given.minutes
    last = given.draws or (20_000 if given.minutes is None else sys.maxsize)
    if given.only is not None:
        shares = [range(given.only, given.only + 1)]
    else:
        shares = [range(place, last, given.processes) for place in range(given.processes)]
    with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn")) as pool:
        whole = join(list(pool.map(run, repeat(seed), shares, repeat(deadline), repeat(given.engines))))
    report(whole)
    return 1 if whole.rules else 0


if __name__ == "__main__":
    sys.exit(main())
