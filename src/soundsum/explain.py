"""Plans in words, for people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from soundsum.arithmetic.words import number, ratio
from soundsum.methods import Method, Theorem
from soundsum.privacy.units import Unit
from soundsum.problem import Problem


class Explainable(Protocol):
    """What there is to say about a plan."""

    @property
    def problem(self) -> Problem: ...
    @property
    def adder(self) -> Method: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def method(self) -> str: ...
    @property
    def theorem(self) -> Theorem: ...
    @property
    def unmet(self) -> tuple[str, ...]: ...
    @property
    def sensitivity(self) -> Fraction: ...
    @property
    def ideal(self) -> Fraction: ...
    @property
    def ratio(self) -> Fraction: ...
    @property
    def steps(self) -> tuple[str, ...]: ...
    @property
    def modulus(self) -> int | None: ...
    @property
    def randomised(self) -> bool: ...


def explain(plan: Explainable, every: Sequence[Explainable]) -> str:
    """What is promised, by which theorem, under which conditions, at what cost beside the alternatives."""
    if plan.unmet:
        return "\n".join(
            [f"{plan.method} does not apply to {plan.problem}:", *(f"  - {reason}" for reason in plan.unmet)]
        )
    lines = [
        f"{plan.problem}",
        f"  method       {plan.method}: {' -> '.join(plan.steps)}",
        f"  promise      {plan.unit} moves the sum{_vector(plan)} by at most {number(plan.sensitivity)}{_modulo(plan)}",
        f"  ideal        {number(plan.ideal)}; the ratio is {ratio(plan.ratio)}",
        f"  theorem      {plan.theorem.statement}",
        f"               (docs/theorems/{plan.theorem.name}.md; the paper's {plan.theorem.reference})",
    ]
    lines += [f"  {'conditions' if i == 0 else '':<12} {fact}" for i, fact in enumerate(plan.adder.facts(plan.problem))]
    if plan.randomised:
        lines.append(
            "  note         randomised: two separate sums of the same data may differ by more than the promise"
        )
    if not plan.sensitivity:
        lines.append("  note         no record can move this sum, so no noise is needed")
    lines += [f"  {'otherwise' if i == 0 else '':<12} {text}" for i, text in enumerate(_alternatives(plan, every))]
    return "\n".join(lines)


def _vector(plan: Explainable) -> str:
    return "" if plan.unit.groups is None else "s, their changes added up,"


def _modulo(plan: Explainable) -> str:
    return "" if plan.modulus is None else f" modulo {plan.modulus:,}; only integer noise added modulo it may be used"


def _alternatives(plan: Explainable, every: Sequence[Explainable]) -> list[str]:
    others = [p for p in every if p.method != plan.method and not p.unmet]
    shown = [f"{p.method} would cost a ratio of {ratio(p.ratio)}" for p in others[:4]]
    return shown + ([f"and {len(others) - 4} more: soundsum plan lists them"] if len(others) > 4 else [])
