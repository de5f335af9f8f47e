"""The same neighbours: an ordinary mechanism is told apart, ours is not."""

import pytest

from soundsum.attacks import attack
from soundsum.reproduce import ours


@pytest.mark.parametrize("pair", ours.pairs(), ids=lambda pair: pair.name)
def test_the_ordinary_mechanism_is_told_apart_and_ours_is_not(pair):
    found = ours.compared(pair, 400)
    assert found.naive.distinguished
    assert not found.release.distinguished
    assert all(80 < guesses < 320 for guesses in (found.release.left, found.release.right))  # a test that might tell
    assert abs(found.ours[0] - found.ours[1]) <= found.ideal < abs(found.sums[0] - found.sums[1])
    assert found.verdict == "matches"


def test_a_release_that_gave_the_ordinary_sum_would_be_told_apart():
    pair = attack("rounding", dtype="float64", relation="change_one", j=5, m=-1)
    found = ours.compared(pair, 400)
    swapped = type(found)(**{**vars(found), "release": found.naive})
    assert swapped.verdict == "differs"
