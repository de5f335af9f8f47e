"""A statistic that is itself let out with noise: a sum, a count, the cells of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from soundsum.arithmetic.numbers import IntType
from soundsum.arithmetic.rationals import floor_log2, nearest_float, power_of_two
from soundsum.privacy.noise import Noise


@dataclass(frozen=True)
class Additive:
    """Noise on the statistic itself, in steps worth `step`; `offset` is public, `wraps` the type of a modular sum."""

    noise: Noise
    step: Fraction
    is_whole: bool
    offset: Fraction = Fraction(0)
    wraps: IntType | None = None

    def exact(self, noisy: tuple[int, ...]) -> int | Fraction:
        total = noisy[0] if self.wraps is None else self.wraps.wrap(noisy[0])
        value = total * self.step
        if self.offset:
            value += self.offset
        return int(value) if self.is_whole else value

    def interval(self, noisy: tuple[int, ...], confidence: float) -> tuple[Fraction, Fraction]:
        middle, width = self.exact(noisy), self.noise.half_width(confidence) * self.step
        return middle - width, middle + width

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float
    ) -> tuple[list[int | Fraction | float], list[float], list[float]]:
        (totals,), width = noisy, self.noise.half_width(confidence)
        if not self.offset and self.wraps is None and _is_power_of_two(self.step):
            scale = float(self.step)  # products are exact but for the rounding of the sum to a float
            with suppress(OverflowError):  # a sum that is beyond the floats before it is scaled
                return (
                    [*totals] if self.is_whole else [total * scale for total in totals],
                    [(total - width) * scale for total in totals],
                    [(total + width) * scale for total in totals],
                )
        values = [self.exact((total,)) for total in totals]
        low, high = ([nearest_float(x + side * width * self.step) for x in values] for side in (-1, 1))
        return [*values], low, high


def _is_power_of_two(x: Fraction) -> bool:
    return x == power_of_two(floor_log2(x)) and abs(floor_log2(x)) < 1000
