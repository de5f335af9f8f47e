"""`python -m website.way_picture`: draws the way of a number, from records to the next question.

docs/verification.md shows it. Each step is marked by how far it is verified. Counts are those of tests/proofs; of
engines that count persons, those of tests/engines/counted.json.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, tostring

from soundsum.pages.svg import add, picture
from website.neighbours_picture import PLACE

PROVED, COMPARED, TESTED, ASSUMED = "proved", "compared", "tested", "assumed"

MEANING = (
    (PROVED, "", "in Coq"),
    (COMPARED, "", "bit for bit with the proved definition, on the number of cases given"),
    (TESTED, "", "by ordinary tests"),
    (ASSUMED, "", "neither proved nor tested"),
)

WAY = {
    "a file, table or array": (
        (TESTED, "", "readers, types, every engine"),
        (ASSUMED, "", "no read fails or hangs because of one record's value"),
    ),
    "a record's bits": (
        (TESTED, "", "float32, float16 and bfloat16 become doubles"),
        (PROVED, "", "any 64 bits, NaN and infinities too, become an integer in [J, K]"),
        (COMPARED, "120,000 records", "the kernel's expression"),
        (COMPARED, "6,000 statistics", "J, K, step and offset"),
        (ASSUMED, "", "the compiler is correct, and the processor conforms to IEEE 754"),
    ),
    "an integer, its group, its person": (
        (PROVED, "", "which rows and groups of a person count depends on that person's rows alone"),
        (COMPARED, "726 answers", "Memory, DuckDB and Polars"),
        (COMPARED, "78 answers each", "PostgreSQL, Spark and Dask; SQLite 24"),
        (TESTED, "", "keys, ids, periods, filters, and that SHA-256 draws the lots"),
    ),
    "exact sums": (
        (PROVED, "", "one unit moves each vector by at most its norms, under every relation"),
        (COMPARED, "9,600 statistics", "norms"),
        (COMPARED, "1,100 statistics", "weights of a person's rows"),
        (COMPARED, "1,100 problems", "and more: bounds and conditions of each method"),
        (COMPARED, "100,000 records", "and more of each kind: the sums of other methods"),
        (TESTED, "", "threads, lanes, 128-bit totals, batches"),
    ),
    "a scale or σ² for each part": (
        (PROVED, "", "the parts cost no more than was asked for; the scale follows from the norms"),
        (COMPARED, "4,000 divisions", "of an ε or a ρ between the parts"),
        (COMPARED, "60 divisions", "of an ε and a δ"),
        (TESTED, "", "the decimals that enclose the discrete Gaussian's own δ"),
    ),
    "noise, from random bytes": (
        (ASSUMED, "", "the operating system's bytes are independent and uniform"),
        (PROVED, "", "the exact distribution, byte for byte"),
        (COMPARED, "4,000 scales, 4,000 σ²", "values and the bytes used"),
        (TESTED, "", "each part draws fresh bytes"),
    ),
    "noisy vectors": (
        (PROVED, "", "p ≤ exp(ε) p′ for every event of all of them; zCDP, (ε, δ)"),
        (COMPARED, "7,900 vectors", "wrapped ones too"),
    ),
    "the number, its interval, its certificate": (
        (PROVED, "", "anything computed from the vectors is as private"),
        (COMPARED, "3,000 statistics", "how sums, means and variances are read"),
        (TESTED, "", "nothing else reaches the analyst; the intervals"),
    ),
    "the next question": (
        (PROVED, "", "the analyst may choose it, and its ε, δ or ρ, after seeing all answers"),
        (PROVED, "", "the ledger keeps its limit, whatever is killed"),
        (COMPARED, "2,400 operations", "of 60 histories of the ledger's file"),
        (TESTED, "", "budgets that count both δ and ρ; analysts' shares"),
        (ASSUMED, "", "SQLite's transactions are atomic and durable"),
        (ASSUMED, "", "refunds and reopenings depend on no record beyond the failures they answer"),
    ),
}

COLOURS = {
    "light": {"ink": "#1f2328", "line": "#8c959f", "box": "#f6f8fa"}
    | {PROVED: "#1a7f37", COMPARED: "#0969da", TESTED: "#9a6700", ASSUMED: "#59636e"},
    "dark": {"ink": "#e6edf3", "line": "#6e7681", "box": "#161b22"}
    | {PROVED: "#238636", COMPARED: "#1f6feb", TESTED: "#9e6a03", ASSUMED: "#9198a1"},
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
WIDTH, MARGIN, RAIL, TEXT = 440, 6, 22, 122
SIZE, LINE, PILL, BOX, GAP = 13, 17, 18, 34, 9
CHARACTERS = 41
"""How many fit on a line in wide fonts too."""

Row = tuple[str, str, str]


def lines_of(count: str, said: str) -> Iterator[list[tuple[str, bool]]]:
    """The words of a row, line by line; those of the count are bold."""
    words = [(word, True) for word in count.split()] + [(word, False) for word in said.split()]
    line: list[tuple[str, bool]] = []
    for word, bold in words:
        if line and sum(len(one) + 1 for one, _ in line) + len(word) > CHARACTERS:
            yield line
            line = []
        line.append((word, bold))
    yield line


def draw_row(svg: Element, row: Row, top: float, colours: dict[str, str]) -> float:
    """A mark and its words; returns where the next row begins."""
    mark, count, said = row
    assumed = mark == ASSUMED
    pill = add(svg, "rect", x=RAIL + 12, y=top, width=78, height=PILL, rx=9)
    pill.set("fill", "none" if assumed else colours[mark])
    pill.set("stroke", colours[mark])
    if assumed:
        pill.set("stroke-dasharray", "3 3")
    ink = colours["ink"] if assumed else "#ffffff"
    add(svg, "text", mark, x=RAIL + 51, y=top + 13, fill=ink, font_size=11.5, font_weight="600", text_anchor="middle")
    for line in lines_of(count, said):
        text = add(svg, "text", x=TEXT, y=top + 13.5, fill=colours["ink"], font_size=SIZE)
        bold, plain = (" ".join(word for word, heavy in line if heavy is wanted) for wanted in (True, False))
        if bold:
            add(text, "tspan", f"{bold}{'  ' if plain else ''}", font_weight="700").set("xml:space", "preserve")
        if plain:
            add(text, "tspan", plain)
        top += LINE
    return top + 7


def draw(theme: str) -> str:
    colours = COLOURS[theme]
    height = draw_into(Element("svg"), colours)
    svg = picture(
        f"way-{theme}",
        WIDTH,
        height,
        "The way of a number",
        "From records to a release and the next question: what is proved, compared, tested or assumed at each step",
    )
    svg.set("xmlns", "http://www.w3.org/2000/svg")
    svg.set("width", "500")
    svg.set("font-family", FONT)
    draw_into(svg, colours)
    return tostring(svg, encoding="unicode") + "\n"


def draw_into(svg: Element, colours: dict[str, str]) -> float:
    top: float = MARGIN
    for row in MEANING:
        top = draw_row(svg, row, top, colours)
    top += GAP
    rail = add(svg, "line", x1=RAIL, x2=RAIL, y1=top, stroke=colours["line"], stroke_width=2)
    for i, (step, rows) in enumerate(WAY.items()):
        rail.set("y2", str(top))
        if i:
            add(svg, "path", d=f"M{RAIL - 5},{top - 8}h10l-5,8z", fill=colours["line"])
        box = add(svg, "rect", x=MARGIN, y=top, width=WIDTH - 2 * MARGIN, height=BOX, rx=7, fill=colours["box"])
        box.set("stroke", colours["line"])
        add(svg, "text", step, x=RAIL + 12, y=top + 22, fill=colours["ink"], font_size=14.5, font_weight="700")
        top += BOX + GAP
        for row in rows:
            top = draw_row(svg, row, top, colours)
        top += GAP - 3
    return top


if __name__ == "__main__":
    for name in COLOURS:
        (PLACE / f"way-{name}.svg").write_text(draw(name))
