"""What a command says when it is refused: one line with the value and the remedy, and exit code 2."""

import os
import re
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.main import get_command

import soundsum as ss
from soundsum.cli.app import app
from soundsum.cli.refusal_text import CommandLine, RequestFile, find_options, read_bounds
from soundsum.engines import ENGINES
from soundsum.privacy.noise import NOISES
from soundsum.refusals import OPTION, Reason, RefusedValue
from soundsum.statistics import STATISTICS
from tests import processes
from tests.refusing import SNAPSHOT

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
    (folder / "open.txt").write_text('b\n"a\n')
    (folder / "empty").mkdir()
    (folder / "noname").write_text("pay\n1\n")
    pyarrow.parquet.write_table(pa.table({"x": [1.0]}), folder / "x.parquet")
    pyarrow.parquet.write_table(pa.table({}), folder / "nothing.parquet")
    day = pa.array([20000], pa.int32()).cast(pa.date32())
    pyarrow.parquet.write_table(pa.table({"pay": [1.0], "day": day}), folder / "d.parquet")
    ss.Budget(epsilon=1, path=folder / "orders.db", data="orders of 2024")
    ss.Budget(epsilon=1, path=folder / "plain.db")
    return folder


def soundsum(folder, *arguments, **options):
    environment = {**os.environ, "COLUMNS": "100"}
    return processes.run([processes.COMMAND, *arguments], cwd=folder, env=environment, text=True, **options)


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
    ([*SUM, "--by", "dept", "--groups", ""], "--groups: '' has an empty name in it; list names with commas"),
    ([*SUM, "--by", "dept", "--groups", "a,"], "--groups: 'a,' has an empty name in it"),
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
    (["sum", "t.csv", "--column", "pay", "--epsilon", "1", "--bounds"], "--bounds '': give the lower and the upper"),
    (["plan", "--dtype", "int8", "--bounds", "2", "1"], "--bounds 2 1: the lower bound is above the upper; swap them"),
    (
        ["sum", "t.csv", *PAY, "--epsilon", "abc"],
        "--epsilon abc is not a number; give one",
    ),
    (["sum", "t.csv", *PAY, "--epsilon", "inf"], "--epsilon inf is not a number"),
    (["sum", "t.csv", *PAY, "--epsilon", "1e400"], "--epsilon 1e400 promises nothing; give a small number"),
    (["sum", "t.csv", *PAY, "--epsilon", "0"], "--epsilon 0: a privacy parameter is a finite number above 0"),
    (["sum", "t.csv", *PAY], "--epsilon is missing; give a number above 0, such as --epsilon 1"),
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
    (["budget", "create", "plain.db"], "there is a file already at plain.db; soundsum budget show shows a ledger, and"),
    (
        ["budget", "create", "plain.db", "--epsilon", "1", "--privacy-unit", "id"],
        "and not for persons (by id), symmetric neighbours; soundsum budget show shows it, and another path makes a",
    ),
    (["budget", "show", "."], "is not a soundsum ledger"),
    (["budget", "show", "none.db"], "none.db; make one: soundsum budget create"),
    ([*SUM, "--budget", "none.db"], "none.db; make one: soundsum budget create"),
    (["check", "none.json"], "none.json: no such file; check the path"),
    (["check", "x.parquet"], "x.parquet: it is not text in UTF-8"),
    (["sum"], "the argument FILE is missing; soundsum sum --help shows what it takes"),
    (["budget", "refund"], "the argument LEDGER is missing; soundsum budget refund --help shows what it takes"),
    (["sum", "t.csv"], "--column is missing; soundsum sum --help"),
    (["sume"], "no such command: sume; did you mean sum?\n"),
    ([*SUM, "--privcy-unit", "x"], "no such option: --privcy-unit; did you mean --privacy-unit?\n"),
    (["sum", "", *PAY, "--epsilon", "1"], "the path is empty; give that of a file, such as pay.parquet"),
    (
        ["sum", "t.csv", "--column", "pay", "--bounds", "5000", "0", "--epsilon", "1"],
        "--bounds 5000 0: the lower bound is above the upper; swap them",
    ),
    (
        ["sum", "t.csv", *PAY, "--epsilon", "1", "--privacy-unit", "pay", "--max-rows", "1"],
        "column 'pay' is asked for as ids of persons and as numbers, and is read as one of them; name another column",
    ),
    (["release", "t.csv"], "the argument REQUEST is missing; soundsum release --help shows what it takes"),
    (
        [*SUM, "--by", "month(pay)", "--groups", "2024-01"],
        "column 'pay' is asked for as dates and as numbers, and is read as one of them; name another column, or ask in",
    ),
    (
        [
            "sum",
            "x.parquet",
            "--column",
            "x",
            "--bounds",
            "0",
            "1",
            "--epsilon",
            "1",
            "--by",
            "month(x)",
            "--groups",
            "2024-01",
        ],
        "month(x): the column is float64, not dates or times; name another column, or cast it",
    ),
    (
        [*SUM, "--by", "dept", "--groups", "2024-01..2024-12"],
        "--groups 2024-01..2024-12: ranges are for periods; give --by 'month(dept)', or name each one",
    ),
    (["sum", "t.csv", "--column"], "--column needs a value; soundsum sum --help shows what it takes"),
    ([*SUM, "--json=x"], "--json takes no value; soundsum sum --help shows what it takes"),
    (["plan", "--foo"], "no such option: --foo; soundsum plan --help shows what it takes"),
    (["budget", "nonsense"], "no such command: nonsense; soundsum budget --help"),
    (["serve", "owner.toml", "--port", "80000"], "--port 80000 is above 65535; give less"),
    (["serve", "owner.toml", "--port", "0"], "--port 0 is below 1; give more"),
    ([*SUM, "more", "words"], "unexpected argument: more words; put what has spaces in quotes"),
    (["budget", "refund", "plain.db", "x"], "error: NUMBER x is not a whole number; give one such as 10"),
    (
        ["histogram", "t.csv", "--column", "pay", "--edges", "5,1", "--epsilon", "1"],
        "--edges 5,1: edges go up, without repeats; give them so, such as --edges 0,10,20",
    ),
    ([*SUM, "--relation", "hamming", "--privacy-unit", "id"], "needs symmetric, not hamming; leave --relation out"),
    (["nonsense"], "no such command: nonsense; soundsum --help"),
    ([*SUM, "--relation", "samples"], "--relation samples is not known; use one of symmetric,"),
    ([*SUM, "--max-rows", "3"], "--max-rows and --max-groups are about persons; give --privacy-unit"),
    ([*SUM, "--noise", "gaussian"], "--delta is missing; give a number above 0, such as --delta 1e-6"),
    (
        [*SUM, "--size", "2"],
        "--size 2: under symmetric the number of records is private; leave --size out, or give --rel",
    ),
    (
        ["plan", "--dtype", "int8", "--bounds", "0", "1", "--size", "2"],
        "--size 2: under symmetric the number of records is private; leave --size out, or give --relation change_one",
    ),
    ([*SUM, "--relation", "hamming", "--max-size", "2"], "--max-size 2: under hamming the number of records is public"),
    ([*SUM, "--max-rows", "x"], "--max-rows x is not a whole number; give one such as 10"),
    ([*SUM, "--size", "1.5"], "--size 1.5 is not a whole number; give one such as 10"),
    (["audit", "numpy", "--time", "x"], "--time x is not a number; give one such as 10 or 0.5"),
    (["audit", "nope"], "nope is not known; did you mean opendp?"),
    (["attack", "show", "nope"], "nope is not an attack; use one of overflow"),
    (["attack", "deliver", "nope"], "nope is not a delivery; use one of microquery"),
    (
        ["attack", "show", "rounding", "--ratio", "0"],
        "--ratio 0 is not a finite number above 0; give how many times the ideal",
    ),
    (
        ["sum", "t.csv", "--column", "pay", "--bounds", "0", "x", "--epsilon", "1"],
        "--bounds x is not a number; give one",
    ),
    (
        [*SUM, "--engine", "duckdb"],
        "t.csv: --engine is for Parquet, and other files are read in memory; leave --engine out",
    ),
    ([*SUM, "--engine", "nope"], "--engine nope is not one of memory"),
    ([*SUM, "--table", "x"], "--table x is for databases, and this data is a table itself; leave --table out"),
    ([*SUM, "--by", "month(dept, Mars)", "--groups", "2024-01"], "zone Mars is not a time zone known here"),
    (
        [*SUM, "--by", "months(dept)", "--groups", "2024-01"],
        "--by 'months(dept)': there is no such column or period; periods of a column C are year(C), month(C), week(C)",
    ),
    ([*SUM, "--where", "pay > nan"], "--where 'pay > nan': no row compares with NaN, and rows without a value fulfil"),
    (
        ["sum", "x.parquet", "--column", "x", "--bounds", "0", "1", "--epsilon", "1", "--where", "x > nan"],
        "--where 'x > nan': no row compares with NaN",
    ),
    ([*SUM, "--where", "dept == ''"], "an empty cell in CSV is missing, and fulfils no condition; count all rows, and"),
    (
        ["sum", "d.parquet", *PAY, "--epsilon", "1", "--where", "day > 2024"],
        "column 'day' is dates; give a value of",
    ),
    (
        ["sum", "d.parquet", *PAY, "--epsilon", "1", "--where", "day > 2024"],
        "in --where 'day > 2024', such as 2024-01-31",
    ),
    (
        [*SUM, "--budget", "orders.db"],
        "costs for other data do not add up: the release is about data without a name, and the budget about the",
    ),
    (
        [*SUM, "--budget", "orders.db", "--data", "x"],
        "nothing was charged: ask with the budget's --data 'orders of 2024', or make a second budget",
    ),
    (
        [*SUM, "--budget", "plain.db", "--data", "x"],
        "nothing was charged: ask without --data, or make a second budget for the data 'x' with soundsum "
        "budget create (the release was: sum of",
    ),
    (
        [*SUM, "--by", "dept", "--groups", "a,'b'"],
        "--groups: 'b' is in single quotes; put it in double quotes, or none; with its own quotes it is",
    ),
    (["verify", "--only", "wide", "--only", "nope"], "--only nope: there is no such method; there are wide, grid"),
    (["verify", "--only", "nope"], "--only nope: there is no such method; there are wide, grid"),
    (["plan", "--dtype", "float65", "--bounds", "0", "1"], "float64, or one such as int5 or float(4,4)"),
    ([*SUM, "--by", "dept", "--groups", "@open.txt"], "--groups @open.txt: a quote of '\"a' is not closed; write"),
]


