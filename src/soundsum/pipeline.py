"""From a table to releases: reserve, read and add up, charge, draw, release.

The order is what the budget's promise rests on: nothing is drawn before it is charged, and a crash can lose a release
but never let one out unpaid. The table is read once, whatever is asked of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from soundsum.budget import Budget, Cost
from soundsum.certificates import certify
from soundsum.estimates import Additive, Moments
from soundsum.kernels import Missing
from soundsum.keys import Codes, Groups, cells, crossed
from soundsum.lattice import lattice
from soundsum.numbers import IntType
from soundsum.outcome import Release, Releases
from soundsum.persons import ByPerson
from soundsum.preparation import as_doubles_array
from soundsum.privacy import Guarantee, Noise
from soundsum.records import Column, Records
from soundsum.sensitivities import Statistic, integers_for, noises, parts
from soundsum.tables import Batch, Table
from soundsum.tally import ByGroup, OneGroup, Planned, Tally

if TYPE_CHECKING:
    from soundsum.plan import Plan

T = TypeVar("T")


@dataclass(frozen=True)
class Cells:
    """The cells of a histogram: between edges, or of categories."""

    names: Sequence[Any]
    edges: Sequence[float] | None = None
    categories: Groups | None = None

    def codes(self, batch: Batch, column: str | None, unit: Fraction) -> Codes:
        if self.categories is not None:
            return self.categories.codes(batch.keys(column))
        assert self.edges is not None
        return cells(self.edges, _as_doubles(batch.numbers(column)) / int(1 / unit))  # decimals as people write them


@dataclass(frozen=True)
class Task:
    """One statistic of one column, planned; `unit` is what 1 in its records is worth."""

    statistic: Statistic
    plan: Plan
    column: str | None
    unit: Fraction = Fraction(1)
    cells: Cells | None = None
    reads: bool = True  # the column's numbers; a count only needs the rows

    def tally(self, missing: Missing) -> Tally:
        unit = self.plan.unit
        if self.statistic == "sum" and unit.is_plain:
            return Planned(lattice(self.plan.problem, self.plan.adder), missing)
        to, released = integers_for(self.statistic, self.plan), parts(self.statistic, self.plan)
        if unit.max_rows is not None:
            return ByPerson(to, released, missing, unit)
        return OneGroup(to, released, missing) if unit.groups is None else ByGroup(to, released, missing, unit.groups)


@dataclass(frozen=True)
class Rows:
    """Which rows belong together: by the group in one column, and by the person in another."""

    by: str | None = None
    groups: Groups | None = None
    person: str | None = None


def carry_out(
    table: Table, tasks: Sequence[Task], rows: Rows, promise: Guarantee, missing: Missing, budget: Budget | None
) -> list[Release | Releases]:
    """Every task's release, for one charge; tasks share the promise equally."""
    shared = promise.part(Fraction(1, max(1, sum(_needs_noise(task) for task in tasks))))
    drawn = [noises(parts(task.statistic, task.plan), shared) for task in tasks]  # refused here if absurd
    what = "; ".join(f"{task.statistic} of {task.plan.problem}, {task.plan.unit}" for task in tasks)
    sums, n = charged(budget, promise, what, lambda: _added_up(table, tasks, rows, missing))
    return [
        _released(task, rows, totals, noise, shared, n) for task, totals, noise in zip(tasks, sums, drawn, strict=True)
    ]


def charged(budget: Budget | None, promise: Guarantee, what: str, add_up: Callable[[], T]) -> T:
    """What add_up gives, with the budget charged in between: reserved before, charged after, drawn by the caller."""
    if budget is None:
        return add_up()
    cost = Cost(promise.epsilon, promise.delta, promise.rho)
    with budget.reserve(cost, what) as charge:
        result = add_up()
        charge.commit()
    return result


def _needs_noise(task: Task) -> bool:
    return any(part.moved.l1 for part in parts(task.statistic, task.plan))


def _added_up(table: Table, tasks: Sequence[Task], rows: Rows, missing: Missing) -> tuple[list[list[list[int]]], int]:
    """The sums of every task, and the number of rows."""
    tallies = [task.tally(missing) for task in tasks]
    n = 0
    for batch in table.batches(*(task.column for task in tasks), rows.by, rows.person):
        codes = None if rows.groups is None else rows.groups.codes(batch.keys(rows.by))
        ids = None if rows.person is None else batch.keys(rows.person)
        for task, tally in zip(tasks, tallies, strict=True):
            values = batch.numbers(task.column) if task.reads else None
            own = codes
            if task.cells is not None:
                cell = task.cells.codes(batch, task.column, task.unit)
                own = crossed(codes, cell, len(task.cells.names), len(rows.groups or ()))
            tally.add(values, batch.rows, own, ids)
        n += batch.rows
    for task in tasks:
        task.plan.problem.with_size(n)  # refuses a size that is not the number of records
    return [tally.totals() for tally in tallies], n


def _released(
    task: Task, rows: Rows, totals: list[list[int]], drawn: tuple[Noise, ...], promise: Guarantee, n: int
) -> Release | Releases:
    noisy = [
        [total + z for total, z in zip(sums, noise.draw(len(sums)), strict=True)]
        for sums, noise in zip(totals, drawn, strict=True)
    ]
    plan = task.plan.of_size(n)
    certificate = certify(task.statistic, plan, promise)

    def release(place: int) -> Release:
        own = tuple(sums[place] for sums in noisy)
        return _release(task, plan, certificate, own, drawn, promise, n)

    names = _names(task, rows)
    return release(0) if names is None else Releases(names, release)


def _release(
    task: Task,
    plan: Plan,
    certificate: dict[str, Any],
    noisy: tuple[int, ...],
    drawn: tuple[Noise, ...],
    promise: Guarantee,
    n: int,
) -> Release:
    statistic, unit = task.statistic, task.unit
    if statistic in ("mean", "variance"):
        public = n if plan.problem.relation.sized and plan.unit.is_plain else None
        moments = Moments(statistic, integers_for(statistic, plan), noisy, drawn, public, unit)
        return Release(moments.value, statistic, promise, moments, plan, certificate)
    if statistic != "sum":
        return Release(noisy[0], "count", promise, Additive(drawn[0], Fraction(1)), plan, certificate)
    (part,) = parts(statistic, plan)
    value = lattice(plan.problem, plan.adder).value(noisy[0], n) if plan.unit.is_plain else noisy[0] * part.step
    whole = isinstance(plan.problem.dtype, IntType) and unit == 1
    exact = int(value) if whole else value * unit
    return Release(exact, statistic, promise, Additive(drawn[0], part.step * unit), plan, certificate)


def _names(task: Task, rows: Rows) -> list[Any] | None:
    """What the entries of the vector are called; None for a single number."""
    groups = None if rows.groups is None else rows.groups.names
    if task.cells is None:
        return groups
    own = list(task.cells.names)
    return own if groups is None else [(group, cell) for group in groups for cell in own]


def _as_doubles(values: Records) -> Any:
    return as_doubles_array(values) if isinstance(values, Column) else np.array([float(x) for x in values])
