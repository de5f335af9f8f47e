"""The pictures of the page: the path of a number, and the drawing and caption of each plot of a reproduction.

Each stage of the common pipeline lists the attacks that strike there, by the names of `soundsum attack list`; each of
ours lists the answers to them. Two columns, read downwards, fit a phone. Numbers in the captions are computed from the
plotted points, so a caption cannot contradict its plot.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element

from markupsafe import Markup

from soundsum.attacks import FAMILIES
from soundsum.pages.draw import Axis, Line, Look, histograms, line_plot
from soundsum.pages.svg import add, markup, picture
from soundsum.paper.reproduce import Plot, Reproduction

WIDTH = 440
COLUMN, BETWEEN = 212, 16
LINE, PAD, ARROW = 17, 11, 24


@dataclass(frozen=True)
class Stage:
    """One stage in both pipelines: the operation, then the attacks (or answers), a line of text each."""

    name: str
    common: str
    strikes: tuple[str, ...]
    ours: str
    answers: tuple[str, ...]

    @property
    def height(self) -> float:
        return 2 * PAD + LINE * (2 + max(len(self.strikes), len(self.answers))) + 2


STAGES = (
    Stage("records", "floats or integers", (), "the same", ()),
    Stage(
        "clamp",
        "to [L, U], by comparing",
        ("special values pass",),
        "to integers on a grid",
        ("NaN counts as clamp(0)", "rounded here, each alone"),
    ),
    Stage(
        "sum",
        "in the records' own type",
        (
            "overflow",
            "saturation reordering",
            "reordering",
            "rounding, tree rounding",
            "repeated rounding 1 and 2",
            "path",
        ),
        "exactly, in 128 bits",
        (
            "room for 2⁶⁴ records",
            "nothing is cut off",
            "any order, the same sum",
            "nothing is rounded",
            "nothing to repeat",
            "the sum is no float yet",
        ),
    ),
    Stage(
        "noise",
        "Laplace, for the ideal",
        ("less than the sum moves", "added in floats, rounded"),
        "discrete Laplace, exact",
        ("for the proved bound", "in integers, no rounding"),
    ),
    Stage("release", "tells neighbours apart", (), "scaled back: is ε-private", ()),
)


def pipeline() -> Element:
    height = 30 + sum(stage.height + ARROW for stage in STAGES) - ARROW + 2
    svg = picture(
        "pipeline",
        WIDTH,
        height,
        "The pipeline and where each attack strikes",
        "Two pipelines of five stages. "
        + " ".join(
            f"{stage.name}: commonly {stage.common}"
            + (f", where these strike: {'; '.join(stage.strikes)}." if stage.strikes else ".")
            + f" In soundsum {stage.ours}"
            + (f": {'; '.join(stage.answers)}." if stage.answers else ".")
            for stage in STAGES
        ),
    )
    right = COLUMN + BETWEEN
    add(svg, "text", "a common library", class_="column", x=COLUMN / 2, y=17, text_anchor="middle")
    add(svg, "text", "soundsum", class_="column", x=right + COLUMN / 2, y=17, text_anchor="middle")
    top = 30.0
    for i, stage in enumerate(STAGES):
        for x, words, lines, style in (
            (1.0, stage.common, stage.strikes, "struck"),
            (right - 1.0, stage.ours, stage.answers, "safe"),
        ):
            last = i == len(STAGES) - 1
            _box(svg, x, top, stage, words, lines, style, style if lines or last else "plain")
            if not last:
                middle, end = x + COLUMN / 2, top + stage.height
                add(svg, "path", class_="arrow", d=f"M{middle} {end + 3}V{end + ARROW - 4}m-5 -6l5 6l5 -6")
        top += stage.height + ARROW
    return svg


def _box(
    svg: Element, x: float, top: float, stage: Stage, words: str, lines: tuple[str, ...], style: str, box: str
) -> None:
    frame = add(svg, "rect", class_=f"box {box}", x=x, y=top, rx=7)
    frame.set("width", str(COLUMN))
    frame.set("height", str(stage.height))
    add(svg, "text", stage.name, class_="stage", x=x + PAD, y=top + PAD + 11)
    add(svg, "text", words, class_="how", x=x + PAD, y=top + PAD + 11 + LINE)
    for i, line in enumerate(lines):
        y = top + PAD + 13 + LINE * (i + 2)
        mark = "l-4 7h4l-3 6l8 -8h-4l4 -5z" if style == "struck" else "m-3 7l4 4l7 -9"
        add(svg, "path", class_=f"mark {style}", d=f"M{x + PAD + 4} {y - 11}{mark}")
        add(svg, "text", line, class_=style, x=x + PAD + 16, y=y)


POWERS_OF_TWO = Axis(2)
RATIOS = Axis(10, low=0.6, high=1e6)
"""The range of ratios, from 1 to where an attack is beyond doubt; steeper lines leave at the top."""
METHODS = {
    "grid": "c0 bold",
    "iterated": "c1",
    "pairwise": "c2",
    "numpy_pairwise": "c3 dashed",
    "kahan": "c4",
    "toward_zero": "c5 dashed",
    "repeated rounding 2": "c6 dotted",
}


@dataclass(frozen=True)
class Picture:
    """A drawing, with its heading and note."""

    drawing: Markup
    heading: str = ""
    note: str = ""


@dataclass(frozen=True)
class Figure:
    """One or more pictures with a heading and a caption; `legend` has a class and a name for each kind of mark."""

    name: str
    title: str
    pictures: tuple[Picture, ...]
    caption: str
    legend: tuple[tuple[str, str], ...] = ()
    explained: tuple[tuple[str, str], ...] = ()
    """Names in the picture, each with its explanation."""


def figures(result: Reproduction) -> list[Figure]:
    """The pipeline, and a picture of each plot that was computed."""
    plots = {plot.name: plot for section in result.sections for plot in section.plots}
    strikes = tuple((family.name.replace("_", " "), family.goes_wrong) for family in FAMILIES.values())
    made = [
        Figure(
            "pipeline",
            "The path of a number, and where each attack strikes",
            (Picture(markup(pipeline())),),
            "Noise is scaled to the theoretical sensitivity of the sum. Nearly every attack strikes where the sum is "
            "computed, before the noise. soundsum rounds each record alone, and computes in integers from there on.",
            explained=strikes,
        )
    ]
    if "spacing" in plots:
        made.append(_spacing(plots["spacing"]))
    if "drift" in plots:
        made.append(_drift(plots["drift"]))
    if "outputs" in plots:
        made.append(_outputs(plots["outputs"]))
    ratios = [plots[name] for name in ("ratio_public", "ratio_private") if name in plots]
    if ratios:
        made.append(_ratios(ratios))
    return made


def _spacing(plot: Plot) -> Figure:
    look = Look(
        POWERS_OF_TWO,
        POWERS_OF_TWO,
        98,
        {"bfloat16": "c1", "float32": "c2 dashed", "float64": "c0 bold"},
        rule=(1.0, "distance 1"),
    )
    beyond = {line.name: next(x for x, y in zip(line.x, line.y, strict=True) if y > 1) for line in plot.lines}
    words = ", ".join(f"2^{x.hex().partition('p')[2].lstrip('+')} in {name}" for name, x in beyond.items())
    caption = (
        "Above the dashed level the next float is more than 1 away, so adding a record of 1 is rounded: "
        f"from {words} on. The rounding error depends on the running sum, and so on everyone's records."
    )
    return Figure(plot.name, plot.title, (Picture(markup(line_plot(plot, look, caption))),), caption)


def _drift(plot: Plot) -> Figure:
    look = Look(
        Axis(),
        Axis(),
        138,
        {
            "left, computed": "c1 bold",
            "left, exact": "c5 dashed",
            "right, computed": "c0 bold",
            "right, exact": "c5 dashed",
        },
    )
    short = {"as computed": "computed", "exactly": "exact"}
    named = ((line.name.split(", "), line) for line in plot.lines)
    plot = replace(plot, lines=tuple(replace(line, name=f"{side}, {short[how]}") for (side, how), line in named))
    ends = {line.name: line.y[-1] for line in plot.lines}
    exact, computed = (abs(ends[f"left, {how}"] - ends[f"right, {how}"]) for how in ("exact", "computed"))
    caption = (
        f"Two datasets that differ in one record: their real sums end {exact:,.3g} apart, the sums of floats "
        f"{computed:,.6g}. The left sum is just where floats begin to lie twice as far apart, and each small record "
        "added to it is rounded up; the right sum is one lower and hardly rounded."
    )
    return Figure(plot.name, plot.title, (Picture(markup(line_plot(plot, look, caption))),), caption)


def _outputs(plot: Plot) -> Figure:
    lines = {line.name: line for line in plot.lines}
    pictures, shared = [], {}
    for name, who in (("naive", "the naive mechanism"), ("ss.sum", "ss.sum")):
        pair = lines[f"{name}, left"], lines[f"{name}, right"]
        runs = sum(pair[0].y)
        shared[name] = sum(map(min, *(line.y for line in pair))) / runs
        title = f"Outputs of {who}"
        said = f"{title} in {runs:,.0f} runs on each of two neighbours; the two histograms share {shared[name]:.0%}."
        drawing = histograms(f"outputs-{name.replace('.', '-')}", title, said, plot, pair)
        pictures.append(Picture(markup(drawing), title))
    caption = (
        f"The same two neighbours, {runs:,.0f} runs each, noise of the same scale. The naive mechanism's outputs lie "
        f"on one float or the other: the two histograms share {shared['naive']:.0%}, and one look tells which dataset "
        f"it was. Ours share {shared['ss.sum']:.0%}."
    )
    legend = (("first", "outputs on the left dataset"), ("second", "outputs on the right dataset"))
    return Figure(plot.name, "Outputs on the same neighbours, side by side", tuple(pictures), caption, legend)


def _ratios(plots: list[Plot]) -> Figure:
    pictures = []
    for plot in plots:
        kept, same = apart(plot)
        look = Look(POWERS_OF_TWO, RATIOS, 138, METHODS)
        said = f"{plot.title}, on logarithmic axes. " + " ".join(
            f"{line.name}: {line.y[0]:.3g} at {line.x[0]:.0f} records, {line.y[-1]:.3g} at {line.x[-1]:.0f}."
            for line in kept.lines
        )
        alike = "; ".join(f"{name} = {' = '.join(others)}" for name, others in same.items())
        note = f"One line where they are equal: {alike}." if alike else ""
        pictures.append(Picture(markup(line_plot(kept, look, said)), plot.title.rpartition(", ")[2], note))
    caption = (
        "The shape of Table 2, for float32 in [0, 1]: sums in order cost noise that grows with n², sums in pairs with "
        "n log n, and the grid costs no extra noise at any n. The dotted line shows an attack, repeated rounding 2: no "
        "bound on sums in order can go below it."
    )
    return Figure("ratios", "The noise each method needs", tuple(pictures), caption)


def apart(plot: Plot) -> tuple[Plot, dict[str, list[str]]]:
    """The plot with one line for each set of equal ones, under its first name; the other names."""
    kept: dict[tuple[tuple[float, ...], tuple[float, ...]], Line] = {}
    same: dict[str, list[str]] = {}
    for line in plot.lines:
        points = line.x, line.y
        if points in kept:
            same.setdefault(kept[points].name, []).append(line.name)
        else:
            kept[points] = replace(line, name=line.name.removesuffix(" reaches"))
    return replace(plot, lines=tuple(kept.values())), same
