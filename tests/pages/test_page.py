"""The page in a real browser: from disk, in both themes, on a phone, with everything a reproduction says on it."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from soundsum.numbers.formatting import chance, text
from soundsum.pages.draw import Line
from soundsum.paper.page import raise_powers, write_page
from soundsum.paper.reproduce import Cell, Plot, Reproduction, Section
from soundsum.references import place

pytestmark = pytest.mark.xdist_group("browser")

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()
ROWS = """[...document.querySelectorAll("tr.cell")].map(row => [
  row.closest("tbody").querySelector(".group").innerText.trim(), row.innerText.replace(/\\s+/g, " ")])"""


def one_line(words):
    return " ".join(words.split())


def unfold(tab):
    tab.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")


def body(tab):
    return one_line(tab.evaluate("document.body.innerText"))


def test_opening_it_asks_for_nothing_else_and_complains_of_nothing(tab, page):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    tab.evaluate("new Promise(done => setTimeout(done, 200))")
    assert tab.requests() == [page.as_uri()]
    assert tab.complaints() == []
    assert tab.evaluate("performance.getEntriesByType('resource').length") == 0
    assert tab.evaluate("document.scripts.length") == 0


def test_what_the_browser_would_refuse_is_seen(tab, page, tmp_path):
    """The test above can fail: an image from elsewhere is refused by the page itself, and that is heard."""
    odd = tmp_path / "odd.html"
    odd.write_text(page.read_text().replace("<main>", '<main><img src="http://127.0.0.1:9/x.png" alt="">'))
    tab.open(odd)
    assert any("Content Security Policy" in str(complaint) for complaint in tab.complaints())


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
def test_nothing_is_wider_than_the_screen(tab, page, width):
    tab.look(width)
    tab.open(page)
    unfold(tab)
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    outside = (
        "[...document.querySelectorAll('header, nav, figure, figcaption, .scroll, svg, h1, h2, h3, h4, p')].filter("
    )
    outside += "e => e.getBoundingClientRect().right > innerWidth + 0.5).map(e => e.outerHTML.slice(0, 80))"
    assert tab.evaluate(outside) == []


@pytest.mark.parametrize("width", [320, 390])
def test_on_a_phone_no_column_is_cut(tab, page, width):
    tab.look(width)
    tab.open(page)
    unfold(tab)
    cut = """[...document.querySelectorAll('table')].filter(
      table => table.scrollWidth > table.closest('.scroll').clientWidth + 1).map(table => table.className)"""
    assert tab.evaluate(cut) == []
    labels = tab.evaluate(
        "[...document.querySelectorAll('.cells td.value')].map(c => getComputedStyle(c, '::before').content)"
    )
    assert {label.split('"')[1] for label in labels} == {"printed: ", "computed: "}


def test_it_begins_with_why_it_matters_then_pictures_and_tables_are_folded(tab, page):
    tab.look(1280)
    tab.open(page)
    lead = tab.evaluate("document.querySelector('.lead').innerText")
    assert lead.startswith("Published statistics about people")
    assert lead.count(". ") == 1  # two sentences
    assert tab.evaluate("document.querySelectorAll('main details').length") >= 10
    assert tab.evaluate("document.querySelectorAll('main details[open]').length") == 0
    assert tab.evaluate("document.documentElement.scrollHeight") < 5000
    unfold(tab)
    assert tab.evaluate("document.documentElement.scrollHeight") > 12000


def test_the_words_are_for_a_reader(tab, page, result):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    said = one_line(
        tab.evaluate("""[...document.body.querySelectorAll('*')].filter(
      e => !e.closest('code, svg')).flatMap(e => [...e.childNodes]).filter(n => n.nodeType === 3).map(
      n => n.data).join(' ')""")
    )
    assert not re.findall(r"\b(?:thrm|thm|table|fig|ea|al|prop|defn|lemma|cor|sec):[a-z0-9]\S*", said)
    assert not re.findall(r"\S*\^[-0-9(k]\S*", said)
    assert "works: does not" not in said
    assert not re.findall(r"[a-z0-9][.;][A-Z]\w+", body(tab))
    names = set(re.findall(r"repeated rounding \S+", said, re.IGNORECASE))
    assert {name.lower().rstrip(",.:") for name in names} <= {"repeated rounding 1", "repeated rounding 2"}
    for reference in {cell.reference for section in result.sections for cell in section.all_cells}:
        assert place(reference) != reference, reference


@pytest.mark.parametrize("width", [390, 1280])
def test_words_in_pictures_lie_inside_and_apart(tab, page, width):
    tab.look(width)
    tab.open(page)
    unfold(tab)
    words = tab.evaluate("""[...document.querySelectorAll("svg")].map(svg => [...svg.querySelectorAll("text")].map(
      t => { const b = t.getBBox(), v = svg.viewBox.baseVal;
      return [svg.id, t.textContent, b.x, b.y, b.x + b.width, b.y + b.height, v.width, v.height] }))""")
    assert sum(map(len, words)) > 100
    for picture in words:
        for _, said, left, top, right, bottom, width, height in picture:
            assert left >= 0, said
            assert top >= 0, said
            assert right <= width, said
            assert bottom <= height, said
        for i, one in enumerate(picture):
            for other in picture[:i]:
                wide = min(one[4], other[4]) - max(one[2], other[2])
                tall = min(one[5], other[5]) - max(one[3], other[3])
                assert wide <= 0 or tall <= 3, (one, other)  # a line's own room reaches a little over its letters


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_text_can_be_read_in_both_themes(tab, page, scheme, width):
    tab.look(width, scheme)
    tab.open(page)
    unfold(tab)
    found = tab.evaluate(CONTRAST)
    assert found["texts"] > 1000
    assert found["weak"] == []


def test_the_themes_differ(tab, page):
    grounds = {}
    for scheme in ("light", "dark"):
        tab.look(1280, scheme)
        tab.open(page)
        unfold(tab)
        colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        grounds[scheme] = sum(map(int, re.findall(r"\d+", colour)))
    assert grounds["light"] > 600
    assert grounds["dark"] < 150


def test_on_paper_the_ground_is_white_and_tables_are_whole(tab, page):
    tab.look(1000, "dark", media="print")
    tab.open(page)
    unfold(tab)
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("getComputedStyle(document.querySelector('.scroll')).overflowX") == "visible"
    assert tab.evaluate(CONTRAST)["weak"] == []


def test_every_plot_is_there_with_its_lines_at_finite_places(tab, page, result):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    assert tab.evaluate("[...document.querySelectorAll('svg')].map(svg => svg.id)") == [
        *("pipeline", "spacing", "drift", "outputs-naive", "outputs-ss-sum", "ratio_public", "ratio_private")
    ]
    shapes = tab.evaluate("""[...document.querySelectorAll("svg .line, svg .bars")].map(p => {
      const b = p.getBBox(), v = p.ownerSVGElement.viewBox.baseVal;
      return [p.getTotalLength(), b.x >= 0, b.y >= 0, b.x + b.width <= v.width, b.y + b.height <= v.height] })""")
    plots = {plot.name: plot for section in result.sections for plot in section.plots}
    distinct = sum(len({(line.x, line.y) for line in plot.lines}) for plot in plots.values())
    assert len(shapes) == distinct
    assert all(length > 100 and all(inside) for length, *inside in shapes)
    places = re.findall(r'(?: d| x| y| cx| cy| width| height)="([^"]*)"', page.read_text())
    assert len(places) > 500
    assert not any(word in place for place in places for word in ("nan", "inf", "None", "e"))


def test_pictures_and_headings_make_sense_without_seeing(tab, page):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    assert tab.evaluate("document.documentElement.lang") == "en"
    assert tab.evaluate("document.title").startswith("Reproduced")
    levels = tab.evaluate("[...document.querySelectorAll('h1, h2, h3, h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    described = """[...document.querySelectorAll("svg")].map(svg => [svg.getAttribute("role"), svg
      .getAttribute("aria-labelledby").split(" ").every(id => document.getElementById(id)?.textContent.length > 9)])"""
    assert all(pair == ["img", True] for pair in tab.evaluate(described))
    assert tab.evaluate("[...document.querySelectorAll('figure')].every(f => f.querySelector('figcaption').innerText)")
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_the_verdict_is_on_top_in_words(tab, page, result):
    tab.look(390)
    tab.open(page)
    unfold(tab)
    assert tab.evaluate("document.querySelector('h1').innerText") == "✓ Reproduced"
    shown = one_line(tab.evaluate("document.querySelector('.tally').innerText"))
    tally = result.tally
    assert shown.startswith(f"{tally['matches']} ✓ match {tally['erratum']} ✎ are errata 0 ✗ differ")
    assert "quick run" in shown


def test_every_cell_is_a_row_with_its_numbers_and_its_verdict_in_words(tab, page, result):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    rows = tab.evaluate(ROWS)
    cells = [
        *(cell for section in result.sections for cell in section.cells),
        *(cell for section in result.sections for experiment in section.experiments for cell in experiment.cells),
    ]
    assert len(rows) == len(cells) > 80
    for (reference, row), cell in zip(rows, cells, strict=True):
        assert reference == place(cell.reference)
        told = [cell.verdict.value, cell.what, cell.at, cell.note, text(cell.printed), text(cell.found)]
        for words in (*told, *(f"{name}: {text(value)}" for name, value in cell.also)):
            assert raise_powers(one_line(words)) in row


def test_experiments_errata_and_pairs_are_all_there(tab, page, result):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    sections = {section.name: section for section in result.sections}
    cards = [
        one_line(card) for card in tab.evaluate("[...document.querySelectorAll('.experiment')].map(e => e.innerText)")
    ]
    for card, experiment in zip(cards, sections["libraries"].experiments, strict=True):
        for side in (experiment.left, experiment.right):
            printed = "– –" if side.printed is None else f"{side.printed:,} {experiment.runs - side.printed:,}"
            drawn = f"{side.simulated:,} {experiment.runs - side.simulated:,}"
            interval = f"{side.lowest:,} to {side.highest:,}"
            assert f"{printed} {drawn} {chance(side.probability)} {interval}" in card
        assert experiment.name in card
        assert experiment.mechanism in card
    errata = tab.evaluate("[...document.querySelectorAll('.erratum-row')].map(e => e.innerText)")
    for row, erratum in zip(errata, sections["errata"].errata, strict=True):
        where = place(erratum.reference)
        for words in (erratum.what, erratum.printed, erratum.works, where, text(erratum.corrected.found)):
            assert raise_powers(one_line(words)) in one_line(row)
    pairs = one_line(tab.evaluate("document.querySelector('.pairs').innerText"))
    for pair in sections["ours"].side_by_side:
        assert f"{pair.name} {pair.records:,} records" in pairs
    assert pairs.count("↯ yes") == pairs.count("✓ no") == len(sections["ours"].side_by_side)
    assert "soundsum reproduce --only errata" in body(tab)


def test_the_matrix_is_a_grid_that_says_what_was_printed(tab, page, result):
    tab.look(1280)
    tab.open(page)
    unfold(tab)
    grid = tab.evaluate("""[...document.querySelectorAll(".matrix tbody tr")].flatMap(row =>
      [...row.querySelectorAll("td")].map((cell, i) => [row.querySelector("th").innerText + " on "
        + document.querySelectorAll(".matrix thead th")[i].innerText, cell.innerText, cell.className]))""")
    cells = {cell.what: cell for section in result.sections if section.name == "matrix" for cell in section.cells}
    assert [what for what, _, _ in grid] == list(cells)
    for what, words, style in grid:
        assert str(cells[what].found) in words
        assert ("erratum" in words) == (cells[what].verdict == "erratum")
        assert style == ("works" if cells[what].found == "works" else "holds")


def test_words_are_words_and_not_markup(tab, tmp_path):
    odd = '<img src=x onerror="1"> & </style><script>1</script>'
    cell = Cell(odd, odd, odd, odd, at=odd, note=odd, also=((odd, odd),))
    plot = Plot("spacing", odd, odd, odd, (Line(odd, (1.0, 2.0), (1.0, 2.0)),), True, True)
    sections = Section("roadmap", odd, cells=(cell,)), Section("plots", "", plots=(plot,))
    path = tmp_path / "odd.html"
    write_page(Reproduction(False, sections, 0.0), path)
    tab.look(1280)
    tab.open(path)
    unfold(tab)
    assert tab.evaluate("document.querySelectorAll('img, script').length") == 0
    assert tab.evaluate("document.querySelector('tr.cell').innerText").count(odd) == 7
    assert odd in tab.evaluate("document.querySelector('#spacing').textContent")
    assert tab.complaints() == []


def test_what_differs_is_said_first(tab, tmp_path):
    wrong = Section("roadmap", "the roadmap", cells=(Cell("the limit", "sec:roadmap", 67, 47),))
    path = tmp_path / "wrong.html"
    write_page(Reproduction(True, (wrong,), 1.0), path)
    tab.look(390)
    tab.open(path)
    unfold(tab)
    assert tab.evaluate("document.querySelector('h1').innerText") == "✗ 1 differs"
    assert tab.evaluate("document.querySelector('tr.cell .verdict').innerText") == "✗ differs"
    assert "full run" in body(tab)