@pytest.mark.parametrize("arguments, message", REFUSED, ids=[message[:40] for _, message in REFUSED])
def test_refused_in_one_line(folder, arguments, message):
    done = soundsum(folder, *arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Errno" not in done.stderr
    assert "=" not in re.sub("[=<>!]=", "", done.stderr)  # no Python


def test_a_ledger_that_is_there_is_not_made_again_and_what_to_do_is_said(folder):
    done = soundsum(folder, "budget", "create", "plain.db", "--epsilon", "2")
    assert done.returncode == 2
    assert done.stderr.endswith(
        "with epsilon = 1 and not epsilon = 2; soundsum budget show shows it, and another path makes a new one\n"
    )


def test_a_budget_that_is_exceeded_says_so_first_and_the_release_last(folder):
    done = soundsum(folder, "sum", "t.csv", *PAY, "--epsilon", "2", "--budget", "plain.db")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "error: the budget is exceeded: asked for epsilon = 2, but epsilon = 1 is left of epsilon = 1; nothing was "
        "charged: ask for less (the release was: sum of pay from t.csv, "
    )


def test_stdin_has_no_temporary_name(folder):
    done = soundsum(folder, "sum", "-", *PAY, "--epsilon", "1", input="")
    assert done.stderr == "error: stdin cannot be read as csv; it is empty or broken: give CSV, with names first\n"


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
    assert "ledgers" in done.stdout + done.stderr


