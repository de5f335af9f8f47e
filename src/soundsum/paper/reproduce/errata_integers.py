"""The errata about sums of integers, and of the numbers of records: both statements computed side by side."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np

from soundsum.attacks import attack
from soundsum.numbers.types import IntType, int8, int32
from soundsum.paper.reproduce.bounds import (
    largest_modular_change,
    largest_modular_step,
    modular_condition,
    saturation_condition,
)
from soundsum.paper.reproduce.reproduction import Check, Erratum


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
