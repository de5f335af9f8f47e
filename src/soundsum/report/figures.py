"""The pictures of the page: how each plot of a reproduction is drawn, and the sentences that say what to see in it.

Figures in the captions are computed from the plotted points, so a caption cannot say what its plot does not show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from markupsafe import Markup

from soundsum.report.draw import Axis, Look, histograms, line_plot
from soundsum.report.pipeline import pipeline
from soundsum.report.svg import markup
from soundsum.reproduce import Plot, Reproduction
from soundsum.reproduce.plots import Line

POWERS_OF_TWO = Axis(2)
RATIOS = Axis(10, low=0.6, high=1e6)
"""Of a ratio, the part from 1 on up to where an attack is beyond doubt; steeper lines leave at the top."""
METHODS = {
    "grid": "c0 bold",
    "iterated": "c1",
    "pairwise": "c2",
    "numpy_pairwise": "c3 dashed",
    "kahan": "c4",
    "toward_zero": "c5 dashed",
    "repeated rounding II": "c6 dotted",
}


@dataclass(frozen=True)
class Figure:
    """One or more pictures with a heading and a caption; `legend` has a class and a name for each kind of mark."""

    name: str
    title: str
    pictures: tuple[tuple[str, Markup], ...]
    caption: str
    legend: tuple[tuple[str, str], ...] = ()


def figures(result: Reproduction) -> list[Figure]:
    """The pipeline, and a picture of each plot that was computed."""
    plots = {plot.name: plot for section in result.sections for plot in section.plots}
    made = [
        Figure(
            "pipeline",
            "The way of a number, and where each attack strikes",
            (("", markup(pipeline())),),
            "Noise is made for the sensitivity a sum has in theory. Nearly every attack strikes where the sum is "
            "computed, before the noise; soundsum rounds each record alone and from there on computes in integers.",
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
        82,
        {"bfloat16": "c1", "float32": "c2 dashed", "float64": "c0 bold"},
        rule=(1.0, "a distance of 1"),
    )
    beyond = {line.name: next(x for x, y in zip(line.x, line.y, strict=True) if y > 1) for line in plot.lines}
    words = ", ".join(f"2^{x.hex().partition('p')[2].lstrip('+')} in {name}" for name, x in beyond.items())
    caption = (
        "Above the dashed level the next float is more than 1 away, so adding a record of 1 is rounded: "
        f"from {words} on. What is rounded off depends on the running sum, and so on everyone's records."
    )
    return Figure(plot.name, plot.title, (("", markup(line_plot(plot, look, caption))),), caption)


def _drift(plot: Plot) -> Figure:
    look = Look(
        Axis(),
        Axis(),
        142,
        {
            "left, as computed": "c1 bold",
            "left, exactly": "c1 dashed",
            "right, as computed": "c0 bold",
            "right, exactly": "c0 dashed",
        },
    )
    ends = {line.name: line.y[-1] for line in plot.lines}
    exact, computed = (abs(ends[f"left, {how}"] - ends[f"right, {how}"]) for how in ("exactly", "as computed"))
    caption = (
        f"Two datasets that differ in one record: their real sums end {exact:,.3g} apart, the sums of floats "
        f"{computed:,.6g}. The left sum is just where floats begin to lie twice as far apart, and each small record added "
        "to it is rounded up; the right sum is one lower and hardly rounded."
    )
    return Figure(plot.name, plot.title, (("", markup(line_plot(plot, look, caption))),), caption)


def _outputs(plot: Plot) -> Figure:
    lines = {line.name: line for line in plot.lines}
    pictures, shared = [], {}
    for name, who in (("naive", "the naive mechanism"), ("ss.sum", "ss.sum")):
        pair = lines[f"{name}, left"], lines[f"{name}, right"]
        runs = sum(pair[0].y)
        shared[name] = sum(map(min, *(line.y for line in pair))) / runs
        title = f"Outputs of {who}"
        said = f"{title} in {runs:,.0f} runs on each of two neighbours; {shared[name]:.0%} of them could be either's."
        drawing = histograms(f"outputs-{name.replace('.', '-')}", title, said, plot, pair)
        pictures.append((title, markup(drawing)))
    caption = (
        f"The same two neighbours, {runs:,.0f} runs each, the same noise. The naive outputs lie on one float or the "
        f"other and {shared['naive']:.0%} could be either's, so one look tells which; of ours {shared['ss.sum']:.0%} could."
    )
    legend = (("first", "outputs on the left dataset"), ("second", "outputs on the right dataset"))
    return Figure(plot.name, "Outputs on the same neighbours, side by side", tuple(pictures), caption, legend)


def _ratios(plots: list[Plot]) -> Figure:
    pictures = []
    for plot in plots:
        kept, same = apart(plot)
        look = Look(POWERS_OF_TWO, RATIOS, 118, METHODS)
        said = f"{plot.title}, on logarithmic axes. " + " ".join(
            f"{line.name}: {line.y[0]:.3g} at {line.x[0]:.0f} records, {line.y[-1]:.3g} at {line.x[-1]:.0f}."
            for line in kept.lines
        )
        heading = plot.title.rpartition(", ")[2]
        alike = "; ".join(f"{name} is also {', '.join(others)}" for name, others in same.items())
        pictures.append((heading + (f" ({alike})" if alike else ""), markup(line_plot(kept, look, said))))
    caption = (
        "The shape of Table 2, for float32 in [0, 1]: sums in order cost noise that grows with n², sums in pairs with "
        "n log n, the grid none at any n. The dotted line is what an attack reaches; no proof can go below it."
    )
    return Figure("ratios", "What each way to add costs", tuple(pictures), caption)


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
