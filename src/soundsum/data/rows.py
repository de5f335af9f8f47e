"""Which rows of a table count, and together with which: the groups and the persons they belong to."""

from __future__ import annotations

from dataclasses import dataclass, field

from soundsum.data.keys import Groups
from soundsum.data.records import Missing


@dataclass(frozen=True)
class Rows:
    """The column of groups with the groups listed, the column of persons' ids, and what a missing record counts as."""

    by: str | None = None
    groups: Groups | None = None
    person: str | None = None
    missing: Missing = "zero"
    group_count: int | None = field(init=False)  # None for one sum over every row

    def __post_init__(self) -> None:
        object.__setattr__(self, "group_count", None if self.groups is None else len(self.groups.names))
