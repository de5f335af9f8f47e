"""What somebody meant, said where a call is refused: the spelling of another place, another call, another type."""

import inspect
from decimal import Decimal

import pandas as pd
import polars as pl
import pytest

import soundsum as ss
from soundsum.engines.engine import import_extra

D = {"cost": [1.0, 2.0, 3.0], "ward": ["a", "b", "a"], "age": [20, 30, 40], "day": ["2024-01-02"] * 3}
FRAME = pd.DataFrame(D)


def own(schema, table=D):
    return ss.Private(table, budget=ss.Budget(epsilon=1), schema=schema)


HINTS = {
    "a period as commands spell it": (
        lambda: ss.count(D, 1, by="month(day)", groups=["2024-01"]),
        "no column is called 'month(day)'; give months as by=ss.month('day', first, last), each such as '2024-01'",
    ),
    "one of several": (
        lambda: ss.count(D, 1, by=["ward", "week( day )"], groups=[["a"], ["2024-W01"]]),
        "give weeks as by=ss.week('day', first, last), each such as '2024-W05'",
    ),
    "months of numbers": (
        lambda: ss.count(FRAME, 1, by=ss.month("age", "2024-01", "2024-02")),
        "month(age): the column is int64, not dates or times; name another column, or cast it",
    ),
    "a condition as commands spell it": (lambda: ss.count(D, 1, where=["age >= 21"]), "such as [('age', '>=', 21)]"),
    "one that is text": (lambda: ss.count(D, 1, where="ward = 'a'"), "such as [('ward', '==', 'a')]"),
    "one with a fraction": (lambda: ss.count(D, 1, where="cost<2.5"), "such as [('cost', '<', 2.5)]"),
    "one sign of equality": (lambda: ss.count(D, 1, where=[("age", "=", 2)]), "such as [('age', '==', 2)]"),
    "a ledger's path": (
        lambda: ss.count(D, 1, budget="ledger.db"),
        "budget='ledger.db' is not a budget; give ss.Budget(path='ledger.db'), or with epsilon= too to make it",
    ),
    "an owner's ledger": (lambda: ss.Private(D, budget="l.db"), "is not a budget; give ss.Budget(path='l.db'), or"),
    "a plan of data": (
        lambda: ss.plan(FRAME),
        "a pandas DataFrame is not a problem; a plan is made before any data: give ss.Problem('float64', 0, 1000)",
    ),
    "plans of data": (lambda: ss.plans(D), "a dict is not a problem; a plan is made before any data"),
    "bounds without a type": (
        lambda: own({"cost": (0, 1)}),
        "(0, 1) is not a type; give bounds with one, ('float64', 0, 1), or by name, {'lower': 0, 'upper': 1}",
    ),
    "an upper bound that is none": (lambda: own({"cost": {"upper": float("nan")}}), "column 'cost': upper=nan: bounds"),
    "bounds the wrong way round": (
        lambda: own({"cost": {"lower": 5000, "upper": 1}}),
        "column 'cost': lower=5000 is above upper=1; swap them",
    ),
    "months without a list": (
        lambda: ss.count(D, 1, by=ss.month("day")),
        "such as groups=['2024-01'], give the first and the last, ss.month('day', first, last), or find them: "
        "groups=ss.Found(delta='1e-9')",
    ),
    "a range of months in Python": (
        lambda: ss.count(D, 1, by=ss.month("day"), groups=["2024-01..2024-03"]),
        "give months such as '2024-01', or for all of a range ss.month('day', first, last)",
    ),
    "a name for a single column": (
        lambda: ss.sum(FRAME["cost"], 0, 1, 1, column="cost"),
        "the data is a single column, which has no name; leave column= out, or give a table",
    ),
    "a number as a name": (
        lambda: ss.count(D, 1, name=3),
        "name=3 is not a string; give what the data is called, or leave name= out",
    ),
    "a number as a cost": (
        lambda: ss.Budget(epsilon=1).charge(1, "a sum"),
        "cost=1 is not a cost; give one such as ss.Cost(epsilon=1)",
    ),
    "a word as a number": (
        lambda: ss.count(D, "one"),
        "epsilon='one' is not a number; give one such as 5, 0.5 or '1/3'",
    ),
    "a column of text": (
        lambda: ss.sum(FRAME, 0, 1, 1, column="ward"),
        "column 'ward' is text; soundsum adds integers",
    ),
    "another type": (
        lambda: ss.sum(FRAME, 0, 1, 1, column="cost", dtype="int64"),
        "column 'cost' is float64 but dtype=int64; cast it first, or leave dtype= out",
    ),
    "a delta of 2": (
        lambda: ss.count(D, 1, noise="gaussian", delta=2),
        "delta=2: a delta is below 1; give one far below 1/(number of persons), such as 1e-6",
    ),
    "a percentage": (
        lambda: ss.plan(ss.Problem("float64", 0, 1)).error(1, confidence=95),
        "confidence=95: give a number between 0 and 1, such as 0.95",
    ),
    "bounds of edges": (
        lambda: ss.histogram(D, [0, 1], 1, column="age", lower=0, upper=1),
        "have ends of their own; leave lower= and upper= out",
    ),
    "categories as edges": (lambda: ss.histogram(D, ["a", "b"], 1, column="ward"), "; give categories=['a', 'b'], or"),
    "a column as edges": (lambda: ss.histogram(D, "age", 1), "or if it is a column, column='age'"),
    "bins as edges": (
        lambda: ss.histogram(D, 10, 1, column="age"),
        "for cells of equal width give bins=10, with lower=",
    ),
    "an expression as a column": (
        lambda: ss.sum(FRAME, 0, 1, 1, column=pl.col("cost")),
        "column=a polars Expr is not the name of a column; give the name of a column of the table",
    ),
    "a column of a table as ids": (
        lambda: ss.sum(FRAME, 0, 1, 1, column="cost", privacy_unit=FRAME["age"]),
        "privacy_unit=a pandas Series is not the name of a column; give the name of a column of the table, such as "
        "privacy_unit='person'",
    ),
    "a month as a bound": (
        lambda: own({"day": {"lower": "2023-01", "upper": "2024-01"}}),
        "column 'day': lower='2023-01' is neither a number nor a date; give two numbers, or the first and the last day",
    ),
    "a day and a number as bounds": (
        lambda: own({"day": {"lower": "2023-01-01", "upper": 5}}),
        "of lower='2023-01-01' and upper=5 one is a date; give two numbers, or",
    ),
    "days as a type": (
        lambda: own({"day": ("2023-01-01", "2024-12-31")}),
        "is not a type; give bounds by name, {'lower': '2023-01-01', 'upper': '2024-12-31'}",
    ),
    "days with a type": (
        lambda: own({"day": ("float64", "2023-01-01", "2024-12-31")}),
        "bounds that are dates go without a type, and type='float64'; leave it out",
    ),
    "bounds of text": (
        lambda: own({"ward": {"lower": 0, "upper": 1}}, FRAME),
        "schema: column 'ward' is text; soundsum adds integers and floats, so cast it, or leave lower= and upper= out",
    ),
    "days as bounds of numbers": (
        lambda: own({"cost": {"lower": "2023-01-01", "upper": "2024-12-31"}}, FRAME),
        "the column is float64, not dates or times; name another column, or cast it, or leave lower= and upper= out",
    ),
    "a list of rows": (
        lambda: ss.sum(FRAME.to_dict("records"), 0, 1, 1, column="cost"),
        "pandas.DataFrame(rows) makes a table of a list of dicts",
    ),
    "a name beside a single column": (
        lambda: ss.sum(FRAME["cost"], 0, 1, 1, by="ward", groups=["a"]),
        "the data is a single column, which has no name; give by= its values, one for each record, or give a table",
    ),
    "two totals": (
        lambda: ss.Budget(epsilon=1, rho=2),
        "epsilon=1 and rho=2 are both given, and a budget counts in one of them; give epsilon=",
    ),
    "no total": (lambda: ss.Budget(), "a budget is an epsilon, with or without a delta, or a rho; give epsilon="),
    "no integer between": (
        lambda: ss.sum(FRAME, 0.2, 0.7, 1, column="age"),
        "no value of int64 lies in [0.2, 0.7]; widen the bounds",
    ),
    "eps": (lambda: ss.sum(D, 0, 1, eps=1, column="cost"), "takes no eps=; give epsilon="),
    "an owner's eps": (lambda: own({}).count(eps=1), "takes no eps=; give epsilon="),
    "bounds of rows": (lambda: ss.count(D, bounds=(0, 1), epsilon=1), "takes no bounds=; give lower= and upper="),
    "bounds of a count": (
        lambda: ss.count(D, 1, bounds=(0, 1), column="cost"),
        "takes no bounds=; give lower= and",
    ),
    "a seed": (
        lambda: ss.variance(D, 0, 1, 1, seed=3, column="cost"),
        "takes no seed=; leave it out: noise is drawn from the operating system and cannot be seeded",
    ),
    "weights": (lambda: ss.sum(D, 0, 1, 1, weights=[1, 2, 3]), "to weight records, sum a column of products; to share"),
    "weights of several": (
        lambda: ss.release(D, [ss.Count(), ss.Sum("cost", 0, 1)], 1, weights=[1, 2]),
        "to share epsilon, give each statistic of ss.release a weight, such as ss.Sum('pay', 0, 100, weight=2)",
    ),
    "a column in the place of epsilon": (
        lambda: ss.count(D, "cost", epsilon=1),
        "these arguments do not fit count(); if 'cost' is a column, give column='cost'",
    ),
    "a column before bounds": (lambda: ss.sum(D, "cost", 0, 1, 1), "if 'cost' is a column, give column='cost'"),
    "a column and no bounds": (lambda: ss.mean(D, "cost", epsilon=1), "is not a number; if 'cost' is a column, give"),
    "an owner's column": (lambda: own({}).count("cost", epsilon=1), "if 'cost' is a column, give column='cost'"),
    "epsilon in the place of a bound": (
        lambda: own({"cost": ("float64", 0, 9)}).sum("cost", 0.1),
        "sum('cost', 0.1): the number after the column is lower=, and there is no epsilon=; give sum('cost', "
        "epsilon=0.1)",
    ),
    "the same without bounds": (lambda: own({}).mean("cost", "1/2"), "give mean('cost', epsilon='1/2')"),
    "a range as a group": (
        lambda: ss.count(D, 1, by="day", groups=["2024-01..2024-12"]),
        "groups= names '2024-01..2024-12', and ranges are for periods; group by the month (or year, week, day, hour)",
    ),
}


