"""From planned statistics to releases: charge, read and add up, draw, release.

The order is what the budget's promise rests on: nothing is read before it is charged, and a crash can lose a release
but never let one out unpaid. The table is read once, whatever is asked of it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol

from soundsum.budget import Binding, Budget, Cost
from soundsum.data.boundary import read_within
from soundsum.data.period_groups import Periods
from soundsum.data.rows import Rows
from soundsum.engines import Totals
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.releases.outcome import Facts, Origin, Release
from soundsum.releases.several import Releases
from soundsum.shown import shown
from soundsum.statistics import Task, describe
from soundsum.statistics.task import describe_task

TABLE_COLUMNS = ("value", "low", "high", "from", "to", "cell", "category")
"""What columns of a table of releases are called, beside those of groups."""


class Adder(Protocol):
    """Whoever adds up: an engine."""

    @property
    def name(self) -> str: ...
    def add_up(self, tasks: Sequence[Task], rows: Rows) -> tuple[list[Totals], int]: ...


def carry_out(
    engine: Adder,
    tasks: Sequence[Task],
    rows: Rows,
    promised: Guarantee,
    budget: Budget | None,
    whom: Binding,
    names: Sequence[str] | None = None,
) -> list[Release | Releases]:
    """Every task's release, for one charge; those that need noise share the guarantee by weight.

    `names` are what somebody calls them, for the ledger.
    """
    if budget is not None and not isinstance(budget, Budget):
        raise TypeError(f"budget={shown(budget)} is not a budget; give {say_budget(budget)}")
    asked = describe(tasks, rows, names)
    norms = [[part.norms for part in task.claim.parts] for task in tasks]
    needs_noise = any(part.l1 for parts in norms for part in parts)
    shares = promised.divide(norms, [task.weight for task in tasks])  # refused here if absurd
    cost = promised.cost if needs_noise else None
    what = "" if budget is None else "; ".join([describe_task(*one) for one in asked])
    charge, at = make_charge(budget, cost, what, whom), datetime.now(UTC)
    sums, n = read_within(partial(engine.add_up, tasks, rows), charge.fail)
    _require_size(tasks, n, charge)
    charge.settle()
    by, where = rows.described_by, None if rows.where is None else str(rows.where)
    common = (at, asked, cost, charge.number, engine.name)
    origins = [
        Origin(task.statistic.column, by, where, rows.source, whom.data, whom.privacy_unit, task.missing, *common)
        for task in tasks
    ]
    return [
        _release(task, rows, totals, noises, share, n, origin)
        for task, totals, (share, noises), origin in zip(tasks, sums, shares, origins, strict=True)
    ]


@dataclass(frozen=True)
class Charge:
    """A charge that has been written down, if there is a budget."""

    budget: Budget | None
    number: int | None

    def settle(self) -> None:
        if self.budget is not None and self.number is not None:
            self.budget.settle(self.number)

    def fail(self) -> None:
        if self.budget is not None and self.number is not None:
            self.budget.fail(self.number)

    def withdraw(self) -> None:
        if self.budget is not None and self.number is not None:
            self.budget.withdraw(self.number)


def make_charge(budget: Budget | None, cost: Cost | None, what: str, whom: Binding) -> Charge:
    """Charged before anything is read; what needs no noise is written down at no cost."""
    if budget is None:
        return Charge(None, None)
    return Charge(budget, budget.charge(budget.no_cost if cost is None else cost, what, whom))


def _require_size(tasks: Sequence[Task], n: int, charge: Charge) -> None:
    """Refuses a size that is not the number of records; both are public, so the charge is taken back."""
    for problem in [task.claim.plan.problem for task in tasks]:
        if problem.size is not None and problem.size != n:
            charge.withdraw()
            problem.with_size(n)


def _release(
    task: Task,
    rows: Rows,
    totals: Totals,
    noises: tuple[Noise, ...],
    promised: Guarantee,
    n: int,
    origin: Origin,
) -> Release | Releases:
    noisy = [
        [total + z for total, z in zip(sums, noise.draw(len(sums)), strict=True)]
        for sums, noise in zip(totals, noises, strict=True)
    ]
    columns = _name_entries(task, rows)
    public = n if task.claim.plan.problem.relation.sized else None
    claim = task.claim if public is None else task.claim.of_size(public)
    facts = Facts(claim, promised, noises, public, origin)
    if columns is None:
        return Release(tuple([sums[0] for sums in noisy]), facts)
    own = [groups.period if isinstance(groups, Periods) else None for _, groups in rows.groups_by_column]
    periods = {name: period for name, period in zip(columns, own, strict=False) if period is not None}
    return Releases(columns, noisy, facts, periods)


def _name_entries(task: Task, rows: Rows) -> dict[str, list[Any]] | None:
    """What the entries of the vector are called, in one or more columns; None for a single number."""
    names = None if rows.groups is None else rows.groups.names
    cells = task.statistic.cells
    if names is None:
        return None if cells is None else {cells.heading: cells.names}
    columns: dict[str, list[Any]] = {"group": names}
    if isinstance(rows.by, list):
        columns = {}
        for (column, own), entries in zip(rows.groups_by_column, zip(*names, strict=True), strict=True):
            name = own.period.heading if isinstance(own, Periods) else column
            while name in TABLE_COLUMNS or name in columns:
                name = f"{name}_group"
            columns[name] = list(entries)
    if cells is None:
        return columns
    each = {column: [name for name in entries for _ in cells.names] for column, entries in columns.items()}
    return {**each, cells.heading: cells.names * len(names)}


def say_budget(given: Any) -> str:
    """How a budget is made, of a path the one in that ledger."""
    if isinstance(given, str | os.PathLike):
        return f"ss.Budget(path={shown(os.fspath(given))}), or with epsilon= too to make it"
    return "ss.Budget(epsilon=...), or with path= one in a file"
