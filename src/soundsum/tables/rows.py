"""The rows that count: filters, and the groups and persons of rows, in one column or in several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.filters import Filter
from soundsum.tables.found_keys import KeyColumn, SearchedGroups
from soundsum.tables.keys import Codes, FoundNames, Groups, plain_list, require_few
from soundsum.tables.period_groups import Periods
from soundsum.tables.periods import Period
from soundsum.tables.schemas import Schema


class CrossedGroups:
    """A public list of tuples; or one public list for every column, all of whose combinations are groups.

    A column may be cut into periods; with a range of its own it needs no list, and None stands in its place.

    >>> CrossedGroups(["ward", "year"], [["a", "b"], [2020, 2021]]).names
    [('a', 2020), ('a', 2021), ('b', 2020), ('b', 2021)]
    """

    def __init__(self, columns: Sequence[str | Period], groups: Any = None) -> None:
        given = _tuples(groups, columns)
        self.parts: list[Groups] = []
        self._listed: list[NDArray[np.int64]] = []  # for every column, the place of each tuple's value in its part
        for column, values in zip(columns, zip(*given, strict=True), strict=True):
            period = column if isinstance(column, Period) else None
            keys = {value: value if period is None else period.read(value) for value in dict.fromkeys(values)}
            listed = {key: value for value, key in keys.items()}  # each in one spelling
            places = {key: place for place, key in enumerate(listed)}
            own = (FoundNames if isinstance(groups, FoundNames) else list)(listed.values())
            self.parts.append(Groups(own) if period is None else Periods(period, own))
            self._listed.append(np.array([places[keys[value]] for value in values], np.int64))
        if len(set(zip(*map(np.ndarray.tolist, self._listed), strict=True))) != len(given):
            last = {name: place for place, name in enumerate(self.names)}
            twice = next(name for place, name in enumerate(self.names) if last[name] != place)
            raise RefusedValue(
                "groups", Reason.REPEATED, "`groups` names {given} twice", "name each once", given=quote(twice)
            )
        self._levels: list[NDArray[np.int64]] = []
        joined = np.zeros(len(given), np.int64)
        for part, codes in zip(self.parts, self._listed, strict=True):
            self._levels.append(np.unique(joined * (len(part) + 1) + codes))
            joined = self._step(len(self._levels) - 1, joined, codes)
        self._order = np.argsort(joined)

    def __len__(self) -> int:
        return len(self._order)

    @property
    def places(self) -> list[tuple[int, ...]]:
        """For every tuple, the place of each column's value among those listed for it."""
        return list(zip(*(listed.tolist() for listed in self._listed), strict=True))

    @property
    def names(self) -> list[tuple[Any, ...]]:
        columns = [part.names for part in self.parts]
        each = [[names[place] for place in listed] for names, listed in zip(columns, self._listed, strict=True)]
        return list(zip(*each, strict=True))

    def codes(self, keys: Sequence[Any]) -> Codes:
        """The place of every row's tuple, len(self) for what is not listed, by the keys of every column."""
        joined: Any = np.int64(0)
        for level, (part, own) in enumerate(zip(self.parts, keys, strict=True)):
            joined = self._step(level, joined, part.codes(own).astype(np.int64))
        return np.asarray(np.append(self._order, len(self))[joined], np.int32)

    def _step(self, level: int, joined: Any, codes: Any) -> Any:
        """The place of each beginning of a tuple, one column longer, among those listed; one past them for others.

        Numbered anew for every column, they stay far within 64 bits.
        """
        listed, parts = self._levels[level], len(self.parts[level]) + 1
        found = joined * parts + codes
        at = np.minimum(np.searchsorted(listed, found), len(listed) - 1)
        return np.where(listed[at] == found, at, len(listed))


