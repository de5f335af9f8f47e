"""A wrong argument is refused with its name, its value and what to do."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from soundsum import kernels
from soundsum.numbers.types import FloatType
from soundsum.tables.runs import Runs

from .data import NOTABLE_GRIDS

INTS, FLOATS = np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0])
GRID, SHIFTED, SLOW = (NOTABLE_GRIDS[name] for name in ("unit", "offset no double", "no doubles for it"))
RUNS = Runs("int64", [(1, 3)])
INTEGER_SUMS = ["wide_sum", "modular_sum", "saturating_sum", "split_saturating_sum", "sum_of_squares"]


def refuses(error, *words):
    """The error, with a message that says all the words in this order."""
    return pytest.raises(error, match="(?s)" + ".*".join(map(re.escape, words)))


@pytest.mark.parametrize("name", INTEGER_SUMS)
@pytest.mark.parametrize("data", [INTS, RUNS], ids=["array", "runs"])
def test_integer_sums_check_their_arguments(name, data):
    add = getattr(kernels, name)
    with refuses(ValueError, "lower=3", "above upper=2", "swap"):
        add(data, 3, 2)
    with refuses(ValueError, "lower=nan", "finite", "give"):
        add(data, math.nan, 2)
    with refuses(ValueError, "upper=inf", "finite", "give"):
        add(data, 0, math.inf)
    with refuses(ValueError, "upper=9223372036854775808", "int64", "nearest is 9223372036854775807"):
        add(data, 0, 2**63)
    with refuses(ValueError, "lower=1/2", "int64", "nearest is 0"):
        add(data, "1/2", 2)
    with refuses(TypeError, "lower='many'", "not a number"):
        add(data, "many", 2)
    with refuses(TypeError, "upper=None", "not a number"):
        add(data, 0, None)
    with refuses(ValueError, "missing='skip'", '"zero"', '"drop"'):
        add(data, 0, 2, missing="skip")
    with refuses(TypeError, "float64", "integers", "use grid_sum or float_sum"):
        add(FLOATS, 0, 2)
    with refuses(ValueError, "2 dimensions", "give columns by name"):
        add(INTS.reshape(1, 3), 0, 2)
    with refuses(TypeError, "bool", "use one of"):
        add(INTS > 1, 0, 1)


@pytest.mark.parametrize("data", [FLOATS, Runs("float64", [(1, 3)])], ids=["array", "runs"])
def test_float_sums_check_their_arguments(data):
    def add(*args, how="iterated", **options):
        return kernels.float_sum(how, *args, **options)

    with refuses(ValueError, "lower=3", "above upper=2", "swap"):
        add(data, 3, 2)
    with refuses(ValueError, "upper=nan", "finite", "give"):
        add(data, 0, math.nan)
    with refuses(ValueError, "lower=-inf", "finite", "give"):
        add(data, -math.inf, 0)
    with refuses(ValueError, "lower=1/10", "float64", "nearest is 3602879701896397/36028797018963968"):
        add(data, "0.1", 1)
    with refuses(ValueError, "how='fast'", "iterated, pairwise, kahan, toward_zero"):
        add(data, 0, 1, how="fast")
    with refuses(ValueError, "missing='skip'", '"zero"', '"drop"'):
        add(data, 0, 1, missing="skip")
    for narrower in ["float32", "bfloat16", FloatType(60, 8), "int64"]:
        with refuses(ValueError, f"accumulator={narrower}", "float64", "use float64 or a wider"):
            add(data, 0, 1, accumulator=narrower)
    with refuses(TypeError, "int64", "floats", "use wide_sum"):
        add(INTS, 0, 1)
    with refuses(TypeError, "dtype=float32", "leave dtype out"):
        add(data, 0, 1, dtype="float32")


@pytest.mark.parametrize("grid", [GRID, SHIFTED, SLOW], ids=["unit", "shifted", "slow"])
def test_grid_sums_check_their_arguments(grid):
    codes = np.array([0, 1, 1])
    with refuses(TypeError, "int64", "floats", "use wide_sum"):
        kernels.grid_sum(INTS, grid)
    with refuses(TypeError, "int64", "floats", "use wide_sum"):
        kernels.grouped_grid_sum(INTS, codes, 2, grid)
    for add in [
        lambda **options: kernels.grid_sum(FLOATS, grid, **options),
        lambda **options: kernels.grid_sum(Runs.of(FLOATS), grid, **options),
        lambda **options: kernels.grouped_grid_sum(FLOATS, codes, 2, grid, **options),
    ]:
        with refuses(ValueError, "missing=None", '"zero"', '"drop"'):
            add(missing=None)
        for threads in [0, -1, 1.5]:
            with refuses(ValueError, f"threads={threads}", "at least 1", "None"):
                add(threads=threads)


@pytest.mark.parametrize(
    "add",
    [
        lambda codes, groups: kernels.grouped_wide_sum(INTS, codes, groups, 0, 9),
        lambda codes, groups: kernels.grouped_grid_sum(FLOATS, codes, groups, GRID),
        lambda codes, groups: kernels.grouped_grid_sum(FLOATS, codes, groups, SHIFTED),
        lambda codes, groups: kernels.grouped_grid_sum(FLOATS, codes, groups, SLOW),
    ],
    ids=["wide", "grid", "shifted grid", "slow grid"],
)
def test_codes_must_be_groups(add):
    for dtype in [np.int32, np.int64]:
        with refuses(ValueError, "2 is not a group", "codes are 0 to 1"):
            add(np.array([0, 1, 2], dtype), 2)
        with refuses(ValueError, "-1 is not a group", "codes are 0 to 1"):
            add(np.array([0, -1, 1], dtype), 2)
        with refuses(ValueError, "shape (2,)", "each of the 3 records"):
            add(np.array([0, 1], dtype), 2)
        with refuses(ValueError, "shape (3, 1)", "each of the 3 records"):
            add(np.zeros((3, 1), dtype), 2)
    with refuses(TypeError, "codes are float64", "int32 or int64"):
        add(np.zeros(3), 2)
    with refuses(TypeError, "codes are uint64", "int32 or int64"):
        add(np.zeros(3, np.uint64), 2)
    for groups in [-1, 1.0]:
        with refuses(ValueError, f"groups={groups}", "whole number, 0 or more"):
            add(np.zeros(3, int), groups)


def test_sums_by_group_need_an_array():
    with refuses(TypeError, "Runs", "np.asarray(runs)"):
        kernels.grouped_wide_sum(RUNS, np.zeros(3, int), 1, 0, 9)
    with refuses(TypeError, "Runs", "np.asarray(runs)"):
        kernels.grouped_grid_sum(Runs.of(FLOATS), np.zeros(3, int), 1, GRID)


def test_wide_sums_check_their_threads():
    for data in [INTS, RUNS]:
        with refuses(ValueError, "threads=0", "at least 1"):
            kernels.wide_sum(data, 0, 9, threads=0)
    with refuses(ValueError, "threads=0", "at least 1"):
        kernels.grouped_wide_sum(INTS, np.zeros(3, int), 1, 0, 9, threads=0)
    assert kernels.wide_sum(INTS, 0, 9, threads=2**40) == 6


def test_a_modulus_belongs_to_integers():
    with refuses(TypeError, "dtype=float32", "give IntType(bits, signed)"):
        kernels.modular_sum(INTS, 0, 9, dtype="float32")


def test_bounds_may_be_anything_exact():
    for one, nine in [
        (1, 9),
        (1.0, 9.0),
        ("1", "9"),
        (Fraction(1), Fraction(9)),
        (np.int8(1), np.float32(9)),
    ]:
        assert kernels.wide_sum(np.array([0, 100]), one, nine) == 10


def test_codes_may_be_strided_unaligned_or_a_list():
    unaligned = np.frombuffer(b"x" + np.array([0, 1, 1]).tobytes(), np.uint8)[1:].view(np.int64)
    for codes in [[0, 1, 1], np.array([0, 9, 1, 9, 1])[::2], np.array([1, 1, 0])[::-1], unaligned]:
        assert kernels.grouped_wide_sum(INTS, codes, 2, 0, 9) == [1, 5]


def test_no_records_and_no_groups():
    none = np.array([], int)
    assert kernels.grouped_wide_sum(none, none, 0, 0, 9) == []
    assert kernels.grouped_wide_sum(none, none, 2, 0, 9) == [0, 0]
    with refuses(ValueError, "0 is not a group"):
        kernels.grouped_wide_sum(INTS, np.zeros(3, int), 0, 0, 9)
