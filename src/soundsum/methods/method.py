"""What every way to add has in common: when it applies, what it guarantees, and how it is really done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from soundsum.kernels import Missing
from soundsum.models import Fold, Tree
from soundsum.numbers import FloatType, IntType
from soundsum.problem import Problem
from soundsum.records import Records, records
from soundsum.stability import MOST_PERMUTED, permute, present, truncate


@dataclass(frozen=True)
class Theorem:
    """A statement the method stands on; its page is docs/theorems/<name>.md."""

    name: str
    reference: str
    statement: str


class Method(ABC):
    """A way to add, with its theorem. Subclasses are frozen dataclasses; `unmet` is asked before anything else."""

    name: ClassVar[str]
    theorem: ClassVar[Theorem]

    @abstractmethod
    def unmet(self, problem: Problem) -> list[str]:
        """Why the theorem does not apply, each reason with what to do; empty if it does."""

    @abstractmethod
    def sensitivity(self, problem: Problem) -> Fraction:
        """How far one record can move the sum, in the data's units; exact, and valid only if nothing is unmet."""

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
        """What is done to the records, in order; the last is the way to add."""
        return (self.label,)

    def facts(self, problem: Problem) -> list[str]:
        """The conditions and constants of the bound, with their numbers."""
        return []

    def modulus(self, problem: Problem) -> int | None:
        """2^w where the result is only known modulo it."""
        return None

    def is_randomised(self, problem: Problem) -> bool:
        return "permute" in self.steps(problem)

    @property
    def label(self) -> str:
        """The name with whatever sets this instance apart."""
        return self.name

    def sum(self, problem: Problem, data: Any, missing: Missing = "zero") -> Fraction:
        """The method's own sum, exactly as its theorem assumes; no noise."""
        column = records(data, problem.dtype)
        if missing == "drop" and problem.relation.sized:
            raise ValueError(
                f'missing="drop" changes the number of records, which {problem.relation} makes public; use "zero"'
            )
        problem = problem.with_size(column.size)
        if reasons := self.unmet(problem):
            raise ValueError(f"{self.label} does not apply: {'; '.join(reasons)}")
        steps = self.steps(problem)
        if missing == "drop" and not {"permute", "truncate"}.isdisjoint(steps):
            column = present(column)  # before anything that looks at positions
        if "permute" in steps:
            column = permute(column)
        return self.add(problem, column, missing)

    def truncated(self, problem: Problem, data: Records) -> Records:
        return data if problem.max_size is None else truncate(data, problem.max_size)


# Conditions that several methods share


def integers_only(problem: Problem, instead: str = "grid") -> list[str]:
    return [] if isinstance(problem.dtype, IntType) else [f"adds integers; for {problem.dtype} use {instead}"]


def floats_only(problem: Problem) -> list[str]:
    return [] if isinstance(problem.dtype, FloatType) else [f"adds floats; for {problem.dtype} use wide"]


def bounds_of_type(problem: Problem) -> list[str]:
    """Methods that add in the type's own arithmetic need bounds that are values of it."""
    kind, reasons = problem.dtype, []
    for name, bound in (("lower", problem.lower), ("upper", problem.upper)):
        if bound not in kind:
            near = _neighbours(problem, bound)
            reasons.append(f"{name}={bound} is not representable in {kind}; the nearest that are: {near}")
    return reasons


def limit_known(problem: Problem) -> list[str]:
    if problem.limit is not None:
        return []
    if problem.relation.sized:
        return ["needs the public number of records; give size="]
    return ["needs a limit on the number of records; give max_size= (records beyond it are left out)"]


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
