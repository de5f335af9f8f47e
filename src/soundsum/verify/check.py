"""One subject on one type: every claim for the given bounds compared with the truth.

Ordered relations are compared directly. An unordered one is the same question if the records are permuted first or if
any two records may be exchanged; otherwise all orders of short datasets are compared, and longer ones are bounded
through the accuracy measured over everything reachable.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product

import numpy as np

from soundsum.numbers import NumberType
from soundsum.rationals import Value
from soundsum.problem import Problem
from soundsum.relations import Relation
from soundsum.verify.closures import BySize, Datasets, Found, Kind
from soundsum.verify.forms import Form
from soundsum.verify.machines import INFINITE, Ints
from soundsum.verify.results import ACCURACY, Case, Counterexample, Result, smallness
from soundsum.verify.subjects import Preparation, Subject

MOST_SOUGHT = 64
"""Records up to which the datasets behind a violation for all sizes are sought."""

MOST_TRIED = 50_000
"""Datasets of one length that are tried for an inaccurate sum."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The records within the bounds as a form's inputs: each once, and a record that becomes it."""

    numbers: Ints
    origin: dict[int, Value]
    every: Ints  # one entry for each record and each input it may become
    records: tuple[Value, ...]  # beside `every`


@dataclass
class Tally:
    """A result in the making. Of the violations only the one with the fewest records is written out."""

    method: str
    relation: str
    dtype: str
    cases: int = 0
    pairs: int = 0
    certified: int = 0
    violations: int = 0
    ratio: Fraction | None = None
    at: Case | None = None
    fewest: int = MOST_SOUGHT
    example: Counterexample | None = None

    def compare(self, case: Case, true: Fraction, claimed: Fraction, examined: int) -> bool:
        """Count the case; False if the truth exceeds the claim."""
        self.cases += 1
        self.pairs += examined
        alone = case.problem.limit in (0, 1)  # one record is no sum: the ratio would say nothing
        if claimed > 0 and not alone and (self.ratio is None or true / claimed > self.ratio):
            self.ratio, self.at = true / claimed, case
        self.violations += true > claimed
        return true <= claimed

    def certify(self, case: Case, bound: Fraction, claimed: Fraction) -> None:
        self.cases += 1
        self.certified += 1
        self.violations += bound > claimed

    def violated(self, n: int, make: Callable[[], Counterexample]) -> None:
        """Keep the example with the fewest records."""
        if n > self.fewest:
            return
        example = make()
        if n < self.fewest or self.example is None or smallness(example) < smallness(self.example):
            self.fewest, self.example = n, example

    def result(self) -> Result:
        return Result(
            *(self.method, self.relation, self.dtype, self.cases, self.pairs, self.certified, self.violations),
            *(self.ratio, self.at, self.example),
        )


def check(
    subject: Subject, kind: NumberType, bounds: Iterable[tuple[Fraction | int, Fraction | int]], sizes: Sequence[int]
) -> list[Result]:
    """Every relation, and accuracy, for all the bounds; `sizes` where a claim depends on the number of records."""
    tallies = {name: Tally(subject.method.label, name, kind.name) for name in (*Relation, ACCURACY)}
    for lower, upper in bounds:
        check_bounds(subject, Problem(kind, lower, upper), sizes, tallies)
    return [tally.result() for tally in tallies.values() if tally.cases]


def check_bounds(subject: Subject, bounds: Problem, sizes: Sequence[int], tallies: dict[str, Tally]) -> None:
    kind, lower, upper = bounds.dtype, bounds.lower, bounds.upper
    for ordered in (Relation.INSERT_DELETE, Relation.HAMMING):
        truth = Truth(subject)
        for relation in (ordered, ordered.unordered):
            problem, tally = Problem(kind, lower, upper, relation), tallies[relation]
            if not subject.unmet(problem):
                _compare_any_size(truth, problem, tally)
                continue
            settled = subject.settled(kind) if relation.sized else None
            for n in sizes if settled is None else range(settled):
                problem = of_size(bounds, relation, n)
                if not subject.unmet(problem):
                    _compare_size(truth, problem, n, tally)
            if settled is not None:
                problem = of_size(bounds, relation, settled)
                if not subject.unmet(problem):
                    _compare_any_size(truth, problem, tally)
        for n in sizes:
            problem = of_size(bounds, ordered, n)
            if not subject.unmet(problem) and (claimed := subject.accuracy(problem)) is not None:
                _compare_accuracy(truth, problem, n, claimed, tallies[ACCURACY])


