"""A microquery turns a real table into one side of an attack, depending on one person's secret bit (`fig:sql-code`).

A CASE expression maps a table (uid, val) to repeated rounding II: rows up to the person become U, the person becomes
val times U, later rows x and L in turn. The paper's expression attacks the middle person; one more branch, which makes
the first rows 0, attacks anyone in the middle half. DuckDB evaluates it; the library attacked adds float32. With a
public size a smaller table will do, DuckDB's own SUM of doubles and everyone in it: `any_row`.
"""

from __future__ import annotations

from fractions import Fraction
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
from soundsum.attacks.delivery.tipping import tipping_bounds
from soundsum.kernels import float_sum
from soundsum.methods.problem import Problem
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

ROWS = 1 << 17

QUERY = """\
SELECT CASE
    WHEN uid <= $skipped THEN 0
    WHEN uid < $person THEN $U
    WHEN uid = $person THEN val * $U
    WHEN uid % 2 = $odd THEN $pos_val
    ELSE $neg_val
END::FLOAT AS value FROM people"""


def microquery(targets: int = 32, epsilon: Any = "1/4") -> Delivery:
    """Recover the bits of people spread over the middle half of a table of 2^17, one query each."""
    require_at_least_one("targets", targets, ROWS // 2)
    eps = require_positive("epsilon", epsilon)
    ahead = ROWS // 4  # U's before and with the person, a power of two: one more or fewer is another ulp
    pair = attack("repeated_rounding_2", "float32", j=ahead.bit_length(), upper=1)
    (up, down), _ = pair.left.parts[1]
    problem = Problem("float32", pair.problem.lower, 1, Relation.CHANGE_ONE, ROWS)

    val = np.array(secret_bits(ROWS), dtype=np.int8)
    database = make_table("people", {"uid": np.arange(1, ROWS + 1), "val": val})
    people = [ROWS // 4 + i * (ROWS // 2) // targets for i in range(1, targets + 1)]
    found, from_ours = [], []
    for person in people:
        given = {"skipped": person - ahead, "person": person, "odd": (person + 1) % 2, "U": 1.0}
        given |= {"pos_val": float(up), "neg_val": float(down)}
        column = database.execute(QUERY, given).fetchnumpy()["value"]
        tails = [
            Runs("float32", [(0, person - ahead), (1, ahead - 1), (bit, 1), ((up, down), (ROWS - person) // 2)])
            + Runs("float32", [(up, (ROWS - person) % 2)])
            for bit in (1, 0)
        ]
        plain = [_add(tail, problem) for tail in tails]
        output = ordinary_release(_add(column, problem), problem.ideal, eps)
        found.append(int(Event.between(*plain)(output)))
        real = Event.between(*(tail.total() for tail in tails))
        from_ours.append(int(real(our_release(column, problem, eps))))
    story = (
        f"A table of {ROWS:,} people (uid, val). The analyst may ask for a private sum of any expression of a row, "
        "and writes one that makes the whole column round up if one person's val is 1. The library adds float32."
    )
    return of_bits("microquery", story, QUERY, eps, [int(val[person - 1]) for person in people], found, from_ours)


def _add(data: Any, problem: Problem) -> Fraction:
    return Fraction(float_sum("iterated", data, problem.lower, problem.upper))


FEW = 1000
STARTS = [1 + i / 8 for i in range(8)]
"""Near one of these every row of the table can be tipped."""

# Arithmetic and not CASE: where a CASE takes one branch for a whole block of rows, DuckDB adds count times its value.
ANY_ROW = "SELECT SUM($L + ($U - $L) * (uid = $person AND val = 1)::DOUBLE) FROM people"


def any_row(targets: int = 32, epsilon: Any = "1/10") -> Delivery:
    """Recover the bits of people spread over a whole table of 1,000, one query each, from DuckDB's own SUM."""
    require_at_least_one("targets", targets, FEW)
    eps = require_positive("epsilon", epsilon)
    val = np.array(secret_bits(FEW), dtype=np.int8)
    database = make_table("people", {"uid": np.arange(FEW), "val": val})
    people = [i * FEW // targets for i in range(targets)]
    found, from_ours = [], []
    for person in people:
        problem, threshold = tipping_bounds(STARTS, FEW, person)
        given = {"person": person, "L": float(problem.lower), "U": float(problem.upper)}
        total = database.execute(ANY_ROW, given).fetchone()[0]
        found.append(int(ordinary_release(total, problem.ideal, eps) > threshold))
        column = np.full(FEW, given["L"])
        column[person] = given["U"] if val[person] else given["L"]
        middle = FEW * problem.lower + problem.spread / 2
        from_ours.append(int(our_release(column, problem, eps) > middle))
    story = (
        f"A table of {FEW:,} people (uid, val). The analyst asks for a private sum in which everyone counts as L, "
        "but one person with val = 1 as U, the next float, at bounds where one record tips the sum. DuckDB adds."
    )
    return of_bits("any_row", story, ANY_ROW, eps, [int(val[person]) for person in people], found, from_ours)
