"""HTML pages and the pictures in them, shared by the audit report and the reproduction.

A page is one file: styles and pictures are inside it, it has no script and forbids itself every request, so it can be
mailed and opened from disk. The template engine escapes the text, the XML serialiser the pictures.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from soundsum.refusals import INSTALL, Reason, RefusedValue

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATES = Path(__file__).parent / "templates"


def template(name: str = "page.html") -> Template:
    """A page's template; without Jinja2, the refusal names the extra to install."""
    if find_spec("jinja2") is None:
        raise RefusedValue(
            None,
            Reason.MISSING,
            "the page is laid out by Jinja2, which is not installed",
            INSTALL,
            extra="report",
        )
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)
