"""The sum of a column: by default the ideal sensitivity, by any method on request."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from soundsum.methods import Method
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.formatting import bound
from soundsum.numbers.types import IntType
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.statistics.statistic import STATISTICS, SUM, Additive, Bounded, Part

ZERO = Fraction(0)


@STATISTICS.register
@dataclass(frozen=True)
class Sum(Bounded):
    """The sum of a column, each record clamped to [lower, upper]."""

    max_size: int | None = None
    method: str | Method = "auto"

    name = "sum"
    is_the_sum = True

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        if unit.max_rows is None:
            return ""
        low, high = (bound(unit.max_rows * end) for end in (min(bounds[0], ZERO), max(bounds[1], ZERO)))
        rows = f"{unit.max_rows:,} row{'s' * (unit.max_rows > 1)}"
        return unit.say(f"each person counts with a total{{}} clamped to [{low}, {high}], as much as {rows} can add")

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps | None:
        return plan.record_steps

    @classmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        reach = None if steps is None else (steps.low, steps.high)
        return (Part("sum", plan.step, plan.step_norms, SUM, reach, wraps=_find_wrapping(plan)),)

    @classmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Additive:
        step, public = plan.step, ZERO
        if plan.unit.is_plain and n is not None:
            public = plan.adder.public_part(plan.problem, n)
        if unit_value != 1:  # of decimals
            step, public = step * unit_value, public * unit_value
        is_whole = plan.problem.dtype.is_integer and unit_value == 1
        return Additive(noises[0], step, is_whole, public, _find_wrapping(plan))


def _find_wrapping(plan: Plan) -> IntType | None:
    """The type in whose arithmetic a modular sum is computed."""
    signed = getattr(plan.problem.dtype, "signed", True)
    return None if plan.modulus is None else IntType(plan.modulus.bit_length() - 1, signed)
