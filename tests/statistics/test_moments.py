"""Means and variances: what is let out of each record, and what is read from it."""

from fractions import Fraction

import pytest

from soundsum.methods.problem import Problem
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.units import Unit
from soundsum.releases.planning import plan
from soundsum.statistics import Claim, Mean, Sum, Variance

WORTH = Fraction(1, 100)


def mean(records):
    return Fraction(sum(records)) / len(records)


def variance(records):
    return mean([(x - mean(records)) ** 2 for x in records])


def claim(kind, lower=-3, upper=4, unit=None):
    return Claim(kind, plan(Problem("int8", lower, upper), unit=unit or Unit(2)), WORTH)


@pytest.mark.parametrize("lower, upper", [(-3, 4), (0, 5), (-7, -2)])
def test_each_record_adds_its_distance_from_the_middle_its_square_and_1(lower, upper):
    found = claim(Variance, lower, upper)
    steps, parts = found.record_steps, found.parts
    added = {
        k: [sum(w * power for w, power in zip(part.weights, (1, k, k * k), strict=True)) for part in parts]
        for k in range(steps.low, steps.high + 1)
    }
    assert all(added[k] == [2 * k - steps.ends, (2 * k - steps.ends) ** 2, 1] for k in added)
    for i, part in enumerate(parts):
        assert all(part.range[0] <= values[i] <= part.range[1] for values in added.values())
    assert [part.range for part in parts] == [(-steps.width, steps.width), (0, steps.width**2), (1, 1)]


@pytest.mark.parametrize("unit, relation", [(Unit(2), "symmetric"), (Unit(2), "change_one"), (Unit(), "change_one")])
def test_norms_follow_from_what_a_record_can_add(unit, relation):
    found = Claim(Variance, plan(Problem("float64", -1, 10, relation), unit=unit))
    step = found.record_steps.step
    assert step != 1
    expected = [(step / 2, 1), (step**2 / 4, 2), (1, 0)][: len(found.parts)]
    assert [(part.step, part.power) for part in found.parts] == expected
    assert len(found.parts) == (2 if unit.is_plain else 3)
    for part in found.parts:
        assert part.norms == unit.norms(*part.range, found.plan.problem.relation)


@pytest.mark.parametrize("kind, truth, power", [(Mean, mean, 1), (Variance, variance, 2)])
@pytest.mark.parametrize("records", [[-3, 4, 0], [1, 2, 2, 2, 4], [4, 4], [-3], [-2, -1, -3, -1]])
def test_without_noise_the_statistic_is_read_exactly(kind, truth, power, records):
    found = claim(kind)
    sums = [
        sum(w * sum(Fraction(x / found.record_steps.step) ** i for x in records) for i, w in enumerate(part.weights))
        for part in found.parts
    ]
    estimate = found.estimator(found.noises(guarantee(1)), None)
    assert estimate.exact(tuple(map(int, sums))) == truth(records) * WORTH**power


@pytest.mark.parametrize("kind, steps", [(Mean, 2**50), (Variance, 2**28)])
def test_the_grid_of_a_variance_is_coarse_enough_for_squares(kind, steps):
    assert Claim(kind, plan(Problem("float64", 0, 1))).record_steps.width == steps


def test_bounds_are_in_units_of_the_last_digit():
    for kind in (Sum, Mean):
        assert claim(kind).given_bounds == claim(kind).bounds == (-3 * WORTH, 4 * WORTH)


@pytest.mark.parametrize(
    "dtype, bounds, covered",
    [
        ("int64", (0, 2**31 - 1), True),
        ("int64", (0, 2**31), False),
        ("int64", (-(2**31) + 1, 0), True),
        ("int64", (-(2**31), 0), False),
        ("float64", (0, 2**40), True),
    ],
)
def test_squares_of_integers_by_group_are_exact_within_2_to_the_31(dtype, bounds, covered):
    problem = Problem(dtype, *bounds)
    assert (not Variance.unmet(plan(problem, unit=Unit(2)))) == covered
    assert not Variance.unmet(plan(problem))
