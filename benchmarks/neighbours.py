"""The timing channel: how many timed pairs it takes to tell neighbouring tables apart.

Both tables of a pair are summed in turn, in random order. A rank test (the sign test: how often one takes longer than
the other) tells them apart at 1% after about (2.58 / (2 p - 1))^2 pairs, where p is that share. If all pairs together
do not tell them apart, the row shows the number of timed pairs. The place of a table in memory matters too, so each
table is made twice: in half of the pairs the plain table was made first, in the other half last. The first row, the
control, compares two identical copies, made and timed like all others.
"""

from __future__ import annotations

import math
import os
import statistics
import tempfile
from collections.abc import Callable
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


Call = Callable[[], Any]
Make = Callable[[bool], Call]
"""Makes a table anew, plain or with one record changed, and gives the call that is timed."""


def _floats(value: float) -> Make:
    def make(changed: bool) -> Call:
        values = np.random.default_rng(1).random(ROWS_EACH)
        values[WHERE] = value if changed else 0.5
        return lambda: ss.sum(values, 0, 1, 1)

    return make


def _column(changed: bool, other: int | None = None) -> Any:
    """Integers from 0 to 99, one of which is another or null; Arrow has a bitmap only if one is null."""
    values, mask = np.random.default_rng(1).integers(0, 100, ROWS_EACH), np.zeros(ROWS_EACH, bool)
    values[WHERE] = other if changed and other is not None else 5
    mask[WHERE] = True
    return pa.array(values, mask=mask if changed and other is None else None)


def _null(changed: bool) -> Call:
    column = _column(changed)
    return lambda: ss.sum(column, 0, 100, 1)


def _null_in_histogram(changed: bool) -> Call:
    column = _column(changed)
    return lambda: ss.histogram(column, range(0, 101, 10), 1)


def _null_in_condition(changed: bool) -> Call:
    table = pa.table({"k": _column(changed)})
    return lambda: ss.count(table, 1, where=("k", ">", 50))


def _null_in_text(changed: bool) -> Call:
    table = pa.table({"k": _column(changed).cast(pa.string())})
    return lambda: ss.count(table, 1, where=("k", ">", "50"))


def _keys(other: int | None) -> Make:
    def make(changed: bool) -> Call:
        table = pa.table({"k": _column(changed, other)})
        return lambda: ss.count(table, 1, by="k", groups=range(100))

    return make


def _persons(changed: bool) -> Call:
    ids = np.random.default_rng(1).integers(0, 10_000, ROWS_EACH)
    ids[WHERE] = 10**9 if changed else 5
    table = pa.table({"id": ids, "x": np.ones(ROWS_EACH)})
    return lambda: ss.sum(table, 0, 1, 1, column="x", privacy_unit="id", max_rows=10)


def _csv(broken: bytes, plans: bool = False) -> Make:
    def make(changed: bool) -> Call:
        folder = tempfile.TemporaryDirectory()
        lines = [b"%s,%d" % (b"ab"[i % 2 : i % 2 + 1], i % 100) for i in range(LINES)]
        lines[LINES // 3] = broken if changed else b"a,5"
        path = Path(folder.name) / "rows.csv"
        path.write_bytes(b"k,x\n" + b"\n".join(lines) + b"\n")
        owner = ss.Private(path, budget=ss.Budget(epsilon=1), schema={"x": "float64"})

        def call(kept: Any = folder) -> Any:  # the folder lives as long as this
            if plans:
                return owner.plan("x", 0, 100, by="k", groups=["a", "b"])
            return ss.sum(path, 0, 100, 1, column="x", dtype="float64", by="k", groups=["a", "b"])

        return call

    return make


CASES: dict[str, Make] = {
    "nothing": _floats(0.5),
    "a null (int64)": _null,
    "a null in a histogram": _null_in_histogram,
    "a null in a condition": _null_in_condition,
    "a null in a condition on text": _null_in_text,
    "a NaN": _floats(math.nan),
    "an infinity": _floats(math.inf),
    "1e300": _floats(1e300),
    "-0.0": _floats(-0.0),
    "a new key": _keys(10**9),
    "a key that is null": _keys(None),
    "a broken byte in CSV": _csv(b"\xff,5"),
    "a cell that is no number in CSV": _csv(b"a,?"),
    "a broken byte in CSV, planned only": _csv(b"\xff,5", plans=True),
    "an emoji in CSV, planned only": _csv("\U0001f600,5".encode(), plans=True),
    "another person": _persons,
}


def tell_apart(name: str, tick: Callable[[float], None]) -> Result:
    make = CASES[name]
    times: list[tuple[float, float]] = []
    for first in (False, True):
        made = {first: make(first)}
        made[not first] = make(not first)
        left, right = made[False], made[True]
        left(), right()
        for _ in range(PAIRS // 2):
            if os.urandom(1)[0] % 2:
                left_took = seconds(left)
                times.append((left_took, seconds(right)))
            else:
                right_took = seconds(right)
                times.append((seconds(left), right_took))
            tick(len(times) / PAIRS)
        del made, left, right
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
    """Compute after how many pairs the sign test has an even chance to reject; at most the number timed."""
    return min(float(PAIRS), (Z / max(abs(2 * share - 1), 1e-9)) ** 2)


def _row(name: str) -> Callable[[Callable[[float], None]], Result]:
    return lambda tick: tell_apart(name, tick)


ROWS = {f"{GROUP}: by {name}": _row(name) for name in CASES}
