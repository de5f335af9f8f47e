"""Floats added as floats: iterated, pairwise, Kahan and toward zero, in the type's own arithmetic and in wider ones."""

import math
import platform

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soundsum import kernels, native
from soundsum.kernels.arguments import raw_records
from soundsum.kernels.sums import QUAD
from soundsum.numbers import models
from soundsum.numbers.rationals import is_special
from soundsum.numbers.types import FloatType, bfloat16, float16, float32, float64
from soundsum.tables.records import Column
from soundsum.tables.runs import Runs
from tests.sweeps import sweep

from .data import FLOATS, MISSING, bounds, cleaned, datasets, gapped, with_bitmap

HOWS = sorted(models.FLOAT_SUMS)
IN_128_BITS = ["iterated", "kahan", "pairwise"]


@pytest.mark.parametrize("kind", sweep(FLOATS, quick=[float16, float64]), ids=str)
@pytest.mark.parametrize("how", HOWS)
@given(st.data())
def test_every_sum_is_its_model_in_every_arithmetic(how, kind, data):
    column, (lower, upper), missing = data.draw(datasets(kind)), data.draw(bounds(kind)), data.draw(MISSING)
    kept = cleaned(column, lower, upper, missing)
    for wider in (wider for wider in (*FLOATS, *([QUAD] if how in IN_128_BITS else [])) if wider.holds(kind)):
        result = kernels.float_sum(how, column, lower, upper, accumulator=wider, missing=missing)
        assert wider.to_bits(result) == wider.to_bits(models.FLOAT_SUMS[how](wider).sum(kept)), wider


class Machine:
    """The additions of Python's own floats, for models of many records."""

    @staticmethod
    def add(a, b):
        return a + b


@pytest.mark.parametrize("length", [2047, 2048, 2049, 32767, 32768, 32769])
@pytest.mark.parametrize("how", ["iterated", "kahan", "pairwise"])
def test_sums_of_any_length(how, length):
    """In place, copied for a stride, copied for a bitmap, with missing records kept and dropped."""
    rng = np.random.default_rng(length)
    values = rng.standard_normal(length) * 2.0 ** rng.integers(-30, 30, length)
    values[rng.random(length) < 0.1] = math.nan
    present = rng.random(length) < 0.9
    for column in [
        Column(values, float64),
        Column(gapped(values), float64),
        with_bitmap(values, float64, present, 3),
    ]:
        known = np.where(present | (column.validity is None), values, math.nan).clip(-(2**20), 2**20)
        for missing, kept in [("zero", np.nan_to_num(known)), ("drop", known[~np.isnan(known)])]:
            result = kernels.float_sum(how, column, -(2**20), 2**20, missing=missing)
            assert result == models.FLOAT_SUMS[how](Machine).sum(kept.tolist())


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@pytest.mark.parametrize("how", HOWS)
def test_sums_of_more_than_a_block(how, kind):
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << kind.bits, 2051, dtype=f"u{kind.bits // 8}")
    column = Column(gapped(bits.view(kind.dtype)), kind)
    lower, upper = kind.round(-5), kind.round(10)
    model = models.FLOAT_SUMS[how](kind)
    for missing in ["zero", "drop"]:
        result = kernels.float_sum(how, column, lower, upper, missing=missing)
        assert result == model.sum(cleaned(column, lower, upper, missing))


@pytest.mark.parametrize("kind", FLOATS, ids=str)
def test_what_each_sum_does_beyond_the_largest_float(kind):
    data = Runs(kind, [(kind.max, 3), (kind.min, 1)])
    sums = {how: kernels.float_sum(how, data, kind.min, kind.max) for how in HOWS}
    assert sums["iterated"] == math.inf
    assert math.isnan(sums["kahan"])  # infinity less infinity is what was lost
    assert sums["pairwise"] == math.inf  # (max + max) + (max - max)
    assert sums["toward_zero"] == 0  # largest, still, less largest


