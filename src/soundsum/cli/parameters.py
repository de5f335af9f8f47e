"""Parameters of commands: those of releases as their options are declared, and those that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable
from enum import StrEnum
from typing import Annotated

import typer

from soundsum.releases.options import Option

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
AsCsv = Annotated[
    bool, typer.Option("--csv", help="Print CSV instead of a table: the groups, the value, and low and high.")
]

Missing = StrEnum("Missing", ["zero", "drop"])


ARGUMENTS = ("data", "statistics")
"""Options that a command takes without a name."""


def read_options(options: Iterable[Option], required: Container[str] = ()) -> list[inspect.Parameter]:
    """The parameters of a command, as its options are declared: arguments and required ones first."""
    spelled = [option for option in options if option.flag is not None]
    first = [option for option in spelled if option.name in ARGUMENTS]
    needed = sorted([option for option in spelled if option.name in required], key=lambda option: option.name)
    rest = [option for option in spelled if option not in (*first, *needed)]
    return [_read_option(option, option.name in required) for option in (*first, *needed, *rest)]


def _read_option(option: Option, is_required: bool) -> inspect.Parameter:
    flag = option.flag
    assert flag is not None
    kind, default = Missing if option.name == "missing" else flag.kind, option.default
    if option.name in ARGUMENTS:
        is_required, info = True, typer.Argument(help=flag.help, metavar=flag.metavar)
    else:
        info = typer.Option(help=flag.help, metavar=flag.metavar)
    if not is_required and (default is None or option.name == "missing"):
        kind, default = kind | None, None
    return inspect.Parameter(
        flag.name or option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if is_required else default,
        annotation=Annotated[kind, info],
    )


def take(command: Callable[..., None], parameters: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """Add parameters to a command's signature, from which Typer reads them, and --json and --csv."""
    how = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in (("as_json", AsJson), ("as_csv", AsCsv))
    ]
    taken = [*parameters, *how]
    command.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in taken}
    return command
