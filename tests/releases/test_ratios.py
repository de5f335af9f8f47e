"""Ratios of two releases: exact, with an interval that holds for both noises, also where the denominator may be 0."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.releases.released import Release
from tests.refusing import refused

pytestmark = pytest.mark.usefixtures("same_draws")

COSTS = np.tile([10.0, 30.0], 50)


def at(release, *noisy):
    """The same release, had its noise been another."""
    return Release(noisy, release.facts)


def test_it_is_the_quotient_of_what_was_released():
    cost, visits = ss.release({"x": COSTS}, [ss.Sum("x", 0, 100), ss.Count()], 1000)
    ratio = cost.ratio(visits)
    assert ratio.exact == Fraction(cost.exact) / visits.exact
    assert ratio.value == float(ratio) == pytest.approx(20, rel=0.01)
    low, high = ratio.interval()
    assert low <= ratio.value <= high
    assert ratio.informative
    assert f"{ratio:.0f}" == "20"
    assert "sum of x to count" in repr(ratio)
    assert "20" in ratio._repr_html_()
    assert ratio.to_arrow().to_pylist()[0]["low"] == low
    written = json.loads(ratio.to_json())
    assert Fraction(written["ratio"]["exact"]) == ratio.exact
    assert ss.check(ratio) == []
    written["releases"][1]["exact"] = "7"
    assert ss.check(written)


@pytest.mark.parametrize("lower, upper", [(0, 3), (-3, 0), (-3, 3)])
def test_it_holds_for_every_pair_of_sums_within_the_intervals_of_both(lower, upper):
    """Enumerated: whatever was released, each ratio that both intervals allow is within, and both ends are reached."""
    top = ss.sum(np.array([1, 2]), lower, upper, 1, dtype="int64")
    bottom = ss.sum(np.array([1, 2]), lower, upper, 1, dtype="int64")
    width = top.facts.noises[0].half_width(Fraction(975, 1000))
    sign = range(99) if lower == 0 else range(-98, 1) if upper == 0 else range(-98, 99)
    for a, b in itertools.product(range(-16, 17, 4), repeat=2):
        low, high = at(top, a).ratio(at(bottom, b)).exact_interval(Fraction(95, 100))
        tops = [x for x in range(a - width, a + width + 1) if x in sign] or [0]
        bottoms = [y for y in range(b - width, b + width + 1) if y in sign]
        found = [Fraction(x, y) for x in tops for y in bottoms if y]
        assert all(low <= one <= high for one in found)
        if 0 not in bottoms and bottoms:
            assert (low, high) == (min(found), max(found))
        elif bottoms and bottoms[0] < 0 < bottoms[-1]:
            assert (low, high) == (-math.inf, math.inf)


def test_a_count_is_at_least_one_where_there_is_a_ratio():
    top, bottom = ss.release({"x": COSTS}, [ss.Sum("x", 0, 100), ss.Count()], 1)
    step = top.facts.claim.parts[0].step
    ratio = at(top, int(50 / step)).ratio(at(bottom, -9))
    assert ratio.exact == 50
    assert ratio.interval()[1] < math.inf
    none = at(bottom, 5).ratio(at(top, int(-3 / step)))  # a sum of numbers from 0 on may be 0
    assert none.exact is None
    assert math.isnan(none.value)
    assert none.interval()[1] == math.inf
    assert "or more" in repr(none)
    assert "undefined" in repr(none)
    assert json.loads(none.to_json())["ratio"]["interval_95"][1] is None
    assert ss.check(none) == []


def test_where_the_denominator_may_have_either_sign_it_says_nothing():
    near_0 = ss.sum(np.zeros(9), -5, 5, 1)
    ratio = ss.count(COSTS, 1).ratio(at(near_0, 0))
    assert not ratio.informative
    assert ratio.interval() == (-math.inf, math.inf)
    assert "any number" in repr(ratio)


def test_it_holds_as_often_as_it_says():
    runs, held = 1500, 0
    for _ in range(runs):
        cost, visits = ss.release({"x": COSTS}, [ss.Sum("x", 0, 40), ss.Count()], 1)
        low, high = cost.ratio(visits).exact_interval(0.8)
        held += low <= 20 <= high
    assert held >= 0.8 * runs - 6 * (0.16 * runs) ** 0.5


def test_of_groups_one_is_taken():
    by = ss.count({"g": ["a", "b", "b"]}, 1, by="g", groups=["a", "b"])
    share = by["a"].ratio(by["b"])
    assert share.interval()[0] >= 0
    for other in (by, 3):
        with refused("other", Reason.WRONG_TYPE, TypeError):
            by["a"].ratio(other)


def test_a_modular_sum_has_no_ratio():
    modular = ss.sum(np.array([1, 2], np.int8), 0, 9, 1, method="modular")
    with refused("method", Reason.UNSUPPORTED, ValueError):
        ss.count(COSTS, 1).ratio(modular)


def test_a_bad_confidence_is_refused():
    count = ss.count(COSTS, 1)
    for confidence, reason in ((0, Reason.TOO_SMALL), (1, Reason.TOO_LARGE), ("a", Reason.NOT_A_NUMBER)):
        with refused("confidence", reason, ValueError):
            count.ratio(count).interval(confidence)
