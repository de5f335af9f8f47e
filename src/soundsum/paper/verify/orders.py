"""Every short dataset at once: an array with one axis per record holds the sum of each, in every order.

With it, unordered neighbours of sums that depend on the order are compared exactly (the least and the largest sum over
all orders of each multiset), and so are insertions into trees. The arrays have V^n entries, so n stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.models import Shape
from soundsum.paper.verify.closures import Datasets, FarthestPair
from soundsum.paper.verify.machines import Ints, Joins, Machine

MOST_RECORDS = 5


class Sequences:
    """Sums of all sequences of up to `most` records over all inputs of a machine or a tree, made when first needed."""

    def __init__(self, machine: Machine | Joins, entries: int) -> None:
        self.machine, self.entries = machine, entries
        self._sums: dict[int, Ints] = {}
        self._orders: dict[int, tuple[Ints, Ints]] = {}

    @property
    def most(self) -> int:
        """The largest n for which the arrays are affordable."""
        values = max(2, len(self.machine.inputs))
        return max(n for n in range(MOST_RECORDS + 1) if values**n <= self.entries)

    def sums(self, n: int) -> Ints:
        """sums[x1, ..., xn] in units."""
        if n not in self._sums:
            states = self._of_tree(n) if isinstance(self.machine, Joins) else self._of_fold(n)
            self._sums[n] = np.asarray(self.machine.sums[states])
        return self._sums[n]

    def _of_fold(self, n: int) -> NDArray[Any]:
        assert isinstance(self.machine, Machine)
        states: NDArray[Any] = np.array(self.machine.start)
        for _ in range(n):
            states = self.machine.step[states]
        return states

    def _of_tree(self, n: int) -> NDArray[Any]:
        joins = self.machine
        assert isinstance(joins, Joins)
        if n == 0:
            return np.array(np.searchsorted(joins.sums, 0))

        def states(shape: Shape) -> NDArray[Any]:
            if isinstance(shape, int):
                return joins.leaves
            left, right = states(shape[0]), states(shape[1])
            joined: NDArray[Any] = joins.join[left.reshape(left.shape + (1,) * right.ndim), right]
            return joined

        return states(joins.shape(n))

    def over_orders(self, n: int) -> tuple[Ints, Ints]:
        """The least and the largest sum over all orders of each multiset of n records."""
        if n not in self._orders:
            sums = self.sums(n)
            least, most = sums.copy(), sums.copy()
            for order in permutations(range(n)):
                np.minimum(least, sums.transpose(order), out=least)
                np.maximum(most, sums.transpose(order), out=most)
            self._orders[n] = least, most
        return self._orders[n]

    def change_one(self, columns: Ints, n: int) -> FarthestPair:
        """Two multisets of n records with n - 1 in common, each in any order."""
        if n == 0:
            return FarthestPair(0, 0)
        least, most = (_part(sums, columns) for sums in self.over_orders(n))
        apart = most.max(axis=-1) - least.min(axis=-1)
        at = np.unravel_index(np.argmax(apart), apart.shape)

        def trace() -> Datasets:
            common, left, right = list(map(int, at)), int(most[at].argmax()), int(least[at].argmin())
            return self._ordered(columns, [*common, left], max), self._ordered(columns, [*common, right], min)

        return FarthestPair(int(apart[at]), most.size * len(columns), trace)

    def symmetric(self, columns: Ints, n: int) -> FarthestPair:
        """A multiset of n records against itself, or against one with a record fewer, each in any order."""
        if n == 0:
            return FarthestPair(0, 0)
        (least, most), (less, more) = (
            tuple(_part(sums, columns) for sums in self.over_orders(size)) for size in (n, n - 1)
        )
        best = FarthestPair(-1, 0)
        for high, low, sizes in (
            (most, least, (n, n)),
            (most, less[..., None], (n, n - 1)),
            (more[..., None], least, (n - 1, n)),
        ):
            apart = high - low
            at = np.unravel_index(np.argmax(apart), apart.shape)
            if apart[at] > best.difference:
                trace = partial(self._two_orders, columns, list(map(int, at)), sizes)
                best = FarthestPair(int(apart[at]), best.examined + apart.size, trace)
        return best

    def _two_orders(self, columns: Ints, records: list[int], sizes: tuple[int, int]) -> Datasets:
        high, low = sizes
        return self._ordered(columns, records[:high], max), self._ordered(columns, records[:low], min)

    def inserted(self, columns: Ints, n: int) -> FarthestPair:
        """An insertion into at most n - 1 records."""
        best = FarthestPair(0, 0)
        for m in range(1, n + 1):
            longer, shorter = (_part(self.sums(size), columns) for size in (m, m - 1))
            for i in range(m):
                apart = np.abs(longer - np.expand_dims(shorter, i))
                at = np.unravel_index(np.argmax(apart), apart.shape)
                if apart[at] > best.difference:
                    kept = [int(columns[c]) for c in at]
                    best = FarthestPair(int(apart[at]), best.examined, partial(_drop, kept, i, []))
                best = best._replace(examined=best.examined + apart.size)
        return best

    def truncated(self, columns: Ints, n: int) -> FarthestPair:
        """An insertion into at most n - 1 records, or into n or more of which the first n are kept."""
        best = self.inserted(columns, n)
        if n == 0:
            return best
        kept_sums = _part(self.sums(n), columns)  # [x1, ..., xn] against the same without x_i and with any y at the end
        for i in range(n):
            for extreme, sign in ((kept_sums.max(axis=-1), 1), (kept_sums.min(axis=-1), -1)):
                apart = sign * (np.expand_dims(extreme, i) - kept_sums)
                at = np.unravel_index(np.argmax(apart), apart.shape)
                if apart[at] > best.difference:
                    rest = tuple(c for j, c in enumerate(at) if j != i)
                    last = int((sign * kept_sums[rest]).argmax())
                    kept = [int(columns[c]) for c in at]
                    best = FarthestPair(int(apart[at]), best.examined, partial(_drop, kept, i, [int(columns[last])]))
                best = best._replace(examined=best.examined + apart.size * len(columns))
        return best

    def _ordered(self, columns: Ints, records: list[int], extreme: Callable[..., Any]) -> list[int]:
        """The records in the order with the largest or the least sum."""
        sums = self.sums(len(records))
        inputs = [int(columns[c]) for c in records]
        return list(extreme(sorted(set(permutations(inputs))), key=lambda order: sums[order]))


def _part(sums: Ints, columns: Ints) -> Ints:
    """The array restricted to records from `columns`; a view where they are consecutive."""
    if len(columns) and columns[-1] - columns[0] + 1 == len(columns):
        return sums[(slice(int(columns[0]), int(columns[-1]) + 1),) * sums.ndim]
    return sums[np.ix_(*[columns] * sums.ndim)] if sums.ndim else sums


def _drop(kept: list[int], i: int, last: list[int]) -> Datasets:
    """The records with and without the i-th, both with `last` at the end."""
    return kept + last, kept[:i] + kept[i + 1 :] + last
