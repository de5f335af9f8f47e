"""Standard deviations: the root of a variance, for a variance's cost, wherever a variance can be asked for."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.cli import app

AGES = np.tile([20.0, 30.0, 40.0, 50.0], 500)
SURE = 1000
"""An epsilon at which noise moves the third digit at most."""


@pytest.mark.parametrize("options", [{}, {"relation": "change_one"}, {"noise": "gaussian", "rho": 10**6}])
def test_it_is_the_root_of_the_variance(options):
    epsilon = None if "rho" in options else SURE
    std = ss.std(AGES, 0, 100, epsilon, **options)
    assert math.isclose(std.value, np.std(AGES), rel_tol=1e-2)
    low, high = std.interval()
    assert low <= std.value <= high
    assert std.statistic == "std"
    assert ss.check(std) == []


def test_it_costs_what_a_variance_costs_and_lets_out_the_same():
    std, variance = ss.std(AGES, 0, 100, 1), ss.variance(AGES, 0, 100, 1)
    assert std.certificate["released"] == variance.certificate["released"]
    assert std.certificate["statistic"] == "std"
    spoilt = json.loads(std.to_json())
    spoilt["certificate"]["released"][0]["scale"] = "1"
    assert ss.check(spoilt)
    assert ss.check(json.loads(std.to_json())) == []


def test_of_few_records_it_says_nothing():
    std = ss.std([1.0], 0, 100, "1/10")
    assert not std.informative
    assert std.interval() == (0, 50)


def test_by_group_of_persons_and_beside_others():
    table = {"age": AGES, "ward": ["a", "b"] * 1000, "who": np.arange(2000) // 2}
    by = ss.std(table, 0, 100, SURE, column="age", by="ward", groups=["a", "b", "c"], privacy_unit="who", max_groups=2)
    assert math.isclose(by["a"].value, 10, rel_tol=0.05)
    assert by["c"].interval()[0] == 0
    several = ss.release(table, {"spread": ss.Std("age", 0, 100), "n": ss.Count()}, SURE)
    assert math.isclose(several["spread"].value, np.std(AGES), rel_tol=0.05)
    assert ss.std(AGES, bounds=(0, 100), epsilon=1).bounds == ss.variance(AGES, 0, 100, 1).bounds


def test_an_owner_is_asked_and_charged_for_it():
    budget = ss.Budget(epsilon=SURE)
    owner = ss.Private({"age": AGES}, budget=budget, schema={"age": ("float64", 0, 100)})
    assert math.isclose(owner.std("age", epsilon=SURE).value, np.std(AGES), rel_tol=0.05)
    assert budget.left.epsilon == Fraction(0)


def test_the_command_and_a_request(tmp_path):
    path, request = tmp_path / "t.csv", tmp_path / "r.toml"
    path.write_text("age\n" + "\n".join(map(str, AGES)))
    request.write_text('epsilon = 1000\n[statistics.s]\nstatistic = "std"\ncolumn = "age"\nbounds = [0, 100]\n')

    def run(*arguments):
        done = CliRunner().invoke(app, [str(one) for one in arguments])
        assert done.exit_code == 0, done.output
        return done.output

    said = run("std", path, "--column", "age", "--bounds", 0, 100, "--epsilon", SURE, "--json")
    assert math.isclose(json.loads(said)["value"], np.std(AGES), rel_tol=0.05)
    (tmp_path / "a.json").write_text(said)
    assert "holds" in run("check", tmp_path / "a.json")
    assert "s" in run("release", path, request)
