"""The attack theorems' differences, on every applicable small type: the datasets of THEOREMS.md added by the models."""

import math
from fractions import Fraction
from itertools import product

import pytest

from soundsum import models
from soundsum.numbers import FloatType, IntType, power_of_two
from soundsum.relations import Relation

INTEGERS = [IntType(bits, signed) for bits in (3, 4, 5, 6) for signed in (True, False)]
FLOATS = [FloatType(*widths) for widths in product((2, 3, 4, 5), (3, 4, 5))]


def assert_neighbours(relation, left, right, distance=1):
    assert relation.distance(left, right) == distance


@pytest.mark.parametrize("kind", INTEGERS, ids=str)
def test_overflow(kind):
    for L, U in product(range(kind.min, 1), range(1, kind.max + 1)):
        n = math.ceil(kind.max / U) + 1
        r = kind.max - (n - 2) * U
        assert L <= r <= U
        common = [U] * (n - 2) + [r]
        for relation, left in ((Relation.CHANGE_ONE, [*common, 0]), (Relation.INSERT_DELETE, common)):
            right = [*common, 1]
            assert_neighbours(relation, left, right)
            total = models.modular(kind).sum
            assert abs(total(left) - total(right)) == kind.modulus - 1


@pytest.mark.parametrize("kind", [kind for kind in INTEGERS if kind.signed], ids=str)
def test_saturation_reordering(kind):
    for L, U in product(range(kind.min, 0), range(1, kind.max + 1)):
        b, c = (math.ceil((kind.max - kind.min) / abs(bound)) for bound in (L, U))
        left, right = [L] * b + [U] * c, [U] * c + [L] * b
        assert_neighbours(Relation.SYMMETRIC, left, right, 0)
        total = models.saturating(kind).sum
        assert abs(total(left) - total(right)) == kind.modulus - 1


def exponents(kind):
    return range(kind.min_exponent - kind.k, kind.max_exponent + 1)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_float_reordering(kind):
    tried = 0
    for a, d, j in product(range(kind.k + 1), range(1, kind.k + 2), exponents(kind)):
        if a + d > kind.k + 1:
            continue
        L, U = power_of_two(j), power_of_two(j + d)
        b, c = 2 ** (kind.k + 1 - a), 2 ** (kind.k + 1 - d)
        if b * L + c * U > kind.max:
            continue
        left, right = [L] * b + [U] * c, [U] * c + [L] * b
        total = models.iterated(kind).sum
        assert abs(total(left) - total(right)) == b * L == power_of_two(kind.k + 1 - a - d) * U
        tried += 1
    assert tried


@pytest.mark.parametrize("kind", [kind for kind in FLOATS if kind.k > 2], ids=str)
def test_rounding(kind):
    tried = 0
    for j, m in product(range(2, kind.k), range(kind.min_exponent, kind.max_exponent + 1)):
        n = 2**j + 1
        L = (1 + power_of_two(j - kind.k - 1)) * power_of_two(m)
        U = L + power_of_two(m - kind.k)
        if n * U > kind.max:
            continue
        assert L in kind
        assert U in kind
        left, right = [L] * (n - 1) + [U], [L] * n
        assert_neighbours(Relation.HAMMING, left, right)
        for model in (models.iterated, models.kahan):
            assert model(kind).sum(left) - model(kind).sum(right) == 2**j * (U - L), (model, j, m)
        tried += 1
    assert tried


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_rounding_in_a_tree(kind):
    odd = [x for x in kind.values() if x >= kind.smallest_normal and (x / kind.ulp(x)) % 2 == 1]
    for L in odd[:: max(1, len(odd) // 20)]:
        U = kind.next_up(L)
        for model, sizes in ((models.pairwise, (2, 4, 8, 16)), (models.numpy_pairwise, (2, 8, 16))):
            for n in sizes:
                if n * U > kind.max:
                    continue
                total = model(kind).sum
                for place in range(n):
                    changed = [L] * place + [U] + [L] * (n - 1 - place)
                    assert total(changed) - total([L] * n) == n * (U - L)


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_repeated_rounding_1(kind):
    k, tried = kind.k, 0
    for j, m in product(range(1, k + 1), exponents(kind)):
        U = power_of_two(k + m)
        f = [(power_of_two(i) + power_of_two(i - k)) * power_of_two(m) for i in range(j)]
        left = [U, U] + [x for x in f for _ in range(2**k)]
        if sum(left) * 2 > kind.max or any(x not in kind for x in left):
            continue
        assert all(0 <= x <= U for x in left)
        assert_neighbours(Relation.INSERT_DELETE, left, left[1:])
        total = models.iterated(kind).sum
        assert total(left) - total(left[1:]) == 2**j * U
        tried += 1
    assert tried or kind.l == 3  # the smallest ranges leave no room


@pytest.mark.parametrize("kind", [kind for kind in FLOATS if kind.k > 2], ids=str)
def test_repeated_rounding_2(kind):
    k, tried = kind.k, 0
    for j, exponent in product(range(2, k), exponents(kind)):
        U, n = power_of_two(exponent), 2**j
        half = n // 2
        step = U * half / 2**k
        x, L = step * (Fraction(1, 2) + power_of_two(-k)), -step * (Fraction(1, 2) - power_of_two(-k))
        left = [U] * half + [x, L] * (half // 2)
        if n * U > kind.max or x not in kind or L not in kind:
            continue
        assert_neighbours(Relation.INSERT_DELETE, left, left[1:])
        total = models.iterated(kind).sum
        assert total(left) - total(left[1:]) == Fraction(n * n, 2 ** (k + 3)) * U + U, (j, exponent)
        tried += 1
    assert tried or kind.l == 3
