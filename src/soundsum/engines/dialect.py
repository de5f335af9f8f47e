"""The differences between SQL dialects: a handful of expressions, written by hand for each engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from soundsum.engines.sum_query import FloatSteps


class Own(NamedTuple):
    """A column as it is read, and its Arrow type."""

    text: str
    kind: Any


class Dialect(ABC):
    """The expressions of one engine, and the values that a SELECT is bound to."""

    double: str  # what the type of doubles is called
    whole: str  # that of integers of 128 bits and more, or of 38 digits

    @abstractmethod
    def quote(self, name: str) -> str:
        """An identifier, whatever it is made of."""

    @abstractmethod
    def key(self, own: Own) -> str:
        """A column to compare with values of its type: text by its bytes."""

    @abstractmethod
    def is_nan(self, own: Own) -> str | None:
        """The test for NaN; None for types without it."""

    @abstractmethod
    def value(self, value: Any, own: Own) -> str:
        """A value bound to be compared with a column."""

    @abstractmethod
    def list_of(self, name: str, keys: Sequence[tuple[list[Any], Own | None]], places: list[int]) -> str:
        """A relation k0, k1, ..., place of this name: keys of these columns' types (integers for None)."""

    @abstractmethod
    def bucket(self, text: str, points: Sequence[Any], own: Own | None) -> str:
        """Counts the ascending points at or below a value that is not NaN; NULL for NULL."""

    @abstractmethod
    def literal(self, x: float) -> str:
        """A double."""

    @abstractmethod
    def round(self, text: str) -> str:
        """The 64-bit integer nearest to a double below 2^62, of two the even one."""

    def clamp(self, integer: str, low: str, high: str) -> str:
        """A 64-bit integer that is not NULL, held between two others."""
        return f"least(greatest({integer}, {low}), {high})"

    def clamp_whole(self, whole: str, low: str, high: str) -> str:
        """An integer of the widest type that is not NULL, held between two others."""
        return f"least(greatest({whole}, {low}), {high})"

    def on_grid(self, x: str, steps: FloatSteps) -> str:
        """A double's integer. The float is only held so that nothing raises; privacy rests on the clamp of the integer.

        NaN is equal to itself here, and above every number.
        """
        least, most, nan = (self.literal(end) for end in (steps.least, steps.most, float("nan")))
        low, high = integer_literal(steps.low), integer_literal(steps.high)
        within = self.clamp(self.round(scale_up(x, steps, self.literal)), low, high)
        whens = [
            f"WHEN {x} <= {most} THEN CASE WHEN {x} >= {least} THEN {within} ELSE {low} END",
            f"WHEN {x} <> {nan} THEN {high}",
        ]
        if steps.tiny is not None:
            near_zero = f"{x} > {self.literal(-steps.tiny)} AND {x} < {self.literal(steps.tiny)}"
            whens.insert(0, f"WHEN {near_zero} THEN {integer_literal(max(steps.low, min(0, steps.high)))}")
        return shift(f"CASE {' '.join(whens)} ELSE {integer_literal(steps.missing)} END", steps)

    @abstractmethod
    def scaled(self, own: Own, low: int, high: int) -> str:
        """A decimal's last digit counted in 64 bits, clamped to [low, high]; NULL for NULL."""

    def lot(self, person: str, kind: Any, entry: str) -> str:
        """The sort key between groups in which a person has equally many rows, as in src/kernels/lots.hpp.

        The SHA-256 of the id's text, a slash and the entry: integers and what is stored as one in decimals, floats
        without their fraction (0 from 2^53 on), decimals rounded down.
        """
        import pyarrow as pa

        types = pa.types
        if types.is_boolean(kind):
            person = f"CAST({person} AS integer)"
        elif types.is_floating(kind):
            is_small = f"abs({person}) < {self.literal(2.0**53)}"
            person = f"CASE WHEN {is_small} THEN {self.truncate(person)} ELSE 0 END"
        elif types.is_decimal(kind):
            person = f"floor({person})"
        elif types.is_temporal(kind):
            person = self.since_1970(person, kind)
        return self.digest(person, entry, types.is_binary(kind))

    @abstractmethod
    def truncate(self, text: str) -> str:
        """A double below 2^53 without its fraction, as a 64-bit integer."""

    @abstractmethod
    def since_1970(self, text: str, kind: Any) -> str:
        """A date in days, a time in microseconds; whatever it is, nothing raises."""

    @abstractmethod
    def local_since_1970(self, text: str, zone: str) -> str:
        """An instant as a clock in a zone shows it, in microseconds."""

    @abstractmethod
    def floor_of(self, text: str, unit: int) -> str:
        """A whole number of microseconds in whole units, rounded down, as an integer."""

    @abstractmethod
    def first_day(self, days: str, kind: str) -> str:
        """The first day of the month or year that a day since 1970 is in."""

    @abstractmethod
    def as_text(self, text: str) -> str:
        """An integer in digits."""

    @abstractmethod
    def digest(self, text: str, entry: str, is_bytes: bool) -> str:
        """The SHA-256 of a value as text, or of bytes, with a slash and an integer after it."""

    @abstractmethod
    def first_word(self, digest: str) -> str:
        """The first 32 bits of a digest, as an integer of 64 bits."""

    @abstractmethod
    def floor_quotient(self, top: str, bottom: str) -> str:
        """Rounded down, exactly; the bottom is above 0."""

    def shifts(self, bits: int) -> list[int | None]:
        """The shift of each limb in which integers within 2^bits are added up; None for no limbs."""
        return [None]

    def limb(self, text: str, shift: int | None, first: bool) -> str:
        assert shift is None
        return text


def scale_up(x: str, steps: FloatSteps, literal: Callable[[float], str]) -> str:
    """A double in steps of its grid, not yet rounded."""
    y = x if not steps.base else f"({x} - {literal(steps.base)})"
    for scale in (steps.scale, steps.more_scale):
        y = y if scale == 1 else f"{y} * {literal(scale)}"
    return y


def shift(integer: str, steps: FloatSteps) -> str:
    return integer if not steps.shift else f"({integer} + {integer_literal(steps.shift)})"


def integer_literal(x: int) -> str:
    """A 64-bit integer."""
    return f"CAST('{x}' AS bigint)"
