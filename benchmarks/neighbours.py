"""What time tells: how many timed pairs it takes to tell neighbouring tables apart.

Both tables of a pair are summed in turn, in random order. A rank test (the sign test: how often one takes longer than
the other) tells them apart at 1% after about (2.58 / (2 p - 1))^2 pairs, where p is that share. If all pairs together
do not tell them apart, that is said by the number that was timed. The first row is a table against itself.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import soundsum as ss
from benchmarks.measure import Result, Spread, seconds

GROUP = "neighbours, timed"
Z = statistics.NormalDist().inv_cdf(0.995)
"""Of a two-sided test at 1%."""

ROWS_EACH, LINES = 4_000_000, 400_000
PAIRS, RESAMPLED = 150, 200
WHERE = ROWS_EACH // 3
"""The record in which they differ."""


@dataclass(frozen=True)
class Neighbours:
    """Two calls on tables that differ in one record."""

    left: Callable[[], Any]
    right: Callable[[], Any]
    kept: Any = None
    """What must live as long as they do."""


def _floats(value: float) -> Neighbours:
    left = np.random.default_rng(1).random(ROWS_EACH)
    right = left.copy()
    right[WHERE] = value
    return Neighbours(lambda: ss.sum(left, 0, 1, 1), lambda: ss.sum(right, 0, 1, 1))


def _null() -> Neighbours:
    values, mask = np.random.default_rng(1).integers(0, 100, ROWS_EACH), np.zeros(ROWS_EACH, bool)
    left = pa.array(values)
    mask[WHERE] = True
    right = pa.array(values, mask=mask)
    return Neighbours(lambda: ss.sum(left, 0, 100, 1), lambda: ss.sum(right, 0, 100, 1))


def _keys(other: int | None) -> Neighbours:
    keys = np.random.default_rng(1).integers(0, 100, ROWS_EACH)
    changed, mask = keys.copy(), np.zeros(ROWS_EACH, bool)
    changed[WHERE], mask[WHERE] = (0, True) if other is None else (other, False)
    left, right = pa.table({"k": keys}), pa.table({"k": pa.array(changed, mask=mask)})
    return Neighbours(*(_count_by_key(table) for table in (left, right)))


def _count_by_key(table: pa.Table) -> Callable[[], Any]:
    return lambda: ss.count(table, 1, by="k", groups=range(100))


def _persons() -> Neighbours:
    ids = np.random.default_rng(1).integers(0, 10_000, ROWS_EACH)
    changed = ids.copy()
    changed[WHERE] = 10**9
    left, right = (pa.table({"id": column, "x": np.ones(ROWS_EACH)}) for column in (ids, changed))
    return Neighbours(*(_sum_by_person(table) for table in (left, right)))


def _sum_by_person(table: pa.Table) -> Callable[[], Any]:
    return lambda: ss.sum(table, 0, 1, 1, column="x", privacy_unit="id", max_rows=10)


def _csv(broken: bytes) -> Neighbours:
    folder, paths = tempfile.TemporaryDirectory(), []
    lines = [b"%s,%d" % (b"ab"[i % 2 : i % 2 + 1], i % 100) for i in range(LINES)]
    for name, cell in (("left", b"a,5"), ("right", broken)):
        lines[LINES // 3] = cell
        paths.append(Path(folder.name) / f"{name}.csv")
        paths[-1].write_bytes(b"k,x\n" + b"\n".join(lines) + b"\n")
    return Neighbours(*(_sum_of_csv(str(path)) for path in paths), folder)


def _sum_of_csv(path: str) -> Callable[[], Any]:
    return lambda: ss.sum(path, 0, 100, 1, column="x", dtype="float64", by="k", groups=["a", "b"])


CASES: dict[str, Callable[[], Neighbours]] = {
    "nothing": lambda: _floats(0.5),
    "a null (int64)": _null,
    "a NaN": lambda: _floats(math.nan),
    "an infinity": lambda: _floats(math.inf),
    "1e300": lambda: _floats(1e300),
    "-0.0": lambda: _floats(-0.0),
    "a new key": lambda: _keys(10**9),
    "a key that is null": lambda: _keys(None),
    "a broken byte in CSV": lambda: _csv(b"\xff,5"),
    "a cell that is no number in CSV": lambda: _csv(b"a,?"),
    "another person": _persons,
}


def tell_apart(name: str, tick: Callable[[float], None]) -> Result:
    pair = CASES[name]()
    left, right = pair.left, pair.left if name == "nothing" else pair.right
    left(), right()
    times: list[tuple[float, float]] = []
    for done in range(PAIRS):
        if os.urandom(1)[0] % 2:
            first = seconds(left)
            times.append((first, seconds(right)))
        else:
            second = seconds(right)
            times.append((seconds(left), second))
        tick((done + 1) / PAIRS)
    longer = np.array([right_took > left_took for left_took, right_took in times], float)
    rng = np.random.default_rng()
    shares = [float(rng.choice(longer, PAIRS).mean()) for _ in range(RESAMPLED)]
    low, high = (statistics.quantiles(map(_pairs_to_tell, shares), n=4)[side] for side in (0, 2))
    apart = statistics.median(b - a for a, b in times)
    took = statistics.median(a for a, _ in times)
    words = f"{1e3 * apart:+.3f} of {1e3 * took:.1f} ms"
    measured = Spread(_pairs_to_tell(float(longer.mean())), low, high)
    return Result(GROUP, f"by {name}", words, measured=measured, unit=" pairs", repetitions=PAIRS)


def _pairs_to_tell(share: float) -> float:
    """Pairs after which the sign test is as likely as not to reject; no more than were timed, which did not."""
    return min(float(PAIRS), (Z / max(abs(2 * share - 1), 1e-9)) ** 2)


def _row(name: str) -> Callable[[Callable[[float], None]], Result]:
    return lambda tick: tell_apart(name, tick)


ROWS = {f"{GROUP}: by {name}": _row(name) for name in CASES}