@pytest.mark.parametrize("call, hint", HINTS.values(), ids=HINTS)
def test_a_mistaken_call_is_told_the_right_one(call, hint):
    with pytest.raises((ValueError, TypeError)) as refused:
        call()
    assert hint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_names_of_groups_with_two_dots_are_names_like_any_other():
    assert list(ss.count({"band": ["0..9"]}, 1, by="band", groups=["0..9", "2020..2024", "a..b"])) == [
        "0..9",
        "2020..2024",
        "a..b",
    ]


def test_a_column_that_is_called_like_a_period_is_one():
    assert list(ss.count({"month(day)": ["x"]}, 1, by="month(day)", groups=["x"])) == ["x"]


def test_many_releases_say_whose_the_value_is():
    by_ward = ss.sum(D, 0, 9, 1, column="cost", by="ward", groups=["a", "b"])
    several = ss.release(D, [ss.Sum("cost", 0, 9), ss.Count()], 1)
    for name in ("value", "exact", "certificate", "epsilon", "plan"):
        with pytest.raises(AttributeError, match=rf"Releases has no {name}, as each group has one: releases\['a'\]"):
            getattr(by_ward, name)
        with pytest.raises(AttributeError, match=rf"Several has no {name}, as each statistic has one: several\[0\]"):
            getattr(several, name)
        assert hasattr(by_ward["a"], name)
        assert hasattr(several[0], name)
    with pytest.raises(AttributeError, match="'Releases' object has no attribute 'nonsense'"):
        by_ward.nonsense  # noqa: B018


