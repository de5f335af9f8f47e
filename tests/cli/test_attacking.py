"""soundsum attack as a person uses it: what is said beside the numbers."""

import json

from typer.testing import CliRunner

from soundsum.attacks import FAMILIES
from soundsum.cli.app import app
from soundsum.cli.refusal_text import CommandLine


def soundsum(*arguments):
    return CliRunner().invoke(app, ["attack", *arguments], env={"COLUMNS": "140"})


def test_each_sum_has_its_own_step_on_the_path():
    done = soundsum("show", "path", "--dtype", "float32", "-n", "1025")
    assert "each at its own step" in done.stdout
    moved = json.loads(soundsum("show", "path", "--dtype", "float32", "-n", "1025", "--json").stdout)
    assert moved["measured"]["grid"] == moved["ideal"]
    assert len({"iterated", "pairwise", "kahan", "rounded"} & moved["measured"].keys()) == 4


def test_a_delivery_takes_its_epsilon():
    done = json.loads(soundsum("deliver", "had_covid", "--targets", "4", "--epsilon", "1/50", "--json").stdout)
    assert done["promised"] == "epsilon = 1/50 a query"
    assert "promises no epsilon; leave" in str(soundsum("deliver", "dp_sgd_step", "--epsilon", "1").exception)


def test_the_list_can_be_read_at_80_columns():
    done = CliRunner().invoke(app, ["attack", "list"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert "…" not in done.stdout
    assert max(map(len, lines)) <= 80
    for name, family in FAMILIES.items():
        here = next(i for i, line in enumerate(lines) if line.startswith(f"{name} "))
        assert lines[here].endswith(("the ideal", "not a number"))
        assert family.goes_wrong in lines[here + 1]


def test_a_parameter_without_a_value_is_refused_with_an_example():
    done = soundsum("show", "rounding", "--with", "j")
    assert done.exception.say(CommandLine({"others": "--with"})) == (
        "--with j: give a parameter and its value, such as --with 'j=5'"
    )
