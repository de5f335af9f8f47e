"""Planned statistics: the claim of each, the sums it needs, and the query that records them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from soundsum.budget.query import Asked, Listed, Query, as_plain
from soundsum.budget.scope import Binding
from soundsum.kernels.persons import BEYOND
from soundsum.methods import Method, Ranks, parameters
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import decimal, is_special
from soundsum.privacy.cost import is_long
from soundsum.privacy.guarantee import Guarantee
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan, choose
from soundsum.privacy.selection import Found
from soundsum.privacy.units import FOUND, Unit
from soundsum.refusals import Reason, RefusedValue, join_clauses
from soundsum.statistics.histogram import Edges
from soundsum.statistics.quantile import Quantile, rank_cells, require_few_cells
from soundsum.statistics.statistic import Cells, Estimator, Part, Statistic
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.rows import Rows
from soundsum.tables.schemas import Schema

MOST_COUNTS = 1 << 27
"""Sums, or counts of cells, of all groups that were found: a gigabyte of them, far below 2^31, where codes end."""


@dataclass(frozen=True)
class Claim:
    """Everything that follows about a kind of statistic from its plan, without any data.

    `unit_value` is what 1 in the records is worth: a decimal's last digit, otherwise 1. Made only for a plan that the
    statistic's proof covers.
    """

    kind: type[Statistic]
    plan: Plan
    unit_value: Fraction = Fraction(1)
    record_steps: RecordSteps | None = field(init=False, repr=False)  # None: the method adds in a way of its own
    parts: tuple[Part, ...] = field(init=False, repr=False)  # everything that is let out

    def __post_init__(self) -> None:
        if self.plan.unmet:
            self.plan.require_applicable()
        if reasons := self.kind.unmet(self.plan):
            raise RefusedValue(
                "method",
                Reason.UNSOUND,
                "no proof covers this {statistic}: {reasons}",
                statistic=self.kind.name,
                reasons=join_clauses(reasons),
            )
        if self.unit_value <= 0 or (self.unit_value != 1 and not self.plan.problem.dtype.is_integer):
            raise RefusedValue(
                "unit_value",
                Reason.UNSOUND,
                "`unit_value={given}`: 1 in the records is worth 1, unless they count the last digits of decimals",
                "leave `unit_value` out",
                given=quote(self.unit_value),
            )
        steps = self.kind.record_steps(self.plan)
        object.__setattr__(self, "record_steps", steps)
        object.__setattr__(self, "parts", self.kind.parts(self.plan, steps))

    def noises(self, promised: Guarantee) -> tuple[Noise, ...]:
        """The noise of each part: equal shares of the guarantee for those that need any."""
        return promised.noises_for([part.norms for part in self.parts])

    def estimator(self, noises: tuple[Noise, ...], n: int | None) -> Estimator:
        return self.kind.estimator(self.plan, self.record_steps, noises, n, self.unit_value)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds that records are really clamped to: those given, rounded inward to the grid."""
        problem, steps = self.plan.problem, self.record_steps
        if steps is None or isinstance(self.plan.adder, Ranks):
            return problem.lower * self.unit_value, problem.upper * self.unit_value
        return steps.bounds(self.unit_value)

    @property
    def given_bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds as they were given."""
        return self.plan.problem.lower * self.unit_value, self.plan.problem.upper * self.unit_value

    @property
    def shown_bounds(self) -> tuple[Fraction, Fraction]:
        """The bounds for people: integers for integer types, and without the last place of a grid."""
        lower, upper = self.plan.problem.lower, self.plan.problem.upper
        if self.plan.problem.dtype.is_integer:
            lower, upper = Fraction(math.ceil(lower)), Fraction(math.floor(upper))
        return lower * self.unit_value, upper * self.unit_value

    def of_size(self, n: int) -> Claim:
        """Restate the task once the public number of records is known."""
        return Claim(self.kind, self.plan.of_size(n), self.unit_value)


@dataclass(frozen=True)
class Task:
    """One statistic of one column, planned for certain rows: what an engine adds up."""

    statistic: Statistic
    claim: Claim
    missing: Missing = "zero"  # what a record without a value counts as
    weight: Fraction = Fraction(1)  # of its share of the cost, among several
    is_declared: bool = True  # whether the table, its owner or the query says what type the column has

    def require_rows(self, rows: Rows) -> None:
        """Require that the plan is for the very rows that are read; every proof rests on it."""
        relation, unit, cells = self.claim.plan.problem.relation, self.claim.plan.unit, self.statistic.cells
        if self.missing == "drop" and relation.sized and unit.is_plain:
            raise RefusedValue(
                "missing",
                Reason.UNSOUND,
                "`missing='drop'`: under {relation} how many records are left is private, and the plan is for all of "
                "them",
                "use `ss.sum`, which plans for it, or `missing='zero'`",
                relation=str(relation),
            )
        entries: int | str | None = FOUND if rows.searched is not None else rows.group_count
        if cells is not None and not isinstance(entries, str):
            entries = (entries or 1) * len(cells.names)
        if (unit.groups, unit.max_rows is None) != (entries, rows.privacy_unit is None):
            raise RefusedValue(
                "unit",
                Reason.MISMATCH,
                "the plan is for {unit}, and the rows are not",
                "plan for them with `unit`",
                unit=str(unit),
            )

    def of_found(self, groups: int) -> Task:
        """Restate the task for the number of groups found. Noise planned for any number suffices: norms only shrink.

        Too many groups for the memory of an ordinary machine end the read: their number follows from a release.
        """
        plan, cells = self.claim.plan, self.statistic.cells
        counts = groups * (1 if self.counted is None else len(self.counted.names))
        if counts > MOST_COUNTS:
            raise RefusedValue(
                "groups",
                Reason.TOO_MANY,
                "{groups:,} groups were found, which takes {counts:,} counts, and at most {most:,} are kept",
                "ask for fewer cells, candidates or groups",
                groups=groups,
                counts=counts,
                most=MOST_COUNTS,
            )
        unit = replace(plan.unit, groups=groups * (1 if cells is None else len(cells.names)))
        return replace(self, claim=Claim(self.claim.kind, Plan(plan.problem, plan.adder, unit), self.claim.unit_value))

    @cached_property
    def counted(self) -> Cells | None:
        """The cells whose rows an engine counts: those that are released, or those that a choice needs."""
        plan = self.claim.plan
        return rank_cells(plan.adder.ladder(plan.problem)) if isinstance(plan.adder, Ranks) else self.statistic.cells

    @property
    def ranks_rows(self) -> bool:
        """Whether some rows of each person are counted, by their order, under a unit of persons."""
        return isinstance(self.claim.plan.adder, Ranks) and self.claim.plan.unit.max_rows is not None

    @property
    def bins_persons(self) -> bool:
        """Whether cells are of persons' totals and not of rows, which the engine then adds up first."""
        return self.statistic.counts_persons and self.claim.plan.unit.max_rows is not None

    @property
    def thresholds(self) -> list[int]:
        """The integers between the cells of a count of persons: each cell is above its own, up to the next.

        No total reaches BEYOND, so a threshold that lies further out stays above or below the same totals there, and
        every engine can count in it.
        """
        kind, cells = self.claim.kind, self.statistic.cells
        exact = kind.thresholds(self.claim.plan, self.claim.unit_value, cells)  # type: ignore[attr-defined]
        return [max(-BEYOND, min(threshold, BEYOND - 1)) for threshold in exact]

    @property
    def needs_noise(self) -> bool:
        return any(part.norms.l1 for part in self.claim.parts)


