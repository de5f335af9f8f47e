"""Refusals: wrong arguments, as objects that Python, the command line and others each put into their own words.

A refusal names the option and the reason as codes, for programs and tests to compare, and says what to do instead. Its
two sentences are templates. Code stands in backticks: `` `groups` `` is an option as the reader spells it, and
`` `groups=['a']` `` an option with a value; `` `{option}` `` is the refusal's own. Braces hold facts: numbers, and
public arguments that were quoted (`soundsum.numbers.quoting.quote`), never an object, as an object may hold data. A
fact may also be a `Clause`, which has code in backticks of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any, Protocol, Self, TypeVar

INSTALL = "in a clone of soundsum, run `pip install '.[{extra}]'`"
"""The remedy for a package that is missing, until soundsum is on PyPI: no stranger's package must have its name."""

OPTION = re.compile(r"([A-Za-z_]\w*)(?:=(.+))?", re.DOTALL)


R = TypeVar("R", bound="Refusal")


class Reason(StrEnum):
    """Why an argument is refused."""

    MISSING = "missing"  # it is needed
    UNKNOWN = "unknown"  # it names nothing there is: no column, method, option, attack
    WRONG_TYPE = "wrong-type"
    NOT_A_NUMBER = "not-a-number"
    NOT_WHOLE = "not-whole"
    TOO_SMALL = "too-small"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many"  # more than a public limit on entries, statistics, digits, depth
    SWAPPED = "swapped"  # the lower bound is above the upper
    EMPTY = "empty"
    REPEATED = "repeated"
    NEEDS = "needs"  # another option that was not given
    CONFLICT = "conflict"  # with another option
    MISMATCH = "mismatch"  # with the table, its schema or the owner's terms
    UNSUPPORTED = "unsupported"  # sound in itself, and not done here
    MALFORMED = "malformed"  # cannot be parsed
    UNREADABLE = "unreadable"  # a file that is not what it should be
    ABSENT = "absent"  # a file or a table that is not there
    EXISTS = "exists"  # a file that would be overwritten
    CLOSED = "closed"  # used too late, or by another
    EXCEEDED = "exceeded"  # the budget
    UNSOUND = "unsound"  # no proof covers it


class Spelling(Protocol):
    """The spelling of options and code for a reader: in Python, on the command line, in a request."""

    def option(self, name: str, value: str | None) -> str: ...
    def code(self, text: str) -> str: ...
    def sentences(self, refusal: Refusal) -> tuple[str, str]:
        """The problem and the remedy as templates: its own, or others where this reader does something else."""


class Python:
    """Options as keyword arguments."""

    def option(self, name: str, value: str | None) -> str:
        return f"{name}=" if value is None else f"{name}={value}"

    def code(self, text: str) -> str:
        return text

    def sentences(self, refusal: Refusal) -> tuple[str, str]:
        return refusal.problem, refusal.remedy


PYTHON: Spelling = Python()


class Clause(str):
    """Words with code in backticks, as templates have it; as text they are in Python's spelling.

    >>> reason = Clause("needs a limit on the number of records; give `max_size`")
    >>> print(reason)
    needs a limit on the number of records; give max_size=
    """

    template: str

    def __new__(cls, template: str) -> Self:
        made = super().__new__(cls, "".join(_pieces(template, {}, PYTHON)))
        made.template = template
        return made

    def say(self, spelling: Spelling) -> str:
        return "".join(_pieces(self.template, {}, spelling))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.template,)


def say_install(extra: str) -> str:
    """Write this remedy as plain text."""
    return INSTALL.replace("`", "").format(extra=extra)


def join_clauses(clauses: Iterable[str]) -> Clause:
    """Join clauses into one; plain text stays as it is."""
    return Clause("; ".join(one.template if isinstance(one, Clause) else _as_template(one) for one in clauses))


class Refusal(Exception):
    """A wrong argument; nothing was charged or read. Raised as `RefusedValue` or `RefusedType`.

    >>> refusal = RefusedValue(
    ...     "max_rows", Reason.NOT_WHOLE, "`max_rows={given}` is not a whole number", "give one, 1 or more", given="'a'"
    ... )
    >>> print(refusal)
    max_rows='a' is not a whole number; give one, 1 or more
    >>> refusal.option, refusal.reason.value, refusal.facts
    ('max_rows', 'not-whole', {'given': "'a'"})
    """

    def __init__(
        self, option: str | None, reason: Reason, problem: str, remedy: str = "", /, **facts: str | int
    ) -> None:
        super().__init__(option, reason, problem, remedy)
        self.option, self.reason, self.problem, self.remedy = option, reason, problem, remedy
        self.place, self.facts = "", facts  # the place in a file, such as [total]
        strangers = [name for name, fact in facts.items() if type(fact) not in (str, int, Clause)]
        assert not strangers, f"facts are text or whole numbers: {strangers}"

    def say(self, spelling: Spelling) -> str:
        """One line in the reader's spelling: the problem, then the remedy."""
        problem, remedy = (self._spell(sentence, spelling) for sentence in spelling.sentences(self))
        joint = "" if not remedy else " " if problem.endswith(":") else "; "
        return f"{self.place}: {problem}{joint}{remedy}" if self.place else f"{problem}{joint}{remedy}"

    def within(self, place: str) -> Self:
        """Names the file that the refusal is about."""
        return _again(type(self), self.args, f"{place}: {self.place}" if self.place else place, self.facts)

    def stating(self, **facts: str | int) -> Self:
        """Replace some facts, for a reader who may not see them."""
        return _again(type(self), self.args, self.place, self.facts | facts)

    def __str__(self) -> str:
        return self.say(PYTHON)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.args, self.place, self.facts)

    def _spell(self, template: str, spelling: Spelling) -> str:
        return "".join(_pieces(template.replace("{option}", self.option or ""), self.facts, spelling))


class RefusedValue(Refusal, ValueError):
    """An argument whose value cannot be used."""


class RefusedType(Refusal, TypeError):
    """An argument of a type that cannot be used."""


def _pieces(template: str, facts: dict[str, str | int], spelling: Spelling) -> Iterator[str]:
    facts = {name: fact.say(spelling) if isinstance(fact, Clause) else fact for name, fact in facts.items()}
    for i, piece in enumerate(template.split("`")):  # facts come later, so what they hold is never read as code
        said = piece.format(**facts)
        named = OPTION.fullmatch(piece) if i % 2 else None
        if named is None:
            yield spelling.code(said) if i % 2 else said
        else:
            yield spelling.option(named[1], None if named[2] is None else said.partition("=")[2])


def _as_template(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}").replace("`", "'")


def _again(kind: type[R], args: tuple[Any, ...], place: str, facts: dict[str, str | int]) -> R:
    refusal = kind(*args, **facts)
    refusal.place = place
    return refusal
