"""The paper's roadmap as code: for a problem, every way to add with what it costs, and the best one.

`choose` picks a method by name or by rule; a `Scheme` joins it to a problem and a unit of privacy, with the sensitivity
that is proved for the three; `rank` lists a scheme for every method, the cheapest first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self, TypeVar

from soundsum.arithmetic.numbers import IntType
from soundsum.arithmetic.rationals import exact
from soundsum.data.records import Missing, records
from soundsum.data.relations import Relation
from soundsum.explain import explain, plan_to_json
from soundsum.methods import METHODS, Method, OnGrid, Theorem, Wide
from soundsum.methods.steps import RecordSteps, steps_from_zero
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.units import RECORD, Norms, Unit
from soundsum.problem import Problem


@dataclass(frozen=True)
class Scheme:
    """A problem, a way to add and a unit of privacy, with the sensitivity that is proved for the three."""

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

    @cached_property
    def record_steps(self) -> RecordSteps | None:
        """The integer of each record, where the sum is the sum of these; for groups from 0, as their sizes are private.

        Where it is not, a method's own sum is counted in steps as a whole.
        """
        self.require()
        return self.adder.record_steps(self.problem) if self.unit.is_plain else steps_from_zero(self.problem)

    @cached_property
    def step(self) -> Fraction:
        """What the sum is counted in, and its noise too."""
        return self.adder.noise_step(self.problem) if self.record_steps is None else self.record_steps.step

    @cached_property
    def step_norms(self) -> Norms[int]:
        """How far one unit can move the sum, or the sums of all groups, in steps."""
        if self.unit.is_plain:  # by whatever method: what its theorem says
            most = math.ceil(self.adder.sensitivity(self.problem) / self.step)
            return Norms(most, most**2)
        assert self.record_steps is not None
        return self.unit.norms(self.record_steps.low, self.record_steps.high, self.problem.relation)

    @cached_property
    def norms(self) -> Norms[Fraction]:
        """The same in the data's units."""
        self.require()
        if self.unit.is_plain:
            sensitivity = self.adder.sensitivity(self.problem)
            return Norms(sensitivity, sensitivity**2)
        return self.step_norms.times(self.step)

    @property
    def sensitivity(self) -> Fraction:
        """How far one unit (a record or a person) can move the sum, or the sums of all groups together (L1).

        In the data's units; modulo `modulus` if there is one.
        """
        return self.norms.l1

    @cached_property
    def ideal(self) -> Fraction:
        """The sensitivity of the same sums over the real numbers."""
        return self.unit.norms(self.problem.lower, self.problem.upper, self.problem.relation).l1

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
        """What is done to the records, in order."""
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

    def value(self, total: int, n: int | None) -> Fraction:
        """A sum in steps back in the data's units: in the type's range where it is modular, its public part added."""
        if self.modulus is not None:
            signed = getattr(self.problem.dtype, "signed", True)
            total = IntType(self.modulus.bit_length() - 1, signed).wrap(total)
        public = self.adder.public_part(self.problem, n) if self.unit.is_plain and n is not None else Fraction(0)
        return total * self.step + public

    def sum(self, data: Any, missing: Missing = "zero") -> int | Fraction:
        """The method's own sum, exactly what was computed, without noise: int for integers, otherwise a Fraction."""
        self.require()
        total = self.adder.sum(self.problem, records(data, self.problem.dtype), missing)
        return int(total) if isinstance(self.problem.dtype, IntType) else total

    def error(
        self,
        epsilon: Any = None,
        confidence: float = 0.95,
        *,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
    ) -> float:
        """How far the noise may move the sum, with this confidence: half the width of a release's interval.

        >>> round(Scheme(Problem("float64", 0, 1000), OnGrid()).error(epsilon=1, confidence=0.95), 6)
        2995.732274
        """
        return float(self._error(guarantee(epsilon, delta, rho, noise), confidence))

    def epsilon_for(self, error: Any, confidence: float = 0.95) -> Fraction:
        """The least epsilon, to one part in a million, whose Laplace noise stays within this error so often.

        >>> Scheme(Problem("float64", 0, 1000), OnGrid()).epsilon_for(error=3000)
        Fraction(2094169, 2097152)
        """
        allowed = exact(error, "error")
        if isinstance(allowed, float) or allowed <= 0:
            raise ValueError(f"error={error}: give how far the noise may move the sum, a number above 0")
        if not self.sensitivity:
            return Fraction(0)

        def enough(epsilon: Fraction) -> bool:
            return self._error(guarantee(epsilon), confidence) <= allowed

        high = Fraction(1)
        while not enough(high):
            high *= 2
        while enough(high / 2):
            high /= 2
        low = high / 2
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def _error(self, promised: Guarantee, confidence: float) -> Fraction:
        return promised.noise_for(self.step_norms).half_width(confidence) * self.step

    def of_size(self, n: int) -> Self:
        """The same for data of n records, where their number is public."""
        return type(self)(self.problem.with_size(n), self.adder, self.unit)

    def explain(self) -> str:
        """What is promised and why, for a person."""
        return explain(self, [] if self.unmet or not self.unit.is_plain else rank(self.problem, Scheme))

    def to_json(self) -> dict[str, Any]:
        """A plain dict, exact numbers as strings."""
        return plan_to_json(self)

    def require(self) -> None:
        """Refuses a problem the method's theorem is not about."""
        if self.unmet:
            raise ValueError(f"{self.method} does not apply: {'; '.join(self.unmet)}")


S = TypeVar("S", bound=Scheme)


def choose(problem: Problem, method: str | Method = "auto") -> Method:
    """A method: "auto", "float" (the best that adds floats as floats), a name, or a method made by hand."""
    if isinstance(method, Method):
        return method
    if method == "auto":
        return Wide() if isinstance(problem.dtype, IntType) else OnGrid()
    if method == "float":
        adding = [scheme for scheme in rank(problem, Scheme) if scheme.adder.adds_floats]
        if not adding[0].unmet:
            return adding[0].adder
        reasons = "; ".join(f"{scheme.method}: {scheme.unmet[0]}" for scheme in adding)
        raise ValueError(f"no method that adds floats as floats applies: {reasons}")
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not one of auto, float, {', '.join(METHODS)}")
    return METHODS[method]


def rank(problem: Problem, kind: type[S]) -> list[S]:
    """A scheme for every method: those that apply first, smallest sensitivity first; the others with their reasons."""
    every = [kind(problem, method) for method in METHODS.values()]
    applicable = sorted((scheme for scheme in every if not scheme.unmet), key=_preference)
    return applicable + [scheme for scheme in every if scheme.unmet]


def _preference(scheme: Scheme) -> tuple[Fraction, bool, bool, int]:
    """Smallest sensitivity; then plain results before modular ones, deterministic before randomised, fewer steps."""
    return scheme.sensitivity, scheme.modulus is not None, scheme.randomised, len(scheme.steps)
