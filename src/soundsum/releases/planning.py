"""Plans as people ask for them: one, or one for every method; and how one is carried out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from soundsum.budget import Binding, Budget
from soundsum.engines import open_engine
from soundsum.methods import Method, Ranks
from soundsum.methods.problem import Problem
from soundsum.numbers import text_tables
from soundsum.numbers.formatting import number, ratio
from soundsum.numbers.quoting import say_column
from soundsum.numbers.types import NumberType, number_type
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.planner import Plan, choose, rank
from soundsum.privacy.units import RECORD, Unit
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.releases.frames import require_module
from soundsum.releases.pipeline import Prepared, carry_out
from soundsum.releases.plots import draw_ratios
from soundsum.releases.released import Release, require_confidence
from soundsum.statistics import Claim, Quantile, Sum, Task, make_query
from soundsum.statistics.task import make_claim
from soundsum.tables.paths import name_source
from soundsum.tables.records import Missing
from soundsum.tables.relations import Relation
from soundsum.tables.rows import Rows
from soundsum.tables.schemas import require_columns

HEAD = ("method", "sensitivity", "ratio", "how, or why not")


def release_plan(
    plan: Plan,
    data: Any,
    promised: Guarantee,
    column: str | None,
    missing: Missing,
    budget: Budget | None,
    name: str | None,
) -> Release:
    """Carry out a plan: the method's own sum, with noise for its sensitivity."""
    if not plan.unit.is_plain:
        raise RefusedValue(
            "plan",
            Reason.UNSUPPORTED,
            "this plan is for sums by group or person",
            "use `ss.sum` with `by` or `privacy_unit`",
        )
    engine = open_engine(data)
    require_columns(engine.schema.names, engine.schema, column)
    _, unit_value = engine.schema.type(column, plan.problem.dtype)
    if unit_value != 1:
        raise RefusedType(
            "plan",
            Reason.MISMATCH,
            "{column} is decimal, and the plan is for {type}",
            "use `ss.sum`",
            column=say_column(column),
            type=str(plan.problem.dtype),
        )
    task = Task(Sum(column, plan.problem.lower, plan.problem.upper), Claim(Sum, plan), missing)
    binding = Binding(relation=plan.problem.relation, data=name)
    query = make_query([task], Rows(), name_source(data), binding)
    prepared = Prepared([task], Rows(), query, binding)
    (released,) = carry_out(engine, prepared, promised, budget)
    assert isinstance(released, Release)
    return released


class Typed:
    """A column known by its type alone, without a table."""

    def __init__(self, dtype: object) -> None:
        self._kind = number_type(dtype)

    def type(self, column: str | None, dtype: object = None) -> tuple[NumberType, Fraction]:
        return self._kind, Fraction(1)


@dataclass(frozen=True)
class QuantilePlan:
    """The choice of a quantile before any data: its candidates, the rate that the cost allows, and the rank error."""

    claim: Claim
    promised: Guarantee

    @property
    def candidates(self) -> tuple[Fraction, ...]:
        """The numbers from which one is chosen for release."""
        adder = self.claim.plan.adder
        assert isinstance(adder, Ranks)
        return adder.ladder(self.claim.plan.problem).values

    @property
    def sensitivity(self) -> Fraction:
        """The most ranks by which one unit moves the error of a candidate, all groups together."""
        return self.claim.plan.sensitivity

    def rank_error(self, confidence: float = 0.95) -> int:
        """The rank error that a release will state, as `Release.rank_error`."""
        require_confidence(confidence)
        (choice,) = self.claim.noises(self.promised)
        return choice.half_width(confidence)

    def __str__(self) -> str:
        number_of = f"{len(self.candidates):,} candidates"
        return f"{number_of}, at most {self.rank_error():,} ranks beyond the best of them at 95% ({self.promised})"

    def __repr__(self) -> str:
        return f"<{self}>"


