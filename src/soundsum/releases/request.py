"""A request as the options of a public function give it: the statistics, the rows, and the privacy unit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from soundsum.budget.scope import VALUES, Binding, Same
from soundsum.numbers.quoting import is_hashable, quote
from soundsum.numbers.rationals import exact
from soundsum.privacy.units import Found, Unit
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.statistics import Bounds, Statistic, TotalBounds
from soundsum.tables.key_columns import require_name
from soundsum.tables.keys import FoundNames
from soundsum.tables.paths import name_source
from soundsum.tables.periods import SPELLED, Period
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation

MOST_STATISTICS = 1000
"""In one release; each has at least a thousandth of its cost."""


@dataclass(frozen=True)
class Request:
    """The statistics asked for at once, and the options they share, by the names that public functions give them.

    It is prepared on a table (prepare.py), and written down in canonical form for ledgers and releases (`make_query`).

    >>> Request(relation=Relation.HAMMING, name="visits").binding
    Binding(privacy_unit=None, relation=<Relation.HAMMING: 'hamming'>, data='visits', ids=None)
    """

    statistics: tuple[Statistic, ...] = ()
    names: tuple[str, ...] | None = None  # of the statistics, where somebody gave any
    relation: Relation = Relation.SYMMETRIC
    missing: Missing | None = None  # None: as the statistic does by default
    by: Any = None
    groups: Any = None
    where: Any = None
    privacy_unit: Any = None  # the column of the persons' ids, or the ids
    max_rows: int = 1
    max_groups: int = 1
    name: str | None = None  # what the data is called
    table: Any = None  # of a database
    engine: str | None = None  # asked for by name
    is_private: bool = False  # whether it is about an owner's table, whose data must not show itself
    types: Mapping[str, str] = field(default_factory=dict)  # of columns, as an owner says them
    binding: Binding = field(init=False)  # whom it protects, and on which data: for a budget to compare with its own

    def name_source(self, data: Any) -> str:
        """Names the data for the ledger: its file or table, or its kind."""
        return self.name or "a private table" if self.is_private else name_source(data, self.table)

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise RefusedType(
                "name",
                Reason.WRONG_TYPE,
                "`name={given}` is not a string",
                "give what the data is called, or leave `name` out",
                given=quote(self.name),
            )
        if not (self.missing is None or (isinstance(self.missing, str) and self.missing in ("zero", "drop"))):
            raise RefusedValue(
                "missing",
                Reason.UNKNOWN,
                '`missing={given}` is neither "zero" nor "drop"',
                "give one of these",
                given=quote(self.missing),
            )
        object.__setattr__(self, "groups", _list_found(self.groups))
        if self.by is not None and self.groups is None and not _has_ranges(self.by):
            raise refuse_without_groups(self.by)
        if self.by is None and self.groups is not None:
            raise RefusedValue(
                "groups",
                Reason.NEEDS,
                "`groups` is given without `by`, the column the groups are in",
                "give both",
            )
        for name in ("max_rows", "max_groups"):
            if not hasattr(getattr(self, name), "__index__") or not is_hashable(getattr(self, name)):
                raise RefusedValue(
                    name,
                    Reason.NOT_WHOLE,
                    "`{option}={given}` is not a whole number",
                    "give a whole number, 1 or more",
                    given=quote(getattr(self, name)),
                )
        if self.privacy_unit is None and (self.max_rows, self.max_groups) != (1, 1):
            raise RefusedValue(
                "max_rows" if self.max_rows != 1 else "max_groups",
                Reason.NEEDS,
                "`max_rows` and `max_groups` are about persons",
                "give `privacy_unit`, the column of their ids",
            )
        object.__setattr__(self, "binding", _bind(self.privacy_unit, self.relation, self.name))

    def unit(self, groups: int | Found | None) -> Unit:
        return Unit(groups) if self.privacy_unit is None else Unit(groups, self.max_rows, self.max_groups)

    def require_statistics(self) -> None:
        """Refuse statistics that are none, or that do not go with the other options."""
        if not all(isinstance(one, Statistic) for one in self.statistics):
            raise refuse_statistics()
        for one in self.statistics:
            require_name("column", one.column)
        if not self.statistics:
            raise RefusedValue(
                "statistics",
                Reason.EMPTY,
                "there is nothing to release",
                "give statistics such as `[ss.Sum('pay', 0, 1000), ss.Count()]`",
            )
        if self.where is not None and any(getattr(one, "size", None) is not None for one in self.statistics):
            raise RefusedValue(
                "size",
                Reason.CONFLICT,
                "`size` is the number of all rows",
                "how many pass `where` is private, so leave `size` out",
            )
        for one in self.statistics:
            if self.by is not None and not one.takes_groups:
                raise RefusedValue(
                    "by",
                    Reason.CONFLICT,
                    "`by` is given, and {name} is advice for a whole table",
                    "leave `by` and `groups` out, or choose rows with `where`",
                    name=one.name,
                )
        if self.by is None and self.max_groups != 1 and all(one.cells is None for one in self.statistics):
            raise RefusedValue(
                "max_groups",
                Reason.NEEDS,
                "`max_groups={given}` is about groups",
                "give `by`, the column they are in",
                given=quote(self.max_groups),
            )


def _list_found(groups: Any) -> Any:
    """The groups of an earlier release, whose names are public, as a list; a dictionary is no release."""
    return FoundNames(groups) if isinstance(groups, Mapping) and not isinstance(groups, dict) else groups


def read_bounds(lower: Any, upper: Any, bounds: Any, max_rows: Any = 1) -> tuple[Any, Any]:
    """Both bounds, however they were given; those advised for totals of persons are not for their rows."""
    if bounds is None:
        if isinstance(lower, str) and upper is None and not _is_number(lower):
            raise RefusedType(
                "column",
                Reason.NEEDS,
                "`lower={given}` is not a number",
                "if {given} is a column, give `column={given}`",
                given=quote(lower),
            )
        return lower, upper
    if lower is not None or upper is not None:
        raise RefusedValue(
            "bounds",
            Reason.CONFLICT,
            "`bounds` are given, and `lower` or `upper` too",
            "give `bounds` alone, or `lower` and `upper`",
        )
    is_pair = not isinstance(bounds, str | bytes) and hasattr(bounds, "__iter__")
    ends = [*bounds] if is_pair else []
    if len(ends) != 2:
        raise RefusedValue(
            "bounds",
            Reason.MALFORMED,
            "`bounds={given}`:",
            "give two numbers, such as `bounds=[0, 100]`, or what `ss.suggest_bounds` returned",
            given=quote(bounds),
        )
    if max_rows != 1 and getattr(bounds, "are_of_totals", False):
        raise RefusedValue(
            "bounds",
            Reason.CONFLICT,
            "`bounds` were suggested for the total of a person's rows, and each of several rows has its own",
            "give `max_rows=1`, or suggest bounds for rows with `suggest_bounds(..., max_rows=...)`",
        )
    return ends[0], ends[1]


def _is_number(text: str) -> bool:
    try:
        exact(text)
    except (TypeError, ValueError):
        return False
    return True


def ask_bounds(
    column: str | None, coverage: Any, dtype: object, max_rows: Any, has_persons: bool
) -> tuple[Bounds | TotalBounds, Any]:
    """Ask for advice on bounds: of records, of persons' totals or of their rows; and in how many cells a person is."""
    if has_persons and max_rows is None:
        return TotalBounds(column, coverage=coverage, dtype=dtype), 1
    if max_rows is not None and not has_persons:
        raise RefusedValue(
            "max_rows",
            Reason.NEEDS,
            "`max_rows` is about persons",
            "give `privacy_unit`, the column of their ids",
        )
    Unit(max_rows=max_rows)  # refuses what is no number of rows
    return Bounds(column, coverage=coverage, dtype=dtype), 1 if max_rows is None else max_rows


