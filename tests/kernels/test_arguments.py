"""A wrong argument is refused with its name, its value and what to do."""

import math
from fractions import Fraction

import numpy as np
import pytest

from soundsum import kernels
from soundsum.numbers.types import FloatType
from soundsum.tables.runs import Runs

from ..refusing import refused
from .data import NOTABLE_GRIDS

INTS, FLOATS = np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0])
GRID, SHIFTED, SLOW = (NOTABLE_GRIDS[name] for name in ("unit", "offset no double", "no doubles for it"))
RUNS = Runs("int64", [(1, 3)])
INTEGER_SUMS = ["wide_sum", "modular_sum", "saturating_sum", "split_saturating_sum", "sum_of_squares"]


@pytest.mark.parametrize("name", INTEGER_SUMS)
@pytest.mark.parametrize("data", [INTS, RUNS], ids=["array", "runs"])
def test_integer_sums_check_their_arguments(name, data):
    add = getattr(kernels, name)
    with refused("lower", "swapped", ValueError, lower="3", upper="2"):
        add(data, 3, 2)
    with refused("lower", "not-a-number", ValueError, given="nan"):
        add(data, math.nan, 2)
    with refused("upper", "not-a-number", ValueError, given="inf"):
        add(data, 0, math.inf)
    with refused("upper", "mismatch", ValueError, given=str(2**63), kind="int64", nearest=str(2**63 - 1)):
        add(data, 0, 2**63)
    with refused("lower", "mismatch", ValueError, given="1/2", kind="int64", nearest="0"):
        add(data, "1/2", 2)
    with refused("lower", "not-a-number", TypeError, given="'many'"):
        add(data, "many", 2)
    with refused("upper", "not-a-number", TypeError, given="None"):
        add(data, 0, None)
    with refused("missing", "unknown", ValueError, given="'skip'"):
        add(data, 0, 2, missing="skip")
    with refused("data", "wrong-type", TypeError, kind="float64"):
        add(FLOATS, 0, 2)
    with refused("data", "wrong-type", ValueError, dimensions=2):
        add(INTS.reshape(1, 3), 0, 2)
    with refused("data", "wrong-type", TypeError, kind="bool"):
        add(INTS > 1, 0, 1)


@pytest.mark.parametrize("data", [FLOATS, Runs("float64", [(1, 3)])], ids=["array", "runs"])
def test_float_sums_check_their_arguments(data):
    def add(*args, how="iterated", **options):
        return kernels.float_sum(how, *args, **options)

    with refused("lower", "swapped", ValueError, lower="3", upper="2"):
        add(data, 3, 2)
    with refused("upper", "not-a-number", ValueError, given="nan"):
        add(data, 0, math.nan)
    with refused("lower", "not-a-number", ValueError, given="-inf"):
        add(data, -math.inf, 0)
    with refused("lower", "mismatch", ValueError, given="1/10", nearest=str(Fraction(0.1))):
        add(data, "0.1", 1)
    with refused("how", "unknown", ValueError, given="'fast'", names="iterated, pairwise, kahan, toward_zero"):
        add(data, 0, 1, how="fast")
    with refused("missing", "unknown", ValueError, given="'skip'"):
        add(data, 0, 1, missing="skip")
    for narrower in ["float32", "bfloat16", FloatType(60, 8), "int64"]:
        with refused("accumulator", "mismatch", ValueError, given=str(narrower), kind="float64"):
            add(data, 0, 1, accumulator=narrower)
    with refused("data", "wrong-type", TypeError, kind="int64"):
        add(INTS, 0, 1)
    with refused("dtype", "conflict", TypeError, given="float32"):
        add(data, 0, 1, dtype="float32")


@pytest.mark.parametrize("grid", [GRID, SHIFTED, SLOW], ids=["unit", "shifted", "slow"])
def test_grid_sums_check_their_arguments(grid):
    codes = np.array([0, 1, 1])
    with refused("data", "wrong-type", TypeError, kind="int64"):
        kernels.grid_sum(INTS, grid)
    with refused("data", "wrong-type", TypeError, kind="int64"):
        kernels.grouped_grid_sum(INTS, codes, 2, grid)
    for add in [
        lambda **options: kernels.grid_sum(FLOATS, grid, **options),
        lambda **options: kernels.grid_sum(Runs.of(FLOATS), grid, **options),
        lambda **options: kernels.grouped_grid_sum(FLOATS, codes, 2, grid, **options),
    ]:
        with refused("missing", "unknown", ValueError, given="None"):
            add(missing=None)
        for threads, reason in [(0, "too-small"), (-1, "too-small"), (1.5, "not-whole")]:
            with refused("threads", reason, ValueError, given=str(threads)):
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
        with refused("codes", "unknown", ValueError, groups=2):
            add(np.array([0, 1, 2], dtype), 2)
        with refused("codes", "unknown", ValueError, groups=2):
            add(np.array([0, -1, 1], dtype), 2)
        with refused("codes", "mismatch", ValueError, shape="(2,)", records=3):
            add(np.array([0, 1], dtype), 2)
        with refused("codes", "mismatch", ValueError, shape="(3, 1)", records=3):
            add(np.zeros((3, 1), dtype), 2)
    with refused("codes", "wrong-type", TypeError, kind="float64"):
        add(np.zeros(3), 2)
    with refused("codes", "wrong-type", TypeError, kind="uint64"):
        add(np.zeros(3, np.uint64), 2)
    for groups, reason in [(-1, "too-small"), (1.0, "not-whole")]:
        with refused("groups", reason, ValueError, given=str(groups)):
            add(np.zeros(3, int), groups)


def test_sums_by_group_need_an_array():
    with refused("data", "unsupported", TypeError):
        kernels.grouped_wide_sum(RUNS, np.zeros(3, int), 1, 0, 9)
    with refused("data", "unsupported", TypeError):
        kernels.grouped_grid_sum(Runs.of(FLOATS), np.zeros(3, int), 1, GRID)


def test_wide_sums_check_their_threads():
    for data in [INTS, RUNS]:
        with refused("threads", "too-small", ValueError, given="0"):
            kernels.wide_sum(data, 0, 9, threads=0)
    with refused("threads", "too-small", ValueError, given="0"):
        kernels.grouped_wide_sum(INTS, np.zeros(3, int), 1, 0, 9, threads=0)
    assert kernels.wide_sum(INTS, 0, 9, threads=2**40) == 6


def test_a_modulus_belongs_to_integers():
    with refused("dtype", "wrong-type", TypeError, given="float32"):
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
    with refused("codes", "unknown", ValueError, groups=0):
        kernels.grouped_wide_sum(INTS, np.zeros(3, int), 0, 0, 9)