def plan_quantile(
    quantile: Any,
    lower: Any,
    upper: Any,
    epsilon: Any = None,
    *,
    candidates: Any = None,
    dtype: object = "float64",
    groups: int | None = None,
    max_rows: int | None = None,
    max_groups: int = 1,
    relation: Relation | str = Relation.SYMMETRIC,
    noise: str = "laplace",
    delta: Any = None,
    rho: Any = None,
) -> QuantilePlan:
    """Plan a quantile, before anything is spent: how far its rank will be off.

    quantile, lower, upper, epsilon, candidates, relation, noise, delta, rho: as for `quantile`.
    dtype: the type of the column.
    groups: how many groups there are, if there are any.
    max_rows, max_groups: with persons, as for `quantile`; leave max_rows out where records are protected.

    >>> plan_quantile(0.5, 0, 200_000, epsilon=1).rank_error(0.95)
    11
    """
    promised, given = guarantee(epsilon, delta, rho, noise), Relation.read(relation)
    asked = Quantile(None, quantile, lower, upper, candidates=candidates)
    schema: Any = Typed(dtype)
    problem, unit_value = asked.problem(schema, None, given, "drop")
    claim = make_claim(Quantile, problem, asked.pick_method(unit_value), Unit(groups, max_rows, max_groups), unit_value)
    return QuantilePlan(claim, promised)


class Plans(list[Plan]):
    """A plan for every method; a table in a notebook, and a picture of what they cost by the number of records."""

    def __repr__(self) -> str:
        lines = text_tables.lines([HEAD, *self._rows()], {1, 2})
        return "\n".join([f"<plans for {self[0].problem}", *(f"  {line}" for line in lines)]) + ">"

    def _repr_html_(self) -> str:
        return text_tables.table(self._rows(), HEAD, str(self[0].problem), {1, 2})

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [
            (p.method, "", "", "; ".join(p.unmet)) if p.unmet
            else (p.method, number(p.sensitivity), ratio(p.ratio), " -> ".join(p.steps))
            for p in self
        ]  # fmt: skip

    def plot(self, most: int = 1 << 20, ax: Any = None) -> Any:
        """The ratio of each method's sensitivity to the ideal one against n, up to `most` records, with matplotlib."""
        problem, ratios = self[0].problem, {}
        which = "size" if problem.relation.sized else "max_size"
        for adder in (p.adder for p in self):
            points = []
            for exponent in range(most.bit_length()):
                own = {"size": None, "max_size": None, which: 1 << exponent}
                n = Problem(problem.dtype, problem.lower, problem.upper, problem.relation, **own)
                plan = Plan(n, adder)
                if not plan.unmet:
                    points.append((1 << exponent, float(plan.ratio)))
            if points:
                ratios[adder.label] = ([n for n, _ in points], [found for _, found in points])
        title = f"Methods of adding {replace(problem, size=None, max_size=None)}"
        return draw_ratios(require_module("matplotlib.pyplot", "plot"), title, ratios, ax)


def plan(problem: Problem, method: str | Method = "auto", unit: Unit = RECORD) -> Plan:
    """Plan a sum with one method: "auto", "float" (the best float summation), a method's name, or a method of your own.

    If the method does not apply, a ValueError gives the reason and the remedy.

    >>> p = plan(Problem("float64", 0, 1000))
    >>> p.method, p.sensitivity, p.ratio, p.steps
    ('grid', Fraction(1000, 1), Fraction(1, 1), ('grid', 'wide'))
    >>> plan(Problem("float32", 0, 1, "change_one", size=1_000_000), "float").method
    'toward_zero'
    """
    chosen = Plan(problem, choose(problem, method), unit)
    if chosen.unmet:
        chosen.require_applicable()
    return chosen


def plans(problem: Problem) -> Plans:
    """Plan a sum with every method: applicable ones first, smallest sensitivity first; the others with reasons."""
    return Plans(rank(problem))
