"""The pairs of running states that two neighbours can reach, layer by layer or for all sizes at once.

Two neighbouring datasets run in step: equal at first, then one has a record the other lacks (inserted) or another one
(changed), then both see the same records to the end. A pair of states (s, t) is the number s * S + t. Whatever is
found can be walked back to two datasets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from soundsum.paper.verify.machines import Ints, Machine

Kind: TypeAlias = Literal["inserted", "changed", "truncated"]
"""The difference between two neighbours; `truncated` is an insertion before all but the first n records are dropped."""

Datasets: TypeAlias = tuple[list[int], list[int]]
"""Two datasets, as numbers of inputs."""

T = TypeVar("T")

CHUNK = 1 << 22
NOTHING: Ints = np.empty(0, dtype=np.int64)


class BySize(Generic[T]):
    """The values of a generator at n = 0, 1, 2, ..., cached."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source, self._known = source, list[T]()

    def upto(self, n: int) -> list[T]:
        """The answers for 0 to n, or as far as they go."""
        self._known.extend(islice(self._source, max(0, n + 1 - len(self._known))))
        return self._known[: n + 1]


class FarthestPair(NamedTuple):
    """The largest difference seen, in units, the number of pairs, and how to get datasets that show it."""

    difference: int
    examined: int
    trace: Callable[[], Datasets] | None = None


@dataclass(frozen=True, eq=False)
class Layer:
    """After n records: the states reached, and pairs (without, with) an inserted record, or with one record changed.

    In `inserted` the longer dataset has n records; `changed` pairs are kept with the smaller state first.
    """

    equal: Ints
    inserted: Ints
    changed: Ints


def layers(machine: Machine, columns: Ints, kind: Kind) -> Iterator[Layer]:
    """Layer 0, 1, 2, ... of the records in `columns`."""
    layer = first_layer(machine)
    while True:
        yield layer
        layer = next_layer(machine, columns, layer, kind)


def closure(machine: Machine, columns: Ints, kind: Kind) -> Layer:
    """All layers together, each state and pair carried on only once."""
    fresh = seen = first_layer(machine)
    while len(fresh.equal) or len(fresh.inserted) or len(fresh.changed):
        after = next_layer(machine, columns, fresh, kind)
        fresh = Layer(*(_without(a, b) for a, b in zip(_parts(after), _parts(seen), strict=True)))
        seen = Layer(*(np.sort(np.concatenate(both)) for both in zip(_parts(seen), _parts(fresh), strict=True)))
    return seen


def first_layer(machine: Machine) -> Layer:
    return Layer(np.array([machine.start]), NOTHING, NOTHING)


def next_layer(machine: Machine, columns: Ints, layer: Layer, kind: Kind) -> Layer:
    size = len(machine.sums)
    after = machine.step[layer.equal][:, columns].astype(np.int64)
    reached = np.zeros(size, dtype=np.bool_)
    reached[after] = True
    inserted = changed = NOTHING
    if kind == "changed":
        rows = [distinct(row) for row in after]
        codes = [row[:, None] * size + row[None, :] for row in rows]
        changed = _unordered(size, [*codes, *_advance(machine, columns, layer.changed)])
    else:
        codes = [layer.equal[:, None] * size + after]
        inserted = _collect(size, [*codes, *_advance(machine, columns, layer.inserted)])
    return Layer(np.flatnonzero(reached), inserted, changed)


