"""One subject on one type: every claim for the given bounds compared with the truth.

Ordered relations are compared directly. An unordered one is the same question if the records are permuted first or if
any two records may be exchanged; otherwise all orders of short datasets are compared, and longer ones are bounded
through the accuracy measured over everything reachable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product

from soundsum.methods.problem import Problem
from soundsum.numbers.rationals import Value
from soundsum.numbers.types import NumberType
from soundsum.paper.verify.closures import FarthestPair
from soundsum.paper.verify.machines import INFINITE
from soundsum.paper.verify.subjects import Subject
from soundsum.paper.verify.truth import Truth, amounts_of
from soundsum.paper.verify.verification import ACCURACY, Case, Counterexample, Result, smallness
from soundsum.tables.relations import Relation

MOST_SOUGHT = 64
"""Records up to which the datasets behind a violation for all sizes are sought."""

LONGER = 2
"""Extra records beyond a limit, for sums that do not truncate."""

MOST_TRIED = 20_000
"""Datasets of one length that are tried for an inaccurate sum."""


@dataclass
class RunningResult:
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

    def note_violation(self, n: int, make: Callable[[], Counterexample]) -> None:
        """Keep the example with the fewest records."""
        if n > self.fewest:
            return
        example = make()
        if n < self.fewest or self.example is None or smallness(example) < smallness(self.example):
            self.fewest, self.example = n, example

    def note_no_claim(self, case: Case, error: Exception) -> None:
        self.cases += 1
        self.violations += 1
        if self.example is None:
            why = f"{type(error).__name__}: {error}".removesuffix(": ")
            self.example = Counterexample(case, (), (), 0, 0, 0, None, why)

    def result(self) -> Result:
        return Result(
            *(self.method, self.relation, self.dtype, self.cases, self.pairs, self.certified, self.violations),
            *(self.ratio, self.at, self.example),
        )


def check(
    subject: Subject, kind: NumberType, bounds: Iterable[tuple[Value, Value]], sizes: Sequence[int]
) -> list[Result]:
    """Every relation, and accuracy, for all the bounds; `sizes` where a claim depends on the number of records."""
    results = {name: RunningResult(subject.method.label, name, kind.name) for name in (*Relation, ACCURACY)}
    for lower, upper in bounds:
        check_bounds(subject, Problem(kind, lower, upper), sizes, results)
    return [running.result() for running in results.values() if running.cases]


def check_bounds(subject: Subject, bounds: Problem, sizes: Sequence[int], results: dict[str, RunningResult]) -> None:
    truths = {relation: Truth(subject) for relation in (Relation.INSERT_DELETE, Relation.HAMMING)}
    applicable = cache(partial(_applicable, subject, bounds))
    for ordered, truth in truths.items():
        for relation in (ordered, ordered.unordered):
            running = results[relation]
            if problem := applicable(relation, None):
                if _has_claim(subject, problem, "any n", running):
                    _compare_any_size(truth, problem, running)
                continue
            settled = subject.settled(bounds.dtype) if relation.sized else None
            for n in sizes if settled is None else range(settled):
                problem = applicable(relation, n)
                if problem and _has_claim(subject, problem, _sizes(problem, n), running):
                    _compare_size(truth, problem, n, running)
            problem = None if settled is None else applicable(relation, settled)
            if problem and _has_claim(subject, problem, f"n >= {settled}", running):
                _compare_any_size(truth, problem, running)
    for n in sizes:
        seen = set()
        for ordered, truth in truths.items():
            problem = applicable(ordered, n)
            if problem is None or not _has_claim(subject, problem, _sizes(problem, n), results[ACCURACY]):
                continue
            claimed = subject.accuracy(problem)
            if claimed is None or (subject.prepare(problem), claimed) in seen:
                continue
            seen.add((subject.prepare(problem), claimed))
            _compare_accuracy(truth, problem, n, claimed, results[ACCURACY])


def _has_claim(subject: Subject, problem: Problem, sizes: str, running: RunningResult) -> bool:
    """Returns whether there is a claim to compare; a method that applies without a sensitivity is a violation.

    An accuracy may be missing.
    """
    try:
        claimed = subject.accuracy(problem) if running.relation == ACCURACY else subject.claim(problem)
        if claimed is None and running.relation != ACCURACY:
            raise TypeError("the sensitivity is None")
    except Exception as error:
        running.note_no_claim(Case(problem, sizes, subject.variant), error)
        return False
    return True


def _sizes(problem: Problem, n: int) -> str:
    return f"n = {n}" if problem.relation.sized else f"n <= {n}"


def _applicable(subject: Subject, bounds: Problem, relation: Relation, n: int | None) -> Problem | None:
    """The problem for n records (for any number: None), if nothing is unmet."""
    size = {} if n is None else {"size": n} if relation.sized else {"max_size": n}
    problem = Problem(bounds.dtype, bounds.lower, bounds.upper, relation, **size)
    return None if subject.unmet(problem) else problem


def _compare_any_size(truth: Truth, problem: Problem, running: RunningResult) -> None:
    """One claim for every number of records (from the size given on)."""
    if not truth.as_ordered(problem):
        return _compare_in_any_order(truth, problem, running)
    unit, claimed = truth.unit(problem), truth.subject.claim(problem)
    case = Case(problem, "any n" if problem.size is None else f"n >= {problem.size}", truth.subject.variant)
    found = truth.any_size(problem)
    if not running.compare(case, found.difference * unit, claimed, found.examined):
        _show_shortest(truth, problem, running, problem.size or 0, truth.of_size, "neighbours")
    return None


def _compare_in_any_order(truth: Truth, problem: Problem, running: RunningResult) -> None:
    """Report an order-dependent sum without a permutation as a violation: at distance 0, no sum may change."""
    unit, claimed = truth.unit(problem), truth.subject.claim(problem)
    found = _show_shortest(truth, problem, running, 0, truth.of_size_unordered, "neighbours in any order")
    if running.compare(Case(problem, "any n", truth.subject.variant), found.difference * unit, claimed, found.examined):
        running.violations += 1
        if (orders := truth.two_orders(problem)) is not None:
            reordered = FarthestPair(0, 0, lambda: orders)
            make = partial(truth.example, problem, len(orders[0]), reordered, Fraction(0), "reordered")
            running.note_violation(MOST_SOUGHT, make)


def _show_shortest(
    truth: Truth,
    problem: Problem,
    running: RunningResult,
    first: int,
    at_size: Callable[[Problem, int], FarthestPair | None],
    meaning: str,
) -> FarthestPair:
    """Look at n = first, ... for datasets that exceed the claim, as far as enumeration reaches; return the farthest."""
    unit, claimed = truth.unit(problem), truth.subject.claim(problem)
    farthest, examined = FarthestPair(0, 0), 0
    for n in range(first, running.fewest + 1):
        found = at_size(problem, n)
        if found is None:
            break
        farthest, examined = max(farthest, found, key=lambda f: f.difference), examined + found.examined
        if found.difference * unit > claimed:
            running.note_violation(n, partial(truth.example, problem, n, found, claimed, meaning))
            break
    return farthest._replace(examined=examined)


def _compare_size(truth: Truth, problem: Problem, n: int, running: RunningResult) -> None:
    unit, claimed = truth.unit(problem), truth.subject.claim(problem)
    case = Case(problem, _sizes(problem, n), truth.subject.variant)
    ordered = truth.as_ordered(problem)
    at_size = truth.of_size if ordered else truth.of_size_unordered
    longer = not problem.relation.sized and not truth.subject.truncates(problem)
    founds = [at_size(problem, m) for m in (range(n + LONGER + 1) if longer else [n])]
    found = max(filter(None, founds), key=lambda f: f.difference, default=None)
    if found is None:
        form, columns, _ = truth.columns(problem)
        running.certify(case, form.bound(columns.numbers, truth.kind(problem), n) * unit, claimed)
    elif not running.compare(case, found.difference * unit, claimed, found.examined):
        meaning = "neighbours" if ordered else "neighbours in any order"
        running.note_violation(n, partial(truth.example, problem, n, found, claimed, meaning))


def _compare_accuracy(truth: Truth, problem: Problem, n: int, claimed: Fraction, running: RunningResult) -> None:
    """|exact sum - computed sum| of n records; of up to n where they are truncated, and in each half if apart."""
    form, columns, prepare = truth.columns(problem)
    unit = form.unit * prepare.scale
    amounts, finer = amounts_of(columns, unit, prepare.offset)
    sizes = form.errors_by_size(columns.every, amounts, finer).upto(n)
    looked_at = sizes if truth.subject.truncates(problem) else sizes[-1:]
    worst = max(errors.worst for errors in looked_at)
    case = Case(problem, _sizes(problem, n), truth.subject.variant)
    true = Fraction(worst, finer) * unit if worst < INFINITE else truth.unit(problem) * INFINITE
    if not running.compare(case, true, claimed, looked_at[-1].examined):
        example = _inaccurate(truth, problem, n, claimed, columns.records, case, running.fewest)
        if example is not None:
            running.note_violation(len(example.left), lambda: example)


def _inaccurate(
    truth: Truth, problem: Problem, n: int, claimed: Fraction, records: Sequence[Value], case: Case, fewer_than: int
) -> Counterexample | None:
    """The shortest dataset whose sum errs too much, found by trying all; None if they are too many."""
    subject, offset = truth.subject, truth.subject.prepare(problem).offset
    values = list(dict.fromkeys(records))
    for m in range(2 * n + 1) if subject.truncates(problem) else [n]:
        if m >= fewer_than or len(values) ** m > MOST_TRIED:
            return None
        for dataset in product(values, repeat=m):
            if any(len(half) > n for half in subject.halves(problem, dataset)):
                continue  # truncation would drop a record
            computed = subject.total(problem, dataset) + m * offset
            exact = sum((Fraction(x) for x in dataset), start=Fraction(0))
            off = abs(computed - exact)
            if not off <= claimed:
                return Counterexample(case, dataset, dataset, computed, exact, off, claimed, ACCURACY)
    return None
