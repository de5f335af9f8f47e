"""The attack theorems on every applicable small type and every parameter: what is predicted is what the models do."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from tests.refusing import refused

import soundsum as ss
from soundsum.numbers import models
from soundsum.numbers.types import FloatType, IntType, power_of_two
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

INTEGERS = [IntType(bits, signed) for bits in (3, 4, 5, 6) for signed in (True, False)]
FLOATS = [FloatType(*widths) for widths in product((2, 3, 4, 5), (3, 4, 5))]


def made(name, kind, **parameters):
    """The attack, or None where the type has no room for these parameters."""
    try:
        return ss.attack(name, kind, **parameters)
    except RefusedValue as refusal:
        condition = str(refusal.facts.get("condition"))
        if condition.startswith("that the sums fit") or "records and sums are values" in condition:
            return None
        raise


def assert_moves(attack, total, difference):
    assert attack.distance == attack.problem.relation.distance(list(attack.left), list(attack.right)) <= 1
    left, right = total(attack.left), total(attack.right)
    assert (left, right) == attack.totals
    assert abs(left - right) == attack.predicted == difference


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_overflow_moves_the_sum_by_the_whole_type(kind):
    for L, U in product(range(kind.min, 1), range(1, kind.max + 1)):
        for relation in Relation:
            if max(U - L if relation.sized else 0, -L, U) == kind.modulus - 1:
                continue  # the ideal is the whole type already
            attack = ss.attack("overflow", kind, bounds=(L, U), relation=relation)
            assert attack.records == math.ceil(kind.max / U) + 1
            assert_moves(attack, models.modular(kind).sum, kind.modulus - 1)


@pytest.mark.parametrize("kind", [kind for kind in INTEGERS if kind.bits < 6], ids=str)
def test_overflow_for_bounds_of_one_sign(kind):
    """With a public size the whole type again; with a private one all but the record that is added."""
    found = 0
    for L, U in product(range(kind.min, kind.max + 1), repeat=2):
        if L > U or L <= 0 < U or L == U == 0:
            continue
        for relation in (Relation.CHANGE_ONE, Relation.SYMMETRIC):
            if relation.sized and L == U:
                with refused("bounds", Reason.UNSUPPORTED, ValueError, never="no record can change"):
                    ss.attack("overflow", kind, bounds=(L, U), relation=relation)
                continue
            try:
                attack = ss.attack("overflow", kind, bounds=(L, U), relation=relation)
            except RefusedValue as refusal:
                even = L == U and refusal.reason is Reason.UNSUPPORTED  # copies of 2 never add up to an odd end
                if refusal.option == "bounds" and (even or refusal.reason is Reason.TOO_LARGE):
                    continue
                raise
            added = 1 if relation.sized or U == 0 else min(abs(L), abs(U))
            assert_moves(attack, models.modular(kind).sum, kind.modulus - added)
            found += 1
    assert found


@pytest.mark.parametrize("kind", [kind for kind in INTEGERS if kind.signed], ids=str)
def test_saturation_depends_on_the_order(kind):
    for L, U in product(range(kind.min, 0), range(1, kind.max + 1)):
        attack = made("saturation_reordering", kind, lower=L, upper=U)
        assert attack.distance == 0
        assert_moves(attack, models.saturating(kind).sum, kind.modulus - 1)


def exponents(kind):
    return range(kind.min_exponent - kind.k, kind.max_exponent + 1)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_reordering_rounds_small_records_away(kind):
    k, tried = kind.k, 0
    for a, d, j, drop_last in product(range(k + 1), range(1, k + 2), exponents(kind), (False, True)):
        if a + d > k + 1 or (drop_last and j % 4):
            continue
        attack = made("reordering", kind, a=a, d=d, j=j, drop_last=drop_last)
        total = power_of_two(k + 1 - a + j) + power_of_two(k + 1 + j)
        assert (attack is None) == (total > kind.max)
        if attack is None:
            continue
        assert attack.distance == drop_last
        assert_moves(attack, models.iterated(kind).sum, power_of_two(k + 1 - a - d) * power_of_two(j + d))
        tried += 1
    assert tried


@pytest.mark.parametrize("kind", [kind for kind in FLOATS if kind.k > 2], ids=str)
def test_one_rounding_in_order_and_compensated(kind):
    tried = 0
    for j, m in product(range(2, kind.k), range(kind.min_exponent, kind.max_exponent + 1)):
        if not (attack := made("rounding", kind, j=j, m=m)):
            continue
        difference = 2**j * power_of_two(m - kind.k)
        assert_moves(attack, models.iterated(kind).sum, difference)
        total = models.kahan(kind).sum
        assert total(attack.left) - total(attack.right) == difference
        tried += 1
    assert tried


@pytest.mark.parametrize("k", range(6, 12))
def test_one_rounding_beyond_the_papers_condition(k):
    """For j > (k+1)/2 the copies of L meet ties on their way, which the predicted sums have in them."""
    for j in range(2, k):
        attack = ss.attack("rounding", FloatType(k, 6), j=j)
        assert attack.sums() == attack.totals
        assert attack.measure("kahan") == attack.predicted


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_rounding_doubles_at_every_level_of_a_tree(kind):
    for model, levels in ((models.pairwise, (1, 2, 3, 4)), (models.numpy_pairwise, (1, 3, 4))):
        for j, m in product(levels, exponents(kind)):
            for place in range(0, 2**j, 3):
                if attack := made("tree_rounding", kind, j=j, m=m, place=place):
                    assert_moves(attack, model(kind).sum, 2**j * power_of_two(m - kind.k))


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_any_odd_last_bit_doubles_in_a_tree(kind):
    """The attack uses one L; the theorem holds for every normal L with an odd last bit."""
    odd = [x for x in kind.values() if x >= kind.smallest_normal and (x / kind.ulp(x)) % 2 == 1]
    for L, n in product(odd[:: max(1, len(odd) // 20)], (2, 4, 8, 16)):
        U = kind.next_up(L)
        if n * U <= kind.max:
            total = models.pairwise(kind).sum
            assert total([L] * (n - 1) + [U]) - total([L] * n) == n * (U - L)


@pytest.mark.parametrize("relation", [Relation.INSERT_DELETE, Relation.HAMMING])
@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_repeated_rounding_1_doubles_the_difference(kind, relation):
    k, tried = kind.k, 0
    for j, m in product(range(1, k + 1), exponents(kind)):
        attack = made("repeated_rounding_1", kind, j=j, m=m, relation=relation)
        fits = (1 + power_of_two(-k)) * power_of_two(m) in kind and power_of_two(k + j + 1 + m) <= kind.max
        assert (attack is not None) == fits
        if attack:
            assert attack.records == j * 2**k + 2
            assert_moves(attack, models.iterated(kind).sum, power_of_two(j + k + m))
            tried += 1
    assert tried or kind.l == 3  # the smallest ranges leave no room


@pytest.mark.parametrize("relation", [Relation.INSERT_DELETE, Relation.HAMMING])
@pytest.mark.parametrize("kind", [kind for kind in FLOATS if kind.k > 2], ids=str)
def test_repeated_rounding_2_grows_with_the_square_of_n(kind, relation):
    k, tried = kind.k, 0
    for j, e in product(range(2, k), exponents(kind)):
        U = power_of_two(e)
        attack = made("repeated_rounding_2", kind, j=j, upper=U, relation=relation)
        x = U * power_of_two(j - 1 - k) * (Fraction(1, 2) + power_of_two(-k))
        assert (attack is not None) == (x in kind and 2 ** (j - 1) * U + power_of_two(2 * j - 3 - k) * U <= kind.max)
        if attack:
            assert_moves(attack, models.iterated(kind).sum, Fraction(4**j, 2 ** (k + 3)) * U + U)
            tried += 1
    assert tried or kind.l == 3


@pytest.mark.parametrize("relation", [Relation.INSERT_DELETE, Relation.HAMMING])
@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_a_correctly_rounded_result_jumps_by_an_ulp_of_the_sum(kind, relation):
    k, tried = kind.k, 0
    for j, m in product(range(1, k + 1), exponents(kind)):
        attack = made("result_rounding", kind, j=j, m=m, relation=relation)
        assert (attack is not None) == (m >= kind.min_exponent and (2 ** (k + j) + 2**j) * power_of_two(m) <= kind.max)
        if attack:
            assert_moves(attack, lambda runs: kind.round(runs.total()), power_of_two(j + m))
            assert attack.ratio == 2**j
            tried += 1
    assert tried or kind.l == 3


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_a_path_jumps_by_an_ulp_of_the_sum(kind):
    for n in range(2, 40):
        if attack := made("path", kind, n=n):
            assert attack.predicted == attack.measure() >= kind.ulp(n * attack.problem.lower)
            assert attack.ratio > Fraction(n, 2)


def test_nothing_else_happens_in_numpy():
    """np.sum of 16 doubles is the balanced tree the attack is made for."""
    attack = ss.attack("tree_rounding", "float64", j=4)
    assert attack.measure(np.sum) == attack.predicted
