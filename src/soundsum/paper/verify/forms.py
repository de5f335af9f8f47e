"""The shapes a sum can have (exact, fold, two halves that meet, two halves kept apart, tree), with one interface.

A form answers how far neighbours' sums can be apart, for all sizes or by size, whether records may be exchanged, how
far sums are from exact, and the sensitivity that this alone would bound. Records are given as columns: numbers of the
form's inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cached_property, reduce
from itertools import count, pairwise
from typing import cast

import numpy as np

from soundsum.numbers.models import Fold, Tree
from soundsum.numbers.rationals import Value
from soundsum.paper.verify import closures, errors
from soundsum.paper.verify.closures import BySize, Datasets, FarthestPair, Kind
from soundsum.paper.verify.errors import Errors, Extremes
from soundsum.paper.verify.halves import Halves
from soundsum.paper.verify.machines import Ints, Joins, Machine, count_units
from soundsum.paper.verify.orders import Sequences
from soundsum.paper.verify.trees import ChangedInTree


class Form(ABC):
    inputs: Ints  # in units, ascending
    unit: Fraction
    sequences: Sequences | None = None

    def columns(self, values: Iterable[Value]) -> Ints:
        """The numbers of the inputs with these values."""
        wanted = np.array([count_units(x, self.unit) for x in values], dtype=np.int64)
        found = np.searchsorted(self.inputs, wanted)
        assert np.array_equal(self.inputs[np.minimum(found, len(self.inputs) - 1)], wanted), "not an input"
        return found

    def amounts(self, columns: Ints) -> Ints:
        """The values of the inputs, in units."""
        return self.inputs[columns]

    @abstractmethod
    def by_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
        """The farthest neighbours for n = 0, 1, 2, ...; it may end where arrays would become too large."""

    @abstractmethod
    def errors(self, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Errors]:
        """The distance of the sum of n = 0, 1, 2, ... records from their exact sum, in units / finer."""

    def any_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> FarthestPair:
        raise NotImplementedError(f"{type(self).__name__} is looked at size by size")

    def exchange(self, columns: Ints) -> Datasets | None:
        """Two orders of the same records that lead to different states; None if the order never matters."""
        raise NotImplementedError(f"{type(self).__name__} depends on the order")

    def total(self, dataset: list[int]) -> int:
        """The sum of inputs given by number, in units."""
        raise NotImplementedError(f"{type(self).__name__} is not truncated")

    def kept_in_any_order(self, columns: Ints, n: int, modulus: int | None = None) -> FarthestPair:
        """The farthest sums of datasets longer than n, the same records in two orders, of which n are kept."""
        raise NotImplementedError(f"{type(self).__name__} is not truncated")

    @property
    def may_commute(self) -> bool:
        """Returns whether `exchange` may succeed."""
        return True

    def errors_by_size(self, columns: Ints, amounts: Ints, finer: int = 1) -> BySize[Errors]:
        key = finer, columns.tobytes(), amounts.tobytes()
        if key not in self._errors:
            if len(self._errors) > 50:
                self._errors.clear()
            self._errors[key] = BySize(self.errors(columns, amounts, finer))
        return self._errors[key]

    @cached_property
    def _errors(self) -> dict[tuple[int, bytes, bytes], BySize[Errors]]:
        return {}

    def bound(self, columns: Ints, kind: Kind, n: int) -> int:
        """The sensitivity that the measured accuracy implies for n records: the ideal difference and both errors."""
        amounts = self.amounts(columns)
        sizes = self.errors_by_size(columns, amounts).upto(n)
        if n == 0:
            return 0
        spread = int(amounts.max() - amounts.min())
        if kind == "changed":
            return spread + sizes[n].over + sizes[n].under
        inserted = max(
            int(np.abs(amounts).max()) + max(longer.over + shorter.under, longer.under + shorter.over)
            for shorter, longer in pairwise(sizes)
        )
        return max(inserted, spread + sizes[n].over + sizes[n].under) if kind == "truncated" else inserted


class ExactForm(Form):
    """An exact sum: a step from s by y leads to s + y, so pairs keep their difference and sizes do not matter."""

    def __init__(self, fold: Fold) -> None:
        assert is_exact(fold)
        self.unit = Fraction(1)

    def columns(self, values: Iterable[Value]) -> Ints:
        return np.array([count_units(x, self.unit) for x in values], dtype=np.int64)

    def amounts(self, columns: Ints) -> Ints:
        return columns

    def any_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> FarthestPair:
        high, low = int(columns.max()), int(columns.min())
        if kind == "changed":
            return FarthestPair(high - low, len(columns) ** 2, lambda: ([low], [high]))
        farthest = max(high, low, key=abs)
        return FarthestPair(abs(farthest), len(columns), lambda: ([], [farthest]))

    def by_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
        yield FarthestPair(0, 0)
        while True:
            yield self.any_size(columns, kind)

    def exchange(self, columns: Ints) -> Datasets | None:
        return None

    def kept_in_any_order(self, columns: Ints, n: int, modulus: int | None = None) -> FarthestPair:
        high, low = [int(columns.max())] * n, [int(columns.min())] * n
        return FarthestPair(sum(high) - sum(low), len(columns) ** 2, lambda: (high + low, low + high))

    def errors(self, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Errors]:
        lost = amounts - columns.astype(object) * finer  # Python's integers: a step may be far below the records
        for n in count():
            yield Errors(n * int(lost.max()), -n * int(lost.min()), n * len(columns))


def is_exact(fold: Fold) -> bool:
    """Returns whether a fold adds integers as they are: all small ones, and powers of two far beyond the tiny types."""
    if not isinstance(fold.start, int) or fold.start != 0:
        return False
    far = [sign << bits for bits in range(3, 130) for sign in (-1, 1)]
    tried = [*range(-40, 41), *far]
    small = range(-9, 10)
    return all(fold.step(s, y) == s + y for s in tried for y in small) and all(fold.finish(s) == s for s in tried)


class FoldForm(Form):
    def __init__(self, machine: Machine, entries: int) -> None:
        self.machine, self.inputs, self.unit = machine, machine.inputs, machine.unit
        self.sequences = Sequences(machine, entries)

    def any_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> FarthestPair:
        return closures.any_size(self.machine, columns, kind, modulus)

    def by_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
        return closures.by_size(self.machine, columns, kind, modulus)

    def exchange(self, columns: Ints) -> Datasets | None:
        return closures.exchange(self.machine, columns)

    def total(self, dataset: list[int]) -> int:
        return int(self.machine.sums[reduce(lambda state, x: self.machine.step[state, x], dataset, self.machine.start)])

    def kept_in_any_order(self, columns: Ints, n: int, modulus: int | None = None) -> FarthestPair:
        return closures.kept_in_any_order(self.machine, columns, n, modulus)

    def errors(self, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Errors]:
        for extremes in errors.of_fold(self.machine, columns, amounts, finer):
            yield errors.summary(extremes, self.machine.sums)


class TreeForm(Form):
    def __init__(self, joins: Joins, entries: int) -> None:
        self.joins, self.inputs, self.unit = joins, joins.inputs, joins.unit
        self.sequences = Sequences(joins, entries)

    @property
    def may_commute(self) -> bool:
        return False

    def by_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
        if kind == "changed":
            yield from map(ChangedInTree(self.joins, columns).by_size, count())
        assert self.sequences is not None
        looked_at = self.sequences.truncated if kind == "truncated" else self.sequences.inserted
        for n in range(self.sequences.most + 1):
            yield looked_at(columns, n)

    def total(self, dataset: list[int]) -> int:
        tree = Tree(self.joins.shape, lambda left, right: self.joins.join[left, right])
        return int(self.joins.sums[cast(int, tree.sum(self.joins.leaves[dataset]))]) if dataset else 0

    def kept_in_any_order(self, columns: Ints, n: int, modulus: int | None = None) -> FarthestPair:
        return ChangedInTree(self.joins, columns).kept_in_any_order(n)

    def errors(self, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Errors]:
        yield Errors(0, 0, 1)
        tree = errors.OfTree(self.joins, columns, amounts, finer)
        for n in count(1):
            yield errors.summary(tree.extremes(n), self.joins.sums)


class JoinedForm(Form):
    """Two halves that meet in one last addition."""

    def __init__(self, halves: Halves) -> None:
        self.halves, self.unit = halves, halves.joined.unit
        self.inputs = np.concatenate([halves.joined.negative.inputs, halves.joined.positive.inputs])
        self.negatives = len(halves.joined.negative.inputs)
        self._extremes: dict[bytes, BySize[Extremes]] = {}

    def _halves(self, columns: Ints) -> tuple[Ints, Ints]:
        return columns[columns < self.negatives], columns[columns >= self.negatives] - self.negatives

    def any_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> FarthestPair:
        return self.halves.any_size(*self.halves.halves(*self._halves(columns)), kind)

    def by_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
        return self.halves.by_size(*self.halves.halves(*self._halves(columns)), kind)

    def exchange(self, columns: Ints) -> Datasets | None:
        return self.halves.exchange(*self.halves.halves(*self._halves(columns)))

    def errors(self, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Errors]:
        """The errors of both halves and of the last addition, over every way to share the records out."""
        joined = self.halves.joined
        negative = columns < self.negatives
        machines = joined.negative, joined.positive
        shares = self._halves(columns)
        last = joined.negative.sums[:, None] + joined.positive.sums[None, :] - joined.finish
        for n in count():
            worst = [0, 0]
            for m in range(n + 1):
                q, p = (
                    self._half_extremes(machine, share, amounts[which], finer, size)
                    for machine, share, which, size in zip(
                        machines, shares, (negative, ~negative), (m, n - m), strict=True
                    )
                )
                for i, sign in ((0, 1), (1, -1)):
                    a, b = np.flatnonzero(q[i] > errors.NONE), np.flatnonzero(p[i] > errors.NONE)
                    if len(a) and len(b):
                        both = q[i][a][:, None] + p[i][b][None, :] + sign * finer * last[np.ix_(a, b)]
                        worst[i] = max(worst[i], int(both.max()))
            yield Errors(worst[0], worst[1], (n + 1) * last.size)

    def _half_extremes(self, machine: Machine, columns: Ints, amounts: Ints, finer: int, n: int) -> Extremes:
        key = b"%d %d " % (id(machine), finer) + columns.tobytes() + amounts.tobytes()
        if key not in self._extremes:
            if len(self._extremes) > 600:
                self._extremes.clear()
            self._extremes[key] = BySize(errors.of_fold(machine, columns, amounts, finer))
        return self._extremes[key].upto(n)[n]


class ApartForm(Form):
    """A record is in one half: one half differs, the other is the same, unless both are reordered."""

    def __init__(self, negative: Form, positive: Form) -> None:
        self.negative, self.positive, self.negatives = negative, positive, len(negative.inputs)
        self.inputs = np.concatenate([negative.inputs, positive.inputs])
        self.unit = negative.unit
        self._known: dict[tuple[bool, bytes], BySize[FarthestPair]] = {}

    @property
    def may_commute(self) -> bool:
        return False

    def _halves(self, columns: Ints) -> list[tuple[Form, Ints, int]]:
        low = columns < self.negatives
        return [
            (self.negative, columns[low], 0),
            (self.positive, columns[~low] - self.negatives, self.negatives),
        ]

    def by_size(self, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
        assert kind == "truncated", "halves apart are for unknown sizes"
        halves = [self._half(half, own) for half, own, _ in self._halves(columns)]
        for n in count():
            founds = [half.upto(n)[n:] for half in halves]
            if not all(founds):
                return
            (one,), (other,) = founds
            worse = one if one.difference > other.difference else _shift(other, self.negatives)
            yield worse._replace(examined=one.examined + other.examined)

    def kept_in_any_order(self, columns: Ints, n: int, modulus: int | None = None) -> FarthestPair:
        """Both halves at once: each keeps its own n, and one of them may have a record more or less."""
        halves = self._halves(columns)
        kept = [half.kept_in_any_order(own, n) for half, own, _ in halves]
        one, other = (
            (max([kept[i], *self._half(half, own).upto(n)[n:]], key=lambda found: found.difference), kept[1 - i])
            for i, (half, own, _) in enumerate(halves)
        )
        first, second = max((one, other[::-1]), key=lambda both: both[0].difference + both[1].difference)

        def trace() -> Datasets:
            (a, b), (c, d) = (
                sorted(found.trace() if found.trace else ([], []), key=lambda dataset: half.total(dataset[:n]))
                for found, (half, _, _) in zip((first, second), halves, strict=True)
            )
            return a + [x + self.negatives for x in c], b + [x + self.negatives for x in d]

        return FarthestPair(first.difference + second.difference, first.examined + second.examined, trace)

    def _half(self, half: Form, columns: Ints) -> BySize[FarthestPair]:
        """A half has a single bound, so many pairs of bounds share it."""
        key = half is self.positive, columns.tobytes()
        if key not in self._known:
            self._known[key] = BySize(half.by_size(columns, "truncated"))
        return self._known[key]

    def errors(self, columns: Ints, amounts: Ints, finer: int = 1) -> Iterator[Errors]:
        """For up to n records in each half: their errors add up."""
        low = columns < self.negatives
        worst = [[0, 0], [0, 0]]
        halves = zip(self._halves(columns), (low, ~low), strict=True)
        for both in zip(*(half.errors(own, amounts[which], finer) for (half, own, _), which in halves), strict=False):
            for i, half in enumerate(both):
                worst[i] = [max(worst[i][0], half.over), max(worst[i][1], half.under)]
            yield Errors(worst[0][0] + worst[1][0], worst[0][1] + worst[1][1], sum(half.examined for half in both))

    def bound(self, columns: Ints, kind: Kind, n: int) -> int:
        return max(half.bound(own, kind, n) for half, own, _ in self._halves(columns))


def _shift(found: FarthestPair, by: int) -> FarthestPair:
    trace = found.trace
    if trace is None:
        return found
    return found._replace(trace=lambda: tuple([c + by for c in part] for part in trace()))  # type: ignore[arg-type, return-value]
