"""The paper's roadmap as code: for a problem, every way to add with what it costs, and the best one.

`plan` picks one method and refuses if its theorem does not apply; `plans` lists them all, the cheapest first.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from soundsum.budget import Budget
from soundsum.explain import explain
from soundsum.integers import integers
from soundsum.kernels import Missing
from soundsum.methods import METHODS, Method, OnGrid, Theorem, Wide
from soundsum.numbers import IntType
from soundsum.outcome import Release
from soundsum.pipeline import Rows, Task, carry_out
from soundsum.privacy import Guarantee, NoiseKind, guarantee
from soundsum.problem import Problem
from soundsum.rationals import exact
from soundsum.records import records
from soundsum.relations import Relation
from soundsum.sensitivities import noises, parts
from soundsum.tables import require, table
from soundsum.units import RECORD, Moved, Unit


@dataclass(frozen=True)
class Plan:
    """A problem and a way to add, with the sensitivity that is proved for the two."""

    problem: Problem
    adder: Method
    unit: Unit = RECORD

    @property
    def method(self) -> str:
        return self.adder.label

    @property
    def theorem(self) -> Theorem:
        return self.adder.theorem

    @cached_property
    def unmet(self) -> tuple[str, ...]:
        """Why the method does not apply, each reason with what to do; empty if it does."""
        reasons = self.adder.unmet(self.problem)
        if not self.unit.is_plain and self.adder not in (Wide(), OnGrid()):
            reasons = [*reasons, "sums by group or person are added by wide or grid; leave method out"]
        if self.unit.max_rows is not None and self.problem.relation != Relation.SYMMETRIC:
            reasons = [*reasons, f"persons come or go, so privacy_unit= needs symmetric, not {self.problem.relation}"]
        return tuple(reasons)

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit (a record or a person) can move the sum, or the sums of all groups together (L1).

        In the data's units; modulo `modulus` if there is one.
        """
        return self.moved.l1

    @cached_property
    def moved(self) -> Moved[Fraction]:
        """What one unit can move, in both norms."""
        self.require()
        if self.unit.is_plain:
            sensitivity = self.adder.sensitivity(self.problem)
            return Moved(sensitivity, sensitivity**2)
        q = integers(self.problem)
        return self.unit.moved(q.low * q.step, q.high * q.step, self.problem.relation)

    @property
    def ideal(self) -> Fraction:
        """The sensitivity of the same sums over the real numbers."""
        return self.unit.moved(self.problem.lower, self.problem.upper, self.problem.relation).l1

    @property
    def ratio(self) -> Fraction:
        """The sensitivity over the ideal one; 1 where both are zero."""
        return self.sensitivity / self.ideal if self.ideal else Fraction(1)

    @property
    def accuracy(self) -> Fraction | None:
        """A bound on |sum computed - sum of the clamped records kept|, where one is proved."""
        self.require()
        return self.adder.accuracy(self.problem)

    @property
    def steps(self) -> tuple[str, ...]:
        self.require()
        return self.adder.steps(self.problem)

    @property
    def modulus(self) -> int | None:
        self.require()
        return self.adder.modulus(self.problem)

    @property
    def randomised(self) -> bool:
        self.require()
        return self.adder.is_randomised(self.problem)

    def sum(self, data: Any, missing: Missing = "zero") -> int | Fraction:
        """The method's own sum, exactly what was computed, without noise: int for integers, otherwise a Fraction."""
        self.require()
        total = self.adder.sum(self.problem, records(data, self.problem.dtype), missing)
        return int(total) if isinstance(self.problem.dtype, IntType) else total

    def release(
        self,
        data: Any,
        epsilon: Any = None,
        *,
        noise: NoiseKind = "laplace",
        delta: Any = None,
        rho: Any = None,
        column: str | None = None,
        missing: Missing = "zero",
        budget: Budget | None = None,
    ) -> Release:
        """The method's own sum with noise for its sensitivity.

        >>> p = plan(Problem("float64", 0, 10))
        >>> p.release([1.0, 2.0, 3.0], epsilon="1/2").epsilon
        Fraction(1, 2)
        """
        promise = guarantee(epsilon, delta, rho, noise)
        if not self.unit.is_plain:
            raise ValueError("this plan is for sums by group or person; use ss.sum with by= or privacy_unit=")
        where = table(data)
        require(where, column)
        _, worth = where.type(column, self.problem.dtype)
        if worth != 1:
            raise TypeError(f"column {column!r} is decimal, and the plan is for {self.problem.dtype}; use ss.sum")
        (released,) = carry_out(where, [Task("sum", self, column)], Rows(missing=missing), promise, budget)
        assert isinstance(released, Release)
        return released

    def error(
        self,
        epsilon: Any = None,
        confidence: float = 0.95,
        *,
        noise: NoiseKind = "laplace",
        delta: Any = None,
        rho: Any = None,
    ) -> float:
        """How far the noise may move the sum, with this confidence: half the width of a release's interval.

        >>> round(plan(Problem("float64", 0, 1000)).error(epsilon=1, confidence=0.95), 6)
        2995.732274
        """
        return float(self._error(guarantee(epsilon, delta, rho, noise), confidence))

    def epsilon_for(self, error: Any, confidence: float = 0.95) -> Fraction:
        """The least epsilon, to one part in a million, whose Laplace noise stays within this error so often.

        >>> plan(Problem("float64", 0, 1000)).epsilon_for(error=3000)
        Fraction(2094169, 2097152)
        """
        allowed = Fraction(exact(error, "error"))
        if allowed <= 0:
            raise ValueError(f"error={error}: give how far the noise may move the sum, a number above 0")
        if not self.sensitivity:
            return Fraction(0)
        ahead = Fraction(1)
        while self._error(Guarantee(ahead), confidence) > allowed:
            ahead *= 2
        while self._error(Guarantee(ahead / 2), confidence) <= allowed:
            ahead /= 2
        low, high = ahead / 2, ahead
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if self._error(Guarantee(middle), confidence) <= allowed else (middle, high)
        return high

    def of_size(self, n: int) -> Plan:
        """The same plan for data of n records, where their number is public."""
        return Plan(self.problem.with_size(n), self.adder, self.unit)

    def _error(self, promise: Guarantee, confidence: float) -> Fraction:
        (part,) = parts("sum", self)
        (drawn,) = noises((part,), promise)
        return drawn.half_width(confidence) * part.step

    def explain(self) -> str:
        """What is promised and why, for a person."""
        return explain(self, [] if self.unmet or not self.unit.is_plain else plans(self.problem))

    def require(self) -> None:
        """Refuses a problem the method's theorem is not about."""
        if self.unmet:
            raise ValueError(f"{self.method} does not apply: {'; '.join(self.unmet)}")


def plan(problem: Problem, method: str | Method = "auto", unit: Unit = RECORD) -> Plan:
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
        method = best.adder
    elif method == "auto":
        method = Wide() if isinstance(problem.dtype, IntType) else OnGrid()
    elif isinstance(method, str):
        if method not in METHODS:
            raise ValueError(f"method={method!r} is not one of auto, float, {', '.join(METHODS)}")
        method = METHODS[method]
    chosen = Plan(problem, method, unit)
    chosen.require()
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
