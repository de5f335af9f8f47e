"""Pictures on the server's page: values with their intervals, and what was spent over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from soundsum.budget.history import Entry
from soundsum.pages.draw import Axis, Line, Look, Plot, line_plot
from soundsum.pages.svg import Scale, add, markup, picture
from soundsum.releases.plots import Panel

if TYPE_CHECKING:
    from markupsafe import Markup

WIDTH, ROW, LEFT = 440, 26, 120
MOST_ROWS = 40
MOST_NAMED = 5
UNITS_OF_TIME = (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1))


def draw_panel(panel: Panel, name: str) -> Markup:
    """Draw each value as a dot, its interval as a line through it."""
    rows = list(zip(panel.names, panel.values, panel.low, panel.high, strict=True))[:MOST_ROWS]
    height = ROW * len(rows) + 50
    said = "; ".join(f"{label}: {value:,.6g}" for label, value, _, _ in rows[:10])
    svg = picture(name, WIDTH, height, panel.title, f"Values with 95% intervals. {said}")
    finite = [end for _, _, low, high in rows for end in (low, high)] or [0.0, 1.0]
    scale = Scale(min(finite), max(finite), LEFT, WIDTH - 20)
    bottom = height - 30
    for at, words in scale.ticks(4):
        add(svg, "path", class_="grid", d=f"M{scale(at):.1f} 10V{bottom}")
        add(svg, "text", words, class_="tick", x=scale(at), y=bottom + 18, text_anchor="middle")
    for place, (label, value, low, high) in enumerate(rows):
        y = 10 + ROW * (place + 0.5)
        add(svg, "text", label if len(label) < 17 else f"{label[:15]}…", x=LEFT - 10, y=y + 4, text_anchor="end")
        add(svg, "path", class_="reach", d=f"M{scale(low):.1f} {y}H{scale(high):.1f}")
        dot = add(svg, "circle", class_="value-dot", cx=scale(value), cy=y, r=5)
        add(dot, "title", f"{label}: {value:,.6g}, from {low:,.6g} to {high:,.6g}")
    return markup(svg)


def draw_spending(entries: Sequence[Entry], by_rho: bool, name: str) -> Markup | None:
    """Draw how much each of the largest spenders has spent over time."""
    spent: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    counted = [entry for entry in entries if entry.state != "refunded"]
    if len(counted) < 2:
        return None
    start = min(entry.at for entry in counted)
    whole = max((entry.at - start).total_seconds() for entry in counted)
    unit_of_time, length = next((one for one in UNITS_OF_TIME if whole >= 2 * one[1]), UNITS_OF_TIME[-1])
    last = whole / length
    for entry in counted:
        who = "the owner" if entry.asker is None else entry.asker.analyst
        amount = entry.cost.zcdp if by_rho else entry.cost.epsilon
        before = spent[who][-1][1] if spent[who] else 0.0
        after = max(0.0, (entry.at - start).total_seconds() / length)
        spent[who] += [(after, before), (after, before + float(amount or 0))]
    named = sorted(spent, key=lambda who: -spent[who][-1][1])[:MOST_NAMED]
    lines = [
        Line(who[:14], tuple(x for x, _ in points), tuple(y for _, y in points))
        for who in named
        for points in [[(0.0, 0.0), *spent[who], (last, spent[who][-1][1])]]
    ]
    unit = "rho" if by_rho else "epsilon"
    plot = Plot(name, "Spent over time", f"{unit_of_time} since the first charge", unit, tuple(lines))
    look = Look(Axis(), Axis(low=0.0), 110, {line.name: f"c{place}" for place, line in enumerate(lines)})
    said = ", ".join(f"{who} {spent[who][-1][1]:,.6g}" for who in named)
    return markup(line_plot(plot, look, f"{unit} spent by {said}"))
