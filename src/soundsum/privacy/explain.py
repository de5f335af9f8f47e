"""Plans in words, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from soundsum.numbers.formatting import layout, number, ratio
from soundsum.references import place

if TYPE_CHECKING:
    from soundsum.privacy.planner import Plan


def explain(plan: Plan, every: Sequence[Plan]) -> str:
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


def _vector(plan: Plan) -> str:
    return "" if plan.unit.groups is None else "s, all groups together,"


def _modulo(plan: Plan) -> str:
    return "" if plan.modulus is None else f" modulo {plan.modulus:,}, and noise is added modulo that too"


def _alternatives(plan: Plan, every: Sequence[Plan]) -> list[str]:
    others = [p for p in every if p.method != plan.method and not p.unmet]
    shown = [f"{p.method}, with a ratio of {ratio(p.ratio)}" for p in others[:4]]
    return shown + ([f"and {len(others) - 4} more, listed by soundsum plan"] if len(others) > 4 else [])
