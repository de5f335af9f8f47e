"""A program for each violation: at most 20 lines that show it with only NumPy and the library installed.

It prints both sums and ends with exit code 1 while the violation exists, so it can serve as a regression test.
"""

from __future__ import annotations

import inspect
import math
import re

from soundsum.attacks import Event
from soundsum.auditor.calling import PASSED
from soundsum.auditor.finding import Finding
from soundsum.auditor.target import Target
from soundsum.numbers.event_counts import LARGEST
from soundsum.numbers.rationals import Value, is_special
from soundsum.numbers.types import FloatType
from soundsum.tables.runs import Runs

MOST_LINES = 20
RUNS, MOST_RUNS = 1000, 20_000

NUMBER = 'def number(x): return Fraction(x.item() if hasattr(x, "item") else x)'


def repro(finding: Finding) -> str:
    """The program, or nothing where the target does not say how it is called."""
    made = finding.attack
    if not finding.verdict.violation or made is None:
        return ""
    certified = finding.verdict.exact
    lines = _lines(finding.target, "noiseless" if certified else "release")
    if lines is None:
        return ""
    target, problem = finding.target, made.problem
    p = target.parameters(problem, made.right.size)
    bounds = ", ".join(_literal(p[name]) for name in ("lower", "upper", "epsilon", "size"))
    dtype, convert = _storage(target)
    rows = "np.concatenate([np.tile(np.array([{}(x) for x in xs.split()], {!r}), n) for xs, n in parts])"
    program = [
        f"# {target.name} {target.version}".rstrip() + f": {finding.rule}, {problem.relation} neighbours",
        *(["import math"] if not certified else []),
        "from fractions import Fraction",
        "import numpy as np",
        f"lower, upper, epsilon, size = {bounds}",
        *lines,
        f"def rows(*parts): return {rows.format(convert, dtype)}",
        f"left = {_data(made.left)}",
        f"right = {_data(made.right)}",
        *(_certified(finding) if certified else _statistical(finding)),
    ]
    return "\n".join(program) + "\n" if len(program) <= MOST_LINES else ""


def _lines(target: Target, role: str) -> list[str] | None:
    """The lines that define the function: the target's own, or an import of it."""
    if re.search(rf"\b(def {role}\b|{role} *=)", target.repro):
        return target.repro.strip().splitlines()
    function = getattr(target, role)
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if not module or module == "__main__" or "<" in name or "." in name:
        return None
    takes = [n for n in inspect.signature(function).parameters if n in PASSED and n not in ("data", "runs")]
    passed = "".join(f", {n}={n}" for n in takes)
    one = ", runs=1" if "runs" in inspect.signature(function).parameters else ""
    last = "[0]" if one else ""
    return [
        f"from {module} import {name} as function",
        f"def {role}(data): return function(data{passed}{one}){last}",
    ]


def _storage(target: Target) -> tuple[str, str]:
    if isinstance(target.dtype, FloatType):
        known = target.dtype.name in ("float16", "float32", "float64")
        return (target.dtype.name if known else "float32"), "float.fromhex"
    return target.dtype.name, "int"


def _data(runs: Runs) -> str:
    parts = ", ".join(f'("{" ".join(map(_text, pattern))}", {count})' for pattern, count in runs.parts)
    return f"rows({parts})"


def _text(x: Value) -> str:
    return str(x) if isinstance(x, int) else float(x).hex()


def _literal(x: object) -> str:
    return f'float.fromhex("{x.hex()}")' if isinstance(x, float) and x != int(x) else repr(x)


def _certified(finding: Finding) -> list[str]:
    if finding.rule == "exception":
        return [
            "def error(data):",
            "    try: noiseless(data)",
            "    except Exception as e: return repr(e)",
            'print("left:", error(left), "right:", error(right))',
            "raise SystemExit((error(left) is None) != (error(right) is None))",
        ]
    if is_special(finding.measured):
        return [
            "sums = [float(noiseless(data)) for data in (left, right)]",
            'print("the sums are", *sums)',
            "raise SystemExit(bool(np.isfinite(sums).sum() == 1 or np.isnan(sums).sum() == 1))",
        ]
    assert finding.claimed is not None
    assert finding.allowed is not None
    moved = "abs(a - b)"
    if finding.target.modulus:
        moved = f"min((a - b) % {finding.target.modulus}, (b - a) % {finding.target.modulus})"
    said = f'print("the sum moves by", float({moved} / claimed), "times the sensitivity used")'
    if not finding.claimed:
        said = f'print("the sum moves by", float({moved}), "and the sensitivity used is 0")'
    return [
        NUMBER,
        "a, b = number(noiseless(left)), number(noiseless(right))",
        f'claimed = Fraction("{finding.claimed}")',
        said,
        f'raise SystemExit({moved} > Fraction("{finding.allowed}"))',
    ]


def _statistical(finding: Finding) -> list[str]:
    assert finding.sampled is not None
    event, t = finding.sampled.event, finding.target
    distance = max(1, int(finding.attack.distance)) if finding.attack else 1
    guard = (
        ["def event(data):", "    try: release(data)", "    except Exception: return True"]
        if event.test == "raises"
        else [
            *([NUMBER] if event.test == "multiple" else []),
            f"def event(data): x = release(data); return {_test(event)}",
        ]
    )
    runs = _runs(float(t.epsilon) * distance)
    shown = f"{event.description}: %d and %d of {runs} runs on left and right"
    return [
        *guard,
        f"x, y = (sum(bool(event(data)) for _ in range({runs})) for data in (left, right))",
        f'print("{shown}" % (x, y))',
        f"E = math.exp({min(LARGEST, float(t.epsilon) * distance)})",
        f"over = [a - E * b - {float(t.delta)} * {runs} - 6 * math.sqrt(a + (b + 2) * E * E) "
        f"for a, b in ((x, y), (y, x), ({runs} - x, {runs} - y), ({runs} - y, {runs} - x))]",
        "raise SystemExit(max(over) > 0)",
    ]


def _runs(epsilon: float) -> int:
    """So many that a private mechanism has the rarer event often enough to tell.

    >>> _runs(1), _runs(5), _runs(300)
    (1000, 7420, 20000)
    """
    return min(MOST_RUNS, max(RUNS, int(50 * math.exp(min(LARGEST, epsilon)))))


def _test(event: Event) -> str:
    match event.test:
        case "nan":
            return "x != x"
        case "infinite":
            return "math.isinf(x)"
        case "multiple":
            return f'math.isfinite(x) and (number(x) / Fraction("{event.threshold}")).denominator == 1'
    sign = {"above": ">", "below": "<", "equal": "=="}[event.test]
    return f'float(x) {sign} Fraction("{event.threshold}")'
