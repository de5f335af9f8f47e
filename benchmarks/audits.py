"""The rows of the auditor: seconds of the deterministic tier on np.sum, and pairs of runs until a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import soundsum as ss
from benchmarks.measure import Result, spread

GROUP = "audits"
TIMES_OVER = 3


def deterministic_tier(dtype: str) -> Callable[[Callable[[float], None]], Result]:
    """Run every family within the default limits, confirmed in fresh processes."""

    def row(tick: Callable[[float], None], repetitions: int = 3) -> Result:
        took = []
        for done in range(repetitions):
            target = ss.Target(
                noiseless=_bounded_sum, claimed=_spread, dtype=dtype, relation="change_one", name=f"np.sum of {dtype}"
            )
            began = time.perf_counter()
            audit = ss.audit(target)
            took.append(time.perf_counter() - began)
            tick((done + 1) / repetitions)
        return Result(
            GROUP,
            f"deterministic tier, {dtype}",
            f"np.sum, {len(audit.findings)} families",
            measured=spread(took),
            unit=" s",
            target=10,
            at_most=True,
            repetitions=repetitions,
            fault="" if audit.violations else "no violation was found",
        )

    return row


def _bounded_sum(data: Any, lower: Any, upper: Any) -> Any:
    return np.sum(data)  # the attacks' records lie within the bounds


def _spread(lower: Any, upper: Any) -> Any:
    return upper - lower


def pairs_to_a_verdict(tick: Callable[[float], None], audits: int = 41) -> Result:
    """Audit a Laplace mechanism whose sums are three sensitivities apart, at epsilon 1 and alpha 1e-3."""
    made = ss.attack("rounding", dtype="float64", relation="hamming")
    apart = float(made.predicted or 0)

    def release(data: Any, lower: Any, upper: Any, epsilon: float, runs: int) -> Any:
        total = float(np.add.accumulate(data)[-1])
        return total + np.random.default_rng().laplace(0, apart / TIMES_OVER / epsilon, runs)

    target = ss.Target(release=release, dtype="float64", relation="hamming")
    pairs = []
    for done in range(audits):
        (finding,) = ss.audit(target, [made], runs=1000, alpha=1e-3).findings
        pairs.append(float(finding.sampled.pairs_used if finding.sampled else 1000))
        tick((done + 1) / audits)
    return Result(
        GROUP,
        "pairs to a verdict, 3x over",
        "epsilon 1, alpha 1e-3",
        measured=spread(pairs),
        unit=" pairs",
        target=120,
        at_most=True,
        repetitions=audits,
    )


ROWS: dict[str, Callable[[Callable[[float], None]], Result]] = {
    "audits: deterministic tier, float32": deterministic_tier("float32"),
    "audits: deterministic tier, float64": deterministic_tier("float64"),
    "audits: pairs to a verdict": pairs_to_a_verdict,
}
