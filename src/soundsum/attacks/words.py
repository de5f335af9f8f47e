"""Datasets in words."""

from __future__ import annotations

from soundsum.numbers.formatting import binary
from soundsum.tables.runs import Runs


def dataset(runs: Runs) -> str:
    """A dataset in words: its values in order, each with its count."""
    shown = []
    for pattern, count in runs.parts:
        what = binary(pattern[0]) if len(pattern) == 1 else "(" + ", ".join(map(binary, pattern)) + ")"
        shown.append(what if count == 1 else f"{count:,} times {what}")
    if len(shown) > 8:
        shown[4:-3] = [f"... ({len(shown) - 7} more) ..."]
    return ", then ".join(shown) or "no records"
