"""The paper's roadmap as code: for a problem, every way to add with what it costs, and the best one.

`choose` picks a method by name or by rule; a `Plan` joins it to a problem and a unit of privacy, with the sensitivity
that is proved for the three; `rank` lists a plan for every method, the cheapest first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import TYPE_CHECKING, Any

from soundsum.methods import METHODS, Method, OnGrid, Ranks, Theorem, Wide
from soundsum.methods.problem import Problem
from soundsum.methods.steps import RecordSteps, steps_from_zero
from soundsum.numbers import text_tables
from soundsum.numbers.formatting import number, ratio
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact
from soundsum.numbers.types import IntType
from soundsum.privacy.choice import RankNorms
from soundsum.privacy.explain import explain
from soundsum.privacy.guarantee import Guarantee, guarantee
from soundsum.privacy.units import RECORD, Norms, Unit
from soundsum.refusals import Clause, Reason, RefusedType, RefusedValue, join_clauses
from soundsum.tables.read_guard import hold_no_data
from soundsum.tables.records import Missing, records
from soundsum.tables.relations import Relation

if TYPE_CHECKING:
    from soundsum.budget import Budget
    from soundsum.releases.released import Release

WIDE, GRID = Wide(), OnGrid()
BY_GROUP = (WIDE, GRID)
"""The defaults for integers and for floats, which alone add by group and by person."""


@dataclass(frozen=True)
class Plan:
    """A problem, a summation method and a privacy unit, with their proved sensitivity.

    Everything is computed once, when the plan is made. If the method does not apply, `unmet` lists the reasons, each
    with a remedy, and the attributes that would need its theorem raise them.
    """

    problem: Problem
    adder: Method
    unit: Unit = RECORD
    method: str = field(init=False, repr=False, compare=False)
    unmet: tuple[str, ...] = field(init=False, repr=False, compare=False)
    ideal: Fraction = field(
        init=False, repr=False, compare=False
    )  # the sensitivity of the same sums over the real numbers
    steps: tuple[str, ...] = field(init=False, repr=False, compare=False)  # what is done to the records, in order
    modulus: int | None = field(init=False, repr=False, compare=False)  # 2^w where the sum is only known modulo it
    randomised: bool = field(init=False, repr=False, compare=False)  # whether two sums of the same data may differ
    record_steps: RecordSteps | None = field(
        init=False, repr=False, compare=False
    )  # each record as an integer; None for a sum that is more than these
    step: Fraction = field(init=False, repr=False, compare=False)  # what the sum is counted in, and its noise too
    step_norms: Norms[int] = field(
        init=False, repr=False, compare=False
    )  # how far one unit can move the sum, or the sums of all groups, in steps
    norms: Norms[Fraction] = field(init=False, repr=False, compare=False)  # the same in the data's units

    def __post_init__(self) -> None:
        problem, adder, unit = self.problem, self.adder, self.unit
        facts: dict[str, Any] = {"unmet": _find_unmet(problem, adder, unit), "method": adder.label}
        if not facts["unmet"]:
            # By group steps are counted from 0, as the sizes of groups are private; of a private size they always are.
            is_ranked = isinstance(adder, Ranks)
            from_zero = problem.relation.sized and not (unit.is_plain or is_ranked)
            facts |= {"steps": adder.steps(problem), "modulus": adder.modulus(problem)}
            facts["randomised"] = adder.is_randomised(problem)
            steps = steps_from_zero(problem) if from_zero else adder.record_steps(problem)
            step = adder.noise_step(problem) if steps is None or is_ranked else steps.step
            facts |= {"record_steps": steps, "step": step}
            if isinstance(adder, Ranks):
                ranks = RankNorms.of(*adder.choice(problem), unit, problem.relation)
                facts |= {"step_norms": ranks, "norms": ranks.times(step)}
            elif unit.is_plain or steps is None:  # by whatever method: what its theorem says
                sensitivity = adder.sensitivity(problem)
                most = math.ceil(sensitivity / step)
                facts |= {"step_norms": Norms(most, most**2), "norms": Norms(sensitivity, sensitivity**2)}
            else:
                norms = unit.norms(steps.low, steps.high, problem.relation)
                facts |= {"step_norms": norms, "norms": norms.times(step)}
        ideal = unit.norms(problem.lower, problem.upper, problem.relation).l1
        facts["ideal"] = facts["norms"].l1 if "norms" in facts and isinstance(adder, Ranks) else ideal
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:  # asked for what is not there
        if name in PROVED:
            self.require_applicable()
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def theorem(self) -> Theorem:
        return self.adder.theorem

    @property
    def sensitivity(self) -> Fraction:
        """The largest change of the sum by one unit (a record or a person), or of the sums of all groups together (L1).

        In the data's units; modulo `modulus` if there is one.
        """
        return self.norms.l1

    @property
    def ratio(self) -> Fraction:
        """The sensitivity over the ideal one; 1 where both are zero."""
        return self.sensitivity / self.ideal if self.ideal else Fraction(1)

    @property
    def accuracy(self) -> Fraction | None:
        """A proved bound on |computed sum - exact sum of the clamped records kept|, if there is one."""
        self.require_applicable()
        return self.adder.accuracy(self.problem)

    def sum(self, data: Any, missing: Missing = "zero") -> int | Fraction:
        """Compute the method's own sum, without noise, exactly: an int for integers, otherwise a Fraction."""
        self.require_applicable()
        total = self.adder.sum(self.problem, records(data, self.problem.dtype), missing)
        return int(total) if isinstance(self.problem.dtype, IntType) else total

    def error(
        self,
        epsilon: Any = None,
        confidence: float = 0.95,
        *,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
    ) -> float:
        """The half-width of a release's interval: the most that noise moves the sum, with this confidence.

        >>> round(Plan(Problem("float64", 0, 1000), OnGrid()).error(epsilon=1, confidence=0.95), 6)
        2995.732274
        """
        return float(self._error(guarantee(epsilon, delta, rho, noise), confidence))

    def epsilon_for(self, error: Any, confidence: float = 0.95) -> Fraction:
        """Find the least epsilon, to one part in a million, whose Laplace noise keeps this error at this confidence.

        >>> Plan(Problem("float64", 0, 1000), OnGrid()).epsilon_for(error=3000)
        Fraction(2094169, 2097152)
        """
        allowed = exact(error, "error")
        if isinstance(allowed, float):
            raise RefusedValue(
                "error",
                Reason.NOT_A_NUMBER,
                "`error={given}` is not a finite number",
                "give how far the noise may move the sum, a number above 0",
                given=quote(error),
            )
        if allowed <= 0:
            raise RefusedValue(
                "error",
                Reason.TOO_SMALL,
                "`error={given}` is not above 0",
                "give how far the noise may move the sum, a number above 0",
                given=quote(error),
            )
        if not self.sensitivity:
            return Fraction(0)

        def enough(epsilon: Fraction) -> bool:
            return self._error(guarantee(epsilon), confidence) <= allowed

        high = Fraction(1)
        while not enough(high):
            high *= 2
        while enough(high / 2):
            high /= 2
        low = high / 2
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high

    def _error(self, promised: Guarantee, confidence: float) -> Fraction:
        if not isinstance(confidence, Real | Decimal | str):
            raise RefusedType(
                "confidence",
                Reason.WRONG_TYPE,
                "`confidence={given}`:",
                "give a number between 0 and 1, such as 0.95",
                given=quote(confidence),
            )
        return promised.noise_for(self.step_norms).half_width(confidence) * self.step

    @hold_no_data
    def release(
        self,
        data: Any,
        epsilon: Any = None,
        *,
        noise: str = "laplace",
        delta: Any = None,
        rho: Any = None,
        column: str | None = None,
        missing: Missing = "zero",
        budget: Budget | None = None,
        name: str | None = None,
    ) -> Release:
        """Release the method's sum with noise for its sensitivity; the options are those of `soundsum.sum`.

        >>> p = Plan(Problem("float64", 0, 10), OnGrid())
        >>> p.release([1.0, 2.0, 3.0], epsilon="1/2").epsilon
        Fraction(1, 2)
        """
        from soundsum.releases.planning import release_plan  # the one step up: a plan is carried out there

        promised = guarantee(epsilon, delta, rho, noise)
        return release_plan(self, data, promised, column, missing, budget, name)

    def of_size(self, n: int) -> Plan:
        """Restate the plan for data of n records, where their number is public."""
        return Plan(self.problem.with_size(n), self.adder, self.unit)

    def explain(self) -> str:
        """Explain the guarantee and its proof, for people."""
        return explain(self, [] if self.unmet or not self.unit.is_plain else rank(self.problem))

    def to_json(self) -> dict[str, Any]:
        """A plain dict, exact numbers as strings."""
        problem = self.problem
        described: dict[str, Any] = {
            "method": self.method,
            "applies": not self.unmet,
            "unmet": list(self.unmet),
            "theorem": {"name": self.adder.theorem.name, "reference": self.adder.theorem.reference},
            "problem": {
                "dtype": problem.dtype.name,
                "lower": str(problem.lower),
                "upper": str(problem.upper),
                "relation": str(problem.relation),
                "size": problem.size,
                "max_size": problem.max_size,
            },
            "unit": {name: getattr(self.unit, name) for name in ("groups", "max_rows", "max_groups")},
            "ideal": str(self.ideal),
        }
        if not self.unmet:
            described |= {
                "sensitivity": str(self.norms.l1),
                "sensitivity_l2_squared": str(self.norms.l2_squared),
                "ratio": str(self.ratio),
                "steps": list(self.steps),
                "modulus": self.modulus,
                "randomised": self.randomised,
            }
        return described

    def require_applicable(self) -> None:
        """Refuses a problem the method's theorem is not about."""
        if self.unmet:
            raise RefusedValue(
                "method",
                Reason.UNSOUND,
                "{method} does not apply: {reasons}",
                method=self.method,
                reasons=join_clauses(self.unmet),
            )

    def __repr__(self) -> str:
        if self.unmet:
            return f"<{self.method}, which does not apply to {self.problem}: {'; '.join(self.unmet)}>"
        most = f"{number(self.sensitivity)} (ideal {number(self.ideal)}, ratio {ratio(self.ratio)})"
        return f"<{self.method} for {self.problem}: {self.unit} moves the sum by at most {most}>"

    def _repr_html_(self) -> str:
        if self.unmet:
            return text_tables.table(
                [("does not apply", "; ".join(self.unmet))], caption=f"{self.method}: {self.problem}"
            )
        rows = {
            "method": f"{self.method}: {' -> '.join(self.steps)}",
            "sensitivity": number(self.sensitivity),
            "ideal": f"{number(self.ideal)} for exact addition; the ratio is {ratio(self.ratio)}",
            "protects": self.unit,
            "theorem": self.theorem.statement,
        }
        return text_tables.table(rows.items(), caption=str(self.problem))