def _advance(machine: Machine, columns: Ints, pairs: Ints) -> Iterator[NDArray[np.int32]]:
    """Yields the pairs reachable by one common record, a chunk at a time."""
    size = len(machine.sums)
    assert size * size < 1 << 31
    right = machine.step[:, columns]
    left = right * np.int32(size)
    rows = max(1, CHUNK // max(1, len(columns)))
    for i in range(0, len(pairs), rows):
        s, t = np.divmod(pairs[i : i + rows], size)
        codes = left[s]
        codes += right[t]
        yield codes


def _collect(size: int, parts: Sequence[NDArray[Any]]) -> Ints:
    """All the pairs once, ascending: by sorting where they are few, otherwise by marks."""
    if 16 * sum(part.size for part in parts) < size * size:
        return distinct(np.concatenate([NOTHING, *(part.ravel() for part in parts)]))
    marks = np.zeros(size * size, dtype=np.bool_)
    for part in parts:
        marks[part.ravel()] = True
    return np.flatnonzero(marks)


def _unordered(size: int, parts: Sequence[NDArray[Any]]) -> Ints:
    """All the pairs of two different states once, the smaller state first."""
    s, t = np.divmod(_collect(size, parts), size)
    low, high = np.minimum(s, t), np.maximum(s, t)
    return distinct((low * size + high)[low < high])


def distinct(codes: Ints) -> Ints:
    """Each code once, ascending; sorting is faster here than the hashing of np.unique."""
    codes = np.sort(codes)
    keep = np.ones(len(codes), dtype=np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=keep[1:])
    return codes[keep]


def any_size(machine: Machine, columns: Ints, kind: Kind, modulus: int | None = None) -> FarthestPair:
    """The farthest pair of final sums over datasets of every size."""
    seen = closure(machine, columns, kind)
    pairs = seen.changed if kind == "changed" else seen.inserted
    return FarthestPair(farthest(machine, pairs, modulus)[0], len(pairs))


def by_size(machine: Machine, columns: Ints, kind: Kind, modulus: int | None = None) -> Iterator[FarthestPair]:
    """The farthest pair for n = 0, 1, 2, ...: the common size, the longer one's size, or where both are cut."""
    history: list[Layer] = []
    so_far = FarthestPair(0, 0)
    for layer in layers(machine, columns, kind):
        history.append(layer)
        pairs = layer.changed if kind == "changed" else layer.inserted
        difference, pair = farthest(machine, pairs, modulus)
        found = FarthestPair(difference, len(pairs), partial(walk_back, machine, columns, tuple(history), pair, kind))
        if kind != "truncated":
            yield found
            continue
        so_far = max(so_far, found, key=lambda f: f.difference)
        exchanged = _exchange(machine, columns, pairs, modulus, tuple(history))
        worst = max(so_far, exchanged, key=lambda f: f.difference)
        yield worst._replace(examined=len(pairs) + exchanged.examined)


def _exchange(
    machine: Machine, columns: Ints, pairs: Ints, modulus: int | None, history: tuple[Layer, ...]
) -> FarthestPair:
    """An insertion that pushes the last record out: the shorter dataset, n - 1 records so far, gets one more."""
    if not len(pairs):
        return FarthestPair(0, 0)
    s, t = np.divmod(pairs, len(machine.sums))
    after = machine.step[s][:, columns]
    apart = distance(machine.sums[after], machine.sums[t][:, None], modulus)
    at, column = np.unravel_index(np.argmax(apart), apart.shape)

    def trace() -> Datasets:
        shorter, longer = walk_back(machine, columns, history, int(pairs[at]), "inserted")
        return [*shorter, int(columns[column])], [*longer, int(columns[column])]

    return FarthestPair(int(apart[at, column]), apart.size, trace)


def kept_in_any_order(machine: Machine, columns: Ints, n: int, modulus: int | None = None) -> FarthestPair:
    """Longer datasets reordered, then cut to n records: of 2n, two orders keep any n and any n."""
    history = tuple(islice(layers(machine, columns, "inserted"), n + 1))
    states = history[-1].equal
    if not len(states):
        return FarthestPair(0, 0)
    apart = distance(machine.sums[states][:, None], machine.sums[states][None, :], modulus)
    at = np.unravel_index(np.argmax(apart), apart.shape)

    def trace() -> Datasets:
        one, other = (path(machine, columns, history, int(states[i])) for i in at)
        return one + other, other + one

    return FarthestPair(int(apart[at]), apart.size, trace)


def farthest(machine: Machine, pairs: Ints, modulus: int | None = None) -> tuple[int, int]:
    """The largest difference of final sums among the pairs, and the pair."""
    if not len(pairs):
        return 0, -1
    s, t = np.divmod(pairs, len(machine.sums))
    apart = distance(machine.sums[s], machine.sums[t], modulus)
    at = int(np.argmax(apart))
    return int(apart[at]), int(pairs[at])


def distance(left: Ints, right: Ints, modulus: int | None = None) -> Ints:
    """|left - right|, or the shorter way round modulo `modulus`."""
    apart: Ints = np.abs(left - right)
    if modulus is None:
        return apart
    apart %= modulus
    shorter: Ints = np.minimum(apart, modulus - apart)
    return shorter


def walk_back(machine: Machine, columns: Ints, history: Sequence[Layer], pair: int, kind: Kind) -> Datasets:
    """Two neighbouring datasets that reach the pair in as many records as there are layers."""
    if pair < 0:
        return [], []
    size = len(machine.sums)
    s, t = divmod(pair, size)
    *before, _ = history
    last = before[-1]
    step = machine.step[:, columns]
    pairs = last.changed if kind == "changed" else last.inserted
    a, b = np.divmod(pairs, size)
    hit = np.argwhere((step[a] == s) & (step[b] == t))
    if len(hit):
        at, column = hit[0]
        left, right = walk_back(machine, columns, before, int(pairs[at]), kind)
        return [*left, int(columns[column])], [*right, int(columns[column])]
    if kind == "changed":
        swapped = np.argwhere((step[a] == t) & (step[b] == s))
        if len(swapped):
            at, column = swapped[0]
            right, left = walk_back(machine, columns, before, int(pairs[at]), kind)
            return [*left, int(columns[column])], [*right, int(columns[column])]
        for state in last.equal.tolist():
            to_s, to_t = np.flatnonzero(step[state] == s), np.flatnonzero(step[state] == t)
            if len(to_s) and len(to_t):
                common = path(machine, columns, before, state)
                return [*common, int(columns[to_s[0]])], [*common, int(columns[to_t[0]])]
    else:
        common = path(machine, columns, before, s)
        return common, [*common, int(columns[np.flatnonzero(step[s] == t)[0]])]
    raise AssertionError("a pair came from nowhere")


def path(machine: Machine, columns: Ints, history: Sequence[Layer], state: int) -> list[int]:
    """A dataset that reaches the state in as many records as there are layers after the first."""
    *before, _ = history
    if not before:
        return []
    step = machine.step[:, columns]
    for earlier in before[-1].equal.tolist():
        at = np.flatnonzero(step[earlier] == state)
        if len(at):
            return [*path(machine, columns, before, earlier), int(columns[at[0]])]
    raise AssertionError("a state came from nowhere")


def exchange(machine: Machine, columns: Ints) -> Datasets | None:
    """Two orders of the same records that lead to different states, or None if no order ever matters.

    It never does if in every state that can be reached any two records may be exchanged.
    """
    history = [np.array([machine.start])]
    seen = history[0]
    step = machine.step[:, columns]
    while len(history[-1]):
        for states in np.array_split(history[-1], -(-len(history[-1]) // 16)):
            after = step[step[states]]  # [state, first, second]
            differ = np.argwhere(after != after.transpose(0, 2, 1))
            if len(differ):
                state, first, second = differ[0]
                common = path(machine, columns, [Layer(e, e, e) for e in history], int(states[state]))
                one, other = int(columns[first]), int(columns[second])
                return [*common, one, other], [*common, other, one]
        history.append(np.setdiff1d(step[history[-1]], seen))
        seen = np.union1d(seen, history[-1])
    return None


def _without(codes: Ints, known: Ints) -> Ints:
    """The codes that are not among the known, both ascending."""
    if not len(known):
        return codes
    at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    new: Ints = codes[known[at] != codes]
    return new


def _parts(layer: Layer) -> tuple[Ints, Ints, Ints]:
    return layer.equal, layer.inserted, layer.changed
