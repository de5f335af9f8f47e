"""Plans in words, for people."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

from soundsum.methods import Method, Theorem
from soundsum.methods.problem import Problem
from soundsum.numbers.formatting import layout, number, ratio
from soundsum.privacy.units import Unit
from soundsum.references import place


class Explainable(Protocol):
    """The facts about a plan that `explain` prints."""

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
    """Explain the guarantee: its theorem, its conditions, and its cost beside the alternatives."""
    if plan.unmet:
        return "\n".join(
            [f"{plan.method} does not apply to {plan.problem}:", *(f"  - {reason}" for reason in plan.unmet)]
        )
    place_of_proof = f"docs/theorems/{plan.theorem.name}.md; in the paper: {place(plan.theorem.reference)}"
    promise = f"{plan.unit} moves the sum{_vector(plan)} by at most {number(plan.sensitivity)}{_modulo(plan)}"
    rows = [
        ("method", f"{plan.method}: {' -> '.join(plan.steps)}"),
        ("promise", promise),
        ("ideal", f"{number(plan.ideal)} for exact addition; the ratio is {ratio(plan.ratio)}"),
        ("theorem", plan.theorem.statement),
        ("", f"({place_of_proof})"),
        *_under("conditions", plan.adder.facts(plan.problem)),
    ]
    if plan.randomised:
        rows.append(("note", "randomised: two separate sums of the same data may differ by more than the promise"))
    if not plan.sensitivity:
        rows.append(("note", "no record can move this sum, so no noise is needed"))
    return layout(str(plan.problem), [*rows, *_under("otherwise", _alternatives(plan, every))])


def _under(heading: str, facts: Sequence[str]) -> list[tuple[str, str]]:
    return [("" if i else heading, fact) for i, fact in enumerate(facts)]


def _vector(plan: Explainable) -> str:
    return "" if plan.unit.groups is None else "s, all groups together,"


def _modulo(plan: Explainable) -> str:
    return "" if plan.modulus is None else f" modulo {plan.modulus:,}, and noise is added modulo that too"


def _alternatives(plan: Explainable, every: Sequence[Explainable]) -> list[str]:
    others = [p for p in every if p.method != plan.method and not p.unmet]
    shown = [f"{p.method}, with a ratio of {ratio(p.ratio)}" for p in others[:4]]
    return shown + ([f"and {len(others) - 4} more, listed by soundsum plan"] if len(others) > 4 else [])
