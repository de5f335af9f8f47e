"""Test vectors for libraries in any language: the attacks as plain JSON files.

One file for each rule. A vector has two neighbouring datasets as runs (a pattern of values and how often it repeats;
floats in hexadecimal, integers in decimal), their exact sums, how far one record may move a sum over the real numbers
(`ideal`), and by how much the attacked arithmetic moves (`jump`). `python -m soundsum.auditor.corpus FOLDER`
writes them all; `schema.json` beside them says the same in JSON Schema.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from soundsum.attacks import FAMILIES, Attack, attack, families_for
from soundsum.auditor.finding import hexadecimal
from soundsum.auditor.rules import rule_for, rule_of
from soundsum.numbers.rationals import Value, is_special
from soundsum.numbers.types import number_type
from soundsum.tables.relations import Relation
from soundsum.tables.runs import Runs

VERSION = 1
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int8", "uint8")
SIZES = (34, 258, 4098, 65538)
"""The most records of a vector, one after another; a family that needs more has its smallest instead."""

MOST_RECORDS = 1 << 30


def vectors() -> Iterator[Attack]:
    """Every family, type, relation and size, each pair once."""
    seen: set[str] = set()
    for dtype in DTYPES:
        for name in families_for(number_type(dtype)):
            for relation in FAMILIES[name].relations:
                for made in _of_family(name, dtype, relation):
                    key = repr((made.name, dtype, relation, made.left.parts, made.right.parts))
                    if key not in seen:
                        seen.add(key)
                        yield made


def _of_family(name: str, dtype: str, relation: Relation) -> Iterator[Attack]:
    wishes: list[dict[str, Any]] = [{"max_records": size} for size in SIZES]
    if name == "special_values":
        wishes = [{"form": form} for form in ("nan", "inf", "overflow")]
    made = []
    for wish in wishes:
        try:
            made.append(attack(name, dtype, relation=relation, **wish))
        except ValueError:  # not that small
            continue
    if not made:
        try:
            made.append(attack(name, dtype, relation=relation, ratio=2))
        except ValueError:
            return
    yield from (one for one in made if one.records <= MOST_RECORDS)


def files() -> dict[str, Any]:
    """The corpus by file name."""
    made: dict[str, Any] = {}
    for one in vectors():
        rule = rule_for(rule_of(one))
        file = made.setdefault(
            f"{rule.name}.json",
            {
                "$schema": "schema.json",
                "version": VERSION,
                "rule": rule.name,
                "title": rule.title,
                "cause": rule.cause,
                "reference": one.reference,
                "groups": [],
            },
        )
        _add(file["groups"], one)
    return made


def _add(groups: list[dict[str, Any]], made: Attack) -> None:
    """Into the group of the same type, relation and bounds; or a new one."""
    p = made.problem
    head = {"dtype": p.dtype.name, "relation": str(p.relation), "lower": _text(p.lower, p), "upper": _text(p.upper, p)}
    group = next((g for g in groups if all(g[key] == value for key, value in head.items())), None)
    if group is None:
        group = {**head, "ideal": str(made.ideal), "vectors": []}
        groups.append(group)
    group["vectors"].append(
        {
            "records": made.records,
            "distance": int(made.distance),
            **hexadecimal(made),
            "exact": [_exact(made.left), _exact(made.right)],
            "aimed_at": made.aimed_at,
            "computed": [str(x) for x in made.totals],
            "jump": None if made.predicted is None else str(made.predicted),
        }
    )


def _text(x: Value, problem: Any) -> str:
    return str(int(x)) if problem.dtype.is_integer else float(Fraction(x)).hex()


def _exact(runs: Runs) -> str | None:
    """The sum over the real numbers; None where a record is not a number."""
    return None if any(is_special(x) for x in runs.counts()) else str(runs.total())


def _reference(definition: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{definition}"}


RATIONAL = {"type": "string", "pattern": "^-?[0-9]+(/[0-9]+)?$"}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Neighbouring datasets that sums tell apart",
    "type": "object",
    "required": ["version", "rule", "title", "cause", "reference", "groups"],
    "properties": {
        "$schema": {"type": "string"},
        "version": {"type": "integer"},
        "rule": {"type": "string"},
        "title": {"type": "string"},
        "cause": {"type": "string"},
        "reference": {"type": "string"},
        "groups": {"type": "array", "items": _reference("group")},
    },
    "additionalProperties": False,
    "$defs": {
        "group": {
            "type": "object",
            "required": ["dtype", "relation", "lower", "upper", "ideal", "vectors"],
            "properties": {
                "dtype": {"type": "string", "enum": list(DTYPES)},
                "relation": {"type": "string", "enum": [str(relation) for relation in Relation]},
                "lower": _reference("value"),
                "upper": _reference("value"),
                "ideal": RATIONAL,
                "vectors": {"type": "array", "items": _reference("vector")},
            },
            "additionalProperties": False,
        },
        "vector": {
            "type": "object",
            "required": ["records", "distance", "left", "right", "exact", "aimed_at", "computed", "jump"],
            "properties": {
                "records": {"type": "integer", "description": "of the larger dataset"},
                "distance": {"type": "integer", "description": "under the relation; 0 for a reordering"},
                "left": _reference("runs"),
                "right": _reference("runs"),
                "exact": {"type": "array", "items": {"anyOf": [RATIONAL, {"type": "null"}]}},
                "aimed_at": {"type": "string", "description": "the arithmetic that computes `computed`"},
                "computed": {"type": "array", "items": {"type": "string"}},
                "jump": {"anyOf": [RATIONAL, {"type": "null"}], "description": "null: a sum is not a number"},
            },
            "additionalProperties": False,
        },
        "runs": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [{"type": "array", "items": _reference("value")}, {"type": "integer"}],
                "items": False,
                "minItems": 2,
                "description": "a pattern of values, and how often it repeats",
            },
        },
        "value": {
            "type": "string",
            "pattern": "^(-?0x[0-9a-f.]+p[+-][0-9]+|-?[0-9]+|nan|-?inf)$",
            "description": "a float in hexadecimal, or an integer in decimal",
        },
    },
}


def write(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in {"schema.json": SCHEMA, **files()}.items():
        path = folder / name
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        written.append(path)
    return written


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m soundsum.auditor.corpus FOLDER")
    for one in write(Path(sys.argv[1])):
        print(one)
