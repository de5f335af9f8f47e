"""A query: everything that one charge is for, as plain data in one canonical form.

A ledger stores it, every release carries it, and `soundsum check` compares the two. Sentences about it are made from
it, and nothing reads them. Exact numbers are written as strings, keys in their order.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any

from soundsum.budget.json_fields import list_of, of_type, or_none, read_exact, read_fields, read_whole
from soundsum.budget.scope import Binding
from soundsum.numbers.formatting import bound, number
from soundsum.numbers.quoting import say_alternatives
from soundsum.numbers.types import number_type
from soundsum.privacy.selection import Found, search_unit
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation

SHORT = 1000
"""Characters of a list of groups or cells that a query spells out. It has the number and a digest of a longer one."""

SEARCH = "groups"
"""The statistic that finds groups nobody listed, and counts the persons in them."""

ONE_EACH = ("uint8", Fraction(1), Fraction(1))
"""Type and bounds of records that are counted: each adds 1."""


def as_plain(name: Any) -> Any:
    """The name of a column, a group or a cell as JSON has it: text, a number, or a list of these."""
    if isinstance(name, tuple | list):
        return [as_plain(part) for part in name]
    is_plain = isinstance(name, str | int | None) or (isinstance(name, float) and math.isfinite(name))
    return name if is_plain else str(name)


def canonical(plain: Any) -> str:
    """Plain data as one text, the same for the same data."""
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Listed:
    """A public list of groups, or of the cells of a histogram: the canonical text of each, or of many their digest."""

    count: int
    names: tuple[str, ...] | None = None
    sha256: str | None = None

    @classmethod
    def of(cls, names: Sequence[Any]) -> Listed:
        """The digest is of the canonical text of the whole list, in the order given."""
        try:
            text = json.dumps(names, separators=(",", ":"), default=str, allow_nan=False)  # as as_plain, but fast
        except ValueError:
            text = canonical(as_plain(names))
        if len(text) <= SHORT:
            return cls(len(names), tuple(map(canonical, json.loads(text))))
        return cls(len(names), sha256=sha256(text.encode()).hexdigest())

    def to_json(self) -> dict[str, Any]:
        if self.names is None:
            return {"count": self.count, "sha256": self.sha256}
        return {"count": self.count, "names": [json.loads(name) for name in self.names]}

    @classmethod
    def from_json(cls, given: Any) -> Listed:
        if set(given) == {"count", "sha256"}:
            return cls(read_whole(given["count"]), sha256=of_type(str)(given["sha256"]))
        found = cls.of(given["names"])
        if not found.count or found.to_json() != given:
            raise ValueError  # a list of so many names is written otherwise
        return found


@dataclass(frozen=True)
class Asked:
    """One statistic of a query, with its share of the cost."""

    statistic: str  # which kind it is
    name: str | None  # that somebody gave it
    column: Any  # a name, as plain data
    dtype: str
    lower: Fraction  # of records, in people's units
    upper: Fraction
    unit_value: Fraction  # of 1 in the records: a decimal's last digit, otherwise 1
    size: int | None  # the number of records, where it is public and was known before the charge
    max_size: int | None
    missing: str
    method: str
    parameters: dict[str, Any]  # of the method, where it is not one that has a name
    cells: Listed | None  # of a histogram
    share: Fraction  # 0 where no noise is needed

    def to_json(self) -> dict[str, Any]:
        plain = {name: str(x) if isinstance(x, Fraction) else x for name, x in vars(self).items()}
        return plain | {"cells": None if self.cells is None else self.cells.to_json()}

    @classmethod
    def from_json(cls, given: Any) -> Asked:
        return cls(**read_fields(given, ASKED))

    @property
    def title(self) -> str:
        """The statistic and its column, to read."""
        which = self.parameters.get("quantile") if self.statistic == "quantile" else None
        named = self.statistic if which is None else f"{which} {self.statistic}"
        return named if self.column is None else f"{named} of {self.column}"

    @property
    def counts_records(self) -> bool:
        return (self.dtype, self.lower, self.upper) == ONE_EACH

    @property
    def said_missing(self) -> str:
        """Says how records without a value counted."""
        if self.cells is not None:
            return "rows outside the cells or without a value left out"
        if self.counts_records:
            return f"rows with missing values {'left out' if self.missing == 'drop' else 'counted'}"
        if self.missing == "drop" or self.statistic == "quantile":
            return "missing values left out"
        lower, upper = self.lower, self.upper
        if number_type(self.dtype).is_integer:
            unit = self.unit_value
            lower, upper = math.ceil(lower / unit) * unit, math.floor(upper / unit) * unit
        return f"missing values as {number(max(lower, min(upper, Fraction(0))))}"


@dataclass(frozen=True)
class Query:
    """The data, the unit, the groups, the filter, and every statistic with its share of the cost.

    >>> wards, cost = Listed.of(["a", "b"]), {"lower": Fraction(0), "upper": Fraction(9), "unit_value": Fraction(1)}
    >>> total = Asked("sum", "total", "pay", "float64", **cost, size=None, max_size=None, missing="zero", method="grid",
    ...               parameters={}, cells=None, share=Fraction(1))
    >>> query = Query("staff", Binding(), None, None, ("ward",), wards, (), (total,))
    >>> print(query.brief(with_source=True))
    total: sum of pay from staff by ward
    >>> Query.from_json(query.to_json()) == query
    True
    """

    source: str  # which data: its file or table, or what kind of thing it is
    binding: Binding  # whom it protects, and the name the data was given
    max_rows: int | None  # None for records
    max_groups: int | None
    by: tuple[Any, ...]  # columns, or periods of them
    groups: Listed | Found | None
    where: tuple[tuple[tuple[str, str, str], ...], ...]  # lists of column, sign, value as Python writes it
    statistics: tuple[Asked, ...]

    def to_json(self) -> dict[str, Any]:
        return self.binding.to_json() | {
            "source": self.source,
            "max_rows": self.max_rows,
            "max_groups": self.max_groups,
            "by": list(self.by),
            "groups": _write_groups(self.groups),
            "where": self._listed_where,
            "statistics": [one.to_json() for one in self.statistics],
        }

    @classmethod
    def from_json(cls, given: Any) -> Query:
        """The query that `to_json` wrote; anything else is refused."""
        query: Query | None = None
        with suppress(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            read = read_fields(given, QUERY)
            binding = Binding(**{name: read.pop(name) for name in ("privacy_unit", "relation", "data")})
            query = cls(binding=binding, **read)
        if query is None:
            raise RefusedValue(
                "query",
                Reason.MALFORMED,
                "a query cannot be read: a field is missing, unknown, or not as soundsum writes it",
                "give the query as it was written",
            )
        needy = [one.share for one in query.statistics if one.share]
        if not query.statistics or (needy and sum(needy) != 1) or min(needy, default=1) < 0:
            raise RefusedValue(
                "query",
                Reason.MALFORMED,
                "a query cannot be read: the shares of its statistics do not add up to one cost",
                "give the query as it was written",
            )
        if isinstance(query.groups, Found) != (query.statistics[-1].statistic == SEARCH):
            raise RefusedValue(
                "query",
                Reason.MALFORMED,
                "a query cannot be read: groups are found by the last of its statistics",
                "give the query as it was written",
            )
        if bool(query.by) != (query.groups is not None) or (query.max_rows is None) != (query.max_groups is None):
            raise RefusedValue(
                "query",
                Reason.MALFORMED,
                "a query cannot be read: groups come with the columns they group by, and `max_rows` with `max_groups`",
                "give the query as it was written",
            )
        return query

    @cached_property
    def text(self) -> str:
        """The query in canonical form."""
        return canonical(self.to_json())

    def unit(self, asked: Asked) -> Unit:
        """The unit of privacy of one of the statistics: for as many groups, or pairs of group and cell, as there are.

        Rows that pass a filter are a group, and so are those with a value, if all rows are a public number.
        """
        if isinstance(self.groups, Found):
            unit = Unit(FOUND) if self.max_rows is None else Unit(FOUND, self.max_rows, self.max_groups or 1)
            return search_unit(unit) if asked.statistic == SEARCH else unit
        is_part = self.where or (self.binding.relation.sized and asked.missing == "drop")
        entries = self.groups.count if self.groups is not None else 1 if is_part else None
        if asked.cells is not None:
            entries = (entries or 1) * asked.cells.count
        return Unit(entries) if self.max_rows is None else Unit(entries, self.max_rows, self.max_groups or 1)

    @property
    def _listed_where(self) -> list[Any]:
        """The conditions as a list, or as a list of lists where there are alternatives."""
        lists = [[list(condition) for condition in one] for one in self.where]
        return lists if len(lists) > 1 else lists[0] if lists else []

    # To read

    @property
    def conditions(self) -> str | None:
        return say_alternatives([list(map(" ".join, one)) for one in self.where]) or None

    @property
    def search(self) -> Asked | None:
        """The search for groups that nobody listed, which is the last of the statistics."""
        return self.statistics[-1] if isinstance(self.groups, Found) else None

    @property
    def sentences(self) -> list[str]:
        """Everything that was asked, a sentence for each statistic."""
        return [self._say(one) for one in self.statistics]

    def brief(self, with_source: bool = False) -> str:
        """The statistics by the names they were given, and of which rows."""
        named = [one.title if one.name in (None, one.title) else f"{one.name}: {one.title}" for one in self.statistics]
        by = [f"by {self._columns}"] if self.by else []
        rows = ", ".join([*by, *([f"where {self.conditions}"] if self.where else [])])
        common = (f" from {self.source}" if with_source else "") + (f" {rows}" if rows else "")
        return f"{'; '.join(named)}{'; all' if common and len(named) > 1 else ''}{common}"

    def __str__(self) -> str:
        return "; ".join(self.sentences)

    @property
    def _columns(self) -> str:
        return ", ".join(map(str, self.by))

    def _say(self, one: Asked) -> str:
        differ = len({other.share for other in self.statistics if other.share}) > 1
        said = [
            f"{one.title} from {self.source}",
            *([] if one.counts_records else [f"{one.dtype} in [{bound(one.lower)}, {bound(one.upper)}]"]),
            *([] if one.size is None else [f"{one.size:,} rows"]),
            *([] if one.max_size is None else [f"at most {one.max_size:,} rows"]),
            *([f"by {self._columns}"] if self.by else []),
            *([] if self.search is None else ["groups found"]),
            *([f"where {self.conditions}"] if self.where else []),
            one.said_missing,
            f"protecting {self.unit(one)}",
            f"{self.binding.relation} neighbours",
            *([f"{one.share} of the cost"] if differ and one.share else []),
            *([] if one.name in (None, one.title) else [f"called {one.name}"]),
        ]
        return ", ".join(said)


def _write_groups(groups: Listed | Found | None) -> dict[str, Any] | None:
    if isinstance(groups, Found):
        return {"found": groups.to_json()}
    return None if groups is None else groups.to_json()


def _read_groups(given: Any) -> Listed | Found:
    if set(given) != {"found"}:
        return Listed.from_json(given)
    found = Found(**read_fields(given["found"], {"delta": read_exact, "noise": of_type(str)}))
    if _write_groups(found) != given:
        raise ValueError
    return found


def _dtype(given: Any) -> str:
    return number_type(of_type(str)(given)).name


def _condition(given: Any) -> tuple[str, str, str]:
    column, sign, value = list_of(of_type(str))(given)
    return column, sign, value


def _where(given: Any) -> tuple[tuple[tuple[str, str, str], ...], ...]:
    if not of_type(list)(given):
        return ()
    if not isinstance(given[0][0], list):
        return (list_of(_condition)(given),)
    found: tuple[tuple[tuple[str, str, str], ...], ...] = list_of(list_of(_condition))(given)
    if len(found) < 2 or not all(found):
        raise ValueError
    return found


ASKED: dict[str, Callable[[Any], Any]] = {
    "statistic": of_type(str),
    "name": or_none(of_type(str)),
    "column": as_plain,
    "dtype": _dtype,
    "lower": read_exact,
    "upper": read_exact,
    "unit_value": read_exact,
    "size": or_none(of_type(int)),
    "max_size": or_none(of_type(int)),
    "missing": of_type(str),
    "method": of_type(str),
    "parameters": of_type(dict),
    "cells": or_none(Listed.from_json),
    "share": read_exact,
}
QUERY: dict[str, Callable[[Any], Any]] = {
    "source": of_type(str),
    "data": or_none(of_type(str)),
    "privacy_unit": or_none(of_type(str)),
    "relation": Relation.read,
    "max_rows": or_none(read_whole),
    "max_groups": or_none(read_whole),
    "by": list_of(as_plain),
    "groups": or_none(_read_groups),
    "where": _where,
    "statistics": list_of(Asked.from_json),
}
