"""Checks that quotations from a library stand where they say, in the audited version.

A quotation is `"words" (folder/file.py:12)`; `[...]` marks an omission. Files that the installed package lacks (a
library's C++) cannot be checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

QUOTE = re.compile(r'"([^"]+)" \(([\w./-]+\.py):(\d+)\)')

LINES = 8
"""A quotation ends within so many lines."""


def quotations(text: str) -> Iterator[tuple[str, str, int]]:
    """Find the words, the file and the line of each quotation in a text."""
    yield from ((words, file, int(line)) for words, file, line in QUOTE.findall(text))


def wrong_quotes(texts: Iterable[str], packages: Path) -> list[str]:
    """List the quotations that do not stand where they say, in the folder of installed packages."""
    every = dict.fromkeys(quote for text in texts for quote in quotations(text))
    return [f'"{words}" ({file}:{line})' for words, file, line in every if not _stands(words, file, line, packages)]


def _stands(words: str, file: str, line: int, packages: Path) -> bool:
    return any(_is_at(words, path, line) for path in packages.rglob(Path(file).name) if path.match(f"*/{file}"))


def _is_at(words: str, path: Path, line: int) -> bool:
    """Tell whether all parts of a quotation follow one another from that line on, the first part in it."""
    lines = [_plain(one) for one in path.read_text(encoding="utf-8").splitlines()[line - 1 : line - 1 + LINES]]
    found, at = " ".join(lines), 0
    for place, part in enumerate(map(_plain, words.split("[...]"))):
        at = found.find(part, at)
        if at < 0 or (place == 0 and at > len(lines[0])):
            return False
        at += len(part)
    return True


def _plain(text: str) -> str:
    return " ".join(text.replace("`~.", "`").split())
