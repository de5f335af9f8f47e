"""Groups and conditions as they are spelled on the command line, as values of a column's own type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from soundsum.engines import open_engine
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.keys import is_missing
from soundsum.tables.paths import expand, is_address, is_table
from soundsum.tables.periods import Period
from soundsum.tables.schemas import require_columns
from soundsum.tables.stream import StreamTable
from soundsum.tables.type_names import say_kind

# Every pattern takes linear time, whatever it is given: a request file may come from somebody else.
SIGN = re.compile(r"==|!=|<=|>=|=|<|>")
IN = re.compile(r"\sin\s")
ITEM = re.compile(r"""\s*+(?:('[^']*'|"[^"]*")\s*+|([^,'"]+))(?:,|\Z)""")
PERIOD = re.compile(r"(year|month|week|day|hour)\(([^\n]+)\)")
QUOTED = re.compile(r"'(.*)'|\"(.*)\"")
NO_VALUE = re.compile(r"|[=<>!].*|.*([=<>,]|!=|\s(and|or)\s).*", re.IGNORECASE | re.DOTALL)
NAME = re.compile(r'\s*+(?:"((?:[^"]|"")*+)"\s*+|((?!")[^,]*+))(?:,|\Z)')
IN_QUOTES = re.compile(r'"((?:[^"]|"")*)"')
CALL = re.compile(r"(\w+)\(.*\)")
RANGES = {
    "year": "2020..2024",
    "month": "2024-01..2024-12",
    "week": "2024-W01..2024-W52",
    "day": "2024-01-01..2024-01-31",
    "hour": "2024-01-31T00..2024-01-31T23",
}
SIGNS = "== != < <= > >= and in"


def list_groups(
    text: str | None, file: str, column: str | Period | None, option: str = "groups", within: str | None = None
) -> list[Any] | None:
    """Groups with commas, or one to a line of a file; numbers, dates or text, as the column has them.

    Of periods, also all from one to another: 2024-01..2024-12.
    """
    if text is None:
        return None
    names = _lines(text[1:], option) if text.startswith("@") else _split(text, option)
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
    table = _open(file, column, within)
    if table.has_no_types:
        return list(names)
    typed = _read_typed(names, table, column)
    if typed is None:
        raise RefusedValue(
            option,
            Reason.MISMATCH,
            "column {column} is {kind}",
            "give values of that type in `{option}`, and not {given}{example}",
            **_describe_type(table, column),
            given=text,
        )
    return typed


def _shape(text: str) -> str:
    return re.sub("[0-9]", "0", text)


def read_file(option: str, path: str, what: str) -> str:
    """Read a text file; refuse the option that names it if that cannot be done."""
    try:
        return Path(expand(path)).read_text("utf-8")
    except UnicodeDecodeError:
        failure = None
    except OSError as error:
        failure = error
    if failure is None:
        raise RefusedValue(option, Reason.UNREADABLE, "{path}: it is not text in UTF-8", "save it as UTF-8", path=path)
    if isinstance(failure, FileNotFoundError):
        raise RefusedValue(option, Reason.ABSENT, "{path}: no such file", "check the path", path=path)
    raise RefusedValue(
        option,
        Reason.UNREADABLE,
        "{path}: {problem}",
        "give {what}",
        path=path,
        problem=(failure.strerror or "it cannot be read").lower(),
        what=what,
    )


def _split(text: str, option: str) -> list[str]:
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
        names.append(_unquoted(found[2].rstrip(), option) if found[1] is None else found[1].replace('""', '"'))
        if not found[0].endswith(","):
            return names
        place = found.end()


def _unquoted(name: str, option: str) -> str:
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


def _lines(path: str, option: str) -> list[str]:
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
    return [_line(line, option, path) for line in lines]


def _line(line: str, option: str, path: str) -> str:
    """A name on a line of its own: what is in double quotes, as in a line of CSV, or else all of it."""
    if not line.startswith('"'):
        return _unquoted(line, option)
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


