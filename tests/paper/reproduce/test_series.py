"""The points a page draws are those of the sums, the mechanisms and the plans."""

from fractions import Fraction

import pytest

from soundsum.attacks import attack
from soundsum.paper.reproduce import series


@pytest.fixture(scope="module")
def plots(fix_draws):
    with fix_draws("series"):
        return {plot.name: plot for plot in series.plots()}


def test_running_sums_end_as_far_apart_as_the_attack_says(plots):
    ends = {line.name: line.y[-1] for line in plots["drift"].lines}
    pair = attack("repeated_rounding_2", dtype="float32", relation="hamming", j=16, upper=1)
    assert Fraction(ends["left, as computed"] - ends["right, as computed"]) == pair.predicted == 65
    assert ends["left, exactly"] - ends["right, exactly"] == pytest.approx(1)


def test_spacing_doubles_with_every_power_of_two(plots):
    for line in plots["spacing"].lines:
        assert {b / a for a, b in zip(line.y, line.y[1:], strict=False)} == {2.0}


def test_naive_outputs_fall_on_two_floats_and_ours_spread(plots):
    lines = {line.name: line.y for line in plots["outputs"].lines}
    for side in ("left", "right"):
        assert sum(lines[f"naive, {side}"]) == sum(lines[f"ss.sum, {side}"]) == 1000
        assert sum(count > 0 for count in lines[f"naive, {side}"]) <= 3
        assert sum(count > 0 for count in lines[f"ss.sum, {side}"]) > 10


@pytest.mark.parametrize("name", ["ratio_public", "ratio_private"])
def test_ratios_have_the_shape_of_table_2(plots, name):
    lines = {line.name: dict(zip(line.x, line.y, strict=True)) for line in plots[name].lines}
    reached = lines["repeated rounding 2 reaches"]
    n = 2.0**20
    assert lines["grid"][n] == 1
    assert lines["grid"][n] < lines["kahan"][n] < lines["pairwise"][n] < lines["iterated"][n]
    assert all(lines["iterated"][x] >= y for x, y in reached.items() if x in lines["iterated"])
