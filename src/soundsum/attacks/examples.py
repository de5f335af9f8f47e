"""The paper's numbered Example Attacks, and Mironov's datasets, by the names the paper gives them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from soundsum.attacks.attack import Attack
from soundsum.attacks.choose import attack
from soundsum.numbers.rationals import power_of_two
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs


@dataclass(frozen=True)
class Example:
    """An Example Attack of the paper: its label, the attack, and the difference it prints."""

    label: str
    attack: Attack
    printed: int | Fraction


def examples() -> tuple[Example, ...]:
    """Every numbered Example Attack, at its full size.

    >>> [(example.label, f"{example.attack.records:,}") for example in examples()][:2]
    [('ea:modular-sum', '131,073'), ('ea:saturation', '393,216')]
    """
    return tuple(_examples())


def _examples() -> Iterator[Example]:
    change_one, symmetric = Relation.CHANGE_ONE, Relation.SYMMETRIC
    yield Example("ea:modular-sum", attack("overflow", "uint64", upper=2**47, relation=change_one), 2**64 - 1)
    saturation = attack("saturation_reordering", "int32", lower=-(2**14), upper=2**15, relation=symmetric)
    yield Example("ea:saturation", saturation, 2**32 - 1)
    yield Example("ea:32-nonassoc", attack("reordering", "float32", a=0, d=1, j=0), 2**24)
    yield Example("ea:64-nonassoc", attack("reordering", "float64", a=26, d=26, j=-26), 2)
    yield Example("ea:ham-round-once", attack("rounding", "float64", j=4, m=-1), power_of_two(-49))
    yield Example("ea:32-ham-round-accum", attack("repeated_rounding_1", "float32", j=15, m=0), 2**38)
    yield Example("ea:rr2", attack("repeated_rounding_2", "float64", j=30, upper=1), 33)


@dataclass(frozen=True)
class NamedPair:
    """Two datasets that are not an attack: how far their sums are apart, really and as computed, and their range."""

    left: Runs
    right: Runs
    real: Fraction
    computed: Fraction
    spread: Fraction


def mironov() -> NamedPair:
    """Mironov's example (1.2): one record changed by 1 moves the iterated sum by 129.

    The paper gives the differences and the range of the values; these are the datasets that have them.
    Below 2^30 the doubles are 2^-23 apart, so 2^30 records of -2^-23 are taken off exactly, 128 in all; from 2^30 + 1
    each is half an ulp, a tie that goes back to the even side, so each is lost. Bounds that hold these records are over
    2^30 apart, so the ideal sensitivity is over 2^30, and noise for it hides a difference of 129. It would be an attack
    only if one record could change by at most 1.

    >>> pair = mironov()
    >>> pair.real, pair.computed, pair.left.size
    (Fraction(1, 1), Fraction(129, 1), 1073741825)
    """
    small, large = -power_of_two(-23), power_of_two(30)
    left = Runs("float64", [(large + 1, 1), (small, 2**30)])
    right = Runs("float64", [(large, 1), (small, 2**30)])
    return NamedPair(
        left=left,
        right=right,
        real=Fraction(1),
        computed=Fraction(129),
        spread=large + 1 - small,
    )
