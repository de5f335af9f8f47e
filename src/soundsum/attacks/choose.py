"""Choosing an attack: by its name and parameters, or from a wish for a ratio or a size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.attacks.attack import Attack
from soundsum.attacks.families import FAMILIES, path
from soundsum.attacks.family import Family, Situation, Unmet, Wish, index, show_parameter
from soundsum.methods.problem import Problem
from soundsum.numbers.formatting import number
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special
from soundsum.numbers.types import NumberType, number_type
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

USUAL_RECORDS = 1 << 30
"""Where bounds are given and nothing else, the strongest attack within this size is taken, or else the smallest."""


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
    """Two neighbouring datasets of `dtype` that an ordinary sum tells apart, by a family's name.

    `parameters` are the theorem's own (j, m, a, d, upper, ...). With `ratio` the smallest dataset that reaches that
    many times the ideal sensitivity is chosen, with `max_records` the largest ratio within that size, with both the
    smallest that does both. `bounds` asks for an attack on a problem with these bounds. `target` is for path: a
    noiseless sum that takes an array, or the name of one of ours.

    >>> a = attack("rounding", "float32", ratio=100)
    >>> a.records, a.ratio, a.measure() == a.predicted, dict(a.parameters)
    (129, Fraction(128, 1), True, {'j': 7, 'm': -1})
    """
    family = _family(name)
    kind = family.default if dtype is None else number_type(dtype)
    situation = Situation(kind, _relation(family, relation), _bounds(bounds), target)
    _check(family, situation, parameters)
    wish = Wish(_ratio(ratio), _size(max_records))
    turned = situation
    if _to_mirror(family, situation):
        assert situation.bounds
        lower, upper = situation.bounds
        turned = replace(situation, bounds=(-upper, -lower), turned=True)
    try:
        found = _choose(family, turned, wish, parameters)
    except Unmet as unmet:
        raise ValueError(f"{unmet}{_nearest(family, turned, parameters, unmet)}") from None
    except ValueError as error:
        raise ValueError(f"{error}{_or_path(family, situation)}") from None
    return _mirror(found) if turned.turned else found


def families_for(kind: NumberType) -> list[str]:
    return [name for name, family in FAMILIES.items() if family.unmet(kind) is None]


def _choose(family: Family, situation: Situation, wish: Wish, parameters: dict[str, Any]) -> Attack:
    if wish == Wish():
        try:
            return _build(family, situation, parameters)
        except ValueError as error:
            by_default = isinstance(error, Unmet) and error.name not in parameters
            if situation.bounds is None and not by_default:
                raise
            # What was not given does not suit the bounds or the type; something else may.
            reached, _ = _try_candidates(family, situation, Wish(max_records=USUAL_RECORDS), parameters)
            small = [a for a in reached if a.records <= USUAL_RECORDS]
            if not reached:
                raise
            return max(small, key=lambda a: (a.ratio, -a.records)) if small else min(reached, key=lambda a: a.records)
    reached, reasons = _try_candidates(family, situation, wish, parameters)
    if not reached:
        raise reasons[0]
    return _best(reached, wish, family, situation)


def _try_candidates(
    family: Family, situation: Situation, wish: Wish, parameters: dict[str, Any]
) -> tuple[list[Attack], list[ValueError]]:
    """The family's candidates beside the given parameters: those that can be built, and why the others cannot."""
    reached: list[Attack] = []
    reasons: list[ValueError] = []
    tried: list[dict[str, Any]] = []
    for candidate in family.candidates(situation, wish, parameters):
        together = {**candidate, **parameters}
        if together not in tried:
            tried.append(together)
            try:
                reached.append(_build(family, situation, together))
            except ValueError as error:
                reasons.append(error)
    return reached, reasons


def _build(family: Family, situation: Situation, parameters: dict[str, Any]) -> Attack:
    return _useful(family.build(situation, **parameters), situation)


def _nearest(family: Family, situation: Situation, parameters: dict[str, Any], unmet: Unmet) -> str:
    """The nearest parameter that really works: within the condition if that is enough, else as far as sums fit."""

    reasons: list[str] = []

    def works(number: int) -> bool:
        try:
            _build(family, situation, {**parameters, unmet.name: unmet.value(number)})
        except ValueError as error:
            reasons.append(str(error))
            return False
        return True

    near = max(unmet.low, min(unmet.high, unmet.given))
    far = unmet.low if near == unmet.high else unmet.high
    if unmet.low > unmet.high or not (works(near) or works(far)):
        condition = str(unmet).partition(": ")[2]
        none = f", which no {unmet.name} meets here"
        if reasons and condition not in reasons[0]:
            none = f", and none that meets it works here ({reasons[0]})"
        return f"{none}; use another type or other parameters"
    if works(near):
        far = near
    while abs(near - far) > 1:  # far works and near does not
        middle = (near + far) // 2
        near, far = (near, middle) if works(middle) else (middle, far)
    return f"; the nearest that works is {unmet.name}={show_parameter(unmet.value(far))}"


def _or_path(family: Family, situation: Situation) -> str:
    """What to use on bounds that a family of floats cannot attack, if the path can."""
    if situation.bounds is None or family is path.FAMILY or situation.relation not in path.FAMILY.relations:
        return ""
    try:
        attack(path.FAMILY.name, situation.kind, relation=situation.relation, bounds=situation.bounds)
    except ValueError:
        return ""
    return "; path attacks these bounds"


