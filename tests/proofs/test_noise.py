"""The samplers the theorems are about, the Python reference and the C++ kernel make the same numbers of the same bytes.

A comparison covers the value, how many bytes were used, and whether the bytes were enough.
"""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from soundsum import native, randomness
from soundsum.privacy import samplers
from soundsum.randomness import Stream

from .oracle import ask, words

CASES = 4000
UNFINISHED = "none"


class SpentError(Exception):
    pass


@pytest.fixture
def feed(monkeypatch):
    """Makes the operating system's random bytes these; `left` are those that nobody has taken."""

    class Source:
        left = b""

        def take(self, count):
            taken, self.left = self.left[:count], self.left[count:]
            if len(taken) < count:
                raise SpentError
            return taken

    source = Source()
    monkeypatch.setattr(randomness, "random_bytes", source.take)
    return source


def some_bytes(rng, lengths=(0, 1, 2, 5, 20, 60, 120, 400)):
    """Random bytes, often with many at the ends and in the middle of their range, where coins are decided late."""
    n = rng.choice(lengths)
    if rng.random() < 0.6:
        return rng.randbytes(n)
    return bytes(rng.choice([0, 1, 85, 127, 128, 129, 170, 255, rng.randrange(256)]) for _ in range(n))


def some_parameter(rng, bits):
    """Small and large numerators and denominators, powers of two, and both sides of a byte's end."""
    regime = rng.randrange(6)
    if regime == 0:
        return Fraction(rng.randint(1, 10), rng.randint(1, 10))
    if regime == 1:
        return Fraction(rng.randint(1, 1 << rng.randint(1, 62)), rng.randint(1, 1 << rng.randint(1, 62)))
    if regime == 2:
        return Fraction(rng.randint(1, 1 << rng.randint(1, bits)), rng.randint(1, 1 << rng.randint(1, 63)))
    if regime == 3:
        return Fraction(1 << rng.randint(0, 40))
    if regime == 4:
        return Fraction(1, rng.choice([2, 3, 100, 255, 256, 1000]))
    return Fraction(rng.choice([255, 256, 257, 65535, 65536, 65537]), rng.choice([1, 2, 3, 1000]))


def some_scale(rng):
    return some_parameter(rng, 400)


def some_sigma2(rng):
    """Small ones too; the smallest make the reference count to the whole part of 1/sigma^2, so not below 1/1000."""
    sigma2 = some_parameter(rng, 120)
    return sigma2 if sigma2 >= Fraction(1, 1000) else 1 / sigma2


KINDS = {
    "laplace": (some_scale, samplers._laplace, samplers.discrete_laplace_many),
    "gaussian": (some_sigma2, samplers._gaussian, samplers.discrete_gaussian_many),
}


def some_cases(kind, **choices):
    rng = random.Random(f"noise {kind}")
    return [(KINDS[kind][0](rng), some_bytes(rng, **choices)) for _ in range(CASES)]


def proved(command, kind, cases):
    """What the definitions of the theorems make of the bytes."""
    return ask(words(command, kind, p.numerator, p.denominator, drawn.hex()) for p, drawn in cases)


def kernel(kind, parameter, drawn):
    """One draw by the C++ kernel, or None where the parameter is too large for it."""
    if kind == "laplace":
        limbs = samplers._limbs(parameter.numerator << 16)
        if limbs is None or parameter.denominator >= 1 << 64:
            return None
        numbers, more = [parameter.numerator], [parameter.denominator]
    else:
        p, q, t = parameter.numerator, parameter.denominator, math.isqrt(math.floor(parameter)) + 1
        limbs = samplers._limbs(max(p * q * t**2 << 17, ((q * t**2 << 8) + p) ** 2))
        if limbs is None:
            return None
        numbers, more = [t, q * t, p, 2 * p * q * t**2], []
    out = np.empty((1, limbs), np.uint64)
    draw = native.discrete_laplace if kind == "laplace" else native.discrete_gaussian
    done, used = draw(samplers._words(numbers, limbs), *more, drawn, out)
    if not done:
        return UNFINISHED
    value = samplers.as_integers(out)[0] if limbs > 1 else int(out.view(np.int64)[0, 0])
    return f"{value} {used}"


@pytest.mark.parametrize("kind", KINDS)
def test_one_draw(kind, feed):
    compared = {"finished": 0, "kernel": 0}
    cases = some_cases(kind)
    for (parameter, drawn), answer in zip(cases, proved("draw", kind, cases), strict=True):
        feed.left = drawn
        try:
            value = KINDS[kind][1](parameter, Stream())
            found = f"{value} {len(drawn) - len(feed.left)}"
        except SpentError:
            found = UNFINISHED
        assert found == answer, (parameter, drawn.hex())
        compared["finished"] += found != UNFINISHED
        by_kernel = kernel(kind, parameter, drawn)
        if by_kernel is not None:  # the kernel gives up on a coin that takes very long, and the reference goes on
            assert by_kernel == answer, (parameter, drawn.hex())
            compared["kernel"] += 1
    assert min(compared.values()) > CASES // 3


@pytest.mark.parametrize("kind", KINDS)
def test_the_kernel_gives_up_where_its_definition_does(kind):
    """After 255 terms, to which zeros lead, or where the bytes end; elsewhere both draw the same from as many bytes."""
    rng, compared = random.Random(f"kernel {kind}"), {"drawn": 0, "cut off": 0}
    cases = [(KINDS[kind][0](rng), some_bytes(rng)) for _ in range(CASES // 4)]
    for _ in range(CASES // 4):
        zeros = rng.choice([0, 10, 200, 254, 255, 256, 300, 600])
        cases.append((KINDS[kind][0](rng), rng.randbytes(rng.randint(0, 60)) + bytes(zeros) + rng.randbytes(3000)))
    answers = zip(proved("kernel_draw", kind, cases), proved("draw", kind, cases), strict=True)
    for (parameter, drawn), (answer, whole) in zip(cases, answers, strict=True):
        found = kernel(kind, parameter, drawn)
        if found is not None:
            assert found == answer, (parameter, drawn.hex())
            compared["drawn"] += found != UNFINISHED
            compared["cut off"] += found == UNFINISHED != whole
    assert compared["drawn"] > CASES // 8
    assert compared["cut off"] > 20


@pytest.mark.parametrize("kind", KINDS)
def test_draws_in_bulk_are_repeated_draws_of_one_stream(kind, feed):
    """However the bytes are cut into chunks, and wherever the kernel hands over to the reference."""
    cases = some_cases(kind, lengths=(400, 1000, 3000))
    several = 0
    for (parameter, drawn), answer in zip(cases, proved("draws", kind, cases), strict=True):
        values = list(map(int, answer.split()))
        feed.left = drawn + bytes(4 * samplers.CHUNK)  # what a chunk has beyond the bytes is never used
        count = len(values)
        found = KINDS[kind][2](parameter, count)
        assert list(map(int, found)) == values, (parameter, drawn.hex())
        several += count > 3
    assert several > CASES // 3
