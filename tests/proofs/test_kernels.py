"""The definitions the theorems are about give, bit for bit, what the Python models and the C++ kernels give."""

import itertools
import math
import random
import struct
from fractions import Fraction

import numpy as np
import pytest

from soundsum import native
from soundsum.kernels import float_sum, modular_sum, saturating_sum, split_saturating_sum, wide_sum
from soundsum.kernels.arguments import raw_records
from soundsum.kernels.preparation import shift_records
from soundsum.numbers.grids import as_doubles, power_of_two_grid
from soundsum.numbers.models import numpy_pairwise
from soundsum.numbers.types import IntType, float32, float64
from soundsum.tables.records import records

from .oracle import ask, words

ANCHOR = 1.5 * 2**52
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.2e-308, 1.7976931348623157e308, 1.0, -1.0]
GRIDS, RECORDS = 600, 200
"""120,000 records on grids, of all kinds."""


def bits(x):
    return struct.unpack("<Q", struct.pack("<d", x))[0]


def double(pattern):
    return struct.unpack("<d", struct.pack("<Q", pattern))[0]


def some_double(rng):
    """Any bit pattern, or something near 1."""
    x = double(rng.getrandbits(64)) if rng.random() < 0.4 else rng.uniform(-1, 1) * 2.0 ** rng.randint(-30, 30)
    return x if math.isfinite(x) else 1.0


def grids(rng):
    """Grids that doubles can compute: bounds of every sign, near and far apart, and rationals that are no doubles."""
    while True:
        lower, upper = sorted(Fraction(some_double(rng)) for _ in range(2))
        shape = rng.random()
        if shape < 0.4:  # a narrow range far from 0, whose offset may be no double
            lower, upper = sorted((upper, upper * (1 - Fraction(rng.randint(1, 999), 1 << rng.randint(10, 60)))))
        elif shape < 0.6:  # around 0 or on one side of it
            lower, upper = rng.choice([(-upper, upper), (Fraction(0), abs(upper)), (-abs(upper), Fraction(0))])
            lower, upper = sorted((lower, upper))
        if rng.random() < 0.2:
            upper += abs(upper) * Fraction(1, 3 << 40)
        if max(abs(lower), abs(upper)) > float64.max:
            continue
        kind = rng.choice([float64, float32])
        grid = power_of_two_grid(kind, lower, upper, sized=rng.random() < 0.6)
        doubles = as_doubles(grid)
        if doubles is not None:
            yield grid, doubles


def near(x):
    """A rational as a double, held at the ends of the range."""
    value = float64.round(x)
    if isinstance(value, Fraction):
        return double(float64.to_bits(value))
    return value


def records_on(grid, rng):
    """Special values, half steps and their neighbours, the bounds and theirs, powers of two, anything."""
    points = [near(b) for b in (grid.lower, grid.upper)]
    points += [math.nextafter(b, towards) for b in points for towards in (-math.inf, math.inf)]
    for _ in range(40):
        at = near(grid.offset + (rng.randint(grid.low, grid.high) + Fraction(1, 2)) * grid.step)
        points += [at, math.nextafter(at, -math.inf), math.nextafter(at, math.inf)]
    while len(points) < RECORDS - len(SPECIAL):
        q = rng.randint(grid.low - 2, grid.high + 2) + Fraction(rng.randint(-8, 8), 16)
        points.append(
            rng.choice([near(grid.offset + q * grid.step), some_double(rng), 2.0 ** rng.randint(-1074, 1023)])
        )
    return SPECIAL + points[: RECORDS - len(SPECIAL)]


@pytest.fixture(scope="module")
def cases():
    rng = random.Random(0)
    return [(grid, doubles, records_on(grid, rng)) for grid, doubles in itertools.islice(grids(rng), GRIDS)]


def test_the_grid_kernel(cases):
    """Coq's expression, each of its variants, the rationals, and exact.cpp one record at a time and in sums."""
    lines = [
        words(
            "kernel",
            *map(bits, doubles[:3]),
            *(bits(ANCHOR + end) for end in (doubles.low, doubles.high)),
            doubles.low,
            doubles.high,
            *map(bits, data),
        )
        for _, doubles, data in cases
    ]
    for (grid, doubles, data), answer in zip(cases, ask(lines), strict=True):
        integers = list(map(int, answer.split()))
        expected = [grid.integer(x) - doubles.shift for x in data]
        assert integers[::2] == expected
        assert integers[1::2] == expected
        raw = raw_records(records(np.array(data), float64))
        fill = grid.missing - doubles.shift
        assert native.grid_integers(raw, *doubles[:-1], fill, 1).tolist() == expected
        assert native.grid_sum(raw, *doubles[:-1], 1) == sum(expected)
    sides = {(grid.low >= 0, grid.high <= 0, grid.offset == 0, doubles.more_scale == 1) for grid, doubles, _ in cases}
    assert len(sides) >= 7  # every variant of the kernel was among them
    assert any(
        doubles.shift and doubles.low < doubles.high for _, doubles, _ in cases
    )  # offsets that are no doubles too