def plan_task(
    statistic: Statistic, schema: Schema, dtype: object, relation: Relation, missing: Missing, unit: Unit
) -> Task:
    """Plan a statistic on the public facts about a table, for rows of this unit."""
    weight = _weight(statistic)
    problem, unit_value = statistic.problem(schema, dtype, relation, missing)
    method, own = statistic.pick_method(unit_value), statistic.unit(unit)
    claim = make_claim(type(statistic), problem, choose(problem, method), own, unit_value)
    is_ranked = isinstance(statistic, Quantile)
    if is_ranked:
        require_few_cells(claim.plan)
    takes_numbers = statistic.takes == "numbers" or isinstance(statistic.cells, Edges) or is_ranked
    is_untyped = takes_numbers and getattr(schema, "has_no_types", False) and dtype is None
    return Task(statistic, claim, missing, weight, not is_untyped)


@lru_cache(maxsize=256)
def make_claim(kind: type[Statistic], problem: Problem, adder: Method, unit: Unit, unit_value: Fraction) -> Claim:
    """The claim of a statistic, which follows from public facts alone and is therefore cached."""
    return Claim(kind, Plan(problem, adder, unit), unit_value)


def _weight(statistic: Statistic) -> Fraction:
    if type(statistic.weight) is int and statistic.weight == 1:  # as most are
        return Fraction(1)
    weight = decimal(statistic.weight, "weight")
    if is_special(weight):
        raise RefusedValue(
            "weight",
            Reason.NOT_A_NUMBER,
            "`weight={given}`: a share of the cost is a number above 0",
            "give one such as 2",
            given=quote(statistic.weight),
        )
    if weight <= 0:
        raise RefusedValue(
            "weight",
            Reason.TOO_SMALL,
            "`weight={given}`: a share of the cost is a number above 0",
            "give one such as 2",
            given=quote(statistic.weight),
        )
    if is_long(Fraction(weight)):
        raise RefusedValue(
            "weight",
            Reason.TOO_MANY,
            "`weight={given}` has too many digits: a share of the cost is a number above 0",
            "give one such as 2",
            given=quote(statistic.weight),
        )
    return Fraction(weight)


