"""Neighbours of a sum in two halves: negatives and the rest run apart and meet in one last addition.

A record is in one half, so the halves' pairs are closed apart and combined at the end instead of squaring the states.
Insert-delete: one half differs. Hamming: a record changes within its half, or leaves one half for the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from soundsum.paper.verify.closures import (
    Datasets,
    FarthestPair,
    Kind,
    Layer,
    closure,
    exchange,
    first_layer,
    next_layer,
    path,
    walk_back,
)
from soundsum.paper.verify.machines import Ints, Joined, Machine

ANY = -1
"""The number of records where all sizes are taken together."""


class Half:
    """One half with its records: layers and closures, each computed once. `finish[other state, own state]`."""

    def __init__(self, machine: Machine, columns: Ints, finish: Ints, others: Ints) -> None:
        self.machine, self.columns, self.finish, self.others = machine, columns, finish, others
        self._layers: dict[Kind, list[Layer]] = {}
        self._closures: dict[Kind, Layer] = {}
        self._worst: dict[tuple[Kind, int], tuple[Ints, Ints]] = {}
        self._extremes: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}

    def layer(self, n: int, kind: Kind) -> Layer:
        if n == ANY:
            if kind not in self._closures:
                self._closures[kind] = closure(self.machine, self.columns, kind)
            return self._closures[kind]
        known = self._layers.setdefault(kind, [first_layer(self.machine)])
        while len(known) <= n:
            known.append(next_layer(self.machine, self.columns, known[-1], kind))
        return known[n]

    def history(self, n: int, kind: Kind) -> list[Layer]:
        self.layer(n, kind)
        return self._layers[kind][: n + 1]

    def pairs(self, n: int, kind: Kind) -> Ints:
        layer = self.layer(n, kind)
        return layer.changed if kind == "changed" else layer.inserted

    def worst(self, n: int, kind: Kind) -> tuple[Ints, Ints]:
        """For each state of the other half, the largest difference a pair of this half makes, and the pair."""
        if (kind, n) not in self._worst:
            pairs = self.pairs(n, kind)
            none = np.zeros(len(self.finish), dtype=np.int64)
            self._worst[kind, n] = none, none
            if len(pairs):
                s, t = np.divmod(pairs, len(self.machine.sums))
                finish = self.finish[self.others]
                apart = np.abs(finish[:, s] - finish[:, t])
                at = np.argmax(apart, axis=1)
                worst, worst_pairs = none.copy(), none.copy()
                worst[self.others], worst_pairs[self.others] = apart[np.arange(len(at)), at], pairs[at]
                self._worst[kind, n] = worst, worst_pairs
        return self._worst[kind, n]

    def extremes(self, n: int) -> tuple[Ints, Ints, Ints, Ints]:
        """The extreme pairs: each longer state with the least shorter one, each shorter with the least longer."""
        if n not in self._extremes:
            shorter, longer = np.divmod(self.pairs(n, "inserted"), len(self.machine.sums))
            order = np.lexsort((shorter, longer))
            longer_states, first = np.unique(longer[order], return_index=True)
            shorter_states, least = np.unique(shorter, return_index=True)  # pairs ascend: the first is the least
            self._extremes[n] = longer_states, shorter[order][first], shorter_states, longer[least]
        return self._extremes[n]

    def datasets(self, n: int, kind: Kind, pair: int) -> Datasets:
        return walk_back(self.machine, self.columns, self.history(n, kind), pair, kind)

    def dataset(self, n: int, state: int) -> list[int]:
        return path(self.machine, self.columns, self.history(n, "inserted"), state)


class Halves:
    """A joined sum, with the halves of each set of records kept for the bounds that share it."""

    def __init__(self, joined: Joined) -> None:
        self.joined = joined
        self._halves: dict[tuple[bool, bool, bytes], Half] = {}

    def halves(self, q: Ints, p: Ints) -> tuple[Half, Half]:
        """The two halves for records in columns q and p. If one has none, the other meets its start alone."""
        one, two, finish = self.joined.negative, self.joined.positive, self.joined.finish
        return self._half(one, q, finish.T, two, len(p) > 0), self._half(two, p, finish, one, len(q) > 0)

    def _half(self, machine: Machine, columns: Ints, finish: Ints, other: Machine, met: bool) -> Half:
        key = machine is self.joined.negative, met, columns.tobytes()
        if key not in self._halves:
            if len(self._halves) > 600:
                self._halves.clear()
            others = np.arange(len(other.sums)) if met else np.array([other.start])
            self._halves[key] = Half(machine, columns, finish, others)
        return self._halves[key]

    def any_size(self, q: Half, p: Half, kind: Kind) -> FarthestPair:
        return self._farthest(q, p, kind, [(ANY, ANY)], [(ANY, ANY)])

    def by_size(self, q: Half, p: Half, kind: Kind) -> Iterator[FarthestPair]:
        """For n = 0, 1, 2, ... records in both halves together, m of them among the negatives."""
        n = 0
        while True:
            yield self._farthest(
                q, p, kind, [(m, n - m) for m in range(n + 1)], [(m, n + 1 - m) for m in range(1, n + 1)]
            )
            n += 1

    def _farthest(
        self, q: Half, p: Half, kind: Kind, within: list[tuple[int, int]], across: list[tuple[int, int]]
    ) -> FarthestPair:
        """The farthest pair over how the records may be shared out: one half differs, or a record changes sides.

        `across` counts the longer dataset in each half.
        """
        found = FarthestPair(-1, 0)
        examined = 0
        for m, rest in within:
            for half, n, other, others in ((q, m, p, rest), (p, rest, q, m)):
                worst, pairs = half.worst(n, kind)
                states = other.layer(others, "inserted").equal
                if not len(states):
                    continue  # a half without records of its own
                at = int(states[np.argmax(worst[states])])
                examined += len(half.pairs(n, kind)) * len(states)
                if worst[at] > found.difference:
                    trace = partial(self._within, half, n, kind, int(pairs[at]), other, others, at)
                    found = FarthestPair(int(worst[at]), 0, trace)
        if kind == "changed" and len(q.columns) and len(p.columns):
            for m, rest in across:
                crossed = self._across(q, p, m, rest)
                examined += crossed.examined
                found = max(found, crossed, key=lambda f: f.difference)
        return found._replace(examined=examined)

    def _across(self, q: Half, p: Half, m: int, rest: int) -> FarthestPair:
        """One dataset has the longer half of one sign and the shorter of the other, its neighbour the reverse.

        finish grows with both states, so for each state only its least partner can give the largest difference.
        """
        finish, best = self.joined.finish, FarthestPair(-1, 0)
        q_long, q_least_short, q_short, q_least_long = q.extremes(m)
        p_long, p_least_short, p_short, p_least_long = p.extremes(rest)
        if not len(q_long) or not len(p_long):
            return best
        for q_grows, q_from, q_to, p_from, p_to in (
            (False, q_short, q_least_long, p_long, p_least_short),
            (True, q_long, q_least_short, p_short, p_least_long),
        ):
            apart = finish[np.ix_(q_from, p_from)] - finish[np.ix_(q_to, p_to)]
            i, j = np.unravel_index(np.argmax(apart), apart.shape)
            if apart[i, j] > best.difference:
                qs, ps = (int(q_from[i]), int(q_to[i])), (int(p_from[j]), int(p_to[j]))
                best = FarthestPair(int(apart[i, j]), 0, partial(self._crossed, q_grows, q, m, qs, p, rest, ps))
        return best._replace(examined=len(q.pairs(m, "inserted")) * len(p.pairs(rest, "inserted")))

    def _within(self, half: Half, n: int, kind: Kind, pair: int, other: Half, others: int, state: int) -> Datasets:
        """One half differs by the pair, the other is the same in both datasets."""
        left, right = half.datasets(n, kind, pair)
        common = other.dataset(others, state)
        negative = half.machine is self.joined.negative
        return self._inputs(negative, left, common), self._inputs(negative, right, common)

    def _crossed(
        self, q_grows: bool, q: Half, m: int, qs: tuple[int, int], p: Half, rest: int, ps: tuple[int, int]
    ) -> Datasets:
        """qs and ps are states in the one dataset and in the other; q_grows: the one has the longer negative half."""

        def ordered(half: Half, n: int, states: tuple[int, int], longer_first: bool) -> Datasets:
            shorter, longer = states[::-1] if longer_first else states
            datasets = half.datasets(n, "inserted", shorter * len(half.machine.sums) + longer)
            return datasets[::-1] if longer_first else datasets

        negative, positive = ordered(q, m, qs, q_grows), ordered(p, rest, ps, not q_grows)
        return self._inputs(True, negative[0], positive[0]), self._inputs(True, negative[1], positive[1])

    def _inputs(self, first_is_negative: bool, first: list[int], second: list[int]) -> list[int]:
        """Inputs of the whole: the negatives come first, and their numbers too."""
        negative, positive = (first, second) if first_is_negative else (second, first)
        shift = len(self.joined.negative.inputs)
        return negative + [column + shift for column in positive]

    def exchange(self, q: Half, p: Half) -> Datasets | None:
        """Two orders that lead to different states; records of different halves may always be exchanged."""
        for half, negative in ((q, True), (p, False)):
            orders = exchange(half.machine, half.columns)
            if orders is not None:
                return self._inputs(negative, orders[0], []), self._inputs(negative, orders[1], [])
        return None
