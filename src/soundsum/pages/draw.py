"""Plots as inline SVG: lines with their names at their ends, and two histograms over one another.

Our own few lines and not a plotting library, because the page's style sheet must be able to recolour every stroke for
the dark theme, and because a phone needs type that stays readable when the picture shrinks to 340 pixels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from xml.etree.ElementTree import Element

from soundsum.numbers.rationals import nearest_float
from soundsum.pages.svg import CHARACTER, Scale, add, coordinate, picture

WIDTH, HEIGHT = 440, 300
LEFT, TOP, BOTTOM = 50, 34, 50
FONT = 13
OTHER = "c5"
"""The class of a line whose name the look does not know."""
HOVERED = 32
"""The number of points of a line that show their values when pointed at."""


@dataclass(frozen=True)
class Line:
    """Points to draw; x and y of equal length. Floats are enough, since no bound depends on them."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True)
class Plot:
    name: str
    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: the powers it counts in (None: none), and its ends where not the data's own."""

    base: int | None = None
    low: float | None = None
    high: float | None = None

    def scale(self, values: list[float], start: float, end: float) -> Scale:
        low, high = min(values, default=0.0), max(values, default=1.0)
        room = 0.0 if self.base else 0.08 * high - 0.08 * low
        low = low - room if self.low is None else self.low
        high = high + room if self.high is None else self.high
        return Scale(low, high, start, end, self.base)


@dataclass(frozen=True)
class Look:
    """The look of a plot: its axes, the room for names on the right, and a class for each line, in order."""

    x: Axis
    y: Axis
    right: float
    classes: dict[str, str]
    rule: tuple[float, str] | None = None
    """A height to mark, with its meaning."""


@dataclass(frozen=True)
class Label:
    """A name that would stand at (x, y)."""

    text: str
    style: str
    x: float
    y: float

    @property
    def right(self) -> float:
        return self.x + len(self.text) * FONT * CHARACTER


