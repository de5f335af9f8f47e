"""Quantiles: one of the public candidates, chosen by how many values lie below it and how many are not above it.

Values are clamped to the bounds. The cells that are counted are the candidates and the open intervals between them, so
that both numbers are known of every candidate. What is released is the choice alone (privacy/choice.py); the proof is
docs/theorems/quantiles.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from soundsum.kernels.grouped import find_cells
from soundsum.kernels.preparation import as_doubles_array
from soundsum.methods.problem import Problem, read_bound, require_ascending
from soundsum.methods.ranks import Ladder, Ranks
from soundsum.methods.steps import RecordSteps
from soundsum.numbers.formatting import amount
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special, nearest_float
from soundsum.numbers.types import IntType, NumberType, float64
from soundsum.privacy.choice import RankNorms, read_quantile
from soundsum.privacy.noise import Noise
from soundsum.privacy.planner import Plan
from soundsum.privacy.units import Unit
from soundsum.refusals import Reason, RefusedType, RefusedValue
from soundsum.statistics.histogram import Edges
from soundsum.statistics.statistic import COUNT, STATISTICS, Part, Statistic, make_problem
from soundsum.tables.keys import Codes, require_few
from soundsum.tables.records import Column, Missing
from soundsum.tables.relations import Relation
from soundsum.tables.schemas import Batch, Schema

if TYPE_CHECKING:
    from soundsum.statistics.task import Claim

MEDIAN = Fraction(1, 2)

CANDIDATES = 4096
"""Candidates, where nobody says how many."""

MOST_LISTED, MOST = 10_000, 100_000
"""Candidates that may be listed, as certificates have them, and that may be asked for by their number."""


@STATISTICS.register
@dataclass(frozen=True)
class Quantile(Statistic):
    """A quantile of numbers clamped to [lower, upper]: 0.5 is the median.

    `candidates` are the numbers that may be released, as a list, or how many of equal distance from bound to bound.
    """

    column: str | None
    quantile: Any
    lower: Any = None
    upper: Any = None
    dtype: object = None
    candidates: Any = field(default=None, kw_only=True)
    weight: Any = field(default=1, kw_only=True)

    name = "quantile"
    takes = "rows"
    drops_missing = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "quantile", read_quantile(self.quantile))
        object.__setattr__(self, "candidates", _read_candidates(self.candidates))

    def problem(self, schema: Schema, dtype: object, relation: Relation, missing: Missing) -> tuple[Problem, Fraction]:
        if self.lower is None or self.upper is None:
            raise RefusedValue(
                "lower" if self.lower is None else "upper",
                Reason.MISSING,
                "`{option}` is missing for the quantile",
                "give both bounds from public knowledge, such as `lower=0`, `upper=100`",
            )
        lower, upper = read_bound("lower", self.lower), read_bound("upper", self.upper)
        require_ascending(lower, upper)
        if lower == upper:
            raise RefusedValue(
                "upper",
                Reason.EMPTY,
                "`lower` and `upper` are both {given}, so there is nothing to choose between",
                "give bounds that differ",
                given=quote(self.upper),
            )
        kind, unit_value = schema.type(self.column, dtype)
        _require_doubles(kind, lower, upper)
        _require_within(self.candidates, lower, upper)
        problem = make_problem(kind, lower / unit_value, upper / unit_value, relation)
        if not self.pick_method(unit_value).ladder(problem).values:
            raise RefusedValue(
                "lower",
                Reason.EMPTY,
                "no value of {kind} lies between `lower` and `upper`",
                "widen the bounds",
                kind=str(kind),
            )
        return problem, unit_value

    def pick_method(self, unit_value: Fraction) -> Ranks:
        return Ranks(self.quantile, self.candidates, unit_value)

    @classmethod
    def say_missing(cls, missing: Missing, bounds: tuple[Fraction, Fraction]) -> str:
        return "missing values left out"

    @classmethod
    def say_persons(cls, unit: Unit, bounds: tuple[Fraction, Fraction]) -> str:
        return unit.caps

    @classmethod
    def unmet(cls, plan: Plan) -> list[str]:
        return [] if isinstance(plan.adder, Ranks) else ["a quantile is chosen by ranks; leave `method` out"]

    @classmethod
    def record_steps(cls, plan: Plan) -> RecordSteps | None:
        return RecordSteps(1, 1, Fraction(1))  # each record adds 1 to the count of its cell

    @classmethod
    def parts(cls, plan: Plan, steps: RecordSteps | None) -> tuple[Part, ...]:
        assert isinstance(plan.step_norms, RankNorms)
        return (Part("rank", plan.step, plan.step_norms, COUNT, (0, 1), power=0),)

    @classmethod
    def estimator(
        cls, plan: Plan, steps: RecordSteps | None, noises: tuple[Noise, ...], n: int | None, unit_value: Fraction
    ) -> Chosen:
        assert isinstance(plan.adder, Ranks)
        ladder = plan.adder.ladder(plan.problem)
        lower, upper = plan.problem.lower * unit_value, plan.problem.upper * unit_value
        return Chosen(ladder.values, isinstance(plan.problem.dtype, IntType) and unit_value == 1, (lower, upper))


@dataclass(frozen=True)
class Chosen:
    """Reads a choice: the candidate in that place. Nothing is known of how far it is from the quantile but its rank."""

    values: tuple[Fraction, ...]
    is_whole: bool
    bounds: tuple[Fraction, Fraction]

    limits = None

    def exact(self, noisy: tuple[int, ...]) -> int | Fraction:
        value = self.values[noisy[0]]
        return int(value) if self.is_whole and value.denominator == 1 else value

    def interval(self, noisy: tuple[int, ...], confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        return self.bounds

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        low, high = map(nearest_float, self.bounds)
        values: list[int | Fraction | float] = [self.exact((place,)) for place in noisy[0]]
        return values, [low] * len(values), [high] * len(values)


@dataclass(frozen=True)
class RankCells(Edges):
    """The candidates, and what lies between them, as cells that engines count; every number is in one."""

    @cached_property
    def names(self) -> list[Any]:
        return list(pairwise(self.edges))

    def codes(self, batch: Batch, column: str | None, unit_value: Fraction) -> Codes:
        values, inner = batch.numbers(column), self.edges[1:-1]
        if not isinstance(values, Column):
            return find_cells(np.array([float(x) for x in values]), inner)
        if values.type.is_integer and unit_value == 1 and self.is_whole:
            found = find_cells(values.values, inner)
            return np.where(values.missing(), np.int32(len(inner) + 1), found) if values.nullable else found
        if values.type.name == "float64" and not values.nullable:
            return find_cells(values.values, inner)
        numbers = as_doubles_array(values)
        return find_cells(numbers if unit_value == 1 else numbers / float(1 / unit_value), inner)

    @cached_property
    def is_whole(self) -> bool:
        return all(isinstance(edge, int) for edge in self.edges)


@lru_cache(maxsize=64)
def rank_cells(ladder: Ladder) -> RankCells:
    return RankCells(ladder.edges)


def list_quantiles(quantile: Any) -> tuple[list[Any], list[str] | None]:
    """The quantiles asked for, and how each is called; no names where only one is asked for, by itself."""
    if isinstance(quantile, str) or not isinstance(quantile, Iterable):
        return [quantile], None
    listed = list(quantile)
    if not listed:
        raise RefusedValue("quantile", Reason.EMPTY, "`quantile` is empty", "give one such as 0.5, the median")
    read = [read_quantile(one) for one in listed]
    if len(set(read)) < len(read):
        raise RefusedValue(
            "quantile",
            Reason.REPEATED,
            "`quantile={given}` has one twice",
            "give each once",
            given=quote(listed),
        )
    return listed, [amount(one) for one in read]


def require_few_cells(plan: Plan) -> None:
    """Refuse more counts than a release may need, before anything is charged."""
    if isinstance(plan.adder, Ranks):
        _, _, cells = plan.adder.choice(plan.problem)
        require_few(cells * plan.unit.entries, "quantiles by groups, which count two cells for every candidate,")


def _read_candidates(candidates: Any) -> int | tuple[Fraction, ...]:
    """How many candidates, or which."""
    if candidates is None:
        return CANDIDATES
    if isinstance(candidates, bool | str) or not (hasattr(candidates, "__index__") or isinstance(candidates, Iterable)):
        raise RefusedType(
            "candidates",
            Reason.WRONG_TYPE,
            "`candidates={given}` is neither a list of numbers nor how many there are",
            "give one of these, such as `candidates=[0, 10, 20]`, or leave it out",
            given=quote(candidates),
        )
    if hasattr(candidates, "__index__") and not isinstance(candidates, Iterable):
        return _read_number(int(candidates))
    if hasattr(candidates, "ndim") and candidates.ndim == 0:
        return _read_number(int(candidates))
    listed = list(candidates)
    if not listed:
        raise RefusedValue("candidates", Reason.EMPTY, "`candidates` is empty", "list at least two numbers")
    if len(listed) > MOST_LISTED:
        raise RefusedValue(
            "candidates",
            Reason.TOO_MANY,
            "`candidates` lists {count:,} numbers, and at most {most:,} may be listed",
            "give their number instead, or fewer",
            count=len(listed),
            most=MOST_LISTED,
        )
    found = [exact(one, "candidates") for one in listed]
    for one in found:
        if is_special(one):
            raise RefusedValue(
                "candidates",
                Reason.NOT_A_NUMBER,
                "`candidates` has {given} in it: what may be released are finite numbers",
                "leave it out",
                given=quote(one),
            )
    return tuple(sorted({Fraction(one) for one in found}))


def _read_number(count: int) -> int:
    if count < 2:
        raise RefusedValue(
            "candidates",
            Reason.TOO_SMALL,
            "`candidates={given}` leaves nothing to choose between",
            "give 2 or more, or leave it out",
            given=quote(count),
        )
    if count > MOST:
        raise RefusedValue(
            "candidates",
            Reason.TOO_MANY,
            "`candidates={given}` is more than {most:,}",
            "give fewer, or leave it out",
            given=quote(count),
            most=MOST,
        )
    return count


def _require_doubles(kind: NumberType, lower: Fraction, upper: Fraction) -> None:
    """Refuses bounds beyond the doubles in which floats are compared with candidates."""
    largest = Fraction(float64.max)
    for name, bound in (("lower", lower), ("upper", upper)):
        if not isinstance(kind, IntType) and abs(bound) > largest:
            raise RefusedValue(
                name,
                Reason.TOO_LARGE,
                "`{option}` is beyond the doubles in which floats are compared",
                "give a tighter one",
            )


def _require_within(candidates: int | tuple[Fraction, ...], lower: Fraction, upper: Fraction) -> None:
    if not isinstance(candidates, int):
        outside = next((one for one in candidates if not lower <= one <= upper), None)
        if outside is not None:
            raise RefusedValue(
                "candidates",
                Reason.CONFLICT,
                "{given} in `candidates` is not within `lower` and `upper`",
                "leave it out, or widen the bounds",
                given=quote(outside),
            )


def find_crossing(asked: Iterable[tuple[str | None, Claim]]) -> list[list[int]]:
    """The places of quantiles of one column with the same candidates, in the order of the quantiles."""
    alike: dict[Any, list[tuple[Fraction, int]]] = {}
    for place, (column, claim) in enumerate(asked):
        adder = claim.plan.adder
        if isinstance(adder, Ranks):
            what = (column, claim.plan.problem, adder.candidates, adder.unit_value)
            alike.setdefault(what, []).append((adder.quantile, place))
    return [[place for _, place in sorted(own)] for own in alike.values()]


def list_others(place: int, crossing: Sequence[Sequence[int]], drawn: Sequence[tuple[Noise, ...]]) -> tuple[Noise, ...]:
    """The choices that a quantile was sorted with."""
    return tuple(drawn[other][0] for own in crossing if place in own for other in own if other != place)


def uncross(noisy: list[list[list[int]]], crossing: Sequence[Sequence[int]]) -> None:
    """Sort the choices for several quantiles, so that they do not cross; this is post-processing."""
    for places in crossing if noisy[0][0] else ():  # no group may have been found
        in_order = zip(*(map(sorted, zip(*(noisy[place][0] for place in places), strict=True))), strict=True)
        for place, chosen in zip(places, in_order, strict=True):
            noisy[place][0] = list(chosen)
