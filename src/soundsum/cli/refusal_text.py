"""Refusals on the command line: options and code as commands and request files spell them, and wrong usage.

Some remedies are only theirs. Typer's own errors become refusals too, by their classes and fields.
"""

from __future__ import annotations

import inspect
import re
from ast import literal_eval
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from enum import Enum
from typing import Any, get_args, get_type_hints

import typer

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, Refusal, RefusedValue
from soundsum.releases.options import SETTINGS, list_fields
from soundsum.releases.signatures import CALLS
from soundsum.statistics import STATISTICS

ALSO = {"lower": "bounds", "upper": "bounds", "name": "data", "seconds": "time"}
"""Options that functions and commands call by different names."""

BOTH = re.compile(r"`lower(?:=([^`]*))?`(?: and |, )`upper(?:=([^`]*))?`")
"""Both bounds in a template; commands and requests have one option for the two."""

IN_REQUESTS = {name for kind in STATISTICS.values() for name in list_fields(kind)} | {
    *(*SETTINGS, "statistics", "statistic", "bounds", "lower", "upper")
}
"""Options that a request file may have."""

FOUND = re.compile(r"ss\.Found\(delta='(.*)'\)")
"""Groups that are to be found, as a remedy has them."""

PLAIN = re.compile(r"[\w@%+:,./-]+")
"""Text that a shell takes as it is."""


def find_options(command: Any, arguments: Sequence[str]) -> dict[str, str]:
    """Finds the command's spelling of each option of a function; its arguments have no name there."""
    command, _ = find_command(command, arguments)
    own = {one.name: max(one.opts, key=len) if one.opts[0].startswith("-") else "" for one in command.params}
    return {name: own[same] for name, same in ALSO.items() if same in own} | own


def spell(refusal: Refusal, options: Mapping[str, str], arguments: Sequence[str]) -> str:
    """A refusal as the command line prints it: one of something in a request file in the file's spelling."""
    command_line = CommandLine(options)
    if not refusal.place:
        return refusal.say(command_line)
    given = {argument.partition("=")[0] for argument in arguments}
    return refusal.say(RequestFile(command_line, {name for name, flag in options.items() if flag in given}))


