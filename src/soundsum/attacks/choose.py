"""Choose an attack by its name and parameters, or by a ratio or a size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.attack_arguments import (
    check_family,
    find_family,
    read_bounds,
    read_ratio,
    read_relation,
    read_size,
)
from soundsum.attacks.families import path
from soundsum.attacks.family import Family, Situation, Unmet, Wish, show_parameter
from soundsum.methods.problem import Problem
from soundsum.numbers.formatting import number
from soundsum.numbers.types import number_type
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

USUAL_RECORDS = 1 << 30
"""Given bounds alone, the strongest attack within this size is chosen, or else the smallest."""


def attack(
    name: str,
    dtype: object = None,
    *,
    relation: Relation | str | None = None,
    bounds: tuple[Any, Any] | None = None,
    ratio: Any = None,
    max_records: int | None = None,
    target: Any = None,
    **parameters: Any,
) -> Attack:
    """Build two neighbouring datasets of `dtype` that an ordinary sum tells apart.

    name: a family of attacks, such as "rounding".
    ratio: choose the smallest datasets whose sums differ by this many ideal sensitivities.
    max_records: choose the largest ratio within this size; with both, the smallest datasets that reach `ratio`.
    bounds, relation: the problem to attack.
    target: for "path", a noiseless sum that takes an array, or the name of one of ours.
    parameters: the theorem's own (j, m, a, d, upper, ...).

    >>> a = attack("rounding", "float32", ratio=100)
    >>> a.records, a.ratio, a.measure() == a.predicted, dict(a.parameters)
    (129, Fraction(128, 1), True, {'j': 7, 'm': -1})
    """
    family = find_family(name)
    kind = family.default if dtype is None else number_type(dtype)
    within = None if bounds is None else read_bounds(bounds)
    situation = Situation(kind, read_relation(family, relation), within, target)
    check_family(family, situation, parameters)
    wish = Wish(read_ratio(ratio), read_size(max_records))
    turned = situation
    if _to_mirror(family, situation):
        assert situation.bounds
        lower, upper = situation.bounds
        turned = replace(situation, bounds=(-upper, -lower), turned=True)
    found = _choose(family, turned, wish, parameters)
    if isinstance(found, Unmet):
        raise _refuse_unmet(family, turned, parameters, found)
    if isinstance(found, ValueError):
        raise _or_path(family, situation, found)
    return _mirror(found) if turned.turned else found


def _choose(family: Family, situation: Situation, wish: Wish, parameters: dict[str, Any]) -> Attack | ValueError:
    """The attack, or why there is none: an `Unmet`, or the error to raise."""
    if wish == Wish():
        built = _build(family, situation, parameters)
        by_default = isinstance(built, Unmet) and built.name not in parameters
        if isinstance(built, Attack) or (situation.bounds is None and not by_default):
            return built
        # What was not given does not suit the bounds or the type; something else may.
        reached, _ = _try_candidates(family, situation, Wish(max_records=USUAL_RECORDS), parameters)
        small = [a for a in reached if a.records <= USUAL_RECORDS]
        if not reached:
            return built
        return max(small, key=lambda a: (a.ratio, -a.records)) if small else min(reached, key=lambda a: a.records)
    reached, errors = _try_candidates(family, situation, wish, parameters)
    return _best(reached, wish, family, situation) if reached else errors[0]


def _try_candidates(
    family: Family, situation: Situation, wish: Wish, parameters: dict[str, Any]
) -> tuple[list[Attack], list[ValueError]]:
    """The family's candidates beside the given parameters: those that can be built, and why the others cannot."""
    reached: list[Attack] = []
    errors: list[ValueError] = []
    tried: list[dict[str, Any]] = []
    for candidate in family.candidates(situation, wish, parameters):
        together = {**candidate, **parameters}
        if together not in tried:
            tried.append(together)
            built = _build(family, situation, together)
            if isinstance(built, Attack):
                reached.append(built)
            else:
                errors.append(built)
    return reached, errors


