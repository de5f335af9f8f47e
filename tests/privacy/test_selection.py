"""Thresholds of groups that are found: the least that delta allows, the delta that is charged, and the noise."""

from collections import Counter
from contextlib import suppress
from decimal import Context, Decimal
from fractions import Fraction
from functools import reduce
from itertools import product
from math import comb, exp, prod

import pytest

import soundsum as ss
from soundsum.paper.verify import verify
from soundsum.paper.verify.searches import SearchWork, check, join_laws, release_groups, truncated
from soundsum.privacy import selection
from soundsum.privacy.distributions import gaussian_tail, laplace_edge
from soundsum.privacy.selection import TruncatedLaplace, combine, plan_groups
from soundsum.refusals import Reason
from tests.refusing import refused

ONE = Fraction(1)
TIGHT = Fraction(1, 10**15)


def test_every_table_of_tiny_counts_keeps_the_promise_and_the_truncated_noise_is_tight():
    done = verify(quick=True, only=["groups"], processes=1)
    assert done.violations == 0
    assert {(result.relation, result.ratio) for result in done.results} == {
        (ss.Relation.SYMMETRIC, 1),
        (ss.Relation.CHANGE_ONE, 1),
    }


@pytest.mark.parametrize("truncates", [True, False])
@pytest.mark.parametrize(
    "weakened",
    [
        {"slack": 1},
        {"claim": lambda edge, g: edge / 2},
        {"claim": lambda edge, g: (1 - (1 - edge) ** g) * Fraction(999, 1000)},
    ],
    ids=["a lower threshold", "the tail without the threshold itself", "a thousandth less"],
)
def test_a_weaker_threshold_or_claim_is_caught(truncates, weakened):
    found = check(SearchWork(Fraction(1, 2), 2, 2, ss.Relation.SYMMETRIC, truncates, **weakened))
    assert found.violations
    assert "persons in the groups" in str(found.counterexample)


def test_a_record_that_moves_needs_twice_the_noise():
    found = check(SearchWork(Fraction(1, 2), 2, 1, ss.Relation.SYMMETRIC))
    assert not found.violations
    moved = SearchWork(Fraction(1, 2), 2, 2, ss.Relation.CHANGE_ONE, claim=lambda edge, g: edge)
    assert check(moved).violations


def test_the_law_of_the_code_is_that_of_the_definition():
    """Exactly: a group of nobody is never named, and every other one has noise of its own and is named from T on."""
    noise = truncated(Fraction(2, 3), 2)
    for threshold in (1, 3, 4):
        for counts in product(range(6), repeat=2):
            alone = [
                Counter({None: Fraction(1)})
                if not n
                else sum_up((n + z if n + z >= threshold else None, p) for z, p in noise.items())
                for n in counts
            ]
            assert release_groups(counts, noise, threshold) == join_laws(alone)


def sum_up(outcomes):
    law = Counter()
    for outcome, chance in outcomes:
        law[outcome] += chance
    return law


