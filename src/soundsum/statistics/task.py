"""A statistic that has been planned: what is claimed of it, and what is to be added up for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from soundsum.arithmetic.words import bound
from soundsum.data.records import Missing
from soundsum.data.rows import Rows
from soundsum.methods.steps import RecordSteps
from soundsum.planner import Scheme
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.statistics.statistic import Bounded, Estimator, Part, Statistic


@dataclass(frozen=True)
class Claim:
    """Everything that follows about a kind of statistic from its plan, without any data.

    `worth` is what 1 in the records is worth: a decimal's last digit, otherwise 1. Made only for a plan that the
    statistic's proof covers.
    """

    kind: type[Statistic]
    plan: Scheme
    worth: Fraction = Fraction(1)
    record_steps: RecordSteps | None = field(init=False, repr=False)  # None: the method adds in a way of its own
    parts: tuple[Part, ...] = field(init=False, repr=False)  # everything that is let out

    def __post_init__(self) -> None:
        if self.plan.unmet:
            self.plan.require()
        if reasons := self.kind.unmet(self.plan):
            raise ValueError("; ".join(reasons))
        if self.worth <= 0 or (self.worth != 1 and not self.plan.problem.dtype.is_integer):
            raise ValueError(f"worth {self.worth}: only a decimal's last digit is worth other than 1")
        steps = self.kind.record_steps(self.plan)
        object.__setattr__(self, "record_steps", steps)
        object.__setattr__(self, "parts", self.kind.parts(self.plan, steps))

    def noises(self, promised: Guarantee) -> tuple[Noise, ...]:
        """The noise of each part: equal shares of the guarantee for those that need any."""
        return promised.noises_for([part.norms for part in self.parts])

    def estimator(self, noises: tuple[Noise, ...], n: int | None) -> Estimator:
        return self.kind.estimator(self.plan, self.record_steps, noises, n, self.worth)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """What records are really clamped to: the bounds given, rounded inward to what can be added exactly."""
        problem, steps = self.plan.problem, self.record_steps
        if steps is None:
            return problem.lower * self.worth, problem.upper * self.worth
        return steps.bounds(self.worth)

    @property
    def given_bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds as they were given."""
        return self.plan.problem.lower * self.worth, self.plan.problem.upper * self.worth

    @property
    def shown_bounds(self) -> tuple[Fraction, Fraction]:
        """The same as people see them: those of integers are integers, and the last place of a grid is not shown."""
        lower, upper = self.plan.problem.lower, self.plan.problem.upper
        if self.plan.problem.dtype.is_integer:
            lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
        return lower * self.worth, upper * self.worth

    def of_size(self, n: int) -> Claim:
        """The same where the number of records is public, and known by now."""
        return Claim(self.kind, self.plan.of_size(n), self.worth)


@dataclass(frozen=True)
class Task:
    """One statistic of one column, planned for certain rows: what an engine adds up."""

    statistic: Statistic
    claim: Claim
    missing: Missing = "zero"  # what a record without a value counts as
    weight: Fraction = Fraction(1)  # of its share of the cost, among several

    def require(self, rows: Rows) -> None:
        """What every proof rests on: the plan is for the very rows that are read."""
        relation, unit, cells = self.claim.plan.problem.relation, self.claim.plan.unit, self.statistic.cells
        if self.missing == "drop" and relation.sized and unit.is_plain:
            raise ValueError(
                f'missing="drop": under {relation} how many records are left is private, and the plan is for all of '
                'them; use ss.sum, which plans for it, or "zero"'
            )
        entries = rows.group_count
        if cells is not None:
            entries = (entries or 1) * len(cells.names)
        if (unit.groups, unit.max_rows is None) != (entries, rows.person is None):
            raise ValueError(f"the plan is for {unit}, and the rows are not; plan for them with unit=")

    def describe(self, rows: Rows, share: Fraction | None = None, name: str | None = None) -> tuple[Any, ...]:
        """What is asked, for `describe_task`."""
        where = None if rows.where is None else str(rows.where)
        by = tuple(rows.described_by) if isinstance(rows.described_by, list) else rows.described_by
        return self.claim, self.statistic.column, rows.source, by, where, self.missing, share, name


def describe_task(
    claim: Claim,
    column: str | None,
    source: str,
    by: str | Sequence[str] | None,
    where: str | None,
    missing: Missing,
    share: Fraction | None = None,
    name: str | None = None,
    unsized: bool = False,
) -> str:
    """One task, as a ledger says it to whoever audits it; it can be said again from what a release says of itself."""
    kind, problem = claim.kind, claim.plan.problem
    size, limit = (None if unsized else problem.size), problem.max_size
    lower, upper = map(bound, claim.given_bounds)
    columns = ", ".join(map(str, by)) if isinstance(by, list | tuple) else by
    said = [
        f"{kind.name}{'' if column is None else f' of {column}'} from {source}",
        *([f"{problem.dtype.name} in [{lower}, {upper}]"] if issubclass(kind, Bounded) else []),
        *([] if size is None else [f"{size:,} rows"]),
        *([] if limit is None else [f"at most {limit:,} rows"]),
        *([] if by is None else [f"by {columns}"]),
        *([] if where is None else [f"where {where}"]),
        kind.say_missing(missing, claim.shown_bounds),
        f"protecting {claim.plan.unit}",
        f"{problem.relation} neighbours",
        *([] if share is None else [f"{share} of the cost"]),
        *([] if name is None else [f"called {name}"]),
    ]
    return as_listed(", ".join(said))


def as_listed(text: str) -> str:
    """Without the semicolon, which parts what a ledger lists."""
    return text.replace(";", "\\x3b")


def describe(tasks: Sequence[Task], rows: Rows, names: Sequence[str] | None = None) -> tuple[tuple[Any, ...], ...]:
    """Everything that is asked, checked to be planned for these rows; the shares of the cost where they differ.

    `names` are those that somebody gave.
    """
    for task in tasks:
        task.require(rows)
    called = [None] * len(tasks) if names is None else names
    needy = [any(part.norms.l1 for part in task.claim.parts) for task in tasks]
    weights = [task.weight for task, needs in zip(tasks, needy, strict=True) if needs]
    whole = sum(weights) if len(set(weights)) > 1 else None  # of one there is nothing to say
    return tuple(
        task.describe(rows, None if whole is None or not needs else task.weight / whole, name)
        for task, needs, name in zip(tasks, needy, called, strict=True)
    )
