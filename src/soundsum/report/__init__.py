"""Reports: a reproduction or an audit as one HTML page that needs nothing but a browser; audits as JUnit and SARIF.

Styles and pictures are inside the file, there is no script, and the page forbids itself every request, so it can be
sent by mail and opened from disk. Words are escaped by the template engine, pictures by the XML serialiser.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from soundsum._version import __version__
from soundsum.arithmetic.words import text
from soundsum.paper import place
from soundsum.reproduce import Reproduction

if TYPE_CHECKING:
    from jinja2 import Template

__all__ = ["page", "template", "write_page"]

TEMPLATES = Path(__file__).parent / "templates"


def write_page(result: Reproduction, path: str | Path) -> None:
    """The page as a file, in UTF-8."""
    Path(path).write_text(page(result), encoding="utf-8")


def page(result: Reproduction) -> str:
    """The whole page. A reproduction of some sections gives a page of those.

    >>> from soundsum.reproduce import reproduce
    >>> page(reproduce(only=["roadmap"])).startswith("<!doctype html>")
    True
    """
    layout = template()
    from soundsum.report import (  # after Jinja2 is known to be there, as they need its MarkupSafe
        figures,
        tables,
        wording,
    )

    made = layout.render(
        result=result,
        sections=[section for section in result.sections if not section.plots],
        figures=figures.figures(result),
        style=(TEMPLATES / "page.css").read_text(encoding="utf-8"),
        version=__version__,
        tables=tables,
        place=place,
        text=text,
    )
    return wording.raise_powers_in(made)


def template(name: str = "page.html") -> Template:
    """A page's template; a ValueError says what to install if there is nothing to lay it out."""
    try:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined
    except ImportError:
        raise ValueError("the page is laid out by Jinja2: pip install 'soundsum[report]'") from None
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
