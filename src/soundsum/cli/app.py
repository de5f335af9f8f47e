"""The command line. Exit codes: 0 fine; 1 a violation was found; 2 wrong usage or bad input; 3 a fault."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.main import get_command

from soundsum import ReadFailed, __version__
from soundsum.cli.commands import (
    attack_command,
    audit_command,
    budget_commands,
    method_commands,
    release_commands,
    reproduce_command,
    request_command,
    serve_commands,
)
from soundsum.cli.refusal_text import (
    WrongUsage,
    find_choices,
    find_options,
    list_kinds,
    read_bounds,
    read_usage,
    say_os_error,
    spell,
)
from soundsum.refusals import Refusal

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich", pretty_exceptions_enable=False)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"soundsum {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Differentially private sums whose privacy proof covers the arithmetic the computer really does."""


@app.command()
def demo() -> None:
    """Show in half a minute what goes wrong with ordinary sums, and what soundsum does instead."""
    from soundsum.cli.commands.demo_command import run

    run(Console())


for _group in (
    method_commands,
    release_commands,
    request_command,
    budget_commands,
    serve_commands,
    attack_command,
    audit_command,
    reproduce_command,
):
    _group.register(app)


def main() -> None:
    """The entry point: errors a person can mend are one line and exit code 2, others 3."""
    try:
        ended = label(get_command(app))(read_bounds(sys.argv[1:]), standalone_mode=False)
        sys.exit(ended if isinstance(ended, int) else 0)
    except WrongUsage as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # whose words are the help itself
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        usage = read_usage(error, get_command(app), read_bounds(sys.argv[1:]))
        place: Any = getattr(error, "ctx", None)  # knows a command whose name may be left out
        command = get_command(app) if place is None else place.command
        _refuse(spell(usage, find_options(command, sys.argv[1:]), sys.argv[1:]))
    except Refusal as refusal:
        _refuse(spell(refusal, find_options(get_command(app), sys.argv[1:]), sys.argv[1:]))
    except (ValueError, TypeError, ImportError, ReadFailed) as error:
        _refuse(str(error))
    except OSError as error:
        _refuse(say_os_error(error))
    except MemoryError as error:
        _refuse(str(error) or "there is too little memory; ask for less at once, or give the machine more")
    except (KeyboardInterrupt, typer.Abort):
        Console(stderr=True).print("stopped", highlight=False)
        sys.exit(130)
    except Exception:
        Console(stderr=True).print_exception()
        sys.exit(3)


def _refuse(reason: str) -> None:
    Console(stderr=True).print(f"[red]error:[/red] {escape(reason)}", highlight=False, soft_wrap=True)
    sys.exit(2)


def label(command: Any) -> Any:
    """The command, in whose help, and in that of those below it, every value has a label and choices are in the words.

    Typer's own labels are types of Python, <bool> even beside what takes no value, and break long choices anywhere.
    """
    for below in getattr(command, "commands", {}).values():
        label(below)
    for one in command.params:
        if one.metavar is None:
            one.metavar = (
                one.name.upper() if one.param_type_name == "argument" else _label(one, list_kinds(command, one.name))
            )
    asks_for_help = command.get_help_option(typer.Context(command))
    if asks_for_help is not None:
        asks_for_help.metavar = ""
    return command


def _label(option: Any, kinds: Sequence[Any]) -> str:
    if getattr(option, "is_flag", False):
        return ""
    choices = find_choices(kinds)
    if choices is not None:
        names = [str(one.value) for one in choices]
        if not all(name in option.help for name in names):
            option.help = f"{option.help.rstrip('.')}: {', '.join(names[:-1])} or {names[-1]}."
        return "NAME"
    return "N" if int in kinds or float in kinds else "TEXT"