@pytest.mark.parametrize("kind", FLOATS, ids=str)
@pytest.mark.parametrize("how", HOWS)
def test_subnormals_add_exactly(how, kind):
    data = Runs(kind, [((kind.smallest_subnormal, -3 * kind.smallest_subnormal), 40), (kind.smallest_subnormal, 5)])
    assert kernels.float_sum(how, data, kind.min, kind.max) == -75 * kind.smallest_subnormal


@pytest.mark.parametrize("how", HOWS)
@given(st.data())
def test_types_without_a_kernel_use_the_model(how, data):
    kind = data.draw(st.sampled_from([FloatType(2, 3), FloatType(1, 2), FloatType(9, 4)]))
    values = data.draw(st.lists(st.integers(0, (1 << kind.bits) - 1).map(kind.from_bits), max_size=20))
    finite = sorted(x for x in values if not is_special(x)) or [0]
    runs, lower, upper = Runs.of(values, kind), finite[0], finite[-1]
    for missing in ["zero", "drop"]:
        result = kernels.float_sum(how, runs, lower, upper, missing=missing)
        model = models.FLOAT_SUMS[how](kind).sum(cleaned(values, lower, upper, missing))
        assert kind.to_bits(result) == kind.to_bits(model)


@pytest.mark.parametrize("length", [0, 1, 2047, 2049])
@pytest.mark.parametrize("how", IN_128_BITS)
def test_sums_in_128_bits(how, length):
    """Of doubles of every size, some missing, in place and as runs: the additions round, and each as in the model."""
    rng = np.random.default_rng(length)
    values = rng.standard_normal(length) * 2.0 ** rng.integers(-300, 300, length)
    values[rng.random(length) < 0.1] = math.nan
    model = models.FLOAT_SUMS[how](QUAD)
    for data in (Column(values, float64), Runs.of(values.tolist(), float64)):
        for missing in ["zero", "drop"]:
            result = kernels.float_sum(how, data, -(2.0**200), 2.0**200, accumulator=QUAD, missing=missing)
            assert result == model.sum(cleaned(data, -(2**200), 2**200, missing))


@pytest.mark.parametrize("how", HOWS)
def test_in_128_bits_sums_of_doubles_go_beyond_the_largest_and_stay_exact_at_the_smallest(how):
    data = Runs(float64, [(float64.max, 3), (float64.smallest_subnormal, 1)])
    result = kernels.float_sum(how, data, 0, float64.max, accumulator=QUAD)
    assert result == 3 * float64.max
    few = Runs(float64, [(float64.smallest_subnormal, 3)])
    assert kernels.float_sum(how, few, 0, 1, accumulator=QUAD) == 3 * float64.smallest_subnormal


@pytest.mark.skipif(platform.system() != "Linux", reason="not every compiler elsewhere has binary128")
def test_sums_in_128_bits_have_a_kernel():
    one = raw_records(Column(np.array([1.5]), float64))
    assert native.quad_sum(one, "kahan", 0.0, 2.0, False) == divmod(QUAD.to_bits(1.5), 2**64)


def test_an_accumulator_without_a_kernel_uses_the_model():
    values = np.array([1, 2**-11, 2**-11], dtype=np.float16)
    assert kernels.float_sum("iterated", values, 0, 1) == 1
    assert kernels.float_sum("iterated", values, 0, 1, accumulator=FloatType(11, 5)) == 1 + 2**-10


@pytest.mark.parametrize("narrow, wide", [(float16, float32), (bfloat16, float32), (float32, float64)])
def test_a_wider_accumulator_keeps_what_the_narrow_one_loses(narrow, wide):
    data = Runs(narrow, [(1, 1), (narrow.unit_roundoff, 8)])
    assert kernels.float_sum("iterated", data, 0, 1) == 1
    assert kernels.float_sum("iterated", data, 0, 1, accumulator=wide) == 1 + 8 * narrow.unit_roundoff
