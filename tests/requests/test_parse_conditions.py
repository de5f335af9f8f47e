"""Conditions on the command line: how each is read, and the ones that are refused."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from soundsum.cli import app
from soundsum.numbers.quoting import quote
from soundsum.refusals import Reason
from soundsum.requests.parse_conditions import read_condition, read_where
from soundsum.tables.filters import MOST_LISTED
from tests.refusing import refused


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("age,k,day\n17,a,2024-01-01\n18,b,2024-02-01\n")
    days = pa.array(["2024-01-01", "2024-02-01"]).cast(pa.date32())
    pyarrow.parquet.write_table(pa.table({"age": [17, 18], "k": ["a", "b"], "day": days}), "t.parquet")


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(
    "condition, value",
    [
        ("age <> 18", "> 18"),
        ("age => 18", "> 18"),
        ("age === 18", "= 18"),
        ("age =! 18", "! 18"),
        ("age >= 18 and age < 30", "18 and age < 30"),
        ("k == a or b", "a or b"),
        ("k == a AND b", "a AND b"),
        ("age > 1,000", "1,000"),
        ("age >", ""),
        ("17 < age < 30", "age < 30"),
        ("k == 'a' and k == 'b'", "'a' and k == 'b'"),
        ("k == 'a', 'b'", "'a', 'b'"),
    ],
)
def test_what_is_no_value_is_refused(file, condition, value):
    with refused("where", Reason.MALFORMED, given=quote(condition), value=quote(value)):
        read_condition(condition, file)


def test_long_lists_are_refused_before_their_values_are_read():
    many, no_number = ", ".join(["1"] * MOST_LISTED), "x"
    assert len(read_where([f"age in {many}"], "t.parquet")[0][2]) == MOST_LISTED
    for texts in ([f"age in {many}, {no_number}"], [f"age in {many}", "age == 1", f"age in {no_number}"]):
        with refused("where", Reason.TOO_MANY, count=MOST_LISTED + 1):
            read_where(texts, "t.parquet")


@pytest.mark.parametrize(
    "texts, where",
    [
        (["age < 18 or age >= 65"], [[("age", "<", 18)], [("age", ">=", 65)]]),
        (["age < 18 OR\tk in a, b"], [[("age", "<", 18)], [("k", "in", ["a", "b"])]]),
        (["k == 'x or y' or k == \"or\""], [[("k", "==", "x or y")], [("k", "==", "or")]]),
        (["age < 18 or k == a", "day > 2024-01-01"], [
            [("age", "<", 18), ("day", ">", "2024-01-01")], [("k", "==", "a"), ("day", ">", "2024-01-01")],
        ]),
        (["age < 18", "k == a"], [("age", "<", 18), ("k", "==", "a")]),
        (["age < 18"], [("age", "<", 18)]),
        ([], None),
    ],
)  # fmt: skip
def test_conditions_with_or_between_them(texts, where):
    assert read_where(texts, "t.csv") == where


def test_a_column_may_have_or_in_its_name():
    Path("t.csv").write_text("time or date,k\n3,a\n")
    assert read_where(["time or date >= 3 or k == a"], "t.csv") == [[("time or date", ">=", 3)], [("k", "==", "a")]]
    assert read_where(["time or date >= 3"], "t.csv") == [("time or date", ">=", 3)]


@pytest.mark.parametrize(
    "texts, reason",
    [
        (["k == a or b"], Reason.MALFORMED),
        (["age > 3 or"], Reason.WRONG_TYPE),
        (["k == O'Brien or k == O'Hara"], Reason.MALFORMED),
        (["age > 3 or " * 1000 + "age > 3"], Reason.TOO_MANY),
        (["age > 1 or age > 2"] * 10, Reason.TOO_MANY),
        (["age > 1 or age > 2"] * 900, Reason.TOO_MANY),
        (["x or " * 500_000], Reason.MALFORMED),
    ],
)
def test_what_is_no_choice_of_conditions(texts, reason):
    with refused("where", reason):
        read_where(texts, "t.csv")


def test_a_request_is_read_as_strictly():
    Path("r.toml").write_text("epsilon = 1\nwhere = ['age <> 18']\n[statistics.n]\nstatistic = 'count'")
    ran = CliRunner().invoke(app, ["release", "t.csv", "r.toml"])
    assert ran.exception.place == "r.toml"
    assert ran.exception.facts["value"] == "'> 18'"


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_text_without_quotes_is_not_ordered_in_a_file_without_types(sign):
    with refused("where", Reason.WRONG_TYPE, value="'18y'"):
        read_condition(f"age {sign} 18y", "t.csv")
    assert read_condition(f"k {sign} 'b'", "t.csv") == ("k", sign, "b")
    assert read_condition(f"k {sign} b", "t.parquet") == ("k", sign, "b")
    assert read_condition(f"age {sign} -1e3", "t.csv") == ("age", sign, -1000)
    assert read_condition(f"day {sign} 2024-01-31", "t.csv") == ("day", sign, "2024-01-31")


@pytest.mark.parametrize("file", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("text", ["", "> 18", "a, b", "a and b", "a == b", "!", "O'Brien", " a "])
def test_text_in_quotes_is_whatever_it_holds(file, text):
    sign = "==" if text or file != "t.csv" else ">="  # no cell of CSV is equal to nothing: it is missing
    assert read_condition(f'k {sign} "{text}"', file) == ("k", sign, text)
    assert read_condition(f"k != '{text}'", file) == ("k", "!=", text)


def test_plain_text_needs_no_quotes():
    for text in ("b", "O'Brien", "north west", "Andorra", "hello!"):
        assert read_condition(f"k = {text}", "t.csv") == ("k", "==", text)