def read_by(text: str, file: str, within: str | None) -> str | Period:
    """A column, or a period of one, such as month(admitted) or month(admitted, Europe/Vienna)."""
    found = _find_period(text)
    if found is None and CALL.fullmatch(text) is None:
        return text
    names = _schema(file, within).names
    if found is None and text not in names:
        kinds = ", ".join(f"{kind}(C)" for kind in RANGES)
        raise RefusedValue(
            "by",
            Reason.UNKNOWN,
            "`by={given}`: there is no such column or period",
            "periods of a column C are {kinds}",
            given=quote(text),
            kinds=kinds,
        )
    if found is None:
        return text
    if text not in names:
        return found
    if found.column in names:
        raise RefusedValue(
            "by",
            Reason.CONFLICT,
            "`by={given}`: there is a column of this name, and a column {column}",
            "rename one of them",
            given=quote(text),
            column=quote(found.column),
        )
    return text


def _find_period(text: str) -> Period | None:
    """The period that a text spells, with the time zone after its last comma; None if it spells none."""
    found = PERIOD.fullmatch(text)
    if found is None or not found[2].strip():
        return None
    column, _, zone = (part.strip() for part in found[2].rpartition(","))
    if column and zone and not set("()") & set(zone):
        return Period(column, found[1], zone=zone)
    return Period(found[2].strip(), found[1])


def read_groups(by: list[str], groups: list[str], file: str, within: str | None = None) -> tuple[Any, list[Any] | None]:
    """The column or columns of --by, and their groups; those of several columns are combined."""
    if len(by) > 1 and len(by) != len(groups):
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
    if not groups and by and isinstance(columns[0], Period):
        _refuse_without_groups(columns[0])
    listed = [list_groups(text, file, columns[i] if by else None, within=within) for i, text in enumerate(groups)]
    if len(by) > 1:
        return columns, listed
    return columns[0] if by else None, listed[0] if listed else None


def read_periods(by: Any, groups: Any, file: str, within: str | None = None) -> tuple[Any, Any]:
    """The column or columns of a request file, with periods spelled as in --by, and their groups as in --groups."""
    if not isinstance(by, str | list) or not by:
        return by, groups
    columns = [
        read_by(one, file, within) if isinstance(one, str) else one for one in ([by] if isinstance(by, str) else by)
    ]
    if len(columns) == 1:
        return columns[0], _spread(columns[0], groups)
    if not isinstance(groups, list) or len(groups) != len(columns):
        return columns, groups
    return columns, [_spread(column, own) for column, own in zip(columns, groups, strict=True)]


def _refuse_without_groups(period: Period) -> NoReturn:
    raise RefusedValue(
        "groups",
        Reason.MISSING,
        "`groups` is missing: which groups there are is itself private, and a group of one person would show that they "
        "are there",
        "list the groups to release from public knowledge, such as `groups={example}`",
        example=quote([RANGES[period.kind]]),
    )


def _spread(column: Any, groups: Any) -> Any:
    """The groups of a column; of periods, with every one of a range such as 2024-01..2024-12."""
    if not isinstance(column, Period):
        return groups
    if groups is None:
        _refuse_without_groups(column)
    listed = [groups] if isinstance(groups, str) else groups
    if not isinstance(listed, list):
        return groups
    return [one for own in listed for one in (_list_periods(own, column) if isinstance(own, str) else [own])]


def read_condition(text: str, file: str, within: str | None = None) -> tuple[str, str, Any]:
    """A column, a sign and a value. In CSV, which has no types, a value is a number where it is spelled like one.

    In quotes it is text.
    """
    plain = text.lstrip()
    listed = IN.search(plain, 1)
    if listed is not None and (column := plain[: listed.start()].rstrip()) in _schema(file, within).names:
        table, values = _open(file, column, within), _split_values(plain[listed.end() :].strip(), text)
        return column, "in", [_read_value(one, "==", table, column, text) for one in values]
    found = SIGN.search(plain, 1)
    if found is None or "\n" in plain.rstrip():
        raise RefusedValue(
            "where",
            Reason.MALFORMED,
            "`where={given}` is not a condition",
            "give a column, a sign and a value, such as `where='age >= 18'`",
            given=quote(text),
        )
    sign = "==" if found[0] == "=" else found[0]
    column, spelled = plain[: found.start()].rstrip(), plain[found.end() :].strip()
    if _unquote(spelled) is None and NO_VALUE.fullmatch(spelled):
        raise RefusedValue(
            "where",
            Reason.MALFORMED,
            "`where={given}`: {value} is not a value",
            "the signs are {signs}; give `where` again for a second condition, and put text in quotes",
            given=quote(text),
            value=quote(spelled),
            signs=SIGNS,
        )
    return column, sign, _read_value(spelled, sign, _open(file, column, within), column, text)


