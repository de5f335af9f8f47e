"""Poisson subsampling: exact coins for who is in a batch, random places for them, and how many places are enough."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, floor_log2, is_special, power_of_two
from soundsum.randomness import bernoulli, random_permutation, random_words
from soundsum.refusals import Reason, RefusedValue

EULER = Fraction(2_718_281_828_459_045_236, 10**18)
"""Just above e."""

RARELY = Fraction(1, 1 << 64)
"""The probability of a batch larger than its slots, where the number of slots is left to us."""

EMPTY = -1
"""Marks a slot that holds a dummy."""


def rate(sample_rate: object) -> Fraction:
    """Checks a sampling rate and returns it exactly."""
    if sample_rate is None:
        raise RefusedValue(
            "sample_rate",
            Reason.MISSING,
            "`sample_rate=None`: the number of records is private, so the rate is not taken from it",
            "give the probability with which a record is in a batch, such as `sample_rate='1/256'`",
        )
    q = exact(sample_rate, "sample_rate")
    if is_special(q):
        raise RefusedValue(
            "sample_rate",
            Reason.NOT_A_NUMBER,
            "`sample_rate={given}` is not a finite number",
            "give a probability above 0 and at most 1",
            given=quote(sample_rate),
        )
    if q <= 0:
        raise RefusedValue(
            "sample_rate",
            Reason.TOO_SMALL,
            "`sample_rate={given}` is not above 0",
            "give a probability above 0 and at most 1",
            given=quote(sample_rate),
        )
    if q > 1:
        raise RefusedValue(
            "sample_rate",
            Reason.TOO_LARGE,
            "`sample_rate={given}` is above 1",
            "give a probability above 0 and at most 1",
            given=quote(sample_rate),
        )
    return Fraction(q)


def rate_from_above(q: Fraction) -> float:
    """The rate for an accountant that takes floats: never below the true one.

    >>> rate_from_above(Fraction(1, 3)) >= Fraction(1, 3), rate_from_above(Fraction(1, 4))
    (True, 0.25)
    """
    nearest = float(q)
    return nearest if nearest >= q else math.nextafter(nearest, 2.0)


def coins(q: Fraction, count: int) -> NDArray[np.bool_]:
    """Tosses independent coins, each heads with probability exactly q: 64 bits decide, more where they tie."""
    if q == 1:
        return np.ones(count, np.bool_)
    limit, rest = divmod(q * (1 << 64), 1)
    words = random_words(count)
    heads = words < np.uint64(limit)
    for i in np.flatnonzero(words == np.uint64(limit)):
        heads[i] = bernoulli(rest)
    return heads


def place(members: NDArray[np.int64], slots: int) -> list[int]:
    """Places records in uniformly random slots; the others are EMPTY. Of too many records, a random choice stays."""
    if len(members) > slots:
        members = members[random_permutation(len(members))[:slots]]
    placed = np.full(slots, EMPTY, np.int64)
    placed[random_permutation(slots)[: len(members)]] = members
    return placed.tolist()


def overflow(mean: Fraction, slots: int) -> Fraction:
    """Bounds from above the probability that a Poisson-sampled batch of this mean size has more members than slots.

    With s = slots + 1 above the mean M it is at most (M/s)^s e^(s - M), Chernoff's bound for sums of independent coins.

    >>> overflow(Fraction(64), 150) < Fraction(1, 10**17), overflow(Fraction(64), 63)
    (True, Fraction(1, 1))
    """
    s = slots + 1
    mean = Fraction(math.ceil(mean * 1024), 1024)  # a short number; the bound grows with the mean
    if mean >= s:
        return Fraction(1)
    return min(Fraction(1), power_from_above(mean / s, s) * power_from_above(EULER, math.ceil(s - mean)))


def power_from_above(x: Fraction, n: int) -> Fraction:
    """Bounds x^n from above, for x > 0: each product keeps 128 binary digits, rounded up.

    >>> power_from_above(Fraction(3, 2), 5), 1 < power_from_above(Fraction(1, 3), 999) * 3**999 < 1.000001
    (Fraction(243, 32), True)
    """
    power = Fraction(1)
    for digit in f"{n:b}":
        product = power * power * (x if digit == "1" else 1)
        last = power_of_two(floor_log2(product) - 127)
        power = math.ceil(product / last) * last
    return power


def enough_slots(mean: Fraction, most: int, multiple: int = 1) -> int:
    """Finds a number of slots, a multiple, that a batch exceeds with probability below 2^-64; at most the records."""
    low, slots = math.floor(mean), math.ceil(mean)
    while slots < most and overflow(mean, slots) > RARELY:
        low, slots = slots, slots + math.isqrt(slots) + 8
    while slots - low > 1:  # the least that is enough, but for rounding
        middle = (low + slots) // 2
        low, slots = (low, middle) if overflow(mean, middle) <= RARELY else (middle, slots)
    return -(-min(slots, most) // multiple) * multiple
