"""A table of many entries says what each release says by itself, to the last bit."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import soundsum as ss
from soundsum.methods.problem import Problem
from soundsum.numbers.rationals import nearest_float
from soundsum.privacy.guarantee import guarantee
from soundsum.privacy.noises.laplace import Laplace
from soundsum.privacy.units import Unit
from soundsum.releases.planning import plan
from soundsum.statistics import Claim, Mean, Variance
from soundsum.statistics.statistic import Additive
from soundsum.tables.relations import Relation

INTEGERS = st.integers(-5, 5) | st.integers(-(2**70), 2**70) | st.integers(-(10**6), 10**6)
PROBLEMS = [
    Problem("float64", 0, 1000),
    Problem("float64", Fraction("0.1"), Fraction("0.3")),
    Problem("float64", -1e308, 1e308),
    Problem("float32", -1, 7),
    Problem("int64", -(2**63), 2**63 - 1),
    Problem("int64", 0, 2**63 - 1),
    Problem("int64", -(2**63), 0),
    Problem("int8", -3, 4),
    Problem("float64", 0, 10, relation="change_one"),
]


def estimator(kind, problem, unit_value):
    unit = Unit() if problem.relation == Relation.CHANGE_ONE else Unit(2)
    claim = Claim(kind, plan(problem, unit=unit), unit_value)
    return claim.estimator(claim.noises(guarantee(1)), 12 if problem.relation.sized else None)


@pytest.mark.parametrize("kind", [Mean, Variance])
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_columns_are_the_entries_one_by_one(kind, data):
    problem = data.draw(st.sampled_from(PROBLEMS if kind is Mean else PROBLEMS[:4] + PROBLEMS[7:]))
    unit_value = data.draw(st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(10) ** 300]))
    unit_value = unit_value if problem.dtype.is_integer else Fraction(1)
    estimate = estimator(kind, problem, unit_value)
    entries = data.draw(st.lists(st.tuples(*(INTEGERS for _ in estimate.noises)), min_size=1, max_size=20))
    confidence = data.draw(st.sampled_from([0.5, 0.95, 0.999]))
    values, low, high = estimate.columns(list(zip(*entries, strict=True)), confidence)
    assert list(map(nearest_float, values)) == [nearest_float(estimate.exact(entry)) for entry in entries]
    ends = [tuple(map(nearest_float, estimate.interval(entry, confidence))) for entry in entries]
    assert list(zip(low, high, strict=True)) == ends


ADDITIVE = {
    "a power of two": Additive(Laplace(Fraction(3)), Fraction(1, 8), is_whole=False),
    "whole": Additive(Laplace(Fraction(3)), Fraction(1), is_whole=True),
    "no power of two": Additive(Laplace(Fraction(3)), Fraction(1, 10), is_whole=False),
    "a power too small for floats": Additive(Laplace(Fraction(3)), Fraction(1, 2**1070), is_whole=False),
    "a power that is no float": Additive(Laplace(Fraction(3)), Fraction(1, 2**1080), is_whole=False),
    "a power beyond the floats": Additive(Laplace(Fraction(3)), Fraction(2**1030), is_whole=False),
    "an offset": Additive(Laplace(Fraction(3)), Fraction(1, 8), is_whole=False, offset=Fraction(1, 3)),
}


@pytest.mark.parametrize("estimate", ADDITIVE.values(), ids=ADDITIVE)
def test_columns_of_sums_are_the_entries_one_by_one(estimate):
    totals = [0, 3, -7, 127, 300, 2**53 + 1, 2**60 + 3, -(2**70) + 1, *range(2**54 - 9, 2**54 + 9)]
    for sums in (totals, [*totals, 2**1026 + 1, -(2**1040)]):
        values, low, high = estimate.columns([sums], 0.95)
        assert list(map(nearest_float, values)) == [nearest_float(estimate.exact((total,))) for total in sums]
        ends = [tuple(map(nearest_float, estimate.interval((total,), 0.95))) for total in sums]
        assert list(zip(low, high, strict=True)) == ends


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-320"])
@pytest.mark.parametrize("data", [[1.0, 2.0], [1, 2]])
def test_a_table_of_nothing_but_noise(data, epsilon):
    table = ss.sum(data, 0, 1000, epsilon=epsilon, by=["a", "b"], groups=["a", "b"]).to_arrow()
    assert table.num_rows == 2


@pytest.mark.parametrize("data", [np.arange(60.0), np.arange(60), pa.array(np.arange(60)).cast(pa.decimal128(22, 1))])
def test_a_table_of_means_is_what_each_says(data):
    means = ss.mean(data, 0, 50, 1, by=np.arange(60) % 7, groups=range(7))
    table = means.to_arrow().to_pydict()
    assert table["value"] == [means[group].value for group in range(7)]
    assert list(zip(table["low"], table["high"], strict=True)) == [means[group].interval() for group in range(7)]
