"""From a request to something an engine can add up: the table opened, columns found, every statistic planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from soundsum.budget import Budget
from soundsum.engines import Engine, open_engine
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import decimal, is_special
from soundsum.numbers.types import number_type
from soundsum.privacy.cost import is_long
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.planner import choose
from soundsum.privacy.selection import Found
from soundsum.privacy.units import FOUND
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.collections import Outcome, Releases
from soundsum.releases.pipeline import Adder, Prepared, carry_out, make_charge
from soundsum.releases.planning import make_claim
from soundsum.releases.released import Release
from soundsum.releases.request import Request
from soundsum.releases.schema import ColumnSchema, require_schema
from soundsum.statistics import Quantile, Statistic, Task, make_query
from soundsum.statistics.group_counts import GroupCounts
from soundsum.statistics.histogram import Edges
from soundsum.statistics.quantile import require_few_cells
from soundsum.tables.arrow_arrays import is_arrow
from soundsum.tables.columns import say_column
from soundsum.tables.crossed import CrossedGroups
from soundsum.tables.filters import Filter
from soundsum.tables.found_keys import SearchedGroups
from soundsum.tables.keys import Groups, require_few
from soundsum.tables.memory_table import is_column
from soundsum.tables.period_groups import Periods
from soundsum.tables.periods import SPELLED, Period
from soundsum.tables.read_guard import SENTENCE, ReadFailed
from soundsum.tables.rows import Rows
from soundsum.tables.runs import Runs
from soundsum.tables.schemas import Keyed, Schema, is_name, list_names, require_columns

SPELLED_PERIOD = re.compile(r"(?:ss\.)?(year|month|week|day|hour)\(([^\n]+)\)")


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
    statistics = request.statistics
    columns, beside = _separate(data, {"by": request.by, "privacy_unit": request.privacy_unit})
    by, person = columns["by"], columns["privacy_unit"]
    asked = [statistic.column for statistic in statistics if statistic.needs_column or statistic.column is not None]
    where = None if request.where is None else Filter.of(request.where)
    conditions = () if where is None else where.conditions
    several = [one.column if isinstance(one, Period) else one for one in (by if isinstance(by, list) else [by])]
    asked += [name for name in (*several, person, *(one.column for one in conditions)) if name is not None]
    engine = open_engine(data, beside, request.table, request.engine)
    schema = engine.schema
    _refuse_spelled_periods(several, schema)
    if isinstance(by, list | tuple):
        _require_columns(by, schema)
    if request.types and isinstance(schema, Keyed):
        schema.type_keys(request.types)
    _require_beside(schema, {"by": several, "privacy_unit": [person]})
    require_columns(schema.names, schema, *asked)
    groups: Groups | CrossedGroups | None = None
    found = request.groups if isinstance(request.groups, Found) else None
    if by is not None and found is None:
        kind = CrossedGroups if isinstance(by, list) else Periods if isinstance(by, Period) else None
        groups = Groups(request.groups) if kind is None else kind(by, request.groups)
    sized = request.relation.sized
    only_present = request.missing == "drop" and sized and groups is None and where is None
    if only_present and isinstance(data, Runs):
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "data is Runs, and under {relation} records are dropped one by one",
            "pass `np.asarray(runs)`",
            relation=str(request.relation),
        )
    searched = None if found is None else SearchedGroups(by)
    rows = Rows(several if isinstance(by, list) else several[0], groups, person, where, only_present, searched)
    for one, part in [*rows.groups_by_column, *rows.searched_columns]:  # refused now, and not when the first row comes
        schema.expect_groups(one, part)  # type: ignore[arg-type]
    if person is not None:
        schema.expect_ids(person)
    if found is not None:
        engine.refuse_search(rows)
        if any(getattr(one, "size", None) is not None for one in statistics):
            raise _size_with_search()
        asks_more = not all(isinstance(one, GroupCounts) for one in statistics)
        statistics = (*statistics, GroupCounts(weight=found.weight)) if asks_more else statistics
        if asks_more and type(data).__name__ == "RecordBatchReader":
            raise _readable_once()
    dtypes, unit = _types(statistics), request.unit(rows.group_count if found is None else FOUND)
    tasks, is_public = [], sized and unit.is_plain  # the number of rows
    for statistic in statistics:
        missing = request.missing or ("drop" if statistic.drops_missing and not is_public else "zero")
        weight = _weight(statistic)
        problem, unit_value = statistic.problem(schema, dtypes.get(statistic.column), request.relation, missing)
        own = statistic.unit(unit)
        claim = make_claim(
            type(statistic), problem, choose(problem, statistic.pick_method(unit_value)), own, unit_value
        )
        require_few_cells(claim.plan)
        takes_numbers = (
            statistic.takes == "numbers" or isinstance(statistic.cells, Edges) or isinstance(statistic, Quantile)
        )
        is_untyped = takes_numbers and getattr(schema, "has_no_types", False) and dtypes.get(statistic.column) is None
        tasks.append(Task(statistic, claim, missing, weight, not is_untyped))
        require_few(sum(task.claim.plan.unit.entries for task in tasks), "the release")  # soon, as each takes time
    for condition in conditions:  # now that columns without types have those they are asked for in
        schema.expect_value(condition)
    if not engine.adds_any_method:
        engine.refuse_unsupported(tasks, rows)
    query = make_query(tasks, rows, request.name_source(data), request.binding, request.names, found)
    return engine, Prepared(tasks, rows, query, request.binding)


def _size_with_search() -> RefusedValue:
    """It is compared with the number of rows in the second pass, of which only a search decides whether there is one.

    So a wrong size, whose charge is taken back, would tell for nothing whether any group was found.
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