@pytest.mark.parametrize("a", [Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("reach", [1, 2, 5, 12])
def test_for_one_group_it_is_the_optimal_selection(a, reach):
    """Of Desfontaines, Voss, Gipson and Mandayam, for a delta that is P(Z = k)."""
    noise = truncated(a, reach)
    optimal, n = Fraction(0), 0
    while optimal < 1:
        n += 1
        optimal = min(optimal / a + noise[reach], 1 - a * (1 - optimal - noise[reach]), Fraction(1))
        assert 1 - release_groups((n,), noise, reach + 1).get((None,), 0) == optimal


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("relation", ["symmetric", "hamming"])
@pytest.mark.parametrize("groups", [1, 2, 5, 40])
@pytest.mark.parametrize("epsilon, delta", [("1/10", "1e-6"), (1, "1e-9"), (3, "1e-12"), (1, "1/2"), (50, "1e-300")])
def test_the_threshold_is_the_least_and_the_delta_charged_is_what_it_attains(noise, relation, groups, epsilon, delta):
    if relation == "hamming":
        groups = 1
    plan = plan_groups(epsilon, delta, groups, relation=relation, noise=noise)
    entries = plan.norms.entries
    assert entries == (2 if relation == "hamming" else groups)
    assert 0 < plan.delta <= Fraction(delta) == plan.asked_delta
    if noise == "gaussian":
        edge = gaussian_tail(plan.noise.parameter, plan.threshold - 1) / 2
        assert combine(edge, entries) < plan.delta
        return
    reach = plan.threshold - 1
    assert plan.noise == TruncatedLaplace(entries / Fraction(epsilon), reach)
    attained = combine(laplace_edge(plan.noise.parameter, reach), entries)
    assert plan.delta == Fraction(delta) or attained <= plan.delta <= attained * (1 + Fraction(1, 2**63))
    if reach > 1:
        assert combine(laplace_edge(plan.noise.parameter, reach - 1), entries) > Fraction(delta)
    assert plan_groups(epsilon, plan.delta, groups, relation=relation).threshold == plan.threshold


@pytest.mark.parametrize("groups", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "chance", [Fraction(1), Fraction(1, 2), Fraction(1, 3), Fraction(7, 10**9), Fraction(1, 10**900)]
)
def test_chances_of_several_groups_are_rounded_up_and_hardly(chance, groups):
    exact = sum((-1) ** (i + 1) * comb(groups, i) * chance**i for i in range(1, groups + 1))
    assert exact <= combine(chance, groups) <= exact * (1 + TIGHT)


def test_very_many_groups_take_no_longer():
    assert plan_groups(1, "1e-9", 10**12).threshold > 10**13


def test_the_edge_is_rounded_up_and_hardly():
    exact = Context(prec=200)
    for scale in (Fraction(1, 3), Fraction(2), Fraction(1000)):
        for reach in (1, 7, 400):
            a = exact.exp(exact.divide(Decimal(-scale.denominator), Decimal(scale.numerator)))
            weights = reduce(exact.add, (exact.power(a, abs(z)) for z in range(-reach, reach + 1)))
            true = Fraction(exact.divide(exact.power(a, reach), weights))
            assert true <= laplace_edge(scale, reach) <= true * (1 + TIGHT) + Fraction(1, 10**1999)


class Ended(Exception):
    pass


@pytest.mark.parametrize("groups", [1, 2])
def test_truncated_noise_is_the_sampler_s_given_that_it_lies_within_reach(groups, monkeypatch):
    """Exactly: every list of four draws is tried, and what is drawn by then has the law of independent noise."""
    law, noise = Counter(), truncated(Fraction(1, 3), 2)
    for script in product(noise, repeat=4):
        left = list(script)

        def draw(scale, count, left=left):
            if len(left) < count:
                raise Ended
            given, left[:count] = left[:count], []
            return given

        monkeypatch.setattr(selection.samplers, "discrete_laplace_many", draw)
        with suppress(Ended):
            law[tuple(TruncatedLaplace(Fraction(7), 1).draw(groups))] += prod((noise[z] for z in script), start=ONE)
    assert {found: chance / law.total() for found, chance in law.items()} == join_laws(
        [truncated(Fraction(1, 3), 1)] * groups
    )


@pytest.mark.parametrize("scale, reach", [(Fraction(3, 2), 2), (Fraction(10**20), 4)])
def test_truncated_noise_has_its_distribution(scale, reach, same_draws):
    """By the number of draws of each value; a wrong one is off by more than seven standard deviations."""
    draws = 60_000 if scale < 100 else 0
    seen = Counter(TruncatedLaplace(scale, reach if draws else 10**20).draw(draws or 200))
    assert max(map(abs, seen)) <= (reach if draws else 10**20)
    weights = {z: exp(-abs(z) / scale) for z in range(-reach, reach + 1)} if draws else {}
    for z, weight in weights.items():
        p = weight / sum(weights.values())
        assert abs(seen[z] - draws * p) < 7 * (draws * p * (1 - p)) ** 0.5


@pytest.mark.parametrize(
    "given, option, reason",
    [
        ({"delta": None}, "delta", Reason.MISSING),
        ({"delta": 1}, "delta", Reason.TOO_LARGE),
        ({"delta": 0}, "delta", Reason.TOO_SMALL),
        ({"epsilon": None}, "epsilon", Reason.MISSING),
        ({"epsilon": Fraction(1, 2**5000)}, "epsilon", Reason.TOO_MANY),
        ({"max_groups": 0}, "max_groups", Reason.TOO_SMALL),
        ({"max_groups": 2, "relation": "change_one"}, "max_groups", Reason.CONFLICT),
        ({"noise": "uniform"}, "noise", Reason.UNKNOWN),
    ],
)
def test_what_has_no_threshold_is_refused(given, option, reason):
    with refused(option, reason):
        plan_groups(**{"epsilon": 1, "delta": "1e-9", **given})
