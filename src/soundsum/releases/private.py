"""The owner's table: data, unit of privacy, relation, budget and schema, bound together once by whoever owns the data.

A query chooses a statistic and what it may cost, and cannot change the rest. This guards against mistakes, and behind a
server that holds the object against analysts; code in the same process can reach the data whatever this class does.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence, ValuesView
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack, cast

from soundsum.budget import Budget, BudgetMismatch
from soundsum.methods import Method
from soundsum.numbers import text_tables
from soundsum.numbers.quoting import quote, say_column
from soundsum.numbers.types import number_type
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.planner import Plan
from soundsum.privacy.selection import Found
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.advice import BoundsAdvice, MaxRowsAdvice
from soundsum.releases.collections import Releases
from soundsum.releases.outcomes import Several
from soundsum.releases.padding import TURN, Children, Turn, padded, read_pad
from soundsum.releases.partial import PartialPlan
from soundsum.releases.pipeline import Adder, Prepared, make_charge, refuse_budget
from soundsum.releases.prepare import look, prepare, release_all
from soundsum.releases.released import Release
from soundsum.releases.request import Request, ask_bounds, name_statistics, read_bounds, refuse_statistics
from soundsum.releases.schema import ColumnSchema, find_groups
from soundsum.releases.signatures import CALLS, explain, with_hints
from soundsum.statistics import (
    Bounded,
    Clipped,
    Count,
    Histogram,
    MaxRows,
    Mean,
    Quantile,
    Statistic,
    Std,
    Sum,
    Variance,
)
from soundsum.statistics.group_counts import GroupCounts
from soundsum.statistics.quantile import MEDIAN, list_quantiles
from soundsum.tables.key_columns import require_name
from soundsum.tables.periods import Period
from soundsum.tables.read_guard import ReadFailed, hold_no_data
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation

if TYPE_CHECKING:  # SQLite is loaded when a ledger is
    from soundsum.budget.shares import Question

F = TypeVar("F", bound=Callable[..., Any])

TERMS = {"privacy_unit", "relation", "budget", "name", "schema", "table", "engine", "pad"}


class QueryOptions(TypedDict, total=False):
    """Options of every query, as `Private.release` has them, for type checkers."""

    by: str | Period | list[str | Period] | None
    groups: Any
    where: Any
    max_rows: int | None
    max_groups: int | None
    noise: str
    delta: Any
    rho: Any
    missing: Missing | None


def _write_out(ask: Callable[..., Any]) -> inspect.Signature:
    """The signature with those options in place of `**options`, for `help` and notebooks."""
    own = inspect.signature(ask)
    named = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(named) < len(own.parameters):
        common = [p for p in CALLS["Private.release"].parameters() if p[0] in QueryOptions.__annotations__]
        named += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, annotation, default, _ in common
        ]
    return own.replace(parameters=named)


def _query(ask: F) -> F:
    """A query, which cannot change the owner's terms and is answered when the pad says."""

    ask_or_hint = with_hints(ask)

    @wraps(ask)
    def ask_within(self: Private, *arguments: Any, **options: Any) -> Any:
        for name in TERMS.intersection(options):
            raise RefusedType(
                name,
                Reason.MISMATCH,
                "`{option}` is one of the owner's terms, which a query cannot change",
                "leave {name} out",
                name=name,
            )
        return ask_or_hint(self, *arguments, **options)

    vars(ask_within)["__signature__"] = _write_out(ask)
    return hold_no_data(padded(cast(F, ask_within)))  # in this order, as the other's frame has the table


