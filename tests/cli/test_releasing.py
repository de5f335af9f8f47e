"""The commands that release, as a person meets them: what they print, what they refuse, and how they end."""

import csv
import io
import json
import os
import pty
import sqlite3
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.cli.commands.release_commands import _join
from tests import processes
from tests.processes import COMMAND

PAY = ["--column", "pay", "--bounds", "0", "6"]
SUM = ["sum", "t.csv", *PAY, "--epsilon", "1"]


@pytest.fixture
def soundsum(tmp_path):
    rows = [f"{i % 7},{'ab'[i % 2]},{i % 100},{2020 + i % 3}\n" for i in range(1000)]
    (tmp_path / "t.csv").write_text("pay,dept,person,year\n" + "".join(rows))

    def run(*arguments, environment=None, **options):
        env = {**os.environ, "COLUMNS": "200", **(environment or {})}
        return processes.run([COMMAND, *arguments], cwd=tmp_path, env=env, text=True, **options)

    run.folder = tmp_path
    return run


def test_sums_by_group(soundsum):
    done = soundsum(*SUM, "--by", "dept", "--groups", "a,b,nobody")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["dept", "a", "b", "nobody", "the", "epsilon=1", "--dtype"]
    assert lines[-3] == "the interval is for the sum of values clamped to [0, 6]"
    assert "one record (in one of 3 groups)" in lines[-2]
    assert "sensitivity 6" in lines[-2]


def test_a_table_as_csv(soundsum):
    asked = ["mean", "t.csv", *PAY, "--epsilon", "100000", "--by", "dept", "--groups", 'a,"b, c"', "--csv"]
    done = soundsum(*asked)
    assert done.returncode == 0, done.stderr
    header, *rows = csv.reader(done.stdout.splitlines())
    assert header == ["dept", "value", "low", "high", "informative"]
    assert [row[0] for row in rows] == ["a", "b, c"]
    for _, value, low, high, informative in rows:
        assert informative == "true"
        assert float(low) <= float(value) <= float(high)
    one = soundsum("count", "t.csv", "--epsilon", "100000", "--csv").stdout
    assert one == "statistic,column,value,low,high,informative\ncount,,1000,1000,1000,true\n"
    cells = soundsum("histogram", "t.csv", "--column", "pay", "--edges", "0,3,6", "--epsilon", "100000", "--csv").stdout
    assert [line.split(",")[:3] for line in cells.splitlines()[1:]] == [["0", "3", "429"], ["3", "6", "571"]]
    monthly = ("--by", "month(day)", "--groups", "2024-01..2024-02")
    (soundsum.folder / "d.csv").write_text("day\n2024-02-03\n")
    months = soundsum("count", "d.csv", "--epsilon", "100000", *monthly, "--csv").stdout
    assert [line.split(",")[:2] for line in months.splitlines()[1:]] == [["2024-01-01", "0"], ["2024-02-01", "1"]]


def test_two_forms_at_once_are_refused_before_anything_is_charged(soundsum):
    assert soundsum("budget", "create", "l.db", "--epsilon", "1").returncode == 0
    done = soundsum(*SUM, "--budget", "l.db", "--csv", "--json")
    assert done.returncode == 2
    assert "--json and --csv are both given; give one" in done.stderr
    assert "epsilon = 1 left" in soundsum("budget", "show", "l.db").stdout


def test_groups_are_read_as_what_the_column_holds_and_from_a_file(soundsum):
    (soundsum.folder / "years.txt").write_text("2020\n2021\n")
    done = soundsum("count", "t.csv", "--epsilon", "1000", "--by", "year", "--groups", "@years.txt", "--json")
    assert [(r["group"], r["value"]) for r in json.loads(done.stdout)] == [("2020", 334), ("2021", 333)]
    pyarrow.parquet.write_table(pa.table({"year": [2020, 2021]}), soundsum.folder / "t.parquet")
    typed = soundsum("count", "t.parquet", "--epsilon", "1000", "--by", "year", "--groups", "2021", "--json")
    assert [(r["group"], r["value"]) for r in json.loads(typed.stdout)] == [(2021, 1)]
    refused = soundsum("count", "t.parquet", "--epsilon", "1", "--by", "year", "--groups", "old,new")
    assert refused.returncode == 2
    assert "column 'year' is int64; give values of that type in --groups" in refused.stderr


