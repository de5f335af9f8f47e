"""The paper's attacks against an engine's plain SUM, and against ours through the same engine."""

from fractions import Fraction

import numpy as np
import pyarrow as pa

import soundsum as ss
from soundsum.conformance import answers


def as_table(runs) -> pa.Table:
    return pa.table({"x": np.asarray(runs)})


def jump_of(attack, plain_sum) -> Fraction:
    """How far the engine's own sum moves between the two neighbours."""
    left, right = (Fraction(plain_sum(as_table(side))) for side in (attack.left, attack.right))
    return abs(left - right)


def our_jump_is_sound(attack, place) -> bool:
    """Whether our integers move by no more than the sensitivity that noise is added for; `place` puts a table there."""
    problem = attack.problem
    statistics = [ss.Sum("x", problem.lower, problem.upper)]
    found = []
    for side in (attack.left, attack.right):
        data, options = place(as_table(side))
        totals, _ = answers(data, statistics, relation=problem.relation, **options)
        found.append(totals[0][0][0])
    plan = ss.plan(problem)
    due = max(attack.distance, 1) * plan.sensitivity / plan.step
    return abs(found[0] - found[1]) <= due


def path_through(plain_sum, dtype: str):
    """The path that bisection finds for this very sum: neighbours between which it jumps."""
    return ss.attack("path", dtype=dtype, target=lambda data: plain_sum(pa.table({"x": np.asarray(data)})))
