"""The reference: public names from their docstrings, commands from their help. A name without a page is an error."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

import soundsum
from soundsum.cli.app import app

GROUPS = {
    "statistics": (
        "Statistics",
        "Ask a table for statistics, one per call or several for one charge.",
        ("sum", "mean", "variance", "std", "count", "histogram", "quantile", "median", "release"),
        ("groups", "Found", "plan_groups", "GroupPlan"),
        ("suggest_bounds", "suggest_max_rows", "BoundsAdvice", "MaxRowsAdvice", "ClippedShare"),
        ("Sum", "Mean", "Variance", "Std", "Count", "Histogram"),
        ("Quantile", "Bounds", "TotalBounds", "MaxRows", "Clipped"),
        ("year", "month", "week", "day", "hour"),
    ),
    "releases": (
        "Releases",
        "Results, and checks of their certificates.",
        ("Release", "Releases", "Ratio", "Several", "check", "ReadFailed"),
    ),
    "owners": (
        "Owners and budgets",
        "The owner binds these to the data, once.",
        ("Private", "Budget", "BudgetExceeded", "BudgetMismatch", "Cost", "Unit", "connect"),
        ("Partial", "PartialPlan"),
    ),
    "plans": (
        "Plans",
        "The error and cost of each summation method, before you spend anything.",
        ("Problem", "plan", "plans", "Plan", "private_max_size", "Relation", "FloatType", "IntType", "Rounding"),
        ("plan_quantile", "QuantilePlan"),
    ),
    "attacks": ("Attacks", "Neighbouring datasets that ordinary sums tell apart.", ("attack", "Attack", "Runs")),
    "auditor": ("The auditor", "Attacks against any mechanism.", ("audit", "Target", "Audit", "Finding")),
}


def pages() -> dict[str, str]:
    """Write the Markdown of each page of the reference, by path."""
    made = {f"reference/{name}.md": _group(*group) for name, group in GROUPS.items()}
    missing = set(soundsum.__all__) - {"__version__"} - set(_names())
    if missing:
        raise ValueError(f"public names without a place in the reference: {', '.join(sorted(missing))}")
    return made | {"reference/commands.md": _commands()}


def _names() -> Iterator[str]:
    for _, _, *lists in GROUPS.values():
        for names in lists:
            yield from names


def _group(title: str, about: str, *lists: tuple[str, ...]) -> str:
    names = [name for names in lists for name in names]
    return f"# {title}\n\n{about}\n\n" + "\n\n".join(map(_entry, names)) + "\n"


def _entry(name: str) -> str:
    kind = "function"
    if isinstance(made := getattr(soundsum, name), type):
        kind = "exception" if issubclass(made, Exception) else "class"
    members = "" if kind == "function" else "\n:members:\n:undoc-members:\n:exclude-members: __init__, __new__"
    return f"## {name}\n\n```{{eval-rst}}\n.. auto{kind}:: soundsum.{name}{_indented(members)}\n```"


def _indented(text: str) -> str:
    return text.replace("\n", "\n   ")


def _commands() -> str:
    text = ["# Commands", "Exit codes: 0 fine; 1 a violation was found; 2 wrong usage or bad input; 3 a fault."]
    return "\n\n".join([*text, *_command("soundsum", typer.main.get_command(app))]) + "\n"


def _command(name: str, command: Any) -> Iterator[str]:
    inside = getattr(command, "commands", {})
    if not inside:
        arguments = [_metavar(each) for each in command.params if each.param_type_name == "argument"]
        yield f"## {name}"
        yield f"```text\n{' '.join([name, *arguments])} [OPTIONS]\n```"
        yield from map(_paragraph, inspect.cleandoc(command.help or "").split("\n\n"))
        yield "\n".join(["| | |", "|---|---|", *map(_parameter, command.params)])
    for word, each in sorted(inside.items()):
        yield from _command(f"{name} {word}", each)


def _metavar(argument: Any) -> str:
    return argument.metavar or argument.name.upper()


def _paragraph(text: str) -> str:
    """Format a paragraph of a help text; a paragraph that begins with the command is an example."""
    plain = " ".join(text.split())
    return f"```text\n{plain}\n```" if plain.startswith("soundsum ") else _escape(plain)


def _parameter(each: Any) -> str:
    names = _metavar(each) if each.param_type_name == "argument" else ", ".join(each.opts)
    return f"| `{names}` | {_escape(each.help or '').replace('|', '&#124;')}{' *Required.*' if each.required else ''} |"


def _escape(text: str) -> str:
    return re.sub(r"([*_<\[\]])", r"\\\1", text)
