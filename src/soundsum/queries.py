"""What can be asked of a table: Sum, Mean, Variance, Count and Histogram, as plain descriptions, and their planning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar

from soundsum.kernels import Missing
from soundsum.keys import Groups
from soundsum.methods import Method
from soundsum.numbers import IntType
from soundsum.pipeline import Cells, Rows, Task
from soundsum.plan import Plan, plan
from soundsum.problem import Problem
from soundsum.rationals import exact
from soundsum.relations import Relation
from soundsum.sensitivities import Statistic
from soundsum.tables import Table
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

    def task(self, table: Table, setting: Setting, groups: int | None) -> Task:
        kind, unit = table.type(self.column, self.dtype)
        low, high = (Fraction(exact(bound, name)) / unit for bound, name in self._bounds())
        problem = Problem(kind, low, high, setting.relation, self.size, getattr(self, "max_size", None))
        if setting.missing == "drop" and problem.relation.sized:
            raise ValueError(
                f'missing="drop" changes the number of records, public under {problem.relation}; use "zero"'
            )
        return Task(self.statistic, self._plan(table, problem, setting.unit(groups)), self.column, unit)

    def _bounds(self) -> list[tuple[Any, str]]:
        return [(self.lower, "lower"), (self.upper, "upper")]

    def _plan(self, table: Table, problem: Problem, unit: Unit) -> Plan:
        return plan(problem, unit=unit)


@dataclass(frozen=True)
class Sum(_Bounded):
    """The sum of a column, each record clamped to [lower, upper]."""

    max_size: int | None = None
    method: str | Method = "auto"

    statistic = "sum"

    def _plan(self, table: Table, problem: Problem, unit: Unit) -> Plan:
        if problem.relation.sized and problem.size is None and self.method != "auto":
            problem = problem.with_size(table.rows())
        return plan(problem, self.method, unit)


@dataclass(frozen=True)
class Mean(_Bounded):
    """The mean of a column, each record clamped to [lower, upper]."""

    statistic = "mean"


@dataclass(frozen=True)
class Variance(_Bounded):
    """The population variance of a column, each record clamped to [lower, upper]."""

    statistic = "variance"

    def _plan(self, table: Table, problem: Problem, unit: Unit) -> Plan:
        if not unit.is_plain and isinstance(problem.dtype, IntType) and problem.magnitude >= 1 << 31:
            raise ValueError(
                f"bounds [{problem.lower}, {problem.upper}]: by group or person, squares of integers are exact within "
                "2^31; give tighter bounds, or cast the column to float64"
            )
        return plan(problem, unit=unit)


@dataclass(frozen=True)
class Count:
    """The number of rows; of those with a value in the column, if missing ones are dropped."""

    column: str | None = None

    def task(self, table: Table, setting: Setting, groups: int | None) -> Task:
        drops = setting.missing == "drop"
        problem = Problem("uint8", 0 if drops else 1, 1, setting.relation)  # every record counts 1, or some 0
        if drops:
            table.require(self.column)
        return Task("count", plan(problem, unit=setting.unit(groups)), self.column, reads=drops)


@dataclass(frozen=True)
class Histogram:
    """Counts over cells [edge, next edge), the last one closed, or of categories."""

    column: str | None
    edges: Sequence[Any] | None = None
    categories: Sequence[Any] | None = None

    def task(self, table: Table, setting: Setting, groups: int | None) -> Task:
        if (self.edges is None) == (self.categories is None):
            raise ValueError("give edges= for numbers or categories= for groups, and not both")
        cells = self._cells()
        if not cells.names:
            raise ValueError("a histogram has at least one cell; give two edges or more, or a category")
        worth = Fraction(1) if self.edges is None else table.type(self.column)[1]  # edges are for numbers
        unit = setting.unit((groups or 1) * len(cells.names))
        chosen = plan(Problem("uint8", 1, 1, setting.relation), unit=unit)
        return Task("histogram", chosen, self.column, worth, cells, reads=False)

    def _cells(self) -> Cells:
        if self.edges is None:
            groups = Groups(self.categories)
            return Cells(groups.names, categories=groups)
        points = [float(edge) for edge in self.edges]
        if any(not a < b for a, b in pairwise(points)):
            raise ValueError(f"edges={points}: edges go up, without repeats")
        return Cells(list(pairwise(points)), edges=points)


Query = Sum | Mean | Variance | Count | Histogram


def prepared(data: Any, queries: Sequence[Query], setting: Setting) -> tuple[Table, list[Task], Rows]:
    """The table opened, every query planned, and which rows belong together."""
    if not queries:
        raise ValueError("there is nothing to release; give statistics such as [ss.Sum('pay', 0, 1000), ss.Count()]")
    beside = {"by": setting.by, "privacy_unit": setting.privacy_unit}
    values = {name: key for name, key in beside.items() if key is not None and not isinstance(key, str)}
    names = {name: name if name in values else key for name, key in beside.items()}
    table = Table(data, values)
    if values and not table.is_column:
        raise TypeError(f"{next(iter(values))}= names a column of the table; values go with data that is one column")
    columns = [query.column for query in queries if not (isinstance(query, Count) and query.column is None)]
    table.require(*columns, *(name for name in names.values() if name is not None))
    table.select(*columns, *(name for name in names.values() if name is not None))
    groups = None if setting.groups is None else Groups(setting.groups)
    if groups is not None and not groups.names:
        raise ValueError("groups is empty; list at least one group")
    tasks = [query.task(table, setting, None if groups is None else len(groups)) for query in queries]
    return table, tasks, Rows(names["by"], groups, names["privacy_unit"])
