"""A query is one object in one canonical form: what is written is read back, and nothing else is."""

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundsum as ss
from soundsum.budget import Budget, Cost, Query
from soundsum.budget.query import SHORT, Listed, as_plain
from soundsum.refusals import Reason
from tests.refusing import refused

TABLE = {"pay": [1.0, 2.0], "ward": ["a", "b"], "id": [1, 2]}
ASKED = {"total": ss.Sum("pay", "1/3", 9, weight=2), "ages": ss.Histogram("pay", [0, 1.5, 3])}
NAMES = st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.dates(), st.decimals(allow_nan=False))


@pytest.fixture
def query():
    budget = Budget(epsilon=1, privacy_unit="id", data="staff")
    terms = {"by": "ward", "groups": ["a", "b"], "where": [("pay", ">", 0.5)], "privacy_unit": "id", "max_rows": 2}
    ss.release(TABLE, ASKED, 1, budget=budget, name="staff", **terms)
    return budget.entries()[0].query


def test_what_it_holds(query):
    plain = json.loads(query.text)
    assert plain == query.to_json()
    assert query.text == json.dumps(plain, sort_keys=True, separators=(",", ":"))
    statistics = plain.pop("statistics")
    assert plain == {
        "source": "a dict",
        "data": "staff",
        "privacy_unit": "id",
        "relation": "symmetric",
        "max_rows": 2,
        "max_groups": 1,
        "by": ["ward"],
        "groups": {"count": 2, "names": ["a", "b"]},
        "where": [["pay", ">", "0.5"]],
    }
    assert statistics[0] == {
        "statistic": "sum",
        "name": "total",
        "column": "pay",
        "dtype": "float64",
        "lower": "1/3",
        "upper": "9",
        "unit_value": "1",
        "size": None,
        "max_size": None,
        "missing": "zero",
        "method": "grid",
        "parameters": {},
        "cells": None,
        "share": "2/3",
    }
    assert statistics[1]["cells"] == {"count": 2, "names": [[0, 1.5], [1.5, 3]]}
    assert (statistics[1]["share"], statistics[1]["name"]) == ("1/3", "ages")


def test_conditions_are_a_list_and_alternatives_a_list_of_lists():
    old, young = ["pay", ">", "2.0"], [["ward", "in", "['a']"], ["pay", "<", "1.0"]]
    for where, written in [
        ([("pay", ">", 2.0)], [old]),
        ([[("pay", ">", 2.0)]], [old]),
        ([[("pay", ">", 2.0)], [("ward", "in", ["a"]), ("pay", "<", 1.0)]], [[old], young]),
    ]:
        budget = Budget(epsilon=1)
        released = ss.count(TABLE, 1, where=where, budget=budget)
        asked = budget.entries()[0].query
        assert asked.to_json()["where"] == written
        assert Query.from_json(json.loads(asked.text)) == asked
        assert ss.check(released) == []
        assert released.to_dict()["where"] == asked.conditions
    assert asked.conditions == "pay > 2.0 or (ward in ['a'] and pay < 1.0)"


def test_it_is_read_back(query):
    assert Query.from_json(json.loads(query.text)) == query


@pytest.mark.parametrize(
    "place, value",
    [
        (["source"], None),
        (["relation"], "near"),
        (["max_rows"], 0),
        (["max_rows"], True),
        (["max_groups"], None),
        (["by"], []),
        (["by"], "ward"),
        (["groups"], None),
        (["groups"], {"count": 3, "names": ["a", "b"]}),
        (["groups"], {"count": 0, "names": []}),
        (["groups"], {"count": 0, "sha256": "0"}),
        (["groups"], {"count": 2, "sha256": 5}),
        (["groups"], {"count": 1, "names": ["a" * SHORT]}),
        (["where"], [["pay", ">"]]),
        (["where"], [["pay", ">", 0.5]]),
        (["where"], [[["pay", ">", "0.5"]]]),
        (["where"], [[["pay", ">", "0.5"]], []]),
        (["where"], [[["pay", ">", "0.5"]], ["pay", "<", "0.1"]]),
        (["where"], [[]]),
        (["statistics"], []),
        (["statistics", 0, "share"], "1"),
        (["statistics", 0, "share"], "4/6"),
        (["statistics", 0, "share"], 1),
        (["statistics", 0, "lower"], "0.5"),
        (["statistics", 0, "lower"], "1/0"),
        (["statistics", 0, "dtype"], "float65"),
        (["statistics", 0, "size"], "5"),
        (["statistics", 0, "parameters"], None),
        (["more"], 1),
        (["statistics", 0, "more"], 1),
    ],
)
def test_nothing_else_is_read(query, place, value):
    plain = query.to_json()
    inner = plain
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    with refused("query", Reason.MALFORMED, ValueError):
        Query.from_json(plain)


