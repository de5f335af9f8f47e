"""Docstrings are plain text that lists arguments as `name: meaning`; this module translates them for Sphinx."""

from __future__ import annotations

import re
from typing import Any

ARGUMENT = re.compile(r"([a-z_]+(?:, [a-z_]+)*): (\S.*)")


def list_arguments(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn paragraphs that list arguments into fields, and escape signs that mean something to Sphinx."""
    lines[:] = [*"\n\n".join(map(_paragraph, "\n".join(lines).strip().split("\n\n"))).splitlines(), ""]


def _paragraph(text: str) -> str:
    if not text or text.lstrip().startswith(">>>"):
        return text
    lines = [
        re.sub(r"(?<=\w)_(?=\W|$)|(?<!\w)[*|](?=\w)|(?<=\w)\*(?=\w)", r"\\\g<0>", line) for line in text.splitlines()
    ]
    if not ARGUMENT.match(lines[0]):
        return "\n".join(lines)
    arguments: list[list[str]] = []
    for line in lines:
        if ARGUMENT.match(line):
            arguments.append([line])
        else:
            arguments[-1].append(line)
    return "\n".join(field for argument in arguments for field in _fields(argument))


def _fields(argument: list[str]) -> list[str]:
    """Make a field for each of the names that share a text."""
    found = ARGUMENT.match(argument[0])
    assert found is not None
    return ["\n".join([f":param {name}: {found[2]}", *argument[1:]]) for name in found[1].split(", ")]
