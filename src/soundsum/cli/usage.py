"""Wrong usage of a command, in one line each: what Typer and the operating system refuse, and --bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import typer

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue

WrongUsage: type[Exception] = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException")
"""Typer's usage errors: its own copy of click's classes or click's, depending on the version."""

WHOLE = re.compile(r"(?:'[^']*' is not a|Input should be a) valid integer.*")
NUMBER = re.compile(r"(?:'[^']*' is not a|Input should be a) valid (?:number|float).*")
EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")
NAMED = r"'([^']*)' is not a valid"
"""Typer's messages about invalid numbers: click's or pydantic's."""


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
    reason = re.sub(r"\. Did you mean (.+)\?$", r"; did you mean \1?", reason)
    reason = re.sub(
        r" \(Possible options: (.+)\)$", lambda found: f"; did you mean {found[1].replace(', ', ' or ')}?", reason
    )
    reason = re.sub(r"^Invalid value for '?([-\w]+)'?", r"\1", reason)
    reason = WHOLE.sub(f"{_given(error)} is not a whole number; give one such as 10", reason)
    reason = NUMBER.sub(f"{_given(error)} is not a number; give one such as 10 or 0.5", reason)
    reason = EXTRA.sub(r"unexpected argument: \1; put what has spaces in quotes", reason)
    reason = reason.replace("requires an argument", "needs a value")
    reason = reason if reason.startswith("-") or reason[:2].isupper() else f"{reason[:1].lower()}{reason[1:]}"
    return reason if ";" in reason else f"{reason}; {command} --help shows what it takes"


def _given(error: Any) -> str:
    """The value that could not be read, where whoever read it says so: pydantic, which newer versions of typer use."""
    reader = error.__cause__
    given = [one["input"] for one in reader.errors()] if hasattr(reader, "errors") else re.findall(NAMED, str(error))
    return str(given[0]) if given else "this"


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
            raise RefusedValue(
                "bounds",
                Reason.MALFORMED,
                "`bounds={given}`:",
                "give the lower and the upper bound of a record, such as `bounds=[0, 100]`",
                given=quote(" ".join(given)),
            )
        found += values
    return found
