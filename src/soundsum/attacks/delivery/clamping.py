"""Attacks that choose nothing but the clamp: bounds so close that only one person's value can be told (5.7, 1.7).

A 0/1 column clamped to [L, U] of one rounding is L and U; sorted salaries clamped to two neighbouring floats near X are
all L, but for the highest if it is above X. DuckDB does the sums, in doubles, with its own SUM.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

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
from soundsum.methods.problem import Problem
from soundsum.randomness import random_bytes
from soundsum.tables.relations import Relation

Clamp: TypeAlias = tuple[Problem, Fraction]
"""The problem that an analyst chooses, and the threshold for its output."""

PATIENTS, KNOWN = 4096, 1024

COVID = """\
SELECT SUM(GREATEST($L, LEAST($U, had_covid::DOUBLE))) FROM (
    SELECT had_covid FROM patients WHERE uid IN (SELECT uid FROM known_healthy)
    UNION ALL SELECT had_covid FROM patients WHERE uid = $person)"""


def had_covid(targets: int = 32, epsilon: Any = "1/10") -> Delivery:
    """With 1,024 people known to have had_covid = 0, learn anybody else's, by casting to float and clamping."""
    require_at_least_one("targets", targets, PATIENTS // 4)
    eps = require_positive("epsilon", epsilon)
    pair = attack("rounding", "float64", j=KNOWN.bit_length() - 1, relation=Relation.CHANGE_ONE)
    problem = pair.problem
    ill = np.array(secret_bits(PATIENTS), dtype=np.int8)
    database = make_table("patients", {"uid": np.arange(PATIENTS), "had_covid": ill})
    healthy = np.flatnonzero(ill == 0)[:KNOWN]
    database.execute("CREATE TABLE known_healthy AS SELECT unnest($uids) AS uid", {"uids": healthy.tolist()})
    people = np.setdiff1d(np.arange(PATIENTS), healthy)[:targets].tolist()
    real = Event.between(pair.left.total(), pair.right.total())
    found, from_ours = [], []
    for person in people:
        given = {"L": float(problem.lower), "U": float(problem.upper), "person": person}
        total = database.execute(COVID, given).fetchone()[0]
        found.append(int(pair.event(ordinary_release(total, problem.ideal, eps))))
        column = np.append(ill[healthy], ill[person]).astype(np.float64)
        from_ours.append(int(real(our_release(column, problem, eps))))
    story = (
        f"{KNOWN:,} patients are known to have had_covid = 0. The analyst selects them and one other, casts the "
        "column to float and clamps it to two bounds that are neighbouring floats."
    )
    return of_bits("had_covid", story, COVID, eps, [int(ill[person]) for person in people], found, from_ours)


EMPLOYEES = 1000
SALARIES = "SELECT SUM(GREATEST($L, LEAST($U, pay))) FROM employees"
ROUNDS = 13
"""Bisections: from 2^13 thousands to one."""


def top_salary(targets: int = 8, epsilon: Any = "1/10") -> Delivery:
    """The second-highest earner of a company learns the highest salary, to the thousand, by bisection with clamps."""
    require_at_least_one("targets", targets, 1000)
    eps = require_positive("epsilon", epsilon)
    secrets, found, from_ours = [], [], []
    for _ in range(targets):
        pay, second, top = _company()
        database = make_table("employees", {"pay": pay})

        def ordinary(problem: Problem, database: Any = database) -> Fraction:
            given = {"L": float(problem.lower), "U": float(problem.upper)}
            return ordinary_release(database.execute(SALARIES, given).fetchone()[0], problem.ideal, eps)

        def ours(problem: Problem, pay: Any = pay) -> Fraction:
            return our_release(pay, problem, eps)

        secrets.append(top)
        found.append(_bisect(second, ordinary, _tipping_clamp))
        from_ours.append(_bisect(second, ours, _any_clamp))
    return Delivery(
        name="top_salary",
        story=(
            f"A company of {EMPLOYEES:,} people lets its staff ask for the noisy sum of clamped salaries. The "
            "second-highest earner wants to know the highest salary, to the thousand. They clamp every salary to two "
            "neighbouring floats at X, so that only the highest can be above, and see on which side it is; then they "
            "halve the range."
        ),
        query=SALARIES,
        promised=f"epsilon = {eps} a query, {ROUNDS} queries a company",
        secrets=tuple(secrets),
        recovered=tuple(found),
        recovered_from_ours=tuple(from_ours),
        chance=Fraction(1, 2**ROUNDS),
        allowed=min(1.0, float(np.exp(float(ROUNDS * eps))) / 2**ROUNDS),
    )


def _company() -> tuple[Any, int, int]:
    """Sorted salaries, and the two highest in thousands."""
    draws = np.sort(np.frombuffer(random_bytes(4 * EMPLOYEES), dtype=np.uint32) % 400_000).astype(np.float64)
    second = int(draws[-2] // 1000) + 1
    top = second + int.from_bytes(random_bytes(4), "little") % 2**ROUNDS
    return np.append(draws[:-2], [second * 1000.0, top * 1000.0]), second, top


def _bisect(second: int, ask: Callable[[Problem], Fraction], clamp: Callable[[float], Clamp]) -> int:
    """The highest salary in thousands, by asking whether it is at least X for one X after another."""
    low, high = second, second + 2**ROUNDS
    while high - low > 1:
        middle = (low + high) // 2
        problem, threshold = clamp(1000.0 * middle - 500)  # between two salaries
        low, high = (middle, high) if ask(problem) > threshold else (low, middle)
    return low


def _tipping_clamp(x: float) -> Clamp:
    return tipping_bounds([x], EMPLOYEES, EMPLOYEES - 1)  # the highest salary is added last


def _any_clamp(x: float) -> Clamp:
    """Against an exact sum every pair of neighbouring floats is as good; the threshold is between the real sums."""
    problem = Problem("float64", x, np.nextafter(x, np.inf), Relation.CHANGE_ONE, EMPLOYEES)
    return problem, EMPLOYEES * problem.lower + problem.spread / 2