def test_a_lane(cases):
    anchor = bits(ANCHOR)
    sums = []
    lines = []
    for grid, doubles, data in cases:
        integers = [grid.integer(x) - doubles.shift for x in data]
        sums.append(sum(integers))
        lines.append(words("lane", anchor, *((anchor + q) for q in integers)))
    assert list(map(int, ask(lines))) == sums


def float_lists(kind, rng, lists=700, longest=350):
    """Bit patterns, in lists of every length up to two blocks: ordinary, cancelling, subnormal and overflowing sums."""
    largest, one, sign = kind.to_bits(kind.max), kind.to_bits(Fraction(1)), 1 << (kind.bits - 1)
    for i in range(lists):
        spread = rng.choice([1, 4, kind.k, 2 * kind.k]) << kind.k
        start = rng.choice([one, one, rng.randint(0, largest), 0, largest - spread])
        patterns = (min(max(start + rng.randint(-1, spread), 0), largest) for _ in range(i % longest))
        yield [rng.choice([0, sign]) | pattern for pattern in patterns]


def same(kind, got, pattern):
    """Equal as values: a NaN is a NaN, and the sign of a zero is not looked at."""
    value = kind.from_bits(pattern)
    return (got != got and value != value) or got == value


@pytest.mark.parametrize("kind", [float32, float64], ids=str)
def test_the_ordered_sums(kind):
    lists = list(float_lists(kind, random.Random(kind.name)))
    assert sum(map(len, lists)) > 100_000
    answers = ask(words(f"sums{kind.bits}", *patterns) for patterns in lists)
    for patterns, answer in zip(lists, answers, strict=True):
        array = np.array(patterns, f"uint{kind.bits}").view(kind.dtype)
        *ordered, numpys = map(int, answer.split())
        for how, pattern in zip(("iterated", "kahan", "toward_zero", "pairwise"), ordered, strict=True):
            assert same(kind, float_sum(how, array, kind.min, kind.max), pattern), (how, patterns)
        with np.errstate(all="ignore"):
            assert same(kind, float(np.sum(array)), numpys), patterns
        if len(patterns) < 20:
            assert same(kind, numpy_pairwise(kind).sum([kind.from_bits(pattern) for pattern in patterns]), numpys)


def wild_lists(kind, rng, lists=350, longest=350):
    """Any bit patterns at all, NaN and infinities among them, and bounds to clamp them to."""
    largest, every = kind.to_bits(kind.max), (1 << kind.bits) - 1
    special = [0, 1, largest, largest + 1, largest + 2, every, 1 << (kind.bits - 1)]
    for i in range(lists):
        lower, upper = sorted(
            kind.from_bits(rng.choice([0, kind.to_bits(Fraction(1)), rng.randint(0, largest)])) * rng.choice([1, -1])
            for _ in range(2)
        )
        yield lower, upper, [rng.choice([*special, rng.randint(0, every)]) for _ in range(i % longest)]


@pytest.mark.parametrize("kind", [float32, float64], ids=str)
def test_clamped_and_shifted_records(kind):
    """NaN counts as 0 and infinities clamp, like every record; then the sums, and the subtraction of `shifted`."""
    unsigned = f"uint{kind.bits}"
    lists = []
    for lower, upper, patterns in wild_lists(kind, random.Random(f"wild {kind.name}")):
        array = np.array(patterns, unsigned).view(kind.dtype)
        clean = np.clip(np.where(np.isnan(array), 0, array), *(kind.dtype.type(float(b)) for b in (lower, upper)))
        lists.append((lower, upper, array, clean.astype(kind.dtype).view(unsigned).tolist()))
    assert sum(len(clean) for *_, clean in lists) > 60_000
    sums = ask(words(f"sums{kind.bits}", *clean) for *_, clean in lists)
    moved = ask(words(f"shift{kind.bits}", kind.to_bits(lower), *clean) for lower, *_, clean in lists)
    for (lower, upper, array, _), sum_answer, moved_answer in zip(lists, sums, moved, strict=True):
        for how, pattern in zip(("iterated", "kahan", "toward_zero", "pairwise"), sum_answer.split(), strict=False):
            assert same(kind, float_sum(how, array, lower, upper), int(pattern)), (how, lower, upper, array.tolist())
        expected = np.array(list(map(int, moved_answer.split())), unsigned).view(kind.dtype)
        shifted = shift_records(records(array, kind), lower, upper)
        assert np.array_equal(shifted.values, expected), (lower, upper, array.tolist())


@pytest.mark.parametrize("kind", [IntType(bits, signed) for bits in (8, 32, 64) for signed in (True, False)], ids=str)
def test_the_integer_sums(kind):
    rng = random.Random(kind.name)
    lists = []
    for i in range(200):
        size = rng.choice([kind.bits, kind.bits - 2, 4])
        lists.append([kind.wrap(rng.getrandbits(size) * rng.choice([1, -1])) for _ in range(i)])
    assert sum(map(len, lists)) > 19_000
    for data, answer in zip(lists, ask(words("integers", kind.min, kind.max, *data) for data in lists), strict=True):
        array = np.array(data, kind.dtype)
        kernels = (wide_sum, modular_sum, saturating_sum, split_saturating_sum)
        assert [kernel(array, kind.min, kind.max) for kernel in kernels] == list(map(int, answer.split()))
