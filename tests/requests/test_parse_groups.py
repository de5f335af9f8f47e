"""Groups on the command line: how each is read, and the ones that are refused."""

import json
from datetime import date
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.numbers.quoting import quote
from soundsum.privacy.selection import Found
from soundsum.refusals import Reason
from soundsum.requests.parse_columns import RANGES, read_by
from soundsum.requests.parse_groups import list_groups, read_found, read_groups, read_periods
from tests.refusing import refused


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("age,k,day\n17,a,2024-01-01\n18,b,2024-02-01\n")
    days = pa.array(["2024-01-01", "2024-02-01"]).cast(pa.date32())
    pyarrow.parquet.write_table(pa.table({"age": [17, 18], "k": ["a", "b"], "day": days}), "t.parquet")


def test_groups_that_are_found_have_a_word_and_need_a_delta():
    assert read_groups(["k"], ["found"], "t.csv") == ("k", "found")
    by, groups = read_groups(["k", "month(day)"], ["found"], "t.csv")
    assert (by[0], str(by[1]), groups) == ("k", "month(day)", "found")
    assert read_groups(["k"], ['"found"'], "t.csv") == ("k", ["found"])
    laplace = read_found({"groups": "found", "delta": "1e-9"})
    assert (laplace["groups"], laplace["delta"]) == (Found("1e-9"), None)
    gaussian = read_found({"groups": "found", "delta": "1e-9", "noise": "gaussian"})
    assert (gaussian["groups"].delta, gaussian["delta"]) == (Fraction("5e-10"), Fraction("5e-10"))
    listed = {"groups": ["found"], "delta": None}
    assert read_found(listed) == listed
    for delta, reason in ((None, Reason.MISSING), (1, Reason.TOO_LARGE), ("0", Reason.TOO_SMALL)):
        with refused("delta", reason):
            read_found({"groups": "found", "delta": delta})
    assert read_periods(["k", "month(day)"], "found", "t.csv")[1] == "found"
    assert read_periods("month(day)", "found", "t.csv")[1] == "found"


def test_a_query_spells_periods_as_requests_do():
    """The ledger's words for the columns are read as the same columns."""
    table = {"day": [date(2024, 1, 1), date(2024, 2, 1)], "k": ["a", "b"]}
    budget = ss.Budget(epsilon=9)
    asked = {ss.month("day"): "2024-01", ss.year("day", zone="Europe/Vienna"): "2024", "k": "a"}
    for by, group in asked.items():
        ss.count(table, 1, by=by, groups=[group], budget=budget)
    queries = [entry.query.by for entry in budget.entries()]
    assert queries == [("month(day)",), ("year(day, Europe/Vienna)",), ("k",)]
    assert [read_by(text, "t.csv", None) for (text,) in queries] == list(asked)


@pytest.mark.parametrize(
    "text, names",
    [
        ("a,b", ["a", "b"]),
        ("a, b ,\tc", ["a", "b", "c"]),
        (" north west , b", ["north west", "b"]),
        ('"Smith, Ann", b', ["Smith, Ann", "b"]),
        ('" a " , b', [" a ", "b"]),
        ('"say ""hi""",b', ['say "hi"', "b"]),
        ('5" pipe,b', ['5" pipe', "b"]),
        ('"a,"', ["a,"]),
        ("O'Brien,b", ["O'Brien", "b"]),
    ],
)
@pytest.mark.parametrize("option", ["groups", "categories"])
def test_blanks_around_names_do_not_count_and_quotes_keep_them(text, names, option):
    assert list_groups(text, "t.csv", "k", option) == list_groups(text, "t.parquet", "k", option) == names


@pytest.mark.parametrize("text", ['"a,b', '"a"b,c', ' "a'])
def test_a_quote_that_is_not_closed_is_refused(text):
    with refused("groups", Reason.MALFORMED, given=quote(text)):
        list_groups(text, "t.csv", "k")


@pytest.mark.parametrize("text", ["a, ,b", "a, ", ",a", " ", '"",a'])
def test_a_name_of_blanks_is_empty(text):
    with refused("groups", Reason.EMPTY, given=quote(text)):
        list_groups(text, "t.csv", "k")


def test_blanks_around_lines_do_not_count():
    Path("names.txt").write_text(" a\nb \t\r\n\nSmith, Ann\n")
    assert list_groups("@names.txt", "t.csv", "k") == ["a", "b", "Smith, Ann"]


def test_blanks_after_commas_release_the_same_groups():
    for option in (["--by", "k", "--groups", "a, b"], ["--by", "k", "--groups", "a,b"]):
        ran = CliRunner().invoke(app, ["count", "t.csv", "--epsilon", "1000", *option, "--json"])
        assert [(one["group"], one["value"]) for one in json.loads(ran.stdout)] == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("kind", RANGES)
def test_periods_without_groups_are_told_of_a_range(kind):
    with refused("groups", Reason.MISSING, example=quote([RANGES[kind]])):
        read_groups([f"{kind}(day)"], [], "t.csv")
    assert len(list_groups(RANGES[kind], "t.csv", read_by(f"{kind}(day)", "t.csv", None))) > 1


def test_a_file_of_groups_has_names_in_quotes_too():
    Path("names.txt").write_text('plain, with a comma\n"Smith, Ann"\n  " kept "  \n"say ""hi"""\n\n5" pipe\n')
    names = list_groups("@names.txt", "t.csv", "k")
    assert names == ["plain, with a comma", "Smith, Ann", " kept ", 'say "hi"', '5" pipe']
    assert list_groups("'s-Hertogenbosch,rock 'n',\"'quoted'\"", "t.csv", "k") == [
        "'s-Hertogenbosch", "rock 'n'", "'quoted'",
    ]  # fmt: skip


def test_a_column_that_is_called_like_a_period_is_a_column():
    Path("odd.csv").write_text("months(day),k\n1,a\n")
    assert read_by("months(day)", "odd.csv", None) == "months(day)"