def _tuples(groups: Any, columns: Sequence[str | Period]) -> list[tuple[Any, ...]]:
    if groups is None:  # every column has a range
        groups = [None] * len(columns)
    given = list(groups) if hasattr(groups, "__iter__") and not isinstance(groups, str | bytes) else []
    if given and all(isinstance(one, tuple) and len(one) == len(columns) for one in given):
        return [tuple(plain_list(np.array([x]))[0] if isinstance(x, np.generic) else x for x in one) for one in given]
    if len(given) == len(columns):
        given = [
            [column.name(start) for start in column.every()]
            if one is None and isinstance(column, Period) and column.has_range
            else one
            for one, column in zip(given, columns, strict=True)
        ]
    lists = [plain_list(one) for one in given if hasattr(one, "__iter__") and not isinstance(one, str | bytes | tuple)]
    if len(lists) != len(given) or len(given) != len(columns):
        raise RefusedValue(
            "groups",
            Reason.MALFORMED,
            "`groups` does not fit {columns} columns",
            "give a list of tuples, such as `[('a', 2020), ...]`, or {columns} lists to combine, one for each column",
            columns=len(columns),
        )
    if not all(lists):
        raise RefusedValue(
            "groups", Reason.EMPTY, "`groups` has an empty list in it", "give at least one group of each column"
        )
    require_few(prod(map(len, lists)))
    return list(product(*lists))


@dataclass(frozen=True)
class Rows:
    """The column or columns of groups, the groups listed, the column of persons' ids, and the filter.

    With a filter there is always a group: without others, the one of all rows that pass. The same goes for
    `only_present`: of a public number of rows those without a value are dropped, so the others are a group.
    """

    by: str | list[str] | None = None
    groups: Groups | CrossedGroups | None = None
    privacy_unit: str | None = None
    where: Filter | None = None
    only_present: bool = False
    searched: SearchedGroups | None = None  # where nobody listed the groups
    group_count: int | None = field(init=False)  # None for one sum over every row
    columns: tuple[str, ...] = field(init=False)  # all that are read to know which rows count where
    groups_by_column: list[tuple[str, Groups]] = field(init=False)  # every column of groups, with its own

    def __post_init__(self) -> None:
        only = 1 if self.where is not None or self.only_present else None
        object.__setattr__(self, "group_count", only if self.groups is None else len(self.groups.names))
        conditions = () if self.where is None else self.where.conditions
        by = self.by if isinstance(self.by, list) else [self.by]
        named = (*by, self.privacy_unit, *(condition.column for condition in conditions))
        object.__setattr__(self, "columns", tuple(name for name in named if name is not None))
        parts = self.groups.parts if isinstance(self.groups, CrossedGroups) else [self.groups]
        each = [] if self.groups is None else list(zip(by, parts, strict=True))
        object.__setattr__(self, "groups_by_column", each)

    def expect_in(self, schema: Schema) -> None:
        """Say which columns will be looked up; refuses types in which they cannot be, before the first row comes."""
        for column, part in [*self.groups_by_column, *self.searched_columns]:
            schema.expect_groups(column, part)  # type: ignore[arg-type]
        if self.privacy_unit is not None:
            schema.expect_ids(self.privacy_unit)

    def of_found(self, names: Sequence[Any]) -> Rows:
        """The rows of the groups that were found, which are public from then on."""
        assert self.searched is not None
        assert self.by is not None
        columns, parts = self.by if isinstance(self.by, list) else [self.by], self.searched.parts
        each = [name if part.period is None else part.period for name, part in zip(columns, parts, strict=True)]
        groups: Groups | CrossedGroups
        if isinstance(self.by, list):
            groups = CrossedGroups(each, FoundNames(names))
        elif isinstance(each[0], Period):
            groups = Periods(each[0], FoundNames(names))
        else:
            groups = Groups(FoundNames(names))
        return replace(self, groups=groups, searched=None)

    @property
    def periods_by_column(self) -> list[tuple[str, Period | None]]:
        """Every column of groups, listed or searched, with the periods that it is cut into."""
        if self.searched is not None:
            return [(name, part.named_period) for name, part in self.searched_columns]
        return [(name, own.period if isinstance(own, Periods) else None) for name, own in self.groups_by_column]

    @property
    def searched_columns(self) -> list[tuple[str, KeyColumn]]:
        """Every column in which groups are searched, with how."""
        by = self.by if isinstance(self.by, list) else [self.by]
        return (
            []
            if self.searched is None
            else [(str(one), part) for one, part in zip(by, self.searched.parts, strict=True)]
        )

    @property
    def described_by(self) -> str | list[str] | None:
        """The columns of the groups, or periods of them; a period's zone is known once the schema has been read."""
        if self.searched is not None:
            words = [str(own) or name for name, own in self.searched_columns]
        else:
            words = [str(own) if isinstance(own, Periods) else name for name, own in self.groups_by_column]
        return words if isinstance(self.by, list) else self.by and words[0]
