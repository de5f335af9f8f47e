"""The kernel draws what the reference draws: the same bytes give the same numbers, wherever chunks of bytes end."""

import random
from fractions import Fraction

import numpy as np
import pytest

from soundsum import native, randomness
from soundsum.kernels import as_integers
from soundsum.privacy import samplers
from soundsum.randomness import Stream
from soundsum.refusals import Reason
from tests.refusing import refused

from .streams import awkward, replay

LAPLACE = [
    Fraction(1, 10),
    Fraction(1),
    Fraction(5, 2),
    Fraction(7, 3),
    Fraction(256),
    Fraction(1000),
    Fraction(2**47, 2**40 + 1),
    Fraction(2**48 - 1),  # the last of one word
    Fraction(2**48),
    1 / Fraction(0.1),  # a float epsilon: 2^55 over a number of 52 bits
    Fraction(2**49 + 1),
    Fraction(2**60, 3),
    Fraction(2**51) / Fraction(0.001),
    Fraction(2**112 - 1, 5),  # the last of two words
    Fraction(2**112),
    Fraction(2**300 + 1, 2**64 - 1),
    Fraction(2**500),  # beyond the kernel
    Fraction(1, 2**64),
]
GAUSSIAN = [
    Fraction(1, 10),
    Fraction(1, 10**6),
    Fraction(1, 2**32 + 1),  # (q - p)^2 is 2^64
    Fraction(1),
    Fraction(2),
    Fraction(7, 3),
    Fraction(100),
    Fraction(15 * 10**6),  # 2^16 (2 p q t^2) takes two words, where (2^8 q t^2 + p)^2 takes one
    Fraction(10**9),
    1 / Fraction(0.1),
    Fraction(2**60 + 1),
    Fraction(2**102),
    Fraction(2**102) / Fraction(0.1),
    Fraction(2**230 + 1, 3),
    Fraction(2**600),  # beyond the kernel
]
CASES = [("laplace", x) for x in LAPLACE] + [("gaussian", x) for x in GAUSSIAN]
KERNELS = [case for case in CASES if Fraction(1, 2**63) < case[1] < 2**400]
BYTES = np.random.default_rng(4).bytes(1 << 20)


def one(kind, parameter):
    return (samplers.discrete_laplace if kind == "laplace" else samplers.discrete_gaussian)(parameter)


def many(kind, parameter, count):
    return (samplers.discrete_laplace_many if kind == "laplace" else samplers.discrete_gaussian_many)(parameter, count)


@pytest.mark.parametrize("kind, parameter", CASES)
def test_the_same_bytes_give_the_same_numbers_however_chunked(monkeypatch, kind, parameter):
    replay(monkeypatch, BYTES)
    expected = [one(kind, parameter) for _ in range(200)]
    for chunk in (1, 7, 100, 1 << 16):
        monkeypatch.setattr(samplers, "CHUNK", chunk)
        replay(monkeypatch, BYTES)
        assert list(many(kind, parameter, 200)) == expected


def given(kind, parameter):
    """The parameters that the module hands to the kernel."""
    calls = []
    with pytest.MonkeyPatch.context() as patch:

        def spy(*arguments):
            calls.append(arguments[:-2])
            return len(arguments[-1]), 0

        patch.setattr(native, f"discrete_{kind}", spy)
        patch.setattr(randomness, "random_bytes", bytes)
        many(kind, parameter, 1)
    assert calls, f"{parameter} is not the kernel's"
    return calls[0]


@pytest.mark.parametrize(
    "sigma2, t", [(Fraction(1, 2**24), 1), (Fraction(2**22 + 1, 2**22), 2), (4 + Fraction(1, 1_900_000), 3)]
)
def test_the_kernel_has_words_for_the_largest_number_it_can_meet(sigma2, t):
    """Noise of scale t, which it counts to 256 t, is held to (|y| q t - p)^2; here that just needs a second word."""
    p, q = sigma2.numerator, sigma2.denominator
    assert 2**64 <= (256 * t * q * t + p) ** 2 < 2**66
    assert given("gaussian", sigma2)[0].shape[1] == 2


def kernel(kind, parameter, data, count=1):
    """Samples that the kernel draws from these bytes on its own, and the bytes they took."""
    parameters = given(kind, parameter)
    out = np.zeros((count, parameters[0].shape[1]), np.uint64)
    drawn, used = getattr(native, f"discrete_{kind}")(*parameters, data, out)
    return as_integers(out[:drawn]), used