@pytest.mark.parametrize("value", [None, [], "sum of pay", 5, {}])
def test_what_is_no_query(value):
    with refused("query", Reason.MALFORMED, ValueError):
        Query.from_json(value)


def test_shares_are_parts_of_one_cost(query):
    plain = query.to_json()
    plain["statistics"][0]["share"], plain["statistics"][1]["share"] = "3/2", "-1/2"
    with refused("query", Reason.MALFORMED, ValueError):
        Query.from_json(plain)


@given(st.lists(NAMES, min_size=1, max_size=60))
def test_a_list_is_the_same_whether_names_or_what_json_has_of_them_are_given(names):
    listed = Listed.of(names)
    assert listed == Listed.of(as_plain(names)) == Listed.of(json.loads(json.dumps(as_plain(names))))
    assert listed == Listed.from_json(json.loads(json.dumps(listed.to_json(), allow_nan=False)))
    assert (listed.names is None) == (len(json.dumps(as_plain(names), separators=(",", ":"))) > SHORT)


def test_a_long_list_is_a_short_line():
    groups = [f"group {i}" for i in range(20_000)]
    budget = Budget(epsilon=1)
    ss.count({"k": ["group 1"]}, 1, by="k", groups=groups, budget=budget)
    query = budget.entries()[0].query
    assert len(query.text) < 1000
    assert (query.groups.count, query.groups.names) == (20_000, None)
    assert query.groups == Listed.of(groups) != Listed.of(groups[::-1])


@pytest.mark.parametrize(
    "name, plain",
    [
        (1, 1),
        (True, True),
        ("1", "1"),
        (1.5, 1.5),
        (float("inf"), "inf"),
        (Decimal("1.5"), "1.5"),
        (date(2024, 1, 2), "2024-01-02"),
        (("a", (1, None)), ["a", [1, None]]),
    ],
)
def test_names_as_json_has_them(name, plain):
    assert as_plain(name) == plain
    assert type(as_plain(name)) is type(plain)


def test_a_note_is_a_text():
    budget = Budget(epsilon=1)
    with refused("what", Reason.WRONG_TYPE, TypeError, given="5"):
        budget.charge(Cost(1), 5)
    assert budget.entries() == []


@pytest.mark.parametrize(
    "asked, said",
    [
        (ss.Sum("i", "1/2", 5), "int8 in [0.5, 5], missing values as 1"),
        (ss.Sum("i", -5, "-1/2"), "int8 in [-5, -0.5], missing values as -1"),
        (ss.Sum("x", "1/2", 5), "float64 in [0.5, 5], missing values as 0.5"),
        (ss.Sum("d", "0.255", 5), "missing values as 0.26"),
        (ss.Mean("x", 0, 5), "missing values left out"),
    ],
)
def test_how_missing_values_counted_is_said(asked, said):
    import pyarrow as pa

    table = pa.table(
        {
            "i": pa.array([1], pa.int8()),
            "x": [1.0],
            "d": pa.array([Decimal("1.00")], pa.decimal128(5, 2)),
        }
    )
    budget = Budget(epsilon=1)
    made = ss.release(table, [asked], 1, budget=budget)
    assert said in budget.entries()[0].what
    assert made[0].missing in budget.entries()[0].what


def test_shares_are_fractions_of_the_whole():
    budget = Budget(epsilon=1)
    ss.release(TABLE, [ss.Count(weight=weight) for weight in (1, 2, 4)], 1, budget=budget)
    assert [one.share for one in budget.entries()[0].query.statistics] == [Fraction(n, 7) for n in (1, 2, 4)]
