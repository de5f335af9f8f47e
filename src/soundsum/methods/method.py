"""The interface of every summation method: when it applies, what it guarantees, and how it adds.

A new method is one file here with a page in docs/theorems, or an instance registered in METHODS from anywhere. It says
what it takes and adds, and brings a theorem (`unmet`, `sensitivity`, `accuracy`), a `model` and the sum itself (`add`);
`soundsum verify` compares the first with the second, tests the second with the third. Noise is added to integers, so a
sum is counted in steps; what is public about it, such as an offset for each of n records, is added back afterwards.

Permutation, truncation and splitting by sign turn a bound under one relation into a bound under another.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.models import Fold, Tree
from soundsum.numbers.rationals import floor_log2, power_of_two
from soundsum.numbers.types import FloatType, IntType
from soundsum.randomness import random_permutation
from soundsum.refusals import Clause, Reason, RefusedType, RefusedValue, join_clauses
from soundsum.registry import Registry
from soundsum.tables.records import Column, Missing, Records, keep, keep_values, present, records, stretch
from soundsum.tables.runs import Runs


@dataclass(frozen=True)
class Theorem:
    """A statement the method stands on; its page is docs/theorems/<name>.md."""

    name: str
    reference: str
    statement: str


FINENESS = 40
"""A sum of floats as floats is floored to 2^-40 of its sensitivity or less."""


class Method(ABC):
    """A way to add, with its theorem. Subclasses are frozen dataclasses; `unmet` is asked before anything else."""

    name: ClassVar[str]
    theorem: ClassVar[Theorem]
    takes: ClassVar[type[IntType] | type[FloatType]]  # the type of the records
    adds_floats: ClassVar[bool]  # whether its own additions are float additions

    @abstractmethod
    def unmet(self, problem: Problem) -> list[str]:
        """Why the theorem does not apply, each reason with what to do; empty if it does.

        A reason that names an option is a `Clause`, so that each reader finds it in their own spelling.
        """

    @abstractmethod
    def sensitivity(self, problem: Problem) -> Fraction:
        """The largest change of the sum by one record, in the data's units; exact, and valid if nothing is unmet."""

    def accuracy(self, problem: Problem) -> Fraction | None:
        """A bound on |computed sum - sum of the clamped records|, or None where none holds. 0 for exact sums.

        It holds for up to `problem.limit` records; where they are truncated, the sum meant is that of the records kept.
        """
        return Fraction(0)

    @abstractmethod
    def model(self, problem: Problem) -> Fold | Tree:
        """The sum of clean records in exact arithmetic."""

    @abstractmethod
    def add(self, problem: Problem, data: Records, missing: Missing) -> Fraction:
        """The sum of prepared records, through the kernels."""

    def steps(self, problem: Problem) -> tuple[str, ...]:
        """The steps applied to the records, in order; the last one is the summation."""
        return (self.label,)

    def facts(self, problem: Problem) -> list[str]:
        """The conditions and constants of the bound, with their numbers."""
        return []

    def say_sum(self, problem: Problem, values: str) -> str:
        """The sum it computes, in words: which of these values it adds, and how the result departs from their sum."""
        steps, said = self.steps(problem), [f"the sum of {values}"]
        if "truncate" in steps:
            which = f"{problem.limit:,} of {'each sign' if 'split' in steps else 'them'}"
            said.append(f"at most {which}, chosen at random" if "permute" in steps else f"the first {which}")
        if "saturating" in steps and not self._fits(problem):
            said.append("saturated at the limits of the integer type")
        if self.adds_floats:
            said.append("each addition rounded")
        return ", ".join(said)

    @staticmethod
    def _fits(problem: Problem) -> bool:
        """Returns whether a public number of records within the bounds cannot leave the type."""
        n, kind = problem.size, problem.dtype
        return n is not None and n * problem.upper <= kind.max and n * problem.lower >= kind.min

    def modulus(self, problem: Problem) -> int | None:
        """2^w where the result is only known modulo it."""
        return None

    def is_randomised(self, problem: Problem) -> bool:
        return "permute" in self.steps(problem)

    @property
    def label(self) -> str:
        """The name with whatever sets this instance apart."""
        return self.name

    @property
    def adds_up(self) -> bool:
        """Whether sums of parts add up to the sum of the whole, so that it can read batch by batch."""
        return False

    def record_steps(self, problem: Problem) -> RecordSteps | None:
        """The integer of each record, where the sum is nothing but the sum of these; such sums an engine can do."""
        return None

    def noise_step(self, problem: Problem) -> Fraction:
        """The unit of a sum. Floored to it, two sums within Delta are within ceil(Delta / step) steps."""
        if isinstance(problem.dtype, IntType):
            return Fraction(1)
        sensitivity = self.sensitivity(problem)
        return power_of_two(floor_log2(sensitivity) - FINENESS) if sensitivity else Fraction(1)

    def public_part(self, problem: Problem, n: int) -> Fraction:
        """The part of a sum over a public number of records that is added after the noise."""
        return Fraction(0)

    def sum_in_steps(self, problem: Problem, data: Records, missing: Missing) -> int:
        """The sum without its public part, floored to steps."""
        total = self.sum(problem, data, missing) - self.public_part(problem, data.size)
        return math.floor(total / self.noise_step(problem))

    def sum(self, problem: Problem, data: Any, missing: Missing = "zero") -> Fraction:
        """The method's own sum, exactly as its theorem assumes; no noise."""
        column = records(data, problem.dtype)
        if missing == "drop" and problem.relation.sized:
            raise RefusedValue(
                "missing",
                Reason.CONFLICT,
                '`missing="drop"` changes the number of records, which {relation} makes public',
                'use "zero"',
                relation=problem.relation.value,
            )
        problem = problem.with_size(column.size)
        if reasons := self.unmet(problem):
            raise RefusedValue(
                "method",
                Reason.UNSOUND,
                "{method} does not apply:",
                "{reasons}",
                method=self.label,
                reasons=join_clauses(reasons),
            )
        steps = self.steps(problem)
        if missing == "drop" and not {"permute", "truncate"}.isdisjoint(steps):
            column = present(column)  # before anything that looks at positions
        if "permute" in steps:
            column = permute(column)
        return self.add(problem, column, missing)

    def truncate_to_limit(self, problem: Problem, data: Records) -> Records:
        return data if problem.max_size is None else truncate(data, problem.max_size)


