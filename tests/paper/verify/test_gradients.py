"""The clip of gradients is verified like every sum, and a weakened factor is caught; torch is not needed for it."""

import math
import subprocess
import sys
from functools import partial

import pytest

from soundsum.numbers.clipping import Grid, clip, coarsening, factor, shorten
from soundsum.paper.verify import verify
from soundsum.paper.verify.clipped_gradients import check


def test_the_clip_holds_on_tiny_grids():
    done = verify(quick=True, only=["gradients"], processes=1)
    assert done.violations == 0
    assert max(result.ratio for result in done.results) == 1  # and it is tight


def clip_with(find, shortened, row, grid):
    """The clip, with another factor or another way to shorten."""
    if not all(map(math.isfinite, row)):
        return [0] * len(row)
    step = 2.0 ** (grid.exponent + coarsening(max(map(abs, row)), grid))
    rounded = [round(x / step) for x in row]
    found = find(grid.limit, sum(r * r for r in rounded), grid.precision)
    return rounded if found is None else [shortened(r, *found) for r in rounded]


def larger_factor(limit, squares, precision):
    found = factor(limit, squares, precision)
    return found and (found[0] + 1, found[1])


@pytest.mark.parametrize(
    "find, shortened",
    [
        (larger_factor, shorten),
        (factor, lambda r, m, shift: m * r >> shift),  # a negative integer rounded away from zero
        (factor, lambda r, m, shift: (m * r + (1 << shift - 1)) >> shift),  # to nearest
    ],
)
def test_a_weakened_clip_is_caught(find, shortened):
    grids = [Grid(-3, limit, 3, 2) for limit in (1, 2, 3, 5)]
    assert not any(check(partial(clip_with, factor, shorten), grid, 2, True).violations for grid in grids)
    found = [check(partial(clip_with, find, shortened), grid, 2, True) for grid in grids]
    shown = next(result.counterexample for result in found if result.violations)
    assert sum(q * q for q in shown.right) > shown.claimed
    assert "is clipped to" in str(shown)


def test_a_limit_of_zero_leaves_nothing_also_of_negative_numbers():
    assert clip([-1.0, 2.0], Grid(0, 5), limit=0) == [0, 0]
    assert shorten(-1, 0, 31) == 1  # what m = 0 would give


def test_soundsum_and_the_model_do_without_torch():
    code = """
import sys
sys.modules["torch"] = None
import soundsum as ss
import soundsum.numbers.clipping, soundsum.gradients.normal, soundsum.gradients.clipped_sum, soundsum.paper.verify
assert ss.gradients.Grid.of(1.0).limit == 2**24
try:
    ss.gradients.Sum(1.0, 1.0).add([[1.0]])
except ModuleNotFoundError as missing:
    assert "pip install '.[torch]'" in str(missing), missing
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_soundsum_does_not_import_torch():
    code = "import sys, soundsum as ss; ss.gradients.Grid; assert not {'torch', 'opacus'} & {*sys.modules}"
    subprocess.run([sys.executable, "-c", code], check=True)
