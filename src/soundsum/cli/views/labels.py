"""Placeholders for values in the help of every command: FILE, N, TEXT; short, to leave room for the text."""

from __future__ import annotations

import enum
import inspect
from typing import Any, get_args, get_type_hints

import typer


def label(command: Any) -> Any:
    """The command, in whose help, and in that of those below it, every value has a label and choices are in the words.

    Typer's own labels are types of Python, <bool> even beside what takes no value, and break long choices anywhere.
    """
    for below in getattr(command, "commands", {}).values():
        label(below)
    kinds = {} if command.callback is None else get_type_hints(inspect.unwrap(command.callback))
    for one in command.params:
        if one.metavar is None:
            one.metavar = one.name.upper() if one.param_type_name == "argument" else _label(one, kinds.get(one.name))
    asks_for_help = command.get_help_option(typer.Context(command))
    if asks_for_help is not None:
        asks_for_help.metavar = ""
    return command


def _label(option: Any, hint: Any) -> str:
    if getattr(option, "is_flag", False):
        return ""
    kinds = get_args(hint) or (hint,)
    choices = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, enum.Enum)), None)
    if choices is not None:
        names = [str(one.value) for one in choices]
        if not all(name in option.help for name in names):
            option.help = f"{option.help.rstrip('.')}: {', '.join(names[:-1])} or {names[-1]}."
        return "NAME"
    return "N" if int in kinds or float in kinds else "TEXT"