class CommandLine:
    """Options as flags, such as --groups a,b; arguments, which have none, as their value."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options

    def option(self, name: str, value: str | None) -> str:
        """An option, perhaps with a value.

        >>> line = CommandLine({"groups": "--groups", "by": "--by", "where": "--where", "bounds": "--bounds"})
        >>> line.option("groups", None), line.option("groups", "['a', 'b']"), line.option("by", "['ward', 'year']")
        ('--groups', '--groups a,b', '--by ward --by year')
        >>> line.option("where", "[('age', '>=', 18)]"), line.option("bounds", "(0, 9)")
        ("--where 'age >= 18'", '--bounds 0 9')
        """
        flag = self.options.get(name, name)
        if found := FOUND.fullmatch(value or ""):
            return f"{flag} found {self.options.get('delta', 'delta')} {found[1]}"
        if value is None or _read(value) is True:
            return flag or name
        return " ".join(f"{flag} {text}".strip() for text in _list_arguments(name, value))

    def code(self, text: str) -> str:
        """Code as a command; text without Python's quotes.

        >>> line = CommandLine({})
        >>> line.code("ss.sum"), line.code("ss.Budget(epsilon=...)"), line.code("'1/3'")
        ('soundsum sum', 'soundsum budget create', '1/3')
        """
        called = text.partition("(")[0].removeprefix("ss.")
        if called == "Budget":
            return "soundsum budget create"
        if text == f"ss.{called}" and called in CALLS:
            return f"soundsum {called}"
        inside = _read(text)
        return inside if isinstance(inside, str) else text

    def sentences(self, refusal: Refusal) -> tuple[str, str]:
        if self.options.get("lower") != "--bounds":
            return refusal.problem, self._remedy(refusal)
        return _join_bounds(refusal, self._remedy(refusal))

    def _remedy(self, refusal: Refusal) -> str:
        match refusal.option, refusal.reason:
            case "dtype", Reason.UNKNOWN:
                return "use one of {names}, or one such as int5 or float(4,4)"
            case _, Reason.MISMATCH if {"path", "own", "asked"} <= refusal.facts.keys():  # a ledger that is there
                return "`soundsum budget show` shows it, and another path makes a new one"
            case "budget", Reason.CLOSED:
                return (
                    "its owner finds the reason in the operator's log and reopens it with `soundsum budget reopen` "
                    "(the release was: {release})"
                )
            case _:
                return refusal.remedy


class RequestFile:
    """Options as a request file has them, such as groups = ['a', 'b']; those of the command as it spells them."""

    def __init__(self, command_line: CommandLine, on_the_command_line: set[str]) -> None:
        self._own = IN_REQUESTS - on_the_command_line
        self._command_line = command_line

    def option(self, name: str, value: str | None) -> str:
        """An option, perhaps with a value.

        >>> file = RequestFile(CommandLine({"budget": "--budget"}), set())
        >>> file.option("groups", "['a', 'b']"), file.option("where", "'age >= 18'"), file.option("budget", "'l.db'")
        ("groups = ['a', 'b']", "where = ['age >= 18']", '--budget l.db')
        """
        if name not in self._own:
            return self._command_line.option(name, value)
        called = "bounds" if name in ("lower", "upper") else name
        if value is None:
            return called
        if found := FOUND.fullmatch(value):
            return f"{called} = 'found' with delta = '{found[1]}'"
        given = _read(value)
        if name == "where" and isinstance(given, str | list):
            value = repr([given] if isinstance(given, str) else _say_conditions(given))
        return f"{called} = {str(given).lower() if isinstance(given, bool) else value}"

    def code(self, text: str) -> str:
        return self._command_line.code(text)

    def sentences(self, refusal: Refusal) -> tuple[str, str]:
        match refusal.option, refusal.reason:
            case "groups", Reason.MALFORMED if "columns" in refusal.facts:
                other = "give {columns} lists to combine, one for each column: `groups=[['a', 'b'], [2020, 2021]]`"
            case "where", Reason.MALFORMED if "signs" in refusal.facts:
                other = "the signs are {signs}; list a second condition as another text, and put text in quotes"
            case _:
                other = refusal.remedy
        return _join_bounds(refusal, other)


def _join_bounds(refusal: Refusal, remedy: str) -> tuple[str, str]:
    """Both sentences with one option for both bounds."""
    problem = refusal.problem
    if (refusal.option, refusal.reason) == ("lower", Reason.SWAPPED) and {"lower", "upper"} <= refusal.facts.keys():
        problem, remedy = "`bounds=[{lower}, {upper}]`: the lower bound is above the upper", "swap them"
    joined = [
        BOTH.sub(lambda found: "`bounds`" if found[1] is None else f"`bounds=[{found[1]}, {found[2]}]`", sentence)
        for sentence in (problem, remedy)
    ]
    return joined[0], joined[1]


def _read(value: str) -> Any:
    """Reads a quoted argument back; None if it was cut off or is not a literal."""
    try:
        return literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _list_arguments(name: str, value: str) -> list[str]:
    """The arguments that a value takes, one for each time the option is given."""
    given = _read(value)
    if isinstance(given, str):
        return [_quote_for_shell(given)]
    if not isinstance(given, list | tuple):
        return [value]
    if name == "bounds":
        return [" ".join(_say_item(one) for one in given)]
    if name == "where":
        return [_quote_for_shell(one) for one in _say_conditions(given)]
    if name == "by":
        return [_quote_for_shell(_say_item(one)) for one in given]
    lists = given if all(isinstance(one, list) for one in given) else [given]
    return [_quote_for_shell(",".join(_quote_in_list(_say_item(one)) for one in items)) for items in lists]


def _say_item(item: Any) -> str:
    return "..." if item is ... else str(item)


def _say_conditions(given: Sequence[Any]) -> list[str]:
    """Conditions as texts, all of which hold; those of lists with one condition each in a single text."""
    if given and all(isinstance(one, list) and len(one) == 1 for one in given):
        return [" or ".join(_say_condition(one) for (one,) in given)]
    return [_say_condition(one) for one in given]


def _say_condition(condition: Any) -> str:
    return " ".join(map(str, condition)) if isinstance(condition, tuple) else str(condition)


def _quote_in_list(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name


def _quote_for_shell(text: str) -> str:
    return text if PLAIN.fullmatch(text) else repr(text)


WrongUsage: type[Exception] = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException")
"""Typer's usage errors: its own copy of click's classes or click's, depending on the version."""

HELP = "`{command} --help` shows what it takes"


def say_os_error(error: OSError) -> str:
    """An error of the operating system without its number: the file, what is the matter, what to do."""
    if error.strerror is None or error.filename is None:
        return str(error)
    return f"{error.filename}: {error.strerror.lower()}; check the path"


