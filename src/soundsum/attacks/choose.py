"""Choosing an attack: by its name and parameters, or from a wish for a ratio or a size."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from soundsum.attacks import (
    overflow,
    path,
    reordering,
    repeated_rounding_1,
    repeated_rounding_2,
    rounding,
    saturation_reordering,
    special_values,
    tree_rounding,
)
from soundsum.attacks.attack import Attack
from soundsum.attacks.family import Family, Setting, Wish
from soundsum.explain import number
from soundsum.numbers import NumberType, number_type
from soundsum.problem import Problem
from soundsum.rationals import exact, is_special
from soundsum.relations import Relation
from soundsum.runs import Runs

_MODULES = (
    overflow,
    saturation_reordering,
    reordering,
    rounding,
    tree_rounding,
    repeated_rounding_1,
    repeated_rounding_2,
    special_values,
    path,
)
FAMILIES: dict[str, Family] = {module.FAMILY.name: module.FAMILY for module in _MODULES}


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
    noiseless sum that takes an array.

    >>> a = attack("rounding", "float32", ratio=100)
    >>> a.records, a.ratio, a.measure() == a.predicted, dict(a.parameters)
    (129, Fraction(128, 1), True, {'j': 7, 'm': -1})
    """
    family = _family(name)
    kind = family.default if dtype is None else number_type(dtype)
    setting = Setting(kind, _relation(family, relation), _bounds(bounds), target)
    _check(family, setting, parameters)
    wish = Wish(_ratio(ratio), _size(max_records))
    if not _to_mirror(family, setting):
        return _chosen(family, setting, wish, parameters)
    assert setting.bounds
    lower, upper = setting.bounds
    return _mirror(_chosen(family, replace(setting, bounds=(-upper, -lower)), wish, parameters))


def families_for(kind: NumberType) -> list[str]:
    return [name for name, family in FAMILIES.items() if family.unmet(kind) is None]


def _chosen(family: Family, setting: Setting, wish: Wish, parameters: dict[str, Any]) -> Attack:
    if wish == Wish():
        try:
            return _useful(family.build(setting, **parameters), setting)
        except ValueError:
            if setting.bounds is None or parameters:
                raise
            wish = Wish(max_records=1 << 30)  # the defaults do not suit these bounds; others may
    reached: list[Attack] = []
    reasons: list[ValueError] = []
    for candidate in family.candidates(setting, wish):
        try:
            reached.append(_useful(family.build(setting, **{**candidate, **parameters}), setting))
        except ValueError as error:
            reasons.append(error)
    if not reached:
        raise reasons[-1] if reasons else ValueError(f"no {family.name} attack on {setting.kind} is that small")
    return _best(reached, wish, family, setting)


def _best(reached: list[Attack], wish: Wish, family: Family, setting: Setting) -> Attack:
    if wish.ratio is None:
        assert wish.max_records is not None
        useful = [a for a in reached if a.ratio > 1 or a.target is not None]
        fitting = [a for a in useful if a.records <= wish.max_records]
        if not fitting:
            least = min((a.records for a in useful), default=None)
            hint = "" if least is None else f"; the smallest that does has {least:,} records"
            raise ValueError(
                f"max_records={wish.max_records:,}: no {family.name} attack on {setting.kind} that small "
                f"moves the sum by more than the ideal{hint}"
            )
        return max(fitting, key=lambda a: (a.ratio, -a.records))
    strong = [a for a in reached if a.ratio >= wish.ratio]
    if not strong:
        most = max(reached, key=lambda a: a.ratio)
        raise ValueError(
            f"ratio={number(wish.ratio)}: the largest a {family.name} attack on {setting.kind} reaches is "
            f"{number(Fraction(most.ratio))}, with {most.records:,} records"
        )
    smallest = min(strong, key=lambda a: a.records)
    if wish.max_records is not None and smallest.records > wish.max_records:
        raise ValueError(
            f"ratio={number(wish.ratio)} takes {smallest.records:,} records on {setting.kind}, "
            f"and max_records={wish.max_records:,}; give a smaller ratio or more records"
        )
    return smallest


def _useful(found: Attack, setting: Setting) -> Attack:
    """An attack on given bounds that are too wide for it moves the sum by less than one record may, and is none.

    Except where a target was asked, whose answer is the finding.
    """
    if setting.bounds is not None and found.ratio <= 1 and found.target is None:
        problem = found.problem
        raise ValueError(
            f"bounds=({problem.lower}, {problem.upper}) are too wide: {found.name} moves the sum by "
            f"{found.predicted}, and the ideal is {found.ideal}; give bounds nearer each other, or other parameters"
        )
    return found


# Bounds below zero


def _to_mirror(family: Family, setting: Setting) -> bool:
    """Whether the bounds reach further below zero than above: floats are symmetric, so an attack can be turned over."""
    return family.mirrors and setting.bounds is not None and -setting.bounds[0] > setting.bounds[1]


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
        raise ValueError(f"name={name!r} is not an attack; use one of {', '.join(FAMILIES)}")
    return FAMILIES[name]


def _check(family: Family, setting: Setting, parameters: dict[str, Any]) -> None:
    if reason := family.unmet(setting.kind):
        others = ", ".join(families_for(setting.kind)) or "none"
        raise ValueError(
            f"{family.name} does not apply to {setting.kind}: {reason}; the attacks on {setting.kind} are {others}"
        )
    for name in parameters:
        if name not in family.parameters:
            raise ValueError(
                f"{name}={parameters[name]!r}: {family.name} takes {', '.join(family.parameters)}, and not {name}"
            )
    if setting.target is not None and family.name != "path":
        raise ValueError(f"target: {family.name} does not ask the sum it attacks; leave target out, or use path")
    if setting.bounds and setting.relation.sized and setting.bounds[0] == setting.bounds[1]:
        raise ValueError(f"bounds: both are {setting.bounds[0]}, so no record can change; give bounds that differ")
    for bound in setting.bounds or ():
        if bound not in setting.kind:
            nearest = setting.kind.round(bound)
            raise ValueError(f"bounds: {bound} is not a value of {setting.kind}; the nearest is {nearest}")


def _relation(family: Family, relation: Relation | str | None) -> Relation:
    chosen = family.relations[0] if relation is None else Relation(relation)
    if chosen not in family.relations:
        raise ValueError(
            f"relation={chosen}: the datasets of {family.name} are neighbours under {', '.join(family.relations)}; "
            "use one of these"
        )
    return chosen


def _bounds(bounds: tuple[Any, Any] | None) -> tuple[Fraction, Fraction] | None:
    if bounds is None:
        return None
    lower, upper = (exact(bound, "bounds") for bound in bounds)
    if is_special(lower) or is_special(upper) or lower > upper:
        raise ValueError(f"bounds=({lower}, {upper}) are not two finite numbers that go up; give lower and upper")
    return Fraction(lower), Fraction(upper)


def _ratio(ratio: Any) -> Fraction | None:
    wanted = None if ratio is None else exact(ratio, "ratio")
    if wanted is None:
        return None
    if is_special(wanted) or wanted <= 0:
        raise ValueError(f"ratio={ratio}: how many times the ideal is a finite number above 0")
    return Fraction(wanted)


def _size(max_records: int | None) -> int | None:
    if max_records is not None and (not isinstance(max_records, int) or max_records < 1):
        raise ValueError(f"max_records={max_records!r}: a number of records is a whole number, 1 or more")
    return max_records
