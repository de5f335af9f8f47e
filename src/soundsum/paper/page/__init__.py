"""The reproduction as one HTML page that needs nothing but a browser."""

from __future__ import annotations

from pathlib import Path

from soundsum._version import __version__
from soundsum.numbers.formatting import text
from soundsum.pages import TEMPLATES, template
from soundsum.paper.reproduce import Reproduction
from soundsum.references import place

__all__ = ["page", "write_page"]


def write_page(result: Reproduction, path: str | Path) -> None:
    """The page as a file, in UTF-8."""
    Path(path).write_text(page(result), encoding="utf-8")


def page(result: Reproduction) -> str:
    """The whole page. A reproduction of some sections gives a page of those.

    >>> from soundsum.paper.reproduce import reproduce
    >>> page(reproduce(only=["roadmap"])).startswith("<!doctype html>")
    True
    """
    layout = template()
    from soundsum.paper.page import (  # after Jinja2 is known to be there, as they need its MarkupSafe
        figures,
        page_tables,
        wording,
    )

    made = layout.render(
        result=result,
        sections=[section for section in result.sections if not section.plots],
        figures=figures.figures(result),
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        version=__version__,
        tables=page_tables,
        place=place,
        text=text,
    )
    return wording.raise_powers_in(made)
