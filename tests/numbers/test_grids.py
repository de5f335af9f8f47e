"""Our grid keeps its promises for any rational bounds, and doubles compute the very same integers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from soundsum.kernels import grid_sum
from soundsum.methods import OnGrid
from soundsum.methods.problem import Problem
from soundsum.numbers.grids import RecordGrid, as_doubles, power_of_two_grid, stepped_grid
from soundsum.numbers.rationals import floor_log2, power_of_two, round_half_even
from soundsum.numbers.types import FloatType, double, float64, from_double
from soundsum.tables.runs import Runs
from tests.kernels.data import FLOATS, NOTABLE_GRIDS, any_pattern, around, bounds, grids, rationals

KINDS = [*FLOATS, FloatType(2, 3)]
some_bounds = rationals() | bounds(float64).map(lambda pair: tuple(map(Fraction, pair)))


def ideal(lower, upper, sized):
    return upper - lower if sized else max(abs(lower), abs(upper))


def sensitivity(grid, sized):
    return (grid.high - grid.low if sized else max(abs(grid.low), abs(grid.high))) * grid.step


@given(st.sampled_from(KINDS), some_bounds, st.booleans())
def test_one_record_moves_the_sum_by_at_most_its_due(kind, pair, sized):
    assert sensitivity(power_of_two_grid(kind, *pair, sized), sized) <= ideal(*pair, sized)


@given(some_bounds, st.booleans())
@example((Fraction(0), (2 - Fraction(2) ** -52) * Fraction(2) ** -1024), False)
def test_the_grid_gives_away_less_than_one_part_in_2_to_the_49(pair, sized):
    due = ideal(*pair, sized)
    assume(due >= power_of_two(-1024))  # below, the type itself is coarser
    assert sensitivity(power_of_two_grid(float64, *pair, sized), sized) > due * (1 - power_of_two(-49))


@given(st.sampled_from(KINDS), some_bounds, st.booleans())
def test_steps_are_powers_of_two_and_integers_small(kind, pair, sized):
    grid = power_of_two_grid(kind, *pair, sized)
    assert grid.step == power_of_two(floor_log2(grid.step)) >= kind.smallest_subnormal
    assert -(2**51) <= grid.low <= grid.high <= 2**51
    assert sized or grid.offset == 0
    assert not pair[0] <= 0 <= pair[1] or grid.offset == 0 or pair[0] == pair[1]


@given(some_bounds, st.booleans(), st.fractions(0, 1))
def test_a_record_is_off_by_less_than_a_step(pair, sized, part):
    lower, upper = pair
    assume(ideal(*pair, sized))
    grid = power_of_two_grid(float64, *pair, sized)
    x = lower + part * (upper - lower)
    error = abs(grid.value(grid.integer(x), 1) - x)
    assert error < grid.step
    if grid.value(grid.low, 1) <= x <= grid.value(grid.high, 1):
        assert error <= grid.step / 2
    on_grid = round_half_even(x / grid.step) * grid.step
    if lower <= on_grid <= upper:
        assert grid.value(grid.integer(on_grid), 1) == on_grid


@given(grids(), st.fractions(), st.fractions())
def test_order_is_kept(grid, a, b):
    low, high = (grid.integer(grid.offset + x * grid.step) for x in sorted([a, b]))
    assert grid.low <= low <= high <= grid.high


@given(grids())
def test_what_has_no_place_on_the_line(grid):
    assert grid.integer(math.inf) == grid.integer(grid.upper) == grid.high
    assert grid.integer(-math.inf) == grid.integer(grid.lower) == grid.low
    assert grid.missing == grid.integer(math.nan) == grid.integer(0)


@given(st.fractions(), st.booleans(), st.floats())
def test_where_nothing_can_change_every_record_is_zero(point, sized, x):
    grid = power_of_two_grid(float64, point if sized else Fraction(0), point if sized else Fraction(0), sized)
    assert (grid.integer(x), grid.low, grid.high) == (0, 0, 0)
    assert grid.value(0, 7) == (7 * point if sized else 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_bounds_between_two_steps_take_the_one_nearer_zero(sign):
    step = power_of_two(-50)
    pair = sorted([sign * (1 + step * Fraction("1.2")), sign * (1 + step * Fraction("1.9"))])
    grid = power_of_two_grid(float64, *pair, sized=False)
    assert grid.step == step
    assert grid.low == grid.high == sign * (2**50 + 1)


def test_fewer_bits_make_a_coarser_grid():
    grid = power_of_two_grid(float64, Fraction(0), Fraction(1000), sized=False, bits=28)
    assert grid.step == power_of_two(9 - 28)
    assert grid.high**2 < 2**60


def by_doubles(doubles, x):
    y = ((0.0 if x != x else x) - doubles.base) * doubles.scale * doubles.more_scale
    return doubles.shift + round(max(doubles.low, min(doubles.high, y)))


@given(st.data())
def test_doubles_compute_the_same_integer(data):
    grid = data.draw(grids() | st.sampled_from(list(NOTABLE_GRIDS.values())))
    assume(doubles := as_doubles(grid))
    for pattern in data.draw(st.lists(around(grid, float64) | any_pattern(float64), max_size=20)):
        x = float(float64.from_bits(pattern))
        assert by_doubles(doubles, x) == grid.integer(x), x


@given(bounds(float64), st.booleans())
def test_bounds_that_are_doubles_need_no_shift(pair, sized):
    grid = power_of_two_grid(float64, *map(Fraction, pair), sized)
    assert as_doubles(grid).shift == (grid.low if grid.low == grid.high else 0)


@given(rationals())
def test_without_an_offset_there_are_always_doubles(pair):
    assert as_doubles(power_of_two_grid(float64, *pair, sized=False)).base == 0


def test_where_doubles_cannot_compute_the_grid():
    third = Fraction(1, 3)
    assert as_doubles(RecordGrid(Fraction(0), Fraction(1), third, Fraction(0), 0, 3)) is None  # no exact scaling
    assert (
        as_doubles(RecordGrid(Fraction(0), Fraction(1), power_of_two(-52), Fraction(0), 0, 2**52)) is None
    )  # no rounding
    assert as_doubles(power_of_two_grid(float64, third, third + power_of_two(-90), sized=True)) is None
    beyond = Fraction(2) ** 1025
    assert as_doubles(power_of_two_grid(float64, beyond, beyond + 1, sized=True)) is None
    far = power_of_two_grid(float64, Fraction(2) ** 1000, Fraction(2) ** 1025, sized=True)
    assert far.offset
    assert as_doubles(far) is None  # a bound beyond the doubles, and not counted from 0
    assert as_doubles(power_of_two_grid(float64, Fraction(0), Fraction(2) ** 1024, sized=True)).base == 0


@given(st.floats())
def test_floats_and_exact_values_pass_through_bits(x):
    value = from_double(x)
    if math.isfinite(x):
        assert value == Fraction(x)
        assert double(value) == x
    else:
        assert str(value) == str(x)


def test_a_type_finer_than_doubles_is_summed_without_them():
    """Steps below the smallest double, whose inverse is beyond the largest."""
    fine, tiny = FloatType(60, 12), power_of_two(-2040)
    assert as_doubles(power_of_two_grid(fine, Fraction(0), tiny, sized=False)) is None
    problem = Problem(fine, 0, tiny)
    for method in (OnGrid(), OnGrid(rounding="randomised")):
        assert method.sum(problem, Runs(fine, [(tiny / 2, 3)])) == 3 * tiny / 2


def test_doubles_are_refused_where_they_would_not_compute_the_grid():
    """An offset between two steps, or a step whose inverse underflows: the model sums there."""
    assert as_doubles(stepped_grid(Fraction(1, 10), Fraction(1), Fraction(1, 4), sized=True)) is None
    assert as_doubles(power_of_two_grid(float64, Fraction(0), Fraction(10) ** 400, sized=False)) is None
    huge = power_of_two_grid(float64, Fraction(0), Fraction(10) ** 400, sized=False)
    assert grid_sum(np.array([math.inf, 1.0]), huge) == huge.high
