"""The share of records or persons that bounds cut off: what is counted, how it is read, and when it says nothing."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.releases.collections import Releases
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from tests.refusing import refused

SURE = 1000
"""An epsilon at which noise moves no count."""


def counts(data, statistic, **options):
    engine, prepared = prepare(data, Request((statistic,), **options))
    ((totals,),) = engine.add_up(prepared.tasks, prepared.rows)[0]
    return totals


@pytest.mark.parametrize("lower, upper", [(0, 2), (-1, Fraction(1, 3)), (0.1, 0.3), (1, 1), (-3, -2)])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_a_record_is_cut_off_where_clamping_moves_it(lower, upper, dtype):
    x = np.array([0, 1, 2, 3, -1, -2, -3, 0.1, 0.3, 1 / 3, np.nextafter(2, 3), np.nextafter(0.1, 0)]).astype(dtype)
    low, high = Fraction(lower), Fraction(upper)
    exact = [Fraction(float(one)) for one in x]
    expected = [
        sum(one < low for one in exact),
        sum(low <= one <= high for one in exact),
        sum(one > high for one in exact),
    ]
    assert counts(x, ss.Clipped(None, lower, upper)) == expected


def test_infinities_are_cut_off_and_missing_values_left_out():
    assert counts(np.array([np.inf, -np.inf, np.nan, 1.0]), ss.Clipped(None, 0, 2)) == [1, 1, 1]


@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_person_is_cut_off_where_their_total_is_beyond_what_max_rows_rows_add_up_to(max_rows):
    """Enumerated: all persons of up to three rows."""
    rows = [x for n in (1, 2, 3) for x in itertools.product((-7, 0, 2, 50), repeat=n)]
    table = {
        "who": np.repeat(np.arange(len(rows)), [len(own) for own in rows]),
        "x": np.concatenate([np.array(own, float) for own in rows]),
    }
    totals = [sum(own) for own in rows]
    below, above = sum(t < -5 * max_rows for t in totals), sum(t > 10 * max_rows for t in totals)
    expected = [below, len(rows) - below - above, above]
    options = {"privacy_unit": "who", "max_rows": max_rows}
    assert counts(table, ss.Clipped("x", -5, 10), **options) == expected
    whole = table | {"x": table["x"].astype(int)}
    assert counts(whole, ss.Clipped("x", -5, 10), **options) == expected


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
def test_bounds_far_beyond_the_type_cut_nobody_off(dtype):
    table = {"who": np.arange(4) // 2, "x": np.array([-1, -2, 3, 4], dtype)}
    assert counts(table, ss.Clipped("x", -1e308, 1e308), privacy_unit="who") == [0, 2, 0]
    assert sum(counts(table, ss.Clipped("x", 1e300, 1e305), privacy_unit="who")) == 2


def test_many_totals_far_from_zero_are_counted_without_overflow():
    """Sixteen persons clamped to 2^123, one by one, would add up to more than 128 bits hold."""
    table = {"who": np.arange(64), "x": np.full(64, 2**62)}
    far = ss.Clipped("x", -(2**62), 2**62)
    assert counts(table, far, privacy_unit="who", max_rows=2**61) == [0, 64, 0]
    assert counts(table, far, privacy_unit="who", max_rows=2**66) == [0, 64, 0]


def test_the_share_and_its_interval():
    share = ss.release(np.r_[np.zeros(90), np.full(10, 9.0)], [ss.Clipped(None, -1, 1)], SURE)[0]
    assert share.exact == Fraction(1, 10) == Fraction(float(share)).limit_denominator(100)
    assert share.interval() == (0.1, 0.1)
    assert share.informative
    assert "10.00%" in repr(share)
    noisy = ss.release(np.zeros(10**5), [ss.Clipped(None, -1, 1)], 1)[0]
    low, high = noisy.interval(0.999999999)
    assert low == 0
    assert 0 < high < 0.01
    assert not ss.release(np.zeros(0), [ss.Clipped(None, -1, 1)], "1e-3")[0].informative
    assert ss.check(noisy) == []
    (part,) = noisy.certificate["released"]
    assert part["l1_steps"] == 1


def test_the_interval_is_a_share_whatever_the_noise_was():
    share = ss.release(np.zeros(9), [ss.Clipped(None, -1, 1)], 1)[0]
    for noisy in itertools.product((-90, -5, 0, 5, 90), repeat=3):
        counts = Releases(share.counts._columns, [noisy], share.counts.facts)
        low, high = type(share)(counts).interval()
        assert 0 <= low <= high <= 1


def test_one_person_moves_one_count_however_many_rows_count():
    table = {"x": np.ones(9), "who": np.arange(9) % 3}
    (share,) = ss.release(table, [ss.Clipped("x", 0, 1)], 1, privacy_unit="who", max_rows=5)
    assert share.certificate["released"][0]["scale"] == "1"
    assert share.counts["0 to 1"].plan.unit.max_rows == 5


def test_by_group_the_counts_are_given():
    by_group = ss.release({"x": [1.0, 5.0], "g": ["a", "b"]}, [ss.Clipped("x", 0, 2)], SURE, by="g", groups=["a", "b"])[
        0
    ]
    assert by_group["a", "0 to 2"].value == by_group["b", "above 2"].value == 1


def test_an_owner_s_schema_has_the_bounds():
    budget = ss.Budget(epsilon=SURE)
    owner = ss.Private({"x": np.arange(100.0)}, budget=budget, schema={"x": ("float64", 0, 49)})
    (share,) = owner.release([ss.Clipped("x")], SURE)
    assert share.exact == Fraction(1, 2)


def test_bad_bounds_are_refused():
    with refused("lower", Reason.MISSING, ValueError):
        ss.release([1.0], [ss.Clipped(None)], 1)
    with refused("lower", Reason.SWAPPED, ValueError):
        ss.release([1.0], [ss.Clipped(None, 3, 1)], 1)
