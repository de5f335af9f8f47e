"""The path of a number, drawn: records, clamp, sum, noise, release, in a common library and in soundsum.

Each stage of the common pipeline lists the attacks that strike there, by the names of `soundsum attack list`; each of
ours lists the answers to them. Two columns, read downwards, fit a phone.
"""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree.ElementTree import Element

from soundsum.pages.svg import add, picture

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
