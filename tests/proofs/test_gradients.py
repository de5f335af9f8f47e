"""The clip that the theorems are about gives, bit for bit, what the model and the C++ kernel give, without torch."""

import math
import random
from itertools import chain
from types import SimpleNamespace

import numpy as np
import pytest

from soundsum import native
from soundsum.gradients import adding
from soundsum.gradients.adding import Measured
from soundsum.numbers import clipping
from soundsum.numbers.clipping import Grid

from .oracle import ask, words
from .test_kernels import bits

TYPES = {"float64": np.uint64, "float32": np.uint32, "float16": np.uint16, "bfloat16": np.uint16}
NORMS = (1.0, 0.1, 3.7, 2.0**-20, 1e-6, 2.0**-100, 2.0**79)


def doubles(array, name):
    floats = (array.astype(np.uint32) << 16).view(np.float32) if name == "bfloat16" else array.view(name)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return floats.astype(np.float64)


def patterns(rows, name):
    """Doubles as bits of the type; beyond its largest value they are infinite."""
    with np.errstate(over="ignore"):
        if name == "bfloat16":
            return (np.array(rows).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return np.array(rows).astype(name).view(TYPES[name])


def awkward(name, d, norm, rng):
    """Zeros, subnormals, the largest values, infinities, NaN, halves of steps, around the norm, and any bits at all."""
    every = [0.0, -0.0, 5e-324, 1e-40, 6e-8, 1.0, norm, -norm, norm / math.sqrt(d), norm * 2**-25, -1.5 * norm * 2**-24]
    every += [norm * (1 + 2**-20), 3e38, -6e4, 1e300, 2.0**-1070, math.inf, -math.inf, math.nan]
    rows = [[x] * d for x in every] + [[x] + [norm] * (d - 1) for x in every]
    for _ in range(30):
        scale = norm * 2.0 ** rng.randint(-27, 40)
        rows.append([rng.choice((-1, 1)) * scale * rng.randint(0, 64) / 64 for _ in range(d)])
        rows.append([rng.uniform(-1, 1) * 2.0 ** rng.randint(-130, 120) for _ in range(d)])
    width = np.iinfo(TYPES[name]).bits
    anything = [[rng.getrandbits(width) for _ in range(d)] for _ in range(30)]
    return np.concatenate([patterns(rows, name), np.array(anything, TYPES[name])])


def measure(tensors, rows, scale):
    arrays, names = zip(*tensors, strict=True)
    top, low, high = (np.zeros(len(rows), np.uint64) for _ in range(3))
    native.measure_gradients(list(arrays), list(names), list(rows), np.array(scale, np.float64), top, low, high, 1)
    return Measured(
        top.view(np.float64).tolist(), [a + (b << 32) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    )


KERNEL = SimpleNamespace(measure=measure)
"""What adding.CpuKernel does, for arrays of NumPy."""


def added(array, name, found):
    """The kernel's sum of the rows, clipped as was worked out."""
    into = np.zeros(array.shape[1], np.int64)
    scale, top = np.array(found.scale), np.array(found.largest).view(np.uint64)
    factors = np.array(found.m, np.int32), np.array(found.shift, np.int32)
    native.add_gradients([array], [name], scale, top, *factors, [into], 1)
    return into.tolist()


def one_by_one(array, name, found):
    for i in range(len(array)):
        lists = (found.scale, found.m, found.shift, found.largest)
        yield added(array[i : i + 1], name, type(found)(*([values[i]] for values in lists)))


def handed_over(array, name):
    """As the kernel takes it: 16 bits as integers, other floats as floats."""
    return array.view(np.int16) if array.itemsize == 2 else array.view(name)


@pytest.mark.parametrize("name", TYPES)
def test_rows(name):
    """Every row by itself, some to a limit of its own, and their sum; over 4,000 of each type."""
    rng = random.Random(name)
    compared = 0
    for norm in NORMS:
        grid = Grid.of(norm)
        for d in (1, 2, 3, 7, 20):
            array = awkward(name, d, norm, rng)
            rows = doubles(array, name).tolist()
            limits = [grid.limit if rng.random() < 0.6 else rng.randint(0, 2 ** rng.randint(0, 24)) for _ in rows]
            told = ask(
                words("clip_row", grid.exponent, grid.room, grid.precision, limit, *map(bits, row))
                for row, limit in zip(rows, limits, strict=True)
            )
            integers = [list(map(int, answer.split())) for answer in told]
            assert integers == [clipping.clip(row, grid, limit) for row, limit in zip(rows, limits, strict=True)]
            handed = handed_over(array, name)
            (found,) = adding.work_out([(handed, name)], [[0]], [limits], grid, KERNEL)
            assert integers == list(one_by_one(handed, name, found))
            assert [sum(column) for column in zip(*integers, strict=True)] == added(handed, name, found)
            compared += len(rows)
    assert compared > 4_000


@pytest.mark.parametrize("precision", [1, 2, 31])
@pytest.mark.parametrize("room", [3, 29])
def test_other_grids_than_the_codes(precision, room):
    """Short factors and coarse steps, where every case of the rule occurs; limits of 0 too."""
    rng = random.Random(precision)
    cases = []
    for _ in range(500):
        limit = rng.randint(0, 2 ** rng.randint(0, room - 1))
        grid = Grid(exponent=rng.randint(-3, 3), limit=limit, room=room, precision=precision)
        cases.append((grid, [rng.uniform(-1, 1) * 2.0 ** rng.randint(-4, room + 6) for _ in range(rng.randint(1, 6))]))
    told = ask(words("clip_row", g.exponent, g.room, g.precision, g.limit, *map(bits, row)) for g, row in cases)
    assert [list(map(int, answer.split())) for answer in told] == [clipping.clip(row, grid) for grid, row in cases]


def added_blocks(grid, limits, blocks):
    """The kernel's, for one example of doubles; limits that are not sound are 0 by then (`batches.limits_of`)."""
    if min(limits) < 0 or sum(limit * limit for limit in limits) > grid.limit**2:
        limits = [0] * len(limits)
    tensors = [(np.array([row]), "float64") for row in blocks]
    each = [[i] for i in range(len(blocks))]
    found = adding.work_out(tensors, each, [[limit] for limit in limits], grid, KERNEL)
    return [added(*tensor, factors) for tensor, factors in zip(tensors, found, strict=True)]


def test_blocks():
    """Limits that are too large together, or negative, and blocks that are not finite: all of it zeros."""
    rng, cases = random.Random("blocks"), []
    for _ in range(1_500):
        grid = Grid.of(rng.choice(NORMS))
        K = grid.limit
        limits = [rng.choice([0, 1, K // 2, K // 3, K - 1, K, -1]) for _ in range(rng.randint(1, 4))]
        special = rng.random() < 0.2
        blocks = [
            [
                rng.choice([math.inf, math.nan, 0.0]) if special and rng.random() < 0.3 else rng.gauss(0, 3)
                for _ in range(rng.randint(1, 4))
            ]
            for _ in limits
        ]
        cases.append((grid, limits, blocks))
    told = ask(
        words(
            "clip_blocks",
            *(grid.exponent, grid.room, grid.precision, grid.limit),
            *(":".join(map(str, [limit, *map(bits, row)])) for limit, row in zip(limits, blocks, strict=True)),
        )
        for grid, limits, blocks in cases
    )
    integers = [list(map(int, answer.split())) for answer in told]
    assert integers == [list(chain.from_iterable(clipping.clip_blocks(row, grid, most))) for grid, most, row in cases]
    assert integers == [list(chain.from_iterable(added_blocks(*case))) for case in cases]
    assert sum(map(any, integers)) > 300
