"""Statistics that are released as they are, with noise: a sum, a count, the cells of a histogram."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from soundsum.numbers.rationals import floor_log2, nearest_float, power_of_two
from soundsum.numbers.types import IntType
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
        value = noisy[0] * self.step
        if self.offset:
            value += self.offset
        return int(value) if self.is_whole else value

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """The range of the statistic; None where there is no limit."""
        if self.wraps is None:
            return None
        return self.wraps.min * self.step + self.offset, self.wraps.max * self.step + self.offset

    def interval(self, noisy: tuple[int, ...], confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        return self.around(self.exact(noisy), confidence)

    def around(self, exact: int | Fraction, confidence: float | Fraction) -> tuple[Fraction, Fraction]:
        """The interval of a released number; of a modular sum, whose ends may lie outside its type, modulo its modulus.

        Where it would hold every number modulo that, it is all of the type.
        """
        width = self.noise.half_width(confidence)
        if self.limits is not None and self.wraps is not None and 2 * width + 1 >= self.wraps.modulus:
            return self.limits
        return exact - width * self.step, exact + width * self.step

    def columns(
        self, noisy: Sequence[Sequence[int]], confidence: float | Fraction
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
        ends = [self.around(x, confidence) for x in values]
        return [*values], [nearest_float(low) for low, _ in ends], [nearest_float(high) for _, high in ends]


def _is_power_of_two(x: Fraction) -> bool:
    return x == power_of_two(floor_log2(x)) and abs(floor_log2(x)) < 1000
