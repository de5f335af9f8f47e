"""The time of a small release: `python -m benchmarks.small`.

It prints the best of several rounds of processor time for one `ss.sum` of 1,000 numbers and its value, with and without
a ledger. The ledger lies in the folder for temporary files; syncing to a disk adds the disk's time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import soundsum as ss

ROUNDS = 7


def best(call: Callable[[], object], times: int) -> float:
    """Measure the milliseconds of processor time for one call, in the best round."""
    call()
    found = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(times):
            call()
        found.append(1000 * (time.process_time() - begin) / times)
    return min(found)


def main() -> None:
    data = np.arange(1000.0)
    print(f"one sum: {best(lambda: ss.sum(data, 0, 1000, epsilon=1).value, 500):.3f} ms")
    with tempfile.TemporaryDirectory() as folder:
        budget = ss.Budget(epsilon=10**6, path=Path(folder, "ledger.db"))
        took = best(lambda: ss.sum(data, 0, 1000, epsilon=1, budget=budget).value, 50)
        print(f"one sum, charged to a ledger: {took:.3f} ms")


if __name__ == "__main__":
    main()
