"""The same neighbours: an ordinary mechanism is told apart, ours is not."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from soundsum.attacks import attack
from soundsum.paper.reproduce import side_by_side
from soundsum.paper.reproduce.mechanisms import laplace_at_least
from soundsum.paper.reproduce.reproduction import privacy_loss

pytestmark = pytest.mark.usefixtures("same_draws")


@pytest.mark.parametrize("pair", side_by_side.pairs(), ids=lambda pair: pair.name)
def test_the_ordinary_mechanism_is_told_apart_and_ours_is_not(pair):
    found = side_by_side.compare(pair, 400)
    assert found.naive.distinguished
    assert not found.release.distinguished
    assert all(60 < guesses < 340 for guesses in (found.release.left, found.release.right))  # a test that might tell
    assert abs(found.ours[0] - found.ours[1]) <= found.ideal < abs(found.sums[0] - found.sums[1])
    assert found.verdict == "checked"


def test_a_release_that_gave_the_ordinary_sum_would_be_told_apart():
    pair = attack("rounding", dtype="float64", relation="change_one", j=5, m=-1)
    found = side_by_side.compare(pair, 400)
    swapped = type(found)(**{**vars(found), "release": found.naive})
    assert swapped.verdict == "differs"


def laplace(center, scale, runs):
    return [Fraction(center + x) for x in np.random.default_rng().laplace(0, scale, runs)]


def test_the_larger_sum_shows_all_of_epsilon_and_the_middle_does_not():
    scale = 1 / side_by_side.EPSILON
    larger, middle = (
        privacy_loss(laplace_at_least(scale, t - 1), laplace_at_least(scale, t)) for t in (Fraction(1), Fraction(1, 2))
    )
    assert round(larger, 20) == Decimal("0.5") > round(middle, 2) == Decimal("0.45")


def test_the_more_telling_of_both_is_taken():
    """Of these sums, 1 and 0, the middle tells nothing, the larger everything; and then the other way round."""
    few, many = [Fraction(-5)] * 200, [Fraction(3, 5)] * 200
    found = side_by_side.most_telling("odd", [few + [Fraction(1)] * 200, few + many], (Fraction(1), Fraction(0)))
    assert (found.left, found.right, found.test) == (200, 0, "from the larger sum on")
    found = side_by_side.most_telling("odd", [few + many, few + few], (Fraction(1), Fraction(0)))
    assert (found.left, found.right, found.test) == (200, 0, "from the middle of the two sums on")
    assert found.distinguished


def test_exact_noise_is_not_told_apart_by_either():
    scale = 1 / float(side_by_side.EPSILON)
    outputs = [laplace(1, scale, 2_000), laplace(0, scale, 2_000)]
    assert not side_by_side.most_telling("enough", outputs, (Fraction(1), Fraction(0))).distinguished
