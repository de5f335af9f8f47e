"""The reference samplers, by enumeration: over all streams of bytes the exact probabilities are those of the paper."""

import math
from collections import Counter
from fractions import Fraction

import pytest

from soundsum import randomness
from soundsum.privacy import samplers
from soundsum.randomness import Stream
from soundsum.refusals import Reason
from tests.refusing import refused

from .streams import Exhausted, over_all_bytes, over_all_coins, over_all_proposals, replay


def surely_contains(found, unknown, truth):
    """Whether the truth, a float good to 15 digits, is in [found, found + unknown]."""
    return float(found) - 1e-14 <= truth <= float(found + unknown) + 1e-14


@pytest.mark.parametrize("p", ["0", "1", "1/2", "1/3", "1/256", "255/256", "12345/67891"])
def test_a_coin_falls_with_probability_p(monkeypatch, p):
    results, unknown = over_all_bytes(monkeypatch, lambda: Stream().bernoulli(Fraction(p)), least=Fraction(1, 2**60))
    assert results.get(True, 0) <= Fraction(p) <= results.get(True, 0) + unknown
    assert unknown <= Fraction(1, 2**55)


@pytest.mark.parametrize("x", ["0", "1/1000", "1/3", "9/10", "1", "1001/1000", "7/2"])
def test_exp_of_minus_x(monkeypatch, x):
    """Bernoulli(exp(-x)) over all streams: the probability known and the rest enclose the true one."""
    draw = lambda: samplers.bernoulli_exp(Fraction(x), Stream())  # noqa: E731
    results, unknown = over_all_bytes(monkeypatch, draw, least=Fraction(1, 10**7))
    assert unknown < Fraction(1, 10**3)
    assert surely_contains(results.get(True, 0), unknown, math.exp(-Fraction(x)))


def test_exp_of_minus_x_byte_by_byte(monkeypatch):
    """The same without taking bytes together: all streams of two bytes, one after another."""
    x = Fraction(1, 3)
    known = Counter()
    for first in range(256):
        for second in range(256):
            replay(monkeypatch, bytes([first, second]))
            try:
                known[samplers.bernoulli_exp(x, Stream())] += 1
            except Exhausted:
                known["unknown"] += 1
    assert known[True] <= 65536 * math.exp(-x) <= known[True] + known["unknown"]
    assert known["unknown"] < 65536 * 0.06  # x/1 x/2 = 1/18 take a third byte, and so do equal digits


def laplace(scale):
    a = math.exp(-1 / scale)
    return {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-60, 61)}


def gaussian(sigma2):
    weights = {z: math.exp(-(z**2) / (2 * sigma2)) for z in range(-60, 61)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


def check(results, unknown, truth):
    assert unknown < Fraction(1, 10**6)
    for z, p in truth.items():
        assert surely_contains(results.get(z, 0), unknown, p)


@pytest.mark.parametrize("scale", ["1/10", "1/2", "1", "3", "7/3", "5/2", "20"])
def test_discrete_laplace(monkeypatch, scale):
    scale = Fraction(scale)
    check(*over_all_coins(monkeypatch, lambda: samplers.discrete_laplace(scale), Fraction(1, 10**12)), laplace(scale))


@pytest.mark.parametrize("sigma2", ["1/10", "1", "2", "7/3", "16"])
def test_discrete_gaussian(monkeypatch, sigma2):
    sigma2 = Fraction(sigma2)
    found = over_all_proposals(monkeypatch, lambda: samplers.discrete_gaussian(sigma2), laplace, Fraction(1, 10**40))
    check(*found, gaussian(sigma2))


def test_from_bytes_to_noise(monkeypatch):
    """All the way at once, though not so far."""
    results, unknown = over_all_bytes(monkeypatch, lambda: samplers.discrete_laplace(Fraction(1)), Fraction(1, 10**6))
    assert unknown < Fraction(1, 100)
    for z, p in laplace(Fraction(1)).items():
        assert surely_contains(results.get(z, 0), unknown, p)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10, 128, 200, 256])
def test_a_uniform_integer_is_uniform_over_all_bytes(monkeypatch, n):
    counts = Counter()
    for byte in range(256):
        stream = replay(monkeypatch, bytes([byte]))
        try:
            counts[Stream().below(n)] += 1
            assert stream.tell() == (n > 1)
        except Exhausted:
            counts["again"] += 1
    again = counts.pop("again", 0)
    assert set(counts) == set(range(n))
    assert len(set(counts.values())) == 1
    assert again < 128


def test_a_uniform_integer_of_several_bytes_reads_them_big_end_first(monkeypatch):
    replay(monkeypatch, bytes([0xFF, 0xF0, 0x12, 0x3F]))
    assert Stream().below(0xABC) == 0x123  # 12 bits; 0xfff is not below 0xabc
    replay(monkeypatch, bytes(range(1, 11)))
    assert Stream().below(2**80) == 0x0102030405060708090A


def test_a_stream_reads_what_is_left_before_fresh_bytes(monkeypatch):
    replay(monkeypatch, bytes([4, 5, 6]))
    stream = Stream(bytes([1, 2, 3]))
    assert (stream.take(2), stream.take(2), stream.left, stream.take(2)) == (b"\1\2", b"\3\4", b"", b"\5\6")


@pytest.mark.parametrize("scale", [Fraction(2**80, 3), Fraction(2**4000), Fraction(10**30, 10**30 + 1)])
def test_any_scale_is_drawn(scale):
    half = max(1, math.ceil(scale * Fraction(693147, 10**6)))  # the median of |Z| is ln 2 scales
    above = sum(abs(samplers.discrete_laplace(scale)) >= half for _ in range(200))
    assert 45 <= above <= 155  # 100 expected; seven standard deviations (for the scale just below 1, 107)


def test_any_sigma_is_drawn():
    above = sum(abs(samplers.discrete_gaussian(Fraction(2**160))) >= 0.67449 * 2**80 for _ in range(200))
    assert 50 <= above <= 150


@pytest.mark.parametrize("bad", [0, -1, Fraction(-1, 3)])
def test_parameters_are_above_0(bad):
    for draw in (samplers.discrete_laplace, lambda x: samplers.discrete_laplace_many(x, 3)):
        with refused("scale", Reason.TOO_SMALL, ValueError, given=str(bad)):
            draw(bad)
    for draw in (samplers.discrete_gaussian, lambda x: samplers.discrete_gaussian_many(x, 3)):
        with refused("sigma2", Reason.TOO_SMALL, ValueError, given=str(bad)):
            draw(bad)


def test_module_level_coin(monkeypatch):
    replay(monkeypatch, bytes([85, 84, 86, 127, 128]))  # 1/3 is 85 85 85 ... in base 256
    assert randomness.bernoulli(Fraction(1, 3)) is True
    assert randomness.bernoulli(Fraction(1, 3)) is False
    assert [randomness.bernoulli(Fraction(1, 2)) for _ in range(2)] == [True, False]
