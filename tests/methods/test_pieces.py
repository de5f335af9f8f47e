"""What methods are made of, piece by piece: steps of records, public parts, facts, parameters, the nearest bounds."""

import math
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.methods import (
    METHODS,
    Iterated,
    Kahan,
    Method,
    Modular,
    OnGrid,
    Saturating,
    Shifted,
    Wide,
    make_method,
    parameters,
)
from soundsum.methods.method import bounds_of_type
from soundsum.methods.steps import RecordSteps, inward, steps_from_near, steps_from_zero
from soundsum.numbers.grids import power_of_two_grid, stepped_grid
from soundsum.numbers.types import FloatType, float64
from soundsum.tables.records import records
from tests.refusing import refused


def test_steps_on_a_grid_and_of_integers():
    grid = stepped_grid(Fraction(3), Fraction(5), Fraction(1, 4), sized=True)
    on_grid = RecordSteps.on_grid(grid)
    assert (on_grid.low, on_grid.high, on_grid.step, on_grid.offset) == (0, 8, Fraction(1, 4), 3)
    assert on_grid.bounds(Fraction(2)) == (6, 10)
    assert (on_grid.width, on_grid.ends) == (8, 8)
    alone = RecordSteps(-2, 7, Fraction(1, 2))
    assert alone.offset == 0
    assert alone.bounds(Fraction(3)) == (-3, Fraction(21, 2))
    assert (alone.width, alone.ends) == (9, 5)


def test_the_integers_of_records():
    column = records(np.array([3.0, 3.5, 4.1, 99.0, math.nan]))
    quarter = RecordSteps.on_grid(stepped_grid(Fraction(3), Fraction(5), Fraction(1, 4), sized=True))
    assert quarter.integers(column).tolist() == [0, 2, 4, 8, 0]
    third = RecordSteps.on_grid(stepped_grid(Fraction(3), Fraction(5), Fraction(1, 3), sized=True))  # not for doubles
    assert third.integers(column).tolist() == [0, 2, 3, 6, 0]
    assert RecordSteps(-2, 7, Fraction(1)).integers(records(np.array([-5, 3, 9]))).tolist() == [-2, 3, 7]


def test_steps_from_zero_and_from_near():
    problem = ss.Problem("float64", 3, 5)
    assert steps_from_zero(problem).grid == power_of_two_grid(float64, Fraction(3), Fraction(5), sized=False)
    assert steps_from_near(problem).grid == power_of_two_grid(float64, Fraction(3), Fraction(5), sized=True)
    assert steps_from_near(problem, 10).grid == power_of_two_grid(
        float64, Fraction(3), Fraction(5), sized=True, bits=10
    )
    integers = ss.Problem("int8", "-2.5", "300.5")
    assert inward(integers) == (-2, 127)
    assert inward(ss.Problem("uint8", "-2.5", "3.5")) == (0, 3)
    assert steps_from_zero(integers) == steps_from_near(integers) == RecordSteps(-2, 127, Fraction(1))


def test_what_is_public_of_a_sum_is_added_after_the_noise():
    problem = ss.Problem("float64", 3, 5, "hamming", size=2)
    data = np.array([3.5, 4.5])
    for method, offset in (
        (OnGrid(step="1/4"), 3),
        (Shifted(), 3),
        (Iterated(), 0),
        (OnGrid(step="1/4", bits=8, integers=Modular()), 3),
    ):
        assert method.public_part(problem, 2) == 2 * offset
        assert method.public_part(problem, 0) == 0
        steps = method.sum_in_steps(problem, records(data), "zero")
        assert steps * method.noise_step(problem) == 8 - 2 * offset
    third = ss.Problem("float64", -1, 1, "hamming", size=1)
    for value in (Fraction(1, 3), Fraction(-1, 3)):
        double = Fraction(float(value))
        step = Iterated().noise_step(third)
        assert Iterated().sum_in_steps(third, records(np.array([float(value)])), "zero") == double // step


