"""Every mutant of a module: one comparison, constant, rounding, sign or step changed, as a syntax tree.

Strings are changed where they are SQL (`sql`). Left alone: messages (other f-strings, what is raised or asserted),
functions that only put into words what is known (WORDED), annotations with their imports, what is inside of cast(),
field(), getattr() and hasattr(), docstrings, decorators and names that are only text.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutants import sql

SOURCE = Path(__file__).parents[2] / "src" / "soundsum"

COMPARISONS: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
ROUNDINGS = {
    "floor": "ceil",
    "ceil": "floor",
    "__floor__": "__ceil__",
    "__ceil__": "__floor__",
    "round_up": "round_down",
    "round_down": "round_up",
    "UP": "DOWN",
    "DOWN": "UP",
    "max": "min",
    "min": "max",
    "any": "all",
    "all": "any",
    "sorted": "list",
}
"""Functions, and names for ways to round, by what each is replaced."""

DROPPED = {"abs", "nextafter", "int", "isqrt"}
"""Functions of which the first argument alone may be left."""

STEPS = {"permute", "truncate", "split"}
"""What is done to records before they are added; each may be left out of a tuple."""

WORDED = {"__repr__", "_repr_html_", "__str__", "_describe", "explain", "say_missing"}
"""Functions whose result is read by persons alone; other tests hold them to their words."""


@dataclass(frozen=True)
class Mutant:
    """One change. `place` and `change` and the `nth` of that kind name it, whatever the line."""

    module: str
    place: str
    change: str
    nth: int
    line: int
    number: int  # among all mutants of the module

    @property
    def name(self) -> str:
        return f"{self.module} {self.place}: {self.change}" + (f" #{self.nth}" if self.nth > 1 else "")


Edit = Callable[[ast.AST], ast.AST | None]


def find_mutants(module: str) -> list[Mutant]:
    """All mutants of a module such as "methods/grid"."""
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for number, (node, place, change, _) in enumerate(_edits(_parse(module), module in sql.MODULES)):
        seen[place, change] += 1
        found.append(Mutant(module, place, change, seen[place, change], node.lineno, number))  # type: ignore[attr-defined]
    return found


UNCHANGED = -1
"""The number of a mutant that is none."""


def mutated_tree(module: str, number: int) -> ast.Module:
    """The module with its n-th change made."""
    tree = _parse(module)
    if number == UNCHANGED:
        return tree
    for i, (node, _, _, edit) in enumerate(_edits(tree, module in sql.MODULES)):
        if i == number:
            changed = edit(copy.deepcopy(node))
            return ast.fix_missing_locations(_Replace(node, changed).visit(tree))
    raise ValueError(f"{module} has no mutant {number}")


def _parse(module: str) -> ast.Module:
    path = SOURCE / f"{module}.py"
    return ast.parse(path.read_text(), str(path))


class _Replace(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST | None) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST | None:
        if node is self.old:
            return self.new
        return super().generic_visit(node)


def _edits(tree: ast.Module, has_sql: bool) -> Iterator[tuple[ast.AST, str, str, Edit]]:
    for node, place in _nodes(tree, "", has_sql):
        for change, edit in _changes(node):
            yield node, place or "(module)", change, edit
        if has_sql and isinstance(node, ast.Constant) and isinstance(node.value, str):
            for change, text in sql.change_sql(node.value):
                yield node, place or "(module)", change, lambda n, text=text: _with(n, value=text)


def _nodes(node: ast.AST, place: str, has_sql: bool) -> Iterator[tuple[ast.AST, str]]:
    """Every node that may be changed, with the function or class it is in."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "type_params", "bases", "keywords") and not isinstance(
            node, ast.Call
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or _is_text(child, has_sql):
                continue
            inner = f"{place}.{child.name}".strip(".") if hasattr(child, "name") and hasattr(child, "body") else place
            yield child, inner if isinstance(child, ast.expr) else place
            yield from _nodes(child, inner, has_sql)


