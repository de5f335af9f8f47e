"""A script for a library's own environment: reads as JSON what to measure, and writes the results as JSON.

It needs only NumPy and the library.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from typing import Any

import numpy as np


def records(kind: str, n: int, upper: int) -> Any:
    rng = np.random.default_rng(n)
    return rng.integers(0, upper + 1, n) if kind == "int64" else rng.uniform(0, upper, n).astype(kind)


def measure(asked: dict[str, Any], release: Any, data: Any) -> dict[str, Any]:
    """Measure the error of many releases against the exact sum, and the fastest release, until the time is up."""
    started, errors, seconds = time.perf_counter(), [], []
    release(data)  # the first one loads what it needs
    truth = float(data.astype("float64").sum())
    while len(errors) < asked["runs"] and (time.perf_counter() - started < asked["seconds"] or len(errors) < 3):
        begin = time.perf_counter()
        value = release(data)
        seconds.append(time.perf_counter() - begin)
        errors.append(abs(float(value) - truth))
    return {"error": float(np.mean(errors)), "runs": len(errors), "seconds": min(seconds)}


def measure_ranks(asked: dict[str, Any], release: Any) -> dict[str, Any]:
    """Measure by how many ranks quantiles miss, on average, until the time is up."""
    data = np.sort(np.random.default_rng(1).gamma(2, 150, asked["ranked"]))
    found = {}
    for q in asked["quantiles"]:
        started, errors, seconds = time.perf_counter(), [], []
        release(data, q)
        while len(errors) < asked["runs"] and (time.perf_counter() - started < asked["seconds"] or len(errors) < 3):
            begin = time.perf_counter()
            value = float(release(data, q))
            seconds.append(time.perf_counter() - begin)
            below, at_most = (np.searchsorted(data, value, side=side) for side in ("left", "right"))
            errors.append(max(0.0, below - q * len(data), q * len(data) - at_most))
        mean, spread = np.mean(errors), np.std(errors) / len(errors) ** 0.5
        found[str(q)] = {"error": float(mean), "spread": float(spread), "runs": len(errors), "seconds": min(seconds)}
    return found


def main() -> None:
    asked = json.load(sys.stdin)
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    answer: dict[str, Any] = {"sums": [], "features": []}
    if asked["adapter"]:
        targets = {target["name"]: target for target in runpy.run_path(asked["adapter"])["targets"]()}
        answer["version"] = next(iter(targets.values()))["version"]
    space: dict[str, Any] = {}
    exec(asked["import"], space)
    for feature, expression in asked["features"].items():
        if eval(expression, space) not in (None, False, [], ()):
            answer["features"].append(feature)
    for kind, name in asked["sums"]:
        seen: dict[str, Any] = {"kind": kind, "name": name, "sizes": {}}
        for n in asked["sizes"]:
            cast = int if kind.startswith("int") else float
            within = {"np": np, "lower": cast(0), "upper": cast(asked["upper"]), "epsilon": 1.0, "size": n}
            if asked["adapter"]:
                exec(targets[name]["repro"], within)
            else:
                exec(f"{asked['import']}\ndef release(data): return {name}.value", within)
            try:
                seen["sizes"][n] = measure(asked, within["release"], records(kind.split(",")[0], n, asked["upper"]))
            except Exception as reason:
                seen["sizes"][n] = {"fault": f"{type(reason).__name__}: {reason}"[:200]}
        answer["sums"].append(seen)
    if "quantile" in asked:
        within = {**space, "np": np, "lower": 0.0, "upper": 2000.0, "epsilon": 1.0}
        exec(asked["quantile"], within)
        try:
            answer["ranks"] = measure_ranks(asked, within["release"])
        except Exception as reason:
            answer["ranks"] = {"fault": f"{type(reason).__name__}: {reason}"[:200]}
    json.dump(answer, sys.__stdout__)


if __name__ == "__main__":
    real, sys.stdout = sys.stdout, sys.stderr  # what libraries print is not an answer
    main()
