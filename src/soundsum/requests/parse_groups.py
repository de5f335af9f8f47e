"""Groups as they are written on the command line and in request files: names, or values of a column's own type."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NoReturn

from soundsum.numbers.quoting import quote
from soundsum.privacy.selection import Found, read_delta
from soundsum.refusals import Reason, RefusedValue
from soundsum.requests.parse_columns import RANGES, Source, describe_type, open_column, read_by, read_typed
from soundsum.tables.paths import is_table, read_file
from soundsum.tables.periods import Period

FOUND = "found"
"""Stands for the groups where nobody lists them; a group of this name is listed in double quotes."""

NAME = re.compile(r'\s*+(?:"((?:[^"]|"")*+)"\s*+|((?!")[^,]*+))(?:,|\Z)')
IN_QUOTES = re.compile(r'"((?:[^"]|"")*)"')


def list_groups(
    text: str | None, file: Source, column: str | Period | None, option: str = "groups", within: str | None = None
) -> list[Any] | None:
    """Groups with commas, or one to a line of a file; numbers, dates or text, as the column has them.

    Of periods, also all from one to another: 2024-01..2024-12.
    """
    if text is None:
        return None
    names = _read_lines(text[1:], option) if text.startswith("@") else _split_names(text, option)
    if not all(names):
        raise RefusedValue(
            option,
            Reason.EMPTY,
            "`{option}`: {given} has an empty name in it",
            "list names with commas, such as a,b,c",
            given=quote(text),
        )
    if column is None:
        return list(names)
    if isinstance(column, Period):
        return [one for name in names for one in _list_periods(name, column)]
    for name in names:
        kind = next((kind for kind, own in RANGES.items() if _shape(own) == _shape(name)), None)
        if kind not in (None, "year"):
            raise RefusedValue(
                option,
                Reason.UNSUPPORTED,
                "`{option}={given}`: ranges are for periods",
                "give `by={period}`, or name each one",
                given=quote(name),
                period=quote(f"{kind}({column})"),
            )
    table = open_column(file, column, within)
    if table.has_no_types:
        return list(names)
    typed = read_typed(names, table, column)
    if typed is None:
        raise RefusedValue(
            option,
            Reason.MISMATCH,
            "column {column} is {kind}",
            "give values of that type in `{option}`, and not {given}{example}",
            **describe_type(table, column),
            given=text,
        )
    return typed


def _shape(text: str) -> str:
    return re.sub("[0-9]", "0", text)


def _split_names(text: str, option: str) -> list[str]:
    """Names as in a line of CSV, without the blanks around them; those in double quotes keep blanks and commas."""
    names: list[str] = []
    place = 0
    while True:
        found = NAME.match(text, place)
        if found is None:
            raise RefusedValue(
                option,
                Reason.MALFORMED,
                "`{option}`: a quote in {given} is not closed before the next comma",
                'write "a, b",c',
                given=quote(text),
            )
        names.append(_require_unquoted(found[2].rstrip(), option) if found[1] is None else found[1].replace('""', '"'))
        if not found[0].endswith(","):
            return names
        place = found.end()


def _require_unquoted(name: str, option: str) -> str:
    """A name without double quotes; single ones on both sides are hardly a part of it, and would find no row."""
    if len(name) > 1 and name[0] == name[-1] == "'":
        raise RefusedValue(
            option,
            Reason.MALFORMED,
            "`{option}`: {name} is in single quotes",
            'put it in double quotes, or none; with its own quotes it is "{name}"',
            name=name,
        )
    return name


def _read_lines(path: str, option: str) -> list[str]:
    if is_table(path):
        raise RefusedValue(
            option,
            Reason.MISMATCH,
            "`{option}={given}`: that is a table",
            "give a text file with one name to a line",
            given=quote(f"@{path}"),
        )
    lines = [line.strip() for line in read_file(option, path, "a text file").splitlines() if line.strip()]
    if not lines:
        raise RefusedValue(
            option,
            Reason.EMPTY,
            "`{option}={given}`: the file is empty",
            "write one name to a line",
            given=quote(f"@{path}"),
        )
    return [_read_line(line, option, path) for line in lines]


def _read_line(line: str, option: str, path: str) -> str:
    """A name on a line of its own: the text in double quotes, as in CSV, or else the whole line."""
    if not line.startswith('"'):
        return _require_unquoted(line, option)
    found = IN_QUOTES.fullmatch(line)
    if found is None:
        raise RefusedValue(
            option,
            Reason.MALFORMED,
            "`{option}={given}`: a quote of {line} is not closed",
            'write "a, b", with "" for a quote in it',
            given=quote(f"@{path}"),
            line=quote(line),
        )
    return found[1].replace('""', '"')


def _list_periods(text: str, period: Period) -> list[Any]:
    first, is_range, last = text.partition("..")
    if not is_range:
        return [text]
    every = replace(period, first=first, last=last)
    return [every.name(start) for start in every.every()]


def read_groups(by: list[str], groups: list[str], file: Source, within: str | None = None) -> tuple[Any, Any]:
    """The column or columns of --by, and their groups; those of several columns are combined. FOUND stays as it is."""
    if len(by) > 1 and len(by) != len(groups) and groups != [FOUND]:
        raise RefusedValue(
            "groups",
            Reason.MISMATCH,
            "`by` is given {columns} times and `groups` {lists} times",
            "list groups for each column",
            columns=len(by),
            lists=len(groups),
        )
    if len(groups) > 1 and len(by) != len(groups):
        raise RefusedValue(
            "groups",
            Reason.MISMATCH,
            "`groups` is given {lists} times and `by` {columns}",
            "give it once for each `by`",
            columns=len(by),
            lists=len(groups),
        )
    columns = [read_by(text, file, within) for text in by]
    if groups == [FOUND] and by:
        return columns if len(by) > 1 else columns[0], FOUND
    if not groups and by and isinstance(columns[0], Period):
        _refuse_without_groups(columns[0])
    listed = [list_groups(text, file, columns[i] if by else None, within=within) for i, text in enumerate(groups)]
    if len(by) > 1:
        return columns, listed
    return columns[0] if by else None, listed[0] if listed else None


def read_found(settings: dict[str, Any], finds_alone: bool = False) -> dict[str, Any]:
    """The settings with groups that are to be found: delta is for the search, and half of it where noise needs one.

    Where the groups alone are asked for, the noise is that of the search, and all of delta is for it.
    """
    if settings.get("groups") != FOUND:
        return settings
    delta = read_delta(settings.get("delta"))
    if finds_alone:
        found = Found(delta, noise=settings.get("noise", "laplace"))
        return {name: one for name, one in settings.items() if name != "noise"} | {"groups": found, "delta": None}
    if settings.get("noise") == "gaussian":
        return settings | {"groups": Found(delta / 2), "delta": delta / 2}
    return settings | {"groups": Found(delta), "delta": None}


def read_periods(by: Any, groups: Any, file: Source, within: str | None = None) -> tuple[Any, Any]:
    """The column or columns of a request file, with periods spelled as in --by, and their groups as in --groups."""
    if not isinstance(by, str | list) or not by:
        return by, groups
    columns = [
        read_by(one, file, within) if isinstance(one, str) else one for one in ([by] if isinstance(by, str) else by)
    ]
    if groups == FOUND:
        return columns if len(columns) > 1 else columns[0], groups
    if len(columns) == 1:
        return columns[0], _spread_ranges(columns[0], groups)
    if not isinstance(groups, list) or len(groups) != len(columns):
        return columns, groups
    return columns, [_spread_ranges(column, own) for column, own in zip(columns, groups, strict=True)]


def _refuse_without_groups(period: Period) -> NoReturn:
    raise RefusedValue(
        "groups",
        Reason.MISSING,
        "`groups` is missing, and the list of groups is itself private: a group with one person "
        "would reveal that person",
        "list the groups to release from public knowledge, such as `groups={example}`, or find them: "
        "`groups=ss.Found(delta='1e-9')`",
        example=quote([RANGES[period.kind]]),
    )


def _spread_ranges(column: Any, groups: Any) -> Any:
    """The groups of a column; of periods, with every one of a range such as 2024-01..2024-12."""
    if not isinstance(column, Period):
        return groups
    if groups is None:
        _refuse_without_groups(column)
    listed = [groups] if isinstance(groups, str) else groups
    if not isinstance(listed, list):
        return groups
    return [one for own in listed for one in (_list_periods(own, column) if isinstance(own, str) else [own])]
