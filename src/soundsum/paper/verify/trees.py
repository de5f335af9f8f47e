"""Neighbours of a sum done in a tree, by dynamic programming over its subtrees.

The shape depends on the number of records alone, so under Hamming the same tree adds both datasets and a changed
record sits in one subtree. An inserted record shifts all that follow into other places; that is enumerated record by
record, in arrays over all short datasets (`orders`), and beyond through the accuracy of the tree (`errors`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

import numpy as np

from soundsum.numbers.models import Shape
from soundsum.paper.verify.closures import CHUNK, Datasets, FarthestPair
from soundsum.paper.verify.machines import Ints, Joins

Pairs: TypeAlias = tuple[Ints, Ints]
"""The states a subtree can have, and the pairs it can have with one record changed, the smaller state first."""


def plain(shape: Shape) -> Any:
    """The shape without the records' numbers: equal subtrees become equal."""
    return 0 if isinstance(shape, int) else (plain(shape[0]), plain(shape[1]))


class ChangedInTree:
    """The pairs every subtree can reach with records from `columns`; each kind of subtree is computed once."""

    def __init__(self, joins: Joins, columns: Ints) -> None:
        self.joins, self.columns = joins, columns
        self._known: dict[Any, Pairs] = {}

    def by_size(self, n: int) -> FarthestPair:
        """The farthest pair of sums of n records."""
        if n == 0:
            return FarthestPair(0, 0)
        shape = self.joins.shape(n)
        pairs = self.reached(plain(shape))[1]
        s, t = np.divmod(pairs, len(self.joins.sums))
        apart = np.abs(self.joins.sums[s] - self.joins.sums[t])
        if not len(apart):
            return FarthestPair(0, 0)
        at = int(np.argmax(apart))
        return FarthestPair(int(apart[at]), len(pairs), partial(self.datasets, plain(shape), int(s[at]), int(t[at])))

    def kept_in_any_order(self, n: int) -> FarthestPair:
        """Longer datasets reordered, then cut to n records: of 2n, two orders keep any n and any n."""
        if n == 0:
            return FarthestPair(0, 0)
        shape = plain(self.joins.shape(n))
        states = self.reached(shape)[0]
        least, most = int(states[0]), int(states[-1])

        def trace() -> Datasets:
            one, other = self.dataset(shape, most), self.dataset(shape, least)
            return one + other, other + one

        return FarthestPair(int(self.joins.sums[most] - self.joins.sums[least]), len(states) ** 2, trace)

    def reached(self, shape: Any) -> Pairs:
        if shape not in self._known:
            self._known[shape] = self._leaf() if shape == 0 else self._node(*map(self.reached, shape))
        return self._known[shape]

    def _leaf(self) -> Pairs:
        leaves = np.unique(self.joins.leaves[self.columns])
        pairs = leaves[:, None] * len(self.joins.sums) + leaves[None, :]
        return leaves, pairs[leaves[:, None] < leaves[None, :]]

    def _node(self, left: Pairs, right: Pairs) -> Pairs:
        size, join = len(self.joins.sums), self.joins.join
        marks = np.zeros(size * size, dtype=np.bool_)
        for (_, changed), (equal, _), table in ((left, right, join), (right, left, join.T)):
            second = np.ascontiguousarray(table[:, equal])
            first = second * np.int32(size)
            rows = max(1, CHUNK // len(equal))
            for i in range(0, len(changed), rows):
                s, t = np.divmod(changed[i : i + rows], size)
                marks[(first[s] + second[t]).ravel()] = True
        square = marks.reshape(size, size)
        return np.unique(join[np.ix_(left[0], right[0])]), np.flatnonzero(np.triu(square | square.T, 1))

    def datasets(self, shape: Any, s: int, t: int) -> Datasets:
        """Two datasets, one record apart, whose subtree sums are the states s and t."""
        if shape == 0:
            return self._record(s), self._record(t)
        join, size = self.joins.join, len(self.joins.sums)
        for side in (0, 1):
            table = join if side == 0 else join.T
            changed, equal = self.reached(shape[side])[1], self.reached(shape[1 - side])[0]
            for a, b in (np.divmod(changed, size), np.divmod(changed, size)[::-1]):
                hit = np.argwhere((table[a][:, equal] == s) & (table[b][:, equal] == t))
                if len(hit):
                    pair, other = hit[0]
                    one, two = self.datasets(shape[side], int(a[pair]), int(b[pair]))
                    common = self.dataset(shape[1 - side], int(equal[other]))
                    return (one + common, two + common) if side == 0 else (common + one, common + two)
        raise AssertionError("a pair came from nowhere")

    def dataset(self, shape: Any, state: int) -> list[int]:
        if shape == 0:
            return self._record(state)
        left, right = (self.reached(part)[0] for part in shape)
        i, j = np.argwhere(self.joins.join[np.ix_(left, right)] == state)[0]
        return self.dataset(shape[0], int(left[i])) + self.dataset(shape[1], int(right[j]))

    def _record(self, state: int) -> list[int]:
        return [int(self.columns[np.flatnonzero(self.joins.leaves[self.columns] == state)[0]])]
