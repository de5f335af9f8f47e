"""The command line as a person uses it: real processes, what they print and how they end."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOUNDSUM = Path(sys.executable).with_name("soundsum")


def soundsum(*arguments):
    return subprocess.run([SOUNDSUM, *arguments], capture_output=True, text=True, env={"COLUMNS": "120"})


def test_plan_prints_every_method_cheapest_first():
    done = soundsum("plan", "--dtype", "float32", "--bounds", "0", "1", "--size", "1000000")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines() if line.strip()]
    assert "change_one" in done.stdout
    assert names.index("grid") < names.index("kahan") < names.index("iterated")
    assert "adds integers; for float32 use grid" in done.stdout


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


def test_one_method_is_explained():
    done = soundsum("plan", "--dtype", "float64", "--bounds", "-1", "1", "--method", "float", "--max-size", "1000")
    assert "docs/theorems/" in done.stdout
    assert "promise" in done.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--dtype", "float64", "--bounds", "2", "1"], "lower=2 is above upper=1; swap them"),
        (["--dtype", "flot", "--bounds", "0", "1"], "dtype='flot' is not a number type"),
        (["--dtype", "float64", "--bounds", "0", "1", "--size", "5", "--relation", "symmetric"], "leave size out"),
        (["--dtype", "float64", "--bounds", "0", "1", "--method", "kahan"], "give max_size="),
        (["--dtype", "float64", "--bounds", "0", "x"], "upper='x' is not a number"),
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


def test_demo_shows_the_two_examples():
    done = soundsum("demo")
    assert done.returncode == 0
    assert "2^-49, 16 times the ideal" in done.stdout
    assert "33, 33 times the ideal" in done.stdout


def test_version():
    assert soundsum("--version").stdout.startswith("soundsum ")