def _bind(privacy_unit: Any, relation: Relation, name: str | None) -> Binding:
    """Whom a request protects, where ids may have been given as values."""
    if privacy_unit is None or isinstance(privacy_unit, str):
        return Binding(privacy_unit, relation, name)
    if hasattr(privacy_unit, "__iter__"):
        return Binding(VALUES, relation, name, Same(privacy_unit))
    return Binding(repr(privacy_unit), relation, name)  # a name that is no text


def name_statistics(statistics: Any) -> tuple[list[str], list[Statistic]]:
    """Name each statistic: by the name given, or else by its kind and column, made unique."""
    if isinstance(statistics, Mapping | list | tuple) and len(statistics) > MOST_STATISTICS:
        raise RefusedValue(
            "statistics",
            Reason.TOO_MANY,
            "there are {count} statistics, and one release has at most {most}",
            "ask in parts",
            count=f"{len(statistics):,}",
            most=f"{MOST_STATISTICS:,}",
        )
    if isinstance(statistics, Mapping):
        if not all(isinstance(name, str) for name in statistics):
            raise RefusedType(
                "statistics",
                Reason.WRONG_TYPE,
                "names of statistics are strings",
                "give a dict such as `{{'total': ss.Sum('pay', 0, 1000)}}`",
            )
        return list(statistics), list(statistics.values())
    if not isinstance(statistics, list | tuple) or not all(isinstance(one, Statistic) for one in statistics):
        raise refuse_statistics()
    names: list[str] = []
    for one in statistics:
        require_name("column", one.column)
        name = one.name if one.column is None else f"{one.name} of {one.column}"
        same = sum(other == name or other.startswith(f"{name} (") for other in names)
        names.append(f"{name} ({same + 1})" if same else name)
    return names, list(statistics)


def refuse_statistics() -> RefusedType:
    return RefusedType(
        "statistics",
        Reason.WRONG_TYPE,
        "statistics is a list of `ss.Sum`, `ss.Mean`, `ss.Variance`, `ss.Count` and `ss.Histogram`, or a dict of them "
        "by name",
    )


def refuse_without_groups(by: Any) -> RefusedValue:
    """The refusal of groups that nobody listed."""
    if isinstance(by, Period):
        return RefusedValue(
            "groups",
            Reason.MISSING,
            "`groups` is missing, and the list of groups is itself private: a group with one person "
            "would reveal that person",
            "list the groups to release from public knowledge, such as `groups={example}`, give the first and the "
            "last, `ss.{kind}({column}, first, last)`, or find them: `groups=ss.Found(delta='1e-9')`",
            example=f"[{SPELLED[by.kind]!r}]",
            kind=by.kind,
            column=quote(by.column),
        )
    return RefusedValue(
        "groups",
        Reason.MISSING,
        "`groups` is missing, and the list of groups is itself private: a group with one person "
        "would reveal that person",
        "list the groups to release from public knowledge, such as `groups=['a', 'b']`, or find them: "
        "`groups=ss.Found(delta='1e-9')`",
    )


def _has_ranges(by: Any) -> bool:
    """Returns whether all groups are known without a list: those of periods from first to last."""
    several = by if isinstance(by, list) else [by]
    return bool(several) and all(isinstance(one, Period) and one.has_range for one in several)
