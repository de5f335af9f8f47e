"""A statistic that has been planned: what is claimed of it, and what is to be added up for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from soundsum.data.rows import Rows
from soundsum.methods.steps import RecordSteps
from soundsum.planner import Scheme
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.privacy.units import Unit
from soundsum.problem import Problem
from soundsum.statistics.statistic import Estimator, Part, Statistic


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

    def of_size(self, n: int) -> Claim:
        """The same where the number of records is public, and known by now."""
        return Claim(self.kind, self.plan.of_size(n), self.worth)


@dataclass(frozen=True)
class Task:
    """One statistic of one column, planned for certain rows: what an engine adds up."""

    statistic: Statistic
    claim: Claim

    def require(self, rows: Rows) -> None:
        """What every proof rests on: the plan is for the very rows that are read."""
        relation, unit, cells = self.claim.plan.problem.relation, self.claim.plan.unit, self.statistic.cells
        if rows.missing == "drop" and relation.sized and self.statistic.drops_records:
            raise ValueError(f'missing="drop" changes the number of records, public under {relation}; use "zero"')
        entries = rows.group_count
        if cells is not None:
            entries = (entries or 1) * len(cells.names)
        if (unit.groups, unit.max_rows is None) != (entries, rows.person is None):
            raise ValueError(f"the plan is for {unit}, and the rows are not; plan for them with unit=")

    def describe(self, rows: Rows) -> str:
        """What is asked, for the ledger."""
        plan, asked = self.claim.plan, self.statistic
        where = None if rows.where is None else str(rows.where)
        return describe_task(asked.name, asked.column, plan.problem, plan.unit, rows.described_by, where)


def describe_task(
    name: str, column: str | None, problem: Problem, unit: Unit, by: str | list[str] | None, where: str | None = None
) -> str:
    """One task, as a ledger says it."""
    of = "" if column is None else f" {column}:"
    columns = ", ".join(map(str, by)) if isinstance(by, list) else by
    which = ("" if by is None else f", by {columns}") + ("" if where is None else f", where {where}")
    return f"{name} of{of} {problem}, {unit}{which}"


def describe(tasks: Sequence[Task], rows: Rows) -> str:
    """Everything that is asked, checked to be planned for these rows."""
    for task in tasks:
        task.require(rows)
    return "; ".join([task.describe(rows) for task in tasks])
