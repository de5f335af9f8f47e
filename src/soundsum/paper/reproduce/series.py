"""Series to plot: the spacing of floats, sums drifting apart, outputs of both mechanisms, ratios against n.

Floats here are points on a plot and decide nothing.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from soundsum.attacks import attack
from soundsum.methods import METHODS
from soundsum.methods.problem import Problem
from soundsum.numbers.types import bfloat16, float32, float64
from soundsum.pages.draw import Line, Plot
from soundsum.paper.reproduce.side_by_side import naive, releases
from soundsum.privacy.planner import Plan

POINTS = 200


def plots(full: bool = False) -> tuple[Plot, ...]:
    return spacing(), drifting(), outputs(4_000 if full else 1_000), ratios(sized=True), ratios(sized=False)


def spacing() -> Plot:
    """The distance from each float to the next, at every power of two from 2^-10 to 2^60."""
    kinds = (bfloat16, float32, float64)
    exponents = range(-10, 61)
    lines = tuple(
        Line(kind.name, tuple(2.0**e for e in exponents), tuple(float(kind.ulp(Fraction(2) ** e)) for e in exponents))
        for kind in kinds
    )
    return Plot(
        "spacing",
        "Floats lie farther apart the larger they are",
        "value",
        "distance to the next float",
        lines,
        log_x=True,
        log_y=True,
    )


def drifting() -> Plot:
    """Running sums of repeated rounding 2 in float32, one U apart at the start, and the real sums beside them."""
    pair = attack("repeated_rounding_2", dtype="float32", relation="hamming", j=16, upper=1)
    lines = []
    for name, side in (("left", pair.left), ("right", pair.right)):
        values = np.asarray(side)
        computed = np.cumsum(values, dtype=np.float32)  # in order, each sum rounded, as an iterated sum is
        exact = np.cumsum(values, dtype=np.float64)  # 29 bits more: the real sum, for a plot
        at = np.linspace(values.size // 2 - 1, values.size - 1, POINTS).astype(int)
        base = float(pair.left.size // 2)
        lines.append(_line(f"{name}, as computed", at + 1, computed[at].astype(float) - base))
        lines.append(_line(f"{name}, exactly", at + 1, exact[at] - base))
    title = "Neighbours start one record apart and drift"
    return Plot("drift", title, "records added", "running sum - n U/2, in units of U", tuple(lines))


def outputs(runs: int) -> Plot:
    """Outputs on the neighbours of the rounding attack, in units of U - L above the right sum: naive, then ours."""
    pair = attack("rounding", dtype="float64", relation="change_one", j=5, m=-1)
    sums = [Fraction(x) for x in pair.sums()]
    base, unit, random = min(sums), pair.ideal, np.random.default_rng()
    edges = np.arange(-24.5, 57.5)
    lines = []
    for name, total, side in (("left", sums[0], pair.left), ("right", sums[1], pair.right)):
        drawn = naive(pair).draw(total, runs, random)
        lines.append(_histogram(f"naive, {name}", [float((Fraction(x) - base) / unit) for x in drawn], edges))
        ours = [float((x - base) / unit) for x in islice(releases(pair, side, runs), runs)]
        lines.append(_histogram(f"ss.sum, {name}", ours, edges))
    title = "Outputs on neighbours: the naive mechanism's fall on one float or the other, ours overlap"
    return Plot("outputs", title, "output - naive right sum, in units of U - L", "runs", tuple(lines))


def ratios(sized: bool) -> Plot:
    """The shape of Table 2: implemented over ideal sensitivity for float32 in [0, 1], every method, and the attack."""
    sizes = [2**i for i in range(2, 33)]
    lines = []
    for name, method in METHODS.items():
        points = []
        for n in sizes:
            size = {"relation": "hamming", "size": n} if sized else {"relation": "insert_delete", "max_size": n}
            made = Plan(Problem(float32, 0, 1, **size), method)
            if not made.unmet:
                points.append((float(n), float(made.ratio)))
        if points:
            lines.append(Line(name, tuple(x for x, _ in points), tuple(y for _, y in points)))
    reached = [(float(n), float(1 + Fraction(n**2, 2 ** (float32.k + 3)))) for n in sizes if 4 <= n < 2**float32.k]
    lines.append(Line("repeated rounding 2 reaches", tuple(x for x, _ in reached), tuple(y for _, y in reached)))
    which = "public n" if sized else "private n"
    title = f"The noise each method needs, float32 in [0, 1], {which}"
    name = "ratio_public" if sized else "ratio_private"
    return Plot(name, title, "records", "sensitivity / ideal", tuple(lines), log_x=True, log_y=True)


def _line(name: str, x: NDArray[np.int64], y: NDArray[np.float64]) -> Line:
    return Line(name, tuple(map(float, x)), tuple(map(float, y)))


def _histogram(name: str, values: list[float], edges: NDArray[np.float64]) -> Line:
    """Counts per bin; the first and last bin include the values beyond them."""
    held = np.clip(values, edges[0], np.nextafter(edges[-1], 0))
    counts, _ = np.histogram(held, edges)
    return Line(name, tuple(map(float, (edges[:-1] + edges[1:]) / 2)), tuple(map(float, counts)))