def make_query(
    tasks: Sequence[Task],
    rows: Rows,
    source: str,
    binding: Binding,
    names: Sequence[str] | None = None,
    found: Found | None = None,
) -> Query:
    """Everything that is asked, checked to be planned for these rows; `names` are those that somebody gave.

    `found` is how groups are found that nobody listed; their search is then the last of the tasks.
    """
    for task in tasks:
        task.require_rows(rows)
    whole = sum([task.weight for task in tasks if task.needs_noise])
    shares = [task.weight / whole if task.needs_noise else Fraction(0) for task in tasks]
    called: Sequence[str | None] = [*(names or ()), *[None] * (len(tasks) - len(names or ()))]
    unit, by, binding = tasks[0].claim.plan.unit, rows.described_by, binding.without_ids()
    of_persons = unit.max_rows is not None
    asked = tuple([_ask(task, share, name) for task, share, name in zip(tasks, shares, called, strict=True)])
    listed = None if rows.groups is None else Listed.of(rows.groups.names)
    return Query(
        source,
        binding,
        unit.max_rows,
        unit.max_groups if of_persons else None,
        () if by is None else tuple(map(as_plain, by if isinstance(by, list) else [by])),
        listed if found is None else replace(found, weight=1),
        () if rows.where is None else rows.where.to_plain(),
        asked,
    )


def _ask(task: Task, share: Fraction, name: str | None) -> Asked:
    cells = task.statistic.cells
    listed = None if cells is None else Listed.of(cells.names)
    return ask(task.claim, task.statistic.column, task.missing, share, name, listed)


def ask(
    claim: Claim, column: Any, missing: str, share: Fraction, name: str | None = None, cells: Listed | None = None
) -> Asked:
    """One statistic of a query; it follows from what a release says of itself, beside its share, name and cells."""
    problem, plan, (lower, upper) = claim.plan.problem, claim.plan, claim.given_bounds
    return Asked(
        statistic=claim.kind.name,
        name=name,
        dtype=problem.dtype.name,
        lower=lower,
        upper=upper,
        unit_value=claim.unit_value,
        size=problem.size,
        max_size=problem.max_size,
        missing=missing,
        method=plan.method,
        parameters=parameters(plan.method, plan.adder),
        column=as_plain(column),
        cells=cells,
        share=share,
    )
