"""The plan of partial sums: what every part adds up, and the add itself, which is the owner's.

A plan is made before there is any data. The first part says of which types its columns are; parts merge where all of
it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeAlias

from soundsum.budget import Query
from soundsum.budget.query import canonical
from soundsum.engines import Engine
from soundsum.engines.ids import IdKind
from soundsum.numbers.quoting import quote
from soundsum.numbers.types import NumberType, number_type
from soundsum.privacy.selection import Found
from soundsum.refusals import Reason, Refusal, RefusedType, RefusedValue
from soundsum.releases.pipeline import Prepared
from soundsum.releases.plan_json import read_value, request_from_json, request_to_json, write_value
from soundsum.releases.prepare import find_rows, given_types, plan_tasks
from soundsum.releases.request import Request
from soundsum.statistics import Statistic, Task, make_query
from soundsum.tables.filters import Filter
from soundsum.tables.key_columns import KeyColumns
from soundsum.tables.period_groups import Periods
from soundsum.tables.rows import Rows

SOURCE = "parts"
"""The name of data that was added up in parts, where nobody named it."""

LARGEST = 1 << 251
"""No total reaches this, so that each fits in a decimal of 256 bits; of fewer than 2^64 rows."""

ColumnTypes: TypeAlias = tuple[tuple[Any, NumberType | None, Fraction], ...]
"""For every column its type, if it has numbers, and what 1 in it is worth."""


class StoredSchema:
    """The types of columns that were read elsewhere."""

    def __init__(self, types: ColumnTypes) -> None:
        self._types = {column: (kind, unit_value) for column, kind, unit_value in types}
        self.names = list(self._types)

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        kind, unit_value = self._types[column]
        if kind is None:
            raise LookupError
        return kind, unit_value

    def expect_groups(self, column: str | None, groups: Any) -> None: ...
    def expect_ids(self, column: str | None) -> None: ...
    def expect_value(self, condition: Any) -> None: ...
    def rows(self) -> int:
        raise LookupError


@dataclass(frozen=True)
class TypedPlan:
    """A request whose columns have types: all that two parts must agree on to be added up, and what is then released.

    `ids` is the kind of the persons' ids, `shards` the number of shards that persons are divided into.
    """

    request: Request
    tasks: tuple[Task, ...]
    rows: Rows
    types: ColumnTypes
    ids: IdKind | None = None
    shards: int | None = None
    query: Query = field(init=False)

    def __post_init__(self) -> None:
        source = self.request.name_source(None) if self.request.is_private else self.request.name or SOURCE
        query = make_query(self.tasks, self.rows, source, self.request.binding, self.request.names)
        object.__setattr__(self, "query", query)

    @property
    def prepared(self) -> Prepared:
        return Prepared(self.tasks, self.rows, self.query, self.request.binding)

    @property
    def keeps_pairs(self) -> bool:
        """Whether parts hold pairs of person and group, to which caps apply at release."""
        return self.rows.privacy_unit is not None and self.shards is None

    @property
    def counts_rows(self) -> bool:
        """Whether the number of rows is public, and that of all parts together goes into the release."""
        return all(task.claim.plan.problem.relation.sized for task in self.tasks)

    @property
    def terms(self) -> dict[str, Any]:
        """Everything that must be the same in two parts, by the option that says it, as JSON has it."""
        query = self.query.to_json()
        groups = None if self.rows.groups is None else canonical(write_value(self.rows.groups.names))
        return query | {
            "groups": groups and [query["groups"], sha256(groups.encode()).hexdigest()],  # with their types
            "statistics": [
                [
                    one,
                    [[part.name, str(part.step), part.weights, part.range] for part in task.claim.parts],
                    _steps(task),
                ]
                for one, task in zip(query["statistics"], self.tasks, strict=True)
            ],
            "privacy_unit": [query["privacy_unit"], self.ids],
            "of": self.shards,
            "is_private": self.request.is_private,
        }

    def to_json(self) -> dict[str, Any]:
        return {
            "request": request_to_json(self.request),
            "types": [[write_value(name), kind and kind.name, str(worth)] for name, kind, worth in self.types],
            "declared": [task.is_declared for task in self.tasks],
            "aware": [getattr(groups, "is_aware", None) for _, groups in self.rows.groups_by_column],
            "ids": self.ids,
            "shards": self.shards,
            "terms": self.terms,
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> TypedPlan:
        """The plan that was written; raises whatever Python does for anything else."""
        request = request_from_json(written["request"])
        types = tuple(
            (read_value(name), None if kind is None else number_type(kind), Fraction(worth))
            for name, kind, worth in written["types"]
        )
        where = None if request.where is None else Filter.of(request.where)
        rows = find_rows({}, request, KeyColumns.of({}, request.by, request.privacy_unit), where)
        for (_, groups), aware in zip(rows.groups_by_column, written["aware"], strict=True):
            if isinstance(groups, Periods):
                groups.declare_aware(bool(aware))
        planned = plan_tasks(request.statistics, StoredSchema(types), request, request.unit(rows.group_count))
        tasks = [
            replace(task, is_declared=declared) for task, declared in zip(planned, written["declared"], strict=True)
        ]
        ids = None if written["ids"] is None else IdKind(*written["ids"])
        made = cls(request, tuple(tasks), rows, types, ids, written["shards"])
        if canonical(made.terms) != canonical(written["terms"]):
            raise ValueError
        return made

    def require_same(self, other: TypedPlan) -> None:
        """Refuse a part of another plan, with the option that differs."""
        ours, theirs = self.terms, other.terms
        for name in ours:
            if canonical(ours[name]) != canonical(theirs[name]):
                option = {"data": "name", "is_private": "name", "source": "name"}.get(name, name)
                raise RefusedValue(
                    option,
                    Reason.MISMATCH,
                    "the parts were not added up alike: their `{option}` differ",
                    "add each up by the same plan, over columns of the same types",
                )


def _steps(task: Task) -> list[Any]:
    """The integers that records become."""
    steps = task.claim.record_steps
    assert steps is not None
    return [steps.low, steps.high, str(steps.step), str(steps.offset)]


def require_mergeable(request: Request) -> None:
    """Refuse what cannot be added up in parts, whatever the data."""
    request.require_statistics()
    if isinstance(request.groups, Found):
        raise RefusedValue(
            "groups",
            Reason.UNSUPPORTED,
            "groups are found in one pass over all the data, and parts are added up apart",
            "list them in `groups`, such as those that `ss.groups` found",
        )
    several = request.by if isinstance(request.by, list) else [request.by]
    if not isinstance(request.privacy_unit, str | None) or any(
        hasattr(one, "__iter__") and not isinstance(one, str) for one in several
    ):
        raise RefusedType(
            "by",
            Reason.WRONG_TYPE,
            "`by` and `privacy_unit` name columns, which every part has",
            "give names; values go with data that is one column",
        )
    for one in request.statistics:
        if request.relation.sized and getattr(one, "method", "auto") != "auto" and getattr(one, "size", None) is None:
            raise RefusedValue(
                "size",
                Reason.NEEDS,
                "a method asked for by name needs the number of all records under {relation}",
                "give `size`, or leave `method` out",
                relation=str(request.relation),
            )
    request_to_json(request)  # refuses what cannot be written


def require_exact(tasks: Sequence[Task]) -> None:
    for claim in [task.claim for task in tasks]:
        steps = claim.record_steps
        if steps is None:
            raise RefusedValue(
                "method",
                Reason.UNSUPPORTED,
                "`method={method}` adds up all records in its own way, and parts are exact sums",
                "leave `method` out",
                method=quote(claim.plan.method),
            )
        reach = max(abs(end) for part in claim.parts for end in part.range or (0, 0))
        if reach << 64 >= LARGEST:
            raise RefusedValue(
                "method",
                Reason.TOO_LARGE,
                "`method={method}` has steps so fine that totals would not fit in 256 bits",
                "leave `method` out",
                method=quote(claim.plan.method),
            )


def find_types(engine: Engine, statistics: Sequence[Statistic]) -> ColumnTypes:
    """The types of the columns that statistics look at; none for a column that has no numbers."""
    dtypes, found = given_types(statistics), dict[Any, tuple[NumberType | None, Fraction]]()
    for one in statistics:
        if one.column is not None:
            try:
                found[one.column] = engine.schema.type(one.column, dtypes.get(one.column))
            except Refusal:
                found[one.column] = None, Fraction(1)
    return tuple((column, *own) for column, own in found.items())