def _require_complete(method: Method) -> None:
    for attribute in ("theorem", "takes", "adds_floats"):
        if not hasattr(method, attribute):
            raise RefusedType(
                "method",
                Reason.MISSING,
                "the method {method} has no {attribute}",
                "give its class one, as Method says",
                method=method.label,
                attribute=attribute,
            )


FIRST = (
    *("wide", "grid", "grid_randomised", "checked", "modular", "saturating", "split", "split_modular", "split_checked"),
    *("iterated", "split_iterated", "pairwise", "split_pairwise", "numpy_pairwise", "split_numpy_pairwise"),
    *("kahan", "split_kahan", "toward_zero"),
)
METHODS: Registry[Method] = Registry("method", "label", FIRST, _require_complete)
"""The methods a plan chooses from, by label; of equals it takes the first. Others can be made with parameters."""


# Conditions that several methods share


def integers_only(problem: Problem, instead: str = "grid") -> list[str]:
    return [] if isinstance(problem.dtype, IntType) else [f"adds integers; for {problem.dtype} use {instead}"]


def floats_only(problem: Problem) -> list[str]:
    return [] if isinstance(problem.dtype, FloatType) else [f"adds floats; for {problem.dtype} use wide"]


def bounds_of_type(problem: Problem) -> list[str]:
    """Methods that add in the type's own arithmetic need bounds that are values of it."""
    kind, reasons = problem.dtype, list[str]()
    for name, bound in (("lower", problem.lower), ("upper", problem.upper)):
        if bound not in kind:
            near = _neighbours(problem, bound)
            reasons.append(Clause(f"`{name}={bound}` is not representable in {kind}; the nearest that are: {near}"))
    return reasons


def limit_known(problem: Problem) -> list[str]:
    if problem.limit is not None:
        return []
    if problem.relation.sized:
        return [Clause("needs the public number of records; give `size`")]
    return [Clause("needs a limit on the number of records; give `max_size` (records beyond it are left out)")]


def permutable(problem: Problem, permutes: bool) -> list[str]:
    if permutes and problem.limit is not None and problem.limit > MOST_PERMUTED:
        return [f"permutes the records in memory, {MOST_PERMUTED:,} at most, and n may be {problem.limit:,}; use grid"]
    return []


def _neighbours(problem: Problem, bound: Fraction) -> str:
    kind = problem.dtype
    if isinstance(kind, FloatType):
        return " and ".join(str(x) for x in (kind.round_down(bound), kind.round_up(bound)))
    below, above = bound.__floor__(), bound.__ceil__()
    return " and ".join(str(x) for x in dict.fromkeys((kind.saturate(below), kind.saturate(above))))


MOST_PERMUTED = 1 << 28
"""Records that may be brought into memory to permute them."""


def truncation_bound(insert_delete: Fraction, change_one: Fraction) -> Fraction:
    """The insert-delete sensitivity after truncation, from those on at most n and on exactly n records.

    The second is under change-one. Hamming is not enough: dropping the n-th record lets another in, so the sequences
    that are kept need not be Hamming neighbours.
    """
    return max(insert_delete, change_one)


def permute(data: Records) -> Records:
    """The records in a uniformly random order. An array is in memory already; runs would have to be written out.

    If the permutation stays secret, a bound under an ordered relation holds under its unordered one, by a coupling
    (`thrm:couple-unknown-n`).
    """
    if isinstance(data, Runs) and data.size > MOST_PERMUTED:
        raise RefusedValue(
            "data",
            Reason.TOO_MANY,
            "runs of {records} records are too many to permute in memory (the limit is {most})",
            "use a method whose sum does not depend on the order, such as grid or split",
            records=f"{data.size:,}",
            most=f"{MOST_PERMUTED:,}",
        )
    order = random_permutation(data.size)
    if isinstance(data, Runs):
        values = list(data)
        return Runs(data.type, ((values[i], 1) for i in order.tolist()))
    return keep(data, order)


def truncate(data: Records, n: int) -> Records:
    """The first n records."""
    if isinstance(data, Runs):
        return data[:n]
    return stretch(data, slice(0, n))


def by_sign(data: Records) -> tuple[Records, Records]:
    """The negative records and the rest, each in order. A missing record is among the rest: it counts as 0 there.

    One record is in one half, so a bound for each half bounds the sum of both by the larger.
    """
    if isinstance(data, Runs):
        return keep_values(data, lambda x: x < 0), keep_values(data, lambda x: not x < 0)
    negative = data.negative()
    return Column(data.values[negative], data.type), keep(data, ~negative)
