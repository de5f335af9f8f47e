"""SVG elements, and the scales that turn values into places and ticks.

Pictures are built as trees, so the serialiser escapes text, and one function refuses coordinates that are not finite. A
scale gives finite places for any values. Colours are classes: the page's style sheet has them for both themes.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

from soundsum.numbers.rationals import nearest_float
from soundsum.refusals import Reason, RefusedValue

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CHARACTER = 0.7
"""The width of a character over the size of its font, for wide and bold fonts; labels keep this much room."""


def coordinate(value: float) -> str:
    """A place in a picture, to a hundredth.

    >>> coordinate(12.3456), coordinate(3.0)
    ('12.35', '3')
    """
    if not math.isfinite(value):
        raise RefusedValue(
            "value",
            Reason.NOT_A_NUMBER,
            "{given} is not a finite coordinate",
            "leave the point out, or end the axis before it",
            given=str(value),
        )
    return f"{value:.2f}".rstrip("0").rstrip(".")


def add(parent: Element, tag: str, text: str | None = None, **attributes: str | float) -> Element:
    """A new element inside another; `class_` is class, and underscores are hyphens.

    >>> tostring(add(Element("g"), "text", "a < b", x=1, text_anchor="end"))
    b'<text x="1" text-anchor="end">a &lt; b</text>'
    """
    made = SubElement(parent, tag)
    for name, value in attributes.items():
        made.set(name.rstrip("_").replace("_", "-"), value if isinstance(value, str) else coordinate(value))
    made.text = text
    return made


def picture(name: str, width: float, height: float, title: str, description: str) -> Element:
    """An empty picture that scales with the page; a screen reader speaks the title and the description."""
    svg = Element("svg", viewBox=f"0 0 {coordinate(width)} {coordinate(height)}", role="img")
    svg.set("id", name)
    svg.set("aria-labelledby", f"{name}-title {name}-desc")
    add(svg, "title", title, id=f"{name}-title")
    add(svg, "desc", description, id=f"{name}-desc")
    return svg


def markup(svg: Element) -> Markup:
    """The picture for the page. Serialised, so already escaped."""
    return Markup(tostring(svg, encoding="unicode"))


LARGEST, LEAST = sys.float_info.max, sys.float_info.min
"""The ends of a picture's range; on powers of a base, no end is below the least."""


def hold(value: float | Fraction) -> float:
    """The finite float nearest to a value that may be infinite, or an integer beyond the floats.

    >>> hold(-math.inf) == hold(-(10**400)) == -LARGEST
    True
    """
    return max(-LARGEST, min(LARGEST, nearest_float(value)))


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` laid out from `start` to `end`; on powers of `base` if there is one.

    Any numbers can be laid out: the ends are clamped to finite floats, a range without width gets one, and values far
    outside are placed just outside.
    """

    low: float
    high: float
    start: float
    end: float
    base: int | None = None

    def __post_init__(self) -> None:
        low, high = hold(self.low), hold(self.high)
        if self.base is not None:  # which has no place for 0
            low, high = max(low, LEAST), max(high, LEAST)
        if not low < high:
            low, high = (
                (low / 2, hold(2 * low)) if self.base else (hold(low - abs(low) / 2 - 1), hold(low + abs(low) / 2 + 1))
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __call__(self, value: float) -> float:
        low, high, at = (Fraction(self._log(x)) for x in (self.low, self.high, hold(value)))
        share = max(Fraction(-1), min(Fraction(2), (at - low) / (high - low)))
        return self.start + float(share) * (self.end - self.start)

    def _log(self, value: float) -> float:
        return value if self.base is None else math.log2(max(value, LEAST)) / math.log2(self.base)

    def ticks(self, most: int = 8) -> list[tuple[float, str]]:
        """At most this many round values within the range, with their words.

        >>> Scale(0, 65, 0, 1).ticks(4)
        [(0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60')]
        >>> Scale(2**-10, 2**60, 0, 1, 2).ticks(4)
        [(1.0, '2⁰'), (1048576.0, '2²⁰'), (1099511627776.0, '2⁴⁰'), (1.152921504606847e+18, '2⁶⁰')]
        """
        low, high = Fraction(self._log(self.low)), Fraction(self._log(self.high))
        step = _step((high - low) / most, whole=self.base is not None)
        marks = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if self.base is None:
            return [(float(mark), f"{float(mark):,.10g}".replace("-", "−")) for mark in marks]
        base, powers = Fraction(self.base), [int(mark) for mark in marks]
        return [(hold(base**power), f"{base}{str(power).translate(SUPERSCRIPTS)}") for power in powers]


def _step(least: Fraction, whole: bool) -> Fraction:
    """The smallest of 1, 2, 5, 10, ... (or of their tenths, ...) that is not below `least`."""
    power = Fraction(10) ** math.floor(math.log10(least.numerator) - math.log10(least.denominator))
    step = next(factor * power for factor in (1, 2, 5, 10, 20) if factor * power >= least * (1 - Fraction(1, 10**9)))
    return max(step, Fraction(1)) if whole else step
