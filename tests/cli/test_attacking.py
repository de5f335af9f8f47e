"""soundsum attack as a person uses it: what is said beside the numbers."""

import json

from typer.testing import CliRunner

from soundsum.cli.app import app


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
    assert "promises no epsilon; leave it out" in str(soundsum("deliver", "dp_sgd_step", "--epsilon", "1").exception)
