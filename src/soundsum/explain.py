"""Plans in words and tables, for people."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from soundsum.rationals import floor_log2, power_of_two

if TYPE_CHECKING:
    from rich.table import Table

    from soundsum.plan import Plan


def explain(plan: Plan, every: list[Plan]) -> str:
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


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """The plan as a plain dict, exact numbers as strings."""
    problem = plan.problem
    described: dict[str, Any] = {
        "method": plan.method,
        "applies": not plan.unmet,
        "unmet": list(plan.unmet),
        "theorem": {"name": plan.theorem.name, "reference": plan.theorem.reference},
        "problem": {
            "dtype": problem.dtype.name,
            "lower": str(problem.lower),
            "upper": str(problem.upper),
            "relation": str(problem.relation),
            "size": problem.size,
            "max_size": problem.max_size,
        },
        "unit": plan.unit.as_json(),
        "ideal": str(plan.ideal),
    }
    if not plan.unmet:
        described |= {
            "sensitivity": str(plan.sensitivity),
            "sensitivity_l2_squared": str(plan.moved.l2_squared),
            "ratio": str(plan.ratio),
            "steps": list(plan.steps),
            "modulus": plan.modulus,
            "randomised": plan.randomised,
        }
    return described


def plans_table(every: list[Plan]) -> Table:
    """Every method, what it costs and what it needs; methods refused for the same reasons in one row."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    problem = every[0].problem
    table = Table(title=f"{problem}\nideal sensitivity {number(problem.ideal)}", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("method")
    table.add_column("sensitivity", justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("how, or why not")
    refused: dict[tuple[str, ...], list[str]] = {}
    for plan in every:
        if plan.unmet:
            refused.setdefault(plan.unmet, []).append(plan.method)
        else:
            how = " -> ".join(plan.steps) + ("" if plan.modulus is None else f", modulo 2^{floor_log2(plan.modulus)}")
            table.add_row(f"[bold]{plan.method}[/bold]", number(plan.sensitivity), ratio(plan.ratio), how)
    for reasons, methods in refused.items():
        table.add_row(f"[dim]{', '.join(methods)}[/dim]", "", "", f"[dim]{'; '.join(reasons)}[/dim]")
    return table


def number(x: Fraction) -> str:
    """A number to read: an integer in full, a power of two as such, anything else to seven digits.

    >>> number(Fraction(1500)), number(Fraction(1, 2**60)), number(Fraction(1, 3)), number(Fraction(3, 2))
    ('1,500', '2^-60', '0.3333333', '1.5')
    """
    if x.denominator == 1 and abs(x) < 10**15:
        return f"{int(x):,}"
    if x > 0 and x == power_of_two(floor_log2(x)) and abs(floor_log2(x)) > 9:
        return f"2^{floor_log2(x)}"
    try:
        return f"{float(x):.7g}"
    except OverflowError:
        return f"about 2^{floor_log2(x)}"


def ratio(x: Fraction) -> str:
    """A ratio to read; close to 1, as 1 and what is missing or in excess.

    >>> ratio(1 - Fraction(1, 2**50)), ratio(1 + Fraction(1, 2**40)), ratio(Fraction(1)), ratio(Fraction(3, 2))
    ('1 - 8.9e-16', '1 + 9.1e-13', '1', '1.5')
    """
    excess = x - 1
    if excess and abs(excess) < Fraction(1, 10**6):
        return f"1 {'+' if excess > 0 else '-'} {float(abs(excess)):.1e}"
    return number(x)


def _vector(plan: Plan) -> str:
    return "" if plan.unit.groups is None else "s, their changes added up,"


def _modulo(plan: Plan) -> str:
    return "" if plan.modulus is None else f" modulo {plan.modulus:,}; only integer noise added modulo it may be used"


def _alternatives(plan: Plan, every: list[Plan]) -> list[str]:
    others = [p for p in every if p.method != plan.method and not p.unmet]
    shown = [f"{p.method} would cost a ratio of {ratio(p.ratio)}" for p in others[:4]]
    return shown + ([f"and {len(others) - 4} more: soundsum plan lists them"] if len(others) > 4 else [])
