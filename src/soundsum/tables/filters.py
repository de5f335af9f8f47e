"""Filters: which rows count, by comparing columns with values of their own types.

A condition casts nothing and computes nothing, so that no record can make it fail: integers are compared with integers,
floats with numbers (exactly, as doubles), text by its bytes, times with times. NULL and NaN match no condition. Rows
that fail one are there all the same; they count as rows of a group that nobody listed.
"""

from __future__ import annotations

import datetime
import operator
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote, say_alternatives
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.cells import is_endless, read_number, read_truth
from soundsum.tables.keys import bits_of, is_missing, stored_bits, without_validity
from soundsum.tables.type_names import say_kind

COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
SIGNS = (*COMPARE, "in")
MOST_LISTED = 1000
"""The most values that a filter compares with, of all its conditions together; for more, use groups."""

DATE = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?(Z|[+-]\d\d:\d\d)?", re.ASCII)
"""Dates and times as text; a date alone is its midnight."""

ARROW = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


SPELLED = re.compile(r"==|!=|<=|>=|=|<|>")


class HasKeys(Protocol):
    """Some rows of a table."""

    @property
    def rows(self) -> int: ...
    def keys(self, column: str | None) -> Any: ...


@dataclass(frozen=True)
class Condition:
    """One comparison of a column with a value, or with each of several values where the sign is `in`."""

    column: str
    sign: str
    value: Any

    def __str__(self) -> str:
        return f"{self.column} {self.sign} {self.spelled}"

    @property
    def spelled(self) -> str:
        """The value, or the list of them, as Python writes it; dates and times as text, which means the same."""
        if self.sign == "in":
            return f"[{', '.join(map(_spell, self.value))}]"
        return _spell(self.value)

    @property
    def each(self) -> list[Condition]:
        """A condition for each value; a row that meets one of them meets this one."""
        return [Condition(self.column, "==", value) for value in self.value] if self.sign == "in" else [self]

    def require_type(self, keys: Any) -> None:
        """Refuses a value that is not of the column's type, shown by an empty one."""
        if isinstance(keys, list):
            self.require_untyped()
            return
        import pyarrow as pa

        with suppress(pa.ArrowNotImplementedError):
            self.passes(keys)
            return
        raise RefusedValue(
            "where",
            Reason.UNSUPPORTED,
            "where: column {column} is {kind}, which Arrow cannot compare",
            "cast it",
            column=quote(self.column),
            kind=say_kind(keys.type),
        )

    def require_untyped(self) -> None:
        """Refuses to order numbers as texts, where the column's type does not say that it has texts."""
        if isinstance(self.value, str) and self.sign not in ("==", "!=") and not is_missing(read_number(self.value)):
            raise RefusedValue(
                "where",
                Reason.WRONG_TYPE,
                "where: {given} is text, and as text 9 is above 18",
                "give the number {number}",
                given=quote(self.value),
                number=self.value.strip(),
            )

    def passes(self, keys: Any) -> NDArray[np.bool_]:
        """Marks the rows that fulfil it, by the column's keys: an Arrow array, or a list of Python objects."""
        if self.sign == "in":
            return np.asarray(np.any([one.passes(keys) for one in self.each], axis=0), bool)
        if isinstance(keys, list):
            return np.array([self._holds(key) for key in keys], bool)
        import pyarrow as pa
        import pyarrow.compute as pc

        value = as_scalar(self.value, keys.type, self.column)
        plain = without_validity(keys)
        own = plain.cast(pa.float64()) if pa.types.is_floating(keys.type) else plain
        found = pc.call_function(ARROW[self.sign], [own, value])
        return stored_bits(found) & bits_of(keys)

    def _holds(self, key: Any) -> bool:
        """Compares an object without a type: one of another kind than the value does not match."""
        try:
            if is_missing(key) or is_endless(key):
                return False
            value = read_moment(self.value, _kind(key)) or self.value
            key = _read_as(_kind(value), key)
            if _kind(key) == "moment" and _kind(value) == "day":
                value = datetime.datetime(value.year, value.month, value.day)
            if _kind(key) != _kind(value) or _kind(key) is None or is_missing(key):
                return False
            return bool(COMPARE[self.sign](key, value))
        except Exception:  # of a class of somebody's own
            return False


@dataclass(frozen=True)
class Filter:
    """Lists of conditions; a row passes that fulfils every condition of one of the lists."""

    alternatives: tuple[tuple[Condition, ...], ...]

    @classmethod
    def of(cls, where: Any) -> Filter:
        """A list of (column, sign, value), such as [("age", ">=", 18)], or a list of such lists."""
        given = [where] if isinstance(where, tuple) else where
        lists = given if _is_list(given) and all(map(_is_list, given)) else [given]
        if not all(_is_list(one) and all(map(_is_condition, one)) for one in lists):
            example = _as_tuple(given[0] if isinstance(given, list) and given else given) or "[('age', '>=', 18)]"
            raise RefusedValue(
                "where",
                Reason.MALFORMED,
                "`where={given}` is not a list of conditions",
                "give conditions (column, {signs}, value), such as {example}",
                given=quote(where),
                signs=" or ".join(SIGNS),
                example=example,
            )
        found = cls(
            tuple(
                tuple(Condition(column, sign, _list_values(v) if sign == "in" else v) for column, sign, v in one)
                for one in lists
            )
        )
        if (count := sum(len(condition.each) for condition in found.conditions)) > MOST_LISTED:
            raise RefusedValue(
                "where",
                Reason.TOO_MANY,
                "`where` compares with {count:,} values, and a release with at most {most:,}",
                "give fewer",
                count=count,
                most=MOST_LISTED,
            )
        for value in [one.value for condition in found.conditions for one in condition.each]:
            if _kind(value) is None or is_missing(value) or _is_endless(value):
                raise RefusedValue(
                    "where",
                    Reason.WRONG_TYPE,
                    "where: a column cannot be compared with {given}",
                    "give a number, text, a date or a time",
                    given=quote(value),
                )
        return found

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of all alternatives."""
        return [condition for one in self.alternatives for condition in one]

    def to_plain(self) -> tuple[tuple[tuple[str, str, str], ...], ...]:
        """Column, sign and value of every condition, as texts."""
        return tuple(tuple((own.column, own.sign, own.spelled) for own in one) for one in self.alternatives)

    def __str__(self) -> str:
        return say_alternatives([list(map(str, one)) for one in self.alternatives])

    def passes(self, batch: HasKeys) -> NDArray[np.bool_]:
        """Marks the rows that fulfil every condition of one of the alternatives."""
        found = np.zeros(batch.rows, bool)
        for alternative in self.alternatives:
            every = np.ones(batch.rows, bool)
            for condition in alternative:
                every &= condition.passes(batch.keys(condition.column))
            found |= every
        return found


def _is_list(given: Any) -> bool:
    """Returns whether it is a list with something in it, and not a condition that is written as one."""
    return isinstance(given, list) and bool(given) and not _is_condition(given)


def _spell(value: Any) -> str:
    return repr(value.isoformat() if isinstance(value, datetime.date) else value)


def _is_condition(given: Any) -> bool:
    if not isinstance(given, list | tuple) or len(given) != 3:
        return False
    return isinstance(given[0], str) and isinstance(given[1], str) and given[1] in SIGNS


def _list_values(given: Any) -> tuple[Any, ...]:
    """The values that `in` takes, all of one kind."""
    if not isinstance(given, list | tuple) or not given:
        raise RefusedValue(
            "where",
            Reason.MALFORMED,
            "where: in takes a list of one or more values, not {given}",
            "give one such as ['a', 'b']",
            given=quote(given),
        )
    if len(given) > MOST_LISTED:
        raise RefusedValue(
            "where",
            Reason.TOO_MANY,
            "where: in takes at most {most} values, not {count}",
            "give fewer",
            most=f"{MOST_LISTED:,}",
            count=f"{len(given):,}",
        )
    if len({_kind(value) for value in given}) > 1:
        raise RefusedValue(
            "where",
            Reason.WRONG_TYPE,
            "where: the values of in must be of one kind, unlike {given}",
            "give only text, or only numbers",
            given=quote(given),
        )
    return tuple(given)


def _as_tuple(given: Any) -> str | None:
    """A condition as a command spells it, or with = as its sign, as it is written in Python."""
    if isinstance(given, str) and (found := SPELLED.search(given.strip(), 1)):
        column, spelled = given.strip()[: found.start()].rstrip(), given.strip()[found.end() :].lstrip()
        text = spelled.strip("'\"")
        number = read_number(text)
        value: Any = text if is_missing(number) or spelled != text else int(number) if number % 1 == 0 else number
        given = (column, found[0], value) if spelled else None
    if not isinstance(given, tuple) or len(given) != 3 or not all(isinstance(one, str) for one in given[:2]):
        return None
    sign = "==" if given[1] == "=" else given[1]
    return f"[{quote((given[0], sign, given[2]))}]" if sign in COMPARE else None


def _is_endless(value: Any) -> bool:
    """Returns whether it is an integer of more digits than a ledger writes down, and far beyond every column's type."""
    return isinstance(value, int) and value.bit_length() > 4096


