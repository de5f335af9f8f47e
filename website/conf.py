"""Sphinx's settings for `make docs` (website/__main__.py). No page loads anything from another site."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import soundsum
from website.arguments import list_arguments

project = "soundsum"
author = "The soundsum authors"
copyright = author
version = release = soundsum.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
default_role = "literal"
highlight_language = "none"
add_module_names = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"

html_theme = "furo"
html_title = f"soundsum {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_use_index = True


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", list_arguments)