def test_groups_of_several_columns(soundsum):
    (soundsum.folder / "c.csv").write_text("k,year\na,2020\na,2021\nb,2020\na,2020\n")
    both = ("--by", "k", "--groups", "a,b", "--by", "year", "--groups", "2020,2021")
    done = soundsum("count", "c.csv", "--epsilon", "1000", *both, "--json")
    assert [(r["group"], r["value"]) for r in json.loads(done.stdout)] == [
        (["a", "2020"], 2),
        (["a", "2021"], 1),
        (["b", "2020"], 1),
        (["b", "2021"], 0),
    ]
    lines = soundsum("count", "c.csv", "--epsilon", "1000", *both).stdout.splitlines()
    assert lines[0].split() == ["k", "year", "private", "count", "95%", "interval"]
    assert lines[2].split()[:3] == ["a", "2021", "1"]
    refused = soundsum("count", "c.csv", "--epsilon", "1", *both[:6])
    assert refused.returncode == 2
    assert "--by is given 2 times and --groups 1 times; list groups for each column" in refused.stderr


def test_only_some_rows(soundsum):
    def count(file, *conditions):
        options = [word for condition in conditions for word in ("--where", condition)]
        done = soundsum("count", file, "--epsilon", "1000", *options, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["value"]

    (soundsum.folder / "w.csv").write_text("age,k,day\n17,a,2020\n18,b,2021\n40,b,2022\n?,b,2023\n")
    assert count("w.csv", "age >= 18") == 2
    assert count("w.csv", "age>17", "k = b") == 2
    assert count("w.csv", "k = b") == count("w.csv", "k != 'a'") == 3
    assert count("w.csv", "day = '2020'") == 1  # as text
    days = pa.array(["2020-01-01", "2021-06-30"]).cast(pa.date32())
    pyarrow.parquet.write_table(pa.table({"age": [17, 18], "day": days}), soundsum.folder / "w.parquet")
    assert count("w.parquet", "age < 18") == count("w.parquet", "day >= 2021-01-01") == 1


def test_persons(soundsum):
    done = soundsum(*SUM, "--privacy-unit", "person", "--max-rows", "3", "--json")
    release = json.loads(done.stdout)
    assert release["certificate"]["unit"] == {"groups": None, "max_rows": 3, "max_groups": 1}
    assert release["certificate"]["sensitivity"] == "18"
    shown = " ".join(soundsum(*SUM, "--privacy-unit", "person", "--max-rows", "3").stdout.split())
    assert "for one person; " in shown
    assert (
        "each person counts with a total clamped to [0, 18], as much as 3 rows can add; rows without an id left out"
        in shown
    )
    by_default = soundsum(*SUM, "--privacy-unit", "person", "--by", "dept", "--groups", "a,b").stdout
    assert (
        "each person counts with a total in a group clamped to [0, 6], as much as 1 row can add, and in at most 1 "
        "group: the one with most of their rows"
    ) in " ".join(by_default.split())


def test_every_line_end_in_a_name_is_quoted_in_csv(soundsum):
    groups = "a\rb,c\nd"
    asked = ["count", "t.csv", "--epsilon", "1", "--by", "dept", "--groups", groups, "--csv"]
    done = processes.run([COMMAND, *asked], cwd=soundsum.folder)
    rows = list(csv.reader(io.StringIO(done.stdout.decode(), newline="")))
    assert [row[0] for row in rows] == ["dept", "a\rb", "c\nd"]


def test_every_release_by_group_can_be_checked(soundsum):
    for command in ("sum", "mean", "variance"):
        done = soundsum(command, *SUM[1:], "--by", "dept", "--groups", "a,b", "--json")
        (soundsum.folder / "r.json").write_text(done.stdout)
        assert soundsum("check", "r.json").stdout.startswith("holds")
        releases = json.loads(done.stdout)
        releases[1]["certificate"]["privacy"]["epsilon"] = "2"
        (soundsum.folder / "r.json").write_text(json.dumps(releases))
        assert soundsum("check", "r.json").returncode == 1


def test_a_ledger_bears_a_release_out(soundsum):
    for name in ("ours.db", "other.db"):
        soundsum("budget", "create", name, "--epsilon", "3", "--data", "pay")
    done = soundsum(*SUM, "--budget", "ours.db", "--data", "pay", "--json")
    (soundsum.folder / "r.json").write_text(done.stdout)
    held = soundsum("check", "r.json", "--budget", "ours.db")
    assert held.returncode == 0
    assert "this ledger was charged for it" in held.stdout
    assert "cannot be checked" in held.stdout
    other = soundsum("check", "r.json", "--budget", "other.db")
    assert (other.returncode, "the ledger has no charge on line 1" in other.stdout) == (1, True)
    for path, value, message in (
        (["ledger", "cost", "epsilon"], "1/100", "charge 1 was epsilon = 1, and the release says epsilon = 0.01"),
        (["ledger", "query", "source"], "other", "charge 1 was for another query: source: 't.csv' was charged for"),
        (["source"], "other", "source: the query says 't.csv', and the release 'other'"),
        (["ledger", "entry"], 7, "no charge on line 7, which the release names"),
        (["data"], "other", "data: the query says 'pay', and the release 'other'"),
        (["ledger", "query", "data"], "other", "the ledger is about the data 'pay', and the release the data 'other'"),
        (["privacy_unit"], "person", "privacy_unit: 'person' is claimed, and the certificate is for one record"),
        (["relation"], "hamming", "relation"),
        (["bounds"], ["0", "1"], "bounds"),
    ):
        release = json.loads(done.stdout)
        inner = release
        for step in path[:-1]:
            inner = inner[step]
        inner[path[-1]] = value
        (soundsum.folder / "r.json").write_text(json.dumps(release))
        wrong = soundsum("check", "r.json", "--budget", "ours.db")
        assert wrong.returncode == 1, path
        assert message in wrong.stdout.replace("\n", " "), path
    another = json.loads(soundsum("variance", *SUM[1:], "--json").stdout)
    dearer = json.loads(soundsum(*SUM[:-1], "1/2", "--json").stdout) if SUM[-2] == "--epsilon" else another
    for other in (another, dearer):
        swapped = {**json.loads(done.stdout), **{name: other[name] for name in ("certificate", "statistic", "bounds")}}
        (soundsum.folder / "r.json").write_text(json.dumps(swapped))
        assert soundsum("check", "r.json", "--budget", "ours.db").returncode == 1
    for name, value in (("statistic", "count"), ("value", 123456), ("extra", 1)):
        (soundsum.folder / "r.json").write_text(json.dumps({**json.loads(done.stdout), name: value}))
        assert soundsum("check", "r.json").returncode == 1, name
    (soundsum.folder / "r.json").write_text(json.dumps({"certificate": {"format": 1}}))
    assert soundsum("check", "r.json").returncode == 2
    (soundsum.folder / "r.json").write_text(json.dumps(json.loads(done.stdout)["certificate"]))
    assert soundsum("check", "r.json").returncode == 0
    assert soundsum("check", "r.json", "--budget", "ours.db").returncode == 2


def test_no_name_an_analyst_chose_moves_the_cursor_of_whoever_looks_at_the_ledger(soundsum):
    name = "\x1b[2Ja\nb [red]c"
    budget = ss.Budget(epsilon=2, path=soundsum.folder / "l.db")
    made = ss.release({"x": [1.0]}, {name: ss.Sum("x", 0, 1), "n": ss.Count()}, 1, budget=budget)
    for asked in ([], ["--all"]):
        said = soundsum("budget", "show", "l.db", *asked).stdout
        assert "\x1b" not in said
        assert "\\x1b[2Ja\\nb [red]c" in said
    assert "\x1b" not in budget._repr_html_()
    wrong = {**made.to_dict()["releases"][0], "unit": name, "certificate": made[0].certificate}
    (soundsum.folder / "r.json").write_text(json.dumps(wrong))
    said = soundsum("check", "r.json", "--budget", "l.db").stdout
    assert "does not hold" in said
    assert "\x1b" not in said


def test_what_is_wrong_with_every_one_of_many_releases_is_said_in_linear_time():
    class Counted(str):
        compared = 0
        __hash__ = str.__hash__

        def __eq__(self, other):
            Counted.compared += 1
            return str(self) == str(other)

    found = [[Counted(f"value {i}")] for i in range(2000)]
    assert _join(found)[-1] == "release 2000: value 1999"
    assert Counted.compared < 100_000


def test_stdin_and_types_of_csv_columns(soundsum):
    options = ("--column", "x", "--bounds", "0", "9", "--epsilon", "1000000", "--dtype", "int64")
    done = soundsum("sum", "-", *options, input="x\n1\n2\n")
    assert done.stdout.splitlines()[1].split()[0] == "3"
    plain = soundsum(*SUM, "--json")
    assert json.loads(plain.stdout)["certificate"]["problem"]["dtype"] == "float64"


def test_gaussian_noise(soundsum):
    done = soundsum("sum", "t.csv", *PAY, "--dtype", "int64", "--noise", "gaussian", "--rho", "1/2", "--json")
    assert json.loads(done.stdout)["certificate"]["released"][0]["sigma_squared"] == "36"


def test_edges_and_cells_are_printed_for_people(soundsum):
    done = soundsum("histogram", "t.csv", "--column", "pay", "--edges", "0,3,7", "--epsilon", "1")
    assert [line.split("  ")[0] for line in done.stdout.splitlines()[1:3]] == ["0 to 3", "3 to 7"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([*SUM, "--by", "dept"], "the list of groups is itself private"),
        ([*SUM, "--groups", "a"], "without --by"),
        (
            [*SUM, "--by", "floor", "--groups", "a"],
            "column 'floor' is not in the table; its names are the cells of the first line",
        ),
        ([*SUM, "--relation", "hamming", "--privacy-unit", "person"], "needs symmetric"),
        (
            [*SUM, "--relation", "hamming", "--size", "5"],
            "is about hamming, and the budget about symmetric",
        ),
        ([*SUM, "--method", "magic"], "--method magic is not one of auto"),
        (["sum", "t.csv", *PAY, "--epsilon", "nan"], "--epsilon nan is not a number"),
        (["sum", "t.csv", *PAY, "--epsilon", "1e-2000"], "has more than 4,100 bits"),
        (
            ["sum", "t.csv", "--column", "pay", "--bounds", "6", "0", "--epsilon", "1"],
            "--bounds 6 0: the lower bound is above",
        ),
        (["sum", "none.csv", *PAY, "--epsilon", "1"], "none.csv: no such file; check the path"),
        (["sum", "empty.csv", *PAY, "--epsilon", "1"], "empty.csv cannot be read as csv"),
        (["histogram", "t.csv", "--column", "pay", "--edges", "0,x", "--epsilon", "1"], "'x' is not a number"),
        ([*SUM, "--where", "pay"], "--where pay is not a condition; give a column, a sign and a value"),
        ([*SUM, "--where", "floor > 2"], "column 'floor' is not in the table"),
        (["check", "t.csv"], "t.csv is not JSON"),
        (["budget", "show", "t.csv"], "t.csv"),
    ],
)
def test_bad_input_is_one_line_with_a_remedy(soundsum, arguments, message):
    (soundsum.folder / "empty.csv").touch()
    ledger = soundsum.folder / "ledger.db"
    soundsum("budget", "create", ledger, "--epsilon", "1")
    charged = ["--budget", ledger] if arguments[0] not in ("check", "budget") else []
    done = soundsum(*arguments, *charged)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert json.loads(soundsum("budget", "show", ledger, "--json").stdout)["charges"] == []


