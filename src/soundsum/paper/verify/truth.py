"""The true differences of one subject within one pair of bounds, for every form of sum.

Records within the bounds become inputs of the form. Results come back as datasets of records, summed again by the model
itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from soundsum.methods.problem import Problem
from soundsum.numbers.rationals import Value
from soundsum.numbers.types import NumberType
from soundsum.paper.verify.closures import BySize, Datasets, FarthestPair, Kind
from soundsum.paper.verify.forms import Form
from soundsum.paper.verify.machines import Ints
from soundsum.paper.verify.subjects import Preparation, Subject
from soundsum.paper.verify.verification import Case, Counterexample


@dataclass(frozen=True, eq=False)
class Inputs:
    """The records within the bounds as a form's inputs: each once, and a record that becomes it."""

    numbers: Ints
    origin: dict[int, Value]
    every: Ints  # one entry for each record and each input it may become
    records: tuple[Value, ...]  # beside `every`


class Truth:
    """The true differences for two relations, ordered and not, each computed once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._any: dict[tuple[bytes, Kind], FarthestPair] = {}
        self._sizes: dict[tuple[bytes, Kind], BySize[FarthestPair]] = {}
        self._orders: dict[bytes, Datasets | None] = {}

    def columns(self, problem: Problem) -> tuple[Form, Inputs, Preparation]:
        form, prepare = self.subject.form(problem), self.subject.prepare(problem)
        return form, _columns(form, prepare, problem.dtype, problem.lower, problem.upper), prepare

    def unit(self, problem: Problem) -> Fraction:
        return self.subject.form(problem).unit * self.subject.prepare(problem).scale

    def kind(self, problem: Problem) -> Kind:
        if problem.relation.sized:
            return "changed"
        return "truncated" if self.subject.truncates(problem) else "inserted"

    def any_size(self, problem: Problem) -> FarthestPair:
        form, columns, _ = self.columns(problem)
        key = columns.numbers.tobytes(), self.kind(problem)
        if key not in self._any:
            self._any[key] = form.any_size(columns.numbers, self.kind(problem), self.subject.modulus(problem))
        return self._any[key]

    def of_size(self, problem: Problem, n: int) -> FarthestPair | None:
        """For n records, or None if there are too many datasets to enumerate."""
        form, columns, _ = self.columns(problem)
        key = columns.numbers.tobytes(), self.kind(problem)
        if key not in self._sizes:
            founds = form.by_size(columns.numbers, self.kind(problem), self.subject.modulus(problem))
            self._sizes[key] = BySize(founds)
        known = self._sizes[key].upto(n)
        return known[n] if n < len(known) else None

    def of_size_unordered(self, problem: Problem, n: int) -> FarthestPair | None:
        form, columns, _ = self.columns(problem)
        if self.subject.truncates(problem):
            kept = form.kept_in_any_order(columns.numbers, n, self.subject.modulus(problem))
            return max(kept, self.of_size(problem, n) or kept, key=lambda found: found.difference)
        if form.sequences is None or n > form.sequences.most:
            return None
        looked_at = form.sequences.change_one if problem.relation.sized else form.sequences.symmetric
        return looked_at(columns.numbers, n)

    def as_ordered(self, problem: Problem) -> bool:
        """Returns whether the unordered relation is answered by the ordered one.

        It is after a permutation, and where the order never matters: not even to which records a truncation keeps.
        """
        if problem.relation.ordered or self.subject.steps(problem)[0] == "permute":
            return True
        if self.subject.truncates(problem):
            return False
        return self.subject.form(problem).may_commute and self.two_orders(problem) is None

    def two_orders(self, problem: Problem) -> Datasets | None:
        """Two orders of the same records that lead to different states, or None if the order never matters."""
        form, columns, _ = self.columns(problem)
        key = columns.numbers.tobytes()
        if key not in self._orders:
            self._orders[key] = form.exchange(columns.numbers)
        return self._orders[key]

    def example(self, problem: Problem, n: int, found: FarthestPair, claimed: Fraction, meaning: str) -> Counterexample:
        """The two datasets, summed again by the model itself."""
        inputs = self.columns(problem)[1]
        if claimed < 0:  # even a dataset and itself are further apart
            left = right = [inputs.records[0]] * n
        else:
            assert found.trace is not None
            left, right = ([inputs.origin[column] for column in dataset] for dataset in found.trace())
        sums = self.subject.total(problem, left), self.subject.total(problem, right)
        difference = abs(sums[0] - sums[1])
        if (modulus := self.subject.modulus(problem)) is not None:
            wrap = modulus * self.subject.prepare(problem).scale
            difference = min(difference % wrap, -difference % wrap)
        assert not difference <= claimed, "table and model disagree"
        case = Case(problem, f"n = {n}", self.subject.variant)
        return Counterexample(case, tuple(left), tuple(right), *sums, difference, claimed, meaning)


@lru_cache(maxsize=32)
def _columns(form: Form, prepare: Preparation, kind: NumberType, lower: Fraction, upper: Fraction) -> Inputs:
    records = [x for x in _values(kind) if lower <= x <= upper]
    become = [(x, y) for x in records for y in prepare(x)]
    every = form.columns([y for _, y in become])
    origin = {int(column): x for column, (x, _) in reversed(list(zip(every, become, strict=True)))}
    return Inputs(np.unique(every), origin, every, tuple(x for x, _ in become))


@lru_cache(maxsize=32)
def amounts_of(columns: Inputs, unit: Fraction, offset: Fraction) -> tuple[Ints, int]:
    """The values of `every`, less the offset, in units / finer; and that finer."""
    worth = [(Fraction(x) - offset) / unit for x in columns.records]
    finer = math.lcm(*(w.denominator for w in worth))
    amounts = [int(w * finer) for w in worth]
    small = max(map(abs, amounts)) < 1 << 50
    return np.array(amounts, dtype=np.int64 if small else object), finer


@lru_cache
def _values(kind: NumberType) -> tuple[Value, ...]:
    return tuple(kind.values())
