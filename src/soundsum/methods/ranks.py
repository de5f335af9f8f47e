"""Ranks of public candidates for a quantile, counted in cells: each candidate is one, and so is what lies between two.

No sum is released. How far one record moves the errors that a candidate is chosen by is in privacy/choice.py; the proof
is docs/theorems/quantiles.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from soundsum.methods.method import Method, Theorem
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps, inward
from soundsum.numbers.formatting import amount
from soundsum.numbers.models import Fold, wide
from soundsum.numbers.rationals import nearest_float
from soundsum.numbers.types import IntType, float64
from soundsum.tables.records import Missing, Records


class Ladder(NamedTuple):
    """Candidates going up, the edges of the cells that tell them apart, and which cell each candidate is.

    The first cell has no lower end and the last one no upper: values are clamped to the bounds.
    """

    values: tuple[Fraction, ...]
    edges: tuple[int | float, ...]
    points: tuple[int, ...]


@dataclass(frozen=True)
class Ranks(Method):
    """For the quantile `quantile`, among equidistant `candidates` of this number, or the listed ones.

    `unit_value` is what 1 in the records is worth: a decimal's last digit, otherwise 1.
    """

    quantile: Fraction
    candidates: int | tuple[Fraction, ...]
    unit_value: Fraction = Fraction(1)

    name = "ranks"
    theorem = Theorem(
        "quantiles", "not in the paper", "one record moves every candidate's rank error by at most max(p, q - p) / q"
    )
    takes = IntType  # and floats: each record adds 1 to the count of its cell
    adds_floats = False

    def __post_init__(self) -> None:
        """As a certificate writes it, too."""
        given: Any = self.candidates
        listed = given if isinstance(given, int) else tuple(Fraction(one) for one in given)
        object.__setattr__(self, "quantile", Fraction(self.quantile))
        object.__setattr__(self, "candidates", listed)
        object.__setattr__(self, "unit_value", Fraction(self.unit_value))

    def unmet(self, problem: Problem) -> list[str]:
        return []

    def sensitivity(self, problem: Problem) -> Fraction:
        """In ranks."""
        return Fraction(1) if problem.relation.sized else max(self.quantile, 1 - self.quantile)

    def ladder(self, problem: Problem) -> Ladder:
        return _make_ladder(self, problem)

    @property
    def title(self) -> str:
        """Which quantile it is, to read.

        >>> Ranks(Fraction(1, 2), 3).title, Ranks(Fraction(99, 100), 3).title
        ('median', '0.99 quantile')
        """
        return "median" if self.quantile == Fraction(1, 2) else f"{amount(self.quantile)} quantile"

    def choice(self, problem: Problem) -> tuple[Fraction, tuple[int, ...], int]:
        """List the facts of a choice: the quantile, the cells that are candidates, and how many cells there are."""
        ladder = self.ladder(problem)
        return self.quantile, ladder.points, len(ladder.edges) - 1

    def model(self, problem: Problem) -> Fold:
        return wide()

    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        raise NotImplementedError("no sum of ranks is released")

    def steps(self, problem: Problem) -> tuple[str, ...]:
        return ("count", "choose")

    def noise_step(self, problem: Problem) -> Fraction:
        """Errors are in q-ths of a rank."""
        return Fraction(1, self.quantile.denominator)

    def record_steps(self, problem: Problem) -> RecordSteps:
        return RecordSteps(1, 1, Fraction(1))


@lru_cache(maxsize=64)
def _make_ladder(ranks: Ranks, problem: Problem) -> Ladder:
    values = _list_values(ranks, problem)
    kind, unit = problem.dtype, ranks.unit_value
    ends: tuple[Any, Any]
    if isinstance(kind, IntType):
        low, high = inward(problem)
        ends = low * unit, high * unit
    else:
        ends = _inward_doubles(problem)
    if unit == 1 and isinstance(kind, IntType) and all(x.denominator == 1 for x in values):
        whole = [int(x) for x in values]
        return _cut(values, whole, [x + 1 for x in whole], (int(kind.min), int(kind.max) + 1), ends)
    values = tuple({nearest_float(x): x for x in reversed(values)}.values())[::-1]
    floats = [nearest_float(x) for x in values]
    after = [sys.float_info.min if x == 0 else math.nextafter(x, math.inf) for x in floats]
    return _cut(values, floats, after, (-math.inf, math.inf), ends)


def _cut(
    values: tuple[Fraction, ...],
    begin: Sequence[Any],
    after: Sequence[Any],
    whole: tuple[Any, Any],
    ends: tuple[Any, Any],
) -> Ladder:
    """Cut the whole line into cells: from where each candidate begins to what comes after it, and those between.

    A candidate at a bound, one of the `ends`, has everything beyond it in its cell.
    """
    edges, points = [whole[0]], []
    for i, x in enumerate(values):
        if i or x > ends[0]:
            edges.append(begin[i])
        points.append(len(edges) - 1)
        following = begin[i + 1] if i + 1 < len(values) else whole[1]
        if after[i] < following and (i + 1 < len(values) or x < ends[1]):
            edges.append(after[i])
    return Ladder(values, (*edges, whole[1]), tuple(points))


def _inward_doubles(problem: Problem) -> tuple[Fraction, Fraction]:
    lower, upper = float64.round_up(problem.lower), float64.round_down(problem.upper)
    assert isinstance(lower, Fraction)  # as Quantile has seen to
    assert isinstance(upper, Fraction)
    return lower, upper


def _list_values(ranks: Ranks, problem: Problem) -> tuple[Fraction, ...]:
    """The candidates as exact numbers, going up: those listed, or equidistant ones from bound to bound, in the type."""
    unit, kind = ranks.unit_value, problem.dtype
    if isinstance(kind, IntType):
        low, high = inward(problem)
        if not isinstance(ranks.candidates, int):
            return tuple(sorted(set(ranks.candidates)))
        if high - low < ranks.candidates:
            return tuple(x * unit for x in range(low, high + 1))
        most = max(1, ranks.candidates - 1)
        return tuple((low + (2 * (high - low) * i + most) // (2 * most)) * unit for i in range(ranks.candidates))
    lower, upper = _inward_doubles(problem)
    if not isinstance(ranks.candidates, int):
        spread = list(ranks.candidates)
    else:
        most = max(1, ranks.candidates - 1)
        spread = [problem.lower + (problem.upper - problem.lower) * i / most for i in range(ranks.candidates)]
    nearest = (Fraction(nearest_float(max(lower, min(upper, x)))) for x in spread)
    return tuple(sorted(set(nearest)))
