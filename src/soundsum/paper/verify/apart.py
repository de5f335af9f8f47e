"""Sums in two halves kept apart: negatives and the rest, each truncated and added on its own, then added exactly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import numpy as np

from soundsum.paper.verify.closures import BySize, Datasets, FarthestPair, Kind
from soundsum.paper.verify.errors import Errors
from soundsum.paper.verify.forms import Form
from soundsum.paper.verify.machines import Ints


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
