"""The command line as a person uses it: real processes, what they print and how they end."""

import itertools
import json
import os
import re
import subprocess
import sys

import pytest

from tests import processes


def soundsum(*arguments, **environment):
    environment = {"COLUMNS": "120", **environment}
    return processes.run([processes.COMMAND, *arguments], text=True, env=environment)


def test_plan_prints_every_method_cheapest_first():
    done = soundsum("plan", "--dtype", "float32", "--bounds", "0", "1", "--relation", "change_one", "--size", "1000000")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert "change_one" in done.stdout
    assert names.index("grid") < names.index("kahan") < names.index("iterated")
    assert "other methods do not apply; --all says why" in done.stdout
    assert "adds integers" not in done.stdout


def test_plan_as_json_is_exact():
    done = soundsum("plan", "--dtype", "int8", "--bounds", "-5", "10", "--max-size", "12", "--json")
    plans = {p["method"]: p for p in json.loads(done.stdout)}
    assert plans["checked"]["sensitivity"] == "15"
    assert plans["modular"]["modulus"] == 256
    assert plans["kahan"]["applies"] is False
    one = json.loads(
        soundsum("plan", "--dtype", "float64", "--bounds", "0", "1/3", "--method", "auto", "--json").stdout
    )
    assert one["problem"]["upper"] == "1/3"


def test_methods_that_do_not_apply_are_listed_below_the_table_at_the_width_of_the_screen():
    done = soundsum("plan", "--dtype", "float32", "--bounds", "0", "1", "--max-size", "1000000", "--all", COLUMNS="80")
    lines = done.stdout.splitlines()
    assert "  wide, checked, modular: adds integers; for float32 use grid" in lines
    assert max(map(len, lines)) <= 80
    assert len(lines) < 32


def test_an_error_keeps_its_brackets():
    """They name an extra to install; the screen's markup would swallow them."""
    code = "import sys; sys.modules['jinja2'] = None; from soundsum.cli.app import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "reproduce", "--html", "x.html"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install '.[report]'" in done.stderr


