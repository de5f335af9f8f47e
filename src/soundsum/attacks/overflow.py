"""Overflow (`thrm:mod-attack`, `ea:modular-sum`): integers that wrap around at the end of their type.

The records add up to the largest value of the type; one more, of value 1, and the sum is the smallest. Works for any
bounds with L <= 0 < U, signed or not, on every sum modulo 2^w.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.family import ANY_SIZED_FIRST, Family, Setting, Wish, whole
from soundsum.numbers import IntType, uint64


def default_upper(kind: IntType) -> int:
    """Half the type over 2^16 (or less, in small types), which gives the paper's U = 2^47 for 64 bits."""
    return 1 << max(0, kind.bits - 1 - min(16, kind.bits // 2))


def build(setting: Setting, upper: int | None = None) -> Attack:
    kind = setting.integers
    lower = setting.bounds[0] if setting.bounds else 0
    if upper is None:
        upper = int(setting.bounds[1]) if setting.bounds else default_upper(kind)
    if lower > 0:
        raise ValueError(f"lower={lower}: the condition is L <= 0, as records of 0 and 1 are used; give lower=0")
    U = whole("upper", upper, 1, kind.max, f"1 <= upper <= {kind.max}")
    n = -(-kind.max // U) + 1
    common = [(U, n - 2), (kind.max - (n - 2) * U, 1)]
    left = setting.runs(*common, *([(0, 1)] if setting.relation.sized else []))
    right = setting.runs(*common, (1, 1))
    return Attack(
        name="overflow",
        left=left,
        right=right,
        problem=setting.problem(0, U, n),
        totals=(kind.max, kind.min),
        parameters={"upper": U},
        aimed_at="modular",
        reference="thrm:mod-attack",
        statement="The records add up to the largest value of the type, and one more wraps around to the smallest.",
    )


def candidates(setting: Setting, wish: Wish) -> Iterator[dict[str, Any]]:
    """Fewer records need a larger U, a larger ratio a smaller one: each wish is met best by one U."""
    if setting.bounds:
        yield {}
        return
    kind = setting.integers
    if wish.ratio is not None:
        # The ideal is U both for a private and for a public size, as L = 0.
        yield {"upper": max(1, min(kind.max, int((kind.modulus - 1) / wish.ratio)))}
    elif wish.max_records is not None:
        yield {"upper": -(-kind.max // max(1, wish.max_records - 1))}


FAMILY = Family(
    name="overflow",
    goes_wrong="integers wrap around",
    types="integers",
    default=uint64,
    relations=ANY_SIZED_FIRST,
    parameters={"upper": "the largest record U, 1 or more"},
    build=build,
    candidates=candidates,
)
