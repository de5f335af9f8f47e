"""Pictures with matplotlib, where it is installed: intervals by group or over time, histograms, plans by size.

Everything fits as it is: a figure made here is as high as its groups need, and labels that would overlap are left out.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import MAXYEAR, MINYEAR, date, timedelta
from typing import Any

from soundsum.refusals import Reason, RefusedValue

MOST_SERIES = 10
"""Lines over time on one axis; more cannot be told apart by their colours."""

MOST_EDGES, ENOUGH_BESIDE = 20, 50
"""Cells of the narrowest width that edges are labelled for; and characters of labels that fit beside each other."""

LINE, MOST_OF_A_NAME = 75, 45
"""Characters of a title in a line of its own, and of a group's name."""

WIDTH, ROW, AROUND, USUAL, HIGHEST = 7.0, 0.22, 1.2, 4.2, 30.0
"""Inches: of a figure, of a group in a list, of title and axis, of other pictures; and what no picture is beyond."""


LARGEST, FIRST_YEAR, LAST_YEAR = 1e300, 1000, 9000
YEAR = timedelta(365)
"""Numbers and years beyond which matplotlib cannot lay out an axis, or leaves no room beside its ends."""


UNSAID = {"fmt": "o", "markersize": 4, "color": "0.6", "markerfacecolor": "white", "linewidth": 1}
"""The style of a value whose interval says no more than the bounds: hollow and grey."""


@dataclass(frozen=True)
class Panel:
    """Values of one kind with their intervals, for one axis; between edges, over time, or else by their names."""

    title: str
    measured: str  # what the values are
    names: Sequence[str]
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    informative: Sequence[bool]  # whether an interval says more than the bounds
    cells: Sequence[tuple[float, float]] | None = None
    moments: Sequence[date] | None = None
    series: Sequence[str] | None = None  # whose value it is, beside the moment
    is_counts: bool = False  # of a histogram, so that a list of them has bars from 0

    @property
    def is_bars(self) -> bool:
        return self.cells is not None and all(abs(edge) <= LARGEST for cell in self.cells for edge in cell)

    @property
    def is_over_time(self) -> bool:
        return self.moments is not None and len(set(self.series or ())) <= MOST_SERIES

    @property
    def is_list(self) -> bool:
        return not self.is_bars and not self.is_over_time

    @property
    def labels(self) -> list[str]:
        return [_shorten(name, MOST_OF_A_NAME) for name in self.names]

    @property
    def indent(self) -> int:
        """Characters that labels take beside a list."""
        return max(map(len, self.labels)) if self.is_list else 0

    @property
    def height(self) -> float:
        return USUAL if not self.is_list else min(HIGHEST, AROUND + ROW * len(self.values))


def draw_intervals(pyplot: Any, panels: Sequence[Panel], confidence: float, ax: Any) -> Any:
    """Each panel on axes of its own; returns the axes, or an array of them where there are several panels."""
    import numpy as np

    heights = [panel.height for panel in panels]
    if ax is None:
        size = {"figsize": (WIDTH, min(HIGHEST, sum(heights))), "height_ratios": heights}
        ax = pyplot.subplots(len(panels), **size, layout="constrained")[1]
    every = np.atleast_1d(ax)
    if len(every) != len(panels):
        raise RefusedValue(
            "ax",
            Reason.MISMATCH,
            "`ax` has {axes} axes, and what is drawn has {units} units",
            "give as many, or leave `ax` out",
            axes=len(every),
            units=len(panels),
        )
    for axes, given in zip(every, panels, strict=True):
        panel = replace(given, values=[x if abs(x) <= LARGEST else math.nan for x in given.values])
        beyond = f"; values beyond {LARGEST:g} are left out" if any(abs(x) > LARGEST for x in given.values) else ""
        hollow = "" if all(panel.informative) else "; hollow: the whole range is possible"
        axis = f"{panel.measured}, {confidence:.0%} interval of the noise{hollow}{beyond}"
        measured = _literal(textwrap.fill(axis, 45))
        axes.set_title(_literal(textwrap.fill(panel.title, LINE - panel.indent)), loc="left", fontsize="medium")
        if panel.is_bars:
            _draw_bars(axes, panel, measured)
        elif panel.is_over_time:
            _draw_over_time(axes, panel, measured)
        else:
            _draw_list(axes, panel, measured)
    return every[0] if len(panels) == 1 else every


def _reach(values: Sequence[float], low: Sequence[float], high: Sequence[float]) -> tuple[list[float], list[float]]:
    """Computes how far intervals reach below and above, within the picture."""
    ends = [[max(-LARGEST, min(LARGEST, end)) for end in side] for side in (low, high)]
    below = [max(0.0, value - end) for value, end in zip(values, ends[0], strict=True)]
    return below, [max(0.0, end - value) for value, end in zip(values, ends[1], strict=True)]


def _take_unsaid(places: Sequence[Any], panel: Panel) -> tuple[list[Any], list[float], Any]:
    """Takes out the values whose intervals say no more than the bounds, with their places and intervals."""
    own = [i for i, says_more in enumerate(panel.informative) if not says_more]
    values, low, high = ([column[i] for i in own] for column in (panel.values, panel.low, panel.high))
    return [places[i] for i in own], values, _reach(values, low, high)


