"""Pictures with matplotlib, where it is installed: intervals by group, histograms with error bars, plans by size."""

from __future__ import annotations

from typing import Any


def draw_intervals(pyplot: Any, table: Any, confidence: float, ax: Any) -> Any:
    """A point with an interval for each row of a table of values; cells between edges as bars."""
    axes = pyplot.subplots()[1] if ax is None else ax
    columns = table.to_pydict()
    values, low, high = (columns.pop(name) for name in ("value", "low", "high"))
    below = [value - end for value, end in zip(values, low, strict=True)]
    above = [end - value for value, end in zip(values, high, strict=True)]
    begins, ends = columns.pop("from", None), columns.pop("to", None)
    if begins is not None and ends is not None and not columns:
        widths = [end - begin for begin, end in zip(begins, ends, strict=True)]
        axes.bar(begins, values, widths, align="edge", yerr=(below, above), capsize=3, alpha=0.7)
        axes.set_ylabel(f"count, {confidence:.0%} interval")
        return axes
    if begins is not None and ends is not None:
        cells = zip(begins, ends, strict=True)
        columns["cell"] = [None if begin is None else f"{begin:g} to {end:g}" for begin, end in cells]
    names = [", ".join(str(cell) for cell in row if cell is not None) for row in zip(*columns.values(), strict=True)]
    places = range(len(values))
    axes.errorbar(values, places, xerr=(below, above), fmt="o", capsize=3)
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlabel(f"value, {confidence:.0%} interval")
    return axes


def draw_ratios(pyplot: Any, ratios: dict[str, tuple[list[int], list[float]]], ax: Any) -> Any:
    """For each method, the ratio of its sensitivity to the ideal one against the number of records."""
    axes = pyplot.subplots()[1] if ax is None else ax
    for method, (sizes, found) in ratios.items():
        axes.plot(sizes, found, marker=".", label=method)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("records, n")
    axes.set_ylabel("sensitivity / ideal")
    axes.legend()
    return axes