def _is_text(node: ast.AST, has_sql: bool) -> bool:
    if isinstance(node, ast.Raise | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.JoinedStr):
        return not has_sql
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True  # a docstring
    if isinstance(node, ast.FunctionDef) and node.name in WORDED:
        return True
    return isinstance(node, ast.Call) and _called(node) in ("Theorem", "TypeVar", "cast", "field", "hasattr", "getattr")


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _changes(node: ast.AST) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Compare):
        yield from _of_comparison(node)
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node)
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        other = OPERATORS[type(node.op)]
        yield f"{_short(node)}: {type(node.op).__name__} to {other.__name__}", lambda n: _with(n, op=other())
    elif isinstance(node, ast.BoolOp):
        other_bool = ast.Or if isinstance(node.op, ast.And) else ast.And
        yield f"{_short(node)}: and/or", lambda n: _with(n, op=other_bool())
        for i, value in enumerate(node.values):
            yield f"{_short(node)}: without {_short(value)}", lambda n, i=i: _without(n, i)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        if not isinstance(node.operand, ast.Constant):
            yield f"{_short(node)}: without {type(node.op).__name__}", lambda n: n.operand  # type: ignore[attr-defined]
    elif isinstance(node, ast.Call):
        yield from _of_call(node)
    elif isinstance(node, ast.Attribute) and node.attr in ROUNDINGS:
        yield f"{_short(node)} to {ROUNDINGS[node.attr]}", lambda n: _with(n, attr=ROUNDINGS[n.attr])  # type: ignore[attr-defined]
    elif isinstance(node, ast.Name) and node.id in ("UP", "DOWN"):
        yield f"{node.id} to {ROUNDINGS[node.id]}", lambda n: _with(n, id=ROUNDINGS[n.id])  # type: ignore[attr-defined]
    elif isinstance(node, ast.Tuple):
        yield from _of_tuple(node)
    elif (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)) or (
        isinstance(node, ast.Assign) and _rewrites(node)
    ):
        yield f"{_short(node)}: left out", lambda n: ast.copy_location(ast.Pass(), n)
    if isinstance(node, ast.If | ast.IfExp | ast.While) and not isinstance(node.test, ast.Compare | ast.Constant):
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        yield f"if {_short(node.test)}: negated", lambda n: _with(n, test=ast.UnaryOp(ast.Not(), n.test))  # type: ignore[attr-defined]


def _of_comparison(node: ast.Compare) -> Iterator[tuple[str, Edit]]:
    for i, op in enumerate(node.ops):
        for other in COMPARISONS[type(op)]:
            change = f"{_short(node)}: {type(op).__name__} to {other.__name__}"
            yield change, lambda n, i=i, other=other: _with(n, ops=[*n.ops[:i], other(), *n.ops[i + 1 :]])

    last = node.comparators[-1]
    if isinstance(node.ops[-1], ast.Lt | ast.LtE | ast.Gt | ast.GtE) and not isinstance(last, ast.Constant):
        doubled = ast.BinOp(ast.Constant(2), ast.Mult(), last)
        yield f"{_short(node)}: 2 * {_short(last)}", lambda n: _with(n, comparators=[*n.comparators[:-1], doubled])


def _of_constant(node: ast.Constant) -> Iterator[tuple[str, Edit]]:
    value = node.value
    if isinstance(value, bool):
        yield f"{value} to {not value}", lambda n: _with(n, value=not value)
    elif isinstance(value, int | float):
        for other in (value + 1, value - 1):
            yield f"{value!r} to {other!r}", lambda n, other=other: ast.Constant(other)


def _of_call(node: ast.Call) -> Iterator[tuple[str, Edit]]:
    name = _called(node)
    if isinstance(node.func, ast.Name) and name in ROUNDINGS:
        other = ROUNDINGS[name]
        yield f"{_short(node)}: {name} to {other}", lambda n: _with(n, func=ast.Name(other, ast.Load()))
    if name in DROPPED and node.args:
        yield f"{_short(node)}: without {name}", lambda n: n.args[0]  # type: ignore[attr-defined]


def _of_tuple(node: ast.Tuple) -> Iterator[tuple[str, Edit]]:
    for i, item in enumerate(node.elts):
        if isinstance(item, ast.Constant) and item.value in STEPS:
            yield f"{_short(node)}: without {item.value}", lambda n, i=i: _with(n, elts=n.elts[:i] + n.elts[i + 1 :])


def _rewrites(node: ast.Assign) -> bool:
    """x = f(x): a step that can be left out."""
    names = {target.id for target in node.targets if isinstance(target, ast.Name)}
    used = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    return bool(names & used)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else f"{text[:34]}..{text[-34:]}"


def _without(node: ast.BoolOp, i: int) -> ast.expr:
    left = [*node.values[:i], *node.values[i + 1 :]]
    return left[0] if len(left) == 1 else ast.BoolOp(node.op, left)


def _with(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node
