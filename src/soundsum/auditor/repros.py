"""A program for each violation: at most 20 lines that show it with only NumPy and the library installed.

It prints both sums and ends with exit code 1 while the violation exists, so it can serve as a regression test. The
sensitivity is asked of the library where that is possible, so that a fix of either, sum or claim, ends the violation.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
from fractions import Fraction
from typing import Any

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


LARGEST_DOUBLE = Fraction(sys.float_info.max)

HARD_CODED = "  # written down here, as no object of the library holds it"


def repro(finding: Finding) -> str:
    """The program, or nothing where the target does not say how it is called."""
    made = finding.attack
    if not finding.verdict.violation or made is None:
        return ""
    role = "noiseless" if finding.verdict.exact else "release"
    lines = _lines(finding.target, role)
    if lines is None:
        return ""
    claim = _claim(finding.target) if finding.verdict.exact and _rests_on_a_claim(finding) else None
    programs = [] if claim is None else [_program(finding, needed_lines([*lines, *claim], {role, "claimed"}), True)]
    programs.append(_program(finding, needed_lines(lines, {role}), False))
    return next(("\n".join(one) + "\n" for one in programs if len(one) <= MOST_LINES), "")


def _program(finding: Finding, lines: list[str], claim_is_asked: bool) -> list[str]:
    made, target = finding.attack, finding.target
    assert made is not None
    p = target.parameters(made.problem, made.right.size)
    bounds = ", ".join(_literal(p[name]) for name in ("lower", "upper", "epsilon", "size"))
    dtype, convert = _storage(target)
    rows = "np.concatenate([np.tile(np.array([{}(x) for x in xs.split()], {!r}), n) for xs, n in parts])"
    return [
        f"# {target.name} {target.version}".rstrip() + f": {finding.rule}, {made.problem.relation} neighbours",
        *([] if finding.verdict.exact else ["import math"]),
        "from fractions import Fraction",
        "import numpy as np",
        f"lower, upper, epsilon, size = {bounds}",
        *lines,
        f"def rows(*parts): return {rows.format(convert, dtype)}",
        f"left = {_data(made.left)}",
        f"right = {_data(made.right)}",
        *(_certified(finding, claim_is_asked) if finding.verdict.exact else _statistical(finding)),
    ]


def _lines(target: Target, role: str) -> list[str] | None:
    """The lines that define the function: the target's own, or an import of it."""
    if role in _roles(target.repro):
        return target.repro.strip().splitlines()
    return _import(getattr(target, role), role)


def _claim(target: Target) -> list[str] | None:
    """Lines besides the target's own that define `claimed`; None if there is only a number.

    The functions of our own adapters are not the library's to mend.
    """
    if "claimed" in _roles(target.repro):
        return []
    ours = str(getattr(target.claimed, "__module__", "")).startswith("soundsum.")
    return _import(target.claimed, "claimed") if callable(target.claimed) and not ours else None


def _import(function: Any, role: str) -> list[str] | None:
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if not module or module == "__main__" or "<" in name or "." in name:
        return None
    takes = [n for n in inspect.signature(function).parameters if n in PASSED and n not in ("data", "runs")]
    passed = ", ".join([*(["data"] if role != "claimed" else []), *(f"{n}={n}" for n in takes)])
    several = "runs" in inspect.signature(function).parameters
    call = f"function({passed}, runs=1)[0]" if several else f"function({passed})"
    call = call.replace("function", f"its_{role}")
    return [f"from {module} import {name} as its_{role}", f"def {role}(data): return {call}"]


def _roles(program: str) -> set[str]:
    """The names that a program defines itself, apart from imports."""
    body = [one for one in ast.parse(program).body if not isinstance(one, ast.Import | ast.ImportFrom)]
    return {name for statement in body for name in _defined(statement)}


def _defined(statement: ast.stmt) -> set[str]:
    """The names that a statement makes."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {one.asname or one.name.partition(".")[0] for one in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def needed_lines(lines: list[str], wanted: set[str]) -> list[str]:
    """The lines without the functions that nothing here calls, and without imports that only those use.

    >>> needed_lines(["import a", "import b", "def f(x): return a.g(x)", "def h(x): return b.g(x)", "b.start()"], {"f"})
    ['import a', 'import b', 'def f(x): return a.g(x)', 'b.start()']
    """
    body = ast.parse("\n".join(lines)).body
    needed = {place for place, one in enumerate(body) if isinstance(one, ast.Expr)}
    names = set(wanted)
    while True:
        names |= {n.id for place in needed for n in ast.walk(body[place]) if isinstance(n, ast.Name)}
        more = {place for place, one in enumerate(body) if _defined(one) & names} - needed
        if not more:
            break
        needed |= more
    kept = {number for place in needed for number in range(_first_line(body[place]), (body[place].end_lineno or 0) + 1)}
    return [line for number, line in enumerate(lines, 1) if number in kept]


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


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


def _exact(x: Fraction) -> str:
    """A rational as code, short where it is a float with many digits.

    >>> _exact(Fraction(1, 3)), _exact(Fraction(2)**300)
    ('Fraction("1/3")', 'Fraction(float.fromhex("0x1.0000000000000p+300"))')
    """
    plain = f'Fraction("{x}")'
    if len(plain) <= 60 or abs(x) > LARGEST_DOUBLE or Fraction(float(x)) != x:
        return plain
    return f'Fraction(float.fromhex("{float(x).hex()}"))'


def _rests_on_a_claim(finding: Finding) -> bool:
    return finding.rule != "exception" and not is_special(finding.measured) and bool(finding.claimed)


def _certified(finding: Finding, claim_is_asked: bool) -> list[str]:
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
    assert finding.attack is not None
    moved = "abs(a - b)"
    if finding.target.modulus:
        moved = f"min((a - b) % {finding.target.modulus}, (b - a) % {finding.target.modulus})"
    said = f'print("the sum moves by", float({moved} / claim), "times the sensitivity used")'
    if not finding.claimed:
        said = f'print("the sum moves by", float({moved}), "and the sensitivity used is 0")'
    distance = max(1, int(finding.attack.distance))
    claim = "number(claimed(right))" if claim_is_asked else f"{_exact(finding.claimed)}{HARD_CODED}"
    return [
        NUMBER,
        "a, b = number(noiseless(left)), number(noiseless(right))",
        f"claim = {claim}",
        said,
        f"raise SystemExit({moved} > claim{f' * {distance}' if distance > 1 else ''})",
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