PROVED = ("steps", "modulus", "randomised", "record_steps", "step", "step_norms", "norms")
"""Attributes that are missing where a method does not apply."""


def _find_unmet(problem: Problem, adder: Method, unit: Unit) -> tuple[str, ...]:
    reasons = adder.unmet(problem)
    if not (unit.is_plain or adder in BY_GROUP or isinstance(adder, Ranks)):
        reasons = [
            *reasons,
            Clause("sums by group, by person or of some rows are added by wide or grid; leave `method` out"),
        ]
    if unit.max_rows is not None and problem.relation != Relation.SYMMETRIC:
        reasons = [
            *reasons,
            Clause(
                f"persons come or go, so `privacy_unit` needs symmetric, not {problem.relation}; leave `relation` out"
            ),
        ]
    return tuple(reasons)


def choose(problem: Problem, method: str | Method = "auto") -> Method:
    """A method: "auto", "float" (the best that adds floats as floats), a name, or a method made by hand."""
    require_problem(problem)
    if isinstance(method, Method):
        return method
    if not isinstance(method, str) or method not in ("auto", "float", *METHODS):
        raise RefusedValue(
            "method",
            Reason.UNKNOWN,
            "`method={given}` is not one of auto, float, {known}",
            given=quote(method),
            known=", ".join(METHODS),
        )
    if method == "auto":
        return WIDE if isinstance(problem.dtype, IntType) else GRID
    if method == "float":
        adding = [plan for plan in rank(problem) if plan.adder.adds_floats]
        if not adding[0].unmet:
            return adding[0].adder
        methods: dict[str, list[str]] = {}  # by the first reason why they do not apply
        for plan in adding:
            methods.setdefault(join_clauses(plan.unmet[:1]).template, []).append(plan.method)
        reasons = join_clauses(Clause(f"{', '.join(names)}: {reason}") for reason, names in methods.items())
        raise RefusedValue(
            "method",
            Reason.UNSOUND,
            "no method that adds floats as floats applies: {reasons}",
            "or leave `method` out",
            reasons=reasons,
        )
    return METHODS[method]


def require_problem(problem: Any) -> None:
    """Refuses the data itself, on which a plan must not depend."""
    if not isinstance(problem, Problem):
        raise RefusedType(
            "problem",
            Reason.WRONG_TYPE,
            "{given} is not a problem; a plan is made before any data:",
            "give `ss.Problem('float64', 0, 1000)`, with the type and the bounds of records",
            given=quote(problem),
        )


def rank(problem: Problem) -> list[Plan]:
    """Plan a sum with every method: applicable ones first, smallest sensitivity first; the others with reasons."""
    require_problem(problem)
    every = [Plan(problem, method) for method in METHODS.values()]
    applicable = sorted((plan for plan in every if not plan.unmet), key=_preference)
    return applicable + [plan for plan in every if plan.unmet]


def _preference(plan: Plan) -> tuple[Fraction, bool, bool, int]:
    """Smallest sensitivity; then plain results before modular ones, deterministic before randomised, fewer steps."""
    return plan.sensitivity, plan.modulus is not None, plan.randomised, len(plan.steps)