def spelling(*arguments):
    return CommandLine(find_options(get_command(app), arguments))


@pytest.mark.parametrize(
    "name, value, said",
    [
        ("max_rows", "3", "--max-rows 3"),
        ("groups", "['a', 'b']", "--groups a,b"),
        ("groups", "['a, b', 'c']", """--groups '"a, b",c'"""),
        ("groups", "[['a', 'b'], [2020, 2021]]", "--groups a,b --groups 2020,2021"),
        ("groups", "['a', 'b...", "--groups ['a', 'b..."),  # cut off, so no longer a list
        ("where", "[('age', '>=', 18)]", "--where 'age >= 18'"),
        ("where", "[('age', '>=', 18), ('ward', '==', 'a')]", "--where 'age >= 18' --where 'ward == a'"),
        ("where", "[[('age', '>=', 65)], [('age', '<', 18)]]", "--where 'age >= 65 or age < 18'"),
        ("where", "'pay > nan'", "--where 'pay > nan'"),
        ("by", "['ward', 'year']", "--by ward --by year"),
        ("bounds", "[0, 9]", "--bounds 0 9"),
        ("lower", "'x'", "--bounds x"),
        ("name", "'orders of 2024'", "--data 'orders of 2024'"),
        ("file", "'t.csv'", "t.csv"),
        ("file", None, "file"),
        ("zone", "'Mars'", "zone Mars"),
        ("upper", None, "--bounds"),
    ],
)
def test_options_are_said_as_the_command_spells_them(name, value, said):
    assert spelling("sum", "t.csv").option(name, value) == said


