"""Datasets and attacks in words."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from soundsum.arithmetic.words import binary
from soundsum.data.runs import Runs


def dataset(runs: Runs) -> str:
    """A dataset as a person would say it: how often what, in order."""
    shown = []
    for pattern, count in runs.parts:
        what = binary(pattern[0]) if len(pattern) == 1 else "(" + ", ".join(map(binary, pattern)) + ")"
        shown.append(what if count == 1 else f"{count:,} times {what}")
    if len(shown) > 8:
        shown[4:-3] = [f"... ({len(shown) - 7} more) ..."]
    return ", then ".join(shown) or "no records"


def layout(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """A title and what is to be said under headings, as lines for a terminal."""
    lines = [title]
    for heading, text in rows:
        lines += textwrap.wrap(
            text, 116, initial_indent=f"  {heading:<12}", subsequent_indent=" " * 14, break_on_hyphens=False
        )
    return "\n".join(lines)
