"""Noise modulo 2^w hides what is close modulo 2^w, and only such noise does (`thm:modularnoise`)."""

from dataclasses import dataclass
from fractions import Fraction

import pytest

from soundsum.numbers.types import IntType
from soundsum.privacy.noise import NOISES, Noise, NoNoise

A = Fraction(1, 2)
"""exp(-1 / scale), the ratio of a discrete Laplace; any number below 1 would do, and this one is exact."""
REACH = 160


@dataclass(frozen=True)
class Drawn(NoNoise):
    """Noise that is known."""

    def draw(self, count):
        return [int(self.parameter)] * count


def released(add, value):
    """The exact distribution of what is released: P(Z = z) = (1 - a)/(1 + a) a^|z|, cut off at REACH."""
    outputs = {}
    for z in range(-REACH, REACH + 1):
        output = add(value, z)
        outputs[output] = outputs.get(output, 0) + (1 - A) / (1 + A) * A ** abs(z)
    return outputs


def worst_ratio(add, kind, distance):
    """The largest probability ratio of any output between sums at this modular distance; what was cut off is below
    2^-150 and is given to the smaller of the two, so that outputs seen on one side only have a ratio too."""
    cut = 2 * A**REACH
    laws = {value: released(add, value) for value in kind.values()}
    pairs = [(u, kind.wrap(u + d)) for u in kind.values() for d in (-distance, distance)]
    return max(p / (laws[v].get(output, 0) + cut) for u, v in pairs for output, p in laws[u].items() if p > 2**20 * cut)


@pytest.mark.parametrize("kind", [IntType(4), IntType(4, signed=False)])
@pytest.mark.parametrize("distance", range(1, 9))
def test_modular_noise_keeps_the_ratio_at_every_modular_distance(kind, distance):
    """The sums wrap: -8 and 7 are neighbours. With a = exp(-epsilon/Delta) the ratio at Delta may be exp(epsilon)."""

    def modular(value, z):
        return Drawn(z).add_to([value], kind)[0]

    assert set(released(modular, kind.min)) == set(kind.values())
    worst = worst_ratio(modular, kind, distance)
    assert worst <= A**-distance * (1 + Fraction(1, 2**80))
    if distance <= 2:  # and at small distances it is nearly that, so the bound is not idle
        assert worst > A**-distance * Fraction(99, 100)


@pytest.mark.parametrize("kind", [IntType(4), IntType(4, signed=False)])
def test_other_additions_do_not(kind):
    """Noise added as an integer, or held at the limits of the type, tells the two ends of the type apart."""
    assert worst_ratio(lambda value, z: value + z, kind, 1) > A**-10
    assert worst_ratio(lambda value, z: kind.saturate(value + z), kind, 1) > A**-10


def test_a_modular_sum_with_noise_is_a_value_of_the_type():
    assert Drawn(1).add_to([2**63 - 1], IntType(64)) == [-(2**63)]
    assert Drawn(-1).add_to([0, 1], IntType(64, signed=False)) == [2**64 - 1, 0]
    assert Drawn(3 - 7 * 256).add_to([5], IntType(8)) == [8]
    assert Drawn(3 - 7 * 256).add_to([5]) == [8 - 7 * 256]


def test_every_noise_is_added_by_the_one_function():
    assert all("add_to" not in vars(kind) for kind in (NoNoise, *NOISES.values()))
    assert Noise.add_to is NoNoise.add_to
