"""A script that sums 2^30 records in order and prints, as JSON, the seconds it took and its peak memory.

The dataset is the paper's repeated rounding II for doubles: 2^29 ones, then x, L, x, L, ..., where every x rounds the
sum up by a whole step and no L brings it back.
"""

from __future__ import annotations

import json
import resource
import time
from fractions import Fraction
from pathlib import Path

from soundsum import Runs, kernels

HALF = 2**29
STEP = Fraction(HALF, 2**52)
X, L = STEP * (Fraction(1, 2) + Fraction(1, 2**52)), -STEP * (Fraction(1, 2) - Fraction(1, 2**52))
EXPECTED = HALF + HALF // 2 * STEP


def peak_megabytes() -> float:
    """Measure this process alone: getrusage's ru_maxrss starts at the peak of the parent process."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) * 1024 / 1e6
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    before = peak_megabytes()
    start = time.perf_counter()
    runs = Runs("float64", [(1, HALF), ((X, L), HALF // 2)])
    total = kernels.float_sum("iterated", runs, lower=L, upper=1)
    took = time.perf_counter() - start
    fault = "" if total == EXPECTED else f"the sum is {total}, not {EXPECTED}"
    print(json.dumps({"seconds": took, "megabytes": peak_megabytes(), "before": before, "fault": fault}))
