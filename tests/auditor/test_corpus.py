"""The corpus is what the command writes today, follows its schema, and is true, read without soundsum's attacks."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from soundsum.auditor.corpus import SCHEMA, files

CORPUS = Path(__file__).parents[2] / "corpus"
PATHS = sorted(path for path in CORPUS.glob("*.json") if path.name != "schema.json")


VALIDATOR = Draft202012Validator(SCHEMA)


def test_the_corpus_is_current():
    made = {name: json.loads(json.dumps(content)) for name, content in files().items()}
    assert {path.name for path in PATHS} == made.keys()
    for path in PATHS:
        assert json.loads(path.read_text()) == made[path.name], f"{path.name}: python -m soundsum.auditor.corpus corpus"
    assert json.loads((CORPUS / "schema.json").read_text()) == SCHEMA


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_file_follows_the_schema(path):
    VALIDATOR.validate(json.loads(path.read_text()))


def test_the_schema_refuses_what_is_missing_or_misspelt():
    whole = json.loads(PATHS[0].read_text())
    Draft202012Validator.check_schema(SCHEMA)
    assert VALIDATOR.is_valid(whole)
    for wrong in ({"groups": [{}]}, {"more": 1}, {"version": "1"}):
        assert not VALIDATOR.is_valid({**whole, **wrong})
    whole["groups"][0]["vectors"][0]["left"][0].append(1)  # a run is a pattern and a count, and nothing else
    assert not VALIDATOR.is_valid(whole)


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
