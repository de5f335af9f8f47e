"""What a person reads when a command is refused: one line, the value, the remedy, in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

WrongUsage: type[Exception] = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException")
"""What typer raises of wrong usage; it has click's classes inside, or uses click, by its version."""

IN_OPTIONS = ("sum", "mean", "variance", "count", "histogram", "release", "plan", "budget")
"""Commands whose refusals come from functions with the same options."""

OPTIONS = {
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            *("epsilon", "delta", "rho", "noise", "relation", "by", "groups", "where", "privacy_unit", "max_rows"),
            *("max_groups", "missing", "column", "dtype", "size", "max_size", "method", "edges", "bins", "categories"),
            *("budget", "max_failures", "data"),
        )
    },
    "lower": "--bounds",
    "upper": "--bounds",
    "name": "--data",
    "path": "the path",
}
NAMED = rf"\b(?P<name>{'|'.join(OPTIONS)})="
LISTED = re.compile(NAMED + r"\[(?P<items>(?:'[^']*'|[-\w.]+)(?:, (?:'[^']*'|[-\w.]+))*)\]")
WHERE = re.compile(r"\bwhere=\[?\('(?P<column>[^']*)', '(?P<sign>[^']*)', (?P<value>[^)]*)\)\]?")
GIVEN = re.compile(NAMED + r"(?P<value>'[^']*'|\"[^\"]*\"|[^\s;,:()]+)?")
ABOVE = re.compile(r"lower=(\S+) is above upper=(\S+); swap them")
BUDGET = re.compile(r"ss\.Budget\([^)]*\)(, or with path= one in a file)?")


def say(message: str, command: str | None) -> str:
    """A message of the library in the words of the command line, where the command has the same options.

    >>> say("groups= is missing; list them, such as groups=['a', 'b']", "sum")
    '--groups is missing; list them, such as --groups a,b'
    >>> say("epsilon=0: a privacy parameter is a finite number above 0", "sum")
    '--epsilon 0: a privacy parameter is a finite number above 0'
    """
    if command not in IN_OPTIONS:
        return message
    message = ABOVE.sub(r"--bounds \1 \2: the lower bound is above the upper; swap them", message)
    message = message.replace("lower= and upper=", "--bounds").replace("lower and upper", "--bounds")
    message = BUDGET.sub("a ledger, which soundsum budget create makes", message)
    message = WHERE.sub(lambda m: f"--where '{m['column']} {m['sign']} {m['value']}'", message)
    message = LISTED.sub(
        lambda m: f"{OPTIONS[m['name']]} {m['items'].replace(', ', ',').replace(chr(39), '')}", message
    )
    message = GIVEN.sub(
        lambda m: f"{OPTIONS[m['name']]} {(m['value'] or '').strip(chr(39) + chr(34))}".rstrip(), message
    )
    return message.replace("use ss.sum", "use soundsum sum")


def _plain(value: str) -> str:
    return value.replace("'", "").replace('"', "")


def say_os_error(error: OSError) -> str:
    """An error of the operating system without its number: the file, what is the matter, what to do."""
    if error.strerror is None or error.filename is None:
        return str(error)
    return f"{error.filename}: {error.strerror.lower()}; check the path"


def say_usage(error: Any) -> str:
    """Wrong usage in one line: what, and where to read on."""
    place = getattr(error, "ctx", None)
    command = "soundsum" if place is None else place.command_path
    reason = error.format_message().replace("\n", " ").replace("Value error, ", "").rstrip(".")
    reason = re.sub(r"^Invalid value for '?([-\w]+)'?", r"\1", reason)
    reason = reason if reason.startswith("-") else f"{reason[:1].lower()}{reason[1:]}"
    return reason if ";" in reason else f"{reason}; {command} --help shows what it takes"


def read_bounds(arguments: Sequence[str]) -> list[str]:
    """The arguments with --bounds followed by two values; 0,100 is two. Refused here, as one too few takes the next."""
    found, rest = [], list(arguments)
    while rest:
        argument = rest.pop(0)
        option, _, inline = argument.partition("=")
        found.append(option if option == "--bounds" else argument)
        if option != "--bounds":
            continue
        given = [inline] if inline else []
        while rest and len(given) < 2 and not rest[0].startswith("--"):
            given.append(rest.pop(0))
        values = given[0].split(",") if given and "," in given[0] else given
        rest = given[1:] + rest if given and "," in given[0] else rest
        if len(values) != 2:
            raise ValueError(
                f"--bounds {' '.join(given)}: give the lower and the upper bound of a record, such as --bounds 0 100"
            )
        found += values
    return found
