"""`python -m website.neighbours_picture`: draws the README's picture from real runs.

Two neighbouring datasets from the rounding attack, released by an ordinary private sum (an iterated float sum with
Laplace noise for the ideal sensitivity) and by soundsum, at the same epsilon.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np

import soundsum as ss
from soundsum.kernels import float_sum

PLACE = Path(__file__).parent.parent / "docs" / "pictures"
EPSILON, RUNS = 1, 4000
INK = {"light": ("#1f2328", "#d1242f", "#0969da", 0.6), "dark": ("#e6edf3", "#ff7b72", "#58a6ff", 0.75)}
"""Text, left and right dataset, and their opacity, on GitHub's light and dark pages."""


def draw_outputs() -> dict[str, list[list[float]]]:
    """Release both datasets many times, by each mechanism; outputs are in units of the ideal sensitivity."""
    pair = ss.attack("rounding", dtype="float64", ratio=100)
    plan, problem = ss.plan(pair.problem), pair.problem
    rng = np.random.default_rng()
    centre = Fraction(plan.sum(pair.left))

    def scaled(value: object) -> float:
        return float((Fraction(value) - centre) / pair.ideal)  # type: ignore[arg-type]

    def ordinary(data: ss.Runs) -> list[float]:
        total = scaled(float_sum("iterated", data, lower=problem.lower, upper=problem.upper))
        return list(total + rng.laplace(0, 1 / EPSILON, RUNS))

    def ours(data: ss.Runs) -> list[float]:
        return [scaled(plan.release(data, epsilon=EPSILON).exact) for _ in range(RUNS)]

    both = (pair.left, pair.right)
    return {"an ordinary private sum": [ordinary(x) for x in both], "soundsum": [ours(x) for x in both]}


def draw(outputs: dict[str, list[list[float]]], theme: str) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "soundsum", "font.family": "sans-serif"})
    from matplotlib import pyplot as plt
    from matplotlib.ticker import MaxNLocator

    ink, left, right, opacity = INK[theme]
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.7), layout="constrained")
    for axis, (name, (a, b)) in zip(axes, outputs.items(), strict=True):
        low, high = min(*a, *b), max(*a, *b)
        edges = np.linspace(low, high, 61)
        for values, colour, label in ((a, left, "a dataset"), (b, right, "its neighbour, one record changed")):
            axis.hist(values, edges, color=colour, alpha=opacity, label=label)
        axis.set_title(name, color=ink, fontsize=11)
        axis.set_xlabel("released sum, in units of the ideal sensitivity", color=ink, fontsize=9)
        axis.xaxis.set_major_locator(MaxNLocator(9, integer=True))
        axis.set_yticks([])
        axis.tick_params(colors=ink, labelsize=8)
        axis.spines[["top", "left", "right"]].set_visible(False)
        axis.spines["bottom"].set_color(ink)
    axes[0].legend(frameon=False, labelcolor=ink, fontsize=9, loc="upper center")
    PLACE.mkdir(exist_ok=True)
    figure.savefig(PLACE / f"neighbours-{theme}.svg", transparent=True, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    drawn = draw_outputs()
    for theme in INK:
        draw(drawn, theme)
