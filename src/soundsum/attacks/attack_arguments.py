"""The arguments of `attack`, checked: a family that applies to the type, a relation, bounds, a ratio, a size."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from soundsum.attacks.families import FAMILIES
from soundsum.attacks.family import Family, Situation, index
from soundsum.numbers.quoting import quote
from soundsum.numbers.rationals import exact, is_special
from soundsum.numbers.types import NumberType
from soundsum.refusals import Reason, RefusedValue
from soundsum.tables.relations import Relation


def families_for(kind: NumberType) -> list[str]:
    return [name for name, family in FAMILIES.items() if family.unmet(kind) is None]


def find_family(name: str) -> Family:
    if not isinstance(name, str) or name not in FAMILIES:
        raise RefusedValue(
            "name",
            Reason.UNKNOWN,
            "`name={given}` is not an attack",
            "use one of {known}",
            given=quote(name),
            known=", ".join(FAMILIES),
        )
    return FAMILIES[name]


def check_family(family: Family, situation: Situation, parameters: dict[str, Any]) -> None:
    if reason := family.unmet(situation.kind):
        raise RefusedValue(
            "dtype",
            Reason.UNSUPPORTED,
            "{attack} does not apply to {dtype}: {why}",
            "the attacks on {dtype} are {others}",
            attack=family.name,
            dtype=str(situation.kind),
            why=reason,
            others=", ".join(families_for(situation.kind)) or "none",
        )
    for name in parameters:
        if name not in family.parameters:
            raise RefusedValue(
                name,
                Reason.UNKNOWN,
                "`{option}={given}` is not a parameter of {attack}",
                "it takes {known}",
                given=quote(parameters[name]),
                attack=family.name,
                known=", ".join(family.parameters),
            )
    if situation.target is not None and not family.asks_target:
        raise RefusedValue(
            "target",
            Reason.UNSUPPORTED,
            "{attack} does not ask the sum it attacks, so it takes no `target`",
            "leave `target` out, or use the attack path",
            attack=family.name,
        )
    if (
        situation.bounds
        and situation.bounds[0] == situation.bounds[1]
        and (situation.relation.sized or not situation.bounds[0])
    ):
        never = "no record can change" if situation.relation.sized else "no record moves a sum"
        raise RefusedValue(
            "bounds",
            Reason.UNSUPPORTED,
            "both `bounds` are {bound}, so {never}",
            "give bounds that differ",
            bound=str(situation.bounds[0]),
            never=never,
        )
    check_bounds(situation.bounds or (), situation.kind)


def check_bounds(bounds: Sequence[Fraction], kind: NumberType) -> None:
    for bound in bounds:
        if bound not in kind:
            raise RefusedValue(
                "bounds",
                Reason.CONFLICT,
                "{bound} in `bounds` is not a value of {dtype}",
                "the nearest is {nearest}",
                bound=quote(bound),
                dtype=str(kind),
                nearest=str(kind.round(bound)),
            )


def read_relation(family: Family, relation: Relation | str | None) -> Relation:
    chosen = family.relations[0] if relation is None else Relation.read(relation)
    if chosen not in family.relations:
        raise RefusedValue(
            "relation",
            Reason.UNSUPPORTED,
            "`relation={given}`: the datasets of {attack} are neighbours under {relations}",
            "use one of these",
            given=str(chosen),
            attack=family.name,
            relations=", ".join(family.relations),
        )
    return chosen


def read_bounds(bounds: object) -> tuple[Fraction, Fraction]:
    if not isinstance(bounds, Sequence) or len(bounds) != 2:
        raise RefusedValue(
            "bounds",
            Reason.WRONG_TYPE,
            "`bounds={given}` are not two numbers",
            "give the least and the largest a record may be",
            given=quote(bounds),
        )
    lower, upper = (exact(bound, "bounds") for bound in bounds)
    if is_special(lower) or is_special(upper):
        raise RefusedValue(
            "bounds",
            Reason.NOT_A_NUMBER,
            "`bounds=({lower}, {upper})` are not finite",
            "give two finite numbers, the least and the largest a record may be",
            lower=quote(lower),
            upper=quote(upper),
        )
    if lower > upper:
        raise RefusedValue(
            "bounds",
            Reason.SWAPPED,
            "`bounds=({lower}, {upper})` do not go up",
            "give the lower one first",
            lower=quote(lower),
            upper=quote(upper),
        )
    return Fraction(lower), Fraction(upper)


def read_ratio(ratio: Any) -> Fraction | None:
    wanted = None if ratio is None else exact(ratio, "ratio")
    if wanted is None:
        return None
    if is_special(wanted) or wanted <= 0:
        raise RefusedValue(
            "ratio",
            Reason.TOO_SMALL,
            "`ratio={given}` is not a finite number above 0",
            "give how many times the ideal a sum should move",
            given=quote(ratio),
        )
    return Fraction(wanted)


def read_size(max_records: int | None) -> int | None:
    if max_records is None:
        return None
    size = index("max_records", max_records)
    if size < 1:
        raise RefusedValue(
            "max_records",
            Reason.TOO_SMALL,
            "`max_records={given}` is less than 1",
            "give a whole number, 1 or more",
            given=quote(size),
        )
    return size
