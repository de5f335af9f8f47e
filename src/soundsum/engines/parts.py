"""Exact totals that were added up apart: of records, or of persons by pairs of person and group.

Totals of records are added. Persons' are added pair by pair, and the caps on a person apply to the pairs of all parts
together, as if their rows had been read at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soundsum.engines.accumulators import Accumulator
from soundsum.engines.engine import Engine, Totals
from soundsum.engines.ids import IdKind, PersonWords
from soundsum.engines.memory import accumulate
from soundsum.engines.person_sums import Paired
from soundsum.kernels.persons import Pairs, draw_shards
from soundsum.statistics import Task
from soundsum.tables.rows import Rows


class Added(NamedTuple):
    """The totals of every task, and the number of rows where it is public."""

    totals: list[Totals]
    n: int | None

    def merge(self, other: Added, tasks: Sequence[Task]) -> Added:
        totals = [
            [[a + b for a, b in zip(ours, theirs, strict=True)] for ours, theirs in zip(one, two, strict=True)]
            for one, two in zip(self.totals, other.totals, strict=True)
        ]
        return Added(totals, None if self.n is None or other.n is None else self.n + other.n)

    def add_up(self, tasks: Sequence[Task]) -> tuple[list[Totals], int]:
        return self.totals, self.n or 0


class WrittenPairs(NamedTuple):
    """Pairs of one task, with the id of each as it is written (docs/partials/format.md)."""

    ids: Any
    codes: NDArray[np.int32]
    rows: NDArray[np.uint64]
    sums: NDArray[np.uint64]

    def take(self, chosen: NDArray[np.bool_]) -> WrittenPairs:
        return WrittenPairs(self.ids.filter(chosen), self.codes[chosen], self.rows[chosen], self.sums[chosen])


@dataclass(frozen=True)
class PersonPairs:
    """For every task stretches of pairs, in which a pair may come several times."""

    kind: IdKind
    tasks: tuple[tuple[WrittenPairs, ...], ...]

    @classmethod
    def of(cls, sums: Sequence[Accumulator], persons: PersonWords) -> PersonPairs:
        """The pairs that accumulators hold."""
        found = []
        for own in sums:
            assert isinstance(own, Paired)
            pairs = own.pairs()
            found.append((WrittenPairs(persons.write(pairs.words), *pairs[1:]),))
        return cls(persons.kind, tuple(found))

    def merge(self, other: PersonPairs, tasks: Sequence[Task]) -> PersonPairs:
        """Both, with pairs added up once they take twice the memory of those that are."""
        both = PersonPairs(self.kind, tuple([*a, *b] for a, b in zip(self.tasks, other.tasks, strict=True)))  # type: ignore[misc]
        sizes = [[len(some.rows) for some in own] for own in both.tasks]
        return both.compact(tasks) if any(sum(own) > 2 * max(own) for own in sizes) else both

    def deal(self, of: int) -> list[PersonPairs]:
        """The pairs of each shard: those of a person are all in one."""
        dealt: list[list[tuple[WrittenPairs, ...]]] = [[] for _ in range(of)]
        for stretches in self.tasks:
            places = [self._find_shards(some.ids, of) for some in stretches]
            for shard, own in enumerate(dealt):
                own.append(tuple(some.take(at == shard) for some, at in zip(stretches, places, strict=True)))
        return [PersonPairs(self.kind, tuple(own)) for own in dealt]

    def _find_shards(self, ids: Any, of: int) -> NDArray[np.uint64]:
        persons = PersonWords.of(self.kind)
        words = persons.read(ids)
        return draw_shards(persons.spelled(), words, of)

    def compact(self, tasks: Sequence[Task]) -> PersonPairs:
        """Every pair once."""
        if all(len(own) == 1 for own in self.tasks):
            return self
        persons = PersonWords.of(self.kind)
        return PersonPairs.of(self._accumulate(tasks, persons), persons)

    def add_up(self, tasks: Sequence[Task]) -> tuple[list[Totals], int]:
        """The totals of every task, each person within the caps."""
        return [own.totals() for own in self._accumulate(tasks, PersonWords.of(self.kind))], 0

    def _accumulate(self, tasks: Sequence[Task], persons: PersonWords) -> list[Accumulator]:
        made: list[Accumulator] = []
        for task, stretches in zip(tasks, self.tasks, strict=True):
            own = accumulate(task, persons)
            assert isinstance(own, Paired)
            for some in stretches:
                own.add_pairs(Pairs(persons.read(some.ids), some.codes, some.rows, some.sums))
            made.append(own)
        return made


class AddedUp(Engine):
    """An engine that returns totals which were added up in parts."""

    name = "parts"

    def __init__(self, data: Added | PersonPairs, beside: Mapping[str, Any] | None = None, table: Any = None) -> None:
        self._held = data

    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]:
        return self._held.add_up(tasks)
