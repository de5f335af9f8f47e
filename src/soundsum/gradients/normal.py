"""The rounded Gaussian, exactly: round(sigma G), G standard normal, by Karney's algorithm N (ACM TOMS 42:1, 2016).

Every coordinate has a stream of 32-bit words of its own: ChaCha20 (RFC 8439) under the release's key, with the
coordinate's number as the nonce. An attempt starts at a new block, and reads two words of u, which choose k with
probability proportional to exp(-k^2/2), two of x, uniform in [0, 1), and the sign; the rest decides whether k + x is
accepted. All numbers are uniform with digits in base 2^32 that are drawn when a comparison asks for them: here as many
as it takes, in the kernels one or two. Draws that the kernels leave undecided are made here, from the same stream.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from soundsum import randomness

WORD = 1 << 32
CELLS = 12
"""The kernels know P(k <= i) for i below this, in 64 bits; beyond it is less likely than 2^-103."""


def fresh_key() -> bytes:
    """256 bits from the operating system, for one release."""
    return randomness.random_bytes(32)


def chacha_block(key: bytes, coordinate: int, counter: int) -> list[int]:
    """Block `counter` of a coordinate's stream: 16 words."""
    words = [int.from_bytes(key[i : i + 4], "little") for i in range(0, 32, 4)]
    constants = [int.from_bytes(b"expand 32-byte k"[i : i + 4], "little") for i in range(0, 16, 4)]
    start = [*constants, *words, counter, coordinate % WORD, coordinate // WORD, 0]
    x = list(start)

    def quarter(a: int, b: int, c: int, d: int) -> None:
        for p, q, s, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) % WORD
            turned = x[s] ^ x[p]
            x[s] = (turned << by | turned >> (32 - by)) % WORD

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return [(a + b) % WORD for a, b in zip(x, start, strict=True)]


class Words:
    """A coordinate's words, one after another; `block(counter)` gives them 16 at a time."""

    def __init__(self, block: Callable[[int], Sequence[int]]) -> None:
        self.block = block
        self.counter = -1
        self.start_over()

    def start_over(self) -> None:
        """Begins a new block; the next attempt does not use the rest of this one."""
        self.counter += 1
        self.left = list(self.block(self.counter))

    def next(self) -> int:
        if not self.left:
            self.start_over()
        return self.left.pop(0)

    def below(self, n: int) -> int:
        """A uniform integer below n: words that would favour the small ones are drawn again."""
        while True:
            word = self.next()
            if word < WORD // n * n:
                return word % n


class Uniform:
    """A uniform number in [0, 1) whose digits are drawn on demand."""

    def __init__(self, words: Words, digits: int = 1) -> None:
        self.words = words
        self.digits = [words.next() for _ in range(digits)]

    def digit(self, i: int) -> int:
        while len(self.digits) <= i:
            self.digits.append(self.words.next())
        return self.digits[i]

    def __lt__(self, other: Uniform) -> bool:
        i = 0
        while self.digit(i) == other.digit(i):
            i += 1
        return self.digit(i) < other.digit(i)

    def prefix(self, count: int) -> int:
        """floor(2^(32 count) times the number)."""
        self.digit(count - 1)
        return sum(self.digits[i] << 32 * (count - 1 - i) for i in range(count))


def rounded_normal(sigma: int, words: Words) -> int:
    """One draw of round(sigma G)."""
    while True:
        u, x, negative = Uniform(words, 2), Uniform(words, 2), words.next() & 1
        k = _choose(u)
        if all(_accepts(words, k, x) for _ in range(k + 1)):
            magnitude = sigma * k + _round(sigma, x)
            return -magnitude if negative else magnitude
        words.start_over()


def draw(key: bytes, coordinate: int, sigma: int) -> int:
    """The noise of one coordinate under a release's key."""
    return rounded_normal(sigma, Words(lambda counter: chacha_block(key, coordinate, counter)))


def _choose(u: Uniform) -> int:
    """The k with P(index < k) <= u < P(index <= k)."""
    k = 0
    while not _below_cdf(u, k):
        k += 1
    return k


def _below_cdf(u: Uniform, k: int) -> bool:
    digits = 2
    while (prefix := u.prefix(digits)) == (limit := cdf(k, 32 * digits)):
        digits += 1
    return prefix < limit


def _accepts(words: Words, k: int, x: Uniform) -> bool:
    """True with probability exp(-x (2k + x) / (2k + 2)).

    The run y = x, z1, z2, ... goes on while it falls and a uniform number is below (2k + x) / (2k + 2): one of 2k + 2
    equal cells, all below it for the first 2k, decided within the next one, and above it in the last.
    """
    y, even = x, True
    while (z := Uniform(words)) < y:
        cell = words.below(2 * k + 2)
        if cell == 2 * k + 1 or (cell == 2 * k and not Uniform(words) < x):
            break
        y, even = z, not even
    return even


def _round(sigma: int, x: Uniform) -> int:
    """The integer nearest to sigma x; draws digits of x until it is decided."""
    digits = 2
    while True:
        prefix, one = x.prefix(digits), 1 << 32 * digits
        low, high = (2 * sigma * prefix + one) // (2 * one), -(-(2 * sigma * (prefix + 1) + one) // (2 * one)) - 1
        if low == high:
            return low
        digits += 1


@lru_cache(maxsize=256)
def cdf(i: int, bits: int) -> int:
    """floor(2^bits P(k <= i)) where P(k) is proportional to exp(-k^2/2), decided by bounds in integers.

    >>> [round(cdf(i, 64) / 2**64, 4) for i in range(4)]
    [0.5703, 0.9163, 0.9935, 0.9998]
    """
    extra = 64
    while True:
        low, high = _cdf_bounds(i, bits, bits + extra)
        if low == high:
            return low
        extra *= 2


@lru_cache(maxsize=1)
def kernel_table() -> tuple[int, ...]:
    """The table that the kernels compare 64 bits of u with."""
    return tuple(cdf(i, 64) for i in range(CELLS))


def _cdf_bounds(i: int, bits: int, places: int) -> tuple[int, int]:
    """floor(2^bits A / (A + B)) from below and above; A are the weights up to i and B the others.

    Those after the last one that is counted add up to less than it.
    """
    last = max(i, math.isqrt(2 * places)) + 2
    lows, highs = _weights(last, places)
    a_low, a_high = sum(lows[: i + 1]), sum(highs[: i + 1])
    b_low, b_high = sum(lows[i + 1 :]), sum(highs[i + 1 :]) + highs[-1]
    return (a_low << bits) // (a_low + b_high), (a_high << bits) // (a_high + b_low)


@lru_cache(maxsize=16)
def _weights(last: int, places: int) -> tuple[list[int], list[int]]:
    """exp(-k^2/2) for k up to the last, in units of 2^-places, rounded down and up."""
    low, high = _root_bounds(places)
    squares = [k * k for k in range(last + 1)]
    downward = [(low**n << places) >> n * places for n in squares]
    return downward, [-((-(high**n) << places) >> n * places) for n in squares]


def _root_bounds(places: int) -> tuple[int, int]:
    """exp(-1/2) in units of 2^-places: the partial sums of its series are above and below it in turn."""
    one = 1 << places
    total, term, n = Fraction(0), Fraction(1), 0
    while term * one > 1 or n % 2:
        total += term if n % 2 == 0 else -term
        n += 1
        term /= 2 * n
    return math.floor(total * one), math.ceil((total + term) * one)
