"""What a command says when it is refused: one line with the value and the remedy, and exit code 2."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import soundsum as ss
from soundsum.cli.refusals import read_bounds, say

COMMAND = Path(sys.executable).with_name("soundsum")
PAY = ["--column", "pay", "--bounds", "0", "9"]
SUM = ["sum", "t.csv", *PAY, "--epsilon", "1"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "t.csv").write_text("pay,dept\n1,a\n2,b\n")
    (folder / "latin.csv").write_bytes("größe,dept\n1,2\n".encode("latin-1"))
    (folder / "broken.csv").write_bytes(b"pay,dept\n1,\xff\n\xfe,a\n3,a\n")
    (folder / "latin.txt").write_bytes("größe\n".encode("latin-1"))
    (folder / "blank.txt").write_text("\n")
    (folder / "empty").mkdir()
    (folder / "noname").write_text("pay\n1\n")
    pyarrow.parquet.write_table(pa.table({"x": [1.0]}), folder / "x.parquet")
    pyarrow.parquet.write_table(pa.table({}), folder / "nothing.parquet")
    return folder


def soundsum(folder, *arguments, **options):
    environment = {**os.environ, "COLUMNS": "100"}
    run = [COMMAND, *arguments]
    return subprocess.run(run, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, **options)


REFUSED = [
    (["sum", "latin.csv", *PAY, "--epsilon", "1"], "the names in the first line of latin.csv are not UTF-8"),
    ([*SUM, "--by", "dept", "--groups", "@latin.txt"], "latin.txt: it is not text in UTF-8; save it as UTF-8"),
    ([*SUM, "--by", "dept", "--groups", "@none.txt"], "none.txt: no such file; check the path"),
    ([*SUM, "--by", "dept", "--groups", "@empty"], "empty: is a directory; give a text file"),
    (
        [*SUM, "--by", "dept", "--groups", "@blank.txt"],
        "--groups @blank.txt: the file is empty; write one name to a line",
    ),
    (
        [*SUM, "--by", "dept", "--groups", "@x.parquet"],
        "--groups @x.parquet: that is a table; give a text file with one",
    ),
    ([*SUM, "--by", "dept", "--groups", "@t.csv"], "--groups @t.csv: that is a table"),
    ([*SUM, "--by", "dept", "--groups", ""], "--groups '' has an empty name in it; list names with commas"),
    ([*SUM, "--by", "dept", "--groups", "a,"], "--groups 'a,' has an empty name in it"),
    ([*SUM, "--by", "dept"], "list the groups to release from public knowledge, such as --groups a,b"),
    (
        [*SUM, "--by", "month(dept)"],
        "list the groups to release from public knowledge, such as --groups 2024-01..2024-12",
    ),
    ([*SUM, "--groups", "a"], "--groups is given without --by"),
    (
        ["sum", "t.csv", "--column", "pay", "--bounds", "0", "--epsilon", "1"],
        "--bounds 0: give the lower and the upper",
    ),
    (["sum", "t.csv", "--column", "pay", "--epsilon", "1", "--bounds", "1,2,3"], "--bounds 1,2,3: give the lower and"),
    (["sum", "t.csv", "--column", "pay", "--epsilon", "1", "--bounds"], "--bounds : give the lower and the upper"),
    (["plan", "--dtype", "int8", "--bounds", "2", "1"], "--bounds 2 1: the lower bound is above the upper; swap them"),
    (
        ["sum", "t.csv", *PAY, "--epsilon", "abc"],
        "--epsilon: abc is not a finite number; give one",
    ),
    (["sum", "t.csv", *PAY, "--epsilon", "inf"], "--epsilon: inf is not a finite number"),
    (["sum", "t.csv", *PAY, "--epsilon", "1e400"], "--epsilon 1e400 promises nothing; give a small number"),
    (["sum", "t.csv", *PAY, "--epsilon", "0"], "--epsilon 0: a privacy parameter is a finite number above 0"),
    (["sum", "t.csv", *PAY], "epsilon is missing; give a number above 0, such as --epsilon 1"),
    (["budget", "create", "l.db", "--epsilon", "1e400"], "--epsilon 1e400 promises nothing"),
    (["sum", "none.csv", *PAY, "--epsilon", "1"], "none.csv: no such file; check the path"),
    (["sum", "noname", *PAY, "--epsilon", "1"], "noname: without a suffix its format is not known; use .parquet, .csv"),
    (["sum", "empty", *PAY, "--epsilon", "1"], "empty: there are no files in it that end with .parquet"),
    (["sum", "*", *PAY, "--epsilon", "1"], "* matches folders; give files, such as *.csv, or one folder"),
    (["sum", "nothing.parquet", *PAY, "--epsilon", "1"], "column 'pay' is not in the table; it has no columns at all"),
    (
        ["histogram", "t.csv", "--column", "pay", "--edges", "0,1", "--categories", "a", "--epsilon", "1"],
        "give one of --edges, --bins (with --bounds) and --categories",
    ),
    (["histogram", "t.csv", "--column", "pay", "--bins", "3", "--epsilon", "1"], "--bins 3 needs --bounds, where the"),
    (
        ["budget", "show", "x.parquet"],
        "x.parquet is not a soundsum ledger; give the path of one, or make one: soundsum",
    ),
    (["budget", "show", "."], "is not a soundsum ledger"),
    (["budget", "show", "none.db"], "none.db; make one: soundsum budget create"),
    ([*SUM, "--budget", "none.db"], "none.db; make one: soundsum budget create"),
    (["check", "none.json"], "none.json: no such file; check the path"),
    (["check", "x.parquet"], "x.parquet: it is not text in UTF-8"),
    (["sum"], "missing argument 'FILE'; soundsum sum --help shows what it takes"),
    (["budget", "refund"], "missing argument 'LEDGER'; soundsum budget refund --help shows what it takes"),
    (["sum", "t.csv"], "missing option '--column'; soundsum sum --help"),
    (["nonsense"], "no such command 'nonsense'; soundsum --help"),
    ([*SUM, "--relation", "samples"], "--relation: 'samples' is not one of 'symmetric'"),
    ([*SUM, "--max-rows", "3"], "--max-rows and --max-groups are about persons; give --privacy-unit"),
    ([*SUM, "--noise", "gaussian"], "delta is missing; give a number above 0, such as --delta 1e-6"),
    ([*SUM, "--method", "kahan"], "give --max-size"),
]


@pytest.mark.parametrize("arguments, message", REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused_in_one_line(folder, arguments, message):
    done = soundsum(folder, *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Errno" not in done.stderr
    assert "=" not in done.stderr.replace("==", "").replace(">=", "").replace("<=", "")  # no Python


def test_stdin_has_no_temporary_name(folder):
    done = soundsum(folder, "sum", "-", *PAY, "--epsilon", "1", input="")
    assert done.stderr == "error: stdin cannot be read as csv; it is empty or broken, or its suffix is wrong\n"


def test_a_broken_byte_in_a_record_is_a_missing_cell(folder):
    done = soundsum(
        folder, "sum", "broken.csv", *PAY, "--epsilon", "1000000", "--by", "dept", "--groups", "a", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert '"exact": "3' in done.stdout or '"value": 2.99' in done.stdout or '"value": 3.0' in done.stdout


def test_bounds_with_a_comma():
    assert read_bounds(["a", "--bounds", "0,100", "-x"]) == ["a", "--bounds", "0", "100", "-x"]
    assert read_bounds(["--bounds=-5,1e3"]) == ["--bounds", "-5", "1e3"]
    assert read_bounds(["--bounds", "-5", "-2", "--json"]) == ["--bounds", "-5", "-2", "--json"]


def test_no_arguments_show_the_help(folder):
    done = soundsum(folder, "budget")
    assert done.returncode == 2
    assert "Ledgers" in done.stdout + done.stderr


def test_what_is_not_about_options_stays_as_it_is():
    assert say("name='nonsense' is not an attack", "attack") == "name='nonsense' is not an attack"
    assert say("budget=3 is not a budget; give ss.Budget(epsilon=...), or with path= one in a file", "sum") == (
        "--budget 3 is not a budget; give a ledger, which soundsum budget create makes"
    )
    assert say("such as where=[('age', '>=', 18)]", "sum") == "such as --where 'age >= 18'"


def test_python_m_soundsum_is_the_command(folder):
    run = [sys.executable, "-m", "soundsum", "--version"]
    assert subprocess.run(run, capture_output=True, text=True).stdout == f"soundsum {ss.__version__}\n"


def test_home_and_variables_in_paths(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("TABLES", str(folder))
    for path in ("~/t.csv", "$TABLES/t.csv", "~/t.*"):
        assert ss.count(path, epsilon=10**6).value == 2
    ledger = ss.Budget(epsilon=1, path="~/home.db")
    assert ledger.path == str(folder / "home.db")
    assert ss.Budget(path="$TABLES/home.db").epsilon == 1
    done = soundsum(folder, "budget", "show", "~/home.db")
    assert done.returncode == 0, done.stderr
