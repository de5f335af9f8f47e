"""The conditions under which the attacks are proved in IEEE arithmetic are those that `ss.attack` asks for."""

import random
from fractions import Fraction
from itertools import product

import pytest

import soundsum as ss
from soundsum.numbers.rationals import power_of_two
from soundsum.numbers.types import FloatType, bfloat16, float16, float32, float64

from .oracle import ask, words
from .test_kernels import bits, double

KINDS = [*(FloatType(*widths) for widths in product((3, 4, 6), (4, 5, 6))), bfloat16, float16, float32, float64]
"""Types that the theorems speak of: k + 1 < E, where values are below 2^E."""


def accepts(name, kind, **parameters):
    try:
        ss.attack(name, kind, **parameters)
    except ValueError as error:
        if "the condition is" in str(error):
            return False
        raise
    return True


def near_the_ends(kind, rng):
    """Exponents around the smallest value, the smallest normal one, k above and 3 k below the largest, and anywhere."""
    k, normal, largest = kind.k, kind.min_exponent, kind.max_exponent
    low = [*range(normal - k - 2, normal - k + 3), *range(normal - 2, normal + k + 3)]
    near = rng.choice([low, range(largest - 3 * k, largest + 3)])
    return rng.choice(near) if rng.random() < 0.8 else rng.randint(normal - k, largest)


def asked(name, kind, rng):
    """Parameters for `ss.attack`, and the three numbers that Coq's condition takes."""
    k, scale, any_j = kind.k, near_the_ends(kind, rng), rng.randint(0, kind.k + 2)
    if name == "reordering":
        a, d = rng.randint(-1, k + 1), rng.randint(0, k + 2)
        return {"a": a, "d": d, "j": scale}, (a, d, scale)
    if name == "tree_rounding":  # L = (2 i + 1) 2^e
        j = rng.randint(1, 60)
        return {"j": j, "m": scale}, (j, 2 ** (k - 1), scale - k)
    given = power_of_two(scale) if name == "repeated_rounding_2" else scale
    return {"j": any_j, "upper" if name == "repeated_rounding_2" else "m": given}, (any_j, scale, 0)


FAMILIES = ["reordering", "rounding", "result_rounding", "tree_rounding", "repeated_rounding_1", "repeated_rounding_2"]


@pytest.mark.parametrize("name", FAMILIES)
def test_the_attacks_ask_for_what_their_theorems_need(name):
    rng = random.Random(name)
    cases = [(kind, *asked(name, kind, rng)) for kind in KINDS for _ in range(200)]
    told = ask(words("fits", name, kind.k, kind.max_exponent + 1, *numbers) for kind, _, numbers in cases)
    fits = [answer == "1" for answer in told]
    assert fits == [accepts(name, kind, **given) for kind, given, _ in cases]
    assert 300 < sum(fits) < len(fits) - 300


@pytest.mark.parametrize("j", [2, 5, 9])
def test_the_attacked_sums_are_what_coq_computes(j):
    """In binary64, where the first two of Coq's sums are the iterated one and Kahan's, and the fourth is pairwise."""
    for name, sums in [("rounding", (0, 1)), ("repeated_rounding_2", (0,)), ("tree_rounding", (3,))]:
        made = ss.attack(name, "float64", j=j)
        left, right = ask(words("sums64", *(bits(float(x)) for x in side)) for side in (made.left, made.right))
        for i in sums:
            apart = Fraction(double(int(left.split()[i]))) - Fraction(double(int(right.split()[i])))
            assert apart == made.predicted
