"""The reproduction as one HTML page that needs nothing but a browser."""

from __future__ import annotations

import re
from pathlib import Path

from soundsum._version import __version__
from soundsum.numbers.formatting import text
from soundsum.pages import TEMPLATES, template
from soundsum.paper.reproduce import Reproduction
from soundsum.references import place

__all__ = ["page", "write_page"]


RAISED = str.maketrans("0123456789+-()abdijkmnw", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ᵃᵇᵈⁱʲᵏᵐⁿʷ")

POWER = re.compile(r"\^(?:\(([0-9a-z+\- ]+)\)|(-?[0-9]+|-?[a-z]))")
"""Powers are raised on the page, as they are written by hand: 2⁻⁵³ for 2^-53."""


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
    return raise_powers_in(made)


def raise_powers(words: str) -> str:
    """Powers in print.

    >>> raise_powers("2^-53, n^2/2^(k+3), 2^-k, x^y")
    '2⁻⁵³, n²/2ᵏ⁺³, 2⁻ᵏ, x^y'
    """

    def raised(match: re.Match[str]) -> str:
        power = (match[1] or match[2]).replace(" ", "")
        over = power.translate(RAISED)
        return match[0] if any(sign in over for sign in "cefghlopqrstuvxyz") else over

    return POWER.sub(raised, words)


def raise_powers_in(page: str) -> str:
    """A page of HTML with the powers in its text raised; commands, styles and tags stay as they are."""
    pieces = re.split(r"(<style>.*?</style>|<code>.*?</code>|<[^>]*>)", page, flags=re.DOTALL)
    return "".join(piece if i % 2 else raise_powers(piece) for i, piece in enumerate(pieces))