def _build(family: Family, situation: Situation, parameters: dict[str, Any]) -> Attack | ValueError:
    """The attack with these parameters, or why there is none."""
    try:
        return _useful(family.build(situation, **parameters), situation)
    except ValueError as error:
        return error


def _refuse_unmet(family: Family, situation: Situation, parameters: dict[str, Any], unmet: Unmet) -> RefusedValue:
    """The refusal of a parameter outside its condition, with the nearest that works."""
    given = show_parameter(unmet.value(unmet.given))
    nearest = _nearest(family, situation, parameters, unmet)
    if isinstance(nearest, Unmet):
        return RefusedValue(
            unmet.name,
            Reason.UNSUPPORTED,
            "`{option}={given}`: the condition is {condition}; `{option}={nearest}` meets it, but then the condition "
            "of {other} is {further}",
            "use another type or other parameters",
            given=given,
            condition=unmet.condition,
            nearest=show_parameter(unmet.value(_nearest_in_range(unmet))),
            other=nearest.name,
            further=nearest.condition,
        )
    if nearest is None:
        return RefusedValue(
            unmet.name,
            Reason.UNSUPPORTED,
            "`{option}={given}`: the condition is {condition}, and no `{option}` meets it here",
            "use another type or other parameters",
            given=given,
            condition=unmet.condition,
        )
    works = show_parameter(unmet.value(nearest))
    if unmet.given < nearest:
        return RefusedValue(
            unmet.name,
            Reason.TOO_SMALL,
            "`{option}={given}`: the condition is {condition}",
            "the nearest that works is `{option}={works}`",
            given=given,
            condition=unmet.condition,
            works=works,
        )
    return RefusedValue(
        unmet.name,
        Reason.TOO_LARGE,
        "`{option}={given}`: the condition is {condition}",
        "the nearest that works is `{option}={works}`",
        given=given,
        condition=unmet.condition,
        works=works,
    )


def _nearest(family: Family, situation: Situation, parameters: dict[str, Any], unmet: Unmet) -> int | Unmet | None:
    """The nearest parameter that really works: within the condition if that is enough, else as far as sums fit.

    If none does: the other condition that the nearest misses, or None.
    """

    def build(number: int) -> Attack | ValueError:
        return _build(family, situation, {**parameters, unmet.name: unmet.value(number)})

    def works(number: int) -> bool:
        return isinstance(build(number), Attack)

    if unmet.low > unmet.high:
        return None
    near = _nearest_in_range(unmet)
    far = unmet.low if near == unmet.high else unmet.high
    nearest = build(near)
    if isinstance(nearest, Attack):
        return near
    if not works(far):
        return nearest if isinstance(nearest, Unmet) and nearest.condition != unmet.condition else None
    while abs(near - far) > 1:  # far works and near does not
        middle = (near + far) // 2
        near, far = (near, middle) if works(middle) else (middle, far)
    return far


def _nearest_in_range(unmet: Unmet) -> int:
    return max(unmet.low, min(unmet.high, unmet.given))


def _or_path(family: Family, situation: Situation, error: ValueError) -> ValueError:
    """The reason why a family of floats cannot attack the bounds; suggests the path if that can."""
    of_bounds = isinstance(error, RefusedValue) and error.option == "bounds"
    if not of_bounds or family is path.FAMILY or situation.relation not in path.FAMILY.relations:
        return error
    try:
        attack(path.FAMILY.name, situation.kind, relation=situation.relation, bounds=situation.bounds)
    except ValueError:
        return error
    assert situation.bounds is not None
    return RefusedValue(
        "bounds",
        Reason.UNSUPPORTED,
        "`bounds={bounds}` do not allow this {attack} attack",
        "use the attack path, which takes these bounds",
        bounds=f"({situation.bounds[0]}, {situation.bounds[1]})",
        attack=family.name,
    )


