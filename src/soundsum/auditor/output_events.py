"""Audits of mechanisms that release a set of groups, or a choice: how often an event happens on two neighbours.

The events are that a set has an element, that it is empty, how many elements it has, or that a choice is a certain one.
The first half of the runs chooses the event, the second half counts it, so the p-value holds for the event chosen. If
a mechanism releases a mapping, its keys are the set: what else it tells of a group is not looked at.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from soundsum.auditor.adapters import environment_of
from soundsum.auditor.environments import install
from soundsum.auditor.evidence import growth
from soundsum.auditor.finding import Verdict
from soundsum.numbers.event_counts import Counts, Promise, epsilon_at_least, p_value
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

Occurrence: TypeAlias = tuple[str, Hashable]
"""An event of an output: "has" an element, "size", or "is" a choice."""

OPENDP = """
import opendp.prelude as dp
dp.enable_features("contrib")
space = dp.vector_domain(dp.atom_domain(T=str)), dp.symmetric_distance()
mechanism = space >> dp.t.then_count_by() >> dp.m.then_laplace_threshold(scale=1.0, threshold=5)
claimed = mechanism.map(1)
def release(rows): return list(mechanism(rows))
"""

PIPELINE_DP = """
import pipeline_dp as p
claimed = (1.0, 0.005)
def release(rows):
    budget = p.NaiveBudgetAccountant(total_epsilon=claimed[0], total_delta=claimed[1])
    engine = p.DPEngine(budget, p.LocalBackend())
    takes = p.DataExtractors(privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1])
    chosen = engine.select_partitions(
        list(enumerate(rows)), p.SelectPartitionsParams(max_partitions_contributed=1), takes)
    budget.compute_budgets()
    return list(chosen)
"""

TMLT_ANALYTICS = """
import os
os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
import pandas, pyspark.sql, tmlt.analytics as a
spark = pyspark.sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
claimed = (1.0, 0.005)
def releases(rows, runs):
    data = pandas.DataFrame([(run, row) for run in range(runs) for row in rows], columns=["run", "group"])
    table, spent = spark.createDataFrame(data).coalesce(1), a.ApproxDPBudget(*claimed)
    session = a.Session.from_dataframe(spent, "t", table, a.AddOneRow())
    found = [[] for _ in range(runs)]
    for one in session.evaluate(a.QueryBuilder("t").get_groups(["run", "group"]), spent).collect():
        found[one["run"]].append(one["group"])
    return found
"""

PROGRAMS: Mapping[str, str] = {"opendp": OPENDP, "pipeline-dp": PIPELINE_DP, "tmlt-analytics": TMLT_ANALYTICS}
"""How each library releases the groups of a table, and what it claims: `release(rows)` and `claimed`.

Where a call takes seconds, `releases(rows, runs)` asks for the groups of as many copies of the table at once, and takes
it that the library treats groups alike and independently.
"""

RUN = """
import json, sys
asked = json.load(sys.stdin)
exec(asked["program"])
if "releases" not in globals():
    def releases(rows, runs): return [release(rows) for _ in range(runs)]
