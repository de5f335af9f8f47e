"""Refusals as the command line prints them: one line with the value and the remedy, in its own spelling."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

import typer

WrongUsage: type[Exception] = next(one for one in typer.BadParameter.__mro__ if one.__name__ == "ClickException")
"""Typer's usage errors: its own copy of click's classes or click's, depending on the version."""

ALSO = {"lower": "bounds", "upper": "bounds", "name": "data", "seconds": "time"}
"""Options that functions and commands call by different names."""

VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)|[^\s;,:()]+"
GIVEN = re.compile(rf"(?<![-\w.?&/])(?P<name>[a-z]\w*)=(?!=)(?P<value>{VALUE})?|(?<!\w)(?:'[^']*'|\"[^\"]*\")")
"""An option of a function, perhaps with a value; or else something in quotes, which is left as it is."""

ABOVE = re.compile(r"lower=(\S+) is above upper=(\S+); swap them")
SECOND_BUDGET = re.compile(r"(make a second budget for .*?), ss\.Budget\([^)]*\)")
BUDGET = re.compile(r"ss\.Budget\([^)]*\)(, or with path= one in a file)?")
CONDITION = re.compile(r"\[?\('(?P<column>[^']*)', '(?P<sign>[^']*)', (?P<value>[^)]*)\)\]?")
TUPLES = re.compile(r"a list of tuples, such as \[\('a', 2020\), ...\], or (\d+) lists to combine, one for each column")
OUT = re.compile(r"\bleave (\w+) out\b")
WHOLE = re.compile(r"(?:'[^']*' is not a|Input should be a) valid integer.*")
NUMBER = re.compile(r"(?:'[^']*' is not a|Input should be a) valid (?:number|float).*")
EXTRA = re.compile(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)")
NAMED = r"'([^']*)' is not a valid"
"""Typer's messages about invalid numbers: click's or pydantic's."""

WORDS = {
    "give one such as 5, 0.5 or '1/3'": "give one such as 5, 0.5 or 1/3",
    ", or Budget with its total and the path": "",
    "give its path alone to go on with it, or another path for a new one": "soundsum budget show shows it, and another "
    "path makes a new one",
    "or IntType(bits, signed), or FloatType(k, l)": "or one such as int5 or float(4,4)",
}
"""Advice in Python, and the same for a command."""


def find_options(command: Any, arguments: Sequence[str]) -> dict[str, str]:
    """How the command that these arguments call spells the options of functions; its arguments have no name there."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    own = {one.name: max(one.opts, key=len) if one.opts[0].startswith("-") else "" for one in command.params}
    return {name: own[same] for name, same in ALSO.items() if same in own} | own


def say(message: str, options: Mapping[str, str]) -> str:
    """A message of the library in the words of a command, by how that spells the options of functions.

    >>> say("groups= is missing; list them, such as groups=['a', 'b']", {"groups": "--groups"})
    '--groups is missing; list them, such as --groups a,b'
    >>> say("name='x' is not an attack, nor is zone='a=b'", {"name": ""})
    'x is not an attack, nor is zone a=b'
    """
    for words, other in WORDS.items():
        message = message.replace(words, other)
    if options.get("lower") == "--bounds":
        message = ABOVE.sub(r"--bounds \1 \2: the lower bound is above the upper; swap them", message)
        message = message.replace("lower= and upper=", "--bounds").replace("lower and upper", "--bounds")
    message = SECOND_BUDGET.sub(r"\1 with soundsum budget create", message)
    message = BUDGET.sub("a ledger, which soundsum budget create makes", message)
    message = OUT.sub(lambda found: f"leave {options.get(found[1]) or found[1]} out", message)
    message = GIVEN.sub(lambda found: _say_option(found, options), message)
    return message.replace("use ss.sum", "use soundsum sum")


def _say_option(found: re.Match[str], options: Mapping[str, str]) -> str:
    name, value = found["name"], found["value"]
    if name is None:
        return found[0]
    spelled = options.get(name, name)
    if value is None:
        return spelled or name
    if name == "where" and (condition := CONDITION.fullmatch(value)):
        return f"{spelled} '{condition['column']} {condition['sign']} {condition['value']}'"
    items = [item.strip("'\"") for item in value.strip("[]()").split(", ")]
    listed = " --by ".join(items) if name == "by" else (" " if value.startswith("(") else ",").join(items)
    return f"{spelled} {listed}".strip()


def say_in_request(message: str, on_the_command_line: Container[str] = ()) -> str:
    """Spell a message as a request file would; not for values given on the command line.

    >>> say_in_request("groups= is missing; list them, such as groups=['a', 'b']")
    "groups is missing; list them, such as groups = ['a', 'b']"
    """
    message = ABOVE.sub(r"bounds = [\1, \2]: the lower bound is above the upper; swap them", message)
    message = message.replace("lower= and upper=", "bounds").replace("lower and upper", "bounds")
    message = TUPLES.sub(r"\1 lists to combine, one for each column: groups = [['a', 'b'], [2020, 2021]]", message)
    message = message.replace("give --where again for a second condition", "list a second condition as another text")
    message = re.sub(r"--where ('[^']*'|\"[^\"]*\")", r"where = [\1]", message)
    message = re.sub(r"--(by|where) ", r"\1 = ", message)

    def spell(found: re.Match[str]) -> str:
        name, value = found["name"], found["value"]
        if name is None or name in on_the_command_line:
            return found[0]
        name = "bounds" if name in ("lower", "upper") else name
        if name == "where" and value and (condition := CONDITION.fullmatch(value)):
            value = f'["{condition["column"]} {condition["sign"]} {condition["value"]}"]'
        return name if value is None else f"{name} = {value}"

    return GIVEN.sub(spell, message)


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
            raise ValueError(
                f"--bounds {' '.join(given)}: give the lower and the upper bound of a record, such as --bounds 0 100"
            )
        found += values
    return found
