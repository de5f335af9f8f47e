"""From a table to releases: reserve, read and add up, charge, draw, release.

The order is what the budget's promise rests on: nothing is drawn before it is charged, and a crash can lose a release
but never let one out unpaid. The table is read once, whatever is asked of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from soundsum.budget import Budget, Cost, charged
from soundsum.certificates import certify
from soundsum.estimates import Additive, Moments
from soundsum.integers import Integers
from soundsum.kernels import Missing
from soundsum.keys import Codes, Groups, cells, crossed
from soundsum.lattice import Lattice, lattice
from soundsum.numbers import IntType
from soundsum.outcome import Release, Releases
from soundsum.persons import ByPerson
from soundsum.preparation import as_doubles_array
from soundsum.privacy import Guarantee, Noise
from soundsum.rationals import floor_log2, power_of_two
from soundsum.records import Column
from soundsum.sensitivities import Part, Statistic, integers_for, noises, parts
from soundsum.tables import Batch, Table
from soundsum.tally import ByGroup, OneGroup, Planned, Tally

if TYPE_CHECKING:
    from soundsum.plan import Plan


@dataclass(frozen=True)
class Cells:
    """The cells of a histogram: between edges, or of categories."""

    edges: Sequence[Any] | None = None
    categories: Groups | None = None

    @property
    def names(self) -> list[Any]:
        if self.categories is not None:
            return self.categories.names
        assert self.edges is not None
        return list(zip(self.edges[:-1], self.edges[1:], strict=True))

    def codes(self, batch: Batch, column: str | None, worth: Fraction) -> Codes:
        if self.categories is not None:
            return self.categories.codes(batch.keys(column))
        assert self.edges is not None
        values = batch.numbers(column)
        if not isinstance(values, Column):
            doubles = np.array([float(x) for x in values])
            return cells(self.edges, doubles, ~np.isnan(doubles))
        if values.type.is_integer and worth == 1 and all(isinstance(edge, int) for edge in self.edges):
            return cells(self.edges, values.values, ~values.missing())
        return cells(self.edges, as_doubles_array(values) / float(1 / worth), ~values.missing())  # decimals as written


@dataclass(frozen=True)
class Task:
    """One statistic of one column, planned; `worth` is what 1 in its records is worth."""

    statistic: Statistic
    plan: Plan
    column: str | None
    worth: Fraction = Fraction(1)
    cells: Cells | None = None

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        return parts(self.statistic, self.plan)

    @property
    def needs_noise(self) -> bool:
        return any(part.moved.l1 for part in self.parts)

    def tally(self, missing: Missing) -> Tally:
        unit = self.plan.unit
        if self.statistic == "sum" and unit.is_plain:
            return Planned(lattice(self.plan.problem, self.plan.adder), missing)
        to = integers_for(self.statistic, self.plan)
        if unit.max_rows is not None:
            return ByPerson(to, self.parts, missing, unit)
        return (
            OneGroup(to, self.parts, missing) if unit.groups is None else ByGroup(to, self.parts, missing, unit.groups)
        )


@dataclass(frozen=True)
class Rows:
    """Which rows belong together, by the group in one column and the person in another; and what missing ones count."""

    by: str | None = None
    groups: Groups | None = None
    person: str | None = None
    missing: Missing = "zero"


def carry_out(
    table: Table, tasks: Sequence[Task], rows: Rows, promise: Guarantee, budget: Budget | None
) -> list[Release | Releases]:
    """Every task's release, for one charge; those that need noise share the promise equally."""
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(f"budget={budget!r} is not a budget; give ss.Budget(epsilon=...), or with path= one in a file")
    for task in tasks:
        _require(task, rows)
    needy = sum(task.needs_noise for task in tasks)
    shared = promise.part(Fraction(1, max(1, needy)))
    drawn = [noises(task.parts, shared) for task in tasks]  # refused here if absurd
    what = "; ".join(_described(task, rows) for task in tasks)
    cost = Cost(promise.epsilon, promise.delta, promise.rho)
    sums, n = charged(budget if needy else None, cost, what, lambda: _added_up(table, tasks, rows))
    return [
        _released(task, rows, totals, noise, shared, n) for task, totals, noise in zip(tasks, sums, drawn, strict=True)
    ]


def _require(task: Task, rows: Rows) -> None:
    """What every proof rests on: a plan that applies, for the very rows that are read."""
    task.plan.require()
    relation, unit = task.plan.problem.relation, task.plan.unit
    if rows.missing == "drop" and relation.sized and task.statistic in ("sum", "mean", "variance"):
        raise ValueError(f'missing="drop" changes the number of records, public under {relation}; use "zero"')
    listed = None if rows.groups is None else len(rows.groups)
    entries = listed if task.cells is None else (listed or 1) * len(task.cells.names)
    if (unit.groups, unit.max_rows is None) != (entries, rows.person is None):
        raise ValueError(f"the plan is for {unit}, and the rows are not; plan for them with unit=")


def _described(task: Task, rows: Rows) -> str:
    column = "" if task.column is None else f" {task.column}:"
    by = "" if rows.by is None else f", by {rows.by}"
    return f"{task.statistic} of{column} {task.plan.problem}, {task.plan.unit}{by}"