def _draw_bars(axes: Any, panel: Panel, measured: str) -> None:
    begins, ends = zip(*panel.cells or (), strict=True)
    widths = [end - begin for begin, end in panel.cells or ()]
    reach = _reach(panel.values, panel.low, panel.high)
    axes.bar(begins, panel.values, widths, align="edge", yerr=reach, capsize=3, alpha=0.7, edgecolor="white")
    if min(widths) * MOST_EDGES >= ends[-1] - begins[0]:  # far enough apart to be labelled
        axes.set_xticks([*begins, ends[-1]])
    _write_numbers(axes.xaxis)
    if sum(len(f"{edge:,.10g}") for edge in begins) > ENOUGH_BESIDE:
        axes.tick_params(axis="x", labelrotation=30)
    _write_numbers(axes.yaxis)
    axes.set_ylabel(measured)


def _draw_over_time(axes: Any, panel: Panel, measured: str) -> None:
    moments = panel.moments or ()
    series = panel.series or [""] * len(moments)
    few = len(moments) <= 60
    for one in dict.fromkeys(series):
        own = [place for place, name in enumerate(series) if name == one and panel.informative[place]]
        values, low, high = ([column[i] for i in own] for column in (panel.values, panel.low, panel.high))
        shape = {"fmt": "o-" if len(set(series)) > 1 else "o", "markersize": 4 if few else 2, "linewidth": 1}
        days = [moments[i] for i in own]
        axes.errorbar(days, values, yerr=_reach(values, low, high), capsize=2 * few, label=_shorten(one, 30), **shape)
    days, values, reach = _take_unsaid(moments, panel)
    axes.errorbar(days, values, yerr=reach, capsize=2 * few, **{**UNSAID, "markersize": 4 if few else 2})
    if not all(FIRST_YEAR < moment.year < LAST_YEAR for moment in moments):
        first, last = min(moments), max(moments)  # there may be no dates beside them for a margin
        axes.set_xlim(first if first.year == MINYEAR else first - YEAR, last if last.year == MAXYEAR else last + YEAR)
    _write_numbers(axes.yaxis)
    axes.tick_params(axis="x", labelrotation=30)
    axes.set_ylabel(measured)
    if panel.series is not None:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1, 1))  # beside what it would cover


def _draw_list(axes: Any, panel: Panel, measured: str) -> None:
    places = range(len(panel.values))
    said = [place for place in places if panel.informative[place]]
    values, low, high = ([column[i] for i in said] for column in (panel.values, panel.low, panel.high))
    reach = _reach(values, low, high)
    if panel.is_counts:
        axes.barh(said, values, 0.8, xerr=reach, capsize=2, alpha=0.7, edgecolor="white", error_kw={"linewidth": 1})
    else:
        axes.errorbar(values, said, xerr=reach, fmt="o", markersize=4, capsize=2)
    unsaid, values, reach = _take_unsaid(places, panel)
    axes.errorbar(values, unsaid, xerr=reach, capsize=2, **UNSAID)
    room = max(1, int(axes.get_position().height * axes.figure.get_figheight() / (ROW * 0.65)))
    shown, labels = places[:: -(-len(places) // room)], panel.labels
    axes.set_yticks(shown, [labels[i] for i in shown], fontsize="small")
    axes.set_ylim(len(places) - 0.5, -0.5)
    _write_numbers(axes.xaxis)
    axes.set_xlabel(measured)


def _shorten(name: str, most: int) -> str:
    return _literal(name if len(name) <= most else f"{name[: most - 3]}...")


def _literal(text: str) -> str:
    """A text in which matplotlib finds no mathematics: dollars are dollars."""
    return text.replace("$", "\\$")


def _write_numbers(axis: Any) -> None:
    """Numbers in full, with thousands separated, and few enough to stand beside each other."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, StrMethodFormatter

    if not isinstance(axis.get_major_locator(), FixedLocator):
        axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))


def draw_ratios(pyplot: Any, title: str, ratios: dict[str, tuple[list[int], list[float]]], ax: Any) -> Any:
    """For each method, the ratio of its sensitivity to the ideal one against the number of records.

    Methods with the same ratios are one line, and the legend lists the lines from above, where they end.
    """
    axes = pyplot.subplots(figsize=(WIDTH, USUAL), layout="constrained")[1] if ax is None else ax
    lines: dict[tuple[tuple[int, ...], tuple[float, ...]], list[str]] = {}
    for method, (sizes, found) in ratios.items():
        lines.setdefault((tuple(sizes), tuple(found)), []).append(method)
    for (sizes_of, found_of), methods in sorted(lines.items(), key=lambda line: -line[0][1][-1]):
        axes.plot(sizes_of, found_of, marker=".", label=", ".join(methods))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_title(textwrap.fill(title, LINE), loc="left", fontsize="medium")
    axes.set_xlabel("records, n")
    axes.set_ylabel("sensitivity / ideal")
    axes.legend(fontsize="small")
    return axes