def _best(reached: list[Attack], wish: Wish, family: Family, situation: Situation) -> Attack:
    if wish.ratio is None:
        assert wish.max_records is not None
        useful = [a for a in reached if a.ratio > 1 or a.target is not None]
        fitting = [a for a in useful if a.records <= wish.max_records]
        if not fitting:
            least = min((a.records for a in useful), default=None)
            if least is None:
                raise RefusedValue(
                    "max_records",
                    Reason.TOO_SMALL,
                    "`max_records={given:,}`: no {attack} attack on {dtype} that small moves the sum by more than the "
                    "ideal",
                    "use another type, other bounds or another attack",
                    given=wish.max_records,
                    attack=family.name,
                    dtype=str(situation.kind),
                )
            raise RefusedValue(
                "max_records",
                Reason.TOO_SMALL,
                "`max_records={given:,}`: no {attack} attack on {dtype} that small moves the sum by more than the "
                "ideal",
                "the smallest that does has {least:,} records",
                given=wish.max_records,
                attack=family.name,
                dtype=str(situation.kind),
                least=least,
            )
        return max(fitting, key=lambda a: (a.ratio, -a.records))
    strong = [a for a in reached if a.ratio >= wish.ratio]
    if not strong:
        most = max(reached, key=lambda a: a.ratio)
        raise RefusedValue(
            "ratio",
            Reason.TOO_LARGE,
            "`ratio={given}`: the largest of {attack} attacks on {dtype} is {most}, with {records:,} records",
            "give a ratio up to that",
            given=number(wish.ratio),
            attack=family.name,
            dtype=str(situation.kind),
            most=_exactly(Fraction(most.ratio)),
            records=most.records,
        )
    smallest = min(strong, key=lambda a: a.records)
    if wish.max_records is not None and smallest.records > wish.max_records:
        raise RefusedValue(
            "max_records",
            Reason.CONFLICT,
            "`ratio={ratio}` takes {records:,} records on {dtype}, and `max_records={given:,}`",
            "give a smaller ratio or more records",
            ratio=number(wish.ratio),
            records=smallest.records,
            dtype=str(situation.kind),
            given=wish.max_records,
        )
    return smallest


def _exactly(ratio: Fraction) -> str:
    """A ratio that `attack` accepts again: rounded, it might be just out of reach."""
    return f"{int(ratio):,}" if ratio.denominator == 1 else str(ratio)


def _useful(found: Attack, situation: Situation) -> Attack:
    """Refuse an attack that moves the sum by less than one record may within the given bounds.

    With a target, its answer is the finding, so nothing is refused.
    """
    if situation.bounds is not None and found.ratio <= 1 and found.target is None:
        problem = found.problem
        nearer = "nearer each other" if situation.relation.sized else "nearer zero"
        raise RefusedValue(
            "bounds",
            Reason.TOO_LARGE,
            "`bounds={bounds}`: {attack} moves the sum by {moved}, no more than the ideal, {ideal}",
            "give bounds {nearer}, or other parameters",
            bounds=situation.as_given(problem.lower, problem.upper),
            attack=found.name,
            moved=str(found.predicted),
            ideal=str(found.ideal),
            nearer=nearer,
        )
    return found


# Bounds below zero


def _to_mirror(family: Family, situation: Situation) -> bool:
    """Returns whether the bounds reach further below zero than above; as floats are symmetric, an attack mirrors."""
    return family.mirrors and situation.bounds is not None and -situation.bounds[0] > situation.bounds[1]


def _mirror(found: Attack) -> Attack:
    problem, (left, right) = found.problem, found.totals
    return replace(
        found,
        left=_negative(found.left),
        right=_negative(found.right),
        problem=Problem(problem.dtype, -problem.upper, -problem.lower, problem.relation, problem.size),
        totals=(-left, -right),
    )


def _negative(runs: Runs) -> Runs:
    return Runs(runs.type, ((tuple(-x for x in pattern), count) for pattern, count in runs.parts))