def test_options_that_others_have_keep_signatures_and_errors_of_their_own():
    assert "epsilon" in inspect.signature(ss.sum).parameters
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nonsense'$"):
        ss.sum(D, 0, 1, 1, column="cost", nonsense=1)
    with pytest.raises(TypeError, match=r"pass a data frame, array or path$"):  # from inside the call
        ss.sum(3, 0, 1, 1, column="cost")


def test_what_others_have_is_told_the_way_to_it():
    with pytest.raises(AttributeError, match=r"soundsum has no var; use soundsum\.variance\(\.\.\.\)"):
        ss.var  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no mode, which is not made from sums; docs/when-not\.md says"):
        ss.mode  # noqa: B018


def test_a_missing_package_is_named_and_not_a_part_of_it():
    with pytest.raises(
        ImportError, match=r"^no_such_package is not installed; in a clone of soundsum, run pip install '\.\[spark\]'$"
    ):
        import_extra("no_such_package.errors", "spark")


def test_a_release_is_neither_true_nor_false():
    """As a number it would be false at 0, as an object it is always true: whoever asks would be surprised by one."""
    with pytest.raises(
        TypeError, match=r"neither true nor false: compare r\.value with a number, or write r is not None"
    ):
        bool(ss.count(D, 1))
    assert ss.histogram(D, [0, 50], 1, column="age")  # as every mapping that is not empty


@pytest.mark.parametrize("confidence", [Decimal("NaN"), Decimal("sNaN"), float("nan"), Decimal(1), 95, "0.95"], ids=str)
def test_a_confidence_that_is_none(confidence):
    with pytest.raises(ValueError, match=r"give a number between 0 and 1, such as 0\.95"):
        ss.count(D, 1).interval(confidence)


def test_an_absurd_promise_is_remarked_upon_wherever_it_is_shown():
    shown = {epsilon: repr(ss.sum([1.0], 0, 1, epsilon)) for epsilon in ("1e30", "1000", "999", "1e-12", "1e-13")}
    assert "epsilon=1e+30 (no privacy to speak of), " in shown["1e30"]
    assert "(no privacy to speak of)" in shown["1000"]
    assert "epsilon=1e-13 (nothing but noise), " in shown["1e-13"]
    assert not any("(no" in shown[epsilon] for epsilon in ("999", "1e-12"))
    loose, tight = (ss.sum([1.0], 0, 1, noise="gaussian", rho=rho) for rho in (10**6, "1e-30"))
    assert "rho=1000000 (no privacy to speak of)" in repr(loose).replace("1e+06", "1000000")
    assert "(nothing but noise)" in repr(tight)