def line_plot(plot: Plot, look: Look, description: str) -> Element:
    svg = picture(plot.name, WIDTH, HEIGHT, plot.title, description)
    plot = replace(plot, lines=tuple(finite(line) for line in plot.lines))
    xs = look.x.scale([x for line in plot.lines for x in line.x], LEFT, WIDTH - look.right)
    ys = look.y.scale([y for line in plot.lines for y in line.y], HEIGHT - BOTTOM, TOP)
    _axes(svg, plot, xs, ys)
    labels = []
    if look.rule is not None:
        at, words = look.rule
        add(svg, "path", class_="rule", d=_path([(xs.start, ys(at)), (xs.end, ys(at))]))
        labels.append(Label(words, "rule-name", xs.end + 6, ys(at)))
    for line in plot.lines:
        points = visible(line, ys.high)
        if not points:
            continue
        style = look.classes.get(line.name, OTHER)
        add(svg, "path", class_=f"line {style}", d=_path([(xs(x), ys(y)) for x, y in points]))
        for x, y in points[:: max(1, len(points) // HOVERED)]:
            spot = add(svg, "circle", class_="spot", cx=xs(x), cy=ys(y), r=6)
            add(spot, "title", f"{line.name}: {y:,.6g} at {x:,.6g}")
        labels.append(Label(line.name, style, xs(points[-1][0]) + 6, ys(points[-1][1])))
    _names(svg, labels)
    return svg


def finite(line: Line) -> Line:
    """The line through the points that have a place: neither infinite nor not a number.

    >>> finite(Line("", (1.0, 2.0, 10**400), (1.0, float("nan"), 3.0)))
    Line(name='', x=(1.0,), y=(1.0,))
    """
    points = [(nearest_float(x), nearest_float(y)) for x, y in zip(line.x, line.y, strict=True)]
    kept = [point for point in points if all(map(math.isfinite, point))]
    return replace(line, x=tuple(x for x, _ in kept), y=tuple(y for _, y in kept))


def visible(line: Line, high: float) -> list[tuple[float, float]]:
    """The points of a rising line up to `high`, and the place between two points where it leaves the plot.

    >>> visible(Line("", (1.0, 2.0, 3.0), (1.0, 5.0, 25.0)), 15.0)
    [(1.0, 1.0), (2.0, 5.0), (2.5, 15.0)]
    """
    points: list[tuple[float, float]] = []
    for x, y in zip(line.x, line.y, strict=True):
        if y > high:
            if points:
                before, under = points[-1]
                share = float(Fraction(high - under) / (Fraction(y) - Fraction(under)))
                points.append((before + x * share - before * share, high))
            break
        points.append((x, y))
    return points


def histograms(name: str, title: str, description: str, plot: Plot, pair: tuple[Line, Line]) -> Element:
    """Two histograms over one another, the first filled, the second hatched: neither needs colour to be told."""
    svg = picture(name, WIDTH, HEIGHT, title, description)
    hatch = add(svg, "pattern", id=f"{name}-hatch", width=5, height=5, patternUnits="userSpaceOnUse")
    hatch.set("patternTransform", "rotate(45)")
    add(hatch, "path", class_="hatch", d="M0 0V5")
    bars = [finite(line) for line in pair]
    places = [x for line in bars for x in line.x]
    half = min((after / 2 - before / 2 for line in bars for before, after in pairwise(line.x)), default=0.5)
    xs = Scale(min(places, default=0) - half, max(places, default=0) + half, LEFT, WIDTH - 16)
    ys = Scale(0, 1.06 * max((y for line in bars for y in line.y), default=0) or 1, HEIGHT - BOTTOM, TOP)
    _axes(svg, plot, xs, ys)
    for line, style in zip(bars, ("first", "second"), strict=True):
        if not line.x:
            continue
        outline = [(xs(line.x[0] - half), ys(0))]
        for x, count in zip(line.x, line.y, strict=True):
            outline += [(xs(x - half), ys(count)), (xs(x + half), ys(count))]
        shape = add(svg, "path", class_=f"bars {style}", d=_path([*outline, (xs(line.x[-1] + half), ys(0))]) + "Z")
        if style == "second":
            shape.set("fill", f"url(#{name}-hatch)")
        for x, count in zip(line.x, line.y, strict=True):
            if count:
                spot = add(svg, "rect", class_="spot", x=xs(x - half), y=ys(count))
                spot.set("width", coordinate(xs(x + half) - xs(x - half)))
                spot.set("height", coordinate(ys(0) - ys(count)))
                add(spot, "title", f"{line.name}: {count:,.0f} runs at {x:,.6g}")
    return svg


def _axes(svg: Element, plot: Plot, xs: Scale, ys: Scale) -> None:
    """Ticks with their lines; the name of y stands level above its axis, where it is read without a tilt."""
    for value, words in ys.ticks(7):
        add(svg, "path", class_="grid", d=_path([(xs.start, ys(value)), (xs.end, ys(value))]))
        add(svg, "text", words, class_="tick", x=xs.start - 7, y=ys(value) + 4, text_anchor="end")
    for value, words in fitting(xs):
        add(svg, "path", class_="grid", d=_path([(xs(value), ys.start), (xs(value), ys.start + 5)]))
        add(svg, "text", words, class_="tick", x=xs(value), y=ys.start + 19, text_anchor="middle")
    add(svg, "path", class_="axis", d=_path([(xs.start, ys.start), (xs.end, ys.start)]))
    add(svg, "text", plot.x, class_="axis-name", x=(xs.start + xs.end) / 2, y=HEIGHT - 10, text_anchor="middle")
    add(svg, "text", plot.y, class_="axis-name", x=6, y=16)


def fitting(scale: Scale) -> list[tuple[float, str]]:
    """Ticks with room for their labels side by side, eight at most.

    >>> len(fitting(Scale(30_000, 65_000, 0, 600))), len(fitting(Scale(30_000, 65_000, 0, 200)))
    (8, 4)
    """
    for most in range(8, 1, -1):
        ticks = scale.ticks(most)
        widest = max((len(words) for _, words in ticks), default=0) * FONT * CHARACTER
        places = [scale(value) for value, _ in ticks]
        if all(after - before > widest for before, after in pairwise(places)):
            break
    return ticks


def _names(svg: Element, labels: list[Label]) -> None:
    """The names of lines at their ends, apart from one another, with a thread to the end where one had to move."""
    for label in spread(labels, FONT + 2, HEIGHT - BOTTOM - 4):
        was = next(other for other in labels if other.text == label.text)
        if abs(label.y - was.y) > 4:
            add(svg, "path", class_="thread", d=_path([(was.x - 6, was.y), (label.x - 1, label.y)]))
        add(svg, "text", label.text, class_=f"name {label.style}", x=label.x + 1, y=label.y + 4)


def spread(labels: list[Label], gap: float, lowest: float) -> list[Label]:
    """Move labels down, from the top, until they do not overlap; a label pushed below `lowest` pushes others up.

    >>> [label.y for label in spread([Label("a", "", 0, 10), Label("b", "", 0, 12)], 15, 20)]
    [20, 5]
    """
    placed: list[Label] = []
    for label in sorted(labels, key=lambda label: label.y):
        y = max([label.y, *(above.y + gap for above in placed if _meet(above, label))])
        placed.append(replace(label, y=y))
    lifted: list[Label] = []
    for label in reversed(placed):
        y = min([label.y, lowest, *(under.y - gap for under in lifted if _meet(under, label))])
        lifted.append(replace(label, y=y))
    return lifted


def _meet(one: Label, other: Label) -> bool:
    return one.x < other.right and other.x < one.right


def _path(points: list[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
