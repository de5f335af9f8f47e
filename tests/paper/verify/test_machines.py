"""The tables and closures against the models and plain enumeration: nothing is believed for being fast."""

from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest

from soundsum.methods import Checked, Iterated, Kahan, OnGrid, Pairwise, Saturating, Shifted, Split, TowardZero
from soundsum.methods.problem import Problem
from soundsum.numbers import models
from soundsum.numbers.types import FloatType, IntType, Rounding
from soundsum.paper.verify.kahan_errors import exhaustive
from soundsum.paper.verify.machines import INFINITE, Multiples, count_units
from soundsum.paper.verify.subjects import subject
from soundsum.paper.verify.truth import Truth
from soundsum.tables.relations import Relation

tiny, int3 = FloatType(2, 3), IntType(3)
quarter = Fraction(1, 4)


@pytest.mark.parametrize("kind", [FloatType(2, 3), FloatType(3, 3), FloatType(2, 4)], ids=str)
@pytest.mark.parametrize("mode", Rounding)
def test_adding_multiples_is_adding(kind, mode):
    values = list(kind.values())[:: 1 if kind.l == 3 else 3]
    unit = kind.smallest_subnormal
    multiples = np.array([count_units(x, unit) for x in values])
    sums = Multiples(kind.k, kind.l).add(multiples[:, None], multiples[None, :], mode)
    expected = [[abs(s) if abs(s) == INFINITE else s for s in row] for row in added(kind, values, mode, unit)]
    assert np.array_equal(sums, expected)


def added(kind, values, mode, unit):
    return [[count_units(kind.add(x, y, mode), unit) for y in values] for x in values]


# Differences found by closure, against every pair of short datasets

CASES = [
    (Iterated(), tiny, (-quarter, Fraction(5, 16)), 3),
    (Iterated(accumulator=FloatType(3, 4)), tiny, (-quarter, quarter), 2),
    (Iterated(split=True), tiny, (-Fraction(3, 16), quarter), 2),
    (Kahan(), FloatType(3, 3), (Fraction(3, 4), Fraction(5, 4)), 3),
    (Pairwise(), tiny, (-quarter, Fraction(5, 16)), 3),
    (Pairwise(split=True), tiny, (-Fraction(3, 16), quarter), 2),
    (TowardZero(), tiny, (-quarter, Fraction(5, 16)), 3),
    (Shifted(), tiny, (Fraction(1), Fraction(3)), 3),
    (Shifted(TowardZero()), tiny, (Fraction(1), Fraction(3)), 3),
    (Saturating(), int3, (-3, 2), 4),
    (Split(), int3, (-3, 2), 4),
    (Split("checked"), int3, (-1, 1), 3),
    (Checked(), int3, (-1, 1), 3),
    (OnGrid(step=Fraction(1, 3), integers=Saturating(), bits=3), tiny, (-quarter, Fraction(3, 4)), 2),
]


def applicable(relations):
    for method, kind, bounds, n in CASES:
        for relation in relations:
            problem = Problem(kind, *bounds, relation, **({"size": n} if relation.sized else {"max_size": n}))
            if not method.unmet(problem):
                yield pytest.param(method, problem, n, id=f"{method.label}-{relation}")


@pytest.mark.parametrize("method, problem, n", list(applicable([Relation.INSERT_DELETE, Relation.HAMMING])))
def test_the_farthest_neighbours_are_those_of_plain_enumeration(method, problem, n):
    checked = subject(method)
    values = [x for x in problem.dtype.values() if problem.lower <= x <= problem.upper]
    found = Truth(checked).of_size(problem, n)
    total = cache(lambda u: checked.total(problem, u))
    pairs = neighbours(values, n, problem.relation, checked.truncates(problem))
    assert found.difference * Truth(checked).unit(problem) == max(abs(total(u) - total(v)) for u, v in pairs)


def neighbours(values, n, relation, truncated):
    if relation.sized:
        for u in product(values, repeat=n):
            for i, y in product(range(n), values):
                yield u, (*u[:i], y, *u[i + 1 :])
        return
    for m in range(1, n + 2) if truncated else [n]:
        for u in product(values, repeat=m):
            for i in range(m):
                yield u, u[:i] + u[i + 1 :]


@pytest.mark.parametrize("method, problem, n", list(applicable([Relation.HAMMING])))
def test_the_largest_error_is_that_of_plain_enumeration(method, problem, n):
    checked = subject(method)
    form, columns, prepare = Truth(checked).columns(problem)
    errors = form.errors_by_size(columns.numbers, form.amounts(columns.numbers)).upto(n)[n]
    added = sorted({y for x in columns.origin.values() for y in prepare(x)})
    lost = [sum(u, start=Fraction(0)) - models_sum(checked, problem, u) for u in product(added, repeat=n)]
    assert (errors.over * form.unit, errors.under * form.unit) == (max(lost), -min(lost))


def models_sum(checked, problem, added):
    return checked.model(checked.added(problem)).sum(added)


@pytest.mark.parametrize("method", [Iterated(), Pairwise(), Kahan()], ids=lambda m: m.label)
def test_unordered_neighbours_are_compared_in_every_order(method):
    kind = FloatType(3, 3)
    checked = subject(method)
    lower, upper, n = Fraction(3, 4), Fraction(5, 4), 3
    problem = Problem(kind, lower, upper, Relation.CHANGE_ONE, size=n)
    found = Truth(checked).of_size_unordered(problem, n)
    values = [x for x in kind.values() if lower <= x <= upper]
    sums = {u: [models_sum(checked, problem, order) for order in set(permutations(u))] for u in multisets(values, n)}
    worst = max(max(sums[u]) - min(sums[v]) for u in sums for v in sums if Relation.CHANGE_ONE.distance(u, v) <= 1)
    assert found.difference * Truth(checked).unit(problem) == worst


def multisets(values, n):
    return [u for u in product(values, repeat=n) if list(u) == sorted(u)]


@pytest.mark.parametrize(
    "method, bounds",
    [
        (OnGrid(), (-2, 3)),
        (OnGrid(step=Fraction(1, 3)), (1, Fraction(5, 2))),
        (OnGrid(step=Fraction(1, 2), integers=Split(), bits=4), (-2, 3)),
    ],
)
@pytest.mark.parametrize("relation", Relation)
def test_preparing_then_adding_is_the_grids_own_model(method, bounds, relation):
    checked = subject(method)
    problem = Problem(tiny, *bounds, relation)
    values = [x for x in tiny.values() if bounds[0] <= x <= bounds[1]][::3]
    for u in product(values, repeat=2):
        assert checked.total(problem, u) == method.model(problem).sum(u)


def test_kahans_errors_by_extremes_are_those_of_plain_enumeration():
    kind, M = FloatType(4, 3), Fraction(9, 16)
    values = [x for x in kind.values() if abs(x) <= M]
    ((worst, _),) = exhaustive(kind, M, 1)
    assert worst == max(abs(sum(u) - models.kahan(kind).sum(u)) for u in product(values, repeat=2)) > 0
