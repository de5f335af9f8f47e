"""HTML pages and the pictures in them, shared by the audit report and the reproduction.

A page is one file: styles and pictures are inside it, it has no script and forbids itself every request, so it can be
mailed and opened from disk. The template engine escapes the text, the XML serialiser the pictures.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES = Path(__file__).parent / "templates"


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