@pytest.mark.parametrize("ties", [0.02, 0.3])
@pytest.mark.parametrize("kind, parameter", KERNELS)
def test_the_kernel_follows_the_reference_through_equal_digits(monkeypatch, kind, parameter, ties):
    """And it takes the same bytes: all of them, and of one fewer it makes nothing."""
    seeded = random.Random(f"{kind} {parameter} {ties}")
    for _ in range(30):
        data, value = awkward(monkeypatch, lambda: one(kind, parameter), seeded, ties)
        if len(data) > 3000:
            continue
        assert kernel(kind, parameter, data + b"\0") == ([value], len(data))
        for less in {0, len(data) // 2, len(data) - 1}:
            assert kernel(kind, parameter, data[:less]) == ([], 0)


@pytest.mark.parametrize("kind, parameter", KERNELS)
def test_the_kernel_follows_the_reference_through_long_luck(monkeypatch, kind, parameter):
    """Bytes of 0 let every Bernoulli(x / k) succeed, so that k comes near 255 or, beyond it, the kernel gives up."""
    seeded, followed = random.Random(f"{kind} {parameter}"), 0
    for begin in range(4, 14):
        data, value = awkward(monkeypatch, lambda: one(kind, parameter), seeded, 0, luck=range(begin, 500))
        drawn = kernel(kind, parameter, data)
        followed += drawn == ([value], len(data))
        assert drawn in (([value], len(data)), ([], 0))
    assert followed


@pytest.mark.parametrize("kind, parameter", KERNELS)
def test_the_kernel_is_given_as_many_words_as_it_may_need(kind, parameter):
    """Its loops count to 255, so these are the largest integers it can come to (samplers.hpp)."""
    words = given(kind, parameter)[0]
    numbers = as_integers(words)
    if kind == "laplace":
        (t,) = numbers
        largest = 2**16 * t
    else:
        t, qt, p, denominator = numbers
        largest = max(2**16 * denominator, (2**8 * qt * t + p) ** 2)
        assert Fraction(p * t, qt) == parameter
        assert denominator == 2 * p * qt * t
    assert largest < 2 ** (64 * words.shape[1])


@pytest.mark.parametrize("k", [2, 3, 254, 255, 256, 257, 300])
def test_the_kernel_counts_to_255(monkeypatch, k):
    """The first Bernoulli(exp(-1)) of a Laplace of scale 1 fails at this k; from 256 on the kernel leaves it."""
    data = bytes(k - 2) + (b"\xff" if k % 2 == 0 else b"\xff" + FAILURE) + POSITIVE
    stream = replay(monkeypatch, data)
    assert samplers.discrete_laplace(Fraction(1)) == k % 2
    assert stream.tell() == len(data)
    assert kernel("laplace", Fraction(1), data) == (([k % 2], len(data)) if k < 256 else ([], 0))
    replay(monkeypatch, data + BYTES)
    assert samplers.discrete_laplace_many(Fraction(1), 100)[0] == k % 2


def test_the_kernel_says_what_it_used(monkeypatch):
    stream = replay(monkeypatch, BYTES)
    expected = [one("laplace", Fraction(1000)) for _ in range(50)]
    taken = stream.tell()
    assert kernel("laplace", Fraction(1000), BYTES, 50) == (expected, taken)
    samples, used = kernel("laplace", Fraction(1000), BYTES[: taken - 1], 50)
    assert samples == expected[:49]
    replay(monkeypatch, BYTES[used:])
    assert one("laplace", Fraction(1000)) == expected[49]


SUCCESS, FAILURE = bytes([0, 255]), bytes([255])  # of Bernoulli(exp(-1)): fails at k = 3, at k = 2
NEGATIVE, POSITIVE = bytes([0]), bytes([255])


@pytest.mark.parametrize("trials", [254, 255, 256, 1000])
@pytest.mark.parametrize("sign", [NEGATIVE, POSITIVE])
def test_far_out_in_the_tail(monkeypatch, trials, sign):
    """The kernel counts to 255 only; beyond, the reference goes on from the same bytes."""
    t = 2**40 + 1
    stretch = bytes(6) + SUCCESS * trials + FAILURE + sign  # u = 0
    replay(monkeypatch, stretch + BYTES)
    samples = samplers.discrete_laplace_many(Fraction(t), 200)  # enough for more bytes than the stretch at once
    assert samples[0] == (-1 if sign == NEGATIVE else 1) * trials * t
    replay(monkeypatch, BYTES)
    assert list(samples[1:]) == [samplers.discrete_laplace(Fraction(t)) for _ in range(199)]


@pytest.mark.parametrize("trials", [2**14 - 1, 2**14, 2**15 - 1, 2**15])
@pytest.mark.parametrize("sign", [NEGATIVE, POSITIVE])
def test_numbers_beyond_64_bits_are_kept(monkeypatch, trials, sign):
    """With scale 2^49, which gives arrays: above 2^63 the result becomes a list, and no number is cut off."""
    scale = Fraction(2**49)
    stretch = bytes(7) + SUCCESS * trials + FAILURE + sign
    replay(monkeypatch, BYTES[:80] + stretch + BYTES)
    before = samplers.discrete_laplace_many(scale, 2)
    stream = replay(monkeypatch, BYTES)
    assert [samplers.discrete_laplace(scale) for _ in range(2)] == before.tolist()
    start = stream.tell()
    replay(monkeypatch, BYTES[:start] + stretch + BYTES)
    samples = samplers.discrete_laplace_many(scale, 4)
    assert list(samples[:2]) == before.tolist()
    assert samples[2] == (-1 if sign == NEGATIVE else 1) * trials * 2**49
    assert isinstance(samples, list) == (trials > 2**14 or (trials == 2**14 and sign == POSITIVE))
    assert len(samples) == 4


@pytest.mark.parametrize("trials", [1, 200, 1000])
def test_negative_multiples_of_2_to_the_64(monkeypatch, trials):
    """Where the last word is 0, the borrow of a minus sign goes on."""
    scale = Fraction(2**70)
    stretch = bytes(9) + SUCCESS * trials + FAILURE
    replay(monkeypatch, stretch + NEGATIVE + stretch + POSITIVE + bytes(1000))
    assert samplers.discrete_laplace_many(scale, 2) == [-trials * 2**70, trials * 2**70]


@pytest.mark.parametrize("t, trials", [(2**61, 3), (2**61, 4), (2**62, 3), (2**63, 1), (2**64, 1), (2**70, 1)])
def test_the_kernel_does_not_cut_off(t, trials):
    """Asked for one word, it leaves a number that needs more to the reference."""
    out = np.zeros((1, 1), np.uint64)
    data = bytes(((t - 1).bit_length() + 7) // 8) + SUCCESS * trials + FAILURE + NEGATIVE
    drawn, used = native.discrete_laplace(samplers._words([t], 2), 1, data, out)
    assert (drawn, used) == ((1, len(data)) if t * trials < 2**63 else (0, 0))
    assert drawn == 0 or as_integers(out) == [-t * trials]


@pytest.mark.parametrize("words", [1, 2, 8])
def test_words_and_integers(words):
    """Both ways, around every power of two."""
    ends = [1 << bit for bit in range(64 * words - 1)]
    integers = [sign * end + step for end in ends for sign in (1, -1) for step in (-1, 0, 1)]
    assert as_integers(samplers._words(integers, words)) == integers
    with pytest.raises(OverflowError):
        samplers._words([2 ** (64 * words - 1)], words)


def test_arrays_and_lists():
    """int64 below a scale of 2^50, whatever is drawn; Python's integers from there on."""
    assert samplers.discrete_laplace_many(Fraction(2**50) - Fraction(1, 3), 5).dtype == np.int64
    assert samplers.discrete_gaussian_many(Fraction(2**99), 5).dtype == np.int64
    for samples in (
        samplers.discrete_laplace_many(Fraction(2**50), 5),
        samplers.discrete_gaussian_many(Fraction(2**101), 5),
        samplers.discrete_gaussian_many(Fraction((2**50 - 1) ** 2), 5),
    ):
        assert [type(z) for z in samples] == [int] * 5
    assert len(samplers.discrete_laplace_many(Fraction(1), 0)) == 0
    assert samplers.discrete_laplace_many(Fraction(2**500), 0) == []
    for many_of in (samplers.discrete_laplace_many, samplers.discrete_gaussian_many):
        for parameter in (Fraction(1), Fraction(2**600)):
            with refused("count", Reason.TOO_SMALL, ValueError, given="-1"):
                many_of(parameter, -1)


def test_the_kernel_refuses_what_it_was_not_made_for():
    words, out = np.ones((1, 1), np.uint64), np.zeros((3, 1), np.uint64)
    with pytest.raises(ValueError, match="above 0"):
        native.discrete_laplace(words, 0, b"", out)
    with pytest.raises(ValueError, match="above 0"):
        native.discrete_laplace(0 * words, 1, b"", out)
    with pytest.raises(ValueError, match="number of parameters"):
        native.discrete_gaussian(words, b"", out)
    with pytest.raises(ValueError, match="1, 2 or 8 words"):
        native.discrete_laplace(np.ones((1, 3), np.uint64), 1, b"", out)
    with pytest.raises(ValueError, match="samples have 1 word"):
        native.discrete_laplace(words, 1, b"", np.zeros((3, 2), np.uint64))
    assert native.discrete_laplace(words, 1, b"", out) == (0, 0)


def test_the_reference_finishes_from_the_bytes_the_kernel_had(monkeypatch):
    """Where a chunk ends inside a sample, its bytes are read again, not thrown away: that would shorten the tails."""
    left = []
    begin = Stream.__init__

    def watched(stream, data=b""):
        left.append(data)
        begin(stream, data)

    monkeypatch.setattr(samplers, "CHUNK", 40)
    monkeypatch.setattr(Stream, "__init__", watched)
    samplers.discrete_laplace_many(Fraction(1000), 100)
    assert any(left)


@pytest.mark.parametrize("bits", [1, 20, 48, 51, 62])
def test_many_of_any_scale_are_drawn_at_once(bits):
    assert len(samplers.discrete_laplace_many(Fraction(2**bits), 100)) == 100
    assert len(samplers.discrete_gaussian_many(Fraction(2 ** (2 * bits)), 100)) == 100