def test_a_locked_or_broken_ledger_lets_nothing_out(soundsum):
    ledger = soundsum.folder / "ledger.db"
    soundsum("budget", "create", ledger, "--epsilon", "1")
    holder = sqlite3.connect(ledger, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    locked = soundsum(*SUM, "--budget", ledger)
    holder.execute("ROLLBACK")
    holder.close()
    assert locked.returncode == 2
    assert "locked" in locked.stderr
    assert locked.stdout == ""
    assert soundsum(*SUM, "--budget", ledger).returncode == 0
    ledger.write_bytes(b"x" * 5000)
    broken = soundsum(*SUM, "--budget", ledger)
    assert broken.returncode == 2
    assert broken.stdout == ""
    assert len(broken.stderr.strip().splitlines()) == 1


def test_a_progress_bar_on_a_terminal_and_none_elsewhere(soundsum):
    table = pa.table({"pay": np.ones(3_000_000)})
    pyarrow.parquet.write_table(table, soundsum.folder / "t.parquet")
    arguments = ["sum", "t.parquet", *PAY, "--epsilon", "1"]
    assert soundsum(*arguments).stderr == ""
    screen, terminal = pty.openpty()
    with subprocess.Popen([COMMAND, *arguments], cwd=soundsum.folder, stdout=subprocess.PIPE, stderr=terminal) as run:
        os.close(terminal)
        shown = b""
        while True:
            try:
                shown += (more := os.read(screen, 4096))
            except OSError:  # the other end is closed
                break
            if not more:
                break
        assert b"private sum" in run.stdout.read()
    os.close(screen)
    assert b"3000000/3000000" in shown


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(soundsum, shell):
    """As the shell asks for it; `soundsum --install-completion` writes it down for the shell it is run in."""
    done = soundsum(environment={"_SOUNDSUM_COMPLETE": f"source_{shell}"})
    assert done.returncode == 0
    assert "soundsum" in done.stdout
    assert "complet" in done.stdout


def test_every_command_helps_with_an_example(soundsum):
    for command in ("sum", "mean", "variance", "count", "histogram", "check", "plan"):
        text = soundsum(command, "--help").stdout
        assert "Example" in text
        assert f"soundsum {command}" in text


def test_names_are_printed_as_they_are(soundsum):
    """Also those that look like markup, which must not fail after the charge."""
    ledger = soundsum.folder / "ledger.db"
    soundsum("budget", "create", ledger, "--epsilon", "1")
    done = soundsum(*SUM, "--by", "dept", "--groups", "[/b],[a]", "--budget", ledger)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()[1:3]] == ["[/b]", "[a]"]
    refused = soundsum("sum", "t.csv", "--column", "[/x]", "--bounds", "0", "1", "--epsilon", "1")
    assert refused.returncode == 2
    assert "column '[/x]' is not in the table" in refused.stderr


