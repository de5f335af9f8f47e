"""The largest error of computed sums, over every reachable pair of a computed and an exact sum.

A step from s to s' with a record worth a adds a - (s' - s) to any error. So the least and the largest error of each
state are enough to cover every pair of computed and exact sum. Trees likewise, node by node.
Errors are exact sum minus computed sum, in units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from soundsum.paper.verify.machines import INFINITE, Ints, Joins, Machine
from soundsum.paper.verify.trees import plain

NONE = -(1 << 62)
"""The largest error of a state that is not reached."""

Extremes: TypeAlias = tuple[Ints, Ints]
"""For each state the largest error, and the largest negated error."""


class Errors(NamedTuple):
    """Exact minus computed sum is in [-under, over]; infinite if a sum is not a number."""

    over: int
    under: int
    examined: int

    @property
    def worst(self) -> int:
        return max(self.over, self.under)


def of_fold(machine: Machine, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Extremes]:
    """Each state's extremes after 0, 1, 2, ... records; `amounts` are the columns' values, in units / finer."""
    sums = machine.sums * finer
    over = np.full(len(sums), NONE, dtype=np.int64)
    over[machine.start] = 0
    under = over.copy()
    step = machine.step[:, columns]
    while True:
        yield over, under
        states = np.flatnonzero(over > NONE)
        after = step[states]
        lost = amounts[None, :] - (sums[after] - sums[states][:, None])
        over, under = (
            _largest(len(sums), after, extreme[states][:, None] + sign * lost)
            for extreme, sign in ((over, 1), (under, -1))
        )


class OfTree:
    """Each state's extremes at the root of a tree; each kind of subtree is computed once."""

    def __init__(self, joins: Joins, columns: Ints, amounts: Ints, finer: int = 1) -> None:
        self.joins, self.sums = joins, joins.sums * finer
        states = joins.leaves[columns]
        lost = amounts - self.sums[states]
        leaf = _largest(len(self.sums), states, lost), _largest(len(self.sums), states, -lost)
        self._known: dict[Any, Extremes] = {0: leaf}

    def extremes(self, n: int) -> Extremes:
        return self._of(plain(self.joins.shape(n)))

    def _of(self, shape: Any) -> Extremes:
        if shape not in self._known:
            self._known[shape] = self._node(self._of(shape[0]), self._of(shape[1]))
        return self._known[shape]

    def _node(self, left: Extremes, right: Extremes) -> Extremes:
        a, b = np.flatnonzero(left[0] > NONE), np.flatnonzero(right[0] > NONE)
        after = self.joins.join[np.ix_(a, b)]
        lost = self.sums[a][:, None] + self.sums[b][None, :] - self.sums[after]
        over, under = (
            _largest(len(self.sums), after, left[i][a][:, None] + right[i][b][None, :] + sign * lost)
            for i, sign in ((0, 1), (1, -1))
        )
        return over, under


def summary(extremes: Extremes, sums: Ints) -> Errors:
    """The extremes over all reached states."""
    over, under = extremes
    reached = over > NONE
    if not reached.any():
        return Errors(0, 0, 0)
    if (np.abs(sums[reached]) >= INFINITE).any():
        return Errors(INFINITE, INFINITE, int(reached.sum()))
    return Errors(int(over[reached].max()), int(under[reached].max()), int(reached.sum()))


def _largest(size: int, at: NDArray[Any], errors: Ints) -> Ints:
    """For each state the largest of the errors that lead to it."""
    result = np.full(size, NONE, dtype=np.int64)
    np.maximum.at(result, at.ravel(), errors.ravel())
    return result
