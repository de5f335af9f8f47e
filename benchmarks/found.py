"""The rows over groups that are found: against the same sums over the groups listed, and Polars' group-by."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import soundsum as ss
from benchmarks.measure import Group, Result, Row, seconds, spread
from soundsum.privacy.selection import GroupPlan, plan_groups

UPPER, SEED = 1000, 20
LITTLE_NOISE, DELTA = 10**6, "1e-9"
"""At this epsilon every group of two persons is found, so that the same groups can be listed."""


class Keyed(NamedTuple):
    """Rows with a fifth as many keys, and as many persons; the keys found in them, and how often each key occurs."""

    frame: pl.DataFrame
    found: Any
    counts: NDArray[np.int64]


def make_keyed(n: int) -> Keyed:
    rng = np.random.default_rng(SEED)
    some = max(1, n // 5)
    columns = {"key": rng.integers(0, some, n), "id": rng.integers(0, some, n), "x": rng.random(n) * UPPER}
    frame = pl.DataFrame(columns)
    found = ss.groups(frame, "key", LITTLE_NOISE, DELTA, **PERSONS)
    return Keyed(frame, found, np.bincount(columns["key"], minlength=some))


PERSONS: dict[str, Any] = {"privacy_unit": "id", "max_groups": 2}


def _sum(data: Keyed, groups: Any) -> float:
    every = ss.sum(data.frame, 0, UPPER, LITTLE_NOISE, column="x", by="key", groups=groups, max_rows=10, **PERSONS)
    return float(len(every))


def _find_and_sum(data: Keyed) -> float:
    return _sum(data, ss.Found(DELTA))


def _sum_listed_and_pass(data: Keyed) -> float:
    """The groups listed, and one pass more over the rows, in which every person counts once."""
    ss.sum(data.frame, 0, UPPER, LITTLE_NOISE, column="x", privacy_unit="id", max_rows=10)
    return _sum(data, data.found)


def _plan() -> GroupPlan:
    return plan_groups(1, DELTA, 2)


def _select(data: Keyed) -> int:
    return len(_plan().select(data.counts)[0])


def _group_by(data: Keyed) -> int:
    return len(data.frame.group_by("key").agg(pl.col("x").sum(), pl.len()))


FOUND = Group(
    "groups found, a fifth as many keys as rows",
    make_keyed,
    None,
    (
        Row(
            "found and summed",
            _find_and_sum,
            "listed, and a pass",
            _sum_listed_and_pass,
            0.67,
            2,
            tolerance=1e-2,
            fewest=3,
        ),
        Row("selection alone", _select, "Polars group_by", _group_by, 3.3, fewest=5),
    ),
    share=10,
)

GROUPS = (FOUND,)


def _many_groups(tick: Callable[[float], None], groups: int = 10**7, repetitions: int = 3) -> Result:
    rng = np.random.default_rng(SEED)
    keys = rng.permutation(np.repeat(np.arange(groups), 2))
    frame = pl.DataFrame({"key": keys, "x": rng.random(2 * groups) * UPPER})

    def find_and_sum() -> int:
        return len(ss.sum(frame, 0, UPPER, LITTLE_NOISE, column="x", by="key", groups=ss.Found(DELTA)))

    times = []
    for done in range(repetitions):
        times.append(seconds(find_and_sum))
        tick((done + 1) / repetitions)
    return Result(
        "groups found, many",
        MANY_GROUPS,
        measured=spread(times),
        unit=" s",
        target=6,
        at_most=True,
        seconds=statistics.median(times),
        records=2 * groups,
        repetitions=repetitions,
        fault="" if find_and_sum() == groups else "not all groups were found",
    )


MANY_GROUPS = "10^7 groups found, of 2 records each"

ROWS: dict[str, Callable[[Callable[[float], None]], Result]] = {MANY_GROUPS: _many_groups}