out = [releases(rows, asked["runs"]) for rows in asked["tables"]]
print(json.dumps({"claimed": [float(one) for one in claimed], "outputs": out}))
"""


@dataclass(frozen=True)
class EventFinding:
    """An event, how often each neighbour had it in the runs that count, and what follows."""

    event: str
    table: Counts
    epsilon: float
    delta: float
    p_value: Decimal
    verdict: Verdict
    epsilon_lower: float  # at the claimed delta, with confidence 1 - alpha

    def __str__(self) -> str:
        left, right = (f"{rate:.4%}" for rate in self.table.rates)
        claim = f"epsilon={self.epsilon:g}, delta={self.delta:g}"
        return f"{self.verdict}: {self.event} in {left} and {right} of runs, {claim} claimed, p={self.p_value:.2g}"


def audit_outputs(
    release: Callable[[Any], Any],
    left: Any,
    right: Any,
    *,
    epsilon: float | Fraction,
    delta: float | Fraction = 0,
    runs: int = 10_000,
    alpha: float = 1e-6,
) -> EventFinding:
    """Run a mechanism on two neighbouring datasets, and refute its claim if some event of its outputs does.

    >>> everything = audit_outputs(set, ["a", "b"], ["a"], epsilon=1, delta=1e-9, runs=100)
    >>> everything.verdict, everything.event
    (<Verdict.VIOLATION_STATISTICAL: 'VIOLATION_STATISTICAL'>, "'b' is released")
    """
    outputs = [[release(data) for _ in range(runs)] for data in (left, right)]
    return judge_outputs(outputs[0], outputs[1], float(epsilon), float(delta), alpha)


def audit_groups_of(
    library: str, left: Sequence[str], right: Sequence[str], runs: int = 10_000, alpha: float = 1e-6
) -> EventFinding:
    """Ask a library for the groups of two neighbouring tables, each of rows of one person, and judge its own claim.

    The library is installed in an environment of its own, as for `soundsum.audit`.
    """
    program = PROGRAMS.get(library)
    environment = environment_of(library)
    if program is None or environment is None:
        raise RefusedValue(
            "library",
            Reason.UNKNOWN,
            "`library={given}` is not one whose groups are audited",
            "give one of {known}",
            given=quote(library),
            known=", ".join(PROGRAMS),
        )
    python = environment.python
    if not environment.ready:
        python = install(library, Path(__file__).parent / "adapters" / f"{library.replace('-', '_')}.txt", None)
    asked = json.dumps({"program": program, "tables": [list(left), list(right)], "runs": runs})
    ran = subprocess.run([python, "-c", RUN], input=asked, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{library} failed: {ran.stderr[-1000:]}")
    answer = json.loads(ran.stdout.splitlines()[-1])
    (before, after), (epsilon, delta) = answer["outputs"], answer["claimed"]
    return judge_outputs(before, after, epsilon, delta, alpha)


def judge_outputs(
    left: Sequence[Any], right: Sequence[Any], epsilon: float, delta: float, alpha: float = 1e-6
) -> EventFinding:
    """The finding from drawn outputs, equally many on each side."""
    runs = min(len(left), len(right))
    if runs < 2:
        raise RefusedValue(
            "runs", Reason.TOO_SMALL, "`runs={given}` cannot choose an event and count it", "give 2 or more", given=runs
        )
    half, promise = runs // 2, Promise(epsilon, delta)
    seen = [[_list_events(one) for one in side[:runs]] for side in (left, right)]
    event = _learn(seen[0][:half], seen[1][:half], promise)
    counts = [sum(event in events for events in side[half:]) for side in seen]
    table = Counts(counts[0], runs - half, counts[1], runs - half)
    p = p_value(table, promise)
    verdict = Verdict.VIOLATION_STATISTICAL if p <= alpha else Verdict.NOT_REFUTED
    return EventFinding(_say(event), table, epsilon, delta, p, verdict, epsilon_at_least(table, delta, alpha))


def _list_events(output: Any) -> frozenset[Occurrence]:
    """Everything that happened in one run."""
    if isinstance(output, Collection) and not isinstance(output, str | bytes):
        return frozenset([("size", len(output)), *(("has", one) for one in output)])
    return frozenset([("is", output)])


def _learn(
    left: Sequence[frozenset[Occurrence]], right: Sequence[frozenset[Occurrence]], promise: Promise
) -> Occurrence:
    """The event on which evidence grows fastest, if its frequencies are its probabilities."""
    every = sorted(set().union(*left, *right), key=repr)
    counts = np.array([[sum(one in events for events in side) for one in every] for side in (left, right)], float)
    return every[int(np.argmax(growth(counts[0], counts[1], len(left), promise)))]


def _say(event: Occurrence) -> str:
    what, which = event
    if what == "size":
        return "nothing is released" if which == 0 else f"{which:,} are released"
    return f"{which!r} is {'released' if what == 'has' else 'chosen'}"
