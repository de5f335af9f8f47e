"""What each statistic lets out: one or more integer sums, each with its step and what one unit can move it by.

A sum and a count let out one, a histogram one for each cell. A mean of unknown size lets out the sum of
c = 2q - (J + K), an integer in [-(K-J), K-J] counted from the middle of the bounds in half steps, and the count; a
variance the sum of c^2 too. With groups each of them is a vector. Proofs: docs/theorems/statistics.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from soundsum.integers import Integers, integers, near_integers
from soundsum.lattice import lattice
from soundsum.privacy import Guarantee, Noise
from soundsum.units import Moved

if TYPE_CHECKING:
    from soundsum.plan import Plan

Statistic: TypeAlias = Literal["sum", "count", "mean", "variance", "histogram"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)

VARIANCE_BITS = 28
"""A variance's grid is coarser, so that squares stay below 2^60."""


@dataclass(frozen=True)
class Part:
    """An integer sum (or one for each group) that is let out with noise.

    The sum is that of `weights` times the number of records, the sum of their integers and the sum of their squares. A
    record adds something in `range`, except to the sum of a method that has its own theorem.
    """

    name: str
    step: Fraction
    moved: Moved[int]
    weights: tuple[int, int, int]
    range: tuple[int, int] | None = None


def integers_for(statistic: Statistic, plan: Plan) -> Integers:
    """How the statistic turns records into integers."""
    match statistic:
        case "mean":
            return near_integers(plan.problem)
        case "variance":
            return near_integers(plan.problem, VARIANCE_BITS)
    return integers(plan.problem)


def parts(statistic: Statistic, plan: Plan) -> tuple[Part, ...]:
    """Everything the statistic lets out."""
    relation, unit = plan.problem.relation, plan.unit
    if statistic == "sum" and unit.is_plain:  # by whatever method
        grid = lattice(plan.problem, plan.adder)
        moved = Moved(grid.sensitivity, grid.sensitivity**2)
        return (Part("sum", grid.step, moved, (0, 1, 0)),)

    def part(name: str, low: int, high: int, step: Fraction, weights: tuple[int, int, int]) -> Part:
        return Part(name, step, unit.moved(low, high, relation), weights, (low, high))

    q = integers_for(statistic, plan)
    rows = part("count", 1, 1, Fraction(1), (1, 0, 0))
    match statistic:
        case "sum":
            return (part("sum", q.low, q.high, q.step, (0, 1, 0)),)
        case "count" | "histogram":  # their problem says whether every record counts
            return (part("count", q.low, q.high, Fraction(1), (1, 0, 0)),)
    first = part("sum of c", -q.width, q.width, q.step / 2, (-q.ends, 2, 0))
    second = part("sum of c^2", 0, q.width**2, q.step**2 / 4, (q.ends**2, -4 * q.ends, 4))
    powers = (first, second) if statistic == "variance" else (first,)
    return powers if relation.sized and unit.is_plain else (*powers, rows)


def noises(released: tuple[Part, ...], promise: Guarantee) -> tuple[Noise, ...]:
    """The noise of each part: equal shares of the promise for those that need any."""
    share = promise.part(Fraction(1, max(1, sum(part.moved.l1 > 0 for part in released))))
    return tuple(share.noise(part.moved) for part in released)