def test_stdin_is_read_as_any_csv_file(soundsum):
    rows = "x,k\n" + "1,2\n" * 300_000 + "oops,2\n"
    done = soundsum(
        "sum", "-", "--column", "x", "--bounds", "0", "9", "--epsilon", "1000000", "--dtype", "float64",
        "--by", "k", "--groups", "2", "--json", input=rows,
    )  # fmt: skip
    (release,) = json.loads(done.stdout)
    assert release["group"] == "2"
    assert release["value"] == pytest.approx(300_000, abs=1)


def test_a_file_that_is_no_certificate(soundsum):
    for text in ("[1]", "[]", "3", "{}", '{"a": 1}'):
        (soundsum.folder / "c.json").write_text(text)
        done = soundsum("check", "c.json")
        assert done.returncode == 2
        assert "c.json holds no release and no certificate; give a file that --json printed" in done.stderr


def test_a_file_that_is_not_json_or_only_a_part_of_a_certificate(soundsum):
    for text, message in (
        ("{'a': 1}", "c.json is not JSON, by line 1, column 2; give a file that --json printed"),
        ("[" * 100_000, "c.json is not JSON of a release; give a file that --json printed"),
        ('{"format": 1}', "c.json: the certificate cannot be read: it has no 'versions'"),
    ):
        (soundsum.folder / "c.json").write_text(text)
        done = soundsum("check", "c.json")
        assert done.returncode == 2
        assert message in done.stderr


