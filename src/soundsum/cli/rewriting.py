"""Errors of releases that are not refusals yet, with the options as a command or a request spells them."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)|[^\s;,:()]+"
GIVEN = re.compile(rf"(?<![-\w.?&/])(?P<name>[a-z]\w*)=(?!=)(?P<value>{VALUE})?|(?<!\w)(?:'[^']*'|\"[^\"]*\")")
"""An option of a function, perhaps with a value; or else something in quotes, which is left as it is."""

ABOVE = re.compile(r"lower=(\S+) is above upper=(\S+); swap them")
SECOND_BUDGET = re.compile(r"(make a second budget for .*?), ss\.Budget\([^)]*\)")
BUDGET = re.compile(r"ss\.Budget\([^)]*\)(, or with path= one in a file)?")
CONDITION = re.compile(r"\[?\('(?P<column>[^']*)', '(?P<sign>[^']*)', (?P<value>[^)]*)\)\]?")
TUPLES = re.compile(r"a list of tuples, such as \[\('a', 2020\), ...\], or (\d+) lists to combine, one for each column")
OUT = re.compile(r"\bleave (\w+) out\b")
WORDS = {
    "give one such as 5, 0.5 or '1/3'": "give one such as 5, 0.5 or 1/3",
    ", or Budget with its total and the path": "",
    "give its path alone to go on with it, or another path for a new one": "soundsum budget show shows it, and another "
    "path makes a new one",
    "or IntType(bits, signed), or FloatType(k, l)": "or one such as int5 or float(4,4)",
}
"""Advice in Python, and the same for a command."""


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
