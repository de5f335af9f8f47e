"""The reference sampler draws exactly the discrete Laplace distribution."""

import math
from collections import Counter
from fractions import Fraction

import pytest

import soundsum as ss
from soundsum import noise, randomness


def chi_square(counts, probabilities, draws):
    return sum((counts.get(z, 0) - draws * p) ** 2 / (draws * p) for z, p in probabilities.items())


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1), Fraction(7, 3)])
def test_draws_follow_the_exact_probabilities(scale):
    draws, t = 20_000, math.exp(-1 / scale)
    counts = Counter(noise.discrete_laplace(scale) for _ in range(draws))
    probabilities = {z: (1 - t) / (1 + t) * t ** abs(z) for z in range(-40, 41)}
    likely = {z: p for z, p in probabilities.items() if draws * p > 10}
    cells = len(likely)
    assert chi_square(counts, likely, draws) < cells + 6 * math.sqrt(2 * cells) + 6  # beyond six standard deviations


def test_large_scales_are_drawn_as_easily():
    draws = [noise.discrete_laplace(Fraction(2**80, 3)) for _ in range(200)]
    typical = sorted(map(abs, draws))[100]
    assert 2**80 // 3 // 4 < typical < 2**80 // 3 * 4  # the median is 0.69 of the scale


def test_bernoulli_exp_by_enumeration_of_its_coins(monkeypatch):
    """Replace the coin by a walk over both outcomes with their exact probabilities: exp(-x) to the depth walked."""

    def probability(x, depth, k=1, weight=Fraction(1)):
        """P(True) of the alternating walk: fail at odd k."""
        if depth == 0:
            return Fraction(0)
        stop = weight * (1 - x / k) if k % 2 else Fraction(0)
        return stop + probability(x, depth - 1, k + 1, weight * x / k)

    for x in (Fraction(1, 3), Fraction(1), Fraction(9, 10)):
        taken = []

        def coin(p, taken=taken):
            taken.append(p)
            return len(taken) < 4

        monkeypatch.setattr(noise, "bernoulli", coin)
        assert noise.bernoulli_exp(x if x < 1 else Fraction(1, 2)) is False  # stops at k = 4, even
        assert taken == [(x if x < 1 else Fraction(1, 2)) / k for k in (1, 2, 3, 4)]
        assert abs(float(probability(x, 30)) - math.exp(-x)) < 1e-15


def test_bernoulli_is_decided_by_the_bits_of_p(monkeypatch):
    def recorded(*words):
        stream = iter(words)
        monkeypatch.setattr(randomness, "random_bytes", lambda count: next(stream).to_bytes(count))

    half = 2**63
    recorded(half - 1)
    assert randomness.bernoulli(Fraction(1, 2)) is True
    recorded(half)
    assert randomness.bernoulli(Fraction(1, 2)) is False
    third = 2**64 // 3
    recorded(third, third, third + 1)
    assert randomness.bernoulli(Fraction(1, 3)) is False
    recorded(third, 0)
    assert randomness.bernoulli(Fraction(1, 3)) is True
    recorded(0)
    assert randomness.bernoulli(Fraction(0)) is False


def test_below_is_uniform():
    counts = Counter(randomness.below(6) for _ in range(12_000))
    assert set(counts) == set(range(6))
    assert chi_square(counts, dict.fromkeys(range(6), 1 / 6), 12_000) < 40
    assert randomness.below(1) == 0


def test_a_permutation_is_uniform():
    counts = Counter(tuple(randomness.random_permutation(4).tolist()) for _ in range(24_000))
    assert len(counts) == 24
    assert chi_square(counts, dict.fromkeys(counts, 1 / 24), 24_000) < 23 + 6 * math.sqrt(46) + 6


def test_equal_words_are_drawn_again(monkeypatch):
    import numpy as np

    batches = iter([[5, 5, 1], [9, 2, 4]])
    monkeypatch.setattr(randomness, "random_words", lambda n: np.array(next(batches), dtype=np.uint64))
    assert randomness.random_permutation(3).tolist() == [1, 2, 0]


def test_private_max_size_keeps_all_records_nearly_always():
    limits = [ss.private_max_size([0.0] * 100, epsilon=1, confidence=0.999) for _ in range(300)]
    assert sum(limit < 100 for limit in limits) <= 5
    assert len(set(limits)) > 1
    assert ss.private_max_size([], epsilon=10) >= 1
    for bad in (0, -1, "nan"):
        with pytest.raises((ValueError, TypeError), match="epsilon"):
            ss.private_max_size([1.0], epsilon=bad)
    with pytest.raises(ValueError, match="confidence=1"):
        ss.private_max_size([1.0], epsilon=1, confidence=1)
    with pytest.raises(ValueError, match="scale=0"):
        noise.discrete_laplace(Fraction(0))
