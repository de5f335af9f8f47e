"""Gaussian noise for an epsilon and a delta is what Coq defines.

Compared are which parts get it by the discrete Gaussian's own delta, from where on that delta counts, which groups are
found with it, and the sigma of gradients.
"""

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from soundsum import randomness
from soundsum.gradients import Sum
from soundsum.privacy.distributions import SMALL, gaussian_delta, gaussian_sigma2, gaussian_tail
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noises.gaussian import Gaussian
from soundsum.privacy.selection import GroupPlan, combine, find_threshold
from soundsum.privacy.units import Norms
from soundsum.privacy.zcdp import zcdp_rho

from .oracle import ask, words
from .test_noise import some_bytes, some_sigma2
from .test_releases import say, show

EPSILONS = [Fraction(1, 10), Fraction(1, 2), Fraction(1), Fraction(3)]
DELTAS = [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 100)]


def listed(cases):
    return ",".join(":".join(words(x) for x in case) for case in cases) or "none"


def test_an_epsilon_and_a_delta_are_divided_as_is_proved():
    """Only where one entry moves its own delta decides; elsewhere a rho does."""
    rng, seen = random.Random("delta"), set()
    for _ in range(60):
        tasks = [[some_norms(rng) for _ in range(rng.randint(1, 3))] for _ in range(rng.randint(1, 3))]
        weights = [Fraction(rng.randint(1, 4)) for _ in tasks]
        epsilon, delta = rng.choice(EPSILONS), rng.choice(DELTAS)
        divided = Guarantee(Gaussian, epsilon, delta).divide(tasks, weights)
        shares = {(n, *parts_of(share, task)) for (share, _), task in zip(divided, tasks, strict=True) for n in task}
        moved = {(n, e, d) for n, e, d in shares if n.l1}
        own = {(n.l1, e, d, gaussian_sigma2(n.l1, e, d)) for n, e, d in moved if n.entries == 1}
        rhos = {(e, d, zcdp_rho(e, d)) for n, e, d in moved if n.entries > 1}
        given = [f"{words(w)}:{say(task)}" for w, task in zip(weights, tasks, strict=True)]
        (answer,) = ask([words("divide_delta", epsilon, delta, listed(own), listed(rhos), *given)])
        assert " ".join(";".join(map(show, noises)) for _, noises in divided) == answer, (epsilon, delta, tasks)
        seen |= {min(n.entries, 2) for n, _, _ in moved}
    assert seen == {1, 2}


def parts_of(share, task):
    """What each part of a task gets: equal shares for those that need noise."""
    moved = max(1, sum(n.l1 > 0 for n in task))
    return share.epsilon / moved, share.delta / moved


def some_norms(rng):
    l1 = rng.choice([0, 1, 1, 2, 5])
    return Norms(l1, l1**2, rng.choice([1, 1, 2]))


def exact_delta(sigma2, Delta, first):
    """P(Z >= first) - e^epsilon P(Z >= first + Delta), added up term by term."""

    def weight(z):
        return (-Decimal(z * z * sigma2.denominator) / (2 * sigma2.numerator)).exp()

    reach = math.isqrt(int(500 * sigma2)) + abs(first) + Delta + 50
    weights = {z: weight(z) for z in range(reach + 1)}
    whole = weights[0] + 2 * sum(weights[z] for z in range(1, reach + 1))

    def at_least(m):
        return sum(weights[abs(z)] for z in range(m, reach + 1)) / whole

    return lambda epsilon: at_least(first) - epsilon.exp() * at_least(first + Delta)


