"""All randomness there is: bytes from the operating system, through one function.

Nothing in soundsum can be seeded. A test that needs a recorded stream replaces `random_bytes`.
"""

from __future__ import annotations

import math
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


def bernoulli(p: Fraction) -> bool:
    """True with probability exactly p: a uniform number is drawn, 64 bits at a time, until it differs from p."""
    while True:
        p *= 1 << 64
        digits = math.floor(p)
        drawn = int.from_bytes(random_bytes(8))
        if drawn != digits:
            return drawn < digits
        p -= digits
        if not p:
            return False


def below(n: int) -> int:
    """A uniform integer from 0 to n - 1: enough bits for n, drawn again while they reach n."""
    bits = (n - 1).bit_length()
    while True:
        drawn = int.from_bytes(random_bytes((bits + 7) // 8)) >> (-bits % 8)
        if drawn < n:
            return drawn
