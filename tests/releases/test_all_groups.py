"""Intervals that hold for all groups at once: how wide they are, and how often they hold."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import soundsum as ss
from soundsum.privacy.distributions import each_of
from soundsum.refusals import Reason
from tests.refusing import refused

pytestmark = pytest.mark.usefixtures("same_draws")

GROUPS = list("abcdefgh")
TABLE = {"x": np.tile([1.0, 3.0], 40), "g": [g for g in GROUPS for _ in range(10)]}


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999999999999999999"])
@pytest.mark.parametrize("count", [1, 2, 7, 10**6])
def test_the_confidence_of_each_is_the_root_rounded_up(confidence, count):
    together = Fraction(confidence)
    each = each_of(together, count)
    assert together <= each < 1
    if count < 10:
        assert each**count >= together
        assert (each - Fraction(1, 10**50)) ** count < together


@pytest.mark.parametrize("confidence", [Fraction(1, 2), Fraction(95, 100)])
def test_the_widths_are_the_least_for_which_all_hold(confidence):
    """The discrete Laplace distribution of the noise, enumerated; its noises are independent."""
    released = ss.count(TABLE, "1/2", by="g", groups=GROUPS)
    scale = Fraction(released["a"].certificate["released"][0]["scale"])
    ratio = np.exp(-1 / float(scale))
    chance = [(1 - ratio) / (1 + ratio) * ratio ** abs(z) for z in range(-400, 401)]

    def holds(width):
        return sum(chance[400 - width : 401 + width]) ** len(GROUPS)

    for group in GROUPS:
        low, high = released[group].exact_interval(confidence, all_groups=True)
        width = int(high - low) // 2
        assert holds(width - 1) < confidence <= holds(width)
        one = released[group].exact_interval(confidence)
        assert high - low > one[1] - one[0]


def test_all_of_them_hold_as_often_as_they_say():
    runs, confidence, all_held, each_held = 600, 0.8, 0, 0
    truth = dict.fromkeys(GROUPS, 10)
    for _ in range(runs):
        released = ss.count(TABLE, 1, by="g", groups=GROUPS)
        together, alone = (released.interval(confidence, all_groups=all_of) for all_of in (True, False))
        all_held += all(low <= truth[g] <= high for g, (low, high) in together.items())
        each_held += all(low <= truth[g] <= high for g, (low, high) in alone.items())
    assert all_held >= runs * confidence - 6 * (runs * confidence * (1 - confidence)) ** 0.5
    assert each_held < 0.6 * runs  # those of one group do not


@pytest.mark.parametrize("ask", [ss.sum, ss.mean, ss.variance, ss.std])
def test_a_group_and_all_groups_say_the_same(ask):
    released = ask(TABLE, 0, 4, 1, column="x", by="g", groups=GROUPS)
    for all_groups, confidence in itertools.product((True, False), (0.8, 0.95)):
        found = released.interval(confidence, all_groups=all_groups)
        assert list(found) == GROUPS
        for group, ends in found.items():
            assert ends == pytest.approx(released[group].interval(confidence, all_groups=all_groups), rel=1e-15)


def test_cells_are_counted_with_groups():
    cells = ss.histogram(TABLE, [0, 2, 4], 1, column="x", by="g", groups=["a", "b", "c"])
    one, together = (cells["a", (0, 2)].exact_interval(0.95, all_groups=all_of) for all_of in (False, True))
    assert together[1] - together[0] > one[1] - one[0]
    width = cells.facts.noises[0].half_width(each_of(0.95, 6))
    assert together[1] - together[0] == 2 * width


def test_of_a_single_number_they_are_the_usual_ones():
    total = ss.sum([1.0, 2.0], 0, 4, 1)
    assert total.interval(all_groups=True) == total.interval()


def test_a_bad_confidence_is_refused():
    released = ss.count(TABLE, 1, by="g", groups=GROUPS)
    for ask in (released.interval, released["a"].interval):
        with refused("confidence", Reason.TOO_LARGE, ValueError):
            ask(1, all_groups=True)
