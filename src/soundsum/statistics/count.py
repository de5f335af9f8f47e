"""The number of rows, or of those with a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.statistics.statistic import COUNT, STATISTICS, Additive, Part, Statistic
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Schema, require_columns


class Counted(Statistic):
    """A statistic whose parts are counts: each record adds 1, where it is counted."""

    entry_name = "count"

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return f"rows with missing values {'left out' if missing == 'drop' else 'counted'}"

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        return unit.caps

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps | None:
        return plan.record_steps

    @classmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        assert steps is not None
        return (Part("count", Fraction(1), plan.step_norms, COUNT, (steps.low, steps.high), power=0),)

    @classmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Additive:
        return Additive(noises[0], Fraction(1), is_whole=True)


@STATISTICS.register
@dataclass(frozen=True)
class Count(Counted):
    """The number of rows, or of rows with a value in the column if missing ones are dropped."""

    column: str | None = None
    weight: Any = field(default=1, kw_only=True)

    name = "count"
    takes = "present rows"  # if missing ones are dropped
    needs_column = False

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        if missing == "drop":
            require_columns(schema.names, schema, self.column)
        return Problem("uint8", 1, 1, relation), Fraction(1)
