"""Small HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(rows: Iterable[Sequence[object]], head: Sequence[str] = (), caption: str = "") -> str:
    """A table; the first cell of each row names it. Everything is escaped.

    >>> table([("a", "1 < 2")], ["", "fact"], "Facts")
    '<table><caption>Facts</caption><tr><th></th><th>fact</th></tr><tr><th>a</th><td>1 &lt; 2</td></tr></table>'
    """
    from html import escape

    def cells(row: Sequence[object], tag: str) -> str:
        first, *others = (escape(str(cell)) for cell in row)
        return f"<tr><th>{first}</th>{''.join(f'<{tag}>{cell}</{tag}>' for cell in others)}</tr>"

    top = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{top}{cells(head, 'th') if head else ''}{''.join(cells(row, 'td') for row in rows)}</table>"
