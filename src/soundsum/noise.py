"""Exact noise: the discrete Laplace distribution by integer arithmetic alone (Canonne, Kamath and Steinke 2020).

P(Z = z) is proportional to exp(-|z| / scale). Every step draws whole random bits from the operating system; no float,
logarithm or exponential is computed anywhere, so the distribution is exactly the one the proof is about.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import count

from soundsum.randomness import below, bernoulli


def bernoulli_exp(x: Fraction) -> bool:
    """True with probability exactly exp(-x), for x >= 0."""
    for _ in range(math.floor(x)):
        if not _bernoulli_exp_at_most_one(Fraction(1)):
            return False
    return _bernoulli_exp_at_most_one(x - math.floor(x))


def _bernoulli_exp_at_most_one(x: Fraction) -> bool:
    """The first k at which Bernoulli(x / k) fails is odd with probability 1 - x + x^2/2 - ... = exp(-x)."""
    return next(k for k in count(1) if not bernoulli(x / k)) % 2 == 1


def discrete_laplace(scale: Fraction) -> int:
    """One draw of discrete Laplace noise with any positive rational scale."""
    if scale <= 0:
        raise ValueError(f"scale={scale}: a noise scale is above 0")
    t, s = scale.numerator, scale.denominator
    while True:
        u = below(t)
        if not bernoulli_exp(Fraction(u, t)):
            continue
        v = next(k for k in count() if not bernoulli_exp(Fraction(1)))
        magnitude = (u + t * v) // s
        negative = bernoulli(Fraction(1, 2))
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude
