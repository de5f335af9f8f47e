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
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote, say_alternatives, say_kind
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.arrow_arrays import bits_of, stored_bits, without_validity
from soundsum.tables.cells import is_endless, read_number
from soundsum.tables.filter_values import as_scalar, name_kind, read_as, read_moment
from soundsum.tables.keys import is_missing

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


ARROW = {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"}


TURNED = {"=>": ">=", "=<": "<=", "<>": "!=", "!==": "!=", "===": "=="}
"""Signs of other languages, and those meant."""

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
            value = read_moment(self.value, name_kind(key)) or self.value
            key = read_as(name_kind(value), key)
            if name_kind(key) == "moment" and name_kind(value) == "day":
                value = datetime.datetime(value.year, value.month, value.day)
            if name_kind(key) != name_kind(value) or name_kind(key) is None or is_missing(key):
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
        _require_signs(given)
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
        require_few_values(sum(len(condition.each) for condition in found.conditions))
        for value in [one.value for condition in found.conditions for one in condition.each]:
            if name_kind(value) is None or is_missing(value) or _is_endless(value):
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


def _require_signs(given: Any) -> None:
    """Refuses an unknown sign in a condition; suggests the right one for a sign of another language."""
    outer = given if isinstance(given, list) else ()
    for one in (one for several in outer for one in (several if isinstance(several, list) else [several])):
        sign = one[1] if isinstance(one, tuple) and len(one) == 3 else None
        if isinstance(sign, str) and sign in TURNED:
            raise RefusedValue(
                "where",
                Reason.UNKNOWN,
                "where: {given} is not a comparison",
                "did you mean {meant}?",
                given=quote(sign),
                meant=quote(TURNED[sign]),
            )


def _is_condition(given: Any) -> bool:
    if not isinstance(given, list | tuple) or len(given) != 3:
        return False
    return isinstance(given[0], str) and isinstance(given[1], str) and given[1] in SIGNS


def require_few_values(count: int) -> None:
    """Refuse conditions that compare with too many values for a release."""
    if count > MOST_LISTED:
        raise RefusedValue(
            "where",
            Reason.TOO_MANY,
            "`where` compares with {count:,} values, and a release with at most {most:,}",
            "give fewer",
            count=count,
            most=MOST_LISTED,
        )


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
    if len({name_kind(value) for value in given}) > 1:
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
