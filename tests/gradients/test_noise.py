"""The rounded Gaussian: the kernel draws what the model draws, undecided draws go on, and it has the distribution."""

import math

import numpy as np
import pytest
import torch

from soundsum import native, randomness
from soundsum.gradients import normal, totals
from soundsum.gradients.clipped_sum import Sum
from soundsum.gradients.normal import Words, cdf, chacha_block, draw, kernel_table, rounded_normal

KEY = bytes(range(32))


def test_chacha_is_the_rfcs():
    block = chacha_block(KEY, 0x09000000 + (0x4A000000 << 32), 1)  # RFC 8439, 2.3.2
    assert (block[0], block[1], block[15]) == (0xE4E7F110, 0x15593BD1, 0x4E3C50A2)


def test_the_table_is_decided_and_goes_up():
    table = kernel_table()
    assert list(table) == sorted(table)
    weights = [math.exp(-k * k / 2) for k in range(40)]
    for i, entry in enumerate(table):
        assert math.isclose(entry / 2**64, sum(weights[: i + 1]) / sum(weights), rel_tol=1e-15)
        assert cdf(i, 160) >> 96 == entry


@pytest.mark.parametrize("sigma", [1, 3, 18_454_938, 1 << 40])
@pytest.mark.parametrize("first", [0, 5, (1 << 32) - 9])
def test_the_kernel_draws_what_the_model_draws(sigma, first):
    for threads in (1, 3):
        out = np.zeros(200, np.int64)
        left = native.add_rounded_normal(KEY, np.array(kernel_table(), np.uint64), sigma, first, out, threads)
        assert not left
        assert out.tolist() == [draw(KEY, first + j, sigma) for j in range(200)]


def test_draws_that_64_bits_do_not_round_go_on_in_exact_arithmetic():
    sigma = 1 << 55  # one draw in 512 is not decided
    out = np.zeros(6000, np.int64)
    left = native.add_rounded_normal(KEY, np.array(kernel_table(), np.uint64), sigma, 0, out, 2)
    assert 2 <= len(left) <= 40
    assert all(out[j] == 0 for j in left)
    total = torch.zeros(6000, dtype=torch.int64)
    totals.add_noise([total], sigma, KEY)
    for j in [*left, 0, 1, 2]:
        assert int(total[j]) == draw(KEY, j, sigma)


def test_a_u_that_equals_an_entry_of_the_table_is_left_to_the_model():
    words = chacha_block(KEY, 7, 0)
    table = [words[0] << 32 | words[1], *kernel_table()[1:]]
    out = np.zeros(16, np.int64)
    assert 7 in native.add_rounded_normal(KEY, np.array(table, np.uint64), 3, 0, out, 1)
    assert out[7] == 0


def recorded(*words):
    """A stream that begins with these words; what follows accepts everything (each z is the largest there is)."""
    given = [*words, *[0xFFFFFFFF] * 64]
    return Words(lambda counter: given[16 * counter : 16 * counter + 16])


def test_ties_between_u_and_the_table_are_decided_by_further_digits():
    limit = cdf(0, 96)
    high, middle, low = limit >> 64, limit >> 32 & 0xFFFFFFFF, limit & 0xFFFFFFFF
    # u's third digit is the first word after the two of u, the two of x and the sign
    below = recorded(high, middle, 0, 1 << 31, 0, low - 1)
    above = recorded(high, middle, 0, 1 << 31, 0, low + 1)
    assert rounded_normal(1000, below) == 0  # k = 0 and x = 2^-33
    assert rounded_normal(1000, above) == 1000  # k = 1


def test_ties_between_digits_are_decided_by_further_ones():
    x = (5, 9)  # k = 0; the first z is 5 too, and its second digit decides
    assert normal._accepts(recorded(5, 10), 0, fixed(x)) is True  # z > x: the run has length 0, even
    # z = (5, 8) < x; the cell 0 of 2 leads to r < x, with r = (5, 8) too: the run has length 1, and the next z stops it
    assert normal._accepts(recorded(5, 8, 0, 5, 8), 0, fixed(x)) is False
    assert normal._accepts(recorded(5, 8, 0, 5, 10), 0, fixed(x)) is True  # r > x


def fixed(digits):
    number = normal.Uniform.__new__(normal.Uniform)
    number.words, number.digits = recorded(), list(digits)
    return number


def test_rounding_ties_are_decided_by_further_digits():
    half = fixed((1 << 31, 0))
    half.words = recorded(0, 0, 1)
    assert normal._round(1, half) == 1  # 1/2 and a little
    just_below = fixed(((1 << 31) - 1, 0xFFFFFFFF))
    just_below.words = recorded(0)
    assert normal._round(1, just_below) == 0


@pytest.mark.parametrize("sigma", [1, 3])
def test_the_distribution_by_chi_square(sigma, same_draws):
    n = 2_000_000
    total = torch.zeros(n, dtype=torch.int64)
    totals.add_noise([total], sigma, normal.fresh_key())
    last = 4 * sigma
    cells, chi = range(-last, last + 1), 0.0
    for v in cells:
        p = (math.erfc((v - 0.5) / sigma / math.sqrt(2)) - math.erfc((v + 0.5) / sigma / math.sqrt(2))) / 2
        chi += (int((total == v).sum()) - n * p) ** 2 / (n * p)
    df = len(cells)
    assert chi < df + 7 * math.sqrt(2 * df)  # fails once in a million, or where it is wrong


def test_each_release_has_a_key_of_its_own_and_the_noise_is_the_keys(monkeypatch):
    asked = []

    def recorded_bytes(count):
        asked.append(count)
        return bytes([len(asked)] * count)

    monkeypatch.setattr(randomness, "random_bytes", recorded_bytes)
    released = []
    for _ in range(2):
        s = Sum(1.0, 1.0)
        s.add([torch.zeros(1, 50)])
        released.append(s.release().integers[0].tolist())
    assert asked.count(32) == 2
    keys = [bytes([i + 1] * 32) for i, count in enumerate(asked) if count == 32]
    assert released == [[draw(key, j, 1 << 24) for j in range(50)] for key in keys]


def test_coordinates_are_numbered_through_all_tensors(monkeypatch):
    monkeypatch.setattr(randomness, "random_bytes", lambda count: bytes(count))
    whole, parts = Sum(1.0, 1.0), Sum(1.0, 1.0)
    whole.add([torch.zeros(0, 60)])
    parts.add([torch.zeros(0, 10), torch.zeros(0, 5, 10)])
    together = torch.cat([x.flatten() for x in parts.release().integers])
    assert torch.equal(whole.release().integers[0], together)
