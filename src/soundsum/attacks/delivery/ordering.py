"""A reordering on a condition (`sec:implement-nonassoc-attacks`): the order tells whether somebody is in the table.

A library that believes sums do not depend on order may offer to sort on any condition. Sorted up if a person is there
and down if not, the small values are added exactly or rounded away.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soundsum.attacks.attack import Event
from soundsum.attacks.choose import attack
from soundsum.attacks.delivery.outcome import (
    Delivery,
    make_table,
    of_bits,
    ordinary_release,
    our_release,
    require_at_least_one,
    require_positive,
    secret_bits,
)
from soundsum.kernels import float_sum

QUERY = """\
SELECT value FROM visits
ORDER BY CASE WHEN (SELECT count(*) FROM visits WHERE uid = $person) = 1 THEN value ELSE -value END"""


def reordered(targets: int = 16, epsilon: Any = "1/4") -> Delivery:
    """Learn whether a person is in a table of 2^16, by having it sorted one way or the other."""
    require_at_least_one("targets", targets, 1000)
    eps = require_positive("epsilon", epsilon)
    pair = attack("reordering", "float32", a=9, d=9, drop_last=True)
    problem = pair.problem
    values = np.asarray(pair.left)
    person = 7  # one of those with the small value
    secrets, found, from_ours = secret_bits(targets), [], []
    real = Event.between(pair.left.total(), pair.right.total())
    with_person = make_table("visits", {"uid": np.arange(len(values)), "value": values})
    without = make_table(
        "visits", {"uid": np.delete(np.arange(len(values)), person), "value": np.delete(values, person)}
    )
    for present in secrets:
        database = with_person if present else without
        column = database.execute(QUERY, {"person": person}).fetchnumpy()["value"]
        total = float_sum("iterated", column, problem.lower, problem.upper)
        found.append(int(pair.event(ordinary_release(total, problem.ideal, eps))))
        from_ours.append(int(real(our_release(column, problem, eps))))
    story = (
        f"A table of {len(values):,} visits, in which a person may or may not be. The analyst has it sorted up if "
        "the person is there and down if not, and asks for the sum. The library adds float32."
    )
    return of_bits("reordered", story, QUERY, eps, secrets, found, from_ours)