def test_the_delta_counts_from_where_it_is_proved_to():
    rng = random.Random("beyond")
    cases = [(Fraction(2), 1, Fraction(2)), (Fraction(4), 3, Fraction(1, 7)), (Fraction(9, 2), 3, Fraction(1))]
    for _ in range(40):
        Delta = rng.choice([1, 2, 3, 10])
        sigma2 = Fraction(rng.randint(1, 400), rng.choice([1, 2, 7])) * Delta
        cases.append((sigma2, Delta, Fraction(rng.randint(1, 40), rng.choice([4, 7, 10]))))
    lines = [words("first_beyond", sigma2, epsilon, Delta) for sigma2, Delta, epsilon in cases]
    with localcontext() as context:
        context.prec = 70
        for (sigma2, Delta, epsilon), answer in zip(cases, ask(lines), strict=True):
            assert sigma2 < SMALL
            e = Decimal(epsilon.numerator) / epsilon.denominator
            exact, found = exact_delta(sigma2, Delta, int(answer))(e), gaussian_delta(sigma2, Delta, epsilon)
            code = Decimal(found.numerator) / found.denominator
            assert 0 <= code - exact <= Decimal("1e-50") + exact * Decimal("1e-40"), (sigma2, Delta, epsilon)
            for wrong in (int(answer) - 1, int(answer) + 1):  # any other half-line gains less
                assert exact_delta(sigma2, Delta, wrong)(e) <= code


def test_groups_are_found_as_is_proved(monkeypatch):
    rng, cases, compared = random.Random("found"), [], 0
    for _ in range(1000):
        counts = [rng.choice([0, 0, 1, 2, rng.randint(0, 10**6)]) for _ in range(rng.randint(1, 8))]
        sigma2 = min(some_sigma2(rng), Fraction(1 << 80))
        cases.append((sigma2, rng.choice([1, 2, rng.randint(1, 50)]), some_bytes(rng, (400, 1000, 3000)), counts))
    lines = [words("find_groups", s, threshold, drawn.hex(), *counts) for s, threshold, drawn, counts in cases]
    for (sigma2, threshold, drawn, counts), answer in zip(cases, ask(lines), strict=True):
        if answer == "none":
            continue
        left = drawn + bytes(1 << 20)

        def take(count):
            nonlocal left
            taken, left = left[:count], left[count:]
            return taken

        monkeypatch.setattr(randomness, "random_bytes", take)
        one = Fraction(1)
        plan = GroupPlan(Gaussian(sigma2), threshold, one, one, one, Norms(1, 1))
        places, noisy = plan.select(np.array(counts))
        assert dict(zip(places, noisy, strict=True)) == {
            place: int(word) for place, word in enumerate(answer.split()) if word != "-"
        }, (sigma2, threshold, drawn.hex(), counts)
        compared += 1
    assert compared > 300


def test_the_delta_of_a_search_is_what_is_proved_of_its_threshold():
    """1 - (1 - delta') (1 - t)^g, where t = P(1 + Z >= threshold), for one of the ways to divide delta."""
    for g in (1, 2, 5):
        norms = Norms(g, g, g)
        for epsilon in EPSILONS:
            for delta in DELTAS:
                plan = find_threshold(Gaussian, epsilon, delta, norms)
                assert plan.threshold >= 2  # so that P(Z >= threshold - 1) is half of P(|Z| >= threshold - 1)
                found = []
                for share in (Fraction(1, 2), Fraction(9, 10), Fraction(99, 100)):
                    own = delta * share
                    if Gaussian.fit(norms, epsilon, own, None) == plan.noise:
                        alone = gaussian_tail(plan.noise.parameter, plan.threshold - 1) / 2
                        found.append(1 - (1 - own) * (1 - combine(alone, g)))
                assert any(charged <= plan.delta <= delta for charged in found), (g, epsilon, delta)


def test_the_noise_of_gradients_is_what_is_proved():
    rng = random.Random("sigma")
    cases = [
        (Fraction(rng.randint(1, 10**6), rng.randint(1, 10**6)), Fraction(rng.randint(1, 10**6), 1000))
        for _ in range(200)
    ]
    sums = [Sum(max_norm, multiplier) for multiplier, max_norm in cases if multiplier < 1000]
    lines = [words("sigma", one.noise_multiplier, one.grid.limit) for one in sums]
    assert [one.sigma for one in sums] == list(map(int, ask(lines)))
    assert len(sums) > 100
