"""Truncation as it is done: datasets longer than the limit, in every order that the relation lets them have."""

from dataclasses import replace
from itertools import combinations_with_replacement, permutations, product

import pytest

from soundsum.methods import METHODS
from soundsum.methods.problem import Problem
from soundsum.numbers.types import FloatType, IntType
from soundsum.paper.verify import check, subject
from soundsum.paper.verify.cases import QUICK_SIZES, all_bounds
from soundsum.paper.verify.truth import Truth
from soundsum.tables.relations import Relation


def kind_of(method):
    return IntType(3) if method.takes is IntType else FloatType(2, 3)


def is_cut(method):
    problem = Problem(kind_of(method), -1, 1, max_size=1)
    return not subject(method).unmet(problem) and "truncate" in method.steps(problem)


CUT = [method for method in METHODS.values() if is_cut(method)]


def few_orders(method):
    return replace(subject(method), entries=1 << 12)


def test_most_float_sums_are_cut():
    assert {m.label for m in CUT} == {
        *("checked", "split_checked", "iterated", "split_iterated", "pairwise", "split_pairwise"),
        *("numpy_pairwise", "split_numpy_pairwise", "kahan", "split_kahan"),
    }


@pytest.mark.parametrize("method", CUT, ids=lambda m: m.label)
def test_a_cut_sum_needs_its_permutation(method):
    """Without it, two orders of the same records keep different ones."""
    honest = few_orders(method)
    weak = replace(honest, steps=lambda problem: tuple(s for s in method.steps(problem) if s != "permute"))
    kind = kind_of(method)
    bounds = all_bounds(kind, quick=True)
    assert not [result for result in check(honest, kind, bounds, QUICK_SIZES) if result.violations]
    (found,) = [result for result in check(weak, kind, bounds, QUICK_SIZES) if result.violations]
    assert found.relation == Relation.SYMMETRIC
    example = found.counterexample
    assert Relation.SYMMETRIC.distance(list(example.left), list(example.right)) <= 1
    assert max(len(example.left), len(example.right)) > example.case.problem.max_size
    assert weak.total(example.case.problem, example.left) == example.left_sum
    assert abs(example.left_sum - example.right_sum) == example.difference > example.claimed


KEPT = [method for method in CUT if method.label != "split_checked"]
"""Without the cut, split_checked is the split saturating sum, which has no limit to keep."""


@pytest.mark.parametrize("method", KEPT, ids=lambda m: m.label)
def test_a_cut_sum_needs_its_cut(method):
    """Without it, records beyond the limit are added too: more roundings than are claimed, or an overflow."""
    weak = replace(few_orders(method), steps=lambda problem: tuple(s for s in method.steps(problem) if s != "truncate"))
    kind = kind_of(method)
    found = [result for result in check(weak, kind, all_bounds(kind, quick=True), QUICK_SIZES) if result.violations]
    assert {result.relation for result in found} == {Relation.SYMMETRIC, Relation.INSERT_DELETE}
    for result in found:
        example = result.counterexample
        assert max(len(example.left), len(example.right)) > example.case.problem.max_size
        assert abs(example.left_sum - example.right_sum) == example.difference > example.claimed


@pytest.mark.parametrize("method", CUT, ids=lambda m: m.label)
def test_what_is_found_is_what_longer_datasets_show(method):
    """Every multiset of up to 2n + 1 records and its neighbours, each in every order, then cut to n and added."""
    n, kind = 2, kind_of(method)
    unit = 1 if method.takes is IntType else kind.smallest_subnormal
    problem = Problem(kind, -unit, unit, Relation.SYMMETRIC, max_size=n)
    assert not subject(method).unmet(problem)
    looked_at = replace(
        subject(method), steps=lambda problem: tuple(s for s in method.steps(problem) if s != "permute")
    )
    values = [x for x in kind.values() if problem.lower <= x <= problem.upper]
    sums = {
        u: {looked_at.total(problem, order) for order in set(permutations(u))}
        for m in range(2 * n + 2)
        for u in combinations_with_replacement(values, m)
    }
    worst = max(
        abs(a - b)
        for u in sums
        for v in {u, *(u[:i] + u[i + 1 :] for i in range(len(u)))}
        for a, b in product(sums[u], sums[v])
    )
    found = Truth(looked_at).of_size_unordered(problem, n)
    assert found.difference * Truth(looked_at).unit(problem) == worst > looked_at.claim(problem)