def test_one_method_is_explained():
    done = soundsum("plan", "--dtype", "float64", "--bounds", "-1", "1", "--method", "float", "--max-size", "1000")
    assert "docs/theorems/" in done.stdout
    assert "promise" in done.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--dtype", "float64", "--bounds", "2", "1"], "--bounds 2 1: the lower bound is above the upper; swap them"),
        (["--dtype", "flot", "--bounds", "0", "1"], "--dtype flot is not a number type"),
        (
            ["--dtype", "float64", "--bounds", "0", "1", "--size", "5"],
            "leave --size out, or give --relation change_one",
        ),
        (["--dtype", "float64", "--bounds", "0", "1", "--relation", "hamming", "--max-size", "5"], "give it as --size"),
        (["--dtype", "float64", "--bounds", "0", "1", "--method", "kahan"], "needs a limit on the number of records"),
        (["--dtype", "float64", "--bounds", "0", "x"], "--bounds x is not a number"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message):
    done = soundsum("plan", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_wrong_usage_is_exit_code_2():
    assert soundsum("plan", "--dtype").returncode == 2
    assert soundsum("nonsense").returncode == 2


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Offline, and without an environment from before."""
    cache = str(tmp_path_factory.mktemp("cache"))
    return soundsum("demo", COLUMNS="80", SOUNDSUM_CACHE=cache, PIP_NO_INDEX="1", PIP_CONFIG_FILE=os.devnull)


def test_demo_shows_the_two_examples(demo):
    """It says what was left out, and audits soundsum alone."""
    assert demo.returncode == 0, demo.stderr
    said = " ".join(demo.stdout.split())
    assert "diffprivlib was left out" in said
    assert "gave away 8 of 8 secrets" in said[:1500]  # the first thing that is shown
    assert "gave away 0 of 8 secrets" in said[:1500]
    assert "soundsum.grid[float64, change_one]" in said
    assert "no violation found (an audit cannot prove more; only some attacks were asked for" in said
    assert "VIOLATION" not in said
    assert "2^-49, 16 times the ideal" in said
    assert "33, 33 times the ideal" in said


def test_the_demo_is_for_a_terminal_of_80_columns(demo):
    """Nothing is wider, and no line is broken in its middle because another break comes too late."""
    lines = [line.rstrip() for line in demo.stdout.splitlines() if "diffprivlib was left out" not in line]
    assert max(map(len, lines)) <= 80
    prose = ["" if line.startswith(" ") or "  " in line else line for line in lines]
    for line, following in itertools.pairwise(prose):
        if line and following:
            assert len(f"{line} {following.split()[0]}") > 80
    assert "they cover the noise" in " ".join(demo.stdout.split())


def test_version():
    assert soundsum("--version").stdout.startswith("soundsum ")


@pytest.mark.parametrize(
    "command", [["sum"], ["histogram"], ["release"], ["budget", "create"], ["verify"]], ids=" ".join
)
def test_help_fits_80_columns_without_types_of_python_and_with_words_whole(command):
    """The labels of values are short, so that the choices of --relation are not broken within a word."""
    said = soundsum(*command, "--help", COLUMNS="80").stdout
    usage = next(line for line in said.splitlines() if "Usage:" in line)
    assert usage == usage.replace("{file}", "").replace("{request}", "").replace("{ledger}", "")
    options = said.partition("─ Options")[2]
    assert re.search(r"<\w", options) is None  # <bool> would be a type; "age < 18" is an example
    if "--relation" in options:
        assert "insert_delete, change_one or hamming" in " ".join(options.replace("│", " ").split())
    if "--engine" in options:
        assert "PostgreSQL sums its own tables" in " ".join(options.replace("│", " ").split())
    if "--edges" in options:
        assert "A value on an edge is in the cell that begins there" in " ".join(options.replace("│", " ").split())


class TestReleases:
    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "t.csv").write_text("pay,dept\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(1000)))
        return tmp_path

    def test_a_sum_with_its_certificate(self, folder):
        done = soundsum("sum", f"{folder}/t.csv", "--column", "pay", "--bounds", "0", "6", "--epsilon", "1", "--json")
        assert done.returncode == 0
        release = json.loads(done.stdout)
        assert abs(release["value"] - sum(i % 7 for i in range(1000))) < 6 * 40
        (folder / "r.json").write_text(done.stdout)
        assert soundsum("check", f"{folder}/r.json").returncode == 0
        (folder / "r.json").write_text(done.stdout.replace('"upper": "6"', '"upper": "5"'))
        assert soundsum("check", f"{folder}/r.json").returncode == 1

    @pytest.mark.parametrize("command", ["mean", "variance"])
    def test_moments(self, folder, command):
        done = soundsum(command, f"{folder}/t.csv", "--column", "pay", "--bounds", "0", "6", "--epsilon", "1")
        assert f"private {command}" in done.stdout

    def test_counts_and_histograms(self, folder):
        count = soundsum("count", f"{folder}/t.csv", "--column", "pay", "--epsilon", "1", "--relation", "hamming")
        assert "1,000 to 1,000" in count.stdout
        options = ["--column", "dept", "--categories", "a,b,c", "--epsilon", "1", "--json"]
        cells = json.loads(soundsum("histogram", f"{folder}/t.csv", *options).stdout)
        assert [cell["group"] for cell in cells] == ["a", "b", "c"]

    def test_a_ledger_is_charged_until_it_is_spent(self, folder):
        ledger = f"{folder}/ledger.db"
        assert soundsum("budget", "create", ledger, "--epsilon", "1").returncode == 0
        options = ["--column", "pay", "--bounds", "0", "6", "--epsilon", "3/4", "--budget", ledger]
        assert soundsum("sum", f"{folder}/t.csv", *options).returncode == 0
        refused = soundsum("sum", f"{folder}/t.csv", *options)
        assert refused.returncode == 2
        assert "epsilon = 0.25 is left" in refused.stderr
        assert "0.25 left" in soundsum("budget", "show", ledger).stdout

    @pytest.mark.parametrize(
        "options, message",
        [
            (["--column", "salary", "--epsilon", "1"], "column 'salary' is not in the table; its names are"),
            (["--column", "pay", "--epsilon", "0"], "--epsilon 0: a privacy parameter is a finite number above 0"),
            (["--column", "pay"], "epsilon is missing"),
            (["--column", "pay", "--epsilon", "1", "--budget", "/nonexistent/l.db"], "/nonexistent/l.db"),
        ],
    )
    def test_bad_input_is_one_line(self, folder, options, message):
        done = soundsum("sum", f"{folder}/t.csv", "--bounds", "0", "6", *options)
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


class TestAttacks:
    def test_the_list_has_every_family_and_its_default(self):
        done = soundsum("attack", "list")
        assert done.returncode == 0
        rows = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
        assert "131,073" in rows["overflow"]
        assert rows["repeated_rounding_2"].split()[-5:] == ["1,073,741,824", "33", "times", "the", "ideal"]
        listed = json.loads(soundsum("attack", "list", "--json").stdout)
        assert [family["name"] for family in listed][-1] == "path"

    def test_one_attack_in_words_and_numbers(self):
        done = soundsum("attack", "show", "rounding", "--dtype", "bfloat16")
        assert done.returncode == 0
        assert "16 times 0.53125, then 0.53515625" in done.stdout
        lines = {line.split()[0]: line for line in done.stdout.splitlines() if "times the ideal" in line}
        assert "by 0.0625, 16 times the ideal" in lines["kahan"]
        assert "by 0.00390625, 1 times the ideal" in lines["grid"]

    def test_parameters_and_wishes(self):
        options = ["--dtype", "float32", "--ratio", "100", "--json"]
        shown = json.loads(soundsum("attack", "show", "repeated_rounding_2", *options).stdout)
        assert shown["parameters"]["j"] == 17
        assert shown["measured"]["iterated"] == shown["predicted"] == "257"
        assert shown["measured"]["grid"] == "1"
        done = soundsum(
            "attack", "show", "overflow", "--dtype", "int8", "--bounds", "-3", "5", "--relation", "symmetric"
        )
        assert "modular moves by 255, 51 times the ideal" in done.stdout

    def test_a_sum_too_long_to_add_is_said_to_be(self):
        done = soundsum("attack", "show", "repeated_rounding_1", "--dtype", "float64")
        assert done.returncode == 0
        assert "too many records to add one by one" in done.stdout

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (["nonsense"], "nonsense is not an attack; use one of overflow"),
            (["rounding", "--j", "70"], "--j 70: the condition is 1 < j < k = 52; the nearest that works is --j 51"),
            (["rounding", "--dtype", "int8"], "rounding does not apply to int8"),
            (["overflow", "--upper", "many"], "--upper many is not a number"),
        ],
    )
    def test_bad_input_is_one_line(self, arguments, message):
        done = soundsum("attack", "show", *arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1

    def test_a_delivery_can_be_watched(self):
        done = soundsum("attack", "deliver", "had_covid", "--targets", "20")
        assert done.returncode == 0
        assert "had_covid::DOUBLE" in done.stdout
        ordinary = next(line for line in done.stdout.splitlines() if line.startswith("an ordinary sum"))
        assert "gave away 20 of 20 secrets" in ordinary
        as_json = json.loads(soundsum("attack", "deliver", "dp_sgd_step", "--targets", "3", "--json").stdout)
        assert len(as_json["secrets"]) == 3
        refused = soundsum("attack", "deliver", "post")
        assert refused.returncode == 2
        assert "post is not a delivery; use one of microquery" in refused.stderr
