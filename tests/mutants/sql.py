"""Changes of SQL as text: one comparison, conjunction, order, bound, sign or number of a string at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

MODULES = (
    *("engines/dialect", "engines/duckdb", "engines/postgres", "engines/postgres_dialect", "engines/select"),
    "engines/spark_dialect",
)
"""Where strings are SQL."""

SPACED = {
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "=": ["<>"],
    "<>": ["="],
    "+": ["-"],
    "-": ["+"],
    "*": ["+"],
    "AND": ["OR"],
    "OR": ["AND"],
    "DESC": ["ASC"],
    "ASC": ["DESC"],
    "true": ["false"],
    "false": ["true"],
    "NOT": [""],
    "IS NOT NULL": ["IS NULL"],
    "IS NULL": ["IS NOT NULL"],
    "LEFT JOIN": ["JOIN"],
}
"""Words and signs, by what each is replaced."""

CALLED = {
    "least": "greatest",
    "greatest": "least",
    "floor": "ceil",
    "trunc": "round",
    "rint": "floor",
    "sum": "max",
    "mod": "div",
    "pmod": "mod",
    "abs": "",
}
"""Functions, by what each is replaced."""

_TOKEN = re.compile(
    r"(?<![^\s(,])(?:IS NOT NULL|IS NULL|LEFT JOIN|AND|OR|NOT|DESC|ASC|true|false|<=|>=|<>|[<>=+*-])(?![^\s),])"
    r"|\b[a-z]+(?=\()|(?<![\w'.])\d+(?![\w'.])"
)


def change_sql(text: str) -> Iterator[tuple[str, str]]:
    """Each change of a text by its name, and the text with it.

    >>> [changed for _, changed in change_sql("rank <= 5")]
    ['rank < 5', 'rank > 5', 'rank <= 6', 'rank <= 4']
    """
    for found in _TOKEN.finditer(text):
        word = found[0]
        if word.isdigit():
            others = [str(int(word) + 1), str(int(word) - 1)]
        elif word in SPACED:
            others = SPACED[word]
        else:
            others = [CALLED[word]] if word in CALLED else []
        for other in others:
            shown = " ".join(text[max(0, found.start() - 30) : found.end() + 30].split())
            yield f"SQL {shown!r}: {word} to {other or 'nothing'}", text[: found.start()] + other + text[found.end() :]