def test_both_bounds_are_one_option():
    both = RefusedValue(
        "bins", Reason.NEEDS, "`bins={given}` needs `lower` and `upper`", "such as `lower=0`, `upper=1`", given="3"
    )
    swapped = RefusedValue(
        "lower", Reason.SWAPPED, "`lower={lower}` is above `upper={upper}`", "swap them", lower="9", upper="'0'"
    )
    command_line = spelling("histogram")
    assert both.say(command_line) == "--bins 3 needs --bounds; such as --bounds 0 1"
    assert swapped.say(command_line) == "--bounds 9 0: the lower bound is above the upper; swap them"
    assert swapped.say(spelling("attack", "show")) == "--lower 9 is above --upper 0; swap them"
    request = RequestFile(command_line, set())
    assert both.say(request) == "bins = 3 needs bounds; such as bounds = [0, 1]"
    assert swapped.say(request) == "bounds = [9, '0']: the lower bound is above the upper; swap them"


def test_a_request_file_says_options_of_the_command_as_that_spells_them():
    command_line = spelling("release")
    assert RequestFile(command_line, set()).option("epsilon", "'0'") == "epsilon = '0'"
    assert RequestFile(command_line, {"epsilon"}).option("epsilon", "'0'") == "--epsilon 0"
    assert RequestFile(command_line, set()).option("name", "'x'") == "--data x"


def commands(command, path=()):
    """Every command there is, by the words that call it."""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


def options_of_refusals():
    """Every option that a sentence of a refusal names, from the snapshot of them all."""
    for line in SNAPSHOT.read_text().splitlines():
        for piece in line.split("`")[1::2]:
            if named := OPTION.fullmatch(piece):
                yield named[1]


def test_every_option_that_a_refusal_names_is_said_in_the_words_of_every_command():
    """With a value and without, and by the options of the commands."""
    named = {*options_of_refusals(), *(registry.what for registry in (STATISTICS, ENGINES, NOISES))}
    assert named > {"engine", "table", "zone", "dtype", "max_size", "groups"}
    for path, command in commands(get_command(app)):
        options = find_options(get_command(app), [*path, "file", "--json"])
        own = {one.name: one.opts for one in command.params}
        assert own.keys() <= options.keys()
        for name in {*named, *own}:
            for value in (None, "'x'", "3", "['a', 'b']"):
                said = CommandLine(options).option(name, value)
                assert "=" not in said, (path, said)
                assert said.startswith(options.get(name, "")), (path, said)
        for name, (*_, spelled) in own.items():
            assert options[name] == (spelled if spelled.startswith("-") else "")
        if "bounds" in own:
            assert {"--bounds"} >= {options[name] for name in ("lower", "upper") if name not in own}
        if "data" in own:
            assert options["name"] == ("--name" if "name" in own else "--data")


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
