"""The kernel gets the constants with which it is proved exact: `as_doubles` gives those of proofs/Conditions.v or none.

proofs/GridsAllowed.v proves that with them the C++ expression computes the grid's integers, for every double.
"""

import random
from fractions import Fraction

from soundsum.methods.grid import OnGrid
from soundsum.numbers.grids import as_doubles, power_of_two_grid
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.numbers.types import FloatType, float64

from .oracle import ask, words
from .test_conditions import FLOATS, PLACES, place

FINER = FloatType(60, 12)
"""Its smallest value is below that of doubles."""


def far_bounds(rng):
    """Bounds whose grid is at an end of what doubles can scale by, near the largest double, or far from zero."""
    near = rng.choice([-1074, -1024, 974, 1023, 1072, rng.randint(-2100, 1100)]) + rng.randint(-2, 2)
    spread = Fraction(rng.choice([1, rng.getrandbits(60) + 1]), 2**60) * power_of_two(near)
    away = power_of_two(near + rng.randint(-60, 60)) * rng.choice([0, 0, 1, Fraction(rng.getrandbits(99), 2**98)])
    return away, away + spread


def tight_bounds(rng):
    """The largest integer of a grid is 2^51, or the offset is about 2^51 steps from the next double."""
    step, j = power_of_two(rng.randint(-1100, 900)), rng.randint(-2, 2)
    if rng.random() < 0.5:
        lower = (rng.getrandbits(rng.choice([3, 80])) + Fraction(9, 10)) * step
        return lower, lower + (2**51 - Fraction(rng.randint(1, 9), 10)) * step
    lower = (2**105 + rng.getrandbits(40) * 2**53 - 2**51 + j) * step
    return lower, lower + rng.randint(2**50, 2**51 - 1) * step


def last_bounds(rng):
    """Around the largest double."""
    lower = power_of_two(1024) - power_of_two(rng.randint(900, 1023))
    return lower, lower + power_of_two(rng.randint(900, 1024))


def test_doubles_are_used_where_they_are_exact():
    """With the very constants of which it is proved, or not at all; where there is one integer, none is computed."""
    rng, counts = random.Random(4), {True: 0, False: 0}
    places = [place(OnGrid(), FLOATS, rng) for _ in range(4 * PLACES)]
    asked = [(p.dtype, p.lower, p.upper, p.relation.sized) for p in places]
    for _ in range(60 * PLACES):
        lower, upper = rng.choice([far_bounds, tight_bounds, last_bounds])(rng)
        pair = (lower, upper) if rng.random() < 0.5 else (-upper, -lower)
        asked.append((rng.choice([float64, FINER, rng.choice(FLOATS)]), *pair, rng.random() < 0.8))
    lines = (words("doubles", sized, kind.k, kind.l, lower, upper) for kind, lower, upper, sized in asked)
    for (kind, lower, upper, sized), answer in zip(asked, ask(lines), strict=True):
        grid = power_of_two_grid(kind, lower, upper, sized)
        doubles = as_doubles(grid)
        if grid.low == grid.high:
            assert doubles == (0, 1, 1, 0, 0, grid.low)
            continue
        counts[doubles is not None] += 1
        if doubles is None:
            assert answer == "none", (kind, lower, upper, sized)
        else:
            base, *scales = map(Fraction, doubles[:3])
            exact = words(base, *map(floor_log2, scales), *doubles[3:])
            assert all(scale == power_of_two(floor_log2(scale)) for scale in scales)
            assert answer == exact, (kind, lower, upper, sized)
    assert min(counts.values()) > PLACES, counts
