"""`soundsum release`: several statistics by name from a small TOML file, and what is wrong with one."""

import json
import re
import time
import tomllib
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app
from soundsum.cli.commands import request_command
from soundsum.cli.refusal_text import find_options, spell
from soundsum.refusals import Refusal
from soundsum.requests import request_file

COUNT = b"\n[statistics.n]\nstatistic = 'count'"
REQUEST = """
epsilon = 1000000
by = "dept"
groups = ["a", "b"]
where = ["pay < 100"]

[statistics.total]
statistic = "sum"
column = "pay"
bounds = [0, 50]
weight = 2

[statistics.staff]
statistic = "count"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("pay,dept\n10,a\n20,b\n30,a\n500,b\n")
    Path("r.toml").write_text(REQUEST)
    return tmp_path


def ask(*arguments):
    return CliRunner().invoke(app, ["release", "t.csv", "r.toml", *arguments])


def say(ran, *arguments):
    """What the command prints of the refusal that it ends with."""
    assert isinstance(ran.exception, Refusal), repr(ran.exception)
    arguments = ["release", "t.csv", "r.toml", *arguments]
    return spell(ran.exception, find_options(get_command(app), arguments), arguments)


def test_statistics_by_name(folder):
    ss.Budget(epsilon=2_000_000, path="l.db")
    ran = ask("--json", "--budget", "l.db")
    assert ran.exit_code == 0, ran.output
    releases = json.loads(ran.stdout)["releases"]
    assert [(one["name"], one["group"]) for one in releases] == [
        ("total", "a"), ("total", "b"), ("staff", "a"), ("staff", "b"),
    ]  # fmt: skip
    assert [round(one["value"]) for one in releases] == [40, 20, 2, 1]
    assert releases[0]["certificate"]["privacy"]["epsilon"] == "2000000/3"
    Path("out.json").write_text(ran.stdout)
    checked = CliRunner().invoke(app, ["check", "out.json", "--budget", "l.db"])
    assert checked.exit_code == 0, checked.output
    assert "this ledger was charged for it" in checked.output


def test_as_a_table(folder):
    ran = ask()
    assert "total" in ran.output
    assert "staff" in ran.output
    assert "95% interval" in ran.output


def test_as_csv(folder):
    lines = ask("--csv").stdout.splitlines()
    assert lines[0] == "name,dept,value,low,high,informative"
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["total", "a"], ["total", "b"], ["staff", "a"], ["staff", "b"],
    ]  # fmt: skip
    assert [line.split(",")[2] for line in lines[3:]] == ["2", "1"]  # counts, and not 2.0


def test_a_ledger_names_what_a_request_names_in_a_line_or_two(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ss.Budget(epsilon=2_000_000, path="l.db")
    assert ask("--budget", "l.db").exit_code == 0
    short, full = (CliRunner().invoke(app, ["budget", "show", "l.db", *more]).stdout for more in ([], ["--all"]))
    assert "total: sum of pay; staff: count; all from t.csv by dept" in in_words(short)
    assert len(short.splitlines()) <= 10
    assert max(map(len, short.splitlines())) <= 80
    assert "called total;" in in_words(full)
    assert "symmetric neighbours, 1/3 of the cost, called staff" in in_words(full)
    (charge,) = json.loads(CliRunner().invoke(app, ["budget", "show", "l.db", "--json"]).stdout)["charges"]
    assert charge["what"].count(", called ") == 2


def in_words(shown):
    """What a table of charges says in its column in the middle."""
    return " ".join(shown.replace("epsilon = 1000000 ", "").split())


def test_the_example_in_the_help_is_a_request(folder):
    text = request_command.__doc__.partition("\n\n")[2]
    Path("r.toml").write_text("\n".join(line.strip() for line in text.splitlines()))
    settings, statistics = request_file.read_request("r.toml")
    assert settings["epsilon"] == 1
    assert list(statistics) == ["total", "staff"]


def test_the_example_that_the_help_prints_runs(folder):
    shown = CliRunner().invoke(app, ["release", "--help"], env={"COLUMNS": "100", "TERM": "dumb"}).output
    example = shown.partition("with request.toml:")[2].partition("Arguments")[0].rpartition("\n")[0]
    Path("r.toml").write_text("\n".join(line.strip() for line in example.splitlines()))
    assert list(tomllib.loads(Path("r.toml").read_text())["statistics"]) == ["total", "staff"]
    ran = ask("--json")
    assert ran.exit_code == 0, ran.output
    assert [one["name"] for one in json.loads(ran.stdout)["releases"]] == ["total", "staff"]


@pytest.mark.parametrize(
    "request_, message",
    [
        (b"epsilon = \xff", "r.toml: it is not text in UTF-8"),
        (b"epsilon =", "r.toml: it is not TOML"),
        (b"", "r.toml: it asks for nothing; add [statistics.total]"),
        (
            b"epsilon = 1\nlimit = 3\n[statistics.n]\nstatistic = 'count'",
            "r.toml: 'limit' is not an option of a request; there are",
        ),
        (
            b"epsilon = 1\n[statistic.n]\nstatistic = 'count'",
            "r.toml: [statistic.n] is not known; statistics are tables such as [statistics.n]",
        ),
        (
            b"epsilon = 1\n[statistics]\nstatistic = 'count'",
            "r.toml: [statistics] needs a name for each; give one, such as [statistics.total]",
        ),
        (b"epsilom = 1" + COUNT, "r.toml: 'epsilom' is not an option of a request; did you mean epsilon?"),
        (
            b"epsilon = 1\nby = ['dept', 'pay']\ngroups = ['a']" + COUNT,
            "r.toml: groups does not fit 2 columns; give 2 lists to combine, one for each column: groups = [['a', 'b']",
        ),
        (b"[statistics.n]\nstatistic = 'histogram'\ncolumn = 'pay'", "[statistics.n]: a histogram has edges or bins"),
        (
            b"[statistics.n]\nstatistic = 'sum'\ncolumn = 'pay'\nbounds = [0, 9]\nlower = 3",
            "[statistics.n]: bounds are given, and lower or upper too",
        ),
        (b"[statistics.n]\ncolumn = 'pay'", "[statistics.n]: statistic is missing; give one of sum, count"),
        (b"[statistics.n]\nstatistic = 'median'", "[statistics.n]: statistic = 'median' is not one of sum"),
        (b"[statistics.n]\nstatistic = 'sum'\nbounds = [0, 1]", "[statistics.n]: column is missing"),
        (b"[statistics.n]\nstatistic = 'sum'\ncolumn = 'pay'", "[statistics.n]: bounds are missing"),
        (b"[statistics.n]\nstatistic = 'sum'\ncolumn = 'pay'\nbounds = 5", "bounds = 5: give two numbers"),
        (
            b"[statistics.n]\nstatistic = 'count'\nbounds = [0, 1]",
            "'bounds' does not belong to a count; it takes",
        ),
        (
            b"where = 'pay > 5'\n[statistics.n]\nstatistic = 'count'",
            "where is not a list of texts; list the conditions, such as where = ['age",
        ),
        (
            b"[statistics.n]\nstatistic = 'count'",
            "r.toml: epsilon is missing; give a number above 0, such as epsilon = 1",
        ),
        (b"epsilon = 0" + COUNT, "r.toml: epsilon = 0: a privacy parameter"),
        (b"epsilon = 1\nby = 'dept'" + COUNT, "r.toml: groups is missing, and the list of groups is itself private"),
        (b"epsilon = 1\nby = 'dept'" + COUNT, "such as groups = ['a', 'b']"),
        (b"epsilon = 1\nby = 'month(dept)'" + COUNT, "such as groups = ['2024-01..2024-12']"),
        (b"epsilon = 1\nby = 'months(dept)'\ngroups = ['a']" + COUNT, "r.toml: by = 'months(dept)': there is no such"),
        (b"epsilon = 1\nwhere = ['pay > nan']" + COUNT, "r.toml: where = ['pay > nan']: no row compares"),
        (b"epsilon = 1\nmax_rows = 'x'" + COUNT, "r.toml: max_rows = 'x' is not a whole number; give a whole number"),
        (
            b"epsilon = 1\n[statistics.n]\nstatistic = 'sum'\ncolumn = 'pay'\nbounds = [9, 0]",
            "r.toml: [statistics.n]: bounds = [9, 0]: the",
        ),
        (b"epsilon = 1\n[statistics.n]\nstatistic = 'count'\nweight = 0", "r.toml: weight = 0: a share of the cost"),
        (
            b"where = ['pay > ']" + COUNT,
            "'' is not a value; the signs are == != < <= > >= and in; list a second condition as",
        ),
        (COUNT + b"\nepsilon = 1", "epsilon is about the whole request; move it to the top, above the first [table]"),
        (
            b"[statistics.n]\nstatistic = 'sum'\ncolumn = 'pay'\nlower = 0\nupper = 9",
            "[statistics.n]: a request has both bounds in one option; give them as bounds = [0, 100]",
        ),
        (b"epsilon = 1\nengine = 'duckdb'" + COUNT, "r.toml: t.csv: engine is for Parquet"),
    ],
)
def test_what_is_wrong_is_said_with_the_name_of_the_file(folder, request_, message):
    Path("r.toml").write_bytes(request_)
    ran = ask()
    assert ran.exit_code != 0
    assert message in say(ran)


def test_conditions_with_or_between_them(folder):
    Path("r.toml").write_text(REQUEST.replace('"pay < 100"', '"pay < 15 or pay > 25", "pay != 500"'))
    ran = ask("--json")
    assert ran.exit_code == 0, ran.output
    Path("out.json").write_text(ran.stdout)
    releases = json.loads(ran.stdout)["releases"]
    assert [one["value"] for one in releases[2:]] == [2, 0]
    assert releases[0]["where"] == "(pay < 15.0 and pay != 500.0) or (pay > 25.0 and pay != 500.0)"
    assert CliRunner().invoke(app, ["check", "out.json"]).exit_code == 0


SPACES = b" " * 200_000
BINS = "[statistics.{}]\nstatistic = 'histogram'\ncolumn = 'pay'\nbins = {}\nbounds = [0, 9]\n"


@pytest.mark.parametrize(
    "request_, message",
    [
        (b".".join([b"a"] * 40_000) + b" = 1" + COUNT, "r.toml: it is nested too deeply"),
        (b"[statistics.n]\n" + b" . ".join([b"'a'"] * 20_000) + b" = 1", "r.toml: it is nested too deeply"),
        (b"by = " + b"[" * 3000 + b"]" * 3000 + COUNT, "r.toml: it is nested too deeply"),
        (b"#" * 5_000_000 + COUNT, "r.toml: it has over 4 MiB"),
        (b"where = ['pay" + SPACES + b"x']" + COUNT, "r.toml: where = 'pay "),
        (b"where = ['pay in a" + SPACES + b"\"x\"']" + COUNT, "is not a list; give values with commas"),
        (b"where = ['pay > 1" + SPACES + b" x']" + COUNT, "is neither a number nor a date"),
        (b"by = 'month(" + SPACES + b"'\ngroups = ['2024-01']" + COUNT, "is not in the table"),
        (b"by = 'month(" + SPACES + b")'\ngroups = ['2024-01']" + COUNT, "there is no such column or period"),
        (b"by = 'month(pay" + SPACES + b",(" + SPACES + b")'\ngroups = ['2024-01']" + COUNT, "is not in the table"),
        (b"where = [" + b"'pay > 1', " * 1001 + b"]" + COUNT, "r.toml: where has 1,001 conditions"),
        (
            b"where = [" + b"'pay in " + b"1," * 600 + b"1', 'pay in " + b"1," * 600 + b"1']" + COUNT,
            "r.toml: where compares with 1,202 values, and a release with at most 1,000; give fewer",
        ),
        (b"".join(COUNT.replace(b"[statistics.n]", b"[statistics.n%d]" % i) for i in range(1001)), "1,001 statistics"),
        (BINS.format("n", 1_000_000).encode(), "bins = 1000000: give the number of cells"),
        ("".join(BINS.format(f"n{i}", 60_000) for i in range(900)).encode(), "r.toml: it asks for 120,000 numbers"),
        (
            b"by = ['dept', 'pay']\ngroups = [%b, %b]" % ((str([str(i) for i in range(400)]).encode(),) * 2) + COUNT,
            "r.toml: it asks for 160,000 numbers, and a request for at most 100,000; ask in parts",
        ),
        (b"by = 'hour(dept)'\ngroups = ['1990-01-01T00..2000-01-01T00']\n"
         + BINS.format("n", 2).encode(), "r.toml: it asks for 175,298 numbers"),
        (b"weight = 0x" + b"f" * 100_000 + COUNT, "r.toml: 'weight' is not an option of a request"),
    ],
)  # fmt: skip
def test_a_small_request_does_not_stall(folder, request_, message):
    """Whoever writes a request waits for its answer no longer than they had to write: nothing takes quadratic time."""
    Path("r.toml").write_bytes(b"epsilon = 1\n" + request_)
    begun = time.process_time()
    ran = ask()
    assert message in say(ran)
    assert time.process_time() - begun < 30


def test_a_request_that_is_not_there(folder):
    Path("r.toml").unlink()
    assert say(ask()) == "r.toml: no such file; check the path"


@pytest.mark.parametrize("option", ["epsilon", "table", "engine"])
def test_what_the_command_can_say_too_is_given_once(folder, option):
    Path("r.toml").write_bytes(f"{option} = '1'".encode() + COUNT)
    given = f"--{option}", "2"
    assert say(ask(*given), *given) == f"{option} is given in r.toml and as --{option} 2; give it once"


def test_options_of_the_command_are_said_as_it_spells_them(folder):
    """The file's name is said of what stands in the file alone."""
    Path("r.toml").write_bytes(COUNT)
    given = "--epsilon", "0"
    assert say(ask(*given), *given).startswith("--epsilon 0: a privacy parameter")
    given = "--epsilon", "1", "--table", "x"
    assert say(ask(*given), *given).startswith("--table x is for databases")
    ss.Budget(epsilon=1, path="l.db", data="pay of 2024")
    given = "--epsilon", "1", "--budget", "l.db"
    assert "r.toml" not in say(ask(*given), *given)
    assert "ask with the budget's --data 'pay of 2024', or" in say(ask(*given), *given)
    ss.Budget(epsilon="1/2", path="small.db")
    assert isinstance(ask("--epsilon", "1", "--budget", "small.db").exception, ss.BudgetExceeded)


