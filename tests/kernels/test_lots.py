"""Lots: SHA-256 by the processor's instructions and in plain code, and how the numbers in it are spelled."""

import hashlib
import random

import numpy as np
import pytest

from soundsum import native

MESSAGES = [random.Random(size).randbytes(size) for size in range(260)]


@pytest.mark.parametrize("plain", [False, True], ids=["as it comes", "in plain code"])
def test_the_start_is_that_of_sha256(plain):
    for message in [*MESSAGES, b"abc", bytes(64), b"\xff" * 1000]:
        expected = int.from_bytes(hashlib.sha256(message).digest()[:8])
        assert native.start_of_sha256(message, plain) == expected, message


@pytest.mark.parametrize("worth", [1, 1000, 2**32 - 1])
def test_integers_of_every_length_are_spelled_in_decimals(worth):
    near = {sign * (10**k + step) for k in range(19) for step in (-1, 0, 1) for sign in (1, -1)}
    words = np.array(sorted({0, 2**63 - 1, -(2**63), *near}), np.int64)
    out = np.empty(len(words), np.uint64)
    native.draw_shards(native.PersonIds.integers(worth), words.view(np.uint64), 2**64 - 1, out, 1)
    expected = [hashlib.sha256(str(int(word) * worth).encode()).digest()[:8] for word in words]
    assert out.tolist() == [int.from_bytes(own) % (2**64 - 1) for own in expected]
