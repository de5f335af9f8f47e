"""docs/theorems/attack_proofs.md proves every theorem of the paper's attacks; its turning points are as it says."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from soundsum.attacks import FAMILIES, attack
from soundsum.numbers.models import iterated, kahan
from soundsum.numbers.types import FloatType

PAGE = (Path(__file__).parents[2] / "docs" / "theorems" / "attack_proofs.md").read_text()
PROVED = dict(re.findall(r"^## (\w+)\n\n[^`]*\(`([\w:-]+)`\)", PAGE, re.MULTILINE))


def test_every_theorem_has_its_proof():
    references = {name: attack(name).reference for name in PROVED}
    assert references == PROVED
    assert set(FAMILIES) - set(PROVED) == {
        "tree_rounding",
        "result_rounding",
        "special_values",
        "path",
    }  # not the paper's
    assert len(PROVED) == 6
    assert PAGE.count("*Proof.*") == PAGE.count("∎") == len(PROVED) + 1  # of rounding there are two: Kahan's sum too


@pytest.mark.parametrize("k", range(3, 12))
def test_copies_of_l_sum_to_an_even_number_of_ulps(k):
    """Also where 2j > k + 1 and they are not added exactly."""
    add = iterated(FloatType(k, 9))
    for j in range(2, k):
        L, g = 1 + Fraction(2) ** (j - k - 1), Fraction(2) ** (j - k)
        total = add.sum([L] * 2**j)
        assert 2**j <= total < 2 ** (j + 1)
        assert total / g % 2 == 0
        exact = 2**j + Fraction(2) ** (2 * j - k - 1)
        assert total == exact or 2 * j > k + 1
        assert abs(total - exact) < 2 ** (j - 2)


@pytest.mark.parametrize("k", range(3, 9))
def test_kahans_sum_of_copies_of_l_is_rounded_once(k):
    kind = FloatType(k, 9)
    add = kahan(kind)
    for j in range(2, k):
        L, state = 1 + Fraction(2) ** (j - k - 1), add.start
        for i in range(1, 2**j + 1):
            state = add.step(state, L)
            total = kind.round(i * L)
            assert state == (total, total - i * L)
        assert state == (2**j * L, 0)
