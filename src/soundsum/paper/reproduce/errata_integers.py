"""The errata about sums of integers, of floats as integers (`sec:floats2ints`), and of the numbers of records."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, floor

import numpy as np

from soundsum.attacks import attack
from soundsum.methods import OnGrid
from soundsum.methods.problem import Problem
from soundsum.numbers import models
from soundsum.numbers.grids import power_of_two_grid, stepped_grid
from soundsum.numbers.types import IntType, float64, int8, int32
from soundsum.paper.reproduce.bounds import (
    largest_modular_change,
    largest_modular_step,
    modular_condition,
    saturation_condition,
)
from soundsum.paper.reproduce.reproduction import Check, Erratum


def of_grids() -> Iterator[Erratum]:
    x = Fraction(9, 10)
    part = x - floor(x)
    yield Erratum(
        "randomised rounding",
        "defn:rand-round-to-nearest-int",
        "down with probability x - floor(x), mean x",
        "up with probability x - floor(x)",
        Check(floor(x) * part + (floor(x) + 1) * (1 - part), "=", x),
        Check(floor(x) * (1 - part) + (floor(x) + 1) * part, "=", x),
        label="randomised-rounding",
    )
    n, m, U = 128, 12, Fraction(8)
    D = U * n / 2 ** (m - 2)  # as the theorem sets it; the offset is 0
    grid = stepped_grid(Fraction(0), U, D, sized=True)
    data = [D * 5 / 2] * n
    error = abs(grid.value(int(models.wide().sum(map(grid.integer, data))), n) - sum(data))
    yield Erratum(
        "the last accuracy theorem",
        "sec:floats2ints",
        "an error of at most D/n^k, the offset being 0",
        "at most D n/2",
        Check(error, "<=", D / n),
        Check(error, "<=", D * n / 2),
        label="accuracy",
    )
    yield _randomised(n, U, D)
    low, high = Fraction(1, 2**60), Fraction(1)
    ours = power_of_two_grid(float64, low, high, sized=True)
    yield Erratum(
        "the subtraction of the offset",
        "thm:accuracy2",
        "u - M is a float for every record u",
        "for an offset that is a multiple of the step",
        Check(Fraction(float64.round(high - low)), "=", high - low),
        Check(Fraction(float64.round(high - ours.offset)), "=", high - ours.offset),
        label="shift-exact",
    )
    yield from _room()


def _randomised(n: int, U: Fraction, D: Fraction) -> Erratum:
    """Records half way between two steps: the variance of their sum is n D^2/4 for every float type."""
    variance = n * D**2 / 4
    problem = Problem("float64", 0, U, "change_one", size=n)
    likely = OnGrid(step=D, rounding="randomised").likely_accuracy(problem, 0.99)
    assert likely is not None
    return Erratum(
        "the same, with randomised rounding",
        "sec:floats2ints",
        "of the order of D sqrt(n)/2^(k+1), the offset being 0",
        "of D sqrt(n): at most 1.7 of it in 99 of 100 runs, by Hoeffding",
        Check(variance, "<=", n * (D / 2 ** (float64.k + 1)) ** 2),
        Check(variance, "<=", likely**2),
        label="accuracy-randomised",
    )


def _room() -> Iterator[Erratum]:
    n, m, U = 1000, 32, Fraction(1)
    printed, introduced = U * n / 2 ** (m - 2), U * n / (2 ** (m - 2) - n)  # 6.7 and 1.8

    def reach(step: Fraction) -> int:
        return ceil(U / step) * n

    yield Erratum(
        "the room above n records",
        "thrm:overflow-unlikely",
        "2^(m-1) - K n > K n, with D = (U - M) n/2^(m-2)",
        "with the introduction's D, (U - L) n/(2^(m-2) - n)",
        Check(2 ** (m - 1) - reach(printed), ">", reach(printed)),
        Check(2 ** (m - 1) - reach(introduced), ">", reach(introduced)),
        label="overflow-room",
    )
    low, high = Fraction(9), Fraction(10)
    widest = max(high - low, abs(low), abs(high))
    remark, safe = high * n / 2**m, widest * n / (2 ** (m - 2) - n)
    yield Erratum(
        "D for private n",
        "thrm:overflow-unlikely",
        "(U - M) n_max/2^m, where M = 0, fits m bits",
        "W n_max/(2^(m-2) - n_max) does, with W = max(U - L, |L|, |U|)",
        Check(n * round(high / remark), "<=", IntType(m).max),
        Check(n * round(high / safe), "<=", IntType(m).max),
        label="grid-d",
    )


def of_integers() -> Iterator[Erratum]:
    yield Erratum(
        "modular sums of private size",
        "sec:lowerbounds",
        "2^k - 1 whenever U > L",
        "2^k - 1 with L <= 0 and U >= 1",
        Check(largest_modular_step(2, 3), "=", 7),
        Check(largest_modular_step(0, 1), "=", 7),
        label="modular",
    )
    add, few = int8.saturating_add, (-128, -1, 0, 1, 127)
    yield Erratum(
        "saturating addition is associative",
        "thrm:splitsummation",
        "for all numbers",
        "among numbers of one sign",
        Check(all(add(add(a, b), c) == add(a, add(b, c)) for a, b, c in product(few, repeat=3)), "=", True),
        Check(
            all(
                add(add(a, b), c) == add(a, add(b, c))
                for sign in (1, -1)
                for a, b, c in product([x for x in few if x * sign >= 0], repeat=3)
            ),
            "=",
            True,
        ),
        label="associative",
    )
    yield Erratum(
        "the L to disallow",
        "thrm:modular-arith-known",
        "-2^k, the least value of k bits",
        "-2^(k-1)",
        Check(int32.min, "=", -(2**32)),
        Check(int32.min, "=", -(2**31)),
        label="least",
    )
    mean = attack("rounding", "float64", j=7, m=-1).records
    yield Erratum(
        "records of the attack on Google's mean",
        "al:ibm-sized-64",
        "33 with j = 7",
        "2^7 + 1",
        Check(mean, "=", 33),
        Check(mean, "=", 2**7 + 1),
        label="google-mean",
    )
    yield from _of_overflow()
    yield from _of_saturation()


def _of_saturation() -> Iterator[Erratum]:
    cell = saturation_condition()
    ends = attack("saturation_reordering", "int4", lower=-1, upper=7, relation="change_one")
    yield Erratum(
        "the condition for saturation in Table 1",
        "table:lowerbounds",
        "n U > max(T) gives max(T) - min(T)",
        "n >= ceil((max - min)/|L|) + ceil((max - min)/U) does",
        Check(cell.found, cell.sign, cell.printed),
        Check(Fraction(ends.measure()), "=", cell.printed),
        label="saturation",
    )
    kind, n = IntType(4), 5
    six = attack("saturation_reordering", kind, lower=-kind.max, upper=kind.max, relation="symmetric")
    assert n * kind.max >= 2 ** (kind.bits + 1)
    yield Erratum(
        "the condition for saturation in the text",
        "sec:lowerbounds",
        "n min(U, -L) >= 2^(k+1) gives 2^k - 1 by reordering",
        "n >= ceil((max - min)/|L|) + ceil((max - min)/U) does",
        Check(largest_reordering(kind, -kind.max, kind.max, n), ">=", kind.max - kind.min),
        Check(Fraction(six.measure()), ">=", kind.max - kind.min),
        label="saturation-text",
    )


def largest_reordering(kind: IntType, lower: int, upper: int, n: int) -> int:
    """The largest difference of saturating sums between two orders of the same n records in [lower, upper]."""
    sums: dict[tuple[int, ...], set[int]] = {(): {0}}  # that some order of the records gives
    for size in range(1, n + 1):
        for data in combinations_with_replacement(range(lower, upper + 1), size):
            last = {x: data[:i] + data[i + 1 :] for i, x in enumerate(data)}
            sums[data] = {kind.saturating_add(s, x) for x, others in last.items() for s in sums[others]}
    return max(max(found) - min(found) for data, found in sums.items() if len(data) == n)


def _of_overflow() -> Iterator[Erratum]:
    cell = modular_condition()
    yield Erratum(
        "the condition for overflow in Table 1",
        "table:lowerbounds",
        "n U > max(T) gives max(T) - min(T)",
        "with L <= 0, as in the theorem",
        Check(cell.found, cell.sign, cell.printed),
        Check(largest_modular_change(0, 3), "=", cell.printed),
        label="modular-condition",
    )
    size = attack("overflow", "uint64", relation="insert_delete", upper=2**47).right.size
    yield Erratum(
        "the number of records of the overflow attack",
        "sec:lowerbounds",
        "at most ceil(2^k/U)",
        "ceil(max(T)/U) + 1, as a few lines above",
        Check(size, "<=", -(-(2**64) // 2**47)),
        Check(size, "<=", -(-(2**64 - 1) // 2**47) + 1),
        label="overflow-size",
    )
    most = np.array([2**63 - 1])
    yield Erratum(
        "overflow in Python",
        "sec:modularnoise",
        "wraps",
        "NumPy's does; Python's own integers have no limit",
        Check(most.item() + 1, "=", -(2**63)),
        Check((most + 1).item(), "=", -(2**63)),
        label="python-overflow",
    )
