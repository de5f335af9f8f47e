"""The 2x2 tables: the paper's counts lie in the models' intervals, and others would not."""

from dataclasses import replace

import numpy as np
import pytest

from soundsum.attacks import attack
from soundsum.paper.reproduce import Agreement
from soundsum.paper.reproduce.libraries import numpy_int32_sum


@pytest.fixture(scope="module")
def made(all_experiments):
    return {made.name: made for made in all_experiments}


def test_the_paper_s_counts_lie_in_the_models_intervals(made):
    printed = [e for e in made.values() if e.left.printed is not None]
    assert len(printed) == 5
    assert all(e.verdict == (Agreement.MATCHES if e in printed else None) for e in made.values())
    assert all(cell.verdict != Agreement.DIFFERS for e in made.values() for cell in e.cells)


def test_other_counts_would_not(made):
    rounding = made["IBM diffprivlib, 64-bit floats, rounding"]
    assert not replace(rounding.left, printed=9_990).inside
    assert not replace(rounding.right, printed=8).inside
    assert replace(rounding, right=replace(rounding.right, printed=8)).verdict == Agreement.DIFFERS


def test_what_the_paper_says_beside_its_counts(made):
    wrong = {(name, cell.what) for name, e in made.items() for cell in e.cells if cell.verdict == "erratum"}
    assert wrong == {
        ("Google DP, 64-bit floats, mean", "records"),
        ("Google DP, 64-bit floats, reordering", "difference of the sums"),
        ("Google DP, 64-bit floats, reordering", "midpoint of the sums"),
    }


def test_every_library_attack_loses_more_than_epsilon(made):
    for e in made.values():
        assert e.loss > e.epsilon.numerator / e.epsilon.denominator
        assert e.ratio > 1


def test_pinq_s_run_of_2_28_records_finishes_here(made):
    pinq = made["PINQ, 64-bit floats, repeated rounding 2"]
    assert (pinq.records, pinq.difference, pinq.left.printed) == (2**28, 3, None)


def test_only_a_sum_told_to_add_in_32_bits_wraps():
    """The paper's 2^7 records are those of the smaller of two insert-delete neighbours."""
    pair = attack("overflow", dtype="int32", relation="insert_delete", upper=2**24)
    assert (pair.left.size, pair.right.size) == (2**7, 2**7 + 1)
    sides = [np.asarray(side) for side in (pair.left, pair.right)]
    assert int(np.sum(sides[1])) - int(np.sum(sides[0])) == 1
    sums = [numpy_int32_sum(side, pair.problem) for side in (pair.left, pair.right)]
    assert sums[0] - sums[1] == 2**32 - 1


def test_every_model_names_its_source(made):
    assert all(e.source for e in made.values())
    assert "diffprivlib/tools/utils.py at 90b319a" in made["IBM diffprivlib, 32-bit integers"].source