def _added_up(table: Table, tasks: Sequence[Task], rows: Rows) -> tuple[list[list[list[int]]], int]:
    """The sums of every task, and the number of rows."""
    tallies = [task.tally(rows.missing) for task in tasks]
    n = 0
    for batch in table.batches(*(task.column for task in tasks), rows.by, rows.person):
        codes = None if rows.groups is None else rows.groups.codes(batch.keys(rows.by))
        ids = None if rows.person is None else batch.keys(rows.person)
        for task, tally in zip(tasks, tallies, strict=True):
            own = codes
            if task.cells is not None:
                cell = task.cells.codes(batch, task.column, task.worth)
                own = crossed(codes, cell, len(task.cells.names), len(rows.groups or ()))
            tally.add(_values(task, batch, rows.missing), batch.rows, own, ids)
        n += batch.rows
    for task in tasks:
        task.plan.problem.with_size(n)  # refuses a size that is not the number of records
    return [tally.totals() for tally in tallies], n


def _values(task: Task, batch: Batch, missing: Missing) -> Any:
    """What a task adds up of a batch; a count needs nothing but the rows, unless missing ones are dropped."""
    if task.statistic in ("sum", "mean", "variance"):
        return batch.numbers(task.column)
    return batch.presence(task.column) if task.statistic == "count" and missing == "drop" else None


def _released(
    task: Task, rows: Rows, totals: list[list[int]], drawn: tuple[Noise, ...], promise: Guarantee, n: int
) -> Release | Releases:
    noisy = [
        [total + z for total, z in zip(sums, noise.draw(len(sums)), strict=True)]
        for sums, noise in zip(totals, drawn, strict=True)
    ]
    public = n if task.plan.problem.relation.sized else None
    plan = task.plan if public is None else task.plan.of_size(public)
    own = task if public is None else Task(task.statistic, plan, task.column, task.worth, task.cells)
    certificate = certify(task.statistic, plan, promise, task.worth)
    let_out = _LetOut(
        own, certificate, noisy, drawn, promise, public, integers_for(task.statistic, plan), own.parts, _lattice(own)
    )
    columns = _named(task, rows)
    return let_out(0) if columns is None else Releases(columns, let_out)


def _lattice(task: Task) -> Lattice | None:
    plain = task.statistic == "sum" and task.plan.unit.is_plain
    return lattice(task.plan.problem, task.plan.adder) if plain else None


@dataclass(frozen=True)
class _LetOut:
    """Everything that left with noise, and nothing else about the data: makes the release of one entry."""

    task: Task
    certificate: dict[str, Any]
    noisy: list[list[int]]
    noises: tuple[Noise, ...]
    promise: Guarantee
    n: int | None  # where it is public
    integers: Integers
    parts: tuple[Part, ...]
    lattice: Lattice | None

    def __call__(self, place: int) -> Release:
        noisy = tuple(sums[place] for sums in self.noisy)
        statistic, plan, worth = self.task.statistic, self.task.plan, self.task.worth
        exact: int | Fraction
        if statistic in ("mean", "variance"):
            n = self.n if plan.unit.is_plain else None
            moments = Moments(statistic, self.integers, noisy, self.noises, n, worth)
            return Release(moments.value, statistic, self.promise, moments, plan, self.certificate)
        if statistic == "sum":
            step = self.parts[0].step
            value = noisy[0] * step if self.lattice is None else self.lattice.value(noisy[0], self.n or 0)
            exact = int(value) if isinstance(plan.problem.dtype, IntType) and worth == 1 else value * worth
            error = Additive(self.noises[0], step * worth)
            return Release(exact, statistic, self.promise, error, plan, self.certificate)
        error = Additive(self.noises[0], Fraction(1))
        return Release(noisy[0], "count", self.promise, error, plan, self.certificate)

    def columns(self, confidence: float) -> tuple[list[Any], list[float], list[float]]:
        """The values of all entries, and the ends of their intervals."""
        size = len(self.noisy[0])
        step = self.parts[0].step * self.task.worth
        if self.task.statistic in ("mean", "variance") or self.lattice is not None or not _is_power_of_two(step):
            releases = [self(place) for place in range(size)]
            lows, highs = zip(*(release.interval(confidence) for release in releases), strict=True)
            return [release.value for release in releases], list(lows), list(highs)
        (noisy,), width, scale = self.noisy, self.noises[0].half_width(confidence), float(step)
        whole = self.task.statistic != "sum" or isinstance(self.task.plan.problem.dtype, IntType)
        values = noisy if whole else [x * scale for x in noisy]  # exact but for the rounding of x to a float
        return values, [(x - width) * scale for x in noisy], [(x + width) * scale for x in noisy]


def _is_power_of_two(x: Fraction) -> bool:
    return x == power_of_two(floor_log2(x)) and abs(floor_log2(x)) < 1000


def _named(task: Task, rows: Rows) -> dict[str, list[Any]] | None:
    """What the entries of the vector are called, in one or more columns; None for a single number."""
    groups = None if rows.groups is None else rows.groups.names
    if task.cells is None:
        return None if groups is None else {"group": groups}
    own = {"category" if task.cells.categories is not None else "cell": task.cells.names}
    if groups is None:
        return own
    repeated = {name: entries * len(groups) for name, entries in own.items()}
    return {"group": [group for group in groups for _ in task.cells.names], **repeated}
