"""Which attack works on which library, and what datasets made for sums in order do to np.sum."""

from decimal import localcontext
from fractions import Fraction

import numpy as np

from soundsum.attacks import attack
from soundsum.numbers.models import numpy_pairwise
from soundsum.numbers.types import float32
from soundsum.paper.reproduce import Agreement, matrix
from soundsum.paper.reproduce.libraries import DIFFPRIVLIB, numpy_sum
from soundsum.tables.runs import Runs


def by_verdict(cells, verdict):
    return [cell.what for cell in cells if cell.verdict == verdict]


def test_the_matrix_is_the_paper_s():
    cells = list(matrix.matrix())
    assert len(cells) == 25
    assert by_verdict(cells, Agreement.DIFFERS) == by_verdict(cells, Agreement.ERRATUM) == []


def test_every_library_the_paper_lists_underestimates():
    ratios = {cell.what.split(":")[0]: cell.found for cell in matrix.underestimates()}
    assert ratios == {
        **dict.fromkeys(("Google DP", "OpenDP / SmartNoise", "Opacus", "Airavat"), 65),
        **dict.fromkeys(("IBM diffprivlib", "Google DP, mean", "Chorus"), 32),
    }


def test_whether_an_attack_works_does_not_hang_on_the_last_digit():
    """A sum that moves by the ideal loses just epsilon, in decimals of any precision."""
    for digits in (28, 60):
        with localcontext(prec=digits):
            works = {cell.what: cell.found for cell in matrix.matrix()}
        assert works["repeated rounding 1 on IBM diffprivlib"] == matrix.DOES_NOT


def test_np_sum_adds_as_its_model_and_can_be_reordered_inside_its_blocks():
    small, large = (1,) * 120, (2**24,) * 8
    for block in (small + large, large + small):
        data = Runs("float32", [(block, 16)])
        assert Fraction(float(np.sum(np.asarray(data)))) == numpy_pairwise(float32).sum(data)
    assert matrix.reordered_blocks(2) == Fraction(1, 2)
    assert matrix.reordered_blocks(8) == 2


def test_a_library_clamps_before_it_adds():
    problem = attack("rounding", dtype="float64", relation="hamming", j=5, m=-1).problem
    bits = Runs("float64", [(0, 32), (1, 1)])  # the had_covid column: clamping makes it the attack's left dataset
    assert numpy_sum(bits, problem) == DIFFPRIVLIB.total(bits.clamp(problem.lower, problem.upper), problem)


def test_the_paper_s_silence_is_no_statement():
    checked = by_verdict(matrix.matrix(), Agreement.CHECKED)
    in_order = [f"{name} on IBM diffprivlib" for name in matrix.IN_ORDER]
    assert checked == ["overflow on Chorus", "overflow on PINQ", "rounding on PINQ", *in_order]


def test_a_tree_is_no_shelter_in_itself():
    """One rounding moves np.sum by 32 times the ideal; that repeated rounding does not is a measurement."""
    rounding = attack("rounding", dtype="float64", relation="hamming", j=5)
    assert rounding.measure(np.sum) == 32 * rounding.ideal
    for j in (1, 2):
        repeated = attack("repeated_rounding_1", dtype="float32", relation="change_one", j=j)
        assert repeated.measure(np.sum) <= repeated.ideal
