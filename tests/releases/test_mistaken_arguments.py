"""A column or a table given where something else belongs: one line that says its type, and none of its data."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.refusing import refused

P = pd.DataFrame({name: np.arange(300) * 1.25 + 7000 for name in ("amount", "age", "cid")})


def total(**options):
    ss.sum(P, **{"lower": 0, "upper": 500, "epsilon": 1, "column": "amount", **options})


CALLS = {
    "where": lambda x: total(where=x),
    "where's value": lambda x: total(where=[("age", ">", x)]),
    "where's column": lambda x: total(where=[(x, ">", 3)]),
    "where's sign": lambda x: total(where=("age", x, 3)),
    "lower": lambda x: total(lower=x),
    "upper": lambda x: total(upper=x),
    "budget": lambda x: total(budget=x),
    "epsilon": lambda x: total(epsilon=x),
    "delta": lambda x: total(delta=x, noise="gaussian"),
    "rho": lambda x: total(epsilon=None, rho=x, noise="gaussian"),
    "max_rows": lambda x: total(max_rows=x),
    "max_rows of persons": lambda x: total(max_rows=x, privacy_unit="cid"),
    "max_groups": lambda x: total(max_groups=x, privacy_unit="cid", by="age", groups=[1]),
    "noise": lambda x: total(noise=x),
    "column": lambda x: total(column=x),
    "column of several": lambda x: ss.release(P, [ss.Sum(x, 0, 500)], epsilon=1),
    "missing": lambda x: total(missing=x),
    "relation": lambda x: total(relation=x),
    "method": lambda x: total(method=x),
    "size": lambda x: total(size=x, relation="change_one"),
    "name": lambda x: total(name=x),
    "by": lambda x: total(by=x, groups=[1]),
    "privacy_unit": lambda x: total(privacy_unit=x),
    "groups": lambda x: total(by="age", groups=pd.concat([x, x])),
    "edges": lambda x: ss.histogram(P, x[::-1], 1, column="age"),
    "bins": lambda x: ss.histogram(P, bins=x, lower=0, upper=9, epsilon=1, column="age"),
    "categories": lambda x: ss.histogram(P, categories=pd.concat([x, x]), epsilon=1, column="age"),
    "weight": lambda x: ss.release(P, [ss.Sum("amount", 0, 500, weight=x)], epsilon=1),
    "an owner's budget": lambda x: ss.Private(P, budget=x),
    "a budget's epsilon": lambda x: ss.Budget(epsilon=x),
    "a budget's relation": lambda x: ss.Budget(epsilon=1, relation=x),
    "a problem's relation": lambda x: ss.Problem("float64", 0, 1, x),
    "a problem's size": lambda x: ss.Problem("float64", 0, 1, "change_one", x),
    "a period's column": lambda x: ss.month(x),
    "a period's first": lambda x: ss.month("day", x, "2024-01"),
    "a period's zone": lambda x: ss.month("day", zone=x),
    "a schema": lambda x: ss.Private(P, budget=ss.Budget(epsilon=1), schema=[x]),
    "a schema's column": lambda x: ss.Private(P, budget=ss.Budget(epsilon=1), schema={"age": x}),
    "a schema's bound": lambda x: ss.Private(P, budget=ss.Budget(epsilon=1), schema={"age": ("int64", x, 0)}),
    "confidence": lambda x: RELEASE.interval(x),
    "a limit's confidence": lambda x: ss.private_max_size(P, 1, confidence=x),
    "a plan's confidence": lambda x: RELEASE.plan.error(1, confidence=x),
    "an attack's bounds": lambda x: ss.attack("rounding", bounds=x),
    "an attack's ratio": lambda x: ss.attack("rounding", ratio=x),
    "an attack's max_records": lambda x: ss.attack("rounding", max_records=x),
    "an attack's j": lambda x: ss.attack("rounding", j=x),
}
RELEASE = ss.sum(P, 0, 1, 1, column="amount")


@pytest.mark.parametrize("given", [P["amount"], P["age"] > 18, P], ids=["numbers", "truths", "table"])
@pytest.mark.parametrize("argument", CALLS)
def test_an_error_says_the_type_and_no_data(argument, given):
    with pytest.raises((TypeError, ValueError)) as raised:
        CALLS[argument](given)
    said = str(raised.value)
    assert "\n" not in said
    assert not re.search(r"7\d{3}|True|Length:|ambiguous|unhashable", said), said


ODD = {"an expression": pl.col("amount"), "NA": pd.NA}


@pytest.mark.parametrize("given", ODD)
@pytest.mark.parametrize("argument", [one for one in CALLS if one not in ("groups", "edges", "categories")])
def test_what_compares_with_nothing_is_refused_in_our_own_words(argument, given):
    """None of these can be asked whether it equals a name, or be looked up; Polars would answer in seven lines."""
    with pytest.raises((TypeError, ValueError)) as raised:
        CALLS[argument](ODD[given])
    assert not re.search(r"ambiguous|unhashable|not iterable|\n", str(raised.value)), raised.value


def test_an_array_without_dimensions_is_no_list():
    with refused("groups", Reason.WRONG_TYPE, TypeError, given="a numpy ndarray"):
        total(by="age", groups=np.array(5))


def test_arrays_too():
    for argument in ("where", "lower", "epsilon", "noise", "column", "missing", "relation", "edges", "max_rows"):
        with pytest.raises((TypeError, ValueError), match="a numpy ndarray"):
            CALLS[argument](P["amount"].to_numpy())


LONG = {"a number": -(10**6000), "text": "x" * 10**5, "a list": [10**6000] * 1000}
LISTS = ("groups", "edges", "categories")
NAMES = {"name": "text", "a period's column": "text", "column of several": "a number", "privacy_unit": "a number"}
MEANT = {"lower": "a number", "a schema's column": "a list", **NAMES}  # what may be meant so


@pytest.mark.parametrize(
    "argument, given",
    [(one, given) for one in CALLS if one not in LISTS for given in LONG if MEANT.get(one) != given],
)
def test_what_is_long_is_said_back_in_short_and_in_our_own_words(argument, given):
    """Python itself refuses to write a number of thousands of digits."""
    with pytest.raises((TypeError, ValueError)) as raised:
        CALLS[argument](LONG[given])
    said = str(raised.value)
    assert len(said) < 600, said[:1000]
    assert not re.search(r"Exceeds the limit|not supported|has no attribute|\n", said), said
