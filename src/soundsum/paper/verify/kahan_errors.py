"""Kahan's sum where its range is not trivial: types of 4 to 6 mantissa bits, up to 2^(k-1) records; of 7 and 8 mantissa
bits as far as its sharper constant goes, up to 2^(k-5).

The check covers the accuracy, from which the sensitivity follows, with records from all of [-M, M], since the claim
depends on M alone. With 3 exponent bits it enumerates every reachable pair of computed and exact sum. With 4 there are
too many states: a beam keeps those with the largest errors and some drawn at random, from a fixed seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, cast

import numpy as np

from soundsum.methods import Kahan
from soundsum.methods.problem import Problem
from soundsum.numbers.models import Fold, kahan
from soundsum.numbers.types import FloatType
from soundsum.paper.verify import errors
from soundsum.paper.verify.machines import Ints, Multiples, of_fold_on_arrays
from soundsum.paper.verify.verification import ACCURACY, Case, Result
from soundsum.tables.relations import Relation

MOST_RECORDS = 128
"""Beyond every limit of the theorem on these types, and enough to leave the bound behind where there is no limit."""

LONG = FloatType(2, 4), (Fraction(1, 64), Fraction(3, 128))
"""A type and bounds M so small that many records fit: without its limit on n the theorem fails from 91 records on."""

EXHAUSTIVE = [FloatType(4, 3), FloatType(5, 3), FloatType(6, 3)]
SEARCHED = [FloatType(4, 4), FloatType(5, 4), FloatType(6, 4)]
SHARP, SHARP_SEARCHED = FloatType(7, 3), [FloatType(7, 4), FloatType(8, 4), FloatType(9, 4)]

BEAM = 600
INPUTS = 300
SEED = 20_250_101


@dataclass(frozen=True)
class KahanWork:
    """Some of the bounds M > 0 of one type."""

    kind: FloatType
    magnitudes: tuple[Fraction, ...]
    search: bool
    most: int = MOST_RECORDS

    def results(self) -> list[Result]:
        errors_of = beam if self.search else exhaustive
        total = Result("kahan", ACCURACY, self.kind.name, exhaustive=not self.search)
        for M in self.magnitudes:
            sizes = list(_applicable(self.kind, M, self.most))
            for problem, (worst, pairs) in zip(sizes, errors_of(self.kind, M, len(sizes)), strict=True):
                total = total.join(_result(problem, worst, pairs, not self.search))
        return [total]


def list_work(quick: bool) -> list[KahanWork]:
    """With 4 mantissa bits the full run takes every M; otherwise a few of all magnitudes."""
    long = KahanWork(*LONG, False)
    sharp = KahanWork(SHARP, list_few(SHARP)[1::9] if quick else list_few(SHARP), False, 4)
    if quick:
        return [KahanWork(EXHAUSTIVE[0], list_few(EXHAUSTIVE[0]), False), sharp, long]
    bounds = {kind: list_positive(kind) if kind.k == 4 else list_few(kind) for kind in EXHAUSTIVE}
    todo = [long, sharp] + [KahanWork(kind, values, False) for kind, values in bounds.items()]
    todo += [KahanWork(kind, (M,), True) for kind in SEARCHED for M in list_few(kind)]
    return todo + [KahanWork(kind, (M,), True, 1 << (kind.k - 5)) for kind in SHARP_SEARCHED for M in list_few(kind)]


def list_positive(kind: FloatType) -> tuple[Fraction, ...]:
    return tuple(x for x in kind.values() if x > 0)


def list_few(kind: FloatType) -> tuple[Fraction, ...]:
    """From each binade the least, one in the middle and the largest value."""
    per_binade = 1 << kind.k
    middle = per_binade * 5 // 8
    return tuple(x for i, x in enumerate(list_positive(kind), 1) if i % per_binade in (0, middle, per_binade - 1))


def _applicable(kind: FloatType, M: Fraction, most: int) -> Iterator[Problem]:
    """The problems for n = 2, 3, ... as far as the theorem goes, or says that it goes."""
    for n in range(2, most + 1):
        problem = Problem(kind, -M, M, Relation.HAMMING, size=n)
        if Kahan().unmet(problem):
            return
        yield problem


def _result(problem: Problem, worst: Fraction, pairs: int, exhaustive: bool) -> Result:
    claimed = cast(Fraction, Kahan().accuracy(problem))
    case = Case(problem, f"n = {problem.size}")
    result = Result("kahan", ACCURACY, problem.dtype.name, 1, pairs, 0, int(worst > claimed), worst / claimed, case)
    return result if exhaustive else result.join(Result("kahan", ACCURACY, problem.dtype.name, exhaustive=False))


def exhaustive(kind: FloatType, M: Fraction, sizes: int) -> Iterator[tuple[Fraction, int]]:
    """The largest error for n = 2, 3, ... over everything that can be reached, and how many states that is."""
    if not sizes:
        return
    arithmetic = Multiples(kind.k, kind.l)
    machine = of_fold_on_arrays(kahan(arithmetic), arithmetic, [x for x in kind.values() if abs(x) <= M], sizes + 1)
    layers = errors.of_fold(machine, np.arange(len(machine.inputs)), machine.inputs)
    for extremes in islice(layers, 2, sizes + 2):
        found = errors.summary(extremes, machine.sums)
        yield found.worst * machine.unit, found.examined


def beam(kind: FloatType, M: Fraction, sizes: int) -> Iterator[tuple[Fraction, int]]:
    """The largest error found for n = 2, 3, ...; negation turns it into the least, so one side is enough."""
    chance = np.random.default_rng(SEED)
    arithmetic, unit = Multiples(kind.k, kind.l), kind.smallest_subnormal
    fold: Fold = kahan(arithmetic)
    values = arithmetic.values_as_multiples()
    values = values[np.abs(values) <= int(M / unit)]
    powers = values[(np.abs(values) & (np.abs(values) - 1)) == 0]
    state: Any = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    error: Ints = np.zeros(1, dtype=np.int64)
    for n in range(1, sizes + 2):
        xs = np.concatenate([chance.choice(values, min(INPUTS, len(values)), replace=False), powers, values[[0, -1]]])
        after = fold.step(tuple(part[:, None] for part in state), xs[None, :])
        lost = error[:, None] + xs[None, :] - (after[0] - state[0][:, None])
        sums, rests, lost = (part.ravel() for part in (*after, lost))
        order = np.lexsort((-lost, rests, sums))  # of equal states the largest error comes first
        first = np.ones(len(order), dtype=np.bool_)
        first[1:] = (np.diff(sums[order]) != 0) | (np.diff(rests[order]) != 0)
        kept = order[first]
        best = kept[np.argsort(-lost[kept], kind="stable")[: BEAM // 2]]
        kept = np.unique(np.concatenate([best, chance.choice(kept, min(BEAM // 2, len(kept)), replace=False)]))
        state, error = (sums[kept], rests[kept]), lost[kept]
        if n >= 2:
            yield int(lost.max()) * unit, len(order)
