"""Small tables: in HTML, for notebooks, as lines of text, and in CSV, Markdown and LaTeX.

Names of groups are anybody's text, so each format escapes what its readers would obey: formulas of a spreadsheet, marks
of Markdown, commands of LaTeX.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Container, Iterable, Sequence

LEFT, RIGHT = (f"text-align: {side}; vertical-align: top" for side in ("left", "right"))
"""Notebooks would put everything to the right."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that a spreadsheet takes for the beginning of a formula, or reads past to find one."""

QUOTED = "\r\n;\t"
"""Characters that end a line, or a cell where commas are for decimals: a formula may follow them."""

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

IN_MARKDOWN = str.maketrans({one: f"\\{one}" for one in "\\`*_[]<>|~$&#"})

IN_LATEX = str.maketrans(
    {one: f"\\{one}" for one in "{}$&#_%"}
    | {one: f"{{{one}}}" for one in "[]*-"}  # after the end of a row these are its arguments, and two are a long dash
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    | {"<": "\\textless{}", ">": "\\textgreater{}", "|": "\\textbar{}", "`": "\\textasciigrave{}"}
    | {"\N{EM DASH}": "---", '"': "\\textquotedbl{}"}
)


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


def comma_separated(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as CSV, its lines ended by a newline. Text that a spreadsheet would run as a formula begins with a quote.

    >>> print(comma_separated(["ward", "n"], [("=1+1", -3), ("-3", 2.0)]), end="")
    ward,n
    '=1+1,-3
    -3,2
    """
    written = [_write_line(map(_inert, row)) for row in (head, *rows)]
    return "".join(written)


def _write_line(cells: Iterable[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator=QUOTED).writerow([*cells])  # which quotes cells that have any of these characters
    return line.getvalue().removesuffix(QUOTED) + "\n"


def _inert(cell: object) -> object:
    """Whole numbers without a decimal point: a count is one, also beside means; and true or false."""
    if isinstance(cell, str):
        return f"'{cell}" if cell.lstrip(" ").startswith(FORMULA) and not NUMBER.fullmatch(cell) else cell
    if isinstance(cell, bool):
        return str(cell).lower()
    return int(cell) if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53 else cell


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int) -> str:
    """A table in Markdown; `numbers` of its last columns are numbers.

    >>> print(markdown(["ward", "n"], [("a|b", "7")], 1))
    | ward | n |
    |:--|--:|
    | a\\|b | 7 |
    """
    sides = [":--"] * (len(head) - numbers) + ["--:"] * numbers
    cells = [[cell.translate(IN_MARKDOWN).replace("://", ":\\//") for cell in row] for row in (head, *rows)]
    first, *others = (f"| {' | '.join(row)} |" for row in cells)
    return "\n".join([first, f"|{'|'.join(sides)}|", *others])


def latex(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int) -> str:
    """A table in LaTeX that needs no packages; `numbers` of its last columns are numbers.

    >>> print(latex(["ward", "n"], [("R&D", "-7")], 1))
    \\begin{tabular}{lr}
    \\hline
    ward & n \\\\
    \\hline
    R\\&D & $-$7 \\\\
    \\hline
    \\end{tabular}
    """
    names = len(head) - numbers
    lines = [
        " & ".join(
            cell.translate(IN_LATEX) if place < names else cell.translate(IN_LATEX).replace("{-}", "$-$")
            for place, cell in enumerate(row)
        )
        for row in (head, *rows)
    ]
    first, *others = (f"{line} \\\\" for line in lines)
    return "\n".join([
        f"\\begin{{tabular}}{{{'l' * names}{'r' * numbers}}}", "\\hline", first, "\\hline", *others, "\\hline",
        "\\end{tabular}",
    ])  # fmt: skip
