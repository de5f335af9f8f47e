"""The corpus is what the command writes today, follows its schema, and is true, read without soundsum's attacks."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from soundsum.auditor.corpus import SCHEMA, files

CORPUS = Path(__file__).parents[2] / "corpus"
PATHS = sorted(path for path in CORPUS.glob("*.json") if path.name != "schema.json")


def check(value, schema, where="$"):
    """As much of JSON Schema as the corpus uses."""
    if "$ref" in schema:
        return check(value, SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], where)
    if "anyOf" in schema:
        return any(fits(value, one) for one in schema["anyOf"]) or pytest.fail(f"{where}: {value!r}")
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "null": type(None)}
    assert type(value) is kinds[schema["type"]], (where, value)
    assert re.fullmatch(schema.get("pattern", ".*"), value if isinstance(value, str) else ""), (where, value)
    assert value in schema.get("enum", [value]), where
    if isinstance(value, dict):
        assert set(schema["required"]) <= value.keys() <= schema["properties"].keys(), where
        for key, item in value.items():
            check(item, schema["properties"][key], f"{where}.{key}")
    if isinstance(value, list):
        rules = schema.get("prefixItems") or [schema["items"]] * len(value)
        assert len(rules) == len(value), where
        for i, (item, rule) in enumerate(zip(value, rules, strict=True)):
            check(item, rule, f"{where}[{i}]")
    return None


def fits(value, schema):
    try:
        check(value, schema)
    except AssertionError:
        return False
    return True


def test_the_corpus_is_current():
    made = {name: json.loads(json.dumps(content)) for name, content in files().items()}
    assert {path.name for path in PATHS} == made.keys()
    for path in PATHS:
        assert json.loads(path.read_text()) == made[path.name], f"{path.name}: python -m soundsum.auditor.corpus corpus"
    assert json.loads((CORPUS / "schema.json").read_text()) == SCHEMA


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_file_follows_the_schema(path):
    check(json.loads(path.read_text()), SCHEMA)


def test_the_schema_refuses_what_is_missing_or_misspelt():
    whole = json.loads(PATHS[0].read_text())
    assert fits(whole, SCHEMA)
    assert not fits({**whole, "groups": [{}]}, SCHEMA)
    assert not fits({**whole, "more": 1}, SCHEMA)


def value(text):
    return float.fromhex(text) if "x" in text or text in ("nan", "inf", "-inf") else int(text)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_sums_and_jumps_are_true(path):
    """Read as another language would: exact sums by multiplication, iterated ones by NumPy's running sum."""
    checked = 0
    for group in json.loads(path.read_text())["groups"]:
        for vector in group["vectors"]:
            sides = [[(list(map(value, pattern)), count) for pattern, count in vector[s]] for s in ("left", "right")]
            for side, exact in zip(sides, vector["exact"], strict=True):
                if exact is not None:
                    assert sum(Fraction(x) * n for pattern, n in side for x in pattern) == Fraction(exact)
            if vector["aimed_at"] == "iterated" and group["dtype"] in ("float32", "float64") and vector["jump"]:
                if vector["records"] >= 1 << 20:
                    continue
                arrays = [np.concatenate([np.tile(np.array(p, group["dtype"]), n) for p, n in side]) for side in sides]
                sums = [Fraction(float(np.add.accumulate(a)[-1])) for a in arrays]
                assert abs(sums[0] - sums[1]) == Fraction(vector["jump"]) > Fraction(group["ideal"])
                checked += 1
    assert checked or path.stem not in ("rounding", "repeated_rounding_2")
