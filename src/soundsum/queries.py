"""What can be asked of a table: Sum, Mean, Variance, Count and Histogram, as plain descriptions, and their planning."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from soundsum.columns import is_arrow
from soundsum.kernels import Missing
from soundsum.keys import MOST, Groups
from soundsum.methods import Method
from soundsum.methods.wide import inward
from soundsum.numbers import IntType, number_type
from soundsum.persons import require_ids
from soundsum.pipeline import Cells, Rows, Task
from soundsum.plan import Plan, plan
from soundsum.problem import Problem
from soundsum.rationals import exact, is_special
from soundsum.relations import Relation
from soundsum.runs import Runs
from soundsum.sensitivities import Statistic
from soundsum.tables import Scanned, Table, is_column, require, table
from soundsum.units import Unit

WHY_GROUPS = (
    "groups= is missing: which groups there are is itself private, and a group of one person would show that they are "
    "there; list the groups to release from public knowledge, such as groups=['a', 'b']"
)


@dataclass(frozen=True)
class Setting:
    """What holds for every statistic of a release."""

    relation: Relation
    missing: Missing = "zero"
    by: Any = None
    groups: Any = None
    privacy_unit: Any = None
    max_rows: int = 1
    max_groups: int = 1

    def __post_init__(self) -> None:
        if self.missing not in ("zero", "drop"):
            raise ValueError(f'missing={self.missing!r} is neither "zero" nor "drop"')
        if self.by is not None and self.groups is None:
            raise ValueError(WHY_GROUPS)
        if self.by is None and self.groups is not None:
            raise ValueError("groups= is given without by=, the column the groups are in")
        if self.max_rows is None or self.max_groups is None:
            raise ValueError("max_rows= and max_groups= are whole numbers, 1 or more; a person is held to both")
        if self.privacy_unit is None and (self.max_rows, self.max_groups) != (1, 1):
            raise ValueError("max_rows= and max_groups= are about persons; give privacy_unit=, the column of their ids")

    def unit(self, groups: int | None) -> Unit:
        return Unit(groups) if self.privacy_unit is None else Unit(groups, self.max_rows, self.max_groups)


@dataclass(frozen=True)
class _Bounded:
    """A statistic of numbers clamped to [lower, upper]."""

    column: str | None
    lower: Any
    upper: Any
    dtype: object = None
    size: int | None = None

    statistic: ClassVar[Statistic]

    def task(self, where: Table, dtype: object, setting: Setting, groups: int | None) -> Task:
        kind, worth = where.type(self.column, dtype)
        bounds = [exact(bound, name) for bound, name in ((self.lower, "lower"), (self.upper, "upper"))]
        low, high = (bound if is_special(bound) else Fraction(bound) / worth for bound in bounds)
        problem = Problem(kind, low, high, setting.relation, self.size, getattr(self, "max_size", None))
        return Task(self.statistic, self._plan(where, problem, setting.unit(groups)), self.column, worth)

    def _plan(self, where: Table, problem: Problem, unit: Unit) -> Plan:
        return plan(problem, unit=unit)


@dataclass(frozen=True)
class Sum(_Bounded):
    """The sum of a column, each record clamped to [lower, upper]."""

    max_size: int | None = None
    method: str | Method = "auto"

    statistic = "sum"

    def _plan(self, where: Table, problem: Problem, unit: Unit) -> Plan:
        if problem.relation.sized and problem.size is None and self.method != "auto":
            problem = problem.with_size(where.rows())
        return plan(problem, self.method, unit)


@dataclass(frozen=True)
class Mean(_Bounded):
    """The mean of a column, each record clamped to [lower, upper]."""

    statistic = "mean"


@dataclass(frozen=True)
class Variance(_Bounded):
    """The population variance of a column, each record clamped to [lower, upper]."""

    statistic = "variance"

    def _plan(self, where: Table, problem: Problem, unit: Unit) -> Plan:
        if not unit.is_plain and isinstance(problem.dtype, IntType) and max(map(abs, inward(problem))) >= 1 << 31:
            raise ValueError(
                f"bounds [{problem.lower}, {problem.upper}]: by group or person, squares of integers are exact within "
                "2^31; give tighter bounds, or cast the column to float64"
            )
        return plan(problem, unit=unit)


@dataclass(frozen=True)
class Count:
    """The number of rows; of those with a value in the column, if missing ones are dropped."""

    column: str | None = None

    def task(self, where: Table, dtype: object, setting: Setting, groups: int | None) -> Task:
        drops = setting.missing == "drop"
        if drops:
            require(where, self.column)
        problem = Problem("uint8", 0 if drops else 1, 1, setting.relation)  # every record counts 1, or some 0
        return Task("count", plan(problem, unit=setting.unit(groups)), self.column)


@dataclass(frozen=True)
class Histogram:
    """Counts over cells [edge, next edge), the last one closed, or of categories."""

    column: str | None
    edges: Sequence[Any] | None = None
    categories: Sequence[Any] | None = None
    dtype: object = None

    def task(self, where: Table, dtype: object, setting: Setting, groups: int | None) -> Task:
        if (self.edges is None) == (self.categories is None):
            raise ValueError("give edges= for numbers or categories= for groups, and not both")
        worth = Fraction(1)
        if self.edges is not None:
            cells = Cells(edges=_checked(self.edges))
            worth = where.type(self.column, dtype)[1]
        else:
            categories = Groups(self.categories)
            _read_groups(where, self.column, categories)
            categories.codes(where.no_keys(self.column))
            cells = Cells(categories=categories)
        entries = (groups or 1) * len(cells.names)
        if entries > MOST:
            raise ValueError(f"{groups:,} groups of {len(cells.names):,} cells are too many; use fewer of either")
        chosen = plan(Problem("uint8", 1, 1, setting.relation), unit=setting.unit(entries))
        return Task("histogram", chosen, self.column, worth, cells)


Query = Sum | Mean | Variance | Count | Histogram


def prepared(data: Any, queries: Sequence[Query], setting: Setting) -> tuple[Table, list[Task], Rows]:
    """The table opened, every query planned, and which rows belong together."""
    if not isinstance(queries, list | tuple) or not all(isinstance(query, Query) for query in queries):
        raise TypeError("statistics is a list of ss.Sum, ss.Mean, ss.Variance, ss.Count and ss.Histogram")
    if not queries:
        raise ValueError("there is nothing to release; give statistics such as [ss.Sum('pay', 0, 1000), ss.Count()]")
    if setting.by is None and setting.max_groups != 1 and not any(isinstance(query, Histogram) for query in queries):
        raise ValueError(f"max_groups={setting.max_groups} is about groups; give by=, the column they are in")
    beside = {"by": setting.by, "privacy_unit": setting.privacy_unit}
    values = {}
    for name, key in beside.items():
        if key is not None and not isinstance(key, str) and is_column(data):
            values[name] = _column(name, key)
        elif not isinstance(key, Hashable):
            raise TypeError(f"{name}= names a column of the table; values go with data that is one column")
    by, person = (name if name in values else key for name, key in beside.items())
    if isinstance(data, Runs) and (by is not None or person is not None):
        raise TypeError("data is Runs; groups and persons are of single records, so pass np.asarray(runs)")
    where = table(data, values)
    columns = [query.column for query in queries if not (isinstance(query, Count) and query.column is None)]
    require(where, *columns, *(name for name in (by, person) if name is not None))
    groups = None if setting.groups is None else Groups(setting.groups)
    if groups is not None:
        _read_groups(where, by, groups)
        groups.codes(where.no_keys(by))  # refuses a type, and not when the first row comes
    if person is not None and isinstance(where, Scanned) and where.has_no_types:
        import pyarrow as pa

        where.read_as(person, pa.string())  # as numbers, "7" and "07" would be one person
    if person is not None:
        require_ids(where.no_keys(person))
    dtypes = _dtypes(queries)
    listed = None if groups is None else len(groups)
    tasks = [query.task(where, dtypes.get(query.column), setting, listed) for query in queries]
    return where, tasks, Rows(by, groups, person, setting.missing)


def _dtypes(queries: Sequence[Query]) -> dict[str | None, object]:
    """The type given to each column, which is one for all that is asked of it."""
    given: dict[str | None, object] = {}
    for query in queries:
        own = None if getattr(query, "dtype", None) is None else number_type(getattr(query, "dtype", None))
        if own is not None and given.setdefault(query.column, own) != own:
            raise ValueError(f"column {query.column!r} is given two types, {given[query.column]} and {own}; give one")
    return given


def _read_groups(where: Table, column: str | None, groups: Groups | None) -> None:
    if isinstance(where, Scanned) and where.has_no_types and column is not None and groups is not None:
        where.read_as(column, groups.read_from_text())


def _column(name: str, values: Any) -> Any:
    if is_arrow(values) or hasattr(values, "__len__"):
        return values
    if not hasattr(values, "__iter__"):
        raise TypeError(f"{name}={values!r} is neither the name of a column nor its values")
    return list(values)


def _checked(edges: Sequence[Any]) -> list[int | float]:
    try:
        points = [edge if isinstance(edge, int) and abs(edge) < 1 << 1000 else float(edge) for edge in edges]
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"edges={edges!r} are not a list of numbers; give them going up, such as [0, 10, 20]"
        ) from None
    if any(not a < b for a, b in pairwise(points)):
        raise ValueError(f"edges={points}: edges go up, without repeats")
    if len(points) < 2:
        raise ValueError("a histogram has at least one cell; give two edges or more, or a category")
    return points