def _split_values(text: str, condition: str) -> list[str]:
    """The values of a list with commas, in brackets or not, each in quotes or not."""
    bare = text[1:-1] if (text[:1], text[-1:]) in (("(", ")"), ("[", "]")) else text
    values: list[str] = []
    place = 0
    while place < len(bare) or not values:
        found = ITEM.match(bare, place)
        if found is None:
            raise RefusedValue(
                "where",
                Reason.MALFORMED,
                "`where={given}`: {values} is not a list",
                "give values with commas, such as a,'b, c'",
                given=quote(condition),
                values=quote(text),
            )
        values.append(found[1] or found[2].rstrip())
        place = found.end()
    return values


def _read_value(spelled: str, sign: str, table: Any, column: str, text: str) -> Any:
    """A value of a condition, as its column has them; in quotes it is text."""
    inside = _unquote(spelled)
    if not table.has_no_types:
        typed = [spelled if inside is None else inside]
        values = _read_typed(typed, table, column)
        if values is None:
            raise RefusedValue(
                "where",
                Reason.MISMATCH,
                "column {column} is {kind}",
                "give a value of that type in `where={given}`{example}",
                **_describe_type(table, column),
                given=quote(text),
            )
        _require_comparable(values[0], text)
        return values[0]
    if inside == "" and sign == "==":
        raise RefusedValue(
            "where",
            Reason.UNSUPPORTED,
            "`where={given}`: an empty cell in CSV is missing, and fulfils no condition",
            "count all rows, and those with `where={other}`",
            given=quote(text),
            other=quote(f'{column} != ""'),
        )
    if inside is not None:
        return inside
    plain = _number_or_text(spelled)
    _require_comparable(plain, text)
    if sign not in ("==", "!=") and isinstance(plain, str) and not _is_date(plain):
        raise RefusedValue(
            "where",
            Reason.WRONG_TYPE,
            "`where={given}`: {value} is neither a number nor a date such as 2024-01-31",
            "put it in quotes to compare text",
            given=quote(text),
            value=quote(spelled),
        )
    return plain


def _require_comparable(value: Any, text: str) -> None:
    if is_missing(value):
        raise RefusedValue(
            "where",
            Reason.NOT_A_NUMBER,
            "`where={given}`: no row compares with NaN, and rows without a value fulfil no condition",
            "give a number, or text in quotes",
            given=quote(text),
        )


def _unquote(spelled: str) -> str | None:
    """The text within the quotes, if they are one pair, and not 'a' and k == 'b'."""
    quoted = QUOTED.fullmatch(spelled)
    if quoted is None:
        return None
    inside = quoted[1] if quoted[1] is not None else quoted[2]
    return None if spelled[0] in inside and NO_VALUE.fullmatch(inside) else inside


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _schema(file: str, within: str | None) -> Any:
    """The table's schema; of a database, that of the table within it."""
    return open_engine(file, table=within).schema if is_address(file) else StreamTable(file)


def _open(file: str, column: str, within: str | None) -> Any:
    table = _schema(file, within)
    require_columns(table.names, table, column)
    return table


def _read_typed(texts: Sequence[str], table: Any, column: str) -> list[Any] | None:
    """The values that the texts spell, of the column's type; None if one does not."""
    import pyarrow as pa

    try:
        return list(pa.array(texts).cast(_plain_type(table, column)).to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None


def _plain_type(table: Any, column: str) -> Any:
    import pyarrow as pa

    kind = table.arrow_type(column)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _describe_type(table: Any, column: str) -> dict[str, str]:
    """A column's type in words, with an example of a value where people may not guess how it is written."""
    import pyarrow as pa

    plain = _plain_type(table, column)
    example = ", such as 2024-01-31" if pa.types.is_temporal(plain) else ""
    if pa.types.is_timestamp(plain) and plain.tz is not None:
        example += "T00:00Z"
    return {"column": quote(column), "kind": say_kind(plain), "example": example}


def _number_or_text(spelled: str) -> float | str:
    try:
        return float(spelled)
    except ValueError:
        return spelled
