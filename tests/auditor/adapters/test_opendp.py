"""The adapter to OpenDP, which the tests have beside soundsum: its sums, its claims, and what it declines."""

from dataclasses import replace
from fractions import Fraction

import pytest

import soundsum as ss
from soundsum.auditor.adapters import open_adapter
from soundsum.auditor.calling import TargetRefused, Unsupported
from soundsum.auditor.target_attacks import attacks_on
from soundsum.refusals import Reason
from tests.refusing import refused


@pytest.fixture(scope="module")
def targets():
    return {target.name: target for target in open_adapter("opendp")}


def test_a_sum_and_what_is_claimed_of_it(targets):
    target = targets["opendp.sum.sized.symmetric.int32"]
    data = ss.Runs("int32", [(3, 5), (100, 1)])
    problem = target.problem(0, 10, 6)
    assert (target.relation, target.noise, target.claim(problem, 6)) == ("change_one", "discrete_laplace", 10)
    assert target.sum_of(ss.Runs("int32", [(3, 5), (10, 1)]), problem) == 25
    outputs = target.outputs(data[:6], problem, 6, 50)
    assert len(outputs) == 50
    assert len(set(outputs)) > 1


@pytest.mark.parametrize("records", [33, 2049])
def test_single_rounding_stays_within_what_is_claimed(targets, records):
    target = targets["opendp.sized_float_ordered_sum.sequential.float64"]
    attack = ss.attack("rounding", "float64", relation=target.neighbours, max_records=records)
    left, right = (target.sum_of(side, attack.problem) for side in (attack.left, attack.right))
    assert attack.predicted == abs(Fraction(left) - Fraction(right)) <= target.claim(attack.problem, records)
    assert target.claim(attack.problem, records) > attack.ideal


def test_a_sum_that_could_overflow_is_declined(targets):
    target = targets["opendp.sized_int_checked_sum.int32"]
    attack = ss.attack("overflow", "int32", relation=target.neighbours, max_records=64)
    with pytest.raises(TargetRefused, match="overflow"):
        target.sum_of(attack.left, attack.problem)


def test_a_sum_that_samples_is_not_measured(targets):
    target = targets["opendp.sum.symmetric.float64"]
    with pytest.raises(Unsupported, match="samples"):
        target.sum_of(ss.Runs("float64", [(1, (1 << 20) + 1)]), target.problem(0, 1, 1))


def test_one_function_and_one_that_is_not_there():
    assert {target.name.split(".")[1] for target in open_adapter("opendp", function="mean")} == {"mean"}
    with refused("function", Reason.UNKNOWN, ValueError, library="opendp", given="'summ'") as error:
        open_adapter("opendp", function="summ")
    assert "near" in error.value.facts


def test_records_that_the_domain_excludes_are_not_tried(targets):
    target = targets["opendp.sum.symmetric.float64"]

    assert not any(made.outside for made in attacks_on(target, ["special_values"]))
    assert any(made.outside for made in attacks_on(replace(target, specials=True), ["special_values"]))
