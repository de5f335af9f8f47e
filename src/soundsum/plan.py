"""The paper's roadmap as code: for a problem, every way to add with what it costs, and the best one.

`plan` picks one method and refuses if its theorem does not apply; `plans` lists them all, the cheapest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from soundsum.explain import explain
from soundsum.kernels import Missing
from soundsum.methods import METHODS, Method, OnGrid, Theorem, Wide
from soundsum.numbers import IntType
from soundsum.problem import Problem
from soundsum.records import records


@dataclass(frozen=True)
class Plan:
    """A problem and a way to add, with the sensitivity that is proved for the two."""

    problem: Problem
    adder: Method

    @property
    def method(self) -> str:
        return self.adder.label

    @property
    def theorem(self) -> Theorem:
        return self.adder.theorem

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """Why the method does not apply, each reason with what to do; empty if it does."""
        return tuple(self.adder.unmet(self.problem))

    @cached_property
    def sensitivity(self) -> Fraction:
        """How far one record can move the sum, in the data's units; modulo `modulus` if there is one."""
        self._require()
        return self.adder.sensitivity(self.problem)

    @property
    def ideal(self) -> Fraction:
        return self.problem.ideal

    @property
    def ratio(self) -> Fraction:
        """The sensitivity over the ideal one; 1 where both are zero."""
        return self.sensitivity / self.ideal if self.ideal else Fraction(1)

    @property
    def accuracy(self) -> Fraction | None:
        """A bound on |sum computed - sum of the clamped records kept|, where one is proved."""
        self._require()
        return self.adder.accuracy(self.problem)

    @property
    def steps(self) -> tuple[str, ...]:
        self._require()
        return self.adder.steps(self.problem)

    @property
    def modulus(self) -> int | None:
        self._require()
        return self.adder.modulus(self.problem)

    @property
    def randomised(self) -> bool:
        self._require()
        return self.adder.is_randomised(self.problem)

    def sum(self, data: Any, missing: Missing = "zero") -> int | Fraction:
        """The method's own sum, exactly what was computed, without noise: int for integers, otherwise a Fraction."""
        self._require()
        total = self.adder.sum(self.problem, records(data, self.problem.dtype), missing)
        return int(total) if isinstance(self.problem.dtype, IntType) else total

    def explain(self) -> str:
        """What is promised and why, for a person."""
        return explain(self, [] if self.unmet else plans(self.problem))

    def _require(self) -> None:
        if self.unmet:
            raise ValueError(f"{self.method} does not apply: {'; '.join(self.unmet)}")


def plan(problem: Problem, method: str | Method = "auto") -> Plan:
    """The plan for one method: "auto", "float" (the best that adds floats as floats), a name, or a method made by hand.

    >>> p = plan(Problem("float64", 0, 1000))
    >>> p.method, p.sensitivity, p.ratio, p.steps
    ('grid', Fraction(1000, 1), Fraction(1, 1), ('grid', 'wide'))
    >>> plan(Problem("float32", 0, 1, "change_one", size=1_000_000), "float").method
    'toward_zero'
    """
    if method == "float":
        best = next((p for p in plans(problem) if not p.unmet and adds_floats(p.adder)), None)
        if best is None:
            reasons = "; ".join(f"{p.method}: {p.unmet[0]}" for p in plans(problem) if adds_floats(p.adder))
            raise ValueError(f"no method that adds floats as floats applies: {reasons}")
        return best
    if method == "auto":
        method = Wide() if isinstance(problem.dtype, IntType) else OnGrid()
    elif isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method={method!r} is not one of auto, float, {', '.join(METHODS)}")
        method = METHODS[method]
    chosen = Plan(problem, method)
    chosen._require()
    return chosen


def plans(problem: Problem) -> list[Plan]:
    """A plan for every method: those that apply first, smallest sensitivity first; the others with their reasons."""
    every = [Plan(problem, method) for method in METHODS.values()]
    applicable = sorted((p for p in every if not p.unmet), key=_preference)
    return applicable + [p for p in every if p.unmet]


def adds_floats(method: Method) -> bool:
    """Whether the method's own additions are float additions."""
    return not isinstance(method, OnGrid | Wide) and method.theorem.name not in (
        "checked",
        "modular",
        "saturating",
        "split",
    )


def _preference(p: Plan) -> tuple[Fraction, bool, bool, int]:
    """Smallest sensitivity; then plain results before modular ones, deterministic before randomised, fewer steps."""
    return p.sensitivity, p.modulus is not None, p.randomised, len(p.steps)
