"""Ways to add as finite machines: numbered states, numbered inputs, and a table of the steps between them.

A fold on a tiny type has few states, so its table says everything about it. Sums are kept exactly, as integers that
count a unit (the smallest subnormal of a float type). The table comes from running the model itself; where that would
be slow, the same model runs on whole arrays of such integers at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.models import Fold, Tree
from soundsum.numbers.rationals import Rounding, Value, is_special
from soundsum.numbers.types import FloatType
from soundsum.refusals import Reason, RefusedValue

Ints: TypeAlias = NDArray[np.int64]

MOST_STATES = 1 << 17
"""A fold with more states than this is not enumerated; on tiny types every sum of a machine has fewer."""

INFINITE = 1 << 60
"""Stands for a sum that is no number; differences from it exceed every bound."""


@dataclass(frozen=True)
class Multiples(FloatType):
    """The float type k, l with its values written as integers, multiples of the smallest subnormal, in whole arrays.

    >>> Multiples(2, 3).add(np.array([28, 5]), np.array([4, 8]))
    array([32, 12])
    """

    @cached_property
    def largest(self) -> int:
        return int(self.max / self.smallest_subnormal)

    def add(self, a: Any, b: Any, mode: Rounding = Rounding.NEAREST) -> Any:
        """a + b rounded to k+1 significant bits, half to even or toward zero; INFINITE beyond the largest."""
        a, b = np.asarray(a, dtype=np.int64), np.asarray(b, dtype=np.int64)
        total = a + b
        magnitude = np.abs(total)
        shift = np.maximum(np.frexp(magnitude.astype(np.float64))[1] - (self.k + 1), 0)
        kept, half = magnitude >> shift, (1 << shift) >> 1
        lost = magnitude - (kept << shift)
        up = (lost > half) | ((lost == half) & (shift > 0) & (kept & 1 > 0))
        rounded = kept + (up & (mode == Rounding.NEAREST)) << shift
        if mode == Rounding.TOWARD_ZERO:
            rounded = np.minimum(rounded, self.largest)
        finite = (rounded <= self.largest) & (np.abs(a) <= self.largest) & (np.abs(b) <= self.largest)
        return np.where(finite, np.sign(total) * rounded, INFINITE)

    def values_as_multiples(self) -> Ints:
        """Every finite value, ascending."""
        return np.array([int(x / self.smallest_subnormal) for x in self.values()], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Machine:
    """step[s, i] is the state after input i in state s (-1 where never needed); sums[s] counts units and ascends."""

    inputs: Ints
    step: NDArray[np.int32]
    sums: Ints
    start: int
    unit: Fraction


def of_fold(fold: Fold, inputs: Sequence[Value], unit: Fraction) -> Machine:
    """The machine of a fold, found state by state from its start."""
    number, rows = {fold.start: 0}, []
    states = [fold.start]
    for state in states:  # grows as new states turn up
        if len(states) > MOST_STATES:
            raise RefusedValue(
                "fold",
                Reason.TOO_MANY,
                "the model has over {most:,} states on these inputs, so they cannot all be seen",
                "give a model with fewer",
                most=MOST_STATES,
            )
        row = []
        for x in inputs:
            after = _canonical(fold.step(state, x))
            if after not in number:
                number[after] = len(states)
                states.append(after)
            row.append(number[after])
        rows.append(row)
    sums = np.array([count_units(fold.finish(state), unit) for state in states], dtype=np.int64)
    return _ascending(_count_all(inputs, unit), np.array(rows, dtype=np.int32), sums, 0, unit)


def of_fold_on_arrays(fold: Fold, kind: Multiples, inputs: Sequence[Value], depth: int | None = None) -> Machine:
    """Enumerate the states of a model made with `Multiples`: a layer of states at a time, at most `depth` layers.

    States are numbers or tuples of numbers; each component is coded by its place among the type's values.
    """
    xs = _count_all(inputs, kind.smallest_subnormal)
    places = np.append(kind.values_as_multiples(), INFINITE)
    parts = len(fold.start) if isinstance(fold.start, tuple) else 1

    def step_all(keys: Ints) -> Ints:
        decoded = [places[keys // len(places) ** (parts - 1 - i) % len(places)][:, None] for i in range(parts)]
        after = fold.step(tuple(decoded) if parts > 1 else decoded[0], xs[None, :])
        return encode(after if parts > 1 else (after,))

    def encode(components: Sequence[Any]) -> Ints:
        key = np.zeros(1, dtype=np.int64)
        for component in components:
            key = key * len(places) + np.searchsorted(places, np.asarray(component, dtype=np.int64))
        return key

    start = encode(fold.start if isinstance(fold.start, tuple) else (fold.start,))
    known, frontier, layers = start, start, 0
    expanded: list[tuple[Ints, Ints]] = []
    while len(frontier) and (depth is None or layers < depth):
        after = step_all(frontier)
        expanded.append((frontier, after))
        frontier = np.setdiff1d(after, known)
        known, layers = np.union1d(known, frontier), layers + 1
    step = np.full((len(known), len(xs)), -1, dtype=np.int32)
    for before, after in expanded:
        step[np.searchsorted(known, before)] = np.searchsorted(known, after)
    components = [places[known // len(places) ** (parts - 1 - i) % len(places)] for i in range(parts)]
    sums = np.asarray(fold.finish(tuple(components) if parts > 1 else components[0]), dtype=np.int64)
    return _ascending(xs, step, sums, int(np.searchsorted(known, start[0])), kind.smallest_subnormal)


@dataclass(frozen=True, eq=False)
class Joined:
    """A fold that adds the negatives and the rest apart: two machines, and finish[q, p] of their two states."""

    negative: Machine
    positive: Machine
    finish: Ints
    unit: Fraction


def of_halves(fold: Fold, inputs: Sequence[Value], unit: Fraction) -> Joined:
    """The two halves of a fold whose state is (negative sum, positive sum), after checking that they are apart.

    That a step touches one half only, and looks at that half only, is checked on every pair of states up to 64
    pairs and on an even selection beyond.
    """
    q0, p0 = fold.start
    negative = of_fold(Fold(q0, lambda q, x: fold.step((q, p0), x)[0]), [x for x in inputs if x < 0], unit)
    positive = of_fold(Fold(p0, lambda p, x: fold.step((q0, p), x)[1]), [x for x in inputs if not x < 0], unit)
    qs, ps = ([Fraction(int(s)) * unit for s in half.sums] for half in (negative, positive))
    finish = np.array([[count_units(fold.finish((q, p)), unit) for p in ps] for q in qs], dtype=np.int64)
    # Pairs of pairs are compared by their extremes, which is exact for a finish that grows with both sums.
    assert (np.diff(finish, axis=0) >= 0).all(), "the last addition is not monotone"
    assert (np.diff(finish, axis=1) >= 0).all(), "the last addition is not monotone"
    every = max(1, math.isqrt(len(qs) * len(ps) // 64))
    for q, p in product(qs[::every], ps[::every]):
        for x in inputs:
            apart = (fold.step((q, p0), x)[0], p) if x < 0 else (q, fold.step((q0, p), x)[1])
            assert fold.step((q, p), x) == apart, "the halves are not apart"
    return Joined(negative, positive, finish, unit)


@dataclass(frozen=True, eq=False)
class Joins:
    """A tree's one addition as a table: join[s, t] on states that are the type's values, ascending, then INFINITE."""

    shape: Any
    join: NDArray[np.int32]
    sums: Ints
    inputs: Ints
    unit: Fraction

    @cached_property
    def leaves(self) -> Ints:
        """The state of each input."""
        return np.searchsorted(self.sums, self.inputs)


def of_tree(tree: Tree, kind: Multiples, inputs: Sequence[Value]) -> Joins:
    sums = np.append(kind.values_as_multiples(), INFINITE)
    join = np.searchsorted(sums, tree.join(sums[:, None], sums[None, :])).astype(np.int32)
    unit = kind.smallest_subnormal
    return Joins(tree.shape, join, sums, _count_all(inputs, unit), unit)


def count_units(x: Value, unit: Fraction) -> int:
    """The number of units in x; INFINITE for NaN and infinities."""
    if is_special(x):
        return -INFINITE if x == -math.inf else INFINITE
    units = Fraction(x) / unit
    assert units.denominator == 1, f"{x} is no multiple of {unit}"
    return int(units)


def _count_all(values: Iterable[Value], unit: Fraction) -> Ints:
    return np.array([count_units(x, unit) for x in values], dtype=np.int64)


def _canonical(state: Any) -> Any:
    return math.nan if isinstance(state, float) and math.isnan(state) else state


def _ascending(inputs: Ints, step: NDArray[np.int32], sums: Ints, start: int, unit: Fraction) -> Machine:
    order = np.argsort(sums, kind="stable")
    place = np.empty(len(order) + 1, dtype=np.int32)
    place[order] = np.arange(len(order), dtype=np.int32)
    place[-1] = -1  # so that "never needed" stays what it is
    return Machine(inputs, place[step[order]], sums[order], int(place[start]), unit)
