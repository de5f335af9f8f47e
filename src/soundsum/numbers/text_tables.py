"""Small tables: in HTML, for notebooks, and as lines of text."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

LEFT, RIGHT = (f"text-align: {side}; vertical-align: top" for side in ("left", "right"))
"""Notebooks would put everything to the right."""


def table(
    rows: Iterable[Sequence[object]],
    head: Sequence[str] = (),
    caption: str = "",
    to_the_right: Container[int] = (),
    below: str = "",
) -> str:
    """A table; the first cell of each row names it. Numbers stand in columns aligned to the right. All is escaped.

    `below` is what there is to say about it that is longer than a caption.

    >>> import re
    >>> made = table([("a", "1 < 2")], ["", "fact"], "Facts", below="It holds.")
    >>> print(re.sub(' style="[^"]*"', "", made).replace("<tr>", "\\n<tr>"))
    <table><caption>Facts</caption>
    <tr><th></th><th>fact</th></tr>
    <tr><th>a</th><td>1 &lt; 2</td></tr></table><p>It holds.</p>
    """
    from html import escape

    def cell(place: int, text: object, tag: str) -> str:
        keep = "; white-space: nowrap" if tag == "th" else ""
        side = RIGHT if place in to_the_right else LEFT
        return f'<{tag} style="{side}{keep}">{escape(str(text))}</{tag}>'

    def row(cells: Sequence[object], tag: str) -> str:
        return f"<tr>{''.join(cell(i, text, 'th' if not i else tag) for i, text in enumerate(cells))}</tr>"

    top = f'<caption style="text-align: left; white-space: nowrap">{escape(caption)}</caption>' if caption else ""
    note = f'<p style="font-size: smaller">{escape(below)}</p>' if below else ""
    inner = f"{row(head, 'th') if head else ''}{''.join(row(cells, 'td') for cells in rows)}"
    return f"<table>{top}{inner}</table>{note}"


def lines(rows: Sequence[Sequence[str]], to_the_right: Container[int]) -> list[str]:
    """A table as lines of text, with these columns aligned to the right.

    >>> lines([("ward", "sum"), ("eye", "7")], {1})
    ['ward  sum', 'eye     7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = (
        [cell.rjust(width) if i in to_the_right else cell.ljust(width) for i, (cell, width) in enumerate(cells)]
        for cells in (zip(row, widths, strict=True) for row in rows)
    )
    return ["  ".join(cells).rstrip() for cells in padded]
