"""All randomness there is: bytes from the operating system, through one function.

Nothing in soundsum can be seeded. A test that needs a recorded stream replaces `random_bytes`.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def random_bytes(count: int) -> bytes:
    """Bytes from the operating system's generator."""
    return os.urandom(count)


def random_words(count: int) -> NDArray[np.uint64]:
    """Independent uniform 64-bit integers."""
    return np.frombuffer(random_bytes(8 * count), dtype=np.uint64)


def random_permutation(n: int) -> NDArray[np.int64]:
    """A uniform permutation of n: the order of n random words, all drawn again in the rare case that two are equal.

    Given that the words differ, every order of them is equally likely, so the permutation is exactly uniform.
    """
    while True:
        words = random_words(n)
        order = np.argsort(words, kind="stable")
        ordered = words[order]
        if not np.any(ordered[1:] == ordered[:-1]):
            return order


class Stream:
    """Random bytes: first those that a draw was given and could not finish with, then fresh ones."""

    def __init__(self, left: bytes = b"") -> None:
        self.left = left

    def take(self, count: int) -> bytes:
        if not self.left:
            return random_bytes(count)
        taken, self.left = self.left[:count], self.left[count:]
        return taken + random_bytes(count - len(taken)) if len(taken) < count else taken

    def bernoulli(self, p: Fraction) -> bool:
        """True with probability exactly p: random digits in base 256 are drawn until one differs from that of p."""
        n, d = p.numerator, p.denominator
        while 0 < n < d:
            digit, n = divmod(256 * n, d)
            drawn = self.take(1)[0]
            if drawn != digit:
                return drawn < digit
        return n > 0

    def below(self, n: int) -> int:
        """A uniform integer from 0 to n - 1: enough bits for n, drawn again while they reach n."""
        bits = (n - 1).bit_length()
        while True:
            drawn = int.from_bytes(self.take((bits + 7) // 8)) >> (-bits % 8)
            if drawn < n:
                return drawn


def bernoulli(p: Fraction) -> bool:
    """True with probability exactly p."""
    return Stream().bernoulli(p)
