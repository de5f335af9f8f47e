"""A statistic that has been planned: what is claimed of it, and what is to be added up for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from soundsum.data.records import Missing, Records
from soundsum.data.rows import Rows
from soundsum.data.tables import Batch
from soundsum.methods.steps import RecordSteps
from soundsum.planner import Scheme
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.privacy.units import Unit
from soundsum.statistics.statistic import Cells, Estimator, Part, Statistic


@dataclass(frozen=True)
class Claim:
    """Everything that follows about a kind of statistic from its plan, without any data.

    `worth` is what 1 in the records is worth: a decimal's last digit, otherwise 1.
    """

    kind: type[Statistic]
    plan: Scheme
    worth: Fraction = Fraction(1)

    def require(self) -> None:
        """Refuses what no proof covers."""
        self.plan.require()
        if reasons := self.kind.unmet(self.plan):
            raise ValueError("; ".join(reasons))
        if self.worth <= 0 or (self.worth != 1 and not self.plan.problem.dtype.is_integer):
            raise ValueError(f"worth {self.worth}: only a decimal's last digit is worth other than 1")

    @cached_property
    def record_steps(self) -> RecordSteps | None:
        """How records become integers; None where the method adds in a way of its own."""
        return self.kind.record_steps(self.plan)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Everything that is let out."""
        return self.kind.parts(self.plan, self.record_steps)

    @property
    def needs_noise(self) -> bool:
        return any(part.norms.l1 for part in self.parts)

    def noises(self, guarantee: Guarantee) -> tuple[Noise, ...]:
        """The noise of each part: equal shares of the guarantee for those that need any."""
        share = guarantee.share(Fraction(1, max(1, sum(part.norms.l1 > 0 for part in self.parts))))
        return tuple(share.noise_for(part.norms) for part in self.parts)

    def estimator(self, noises: tuple[Noise, ...], n: int | None) -> Estimator:
        return self.kind.estimator(self.plan, self.record_steps, noises, n, self.worth)

    def of_size(self, n: int) -> Claim:
        """The same where the number of records is public, and known by now."""
        return Claim(self.kind, self.plan.of_size(n), self.worth)


@dataclass(frozen=True)
class Task:
    """One statistic of one column, planned: what an engine adds up."""

    statistic: Statistic
    claim: Claim

    @property
    def column(self) -> str | None:
        return self.statistic.column

    @property
    def cells(self) -> Cells | None:
        return self.statistic.cells

    @property
    def plan(self) -> Scheme:
        return self.claim.plan

    @property
    def unit(self) -> Unit:
        return self.claim.plan.unit

    @property
    def record_steps(self) -> RecordSteps | None:
        return self.claim.record_steps

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.claim.parts

    def read(self, batch: Batch, missing: Missing) -> Records | None:
        """What it takes of a batch; None if the rows alone are counted."""
        return self.statistic.read(batch, missing)

    def require(self, rows: Rows) -> None:
        """What every proof rests on: a plan that applies, for the very rows that are read."""
        self.claim.require()
        relation = self.plan.problem.relation
        if rows.missing == "drop" and relation.sized and self.statistic.drops_records():
            raise ValueError(f'missing="drop" changes the number of records, public under {relation}; use "zero"')
        entries = rows.group_count
        if self.cells is not None:
            entries = (entries or 1) * len(self.cells.names)
        if (self.unit.groups, self.unit.max_rows is None) != (entries, rows.person is None):
            raise ValueError(f"the plan is for {self.unit}, and the rows are not; plan for them with unit=")

    def describe(self, rows: Rows) -> str:
        """What is asked, for the ledger."""
        column = "" if self.column is None else f" {self.column}:"
        by = "" if rows.by is None else f", by {rows.by}"
        return f"{self.statistic.name} of{column} {self.plan.problem}, {self.unit}{by}"
