"""Finding groups (docs/theorems/groups.md), exhaustively, in exact rationals.

exp(-epsilon / g) is taken as a rational a, so exp(epsilon) = a^-g is one too, and every probability, hockey-stick
divergence and delta is a Fraction. Which groups are released, and with which numbers, is what privacy/selection.py
selects for every outcome of the noise. A person joins m <= g groups with every small number of others in them, or a
record moves between two. For noise of another shape the same is checked with weights a^(z^2) in a window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import prod
from typing import Any

import numpy as np

from soundsum.methods.problem import Problem
from soundsum.numbers.types import IntType
from soundsum.paper.verify.verification import Case, Counterexample, Result, compare_pairs
from soundsum.privacy.selection import GroupPlan, TruncatedLaplace
from soundsum.privacy.units import Norms
from soundsum.tables.relations import Relation

LABEL = "groups"

NORMS = Norms(1, 1)
ZERO, ONE = Fraction(0), Fraction(1)


def truncated(a: Fraction, reach: int) -> dict[int, Fraction]:
    """Noise with weights a^|z| for |z| <= reach."""
    weights = {z: a ** abs(z) for z in range(-reach, reach + 1)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


def in_window(a: Fraction, reach: int) -> dict[int, Fraction]:
    """Noise with weights a^(z^2) for |z| <= reach: of the shape of a Gaussian's."""
    weights = {z: a ** (z * z) for z in range(-reach, reach + 1)}
    return {z: weight / sum(weights.values()) for z, weight in weights.items()}


@dataclass(frozen=True)
class Given(TruncatedLaplace):
    """Noise with given draws; its parameter and its reach are not used."""

    values: tuple[int, ...] = ()

    def draw_integers(self, count: int) -> list[int]:
        return list(self.values[:count])


def release_groups(
    counts: tuple[int, ...], noise: dict[int, Fraction], threshold: int
) -> dict[tuple[Any, ...], Fraction]:
    """How groups of this many persons are released by the code: each one's noisy count, or None."""
    return _release(counts, tuple(noise.items()), threshold)


@lru_cache(maxsize=1 << 14)
def _release(
    counts: tuple[int, ...], noise: tuple[tuple[int, Fraction], ...], threshold: int
) -> dict[tuple[Any, ...], Fraction]:
    law: dict[tuple[Any, ...], Fraction] = {}
    persons = np.array(counts, np.int64)
    for drawn in product(noise, repeat=sum(n > 0 for n in counts)):
        given = Given(ONE, 1, tuple(z for z, _ in drawn))
        places, noisy = GroupPlan(given, threshold, ONE, ONE, ONE, NORMS).select(persons)
        seen = dict(zip(places.tolist(), noisy.tolist(), strict=True))
        outcome = tuple(seen.get(place) for place in range(len(counts)))
        law[outcome] = law.get(outcome, ZERO) + prod((chance for _, chance in drawn), start=ONE)
    return law


def join_laws(laws: Sequence[dict[Any, Fraction]]) -> dict[tuple[Any, ...], Fraction]:
    """Independent outcomes together."""
    joint: dict[tuple[Any, ...], Fraction] = {(): ONE}
    for law in laws:
        joint = {(*seen, one): p * q for seen, p in joint.items() for one, q in law.items()}
    return joint


def excess(one: dict[Any, Fraction], other: dict[Any, Fraction], grown: Fraction) -> Fraction:
    """The largest P(S) - exp(epsilon) Q(S) of all events: the delta at this epsilon."""
    return sum((max(ZERO, p - grown * other.get(seen, ZERO)) for seen, p in one.items()), ZERO)


@dataclass(frozen=True)
class NotPrivate(Counterexample):
    """Two tables, as numbers of persons by group, of whose outcomes one is likelier than the theorem lets it be."""

    def __str__(self) -> str:
        return (
            f"{self.case}: with {list(self.left)} persons in the groups, and with {list(self.right)}, delta is "
            f"{self.difference}; claimed is at most {self.claimed}"
        )


@dataclass(frozen=True)
class SearchWork:
    """All tables for one noise and one g; `weakened` tells a test's claim from the theorem's."""

    a: Fraction
    reach: int
    groups: int
    relation: Relation
    truncates: bool = True
    slack: int = 0  # how far the threshold lies below the theorem's
    claim: Callable[[Fraction, int], Fraction] | None = None

    def results(self) -> list[Result]:
        return [check(self)]


def pairs_of_counts(work: SearchWork) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Numbers of persons in the groups that a unit is in, with it and without it."""
    most = 2 * work.reach + 2
    if work.relation.sized:
        for n, m in product(range(most + 1), repeat=2):
            yield (n + 1, m), (n, m + 1)
        return
    for size in range(1, work.groups + 1):
        for counts in combinations_with_replacement(range(most + 1), size):
            yield tuple(n + 1 for n in counts), counts


def check(work: SearchWork) -> Result:
    """Every pair of tables, both ways: the largest delta, and how close it comes to the one claimed."""
    a, g = work.a, work.groups
    noise = truncated(a, work.reach) if work.truncates else in_window(a, work.reach)
    threshold, grown = work.reach + 1, a**-g
    if work.truncates:
        edge = noise[work.reach]
        claimed = 1 - (1 - edge) ** g
    else:  # what the noise alone keeps, over every sign that a unit can move its groups with
        threshold, moves = max(2, work.reach), [(1, -1)] if work.relation.sized else [(1,) * g, (-1,) * g]
        plain = join_laws([noise] * g)
        own = max(
            excess(
                {tuple(z + d for z, d in zip(seen, move, strict=True)): p for seen, p in plain.items()}, plain, grown
            )
            for move in moves
        )
        edge = sum((p for z, p in noise.items() if 1 + z >= threshold), ZERO)
        claimed = 1 - (1 - own) * (1 - edge) ** g
    if work.claim is not None:
        claimed = work.claim(edge, g)
    name = (
        f"a = {a}, k = {work.reach}, g = {g}" if work.truncates else f"weights ({a})^(z^2), k = {work.reach}, g = {g}"
    )
    case, threshold = Case(Problem(IntType(8, False), 1, 1, work.relation), name), threshold - work.slack
    deltas = (
        (left, right, excess(release_groups(left, noise, threshold), release_groups(right, noise, threshold), grown))
        for pair in pairs_of_counts(work)
        for left, right in (pair, pair[::-1])
    )
    return compare_pairs(LABEL, case, "counts", claimed, deltas, NotPrivate)


def list_work(quick: bool) -> list[SearchWork]:
    """Persons in one to three groups, and records that move between two."""
    values = (
        (Fraction(1, 2), Fraction(9, 10))
        if quick
        else (Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), Fraction(9, 10))
    )
    reaches, groups = ((1, 2), (1, 2)) if quick else ((1, 2, 3), (1, 2, 3))
    todo = [
        SearchWork(a, reach, g, Relation.SYMMETRIC, truncates)
        for truncates in (True, False)
        for a in values
        for reach in reaches
        for g in groups
    ]
    return todo + [
        SearchWork(a, reach, 2, Relation.CHANGE_ONE, truncates)
        for truncates in (True, False)
        for a in values
        for reach in reaches
    ]