def _kind(value: Any) -> str | None:
    """The kind of a value; values are compared with others of the same kind."""
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, int | float | Decimal | np.integer | np.floating):
        return "number"
    if isinstance(value, datetime.datetime):
        return "moment" if value.tzinfo is None else "moment in a zone"
    kinds = {
        str: "text",
        bytes: "bytes",
        datetime.date: "day",
        datetime.time: "time of day",
        datetime.timedelta: "time",
    }
    return next((name for kind, name in kinds.items() if isinstance(value, kind)), None)


def read_moment(value: Any, kind: str | None) -> Any:
    """A text as the day, or the moment without or in a zone, that it spells; None if it spells none of this kind.

    >>> read_moment("2024-01-31", "day"), read_moment("2024-01-31", "moment")
    (datetime.date(2024, 1, 31), datetime.datetime(2024, 1, 31, 0, 0))
    >>> read_moment("2024-01-31", "moment in a zone"), read_moment("2024-02-31", "day")
    (None, None)
    """
    found = MOMENT.fullmatch(value) if isinstance(value, str) else None
    if found is None or kind not in ("day", "moment", "moment in a zone"):
        return None
    try:
        if kind == "day":
            return datetime.date.fromisoformat(value) if DATE.fullmatch(value) else None
        return datetime.datetime.fromisoformat(value) if (found[1] is not None) == (kind != "moment") else None
    except ValueError:  # such as the 31st of February
        return None


def as_value(value: Any, kind: Any) -> Any:
    """A value to compare with a column of an Arrow type: of dates and times, what a text spells."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return read_moment(value, "day") or value
    if pa.types.is_timestamp(kind):
        return read_moment(value, "moment" if kind.tz is None else "moment in a zone") or value
    return value


def _read_as(kind: str | None, key: Any) -> Any:
    """An object without a type as a cell of CSV that spells it, where the condition has another kind of value."""
    if kind == "number" and isinstance(key, str):
        return read_number(key)
    if kind == "truth" and isinstance(key, str):
        return read_truth(key)
    if kind == "moment" and _kind(key) == "day":
        return datetime.datetime(key.year, key.month, key.day)
    return str(key) if kind == "text" and _kind(key) in ("number", "day", "moment") else key


def read_from_text(value: Any) -> Any:
    """The type in which a column of text is read to be compared with a value."""
    import pyarrow as pa

    kinds = {"truth": pa.bool_(), "number": pa.float64(), "text": pa.string()}
    kind = kinds.get(_kind(value) or "")
    if kind is None:
        raise RefusedValue(
            "where",
            Reason.UNSUPPORTED,
            "where: a CSV file has numbers, text, true and false, and cannot be compared with {given}",
            "give text, such as '2024-01-31'",
            given=quote(value),
        )
    return kind


def _example(kind: Any) -> str:
    """An example in Python of a date or time of an Arrow type, as these are easily confused."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return ", such as '2024-01-31' or datetime.date(2024, 1, 31)"
    if pa.types.is_timestamp(kind):
        zone = "" if kind.tz is None else ", tzinfo=datetime.UTC"
        return f", such as '2024-01-31T00:00{'Z' if zone else ''}' or datetime.datetime(2024, 1, 31{zone})"
    return ""


def as_scalar(value: Any, kind: Any, column: str) -> Any:
    """The value as an Arrow scalar of a column's type, exactly; floats are compared as doubles."""
    import pyarrow as pa

    given, value = value, as_value(value, kind)
    types, own = pa.types, _kind(value)
    fits = {
        "truth": types.is_boolean(kind),
        "number": types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind),
        "text": types.is_string(kind) or types.is_large_string(kind),
        "bytes": types.is_binary(kind) or types.is_large_binary(kind),
        "day": types.is_date(kind),
        "moment": types.is_timestamp(kind) and kind.tz is None,
        "moment in a zone": types.is_timestamp(kind) and kind.tz is not None,
        "time of day": types.is_time(kind),
        "time": types.is_duration(kind),
    }
    wanted = pa.float64() if types.is_floating(kind) else kind
    scalar = None
    try:
        if own is not None and fits[own] and not (types.is_floating(kind) and isinstance(value, Decimal)):
            plain = value.item() if isinstance(value, np.generic) else value
            plain = float(plain) if types.is_floating(kind) and not isinstance(plain, bool) else plain
            scalar = pa.scalar(plain, wanted)
    except MemoryError:
        raise
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        scalar = None
    if scalar is None or not scalar.as_py() == value:
        raise RefusedValue(
            "where",
            Reason.MISMATCH,
            "where: {given} is not a value of column {column}, which holds {kind}",
            "give one of that type{example}",
            given=quote(given),
            column=quote(column),
            kind=say_kind(kind),
            example=_example(kind),
        )
    return scalar
