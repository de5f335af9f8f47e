"""Exact noise: discrete Laplace and discrete Gaussian by integer arithmetic alone (Canonne, Kamath and Steinke 2020).

P(Z = z) is proportional to exp(-|z| / scale), or to exp(-z^2 / (2 sigma2)). Every step draws whole random bytes from
the operating system; no float, logarithm or exponential is computed anywhere, so the distribution is exactly the one
the proof is about. The samplers that draw many read the same bytes in the same order as those that draw one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import count as count_from
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum import native, randomness
from soundsum.kernels import as_integers
from soundsum.numbers.quoting import quote
from soundsum.randomness import Stream
from soundsum.refusals import Reason, RefusedValue

Integers: TypeAlias = NDArray[np.int64] | list[int]
"""Noise for many: an array, or a list where the scale is 2^50 or more and int64 could not hold every value."""

CHUNK = 1 << 20
"""Random bytes asked for at a time, at most."""

SPARE = 80
"""Bytes beyond what samples take on average: a single one then seldom needs the slow reference to finish it."""


def discrete_laplace(scale: Fraction) -> int:
    """One draw of discrete Laplace noise with any positive rational scale."""
    return _laplace(_above_zero("scale", scale), Stream())


def discrete_gaussian(sigma2: Fraction) -> int:
    """One draw of discrete Gaussian noise with any positive rational sigma^2, which the variance is at most."""
    return _gaussian(_above_zero("sigma2", sigma2), Stream())


def discrete_laplace_many(scale: Fraction, count: int) -> Integers:
    """Independent draws of discrete Laplace noise.

    >>> discrete_laplace_many(Fraction(1, 1000), 3)
    array([0, 0, 0])
    """
    scale = _above_zero("scale", scale)
    t, s = scale.numerator, scale.denominator
    limbs = _limbs(t << 16)
    if limbs is None or s >= 1 << 64:
        return [_laplace(scale, Stream()) for _ in range(_count(count))]
    parameters = _words([t], limbs)
    words = 1 if scale < 1 << 50 else limbs
    return _many(
        lambda data, out: native.discrete_laplace(parameters, s, data, out),
        lambda stream: _laplace(scale, stream),
        np.empty((_count(count), words), np.uint64),
        guess=8 + 2 * (t.bit_length() // 8),
    )


def discrete_gaussian_many(sigma2: Fraction, count: int) -> Integers:
    """Independent draws of discrete Gaussian noise."""
    sigma2 = _above_zero("sigma2", sigma2)
    p, q, t = sigma2.numerator, sigma2.denominator, math.isqrt(math.floor(sigma2)) + 1
    limbs = _limbs(max(p * q * t**2 << 17, ((q * t**2 << 8) + p) ** 2))
    if limbs is None:
        return [_gaussian(sigma2, Stream()) for _ in range(_count(count))]
    parameters = _words([t, q * t, p, 2 * p * q * t**2], limbs)
    words = 1 if t < 1 << 50 else limbs
    return _many(
        lambda data, out: native.discrete_gaussian(parameters, data, out),
        lambda stream: _gaussian(sigma2, stream),
        np.empty((_count(count), words), np.uint64),
        guess=16 + 3 * (t.bit_length() // 8),
    )


def listed(drawn: Integers) -> list[int]:
    """Draws as integers of Python's own."""
    return drawn.tolist() if isinstance(drawn, np.ndarray) else drawn


# The reference, as in the paper


def bernoulli_exp(x: Fraction, stream: Stream) -> bool:
    """True with probability exactly exp(-x), for x >= 0."""
    for _ in range(math.floor(x)):
        if not _bernoulli_exp_at_most_one(Fraction(1), stream):
            return False
    return _bernoulli_exp_at_most_one(x - math.floor(x), stream)


def _bernoulli_exp_at_most_one(x: Fraction, stream: Stream) -> bool:
    """The first k at which Bernoulli(x / k) fails is odd with probability 1 - x + x^2/2 - ... = exp(-x)."""
    return next(k for k in count_from(1) if not stream.bernoulli(x / k)) % 2 == 1


def _laplace(scale: Fraction, stream: Stream) -> int:
    """u + t v is geometric with ratio exp(-1/t), so its quotient by s is with ratio exp(-s/t); then a sign for it."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = stream.below(t)
        if not bernoulli_exp(Fraction(u, t), stream):
            continue
        v = next(k for k in count_from() if not bernoulli_exp(Fraction(1), stream))
        magnitude = (u + t * v) // s
        negative = stream.bernoulli(Fraction(1, 2))
        if magnitude or not negative:  # one zero, not two
            return -magnitude if negative else magnitude


def _gaussian(sigma2: Fraction, stream: Stream) -> int:
    """exp(-|y|/t) exp(-(|y| - sigma^2/t)^2 / (2 sigma^2)) is exp(-y^2 / (2 sigma^2)) times a constant, for any t."""
    t = math.isqrt(math.floor(sigma2)) + 1
    while True:
        y = _laplace(Fraction(t), stream)
        if bernoulli_exp((abs(y) - sigma2 / t) ** 2 / (2 * sigma2), stream):
            return y


# Many at a time


def _many(
    kernel: Callable[[bytes, NDArray[np.uint64]], tuple[int, int]],
    reference: Callable[[Stream], int],
    out: NDArray[np.uint64],
    guess: int,
) -> Integers:
    """Fills the rows of `out`: the kernel draws what a chunk of bytes is enough for, then the reference draws one.

    That one goes on from the bytes the kernel could not finish with. They are not thrown away, because which samples
    need many bytes depends on their values; and so the samples are a function of the bytes alone, however chunked.
    """
    done, left = 0, b""
    while done < len(out):
        data = left or randomness.random_bytes(min(CHUNK, guess * (len(out) - done) + SPARE))
        drawn, used = kernel(data, out[done:])
        done += drawn
        if done == len(out):
            break
        stream = Stream(data[used:])
        value = reference(stream)
        left = stream.left
        try:
            out[done] = _words([value], out.shape[1])
        except OverflowError:  # with probability below exp(-8192), but it may not be cut off
            return [*as_integers(out[:done]), value, *(reference(stream) for _ in range(len(out) - done - 1))]
        done += 1
    return out.view(np.int64).reshape(-1) if out.shape[1] == 1 else as_integers(out)


def _limbs(largest: int) -> int | None:
    """The 64-bit words that the kernel needs for integers up to this; None where it has fewer."""
    return next((limbs for limbs in (1, 2, 8) if largest.bit_length() <= 64 * limbs), None)


def _words(integers: list[int], limbs: int) -> NDArray[np.uint64]:
    data = b"".join(x.to_bytes(8 * limbs, "little", signed=True) for x in integers)
    return np.frombuffer(data, dtype="<u8").reshape(-1, limbs)


def _above_zero(name: str, parameter: Fraction) -> Fraction:
    if parameter <= 0:
        raise RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is not above 0",
            "give a noise parameter above 0",
            given=quote(parameter),
        )
    return Fraction(parameter)


def _count(count: int) -> int:
    if count < 0:
        raise RefusedValue(
            "count",
            Reason.TOO_SMALL,
            "`count={given}` is below 0",
            "give how many draws are wanted, 0 or more",
            given=quote(count),
        )
    return count
