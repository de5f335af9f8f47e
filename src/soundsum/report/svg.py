"""SVG elements, and the scales that turn values into places and ticks.

Pictures are built as trees, so that text is escaped by the serialiser and not by hand, and every coordinate passes one
function that refuses what is not a number. Colours are classes: the page's style sheet has them for both themes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement, tostring

from markupsafe import Markup

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CHARACTER = 0.7
"""The width of a character over the size of its font, for wide and bold fonts; labels keep this much room."""


def coordinate(value: float) -> str:
    """A place in a picture, to a hundredth.

    >>> coordinate(12.3456), coordinate(3.0)
    ('12.35', '3')
    """
    if not math.isfinite(value):
        raise ValueError(f"{value} is no place in a picture; leave the point out, or end the axis before it")
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
    """An empty picture that scales with the page; title and description are what a screen reader says."""
    svg = Element("svg", viewBox=f"0 0 {coordinate(width)} {coordinate(height)}", role="img")
    svg.set("id", name)
    svg.set("aria-labelledby", f"{name}-title {name}-desc")
    add(svg, "title", title, id=f"{name}-title")
    add(svg, "desc", description, id=f"{name}-desc")
    return svg


def markup(svg: Element) -> Markup:
    """The picture for the page. Serialised, so already escaped."""
    return Markup(tostring(svg, encoding="unicode"))


@dataclass(frozen=True)
class Scale:
    """Values from `low` to `high` laid out from `start` to `end`; on powers of `base` if there is one."""

    low: float
    high: float
    start: float
    end: float
    base: int | None = None

    def __call__(self, value: float) -> float:
        low, high, at = (self._log(x) for x in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def _log(self, value: float) -> float:
        return value if self.base is None else math.log2(value) / math.log2(self.base)

    def ticks(self, most: int = 8) -> list[tuple[float, str]]:
        """At most so many round values within the range, with their words.

        >>> Scale(0, 65, 0, 1).ticks(4)
        [(0.0, '0'), (20.0, '20'), (40.0, '40'), (60.0, '60')]
        >>> Scale(2**-10, 2**60, 0, 1, 2).ticks(4)
        [(1.0, '2⁰'), (1048576.0, '2²⁰'), (1099511627776.0, '2⁴⁰'), (1.152921504606847e+18, '2⁶⁰')]
        """
        low, high = self._log(self.low), self._log(self.high)
        step = _step((high - low) / most, whole=self.base is not None)
        marks = [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]
        if self.base is None:
            return [(float(mark), f"{mark:,.10g}".replace("-", "−")) for mark in marks]
        return [(float(self.base) ** mark, f"{self.base}{str(int(mark)).translate(SUPERSCRIPTS)}") for mark in marks]


def _step(least: float, whole: bool) -> float:
    """The smallest of 1, 2, 5, 10, ... (or of their tenths, ...) that is not below `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least * (1 - 1e-9))
    return max(step, 1.0) if whole else step
