"""From planned statistics to releases: charge, read and add up, draw, release.

The order is what the budget's promise rests on: nothing is read before it is charged, and a crash can lose a release
but never let one out unpaid. The table is read once, whatever is asked of it; twice where groups are found first,
unless one pass gives the same (engines/memory.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from soundsum.budget import Binding, Budget, Cost, Query
from soundsum.engines import FoundGroups, Totals
from soundsum.numbers.quoting import quote
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.privacy.selection import Found, GroupPlan, plan_search
from soundsum.refusals import Reason, RefusedType
from soundsum.releases.advice import conclude
from soundsum.releases.collections import Releases, choose_heading
from soundsum.releases.outcomes import Outcome, Several
from soundsum.releases.padding import require_time
from soundsum.releases.release_context import Origin, ReleaseContext
from soundsum.releases.released import Release
from soundsum.statistics import Claim, Task
from soundsum.statistics.quantile import find_crossing, list_others, uncross
from soundsum.tables.periods import Period
from soundsum.tables.read_guard import read_within
from soundsum.tables.rows import Rows

F = TypeVar("F", bound=Callable[..., Any])

MOST_STORED = 2_000
"""Numbers about groups that were found, for which an analyst can be given an answer; how many are found is noisy."""


class Adder(Protocol):
    """Whoever adds up: an engine, here or in a child process."""

    @property
    def name(self) -> str: ...
    def add_up_with_noise(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]]
    ) -> tuple[list[Totals], int | None]: ...
    def find_and_add_up(
        self, tasks: Sequence[Task], rows: Rows, noises: Sequence[tuple[Noise, ...]], plan: GroupPlan
    ) -> tuple[FoundGroups, list[Totals], int | None]: ...


@dataclass(frozen=True)
class Prepared:
    """A request, planned on a table: what an engine adds up, and the query that it is charged as.

    Where groups are to be found (`rows.searched`), the last task is the search, and the others are for what it finds.
    The binding may have ids that were given as values, for a budget in memory to know again. The query goes into the
    ledger and every release, where no values may be.
    """

    tasks: Sequence[Task]
    rows: Rows
    query: Query
    binding: Binding


def carry_out(engine: Adder, prepared: Prepared, promised: Guarantee, budget: Budget | None) -> list[Outcome]:
    """Every task's release, for one charge; those that need noise share the guarantee by weight."""
    if budget is not None and not isinstance(budget, Budget):
        raise refuse_budget(budget)
    tasks, rows, query = prepared.tasks, prepared.rows, prepared.query
    shares, cost, search = _divide(tasks, query, promised)  # refused here if absurd
    charge, at = make_charge(budget, cost, query, prepared.binding), datetime.now(UTC)
    drawn = [noises for _, noises in shares]
    found = None
    if search is None:
        noisy, n = read_within(partial(engine.add_up_with_noise, tasks, rows, drawn), charge.fail)
    else:
        find = partial(engine.find_and_add_up, tasks[:-1], rows, drawn[:-1], search)
        (found, counts), noisy, n = read_within(find, charge.fail)
        noisy = [*noisy, [counts]]
    _require_size(tasks, n, charge)
    crossing = find_crossing([(task.statistic.column, task.claim) for task in tasks])
    uncross(noisy, crossing)

    def make() -> tuple[list[Outcome], str | None]:
        if charge.keeps_answer and found is not None and len(found) * len(tasks) > MOST_STORED:
            raise ValueError(f"{len(found):,} groups were found, which are too many for a stored answer")
        origins = [
            Origin(query, place, at, cost, charge.number, engine.name, task.is_declared)
            for place, task in enumerate(tasks)
        ]
        made = [
            _release(
                task,
                rows,
                sums,
                ReleaseContext(
                    _of_size(task, n),
                    share,
                    noises,
                    n,
                    origin,
                    search,
                    list_others(place, crossing, drawn) if crossing else (),
                ),
                found,
            )
            for place, (task, sums, (share, noises), origin) in enumerate(
                zip(tasks, noisy, shares, origins, strict=True)
            )
        ]
        if len(made) > 1 and search is not None:
            made.pop()  # what was asked for is the others
        answer = _write_answer(made, query) if charge.keeps_answer else None
        require_time()
        return made, answer

    made, answer = read_within(make, charge.fail)
    read_within(partial(charge.settle, answer))
    return made


@dataclass(frozen=True)
class Charge:
    """A charge that has been written down, if there is a budget."""

    budget: Budget | None
    number: int | None
    keeps_answer: bool = False  # whether the releases are stored as the charge is settled

    def settle(self, answer: str | None = None) -> None:
        if self.budget is not None and self.number is not None:
            self.budget.settle(self.number, answer)

    def fail(self) -> None:
        if self.budget is not None and self.number is not None:
            self.budget.fail(self.number)

    def withdraw(self) -> None:
        if self.budget is not None and self.number is not None:
            self.budget.withdraw(self.number)