@pytest.mark.parametrize("name", ["table", "engine"])
def test_with_a_ledger_a_request_does_not_say_what_is_read(folder, name):
    """Whoever owns the ledger gives the command, and the request may be somebody else's."""
    budget = ss.Budget(epsilon=1, path="l.db")
    Path("r.toml").write_bytes(f"epsilon = 1\n{name} = 'salaries'".encode() + COUNT)
    said = say(ask("--budget", "l.db"), "--budget", "l.db")
    assert said.startswith(f"r.toml sets {name}, which only the command may with --budget")
    assert budget.entries() == []


def test_an_engine_and_a_table(folder):
    pyarrow.parquet.write_table(pa.table({"pay": [10.0, 20.0]}), "t.parquet")
    Path("r.toml").write_bytes(COUNT)
    ran = CliRunner().invoke(
        app, ["release", "t.parquet", "r.toml", "--epsilon", "100", "--engine", "duckdb", "--json"]
    )
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["releases"][0]["certificate"]["engine"] == "duckdb"


DAYS = "pay,dept,day\n10,a,2024-01-05\n20,b,2024-02-29\n30,a,2024-02-01\n40,a,2025-01-01\n"


@pytest.mark.parametrize(
    "by, groups, expected",
    [
        ('"month(day)"', '["2024-01..2024-03"]', [("2024-01-01", 10), ("2024-02-01", 50), ("2024-03-01", 0)]),
        ('"month(day)"', '"2024-01..2024-02"', [("2024-01-01", 10), ("2024-02-01", 50)]),
        ('["month(day)"]', '["2024-02", 2025-01-01]', [("2024-02-01", 50), ("2025-01-01", 40)]),
        ('"year(day)"', '["2024"]', [("2024-01-01", 60)]),
        ('["dept", "month(day)"]', '[["a", "b"], ["2024-01..2024-02"]]',
         [(["a", "2024-01-01"], 10), (["a", "2024-02-01"], 30), (["b", "2024-01-01"], 0), (["b", "2024-02-01"], 20)]),
    ],
)  # fmt: skip
def test_periods_are_spelled_as_on_the_command_line(folder, by, groups, expected):
    Path("t.csv").write_text(DAYS)
    total = "[statistics.total]\nstatistic = 'sum'\ncolumn = 'pay'\nbounds = [0, 50]"
    Path("r.toml").write_text(f"epsilon = 10000\nby = {by}\ngroups = {groups}\n{total}")
    ran = ask("--json")
    assert ran.exit_code == 0, ran.exception
    assert [(one["group"], round(one["value"])) for one in json.loads(ran.stdout)["releases"]] == expected


def test_the_page_about_it_runs(folder):
    page = (Path(__file__).parents[2] / "docs" / "requests.md").read_text()
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    namespace = {}
    exec(compile(blocks["python"], "requests.md", "exec"), namespace)
    assert namespace["released"]["total pay"]["sales"].epsilon == Fraction(3, 5)
    Path("request.toml").write_text(blocks["toml"])
    assert CliRunner().invoke(app, ["budget", "create", "ledger.db", "--epsilon", "3"]).exit_code == 0
    ran = CliRunner().invoke(app, ["release", "staff.csv", "request.toml", "--budget", "ledger.db", "--json"])
    assert ran.exit_code == 0, ran.output
    Path("released.json").write_text(ran.stdout)
    assert len(json.loads(ran.stdout)["releases"]) == 2 + 2 + 40
    assert CliRunner().invoke(app, ["check", "released.json", "--budget", "ledger.db"]).exit_code == 0
