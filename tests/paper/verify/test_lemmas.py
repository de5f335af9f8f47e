"""The transformations between relations, on all small datasets: couplings of permutations, truncation, conversions."""

import math
from collections import Counter
from itertools import permutations, product

import pytest

from soundsum.tables.relations import Relation, convert

SYM, ID, CO, HAM = Relation.SYMMETRIC, Relation.INSERT_DELETE, Relation.CHANGE_ONE, Relation.HAMMING
DATASETS = [u for n in range(5) for u in product(range(3), repeat=n)]


def without(u, i):
    return u[:i] + u[i + 1 :]


# A uniform secret permutation turns an ordered bound into an unordered one


@pytest.mark.parametrize("v", [v for v in DATASETS if v])
def test_permutations_of_symmetric_neighbours_couple_to_insert_delete_neighbours(v):
    """u is v without its last record, in any order. Permute v uniformly; u gets the same order of the records left.

    Both orders are uniform, and what comes out is always one insertion apart.
    """
    n = len(v)
    for u in set(permutations(without(v, n - 1))):
        assert SYM.distance(u, v) == 1
        place = matching(u, v)  # the record of u that record i of v is, None for the one left out
        orders_of_u = Counter()
        for order in permutations(range(n)):  # each once: uniform
            order_of_u = tuple(place[i] for i in order if place[i] is not None)
            orders_of_u[order_of_u] += 1
            assert ID.distance([u[i] for i in order_of_u], [v[i] for i in order]) == 1
        assert set(orders_of_u) == set(permutations(range(n - 1)))
        assert set(orders_of_u.values()) == {n}  # each as often as any other: uniform


@pytest.mark.parametrize("u", [u for u in DATASETS if 1 <= len(u) <= 3])
def test_permutations_of_change_one_neighbours_couple_to_hamming_neighbours(u):
    for v in product(range(3), repeat=len(u)):
        if CO.distance(u, v) != 1:
            continue
        place = matching(u, v)
        (lonely,) = set(range(len(u))) - {i for i in place if i is not None}
        place = [lonely if i is None else i for i in place]  # the changed record goes where its predecessor was
        orders_of_u = Counter()
        for order in permutations(range(len(v))):
            order_of_u = tuple(place[i] for i in order)
            orders_of_u[order_of_u] += 1
            assert HAM.distance([u[i] for i in order_of_u], [v[i] for i in order]) == 1
        assert set(orders_of_u.values()) == {1}


def matching(u, v):
    """For each record of v an equal record of u, each used once, and None where u has none left."""
    free = list(range(len(u)))
    place = []
    for x in v:
        i = next((i for i in free if u[i] == x), None)
        place.append(i)
        if i is not None:
            free.remove(i)
    return place


# Truncation to the first n records


def insertions():
    return ((v, without(v, i)) for v in DATASETS for i in range(len(v)))


@pytest.mark.parametrize("n", range(5))
def test_truncated_neighbours_are_insert_delete_neighbours_of_at_most_n_or_change_one_neighbours_of_n(n):
    for u, v in insertions():
        kept = u[:n], v[:n]
        if min(map(len, kept)) < n:
            assert ID.distance(*kept) <= 1
        else:
            assert CO.distance(*kept) <= 1


def test_truncated_neighbours_need_not_be_hamming_neighbours():
    u, v = (1, 2, 3), (0, 1, 2, 3)
    assert ID.distance(u, v) == 1
    assert HAM.distance(u[:3], v[:3]) == 3


@pytest.mark.parametrize("m", range(4))
def test_where_the_size_is_public_the_records_kept_are_hamming_neighbours_again(m):
    """Truncation for a known n: the same m places are kept. Change-one neighbours need the permutation first."""
    for n in range(m, 4):
        for u, v in product(product(range(3), repeat=n), repeat=2):
            if HAM.distance(u, v) <= 1:
                assert HAM.distance(u[:m], v[:m]) <= 1
    assert CO.distance((0, 0, 1, 1), (1, 1, 0, 0)) == 0
    assert CO.distance((0, 0), (1, 1)) == 2


# Conversions between the sensitivities


def sensitivity(f, relation, datasets=DATASETS):
    return max((abs(f(u) - f(v)) for u in datasets for v in datasets if relation.distance(u, v) == 1), default=0)


FUNCTIONS = {
    "the sum": sum,
    "the count": len,
    "the last record": lambda u: u[-1] if u else 0,
    "weighted by place": lambda u: sum(i * x for i, x in enumerate(u)),
    "saturating in order": lambda u: saturated(u),
    "where 2 comes first": lambda u: u.index(2) if 2 in u else -1,
}


def saturated(u):
    total = 0
    for x in u:
        total = max(-1, min(1, total + x - 1))
    return total


SMALL = [u for u in DATASETS if len(u) <= 3]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_conversions_hold_for_functions_on_every_length(name):
    f = FUNCTIONS[name]
    true = {relation: sensitivity(f, relation, SMALL) for relation in Relation}
    for known, wanted in product(Relation, Relation):
        bound = convert(true[known], known, wanted)
        assert bound is None or true[wanted] <= bound


def test_no_conversion_is_offered_where_none_holds():
    for known, wanted in product((CO, HAM), (SYM, ID)):
        assert convert(1, known, wanted) is None
        assert sensitivity(len, known, SMALL) == 0 < sensitivity(len, wanted, SMALL)
    for known, wanted in product((ID, HAM), (SYM, CO)):
        assert convert(1, known, wanted) is None
    placed = FUNCTIONS["weighted by place"]
    assert sensitivity(placed, HAM, SMALL) < sensitivity(placed, CO, SMALL)
    assert sensitivity(placed, ID, SMALL) < sensitivity(placed, SYM, SMALL)


def test_on_one_length_alone_the_doubling_is_false():
    pairs = [u for u in DATASETS if len(u) == 2]
    assert sensitivity(sum, ID, pairs) == sensitivity(sum, SYM, pairs) == 0
    assert sensitivity(sum, HAM, pairs) == sensitivity(sum, CO, pairs) == 2


def test_group_privacy_needs_distance_one_or_more():
    last = FUNCTIONS["the last record"]
    for relation in Relation:
        one_step = sensitivity(last, relation, SMALL)
        for u, v in product(SMALL, SMALL):
            distance = relation.distance(u, v)
            if 1 <= distance < math.inf:
                assert abs(last(u) - last(v)) <= one_step * distance
    assert SYM.distance((0, 1), (1, 0)) == 0
    assert last((0, 1)) != last((1, 0))