def make_charge(budget: Budget | None, cost: Cost | None, what: Query | str, binding: Binding) -> Charge:
    """Charged before anything is read; what needs no noise is written down at no cost."""
    if budget is None:
        return Charge(None, None)
    number = budget.charge(budget.no_cost if cost is None else cost, what, binding)
    return Charge(budget, number, budget.keeps_answers)


def _write_answer(made: Sequence[Outcome], query: Query) -> str:
    """All releases of a charge as an analyst gets them, and gets them again."""
    names = [asked.statistic if asked.name is None else asked.name for asked in query.statistics[: len(made)]]
    return json.dumps(Several(made, names).to_dict())


def _require_size(tasks: Sequence[Task], n: int | None, charge: Charge) -> None:
    """Refuses a size that is not the number of records; both are public, so the charge is taken back."""
    for problem in [task.claim.plan.problem for task in tasks]:
        if n is not None and problem.size not in (None, n):
            read_within(charge.withdraw, charge.fail)
            problem.with_size(n)


class _Division(NamedTuple):
    """Every task's share of the cost and its noise, the whole cost, and the plan of a search for groups."""

    shares: list[tuple[Guarantee, tuple[Noise, ...]]]
    cost: Cost | None
    search: GroupPlan | None


def _divide(tasks: Sequence[Task], query: Query, promised: Guarantee) -> _Division:
    """Divide the guarantee by weight. Epsilon is divided with a search for groups, whose delta comes on top."""
    found = query.groups
    if not isinstance(found, Found):
        norms = [[part.norms for part in task.claim.parts] for task in tasks]
        needs_noise = any(part.l1 for parts in norms for part in parts)
        shares = promised.divide(norms, [task.weight for task in tasks])
        return _Division(shares, promised.cost if needs_noise else None, None)
    *others, search = tasks
    own = query.statistics[-1]
    epsilon = None if promised.epsilon is None else promised.epsilon * own.share
    plan = plan_search(epsilon, found.delta, search.claim.plan.step_norms, found.noise, promised.rho)
    rest = promised if own.share == 1 else replace(promised, epsilon=promised.epsilon - plan.epsilon)  # type: ignore[operator]
    norms = [[part.norms for part in task.claim.parts] for task in others]
    shares = rest.divide(norms, [task.weight for task in others]) if others else []
    delta = plan.delta + (promised.delta if own.share < 1 else Fraction(0))
    return _Division([*shares, (plan.guarantee, (plan.noise,))], Cost(promised.epsilon, delta), plan)


def _of_size(task: Task, n: int | None) -> Claim:
    return task.claim if n is None else task.claim.of_size(n)


def _release(
    task: Task, rows: Rows, noisy: list[list[int]], facts: ReleaseContext, found: Sequence[Any] | None
) -> Outcome:
    grouped = rows.periods_by_column
    columns = _name_entries(task, rows, grouped, found)
    if columns is None:
        return Release(tuple([sums[0] for sums in noisy]), facts)
    periods = {name: period for name, (_, period) in zip(columns, grouped, strict=False) if period is not None}
    made = Releases(columns, noisy, facts, periods)
    return conclude(facts.claim.kind, made, getattr(task.statistic, "coverage", 1))


def _name_entries(
    task: Task, rows: Rows, grouped: Sequence[tuple[str, Period | None]], found: Sequence[Any] | None
) -> dict[str, list[Any]] | None:
    """The names of the vector's entries, in one or more columns; None for a single number."""
    names = found if rows.groups is None else rows.groups.names
    cells = task.statistic.cells
    if names is None:
        return None if cells is None else {cells.heading: cells.names}
    columns: dict[str, list[Any]] = {}
    each: Iterable[Any] = [names]
    if isinstance(rows.by, list):
        each = zip(*names, strict=True) if names else [()] * len(rows.by)
    for (column, period), entries in zip(grouped, each, strict=True):
        name = choose_heading(column if period is None else period.heading, columns)
        columns[name] = list(entries)
    if cells is None:
        return columns
    repeated = {column: [name for name in entries for _ in cells.names] for column, entries in columns.items()}
    return {**repeated, cells.heading: cells.names * len(names)}


def refuse_budget(given: Any) -> RefusedType:
    """Refuses an argument that is not a budget, and shows how to make or open one."""
    if isinstance(given, str | os.PathLike):
        return RefusedType(
            "budget",
            Reason.WRONG_TYPE,
            "`budget={given}` is not a budget",
            "give `ss.Budget(path={path})`, or with `epsilon` too to make it",
            given=quote(given),
            path=quote(os.fspath(given)),
        )
    return RefusedType(
        "budget",
        Reason.WRONG_TYPE,
        "`budget={given}` is not a budget",
        "give `ss.Budget(epsilon=...)`, or with `path` one in a file",
        given=quote(given),
    )