def read_usage(error: Any, root: Any, arguments: Sequence[str]) -> RefusedValue:
    """Wrong usage of a command as a refusal, from the fields of Typer's exception and never from its words."""
    place = getattr(error, "ctx", None)
    command, path = find_command(root, arguments) if place is None else (place.command, place.command_path)
    match type(error).__name__:
        case "NoSuchOption":
            near = " or ".join(error.possibilities or ())
            return _refuse_unknown("option", error.option_name, near, path)
        case "MissingParameter" if error.param.param_type_name == "argument":
            label = error.param.metavar or error.param.name.upper()
            return RefusedValue(
                error.param.name, Reason.MISSING, "the argument {label} is missing", HELP, label=label, command=path
            )
        case "MissingParameter":
            return RefusedValue(error.param.name, Reason.MISSING, "`{option}` is missing", HELP, command=path)
        case "BadOptionUsage":
            return _refuse_value_count(error.option_name, command, path)
        case "BadParameter" if error.param is not None and hasattr(error.__cause__, "errors"):
            return _refuse_value(error.param, error.__cause__.errors()[0], command)
        case "UsageError" if hasattr(command, "commands"):
            word = next((one for one in _list_rest(path, arguments) if not one.startswith("-")), None)
            if word is None:
                return RefusedValue(None, Reason.MISSING, "a command is missing", HELP, command=path)
            near = " or ".join(get_close_matches(word, command.commands))
            return _refuse_unknown("command", word, near, path)
        case "UsageError" if place is not None:
            _, extra, _ = command.make_parser(place).parse_args(args=_list_rest(path, arguments))
            if extra:
                return RefusedValue(
                    None,
                    Reason.TOO_MANY,
                    "unexpected argument: {given}",
                    "put what has spaces in quotes",
                    given=" ".join(extra),
                )
    return RefusedValue(None, Reason.MALFORMED, "{said}", HELP, said=error.format_message(), command=path)


def _list_rest(path: str, arguments: Sequence[str]) -> list[str]:
    """The arguments after the words that name the command."""
    rest = list(arguments)
    for word in path.split()[1:]:
        if rest[:1] == [word]:
            rest.pop(0)
    return rest


def _refuse_unknown(what: str, given: str, near: str, path: str) -> RefusedValue:
    if near:
        return RefusedValue(
            None, Reason.UNKNOWN, "no such {what}: {given}", "did you mean {near}?", what=what, given=given, near=near
        )
    return RefusedValue(None, Reason.UNKNOWN, "no such {what}: {given}", HELP, what=what, given=given, command=path)


def _refuse_value_count(flag: str, command: Any, path: str) -> RefusedValue:
    """Refuses an option with too few values, or with one that it does not take."""
    option = next(one for one in command.params if flag in (*one.opts, *one.secondary_opts))
    if option.is_flag:
        return RefusedValue(option.name, Reason.TOO_MANY, "`{option}` takes no value", HELP, command=path)
    count = "a value" if option.nargs == 1 else f"{option.nargs} values"
    return RefusedValue(option.name, Reason.MISSING, "`{option}` needs {count}", HELP, count=count, command=path)


def _refuse_value(option: Any, found: Mapping[str, Any], command: Any) -> RefusedValue:
    """Refuses a value that is not of the type, or not in the range, which the command's function declares."""
    given, limits = str(found["input"]), found.get("ctx", {})
    kinds, name, shown = list_kinds(command, option.name), option.name, quote(given)
    choices = find_choices(kinds)
    if choices is not None:
        known = ", ".join(str(one.value) for one in choices)
        return RefusedValue(
            name, Reason.UNKNOWN, "`{option}={given}` is not known", "use one of {known}", given=shown, known=known
        )
    if "le" in limits:
        return RefusedValue(
            name,
            Reason.TOO_LARGE,
            "`{option}={given}` is above {most}",
            "give less",
            given=shown,
            most=str(limits["le"]),
        )
    if "ge" in limits:
        return RefusedValue(
            name,
            Reason.TOO_SMALL,
            "`{option}={given}` is below {least}",
            "give more",
            given=shown,
            least=str(limits["ge"]),
        )
    if float in kinds:
        return RefusedValue(
            name, Reason.NOT_A_NUMBER, "`{option}={given}` is not a number", "give one such as 10 or 0.5", given=shown
        )
    if option.param_type_name == "argument":
        return RefusedValue(
            name,
            Reason.NOT_WHOLE,
            "{label} `{given}` is not a whole number",
            "give one such as 10",
            label=str(option.metavar or name.upper()),
            given=shown,
        )
    return RefusedValue(
        name, Reason.NOT_WHOLE, "`{option}={given}` is not a whole number", "give one such as 10", given=shown
    )


def find_command(root: Any, arguments: Sequence[str]) -> tuple[Any, str]:
    """The command that the arguments name, and the words that call it."""
    command, path = root, "soundsum"
    for word in arguments:
        below = getattr(command, "commands", {})
        if word in below:
            command, path = below[word], f"{path} {word}"
    return command, path


def list_kinds(command: Any, name: str) -> tuple[Any, ...]:
    """The types that a command's function declares for a parameter."""
    hint = {} if command.callback is None else get_type_hints(inspect.unwrap(command.callback))
    return get_args(hint.get(name)) or (hint.get(name),)


def find_choices(kinds: Iterable[Any]) -> type[Enum] | None:
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Enum)), None)


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
