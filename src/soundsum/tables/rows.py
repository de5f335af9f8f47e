"""The rows that count: filters, and the groups and persons that rows belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from soundsum.tables.crossed import CrossedGroups
from soundsum.tables.filters import Filter
from soundsum.tables.found_keys import KeyColumn, SearchedGroups
from soundsum.tables.keys import FoundNames, Groups
from soundsum.tables.period_groups import Periods
from soundsum.tables.periods import Period
from soundsum.tables.schemas import Schema


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
