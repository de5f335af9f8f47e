"""Records of every type, layout and kind of trouble, and what the models say of them."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from soundsum.numbers import models
from soundsum.numbers.grids import RecordGrid, power_of_two_grid, stepped_grid
from soundsum.numbers.rationals import is_special
from soundsum.numbers.types import NAMED, FloatType, float64
from soundsum.tables.records import Column
from soundsum.tables.runs import Runs

INTEGERS = [kind for kind in NAMED.values() if kind.is_integer]
FLOATS = [kind for kind in NAMED.values() if not kind.is_integer]
LENGTHS = [0, 1, 15, 16, 17, 2047, 2048, 2049, 32768, 32769, 65551]
"""Around one lane each, one copied block, one block read in place, and two."""

MISSING = st.sampled_from(["zero", "drop"])
THREADS = st.sampled_from([None, 1, 2, 3, 7])


# What the models say


def cleaned(column, lower, upper, missing="zero"):
    return [models.clean(x, lower, upper) for x in column if not (missing == "drop" and x != x)]


def integers(column, grid, missing="zero"):
    return [grid.integer(x) for x in column if not (missing == "drop" and x != x)]


# Bit patterns, all of them and the telling ones


def telling(kind):
    """Where something changes: zeros, ones, limits, subnormals, infinities, NaNs, and their neighbours."""
    sign = 1 << (kind.bits - 1)
    if isinstance(kind, FloatType):
        one, infinity = kind.to_bits(1), kind.to_bits(float("inf"))
        near = [0, 1, 2, (1 << kind.k) - 1, 1 << kind.k, one - 1, one, one + 1, infinity - 1]
        patterns = [*near, infinity, infinity + 1, sign - 1]
    else:
        patterns = [0, 1, 2, sign - 2, sign - 1]
    return patterns + [p | sign for p in patterns]


def any_pattern(kind):
    return st.integers(0, (1 << kind.bits) - 1) | st.sampled_from(telling(kind))


@st.composite
def neighbouring_patterns(draw, kind):
    """Floats of like magnitude with plain mantissas, so that sums meet ties and cancel."""
    largest = (1 << kind.l) - 2
    low = draw(st.integers(0, largest))
    exponents = st.integers(low, min(low + kind.k + 2, largest))
    mantissas = st.sampled_from([0, 1, 3, 1 << (kind.k - 1), (1 << kind.k) - 1]) | st.integers(0, (1 << kind.k) - 1)
    signs = draw(st.sampled_from([[0], [1], [0, 1]]))
    return st.builds(
        lambda s, e, m: s << (kind.bits - 1) | e << kind.k | m, st.sampled_from(signs), exponents, mantissas
    )


@st.composite
def arrays(draw, kind, max_size=40, elements=None):
    if elements is None:
        elements = any_pattern(kind)
        if isinstance(kind, FloatType) and draw(st.booleans()):
            elements = draw(neighbouring_patterns(kind))
    size = draw(st.integers(0, max_size))
    return draw(hnp.arrays(f"u{kind.bits // 8}", size, elements=elements)).view(kind.dtype)


# Layouts


def gapped(values):
    """The same values, every other one of an array with other bits between."""
    bits = values.view(f"u{values.itemsize}")
    return np.column_stack([bits, ~bits]).ravel()[::2].view(values.dtype)


def sealed(values):
    values = values.copy()
    values.flags.writeable = False
    return values


def with_bitmap(values, kind, present, first_bit):
    """The records marked present, from a bit of a bitmap that says the opposite of all else."""
    bits = np.concatenate([~present[:1].repeat(first_bit), present]) if len(values) else present
    return Column(values, kind, np.packbits(bits, bitorder="little"), first_bit if len(values) else 0)


@st.composite
def columns(draw, kind, max_size=40, elements=None):
    """Records in an array: contiguous, strided forwards, backwards or not at all, read-only, some missing."""
    values = draw(arrays(kind, max_size, elements))
    layouts = [
        np.array,
        gapped,
        sealed,
        lambda v: v[::-1],
        lambda v: np.broadcast_to(v[:1], v.shape if v.size else 0),
    ]
    values = draw(st.sampled_from(layouts))(values)
    if draw(st.booleans()):
        return Column(values, kind)
    present = draw(hnp.arrays(bool, len(values)))
    return with_bitmap(values, kind, present, draw(st.integers(0, 20)))


@st.composite
def runs(draw, kind, elements=None):
    elements = any_pattern(kind) if elements is None else elements
    pattern = st.lists(elements.map(kind.from_bits), min_size=1, max_size=4).map(tuple)
    return Runs(kind, draw(st.lists(st.tuples(pattern, st.integers(0, 9)), max_size=5)))


def datasets(kind, max_size=40, elements=None):
    return columns(kind, max_size, elements) | runs(kind, elements)


# Bounds and grids


def values(kind):
    return any_pattern(kind).map(kind.from_bits).filter(lambda x: not is_special(x))


def bounds(kind):
    """L <= U of a type: its limits, one point, one sign or any two values, often of very different magnitude."""
    some = values(kind)
    pairs = st.tuples(some, some) | some.map(lambda x: (x, x)) | some.map(lambda x: (0, x))
    return st.just((kind.min, kind.max)) | pairs.map(lambda pair: tuple(sorted(pair)))


def rationals():
    """Any rational bounds, also far from zero for their distance."""
    near = st.builds(lambda a, d, e: (a, a + d * Fraction(2) ** e), fractions(), fractions(), st.integers(-80, 0))
    return (st.tuples(fractions(), fractions()) | near).map(sorted)


def fractions():
    return st.builds(lambda x, e: x * Fraction(2) ** e, st.fractions(-9, 9), st.integers(-1080, 1015))


def grids(kind=float64):
    return st.builds(
        lambda pair, sized: power_of_two_grid(kind, *map(Fraction, pair), sized),
        bounds(kind) | rationals(),
        st.booleans(),
    )


F = Fraction
NOTABLE_GRIDS: dict[str, RecordGrid] = {
    name: power_of_two_grid(float64, F(lower), F(upper), sized)
    for name, lower, upper, sized in [
        ("unit", 0, 1, False),
        ("largest integers", -2 + F(2) ** -50, 2 - F(2) ** -49, False),
        ("mixed signs", -3, F("1000.7"), False),
        ("positive", 1, 1000, False),
        ("negative", -1000, -1, False),
        ("positive, sized", 1, 1000, True),
        ("negative, sized", -1000, -1, True),
        ("nothing", 0, 0, False),
        ("one point", F("0.1"), F("0.1"), False),
        ("one point, sized", F("0.1"), F("0.1"), True),
        ("everything", float64.min, float64.max, True),
        ("large and small", -F(1e-300), F(1e300), False),
        ("subnormal step", 0, F(2) ** -1025, False),
        ("two scale factors", -(F(2) ** -990), F(2) ** -985, False),
        ("two scale factors, sized", F(2) ** -990, F(2) ** -980, True),
        ("subnormal bounds", 5 * float64.smallest_subnormal, 9 * float64.smallest_subnormal, True),
        ("far from zero", 2**60, 2**60 + 2**10, True),
        ("far below zero", -(2**60) - 2**10, -(2**60), True),
        ("offset no double", F("100.1"), F("101.1"), True),
        ("offset no double, below zero", F("-101.1"), F("-100.1"), True),
        ("no doubles for it", F("100.1"), F("100.1") + F(2) ** -60, True),
        ("no multiple within", F(1, 3), F(1, 3) + F(2) ** -60, False),
    ]
} | {
    "step of a third": stepped_grid(F(-1), F(2), F(1, 3), sized=False),
    "offset between steps": stepped_grid(F("0.1"), F(1), F(1, 8), sized=True),
    "offset a double between steps": stepped_grid(F(0.1), F(1), F(1, 8), sized=True),
}


def around(grid, kind):
    """Patterns of a type at the grid's points and ties, at the bounds, and next to all of these."""

    def pattern(m, part, turn):
        x = kind.round(grid.offset + (m + part) * grid.step)
        return kind.to_bits(turn(x))

    spots = st.sampled_from([grid.low, grid.high, 0]) | st.integers(grid.low, grid.high)
    turns = st.sampled_from([kind.next_up, kind.next_down, lambda x: x])
    parts = st.sampled_from([F(i, 4) for i in range(-5, 6)])
    ends = st.sampled_from([kind.round(grid.lower), kind.round(grid.upper)])
    return st.builds(pattern, spots, parts, turns) | st.builds(lambda x, turn: kind.to_bits(turn(x)), ends, turns)
