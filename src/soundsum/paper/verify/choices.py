"""Choosing quantiles (docs/theorems/quantiles.md), exhaustively, in exact rationals.

exp(-rate) is taken as a rational a, so every probability of a choice is one, and so is exp(epsilon). Errors, heads and
accepted draws are those that privacy/choice.py finds, for every outcome of the coins. Tables are numbers of values at
each candidate, between each two and beyond them; all neighbours of all small tables are compared. Groups are chosen for
apart from each other, so their losses multiply. Of permute-and-flip the largest ratio of probabilities is compared with
exp(epsilon); of the exponential mechanism the product of the largest ratios both ways, whose logarithm is the range
that gives rho (range^2 / 8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np

from soundsum.methods.problem import Problem
from soundsum.numbers.types import IntType
from soundsum.paper.verify.verification import Case, Counterexample, Result, compare_pairs
from soundsum.privacy.choice import RankNorms, find_accepted, find_errors, find_heads
from soundsum.privacy.units import FOUND, Unit
from soundsum.tables.relations import Relation

LABEL = "ranks"

ZERO, ONE = Fraction(0), Fraction(1)
Counts: TypeAlias = tuple[int, ...]
Law: TypeAlias = tuple[Fraction, ...]


@lru_cache(maxsize=1 << 16)
def code_errors(counts: Counts, quantile: Fraction) -> Counts:
    """The errors that a release computes; every second cell is a candidate."""
    return tuple(map(int, find_errors(counts, np.arange(1, len(counts), 2), quantile)))


def permute_and_flip(errors: Counts, a: Fraction) -> Law:
    """The probability of every candidate, from the code's heads for every outcome of the coins: equally likely ones.

    A coin's noise reaches j with probability a^j, and only whether it reaches its candidate's error matters: so it is
    taken as that, or as 1 less.
    """
    return _flip(tuple(error - min(errors) for error in errors), a)


@lru_cache(maxsize=1 << 16)
def _flip(behind: Counts, a: Fraction) -> Law:
    law, errors = [ZERO] * len(behind), np.array(behind)
    for tails in product((0, 1), repeat=len(behind)):
        chance = ONE
        for error, tail in zip(behind, tails, strict=True):
            chance *= 1 - a**error if tail else a**error
        heads = find_heads(errors, errors - tails).tolist() if chance else []
        for place in heads:
            law[place] += chance / len(heads)
    return tuple(law)


def exponential(errors: Counts, a: Fraction) -> Law:
    """The probability of every candidate, from what the code accepts of two tries, given that it accepts one."""
    return _accept(tuple(error - min(errors) for error in errors), a)


@lru_cache(maxsize=1 << 16)
def _accept(behind: Counts, a: Fraction) -> Law:
    law, errors = [ZERO] * len(behind), np.array(behind)
    for drawn in product(range(len(behind)), repeat=2):
        for tails in product((0, 1), repeat=2):
            chance = Fraction(1, len(behind) ** 2)
            for place, tail in zip(drawn, tails, strict=True):
                chance *= 1 - a ** behind[place] if tail else a ** behind[place]
            accepted = find_accepted(errors, np.array(drawn), errors[list(drawn)] - tails).tolist() if chance else []
            if accepted:
                law[accepted[0]] += chance
    return tuple(one / sum(law) for one in law)


@dataclass(frozen=True)
class NotChosenPrivately(Counterexample):
    """Two tables, as counts by cell, between which a choice shows more than the theorem lets it."""

    def __str__(self) -> str:
        return (
            f"{self.case}: with counts {list(self.left)} and {list(self.right)} the probabilities differ by a factor "
            f"of {self.difference}; claimed is at most {self.claimed}"
        )


@dataclass(frozen=True)
class ChoiceWork:
    """All small tables for one quantile, unit and relation; `claim` is a test's, in place of the theorem's."""

    a: Fraction
    quantile: Fraction
    unit: Unit
    relation: Relation
    law: Callable[[Counts, Fraction], Law] = permute_and_flip
    sizes: tuple[tuple[int, int], ...] = ((2, 5), (3, 2))  # of candidates, and the most values beside a unit's
    claim: Callable[[RankNorms], int] | None = None

    def results(self) -> list[Result]:
        return [check(self)]


def tables(cells: int, most: int) -> Iterator[Counts]:
    """Every table of at most this many values."""
    if cells == 1:
        yield from ((n,) for n in range(most + 1))
        return
    for n in range(most + 1):
        yield from ((n, *rest) for rest in tables(cells - 1, most - n))


def neighbours(counts: Counts, work: ChoiceWork) -> Iterator[tuple[Counts, Counts, int]]:
    """Pairs in one group, and how often the loss counts: in how many groups a unit can have such a part."""
    cells, unit = len(counts), work.unit
    if unit.max_rows is not None:
        for rows in tables(cells, unit.max_rows):
            yield counts, tuple(map(sum, zip(counts, rows, strict=True))), unit.most_groups
        return
    one_more = [tuple(n + (i == cell) for i, n in enumerate(counts)) for cell in range(cells)]
    if work.relation.sized:
        yield from ((left, right, 1) for left in one_more for right in one_more)
        yield from ((counts, more, 1 if unit.groups in (None, 1) else 2) for more in one_more)
    else:
        yield from ((counts, more, 1) for more in one_more)


def check(work: ChoiceWork) -> Result:
    """Every pair of neighbouring tables: the largest ratio of probabilities, and how close it comes to the claim."""
    name = f"a = {work.a}, quantile {work.quantile}, {work.unit}"
    case = Case(Problem(IntType(8, False), 1, 1, work.relation), name)
    norms = RankNorms.of(work.quantile, (1,), 3, work.unit, work.relation)
    claimed = work.a ** -(norms.span if work.claim is None else work.claim(norms))
    return compare_pairs(LABEL, case, "choices", claimed, list_losses(work), NotChosenPrivately)


def list_losses(work: ChoiceWork) -> Iterator[tuple[Counts, Counts, Fraction]]:
    """Every pair of neighbouring tables, and the largest ratio of their probabilities."""
    for candidates, most in work.sizes:
        for counts in tables(2 * candidates + 1, most):
            for left, right, times in neighbours(counts, work):
                one, other = (work.law(code_errors(side, work.quantile), work.a) for side in (left, right))
                up = max(p / q for p, q in zip(one, other, strict=True))
                down = max(q / p for p, q in zip(one, other, strict=True))
                yield left, right, (max(up, down) if work.law is permute_and_flip else up * down) ** times


def list_work(quick: bool) -> list[ChoiceWork]:
    """Records and persons, one group and several, in the middle, off it and at the ends."""
    quantiles = (
        [Fraction(1, 2), Fraction(0)] if quick else [Fraction(*x) for x in ((1, 2), (1, 4), (9, 10), (0, 1), (1, 1))]
    )
    values = [Fraction(1, 2)] if quick else [Fraction(1, 2), Fraction(9, 10)]
    units = [
        (Unit(), Relation.SYMMETRIC),
        (Unit(), Relation.CHANGE_ONE),
        (Unit(3), Relation.SYMMETRIC),
        (Unit(3), Relation.CHANGE_ONE),
        (Unit(max_rows=2), Relation.SYMMETRIC),
        (Unit(3, 2, 2), Relation.SYMMETRIC),
        (Unit(FOUND), Relation.CHANGE_ONE),
        (Unit(FOUND, 2, 2), Relation.SYMMETRIC),
    ]
    sizes = ((2, 3), (3, 1)) if quick else ((2, 5), (3, 2))
    return [
        ChoiceWork(a, quantile, unit, relation, law, sizes)
        for law in (permute_and_flip, exponential)
        for a in values
        for quantile in quantiles
        for unit, relation in units
    ]
