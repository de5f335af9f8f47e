"""Notebooks as pages: text, code, and what each cell printed when it last ran."""

from __future__ import annotations

import json
import re
from typing import Any


def markdown(text: str) -> str:
    """Convert a notebook, given as its file's text, to Markdown."""
    return "\n\n".join(map(_cell, json.loads(text)["cells"]))


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_output, cell["outputs"])])


def _output(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text'])}```"
    data = output["data"]
    if "image/png" in data:
        return f'<img alt="what the cell draws" src="data:image/png;base64,{data["image/png"].strip()}">'
    if "text/html" in data:
        html = re.sub(r"<style.*?</style>", "", "".join(data["text/html"]), flags=re.DOTALL)
        return '<div class="output">' + "".join(line.strip() for line in html.splitlines()) + "</div>"
    return f"```text\n{''.join(data['text/plain'])}\n```"
