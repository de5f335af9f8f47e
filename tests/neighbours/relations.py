"""Two neighbouring tables, as one list of rows that are in both or in one of them; and smaller pairs like it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from tests.neighbours.cells import identify
from tests.neighbours.queries import Query
from tests.neighbours.tables import Table

BOTH, LEFT, RIGHT = "both", "left", "right"


@dataclass(frozen=True)
class Pair:
    """Rows with the side they are on; a seed shuffles those of the right where their order does not matter.

    `variant` is another reader, cuts and order for the left, which must make no difference.
    """

    query: Query
    reader: str
    kinds: dict[str, str]
    rows: tuple[tuple[str, tuple[Any, ...]], ...]
    cuts: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    shuffled: int | None = None
    variant: tuple[str, tuple[int, ...], int | None] | None = None
    shift: int = 0
    looks: bool = False  # whether all that can be seen of the releases is compared

    def left(self) -> Table:
        return Table(self.reader, self.kinds, self._of(LEFT), self.cuts[0])

    def right(self) -> Table:
        return Table(self.reader, self.kinds, _shuffle(self._of(RIGHT), self.shuffled), self.cuts[1])

    def other(self) -> Table | None:
        """The left once more, handed over otherwise."""
        if self.variant is None:
            return None
        reader, cuts, order = self.variant
        return Table(reader, self.kinds, _shuffle(self._of(LEFT), order), cuts)

    def nothing(self) -> Table:
        return Table(self.reader, self.kinds, ())

    def _of(self, side: str) -> tuple[tuple[Any, ...], ...]:
        return tuple(row for where, row in self.rows if where in (BOTH, side))


def _shuffle(rows: tuple[tuple[Any, ...], ...], seed: int | None) -> tuple[tuple[Any, ...], ...]:
    return rows if seed is None else tuple(Random(seed).sample(rows, len(rows)))


def draw_neighbour(
    random: Random, query: Query, kinds: dict[str, str], rows: list[tuple[Any, ...]], more: list[tuple[Any, ...]]
) -> tuple[tuple[str, tuple[Any, ...]], ...] | None:
    """The rows of two neighbours: `rows` with one record or person more, less or changed; `more` are rows to add."""
    sides = [(BOTH, row) for row in rows]
    if query.person is not None:
        return _draw_person(random, query.person, kinds, sides, more)
    if query.sized:
        if not rows:
            return None
        place = random.randrange(len(rows))
        sides[place : place + 1] = [(LEFT, rows[place]), (RIGHT, more[0])]
    else:
        place = random.randrange(len(rows) + 1)
        sides.insert(place, (random.choice((LEFT, RIGHT)), more[0]))
    return tuple(sides)


def _draw_person(
    random: Random, person: str, kinds: dict[str, str], sides: list[tuple[str, Any]], more: list[tuple[Any, ...]]
) -> tuple[tuple[str, tuple[Any, ...]], ...] | None:
    """One person is on one side only: somebody who is there, or somebody new."""
    place, kind = list(kinds).index(person), kinds[person]
    everybody = [identify(kind, row[place]) for _, row in sides]
    own = identify(kind, more[0][place])
    if own is not None:
        for row in more:
            theirs = (*row[:place], more[0][place], *row[place + 1 :])
            sides.insert(random.randrange(len(sides) + 1), (BOTH, theirs))
    else:
        own = random.choice(everybody) if everybody else None
    if own is None:
        return None
    side = random.choice((LEFT, RIGHT))
    return tuple((side if identify(kind, row[place]) == own else BOTH, row) for _, row in sides)


def shrink_once(pair: Pair) -> Iterator[Pair]:
    """Pairs that are a little smaller, and neighbours all the same."""
    query = pair.query
    if pair.variant is not None:
        yield replace(pair, variant=None)
        yield replace(pair, variant=(pair.variant[0], pair.variant[1], None))
        yield replace(pair, variant=(pair.variant[0], (), pair.variant[2]))
    for smaller in ({"looks": False}, {"shuffled": None}, {"cuts": ((), ())}, {"cuts": (pair.cuts[0], pair.cuts[0])}):
        yield replace(pair, **smaller)  # type: ignore[arg-type]
    for place in range(len(query.asks)):
        if len(query.asks) > 1:
            yield replace(pair, query=replace(query, asks=query.asks[:place] + query.asks[place + 1 :]))
    for place in range(len(query.where)):
        yield replace(pair, query=replace(query, where=query.where[:place] + query.where[place + 1 :]))
    if query.by:
        yield replace(pair, query=replace(query, by=(), groups=None, max_groups=1))
    for size in (8, 4, 2, 1):
        for place in range(0, len(pair.rows), size):
            rows = pair.rows[place : place + size]
            if query.sized and any(side != BOTH for side, _ in rows):
                continue
            kept = pair.rows[:place] + pair.rows[place + size :]
            if any(side != BOTH for side, _ in kept):
                yield replace(pair, rows=kept)
    for half, cuts in enumerate(pair.cuts):
        for place in range(len(cuts)):
            fewer = cuts[:place] + cuts[place + 1 :]
            yield replace(pair, cuts=(fewer, pair.cuts[1]) if half == 0 else (pair.cuts[0], fewer))
    unused = [name for name in pair.kinds if name not in query.columns]
    for name in unused:
        place = list(pair.kinds).index(name)
        kinds = {own: kind for own, kind in pair.kinds.items() if own != name}
        yield replace(pair, kinds=kinds, rows=tuple((side, row[:place] + row[place + 1 :]) for side, row in pair.rows))
