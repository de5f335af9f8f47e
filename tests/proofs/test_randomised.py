"""Randomised rounding, its random bits given: the definition the theorems are about gives what the code gives."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np

from soundsum.kernels import preparation
from soundsum.numbers import models
from soundsum.numbers.grids import as_doubles, stepped_grid
from soundsum.numbers.types import IntType, float64
from soundsum.randomness import Stream
from soundsum.tables.records import records

from .oracle import ask, words
from .test_kernels import bits, grids, records_on, some_double

GRIDS, BYTES = 400, 24
"""400 grids of 200 records; no draw gets through 24 random bytes."""


def coordinate(grid, base, x):
    return (Fraction(models.clean(x, grid.lower, grid.upper)) - base) / grid.step


def some_words(grid, base, data, rng):
    """Any 64 bits, and around the first 64 bits of the chance to go on: those are what decides, and may be a draw."""
    for x in data:
        digits = math.floor(abs(coordinate(grid, base, x)) % 1 * 2**64)
        near = digits + rng.choice([-1, 0, 0, 0, 1])
        yield min(max(near, 0), 2**64 - 1) if rng.random() < 0.7 else rng.getrandbits(64)


def some_bytes(chance, rng):
    """The first digits of a chance, and then anything: some draws take more than a byte."""
    first = rng.choice([0, 1, 2])
    start = math.floor(chance * 256**first) % 256**first
    return start.to_bytes(first) + rng.randbytes(BYTES - first)


def line(command, grid, *numbers, drawn):
    given = (f"{word}:{'.'.join(map(str, taken))}:{bits(x)}" for word, taken, x in drawn)
    return words(command, grid.lower, grid.upper, grid.step, *numbers, *given)


def rounded(monkeypatch, grid, data, words, taken):
    """What the code makes of the records, and how often it had to draw bytes."""
    draws = []
    monkeypatch.setattr(preparation, "random_words", lambda n: np.array(words, dtype=np.uint64))
    monkeypatch.setattr(preparation, "bernoulli", lambda p: draws.append(p) or Stream(taken).bernoulli(p))
    column = preparation.grid_integers(records(np.array(data), float64), grid, IntType(64), randomised=True)
    return column.values.tolist(), len(draws)


def test_many_records_at_once(monkeypatch):
    """80,000 records: every one compared, with words that decide narrowly or not at all."""
    rng = random.Random("randomised")
    cases, lines, drawn = [], [], 0
    for grid, doubles in itertools.islice(grids(rng), GRIDS):
        base = grid.offset + doubles.shift * grid.step
        data = records_on(grid, rng)
        given = list(some_words(grid, base, data, rng))
        taken = some_bytes(abs(coordinate(grid, base, rng.choice(data))) * 2**64 % 1, rng)
        cases.append((grid, data, given, taken))
        each = zip(given, itertools.repeat(taken), data, strict=False)
        lines.append(line("randomised", grid, base, doubles.shift, grid.low, grid.high, drawn=each))
    for (grid, data, given, taken), answer in zip(cases, ask(lines), strict=True):
        integers, draws = rounded(monkeypatch, grid, data, given, taken)
        assert integers == list(map(int, answer.split()))
        drawn += draws
    assert drawn > 20_000  # with `bernoulli` in the end


def odd_grids(rng):
    """Steps that are no power of two, which the code rounds one record at a time."""
    while True:
        lower, upper = sorted(Fraction(some_double(rng)) for _ in range(2))
        if abs(upper - lower) < Fraction(1, 2**900) or max(abs(lower), abs(upper)) > float64.max:
            continue
        grid = stepped_grid(lower, upper, (upper - lower) / rng.randint(3, 10**6), sized=rng.random() < 0.5)
        if as_doubles(grid) is None and max(abs(grid.low), abs(grid.high)) < 2**62:
            yield grid


def test_one_record_at_a_time(monkeypatch):
    rng = random.Random("one at a time")
    cases, lines = [], []
    for grid in itertools.islice(odd_grids(rng), 100):
        data = records_on(grid, rng)
        taken = some_bytes(coordinate(grid, grid.offset, rng.choice(data)) % 1, rng)
        cases.append((grid, data, taken))
        each = ((0, taken, x) for x in data)
        lines.append(line("randomised_up", grid, grid.offset, grid.low, grid.high, drawn=each))
    for (grid, data, taken), answer in zip(cases, ask(lines), strict=True):
        integers, draws = rounded(monkeypatch, grid, data, (), taken)
        assert integers == list(map(int, answer.split()))
        assert draws == len(data)
