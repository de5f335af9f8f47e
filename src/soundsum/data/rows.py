"""Which rows of a table count, and together with which: the groups and the persons they belong to."""

from __future__ import annotations

from dataclasses import dataclass

from soundsum.data.keys import Groups
from soundsum.data.records import Missing


@dataclass(frozen=True)
class Rows:
    """The column of groups with the groups listed, the column of persons' ids, and what a missing record counts as."""

    by: str | None = None
    groups: Groups | None = None
    person: str | None = None
    missing: Missing = "zero"

    @property
    def group_count(self) -> int | None:
        """How many groups are listed; None for one sum over every row."""
        return None if self.groups is None else len(self.groups)
