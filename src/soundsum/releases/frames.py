"""Conversions of every result: data frames, files and plots, all from its table, its words and its plain data."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime, timezone
from os import PathLike
from pathlib import Path
from typing import Any, overload

from soundsum.numbers import text_tables
from soundsum.releases import plots


class Framed(ABC):
    """An outcome with a table of values and intervals."""

    @abstractmethod
    def to_arrow(self, confidence: float = 0.95) -> Any:
        """An Arrow table: what each number is called, `value`, and the interval from `low` to `high`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, exact numbers as strings; `soundsum check` reads it."""

    @abstractmethod
    def words(self) -> tuple[list[str], list[list[str]], int]:
        """Headings and rows of a table to read, and how many of its last columns are numbers."""

    @abstractmethod
    def panels(self, confidence: float = 0.95) -> list[plots.Panel]:
        """The series that `plot` draws: one for each unit of the values."""

    def to_pandas(self, confidence: float = 0.95) -> Any:
        """The table as a pandas data frame."""
        require_module("pandas", "to_pandas")
        return self.to_arrow(confidence).to_pandas()

    def to_polars(self, confidence: float = 0.95) -> Any:
        """The table as a Polars data frame."""
        return require_module("polars", "to_polars").from_arrow(self.to_arrow(confidence))

    def to_json(self) -> str:
        """The plain data as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    @overload
    def to_csv(self, path: None = None, confidence: float = 0.95) -> str: ...
    @overload
    def to_csv(self, path: str | PathLike[str], confidence: float = 0.95) -> None: ...
    def to_csv(self, path: str | PathLike[str] | None = None, confidence: float = 0.95) -> str | None:
        """The table as CSV, or None if you give the path of a file to write it to.

        Names that a spreadsheet would run as a formula begin with an apostrophe.
        """
        columns = self.to_arrow(confidence).to_pydict()
        text = text_tables.comma_separated([*columns], zip(*columns.values(), strict=True))
        if path is None:
            return text
        Path(path).write_text(text, encoding="utf-8", newline="")
        return None

    def to_markdown(self) -> str:
        """Values and 95% intervals as a table in Markdown."""
        return text_tables.markdown(*self.words())

    def to_latex(self) -> str:
        """Values and 95% intervals as a tabular in LaTeX, which needs no packages."""
        return text_tables.latex(*self.words())

    def plot(self, confidence: float = 0.95, ax: Any = None) -> Any:
        """A matplotlib picture of values with their intervals; returns the axes. Draws into `ax` if it is given.

        Statistics in different units, such as sums and counts, have axes of their own; `ax` is then a list of as many,
        and so is what is returned.
        """
        pyplot = require_module("matplotlib.pyplot", "plot")
        return plots.draw_intervals(pyplot, self.panels(confidence), confidence, ax)


def as_column(entries: Sequence[Any]) -> Any:
    """An Arrow column of names or numbers; of text where they have no type in common."""
    import pyarrow as pa

    try:
        is_hours = len(entries) > 0 and isinstance(entries[0], datetime) and isinstance(entries[0].tzinfo, timezone)
        return pa.array(entries, pa.timestamp("us", "UTC") if is_hours else None)
    except MemoryError:
        raise
    except (pa.ArrowException, OverflowError):
        return pa.array([None if entry is None else str(entry) for entry in entries])


def require_module(module: str, method: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        package = module.partition(".")[0]
        raise ImportError(f"{method}() needs {package}; install it with: pip install {package}") from None