def test_what_is_wrong_with_every_group_is_said_once_and_in_words(soundsum):
    done = soundsum(*SUM, "--by", "dept", "--groups", "a,b", "--json")
    soundsum("budget", "create", "wrong.db", "--epsilon", "3", "--privacy-unit", "person", "--data", "pay")
    (soundsum.folder / "r.json").write_text(done.stdout)
    assert soundsum("check", "r.json", "--budget", "wrong.db").stdout.split("\n") == [
        "does not hold ",
        "  the ledger protects persons (by person), and the release records ",
        "  the ledger is about the data 'pay', and the release data without a name ",
        "  the release was not charged to any ledger",
        "",
    ]
    releases = json.loads(done.stdout)
    releases[1]["certificate"]["released"][0]["scale"] = "1"
    (soundsum.folder / "r.json").write_text(json.dumps(releases))
    assert "release 2: released, scale: '" in soundsum("check", "r.json").stdout


def test_groups_by_month_and_hour(soundsum):
    rows = ["2024-01-05,a,2024-01-05T07:30Z,1", "2024-01-31,b,2024-01-05T08:30Z,2", "2024-03-01,a,,4", "none,a,x,8"]
    (soundsum.folder / "d.csv").write_text("\n".join(["day,ward,at,x", *rows]) + "\n")
    ask = ("sum", "d.csv", "--column", "x", "--bounds", "0", "10", "--epsilon", "100000", "--json")

    def groups(*options):
        done = soundsum(*ask, *options)
        assert done.returncode == 0, done.stderr
        return {str(r["group"]): round(r["value"]) for r in json.loads(done.stdout)}

    by_month = groups("--by", "month(day)", "--groups", "2024-01..2024-03")
    assert by_month == {"2024-01-01": 3, "2024-02-01": 0, "2024-03-01": 4}
    assert groups("--by", "month(day)", "--groups", "2024-03,2023-11..2024-01") == {
        "2024-03-01": 4, "2023-11-01": 0, "2023-12-01": 0, "2024-01-01": 3,
    }  # fmt: skip
    both = ("--by", "ward", "--groups", "a,b", "--by", "year(day)", "--groups", "2024")
    assert groups(*both) == {"['a', '2024-01-01']": 5, "['b', '2024-01-01']": 2}
    zoned = ("--by", "hour(at, Europe/Vienna)", "--groups", "2024-01-05T08,2024-01-05T09")
    assert groups(*zoned) == {"2024-01-05 08:00:00+01:00": 1, "2024-01-05 09:00:00+01:00": 2}
    shown = soundsum(*ask[:-1], "--by", "week(day)", "--groups", "2024-W01..2024-W02").stdout
    assert [line.split()[0] for line in shown.splitlines()[1:3]] == ["2024-W01", "2024-W02"]
    for wrong, message in {
        ("--by", "month(day)", "--groups", "2024-01-05"): "'2024-01-05' is not a month; give months",
        ("--by", "month(day)", "--groups", "2024-03..2024-01"): "last is before first",
        ("--by", "month(day, Wien)", "--groups", "2024-03"): "zone Wien is not a time zone known here",
        ("--by", "month(dya)", "--groups", "2024-03"): "column 'dya' is not in the table",
        ("--by", "month(day)"): "the list of groups is itself private",
    }.items():
        refused = soundsum(*ask, *wrong)
        assert refused.returncode == 2
        assert message in refused.stderr


def test_a_column_that_is_called_like_a_period_is_never_mistaken_for_one(soundsum):
    ask = ("count", "t.parquet", "--epsilon", "100000", "--by", "month(day)", "--json")
    column = {"month(day)": ["2024-01", "2024-01-01"]}
    pyarrow.parquet.write_table(pa.table(column), soundsum.folder / "t.parquet")
    done = soundsum(*ask, "--groups", "2024-01")
    assert [(r["group"], r["value"]) for r in json.loads(done.stdout)] == [("2024-01", 1)]
    pyarrow.parquet.write_table(pa.table({**column, "day": ["2024-01-01"] * 2}), soundsum.folder / "t.parquet")
    refused = soundsum(*ask, "--groups", "2024-01")
    assert refused.returncode == 2
    assert "there is a column of this name, and a column 'day'; rename one of them" in refused.stderr
