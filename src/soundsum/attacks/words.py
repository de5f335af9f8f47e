"""Attacks in words and numbers, for people and as JSON."""

from __future__ import annotations

import textwrap
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from soundsum.explain import number
from soundsum.rationals import Value, floor_log2, is_special, power_of_two
from soundsum.runs import Runs

if TYPE_CHECKING:
    from soundsum.attacks.attack import Attack

MOST_TERMS = 5
"""Values with up to this many ones in binary are written as sums of powers of two, exactly."""


def explain(attack: Attack) -> str:
    """What the datasets are, what they should do to a sum, and what they do."""
    problem = attack.problem
    apart = "a reordering, 0 apart" if attack.distance == 0 else f"{attack.distance} apart"
    left, right = (value(x) for x in attack.totals)
    if attack.predicted is None:
        moves = f"{attack.aimed_at} gives {left} for the left and {right} for the right: one record decides"
    else:
        moves = (
            f"{attack.aimed_at} moves by {value(attack.predicted)}, {times(attack.ratio)} the ideal "
            f"({left} against {right})"
        )
    given = ", ".join(f"{name} = {value(x)}" for name, x in attack.parameters.items())
    rows = [
        ("what", attack.statement),
        ("parameters", given),
        ("left", dataset(attack.left)),
        ("right", dataset(attack.right)),
        ("bounds", f"[{value(problem.lower)}, {value(problem.upper)}]"),
        ("neighbours", f"{apart} under {problem.relation}"),
        (
            "ideal",
            f"one record may move the sum by {value(attack.ideal)}{'' if attack.distance else ', an order by 0'}",
        ),
        ("computed", moves),
        ("to tell", f"it was left if {attack.event.description}"),
        ("paper", attack.reference),
    ]
    lines = [f"{attack.name} on {problem.dtype}, {attack.records:,} records"]
    for heading, text in rows:
        lines += textwrap.wrap(
            text, 116, initial_indent=f"  {heading:<12}", subsequent_indent=" " * 14, break_on_hyphens=False
        )
    return "\n".join(lines)


def as_json(attack: Attack) -> dict[str, Any]:
    problem, predicted = attack.problem, attack.predicted
    return {
        "name": attack.name,
        "parameters": {name: _typed(x) for name, x in attack.parameters.items()},
        "dtype": problem.dtype.name,
        "relation": str(problem.relation),
        "lower": str(problem.lower),
        "upper": str(problem.upper),
        "left": attack.left.to_json(),
        "right": attack.right.to_json(),
        "records": attack.records,
        "distance": attack.distance,
        "ideal": str(attack.ideal),
        "totals": [str(x) for x in attack.totals],
        "predicted": None if predicted is None else str(predicted),
        "ratio": str(attack.ratio),
        "aimed_at": attack.aimed_at,
        "event": attack.event.to_json(),
        "reference": attack.reference,
        "statement": attack.statement,
    }


def _typed(x: Any) -> Any:
    """A parameter as JSON has it: whole numbers, truths and words as they are, other fractions as strings."""
    return x if isinstance(x, int | str) else int(x) if x == int(x) else str(x)


def dataset(runs: Runs) -> str:
    """A dataset as a person would say it: how often what, in order."""
    shown = []
    for pattern, count in runs.parts:
        what = value(pattern[0]) if len(pattern) == 1 else "(" + ", ".join(map(value, pattern)) + ")"
        shown.append(what if count == 1 else f"{count:,} times {what}")
    if len(shown) > 8:
        shown[4:-3] = [f"... ({len(shown) - 7} more) ..."]
    return ", then ".join(shown) or "no records"


def value(x: Any) -> str:
    """An exact value: short numbers in full, others as a power of two times one plus a remainder.

    >>> value(Fraction(3, 2)), value(Fraction(1, 2**60)), value((1 + Fraction(1, 2**49)) / 2), value(2**64 - 1)
    ('1.5', '2^-60', '2^-1 (1 + 2^-49)', '2^64 - 1')
    """
    if not isinstance(x, int | Fraction) or isinstance(x, bool):
        return str(x)  # an infinity, NaN, a word
    x = Fraction(x)
    if x < 0:
        return f"-{value(-x)}" if " " not in value(-x) else f"-({value(-x)})".replace("-(about ", "about -(")
    if x == 0 or (x.denominator <= 2**10 and abs(x) < 10**7 and len(plain(x)) <= 12):
        return plain(x)
    e = floor_log2(x)
    if power_of_two(e + 1) - x == 1:
        return f"2^{e + 1} - 1"
    terms: list[int] = []
    rest = x / power_of_two(e)
    while rest and len(terms) < MOST_TERMS:
        terms.append(floor_log2(rest))
        rest -= power_of_two(terms[-1])
    if rest:
        return f"about {number(x)}"
    inner = " + ".join(["1", *(f"2^{term}" for term in terms[1:])])
    return f"2^{e}" if len(terms) == 1 else inner if e == 0 else f"2^{e} ({inner})"


def times(ratio: Fraction | float) -> str:
    """How many times the ideal.

    >>> times(Fraction(16)), times(Fraction(2**64 - 1, 2**47)), times(Fraction(3, 2))
    ('16 times', 'about 131,072 times', '1.5 times')
    """
    if is_special(ratio):
        return "infinitely many times"
    exact = Fraction(ratio)
    whole = round(exact)
    near = exact != whole and abs(exact - whole) * 10**4 < exact
    return f"about {whole:,} times" if near else f"{number(exact)} times"


def count(n: int) -> str:
    """A number of records, in full up to a billion or so.

    >>> count(393216), count(2**30), count(4 * 2**52 + 2)
    ('393,216', '1,073,741,824', 'about 2^54')
    """
    return f"{n:,}" if n < 10**10 else f"about 2^{floor_log2(n)}"


def plain(x: Value) -> str:
    return f"{int(x):,}" if x == int(x) else f"{float(x):.12g}"