def _weight(statistic: Statistic) -> Fraction:
    if type(statistic.weight) is int and statistic.weight == 1:  # as most are
        return Fraction(1)
    weight = decimal(statistic.weight, "weight")
    if is_special(weight):
        raise RefusedValue(
            "weight",
            Reason.NOT_A_NUMBER,
            "`weight={given}`: a share of the cost is a number above 0",
            "give one such as 2",
            given=quote(statistic.weight),
        )
    if weight <= 0:
        raise RefusedValue(
            "weight",
            Reason.TOO_SMALL,
            "`weight={given}`: a share of the cost is a number above 0",
            "give one such as 2",
            given=quote(statistic.weight),
        )
    if is_long(Fraction(weight)):
        raise RefusedValue(
            "weight",
            Reason.TOO_MANY,
            "`weight={given}` has too many digits: a share of the cost is a number above 0",
            "give one such as 2",
            given=quote(statistic.weight),
        )
    return Fraction(weight)


def _separate(data: Any, keys: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The names of the columns of keys, and the values of those that were given beside data that is one column."""
    names, beside = dict(keys), {}
    for name, key in keys.items():
        if key is not None and not _names_columns(key) and is_column(data):
            names[name], beside[name] = name, _as_column(name, key)
        elif name == "by" and isinstance(key, list) and key and all(isinstance(one, str | Period) for one in key):
            if len(set(key)) < len(key):
                raise RefusedValue(
                    "by",
                    Reason.REPEATED,
                    "`by` names columns of the table, each once, and {name} is there twice",
                    "values go with data that is one column",
                    name=quote(str(_repeated(key))),
                )
            names[name] = key if len(key) > 1 else key[0]
        elif not is_name(key):
            example = "ward" if name == "by" else "person"
            raise RefusedType(
                name,
                Reason.WRONG_TYPE,
                "`{option}={given}` is not the name of a column",
                "give the name of a column of the table, such as `{option}={example}`; values go with data that is one "
                "column",
                given=quote(key),
                example=repr(example),
            )
    if isinstance(data, Runs) and any(name is not None for name in names.values()):
        raise RefusedType(
            "data",
            Reason.UNSUPPORTED,
            "data is Runs, and groups and persons are of single records",
            "pass `np.asarray(runs)`",
        )
    return names, beside


def _require_columns(by: Sequence[Any], schema: Schema) -> None:
    """Refuses what was meant as values, or as several columns, and reads as names of columns that are not there."""
    names = schema.names
    if isinstance(by, tuple) and by not in names:
        raise RefusedValue(
            "by",
            Reason.WRONG_TYPE,
            "`by={given}` is a tuple",
            "give several columns as a list, such as `by={listed}`",
            given=quote(by),
            listed=quote(list(by)),
        )
    columns = [one.column if isinstance(one, Period) else one for one in by]
    absent = [one for one in columns if one not in names] if isinstance(by, list) else []
    if absent:
        raise RefusedValue(
            "by",
            Reason.UNKNOWN,
            "`by` names columns of the table, and {column} is not in it",
            "{names} (values go with data that is one column)",
            column=quote(absent[0]),
            names=list_names(schema, names, absent[0]),
        )


def _require_beside(schema: Schema, keys: dict[str, list[Any]]) -> None:
    """Refuses names of columns beside data that is a single one."""
    names = schema.names
    for option, columns in keys.items():
        for name in columns if None in names else ():
            if name not in names:
                raise RefusedValue(
                    option,
                    Reason.UNKNOWN,
                    "{column} is not in the table",
                    "{names}",
                    column=say_column(name),
                    names=list_names(schema, names, name, option),
                )


def _refuse_spelled_periods(by: Sequence[Any], schema: Schema) -> None:
    """Refuses a period as the command line spells it, where no column is called so."""
    for name in by:
        found = SPELLED_PERIOD.fullmatch(name) if isinstance(name, str) and name not in schema.names else None
        if found is not None:
            kind, column = found[1], found[2].strip().strip("'\"")
            raise RefusedValue(
                "by",
                Reason.UNKNOWN,
                "no column is called {given}",
                "give {kind}s as `by=ss.{kind}({column}, first, last)`, each such as {example}",
                given=quote(name),
                kind=kind,
                column=repr(column),
                example=repr(SPELLED[kind]),
            )


def _repeated(names: list[Any]) -> Any:
    return next(name for name in names if names.count(name) > 1)


def _names_columns(key: Any) -> bool:
    """Returns whether this names a column, as a period does too, and cannot be the column's values."""
    return isinstance(key, str | Period) or (isinstance(key, list) and any(isinstance(one, Period) for one in key))


def _types(statistics: Sequence[Statistic]) -> dict[str | None, object]:
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


def _as_column(name: str, values: Any) -> Any:
    if is_arrow(values) or hasattr(values, "__len__"):
        return values
    if not hasattr(values, "__iter__"):
        raise RefusedType(
            name,
            Reason.WRONG_TYPE,
            "`{option}={given}` is neither the name of a column nor its values",
            "give one of these",
            given=quote(values),
        )
    return list(values)


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
