"""A short request cannot ask for minutes of work: it is refused by public limits, before anything is charged."""

from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.refusals import Reason

TABLE = {"x": [1.0], "a": [1], "b": [1], "seen": ["2024-01-01"]}
LONG = "0." + "1" * 4990

TOO_MUCH = {
    "bins": (
        lambda **o: ss.histogram(TABLE, None, 1, column="x", bins=10**6, lower=0, upper=1, **o),
        "from 1 to 100,000",
    ),
    "crossed groups": (
        lambda **o: ss.count(TABLE, 1, by=["a", "b"], groups=[range(20_000), range(20_000)], **o),
        "400,000,000 numbers",
    ),
    "groups": (lambda **o: ss.count(TABLE, 1, by="a", groups=range(2**21 + 1), **o), "at most 2,097,152"),
    "groups times cells": (
        lambda **o: ss.histogram(TABLE, range(2000), 1, column="x", by="a", groups=range(2000), **o),
        "3,998,000 numbers",
    ),
    "all statistics together": (
        lambda **o: ss.release(TABLE, [ss.Count(), ss.Count()], 1, by="a", groups=range(2**20 + 1), **o),
        "2,097,154 numbers",
    ),
    "hours": (
        lambda **o: ss.count(TABLE, 1, by=ss.hour("seen", "1024-01-01T00", "2024-01-01T00"), **o),
        "more than 100,000",
    ),
    "statistics": (lambda **o: ss.release(TABLE, [ss.Count()] * 5000, 1, **o), "at most 1,000; ask in parts"),
    "named statistics": (
        lambda **o: ss.release(TABLE, {f"n{i}": ss.Count() for i in range(1001)}, 1, **o),
        "1,001 statistics",
    ),
    "epsilon as text": (lambda **o: ss.count(TABLE, LONG, **o), "epsilon="),
    "epsilon": (lambda **o: ss.count(TABLE, Fraction(1, 3**3000), **o), "more than 4,100 bits"),
    "delta": (
        lambda **o: ss.count(TABLE, 1, noise="gaussian", delta=Fraction(1, 3**3000), **o),
        "more than 4,100 bits",
    ),
    "weight": (lambda **o: ss.release(TABLE, [ss.Count(weight=Fraction(1, 3**1000))], 1, **o), "a share of the cost"),
    "bound": (lambda **o: ss.sum(TABLE, 0, 10**4999, 1, column="x", **o), "more than 13,000 bits"),
    "tiny bound": (lambda **o: ss.sum(TABLE, 0, "1e-4999", 1, column="x", **o), "more than 13,000 bits"),
    "size": (lambda **o: ss.sum(TABLE, 0, 1, 1, column="x", relation="change_one", size=10**4999, **o), "size="),
}  # fmt: skip


@pytest.mark.parametrize("asked", TOO_MUCH)
def test_too_much_is_refused_uncharged(asked):
    ask, said = TOO_MUCH[asked]
    relation = "change_one" if asked == "size" else None
    budget = ss.Budget(epsilon=3, delta=Fraction(1, 2), relation=relation)
    with pytest.raises((ValueError, TypeError), match=said):
        ask(budget=budget)
    assert budget.entries() == []


def test_as_much_as_is_allowed_is_released():
    assert len(ss.histogram(TABLE, None, 1, column="x", bins=100_000, lower=0, upper=1)) == 100_000
    assert len(ss.release(TABLE, [ss.Count()] * 1000, 1)) == 1000


REQUESTS = {
    "deep": ("epsilon = " + "[" * 3000 + "]" * 3000, "r.toml: it is nested too deeply"),
    "deep table": ("a" + ".a" * 3000 + " = 1", "r.toml"),
    "digits": (f"epsilon = {'9' * 5000}", "r.toml: it has a number of too many digits"),
    "small digits": (f'epsilon = "{LONG}"\n[statistics.n]\nstatistic = "count"', "r.toml: epsilon"),
    "counts": (
        "epsilon = 1\n" + "".join(f'[statistics.n{i}]\nstatistic = "count"\n' for i in range(1001)),
        "r.toml: it asks for 1,001 statistics",
    ),
    "bins": (
        'epsilon = 1\n[statistics.h]\nstatistic = "histogram"\ncolumn = "x"\nbins = 1000000\nbounds = [0, 1]',
        "from 1 to 100,000",
    ),
}


@pytest.mark.parametrize("given", REQUESTS)
def test_a_request_that_asks_for_too_much_is_refused_with_its_name(given, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text, said = REQUESTS[given]
    Path("r.toml").write_text(text)
    Path("t.csv").write_text("x\n1\n")
    ss.Budget(epsilon=10, path="l.db")
    ran = CliRunner().invoke(app, ["release", "t.csv", "r.toml", "--budget", "l.db"])
    assert isinstance(ran.exception, ValueError | TypeError)  # which the command prints in one line, with exit code 2
    assert said in str(ran.exception)
    assert ss.Budget(path="l.db").entries() == []


@pytest.mark.parametrize("setting", ['table = "salaries"', 'engine = "duckdb"'])
def test_with_a_budget_only_the_command_says_where_the_data_is(setting, tmp_path, monkeypatch):
    """Whoever writes a request could otherwise have another table released at the cost of this one's budget."""
    monkeypatch.chdir(tmp_path)
    Path("r.toml").write_text(f'epsilon = 1\n{setting}\n[statistics.n]\nstatistic = "count"')
    Path("t.csv").write_text("x\n1\n")
    ss.Budget(epsilon=10, path="l.db", data="visits")
    ran = CliRunner().invoke(app, ["release", "t.csv", "r.toml", "--budget", "l.db", "--data", "visits"])
    name = setting.split()[0]
    assert (ran.exception.option, ran.exception.reason) == (name, Reason.CONFLICT)
    assert "only the command may" in str(ran.exception)
    assert ss.Budget(path="l.db").entries() == []
