"""Private statistics in one line: plan, reserve, add, charge, draw, release.

The order is what the budget's promise rests on: nothing is drawn before it is charged, and a crash can lose a release
but never let one out unpaid.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from soundsum.budget import Budget, Cost
from soundsum.certificates import certify
from soundsum.kernels import Missing, missing_count
from soundsum.lattice import lattice
from soundsum.methods import Method
from soundsum.moments import MomentsError, moments, statistic_of
from soundsum.numbers import IntType
from soundsum.outcome import Additive, Release, Releases
from soundsum.plan import Plan, plan
from soundsum.privacy import Guarantee, NoiseKind, guarantee
from soundsum.problem import Problem
from soundsum.rationals import exact
from soundsum.relations import Relation
from soundsum.sensitivities import Statistic, centred, noises
from soundsum.tables import Source, category_codes, numbers, source

T = TypeVar("T")


def sum(
    data: Any,
    lower: Any,
    upper: Any,
    epsilon: Any = None,
    *,
    relation: Relation | str = Relation.SYMMETRIC,
    size: int | None = None,
    max_size: int | None = None,
    dtype: object = None,
    method: str | Method = "auto",
    noise: NoiseKind = "laplace",
    delta: Any = None,
    rho: Any = None,
    column: str | None = None,
    missing: Missing = "zero",
    budget: Budget | None = None,
) -> Release:
    """A private sum: each record clamped to [lower, upper], exact noise for what one record can move.

    >>> r = sum([1.0, 2.0, 3.0], lower=0, upper=10, epsilon=1)
    >>> r.plan.method, r.plan.sensitivity, r.epsilon
    ('grid', Fraction(10, 1), Fraction(1, 1))
    """
    promise = guarantee(epsilon, delta, rho, noise)
    read, problem = _problem(data, lower, upper, relation, size, max_size, dtype, column, missing)
    if problem.relation.sized and problem.size is None and method != "auto":
        problem = problem.with_size(builtins.sum(batch.size for batch, _ in read.batches()))
    return release_sum(plan(problem, method), read, promise, missing, budget)


def release_sum(chosen: Plan, read: Source, promise: Guarantee, missing: Missing, budget: Budget | None) -> Release:
    """The release of a planned sum."""
    grid = lattice(chosen)
    (noise,) = noises("sum", chosen, promise)

    def add_up() -> tuple[int, int]:
        total, n = grid.total(read, missing)
        chosen.problem.with_size(n)  # refuses a size that is not the number of records
        return total, n

    total, n = charged(budget, promise, f"sum of {chosen.problem}", add_up)
    noisy = grid.value(total + noise.draw(1)[0], n) * read.unit
    whole = isinstance(chosen.problem.dtype, IntType) and read.unit == 1
    error = Additive(noise, grid.step * read.unit)
    return Release(int(noisy) if whole else noisy, "sum", promise, error, chosen, certify("sum", chosen, promise))


def count(
    data: Any,
    epsilon: Any = None,
    *,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: NoiseKind = "laplace",
    delta: Any = None,
    rho: Any = None,
    column: str | None = None,
    missing: Missing = "zero",
    budget: Budget | None = None,
) -> Release:
    """A private number of records; with missing="drop", of those that are not missing.

    Under change_one and hamming the number of all records is public, so it comes without noise.
    """
    promise = guarantee(epsilon, delta, rho, noise)
    read, relation = source(data, column), Relation(relation)
    public = relation.sized and missing != "drop"  # every record counts 1, otherwise 0 or 1
    chosen = plan(Problem("uint8", 1 if public else 0, 1, relation))
    (drawn,) = noises("count", chosen, promise)

    def add_up() -> int:
        batches = (batch for batch, _ in read.batches())
        return builtins.sum(b.size - (missing_count(b) if missing == "drop" else 0) for b in batches)

    total = charged(budget, promise, f"count, {relation}", add_up)
    error = Additive(drawn, Fraction(1))
    return Release(total + drawn.draw(1)[0], "count", promise, error, chosen, certify("count", chosen, promise))


def mean(data: Any, lower: Any, upper: Any, epsilon: Any = None, **options: Any) -> Release:
    """A private mean, within the bounds; the promise is shared equally by the sum and, if it is private, the count.

    Options as for `sum`: relation, size, dtype, noise, delta, rho, column, missing, budget.
    """
    return _moments("mean", data, lower, upper, epsilon, **options)


def variance(data: Any, lower: Any, upper: Any, epsilon: Any = None, **options: Any) -> Release:
    """A private population variance, from the sums of first and second powers and, if it is private, the count."""
    return _moments("variance", data, lower, upper, epsilon, **options)


def _moments(
    statistic: Statistic,
    data: Any,
    lower: Any,
    upper: Any,
    epsilon: Any,
    *,
    relation: Relation | str = Relation.SYMMETRIC,
    size: int | None = None,
    dtype: object = None,
    noise: NoiseKind = "laplace",
    delta: Any = None,
    rho: Any = None,
    column: str | None = None,
    missing: Missing = "zero",
    budget: Budget | None = None,
) -> Release:
    promise = guarantee(epsilon, delta, rho, noise)
    read, problem = _problem(data, lower, upper, relation, size, None, dtype, column, missing)
    chosen = plan(problem)
    integers = centred(statistic, problem)
    drawn = noises(statistic, chosen, promise)

    def add_up() -> list[int]:
        batches = [moments(statistic, batch, integers, missing) for batch, _ in read.batches()]
        totals = [builtins.sum(column) for column in zip(*batches, strict=True)]
        problem.with_size(totals[-1])
        return totals

    totals = charged(budget, promise, f"{statistic} of {problem}", add_up)
    public = totals.pop() if problem.relation.sized else None
    noisy = tuple(total + z.draw(1)[0] for total, z in zip(totals, drawn, strict=True))
    error = MomentsError(statistic, integers, noisy, drawn, public, read.unit)
    value = statistic_of(statistic, integers, noisy, public, read.unit)
    return Release(value, statistic, promise, error, chosen, certify(statistic, chosen, promise))


def histogram(
    data: Any,
    edges: Sequence[Any] | None = None,
    epsilon: Any = None,
    *,
    categories: Sequence[Any] | None = None,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: NoiseKind = "laplace",
    delta: Any = None,
    rho: Any = None,
    column: str | None = None,
    budget: Budget | None = None,
) -> Releases:
    """Counts of records in [edge, next edge), the last cell closed, or of each category; empty cells too.

    Records outside every cell, and missing ones, are left out.
    """
    promise = guarantee(epsilon, delta, rho, noise)
    if (edges is None) == (categories is None):
        raise ValueError("give edges= for numbers or categories= for groups, and not both")
    cells = _cells(edges) if edges is not None else list(dict.fromkeys(categories or ()))
    if not cells:
        raise ValueError("a histogram has at least one cell; give two edges or more, or a category")
    chosen = plan(Problem("uint8", 0, 1, relation))
    (drawn,) = noises("histogram", chosen, promise, len(cells))

    def add_up() -> list[int]:
        totals = np.zeros(len(cells), dtype=np.int64)
        if edges is not None:
            for values in numbers(data, column):
                totals += np.histogram(values, bins=np.asarray(edges, dtype=np.float64))[0]
        else:
            for codes in category_codes(data, column, cells):
                totals += np.bincount(codes, minlength=len(cells) + 1)[: len(cells)]
        return [int(total) for total in totals]

    totals = charged(budget, promise, f"histogram of {len(cells)} cells, {relation}", add_up)
    certificate, error = certify("histogram", chosen, promise, len(cells)), Additive(drawn, Fraction(1))
    noisy = [total + z for total, z in zip(totals, drawn.draw(len(cells)), strict=True)]
    made = (Release(value, "count", promise, error, chosen, certificate) for value in noisy)
    return Releases(dict(zip(cells, made, strict=True)))


def charged(budget: Budget | None, promise: Guarantee, what: str, add_up: Callable[[], T]) -> T:
    """What add_up gives, with the budget charged in between: reserved before, charged after, drawn by the caller."""
    if budget is None:
        return add_up()
    cost = Cost(promise.epsilon, promise.delta, promise.rho)
    with budget.reserve(cost, what) as charge:
        result = add_up()
        charge.commit()
    return result


def _problem(
    data: Any,
    lower: Any,
    upper: Any,
    relation: Any,
    size: Any,
    max_size: Any,
    dtype: Any,
    column: Any,
    missing: Missing,
) -> tuple[Source, Problem]:
    read = source(data, column, dtype)
    low, high = (exact(bound, name) for bound, name in ((lower, "lower"), (upper, "upper")))
    if read.unit != 1:
        low, high = (Fraction(bound) / read.unit for bound in (low, high))
    problem = Problem(read.type, low, high, relation, size, max_size)
    if missing == "drop" and problem.relation.sized:
        raise ValueError(f'missing="drop" changes the number of records, public under {problem.relation}; use "zero"')
    return read, problem


def _cells(edges: Sequence[Any]) -> list[tuple[float, float]]:
    points = [float(edge) for edge in edges]
    if any(not a < b for a, b in pairwise(points)):
        raise ValueError(f"edges={points}: edges go up, without repeats")
    return list(pairwise(points))
