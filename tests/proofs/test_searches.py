"""Groups are found with truncated noise as Coq defines, group by group: the code makes the same draws in another order.

Coq draws the noise of a group until it lies within reach, and then that of the next one. The code draws for all groups
at once, and again for those whose noise lies too far out.
"""

import random
from fractions import Fraction
from itertools import zip_longest

import numpy as np

from soundsum import randomness
from soundsum.privacy import samplers
from soundsum.privacy.distributions import laplace_edge
from soundsum.privacy.selection import GroupPlan, TruncatedLaplace, find_threshold
from soundsum.privacy.units import Norms
from soundsum.randomness import Stream

from .oracle import ask, words
from .test_deltas import DELTAS, EPSILONS
from .test_noise import some_bytes

CASES = 1000


def some_search(rng):
    """A scale, a reach that some draws exceed, numbers of persons, and bytes."""
    scale = Fraction(rng.randint(1, 1 << rng.choice([2, 8, 40])), rng.randint(1, 1 << rng.choice([2, 8, 40])))
    reach = rng.choice([1, 2, round(scale) + 1, 2 * round(scale) + 1, 9 * round(scale) + 1])
    counts = [rng.choice([0, 1, 2, rng.randint(0, 2 * reach)]) for _ in range(rng.randint(1, 6))]
    return scale, reach, counts, some_bytes(rng, (400, 1000, 3000))


def draws_of(scale, reach, counts, drawn):
    """The bytes of each draw, for each group that is there: the last of them is within reach."""
    stream, left = Stream(drawn), len(drawn)
    for _ in filter(None, counts):
        taken, value = [], reach + 1
        while abs(value) > reach:
            value = samplers._laplace(scale, stream)
            taken.append(drawn[len(drawn) - left : len(drawn) - len(stream.left)])
            left = len(stream.left)
        yield taken


def test_groups_are_found_as_is_proved(monkeypatch):
    rng = random.Random("searches")
    cases = [some_search(rng) for _ in range(CASES)]
    lines = [
        words("find_groups_within", scale.numerator, scale.denominator, reach, drawn.hex(), *counts)
        for scale, reach, counts, drawn in cases
    ]
    compared = {"once": 0, "again": 0}
    for (scale, reach, counts, drawn), answer in zip(cases, ask(lines), strict=True):
        if answer == "none":
            continue
        draws = list(draws_of(scale, reach, counts, drawn))
        rounds = [b"".join(filter(None, taken)) for taken in zip_longest(*draws)]
        longest = max(map(len, rounds), default=0)
        given = iter(rounds)
        monkeypatch.setattr(randomness, "random_bytes", lambda count, given=given: next(given).ljust(count, b"\0"))
        if (
            longest > samplers.SPARE
        ):  # the code asks for at least as many bytes at a time, and drops what it did not use
            continue
        one = Fraction(1)
        plan = GroupPlan(TruncatedLaplace(scale, reach), reach + 1, one, one, one, Norms(1, 1))
        places, noisy = plan.select(np.array(counts))
        found = {place: int(word) for place, word in enumerate(answer.split()) if word != "-"}
        assert dict(zip(places.tolist(), map(int, noisy), strict=True)) == found, (scale, reach, drawn.hex(), counts)
        compared["again" if len(rounds) > 1 else "once"] += 1
    assert min(compared.values()) > 100, compared


def test_truncated_noise_has_the_scale_and_the_threshold_that_are_proved():
    for g in (1, 2, 5):
        for epsilon in EPSILONS:
            for delta in DELTAS:
                plan = find_threshold(TruncatedLaplace, epsilon, delta, Norms(g, g, g))
                assert (plan.noise.parameter, plan.threshold) == (g / epsilon, plan.noise.reach + 1)
                edge = laplace_edge(plan.noise.parameter, plan.noise.reach)
                assert 1 - (1 - edge) ** g <= plan.delta <= delta