@explain("Private")
class Private:
    """A table that analysts query on its owner's terms.

    {options}

    >>> visits = {"cost": [12.5, 80.0, 41.0], "ward": ["a", "b", "a"], "patient": [1, 1, 2]}
    >>> budget = Budget(epsilon=1, privacy_unit="patient", data="visits")
    >>> terms = {"name": "visits", "budget": budget, "schema": {"ward": ["a", "b"]}}
    >>> owner = Private(visits, privacy_unit="patient", max_rows=2, **terms)
    >>> list(owner.sum("cost", 0, 100, epsilon="1/2", by="ward"))
    ['a', 'b']
    >>> owner.budget.left.epsilon
    Fraction(1, 2)
    """

    def __init__(
        self,
        data: Any,
        *,
        budget: Budget,
        privacy_unit: str | None = None,
        relation: Relation | str = Relation.SYMMETRIC,
        max_rows: int = 1,
        max_groups: int = 1,
        name: str | None = None,
        schema: Mapping[str, Any] | None = None,
        pad: str | None = None,
        table: Any = None,
        engine: str | None = None,
    ) -> None:
        if not isinstance(budget, Budget):
            raise refuse_budget(budget)
        if privacy_unit is not None and not isinstance(privacy_unit, str):
            raise RefusedType(
                "privacy_unit",
                Reason.WRONG_TYPE,
                "`privacy_unit` names the column of ids",
                "give a column's name; an owner's table has one for every query",
            )
        if isinstance(data, Iterator) or type(data).__name__ == "RecordBatchReader":
            raise RefusedType(
                "data",
                Reason.UNSUPPORTED,
                "{kind} can be read only once, and an owner's table is read for every query",
                "give a table in memory, or a file's path",
                kind=type(data).__name__,
            )
        if schema is not None and not isinstance(schema, Mapping):
            raise RefusedType(
                "schema",
                Reason.WRONG_TYPE,
                "`schema={given}` is not a dict",
                "give one by column, such as `{{'age': 'int64'}}`",
                given=quote(schema),
            )
        self._data = data
        self._schema = {column: ColumnSchema.of(column, said) for column, said in (schema or {}).items()}
        types = {column: said.type for column, said in self._schema.items() if said.type is not None}
        self._terms = Request(
            relation=Relation.read(relation), privacy_unit=privacy_unit, max_rows=max_rows, max_groups=max_groups,
            name=name, table=table, engine=engine, is_private=True, types=types,
        )  # fmt: skip
        self._terms.unit(None)  # refuses caps that are none
        binding = self._terms.binding
        if budget.binding not in (None, binding):
            raise BudgetMismatch(
                "budget",
                Reason.MISMATCH,
                "the budget is not for this table: it is for {ours}, and the table is for {theirs}",
                "make the table's own: `ss.Budget(epsilon=...{options})`",
                ours=str(budget.binding),
                theirs=str(binding),
                options=binding.options,
            )
        self._budget = budget
        self._children: Children | None = None
        if pad is None:
            self._require_columns()
        else:
            self._children = Children(data, engine, read_pad(pad))
            weakref.finalize(self, self._children.end)  # and at exit
            with self._children.take_turn(is_timed=False):
                self._require_columns()
        budget.bind(binding)

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def schema(self) -> dict[str, ColumnSchema]:
        """The columns as the owner declared them."""
        return dict(self._schema)

    def limit_memory(self, most: int) -> None:
        """Let each process that reads a padded table hold this many bytes; one that holds more ends, a failed read."""
        if self._children is not None:
            self._children.memory = most

    def on_behalf_of(self, question: Question) -> Private:
        """This table, with every charge for an analyst's question: for a server that holds it for them."""
        own = object.__new__(Private)
        own.__dict__.update(self.__dict__, _budget=self._budget.on_behalf_of(question))
        return own

    def __repr__(self) -> str:
        lines = text_tables.lines([(f"{heading}:", said) for heading, said in self._facts()], ())
        return "\n".join([f"<private table about {self._terms.binding}", *(f"  {line}" for line in lines)]) + ">"

    def _repr_html_(self) -> str:
        return text_tables.table(self._facts(), caption=f"Private table about {self._terms.binding}")

    def _facts(self) -> list[tuple[str, str]]:
        """Public facts: the schema, the default contribution bounds, and the remaining budget."""
        caps = self._terms.unit(self._terms.max_groups).caps
        columns = [(name, str(column)) for name, column in self._schema.items()]
        budget = self._budget
        closed = "; closed after failed reads" if budget.is_closed else ""
        return [*columns, *([("by default", caps)] if caps else []), ("budget", f"{budget.left} left{closed}")]

    def __reduce__(self) -> tuple[Any, ...]:
        raise RefusedType(
            None,
            Reason.UNSUPPORTED,
            "a private table is not copied or pickled: its data stays where it is",
            "make it where it is used",
        )

    # What can be asked

    @_query
    def sum(
        self,
        column: str,
        lower: Any = None,
        upper: Any = None,
        epsilon: Any = None,
        *,
        bounds: Any = None,
        method: str | Method = "auto",
        **options: Unpack[QueryOptions],
    ) -> Release | Releases:
        """Release a private sum. Bounds default to the schema's; the options are those of `release`."""
        return self._one(
            Sum(column, *read_bounds(lower, upper, bounds, self._most_rows(options)), method=method), epsilon, options
        )

    @_query
    def mean(
        self,
        column: str,
        lower: Any = None,
        upper: Any = None,
        epsilon: Any = None,
        *,
        bounds: Any = None,
        **options: Unpack[QueryOptions],
    ) -> Release | Releases:
        """Release a private mean. Bounds default to the schema's; the options are those of `release`."""
        return self._one(Mean(column, *read_bounds(lower, upper, bounds, self._most_rows(options))), epsilon, options)

    @_query
    def variance(
        self,
        column: str,
        lower: Any = None,
        upper: Any = None,
        epsilon: Any = None,
        *,
        bounds: Any = None,
        **options: Unpack[QueryOptions],
    ) -> Release | Releases:
        """Release a private variance. Bounds default to the schema's; the options are those of `release`."""
        return self._one(
            Variance(column, *read_bounds(lower, upper, bounds, self._most_rows(options))), epsilon, options
        )

    @_query
    def std(
        self,
        column: str,
        lower: Any = None,
        upper: Any = None,
        epsilon: Any = None,
        *,
        bounds: Any = None,
        **options: Unpack[QueryOptions],
    ) -> Release | Releases:
        """Release a private standard deviation. Bounds default to the schema's; the options are those of `release`."""
        return self._one(Std(column, *read_bounds(lower, upper, bounds, self._most_rows(options))), epsilon, options)

    @_query
    def count(
        self, epsilon: Any = None, *, column: str | None = None, **options: Unpack[QueryOptions]
    ) -> Release | Releases:
        """Release a private number of rows. The options are those of `release`."""
        return self._one(Count(column), epsilon, options)

    @_query
    def histogram(
        self,
        column: str,
        edges: Sequence[Any] | None = None,
        epsilon: Any = None,
        *,
        categories: Sequence[Any] | None = None,
        bins: int | None = None,
        lower: Any = None,
        upper: Any = None,
        bounds: Any = None,
        **options: Unpack[QueryOptions],
    ) -> Releases:
        """Release private counts by edges, bins or categories. Bounds and categories default to the schema's."""
        lower, upper = read_bounds(lower, upper, bounds)
        asked = Histogram(column, edges, categories, bins=bins, lower=lower, upper=upper)
        made = self._one(asked, epsilon, options)
        assert isinstance(made, Releases)
        return made

    @_query
    def groups(
        self,
        by: str | Period | list[str | Period],
        epsilon: Any = None,
        delta: Any = None,
        *,
        where: Any = None,
        max_groups: int | None = None,
        noise: str = "laplace",
    ) -> Releases:
        """Find groups that nobody listed, with the noisy number of persons in each. See `soundsum.groups`."""
        found = Found(delta, noise=noise)
        (made,) = self.release(
            [GroupCounts()], epsilon, by=by, groups=found, where=where, max_rows=1, max_groups=max_groups
        )
        assert isinstance(made, Releases)
        return made

    @_query
    def quantile(
        self,
        column: str,
        quantile: Any,
        lower: Any = None,
        upper: Any = None,
        epsilon: Any = None,
        *,
        bounds: Any = None,
        candidates: Any = None,
        **options: Unpack[QueryOptions],
    ) -> Release | Releases | Several:
        """Release a private quantile, or several of a list. Bounds default to the schema's; see `soundsum.quantile`."""
        low, high = read_bounds(lower, upper, bounds)
        listed, labels = list_quantiles(quantile)
        asked = [Quantile(column, one, low, high, candidates=candidates) for one in listed]
        if labels is None:
            return self._one(asked[0], epsilon, options)
        return Several(self.release(asked, epsilon, **options), labels)

    @_query
    def median(
        self,
        column: str,
        lower: Any = None,
        upper: Any = None,
        epsilon: Any = None,
        *,
        bounds: Any = None,
        candidates: Any = None,
        **options: Unpack[QueryOptions],
    ) -> Release | Releases:
        """Release a private median. Bounds default to the schema's; see `soundsum.median`."""
        low, high = read_bounds(lower, upper, bounds)
        return self._one(Quantile(column, MEDIAN, low, high, candidates=candidates), epsilon, options)

    @_query
    def suggest_bounds(
        self,
        column: str,
        epsilon: Any = None,
        *,
        coverage: Any = 0.99,
        where: Any = None,
        max_rows: int | None = None,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
    ) -> BoundsAdvice:
        """Suggest bounds for a column: of persons' totals, with max_rows= of their rows. See `soundsum.suggest_bounds`.

        Where the owner protects records, the bounds are for records.
        """
        statistic, most = ask_bounds(column, coverage, None, max_rows, self._terms.privacy_unit is not None)
        several = self.release(
            [statistic], epsilon, where=where, max_rows=1, max_groups=most, noise=noise, delta=delta, rho=rho
        )
        (advice,) = several
        assert isinstance(advice, BoundsAdvice)
        return advice

    @_query
    def suggest_max_rows(
        self,
        epsilon: Any = None,
        *,
        coverage: Any = 0.99,
        where: Any = None,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
    ) -> MaxRowsAdvice:
        """Suggest how many rows of a person to count. See `soundsum.suggest_max_rows`."""
        asked = MaxRows(coverage=coverage)
        (advice,) = self.release([asked], epsilon, where=where, max_groups=1, noise=noise, delta=delta, rho=rho)
        assert isinstance(advice, MaxRowsAdvice)
        return advice

    @explain("Private.release")
    @_query
    def release(
        self,
        statistics: Sequence[Statistic] | Mapping[str, Statistic],
        epsilon: Any = None,
        *,
        by: str | Period | list[str | Period] | None = None,
        groups: Any = None,
        where: Any = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
        missing: Missing | None = None,
    ) -> Several:
        """Release several statistics for one charge; they share epsilon by weight, or equally.

        {options}
        """
        names, request = self._write(
            statistics,
            by=by,
            groups=groups,
            where=where,
            max_rows=max_rows,
            max_groups=max_groups,
            missing=missing,
        )
        promised = guarantee(epsilon, delta, rho, noise)
        return Several(release_all(self._data, request, promised, self._budget, self._prepare), names)

    @hold_no_data
    def partial(
        self,
        statistics: Sequence[Statistic] | Mapping[str, Statistic],
        *,
        by: str | Period | list[str | Period] | None = None,
        groups: Any = None,
        where: Any = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        missing: Missing | None = None,
    ) -> PartialPlan:
        """Plan to add up parts of a table apart, on this table's terms: its unit, relation, schema, name and budget.

        The owner adds data to it, on any machine; this table is not read. The options are those of `release`. See
        `soundsum.Partial`.
        """
        names, request = self._write(
            statistics,
            by=by,
            groups=groups,
            where=where,
            max_rows=max_rows,
            max_groups=max_groups,
            missing=missing,
        )
        return PartialPlan(request, tuple(names), self._schema, self._budget)

    @_query
    def plan(
        self,
        column: str,
        lower: Any = None,
        upper: Any = None,
        *,
        bounds: Any = None,
        method: str | Method = "auto",
        by: str | Period | list[str | Period] | None = None,
        groups: Any = None,
        where: Any = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        missing: Missing | None = None,
    ) -> Plan:
        """Plan a sum; this charges nothing.

        If the number of rows is public and the method needs it, the ledger records it, at no cost.
        """
        asked = self._complete(Sum(column, *read_bounds(lower, upper, bounds), method=method))
        request = self._ask(
            by=by, groups=groups, where=where, max_rows=max_rows, max_groups=max_groups, missing=missing
        )
        request = replace(request, statistics=(asked,))
        try:
            _, prepared = self._prepare(self._data, request)
        except ReadFailed:
            make_charge(self._budget, None, "a table that could not be opened", self._terms.binding).fail()
            raise
        plan = prepared.tasks[0].claim.plan
        assert isinstance(plan, Plan)
        if plan.problem.size is not None:
            what = f"plan of a sum of {column}, with the number of rows"
            make_charge(self._budget, None, what, self._terms.binding).settle()
        return plan

    # How

    def _write(
        self,
        statistics: Sequence[Statistic] | Mapping[str, Statistic],
        **options: Any,
    ) -> tuple[list[str], Request]:
        """The request for several statistics, on the owner's terms, and their names."""
        names, asked = name_statistics(statistics)
        typed = [self._complete(statistic) for statistic in asked]
        has_cells = any(one.cells is not None and not one.counts_persons for one in typed)
        request = replace(
            self._ask(**options, has_cells=has_cells),
            statistics=tuple(typed),
            names=tuple(names) if isinstance(statistics, Mapping) else None,
        )
        return names, request

    def _require_columns(self, *columns: str) -> None:
        """Refuses columns and terms that do not fit the table: missing ones, or of another type."""
        turn, question = self._turn, (self._terms, self._schema, columns)
        try:
            look(self._data, *question) if turn is None else turn.look(*question)
        except ReadFailed:
            make_charge(self._budget, None, "a table that could not be opened", self._terms.binding).fail()
            raise

    def _prepare(self, data: Any, *question: Any) -> tuple[Adder, Prepared]:
        """The table opened and everything planned, in the process that reads it."""
        turn = self._turn
        return prepare(data, *question) if turn is None else turn.prepare(*question)

    @property
    def _turn(self) -> Turn | None:
        """The query in progress, if answers are padded."""
        turn = TURN.get()
        return turn if turn is not None and turn.children is self._children else None

    def _most_rows(self, options: QueryOptions) -> Any:
        asked = options.get("max_rows")
        return self._terms.max_rows if asked is None else asked

    def _one(self, statistic: Statistic, epsilon: Any, options: QueryOptions) -> Release | Releases:
        unpaid = epsilon is None and options.get("rho") is None
        if (
            unpaid
            and isinstance(statistic, Bounded | Quantile)
            and statistic.lower is not None
            and statistic.upper is None
        ):
            lower, call = quote(statistic.lower), f"{statistic.name}({quote(statistic.column)}"
            raise RefusedType(
                "epsilon",
                Reason.MISSING,
                "`{call}, {lower})`: the number after the column is `lower`, and there is no `epsilon`",
                "give `{call}, epsilon={lower})`",
                call=call,
                lower=lower,
            )
        (made,) = self.release([statistic], epsilon, **options)
        assert isinstance(made, Release | Releases)
        return made

    def _ask(
        self,
        *,
        by: str | Period | list[str | Period] | None = None,
        groups: Any = None,
        max_rows: int | None = None,
        max_groups: int | None = None,
        missing: Missing | None = None,
        where: Any = None,
        has_cells: bool = False,
    ) -> Request:
        several = by if isinstance(by, list) else [by]
        if by is not None and not all(isinstance(one, str | Period) for one in several):
            raise RefusedType(
                "by",
                Reason.WRONG_TYPE,
                "`by` names a column of the private table, or a list of columns",
                "give one of these",
            )
        if isinstance(groups, Iterator | KeysView | ValuesView):
            groups = list(groups)
        if by is not None and groups is None:
            by, groups = find_groups(by, self._schema)
        own = self._terms
        rows, most = (
            own.max_rows if max_rows is None else max_rows,
            own.max_groups if max_groups is None else max_groups,
        )
        if by is None and max_groups is None and not has_cells:
            most = 1  # the owner's cap is about groups and cells, of which there are none
        return replace(own, by=by, groups=groups, max_rows=rows, max_groups=most, missing=missing, where=where)

    def _complete(self, statistic: Statistic) -> Statistic:
        """The statistic with what the schema says of its column: the type, and bounds or categories it leaves out."""
        if not isinstance(statistic, Statistic):
            raise refuse_statistics()
        column, more = statistic.column, dict[str, Any]()
        if column is None:
            return statistic
        require_name("column", column)
        said, given = self._schema.get(column, ColumnSchema()), statistic.__dict__
        has_bins = isinstance(statistic, Histogram) and statistic.bins is not None
        if has_bins or isinstance(statistic, Bounded | Clipped | Quantile):
            more["lower"], more["upper"] = self._bounds(column, given["lower"], given["upper"])
        elif isinstance(statistic, Histogram) and statistic.is_incomplete:
            more["categories"] = said.categories
        if said.type is not None and "dtype" in given:
            if statistic.dtype is not None and number_type(statistic.dtype) != number_type(said.type):
                raise RefusedValue(
                    "dtype",
                    Reason.MISMATCH,
                    "{column} is {type} by the schema",
                    "leave `dtype` out",
                    column=say_column(column),
                    type=str(said.type),
                )
            more["dtype"] = said.type
        return replace(statistic, **more) if more else statistic  # type: ignore[type-var]

    def _bounds(self, column: str, lower: Any, upper: Any) -> tuple[Any, Any]:
        said = self._schema.get(column, ColumnSchema())
        bounds = said.lower if lower is None else lower, said.upper if upper is None else upper
        if None in bounds and said.categories is not None:
            raise RefusedValue(
                "column",
                Reason.MISMATCH,
                "{column} holds categories by the schema, and this needs numbers",
                "name a column of numbers, or count the groups of this one",
                column=say_column(column),
            )
        if None in bounds:
            self._require_columns(column)
            raise RefusedValue(
                "lower" if bounds[0] is None else "upper",
                Reason.MISSING,
                "{column} has no bounds in the schema",
                "give `lower` and `upper`, from public knowledge",
                column=say_column(column),
            )
        return bounds
