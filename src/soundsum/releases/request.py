"""A request: what is asked of which rows, and about whom, as the options of a public function say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from soundsum.budget import Binding
from soundsum.budget.scope import VALUES, Same
from soundsum.numbers.quoting import is_hashable, quote
from soundsum.privacy.units import Unit
from soundsum.statistics import Statistic
from soundsum.tables.periods import SPELLED, Period
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import require_name

WHY_GROUPS = (
    "groups= is missing: which groups there are is itself private, and a group of one person would show that they are "
    "there; list the groups to release from public knowledge, such as groups=['a', 'b']"
)

WHAT_STATISTICS = (
    "statistics is a list of ss.Sum, ss.Mean, ss.Variance, ss.Count and ss.Histogram, or a dict of them by name"
)


MOST_STATISTICS = 1000
"""In one release; each has at least a thousandth of its cost."""


@dataclass(frozen=True)
class Request:
    """The statistics asked for at once, the options they share, and whom they are about.

    It is prepared on a table (prepare.py), and written down in canonical form for ledgers and releases (`make_query`).
    """

    statistics: tuple[Statistic, ...]
    whom: Binding  # for a budget to compare with its own
    names: tuple[str, ...] | None = None  # of the statistics, where somebody gave any
    missing: Missing | None = None  # None: as the statistic does by default
    by: Any = None
    groups: Any = None
    where: Any = None
    privacy_unit: Any = None  # the column of the persons' ids, or the ids
    max_rows: int = 1
    max_groups: int = 1
    table: Any = None  # of a database
    engine: str | None = None  # asked for by name
    source: str | None = None  # what an owner's table is called in the ledger, where the data must not show itself
    types: Mapping[str, str] = field(default_factory=dict)  # of columns, as an owner says them

    @classmethod
    def of(
        cls,
        *statistics: Statistic,
        relation: Relation | str = Relation.SYMMETRIC,
        name: str | None = None,
        privacy_unit: Any = None,
        **options: Any,
    ) -> Request:
        """The request that the options of a public function make.

        >>> Request.of(relation="hamming", name="visits").whom
        Binding(privacy_unit=None, relation=<Relation.HAMMING: 'hamming'>, data='visits', ids=None)
        """
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name={quote(name)}: give what the data is called, a string, or leave it out")
        column, ids = privacy_unit, None
        if column is not None and not isinstance(column, str):  # a name that is no text, or values
            column, ids = (VALUES, Same(column)) if hasattr(column, "__iter__") else (repr(column), None)
        whom = Binding(column, Relation.read(relation), name, ids)
        return cls(statistics, whom, privacy_unit=privacy_unit, **options)

    def __post_init__(self) -> None:
        if not (self.missing is None or (isinstance(self.missing, str) and self.missing in ("zero", "drop"))):
            raise ValueError(f'missing={quote(self.missing)} is neither "zero" nor "drop"; give one of these')
        if self.by is not None and self.groups is None and not _has_ranges(self.by):
            raise ValueError(_say_why_groups(self.by))
        if self.by is None and self.groups is not None:
            raise ValueError("groups= is given without by=, the column the groups are in; give both")
        if self.max_rows is None or self.max_groups is None:
            raise ValueError("max_rows= and max_groups= are whole numbers, 1 or more; both limits apply to each person")
        for name in ("max_rows", "max_groups"):
            if not hasattr(getattr(self, name), "__index__") or not is_hashable(getattr(self, name)):
                raise ValueError(f"{name}={quote(getattr(self, name))}: give a whole number, 1 or more")
        if self.privacy_unit is None and (self.max_rows, self.max_groups) != (1, 1):
            raise ValueError("max_rows= and max_groups= are about persons; give privacy_unit=, the column of their ids")

    @property
    def relation(self) -> Relation:
        return self.whom.relation

    def unit(self, groups: int | None) -> Unit:
        return Unit(groups) if self.privacy_unit is None else Unit(groups, self.max_rows, self.max_groups)

    def require_statistics(self) -> None:
        """Refuse statistics that are none, or that do not go with the other options."""
        if not all(isinstance(one, Statistic) for one in self.statistics):
            raise TypeError(WHAT_STATISTICS)
        for one in self.statistics:
            require_name("column", one.column)
        if not self.statistics:
            raise ValueError(
                "there is nothing to release; give statistics such as [ss.Sum('pay', 0, 1000), ss.Count()]"
            )
        if self.where is not None and any(getattr(one, "size", None) is not None for one in self.statistics):
            raise ValueError("size= is the number of all rows; how many pass where= is private, so leave size out")
        if self.by is None and self.max_groups != 1 and all(one.cells is None for one in self.statistics):
            raise ValueError(f"max_groups={quote(self.max_groups)} is about groups; give by=, the column they are in")


def name_statistics(statistics: Any) -> tuple[list[str], list[Statistic]]:
    """Name each statistic: by the name given, or else by its kind and column, made unique."""
    if isinstance(statistics, Mapping | list | tuple) and len(statistics) > MOST_STATISTICS:
        raise ValueError(
            f"there are {len(statistics):,} statistics, and one release has at most {MOST_STATISTICS:,}; ask in parts"
        )
    if isinstance(statistics, Mapping):
        if not all(isinstance(name, str) for name in statistics):
            raise TypeError("names of statistics are strings, such as {'total': ss.Sum('pay', 0, 1000)}")
        return list(statistics), list(statistics.values())
    if not isinstance(statistics, list | tuple) or not all(isinstance(one, Statistic) for one in statistics):
        raise TypeError(WHAT_STATISTICS)
    names: list[str] = []
    for one in statistics:
        require_name("column", one.column)
        name = one.name if one.column is None else f"{one.name} of {one.column}"
        same = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return names, list(statistics)


def _say_why_groups(by: Any) -> str:
    if not isinstance(by, Period):
        return WHY_GROUPS
    return WHY_GROUPS.replace("groups=['a', 'b']", f"groups=[{SPELLED[by.kind]!r}], or give the first and the last")


def _has_ranges(by: Any) -> bool:
    """Whether all groups are known without a list: those of periods from first to last."""
    several = by if isinstance(by, list) else [by]
    return bool(several) and all(isinstance(one, Period) and one.has_range for one in several)
