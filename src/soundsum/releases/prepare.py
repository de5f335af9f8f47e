"""From a request to something an engine can add up: the table opened, columns found, every statistic planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from soundsum.budget import Budget
from soundsum.engines import ENGINES, Engine, find_engine, open_engine
from soundsum.numbers.quoting import say_column
from soundsum.numbers.types import number_type
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.selection import Found
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.collections import Releases
from soundsum.releases.outcomes import Outcome
from soundsum.releases.pipeline import Adder, Prepared, carry_out, make_charge
from soundsum.releases.released import Release
from soundsum.releases.request import Request
from soundsum.releases.schema import ColumnSchema, require_schema
from soundsum.statistics import Statistic, Task, make_query
from soundsum.statistics.group_counts import GroupCounts
from soundsum.statistics.task import plan_task
from soundsum.tables.filters import Filter
from soundsum.tables.found_keys import SearchedGroups
from soundsum.tables.key_columns import KeyColumns
from soundsum.tables.keys import Groups, require_few
from soundsum.tables.period_groups import Periods
from soundsum.tables.periods import Period
from soundsum.tables.read_guard import SENTENCE, ReadFailed
from soundsum.tables.rows import CrossedGroups, Rows
from soundsum.tables.runs import Runs
from soundsum.tables.schemas import Keyed, Schema, require_columns


def look(data: Any, request: Request, schema: Mapping[str, ColumnSchema], columns: Sequence[str]) -> None:
    """Refuse an owner's terms, or these columns, where they are not about the table: not there, or of another type."""
    table = open_engine(data, {}, request.table, request.engine).schema
    if request.privacy_unit is not None:
        require_columns(table.names, table, request.privacy_unit)
    require_schema(table, schema, request.types)
    require_columns(table.names, table, *columns)


def prepare(data: Any, request: Request) -> tuple[Engine, Prepared]:
    """Open the table, plan every statistic, find which rows belong together, and write the query down."""
    request.require_statistics()
    source, statistics = request.name_source(data), request.statistics
    is_table = find_engine(data, request.engine) is not ENGINES["memory"]
    keys = KeyColumns.of(data, request.by, request.privacy_unit, is_table)
    where = None if request.where is None else Filter.of(request.where)
    conditions = () if where is None else where.conditions
    engine = open_engine(data, keys.beside, request.table, request.engine)
    schema = engine.schema
    if request.types and isinstance(schema, Keyed):
        schema.type_keys(request.types)
    read = [statistic.column for statistic in statistics if statistic.needs_column or statistic.column is not None]
    keys.require_in(schema.names, schema, read, [one.column for one in conditions])
    rows = find_rows(data, request, keys, where)
    rows.expect_in(schema)
    found = request.groups if isinstance(request.groups, Found) else None
    if found is not None:
        engine.refuse_search(rows)
        if any(getattr(one, "size", None) is not None for one in statistics):
            raise _size_with_search()
        asks_more = not all(isinstance(one, GroupCounts) for one in statistics)
        statistics = (*statistics, GroupCounts(weight=found.weight)) if asks_more else statistics
        if asks_more and type(data).__name__ == "RecordBatchReader":
            raise _readable_once()
    unit = request.unit(rows.group_count if found is None else FOUND)
    tasks = plan_tasks(statistics, schema, request, unit)
    for condition in conditions:  # now that columns without types have those they are asked for in
        schema.expect_value(condition)
    if not engine.adds_any_method:
        engine.refuse_unsupported(tasks, rows)
    query = make_query(tasks, rows, source, request.binding, request.names, found)
    return engine, Prepared(tasks, rows, query, request.binding)


def plan_tasks(statistics: Sequence[Statistic], schema: Schema, request: Request, unit: Unit) -> list[Task]:
    """Plan every statistic on the public facts about a table."""
    dtypes = given_types(statistics)
    is_public = request.relation.sized and unit.is_plain  # the number of rows
    tasks, numbers = [], 0
    for statistic in statistics:
        missing = request.missing or ("drop" if statistic.drops_missing and not is_public else "zero")
        task = plan_task(statistic, schema, dtypes.get(statistic.column), request.relation, missing, unit)
        tasks.append(task)
        numbers += task.claim.plan.unit.entries
        require_few(numbers, "the release")  # soon, as each takes time
    return tasks


def find_rows(data: Any, request: Request, keys: KeyColumns, where: Filter | None) -> Rows:
    """The rows that count, and the groups and persons that they belong to."""
    by, groups, searched = keys.by, None, None
    if isinstance(request.groups, Found):
        searched = SearchedGroups(by)
    elif by is not None:
        kind = CrossedGroups if isinstance(by, list) else Periods if isinstance(by, Period) else None
        groups = Groups(request.groups) if kind is None else kind(by, request.groups)
    only_present = request.missing == "drop" and request.relation.sized and groups is None and where is None
    if only_present and isinstance(data, Runs):
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "data is Runs, and under {relation} records are dropped one by one",
            "pass `np.asarray(runs)`",
            relation=str(request.relation),
        )
    return Rows(
        keys.groups if isinstance(by, list) else keys.groups[0],
        groups,
        keys.privacy_unit,
        where,
        only_present,
        searched,
    )


def _size_with_search() -> RefusedValue:
    """Refuse a size with a search for groups.

    The size would be compared with the number of rows in a second pass, which happens only if groups were found. A
    wrong size, whose charge is taken back, would therefore tell at no cost whether any were.
    """
    return RefusedValue(
        "size",
        Reason.CONFLICT,
        "`size` is given, and groups are found before any rows are counted",
        "leave `size` out",
    )


def _readable_once() -> RefusedType:
    return RefusedType(
        "data",
        Reason.UNSUPPORTED,
        "a RecordBatchReader can be read only once, and groups are found before anything is added up over them",
        "give a table in memory, or a file's path",
    )


def prepare_or_charge(
    data: Any,
    request: Request,
    promised: Guarantee,
    budget: Budget | None,
    prepare: Callable[..., tuple[Adder, Prepared]] = prepare,
) -> tuple[Adder, Prepared]:
    """Open and plan; a table that cannot be opened is charged and counted like any other failed read."""
    try:
        return prepare(data, request)
    except ReadFailed:
        del data
    make_charge(budget, promised.cost, "a table that could not be opened", request.binding).fail()
    raise ReadFailed(SENTENCE)


def given_types(statistics: Sequence[Statistic]) -> dict[str | None, object]:
    """The type given to each column, which is one for all that is asked of it."""
    given: dict[str | None, object] = {}
    for statistic in statistics:
        own = None if statistic.dtype is None else number_type(statistic.dtype)
        if own is not None and given.setdefault(statistic.column, own) != own:
            column, one = statistic.column, given[statistic.column]
            raise RefusedValue(
                "dtype",
                Reason.CONFLICT,
                "{column} is given two types, {one} and {other}",
                "give one",
                column=say_column(column),
                one=str(one),
                other=str(own),
            )
    return given


def release_all(
    data: Any,
    request: Request,
    promised: Guarantee,
    budget: Budget | None,
    prepare: Callable[..., tuple[Adder, Prepared]] = prepare,
) -> list[Outcome]:
    """Every statistic of a request, released for one charge."""
    engine, prepared = prepare_or_charge(data, request, promised, budget, prepare)
    return carry_out(engine, prepared, promised, budget)


def release_one(data: Any, request: Request, promised: Guarantee, budget: Budget | None) -> Release | Releases:
    """The only statistic of a request, which is a number or one for each group."""
    (released,) = release_all(data, request, promised, budget)
    assert isinstance(released, Release | Releases)
    return released