def test_integers_on_a_grid_are_permuted_where_their_sum_depends_on_the_order():
    """100 + 100 - 100 is 27 where a sum is held at 127, and 100 in other orders."""
    problem = ss.Problem("float64", -100, 100)
    method = OnGrid(step=1, bits=8, integers=Saturating())
    data = records(np.array([100.0, 100.0, -100.0]))
    assert {method.sum_in_steps(problem, data, "zero") for _ in range(200)} == {27, 100}


def test_facts_say_which_case_it_is():
    def facts(label, dtype, lower, upper, relation):
        return METHODS[label].facts(
            ss.Problem(dtype, lower, upper, relation, **({"size": 4} if relation == "hamming" else {"max_size": 4}))
        )

    assert facts("saturating", "int8", -1, 1, "symmetric") == ["the permutation is uniform and stays secret"]
    assert facts("saturating", "int8", 0, 1, "symmetric") == ["the bounds have one sign, so order does not matter"]
    assert facts("saturating", "int8", -1, 1, "insert_delete") == ["the order of records is public"]
    order, sign, held = facts("toward_zero", "float64", -1, 1, "symmetric")
    assert order == "the permutation is uniform and secret"
    assert sign == "the sums of positive and negative records are joined by one addition, rounded to nearest"
    assert held.startswith("each sum stops at 1.79769e+308")
    order, sign, _ = facts("toward_zero", "float64", 0, 1, "hamming")
    assert order == "the order of records is public"
    assert sign == "the bounds have one sign, so the last addition does not round"
    assert "n is at most 4" in facts("kahan", "float64", 0, 1, "hamming")[0]
    assert facts("checked", "int8", -1, 2, "hamming") == [
        "n U = 8 is at most 127, the largest int8",
        "n L = -4 is at least -128, the smallest",
    ]


MADE = [
    OnGrid(step="1/3"),
    OnGrid(step="paper", bits=16, integers=Modular()),
    Shifted(Kahan(accumulator="float64")),
    Iterated(accumulator="float64"),
    Kahan(split=True, accumulator="float64"),
]


@pytest.mark.parametrize("method", MADE, ids=lambda m: m.label)
def test_a_method_made_by_hand_can_be_made_again_from_its_parameters(method):
    told = parameters(method.label, method)
    assert told["name"] == method.name
    assert all(isinstance(value, bool | int | str | dict | None) for value in told.values())
    assert make_method(method.label, told) == method


@pytest.mark.parametrize("label", METHODS)
def test_a_known_method_is_its_label(label):
    assert parameters(label, METHODS[label]) == {}
    assert make_method(label, {}) == label
    assert parameters("other", METHODS[label])["name"] == METHODS[label].name


def test_bounds_beside_the_type_are_told_with_the_nearest():
    problem = ss.Problem(FloatType(2, 4), Fraction(1, 3), Fraction(11, 2))
    assert bounds_of_type(problem) == [
        "lower=1/3 is not representable in float(2,4); the nearest that are: 5/16 and 3/8",
        "upper=11/2 is not representable in float(2,4); the nearest that are: 5 and 6",
    ]
    assert bounds_of_type(ss.Problem("int8", "1/2", "200")) == [
        "lower=1/2 is not representable in int8; the nearest that are: 0 and 1",
        "upper=200 is not representable in int8; the nearest that are: 127",
    ]


def test_a_method_without_its_parts_is_refused():
    class Silent(Method):
        name = "silent"
        theorem = Wide.theorem
        unmet = sensitivity = model = add = lambda *arguments: None

    with refused("method", "missing", TypeError, method="silent", attribute="takes"):
        METHODS.register(Silent())


def test_the_magnitude_of_either_end_of_a_grid_counts():
    for lower, upper in ((-3, -1), (1, 3), (-3, 1)):
        problem = ss.Problem("float64", lower, upper)
        assert OnGrid(step=1).sensitivity(problem) == 3
        assert OnGrid(step=1).sensitivity(ss.Problem("float64", lower, upper, "hamming", size=2)) == upper - lower
