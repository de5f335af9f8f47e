"""Conditions as they are written on the command line: a column, a sign, and values of the column's own type."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import product
from typing import Any

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.requests.parse_columns import Source, describe_type, open_column, open_schema, read_typed
from soundsum.tables.filters import MOST_LISTED, require_few_values
from soundsum.tables.keys import is_missing

# Every pattern takes linear time, whatever it is given: a request file may come from somebody else.
SIGN = re.compile(r"==|!=|<=|>=|=|<|>")
IN = re.compile(r"\sin\s")
OR = re.compile(r"""'[^']*'|"[^"]*"|(?P<or>\sor(?=\s))""", re.IGNORECASE)
ITEM = re.compile(r"""\s*+(?:('[^']*'|"[^"]*")\s*+|([^,'"]+))(?:,|\Z)""")
QUOTED = re.compile(r"'(.*)'|\"(.*)\"")
NO_VALUE = re.compile(r"|[=<>!].*|.*([=<>,]|!=|\s(and|or)\s).*", re.IGNORECASE | re.DOTALL)
SIGNS = "== != < <= > >= and in"


def read_where(texts: Sequence[str], file: Source, within: str | None = None) -> list[Any] | None:
    """Conditions, each perhaps one or another with `or` between them, as `where=` takes them; None for no texts.

    A row meets one of each text's conditions, so there is a list for every choice of one from each.
    """
    pieces = [_split_at_or(text) for text in texts]
    if (count := math.prod(map(len, pieces)) * len(pieces)) > MOST_LISTED and max(map(len, pieces)) > 1:
        raise RefusedValue(
            "where",
            Reason.TOO_MANY,
            "`where` is {count:,} conditions, once every choice between those with or is written out, and a release "
            "takes at most {most:,}",
            "give fewer",
            count=count,
            most=MOST_LISTED,
        )
    read: list[list[tuple[str, str, Any]]] = []
    values = 0
    for several in pieces:
        read.append([])
        for one in several:
            read[-1].append(condition := read_condition(one, file, within))
            values += len(condition[2]) if condition[1] == "in" else 1
            require_few_values(values)  # at once, as each value that is read takes its time
    lists = [list(choice) for choice in product(*read)]
    return lists if len(lists) > 1 else lists[0] or None


def _split_at_or(text: str) -> list[str]:
    """The conditions of a text: parted at each `or` outside quotes that is between two."""
    ends = [found.start() for found in OR.finditer(text) if found["or"]]
    pieces = enumerate(zip([0, *(end + 3 for end in ends)], [*ends, len(text)], strict=True))
    conditions = [i for i, piece in pieces if SIGN.search(text, *piece) or IN.search(text, *piece)]
    cuts = [ends[i] for i in conditions[:-1]]  # the others are within names and values
    return [text[begin:end] for begin, end in zip([0, *(cut + 3 for cut in cuts)], [*cuts, None], strict=True)]


def read_condition(text: str, file: Source, within: str | None = None) -> tuple[str, str, Any]:
    """A column, a sign and a value. In CSV, which has no types, a value is a number where it is spelled like one.

    In quotes it is text.
    """
    plain = text.lstrip()
    listed = IN.search(plain, 1)
    if listed is not None and (column := plain[: listed.start()].rstrip()) in open_schema(file, within).names:
        table, values = open_column(file, column, within), _split_values(plain[listed.end() :].strip(), text)
        require_few_values(len(values))
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
    if _strip_quotes(spelled) is None and NO_VALUE.fullmatch(spelled):
        raise RefusedValue(
            "where",
            Reason.MALFORMED,
            "`where={given}`: {value} is not a value",
            "the signs are {signs}; give `where` again for a second condition, and put text in quotes",
            given=quote(text),
            value=quote(spelled),
            signs=SIGNS,
        )
    return column, sign, _read_value(spelled, sign, open_column(file, column, within), column, text)


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
    inside = _strip_quotes(spelled)
    if not table.has_no_types:
        typed = [spelled if inside is None else inside]
        values = read_typed(typed, table, column)
        if values is None:
            raise RefusedValue(
                "where",
                Reason.MISMATCH,
                "column {column} is {kind}",
                "give a value of that type in `where={given}`{example}",
                **describe_type(table, column),
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


def _strip_quotes(spelled: str) -> str | None:
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


def _number_or_text(spelled: str) -> float | str:
    try:
        return float(spelled)
    except ValueError:
        return spelled