def of_size(bounds: Problem, relation: Relation, n: int) -> Problem:
    size = {"size": n} if relation.sized else {"max_size": n}
    return Problem(bounds.dtype, bounds.lower, bounds.upper, relation, **size)


class Truth:
    """The true differences of one subject within one pair of bounds, each computed once for the relations that ask."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._any: dict[tuple[bytes, Kind], Found] = {}
        self._sizes: dict[tuple[bytes, Kind], BySize[Found]] = {}
        self._orders: dict[bytes, Datasets | None] = {}

    def columns(self, problem: Problem) -> tuple[Form, Columns, Preparation]:
        form, prepare = self.subject.form(problem), self.subject.prepare(problem)
        return form, _columns(form, prepare, problem.dtype, problem.lower, problem.upper), prepare

    def unit(self, problem: Problem) -> Fraction:
        return self.subject.form(problem).unit * self.subject.prepare(problem).scale

    def kind(self, problem: Problem) -> Kind:
        if problem.relation.sized:
            return "changed"
        return "truncated" if self.subject.truncates(problem) else "inserted"

    def any_size(self, problem: Problem) -> Found:
        form, columns, _ = self.columns(problem)
        key = columns.numbers.tobytes(), self.kind(problem)
        if key not in self._any:
            self._any[key] = form.any_size(columns.numbers, self.kind(problem), self.subject.modulus(problem))
        return self._any[key]

    def of_size(self, problem: Problem, n: int) -> Found | None:
        """For n records, or None where that is too many to look at one by one."""
        form, columns, _ = self.columns(problem)
        key = columns.numbers.tobytes(), self.kind(problem)
        if key not in self._sizes:
            founds = form.by_size(columns.numbers, self.kind(problem), self.subject.modulus(problem))
            self._sizes[key] = BySize(founds)
        known = self._sizes[key].upto(n)
        return known[n] if n < len(known) else None

    def of_size_unordered(self, problem: Problem, n: int) -> Found | None:
        form, columns, _ = self.columns(problem)
        if form.sequences is None or n > form.sequences.most:
            return None
        looked_at = form.sequences.change_one if problem.relation.sized else form.sequences.symmetric
        return looked_at(columns.numbers, n)

    def as_ordered(self, problem: Problem) -> bool:
        """Whether the unordered relation is answered by the ordered one."""
        if problem.relation.ordered or self.subject.steps(problem)[0] == "permute":
            return True
        return self.subject.form(problem).may_commute and self.two_orders(problem) is None

    def two_orders(self, problem: Problem) -> Datasets | None:
        """Two orders of the same records that lead to different states, or None if the order never matters."""
        form, columns, _ = self.columns(problem)
        key = columns.numbers.tobytes()
        if key not in self._orders:
            self._orders[key] = form.exchange(columns.numbers)
        return self._orders[key]

    def example(self, problem: Problem, n: int, found: Found, claimed: Fraction, meaning: str) -> Counterexample:
        """The two datasets, added once more by the model itself."""
        assert found.trace is not None
        origin = self.columns(problem)[1].origin
        left, right = ([origin[column] for column in dataset] for dataset in found.trace())
        sums = self.subject.total(problem, left), self.subject.total(problem, right)
        difference = abs(sums[0] - sums[1])
        if (modulus := self.subject.modulus(problem)) is not None:
            wrap = modulus * self.subject.prepare(problem).scale
            difference = min(difference % wrap, -difference % wrap)
        assert difference == math.inf or difference != difference or difference > claimed, "table and model disagree"
        case = Case(problem, f"n = {n}", self.subject.variant)
        return Counterexample(case, tuple(left), tuple(right), *sums, difference, claimed, meaning)


def _compare_any_size(truth: Truth, problem: Problem, tally: Tally) -> None:
    """One claim for every number of records (from the size given on)."""
    unit, claimed = truth.unit(problem), truth.subject.claim(problem)
    case = Case(problem, "any n" if problem.size is None else f"n >= {problem.size}", truth.subject.variant)
    if truth.as_ordered(problem):
        found = truth.any_size(problem)
        if tally.compare(case, found.difference * unit, claimed, found.examined):
            return
        for n in range(problem.size or 0, tally.fewest + 1):
            by_size = truth.of_size(problem, n)
            if by_size is not None and by_size.difference * unit > claimed:
                return tally.violated(n, lambda: truth.example(problem, n, by_size, claimed, "neighbours"))
        return
    # The order matters and nothing hides it: at distance 0 the claim is that nothing changes.
    best, examined = Fraction(0), 0
    for n in range(tally.fewest + 1):
        found_at_n = truth.of_size_unordered(problem, n)
        if found_at_n is None:
            break
        best, examined = max(best, found_at_n.difference * unit), examined + found_at_n.examined
        if found_at_n.difference * unit > claimed:
            tally.violated(n, lambda: truth.example(problem, n, found_at_n, claimed, "neighbours in any order"))
            break
    if tally.compare(case, best, claimed, examined):
        tally.violations += 1
        if (orders := truth.two_orders(problem)) is not None:
            reordered = Found(0, 0, lambda: orders)
            tally.violated(MOST_SOUGHT, lambda: truth.example(problem, len(orders[0]), reordered, Fraction(0), "reordered"))


def _compare_size(truth: Truth, problem: Problem, n: int, tally: Tally) -> None:
    unit, claimed = truth.unit(problem), truth.subject.claim(problem)
    case = Case(problem, f"n = {n}" if problem.relation.sized else f"n <= {n}", truth.subject.variant)
    ordered = truth.as_ordered(problem)
    found = truth.of_size(problem, n) if ordered else truth.of_size_unordered(problem, n)
    if found is None:
        form, columns, _ = truth.columns(problem)
        tally.certify(case, form.bound(columns.numbers, truth.kind(problem), n) * unit, claimed)
    elif not tally.compare(case, found.difference * unit, claimed, found.examined):
        meaning = "neighbours" if ordered else "neighbours in any order"
        tally.violated(n, lambda: truth.example(problem, n, found, claimed, meaning))


def _compare_accuracy(truth: Truth, problem: Problem, n: int, claimed: Fraction, tally: Tally) -> None:
    """|exact sum - computed sum| of n records; of up to n where they are truncated, and in each half if apart."""
    form, columns, prepare = truth.columns(problem)
    unit = form.unit * prepare.scale
    amounts, finer = _amounts(columns, unit, prepare.offset)
    sizes = form.errors_by_size(columns.every, amounts, finer).upto(n)
    looked_at = sizes if truth.subject.truncates(problem) else sizes[-1:]
    worst = max(errors.worst for errors in looked_at)
    case = Case(problem, f"n = {n}" if problem.relation.sized else f"n <= {n}", truth.subject.variant)
    true = Fraction(worst, finer) * unit if worst < INFINITE else truth.unit(problem) * INFINITE
    if not tally.compare(case, true, claimed, looked_at[-1].examined):
        example = _inaccurate(truth, problem, n, claimed, columns.records, case)
        if example is not None:
            tally.violated(len(example.left), lambda: example)


def _inaccurate(
    truth: Truth, problem: Problem, n: int, claimed: Fraction, records: Sequence[Value], case: Case
) -> Counterexample | None:
    """The shortest dataset whose sum is too far off, by trying them all; None if there are too many to try."""
    subject, offset = truth.subject, truth.subject.prepare(problem).offset
    values = list(dict.fromkeys(records))
    for m in range(2 * n + 1) if subject.truncates(problem) else [n]:
        if len(values) ** m > MOST_TRIED:
            return None
        for dataset in product(values, repeat=m):
            if any(len(half) > n for half in subject.halves(problem, dataset)):
                continue  # truncation would drop a record
            computed = subject.total(problem, dataset) + m * offset
            exact = sum(map(Fraction, dataset), start=Fraction(0))
            if not abs(computed - exact) <= claimed:
                off = abs(computed - exact)
                return Counterexample(case, dataset, dataset, computed, exact, off, claimed, ACCURACY)
    return None


@lru_cache(maxsize=32)
def _columns(form: Form, prepare: Preparation, kind: NumberType, lower: Fraction, upper: Fraction) -> Columns:
    records = [x for x in _values(kind) if lower <= x <= upper]
    become = [(x, y) for x in records for y in prepare(x)]
    every = form.columns([y for _, y in become])
    origin = {int(column): x for column, (x, _) in reversed(list(zip(every, become, strict=True)))}
    return Columns(np.unique(every), origin, every, tuple(x for x, _ in become))


@lru_cache(maxsize=32)
def _amounts(columns: Columns, unit: Fraction, offset: Fraction) -> tuple[Ints, int]:
    """What the entries of `every` are worth, less the offset, in units / finer; and that finer."""
    worth = [(Fraction(x) - offset) / unit for x in columns.records]
    finer = math.lcm(*(w.denominator for w in worth))
    amounts = [int(w * finer) for w in worth]
    small = max(map(abs, amounts)) < 1 << 50
    return np.array(amounts, dtype=np.int64 if small else object), finer


@lru_cache
def _values(kind: NumberType) -> tuple[Value, ...]:
    return tuple(kind.values())