def _best(reached: list[Attack], wish: Wish, family: Family, situation: Situation) -> Attack:
    if wish.ratio is None:
        assert wish.max_records is not None
        useful = [a for a in reached if a.ratio > 1 or a.target is not None]
        fitting = [a for a in useful if a.records <= wish.max_records]
        if not fitting:
            least = min((a.records for a in useful), default=None)
            hint = "" if least is None else f"; the smallest that does has {least:,} records"
            raise ValueError(
                f"max_records={wish.max_records:,}: no {family.name} attack on {situation.kind} that small "
                f"moves the sum by more than the ideal{hint}"
            )
        return max(fitting, key=lambda a: (a.ratio, -a.records))
    strong = [a for a in reached if a.ratio >= wish.ratio]
    if not strong:
        most = max(reached, key=lambda a: a.ratio)
        raise ValueError(
            f"ratio={number(wish.ratio)}: the largest of {family.name} attacks on {situation.kind} is "
            f"{_exactly(Fraction(most.ratio))}, with {most.records:,} records; give a ratio up to that"
        )
    smallest = min(strong, key=lambda a: a.records)
    if wish.max_records is not None and smallest.records > wish.max_records:
        raise ValueError(
            f"ratio={number(wish.ratio)} takes {smallest.records:,} records on {situation.kind}, "
            f"and max_records={wish.max_records:,}; give a smaller ratio or more records"
        )
    return smallest


def _exactly(ratio: Fraction) -> str:
    """A ratio that can be asked for: rounded, it might be just out of reach."""
    return f"{int(ratio):,}" if ratio.denominator == 1 else str(ratio)


def _useful(found: Attack, situation: Situation) -> Attack:
    """An attack that moves the sum by less than one record may within the given bounds is none.

    Except where a target was asked, whose answer is the finding.
    """
    if situation.bounds is not None and found.ratio <= 1 and found.target is None:
        problem = found.problem
        remedy = "nearer each other" if situation.relation.sized else "nearer zero"
        raise ValueError(
            f"bounds={situation.as_given(problem.lower, problem.upper)}: {found.name} moves the sum by "
            f"{found.predicted}, no more than the ideal, {found.ideal}; give bounds {remedy}, or other parameters"
        )
    return found


# Bounds below zero


def _to_mirror(family: Family, situation: Situation) -> bool:
    """Whether the bounds reach further below zero than above: floats are symmetric, so an attack can be turned over."""
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


# Checking arguments


def _family(name: str) -> Family:
    if name not in FAMILIES:
        raise ValueError(f"name={quote(name)} is not an attack; use one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


def _check(family: Family, situation: Situation, parameters: dict[str, Any]) -> None:
    if reason := family.unmet(situation.kind):
        others = ", ".join(families_for(situation.kind)) or "none"
        raise ValueError(
            f"{family.name} does not apply to {situation.kind}: {reason}; the attacks on {situation.kind} are {others}"
        )
    for name in parameters:
        if name not in family.parameters:
            raise ValueError(
                f"{name}={quote(parameters[name])}: {family.name} takes {', '.join(family.parameters)}, and not {name}"
            )
    if situation.target is not None and not family.asks_target:
        raise ValueError(f"target: {family.name} does not ask the sum it attacks; leave target out, or use path")
    if (
        situation.bounds
        and situation.bounds[0] == situation.bounds[1]
        and (situation.relation.sized or not situation.bounds[0])
    ):
        never = "no record can change" if situation.relation.sized else "no record moves a sum"
        raise ValueError(f"bounds: both are {situation.bounds[0]}, so {never}; give bounds that differ")
    for bound in situation.bounds or ():
        if bound not in situation.kind:
            nearest = situation.kind.round(bound)
            raise ValueError(f"bounds: {bound} is not a value of {situation.kind}; the nearest is {nearest}")


def _relation(family: Family, relation: Relation | str | None) -> Relation:
    chosen = family.relations[0] if relation is None else Relation.read(relation)
    if chosen not in family.relations:
        raise ValueError(
            f"relation={chosen}: the datasets of {family.name} are neighbours under {', '.join(family.relations)}; "
            "use one of these"
        )
    return chosen


def _bounds(bounds: tuple[Any, Any] | None) -> tuple[Fraction, Fraction] | None:
    if bounds is None:
        return None
    if not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise ValueError(f"bounds={quote(bounds)}: give two numbers, the least and the largest a record may be")
    lower, upper = (exact(bound, "bounds") for bound in bounds)
    if is_special(lower) or is_special(upper) or lower > upper:
        raise ValueError(f"bounds=({lower}, {upper}) are not two finite numbers that go up; give the lower one first")
    return Fraction(lower), Fraction(upper)


def _ratio(ratio: Any) -> Fraction | None:
    wanted = None if ratio is None else exact(ratio, "ratio")
    if wanted is None:
        return None
    if is_special(wanted) or wanted <= 0:
        raise ValueError(f"ratio={quote(ratio)}: how many times the ideal is a finite number above 0")
    return Fraction(wanted)


def _size(max_records: int | None) -> int | None:
    if max_records is None:
        return None
    size = index("max_records", max_records)
    if size < 1:
        raise ValueError(f"max_records={quote(size)}: a number of records is a whole number, 1 or more")
    return size
