"""The site in a real browser, from disk: nothing is asked of another place, nothing complains, nothing is too wide."""

import json
import posixpath
import re
import subprocess
import sys
from functools import partial

import pytest
import typer
from website import pages, reference, way_picture
from website.pages import ROOT

import soundsum
from soundsum.cli.app import app
from tests.engines.counted import STORED

pytestmark = pytest.mark.xdist_group("site")  # which is built once

WIDTHS = (320, 390, 768, 1280)

TOO_WIDE = """[...document.querySelectorAll('article *')].filter(e => {
  for (let p = e; p && p.tagName !== 'ARTICLE'; p = p.parentElement)
    if (getComputedStyle(p).overflowX === 'auto' || getComputedStyle(p).position === 'absolute') return false;
  return e.getBoundingClientRect().right > innerWidth + 0.5 }).map(e => e.outerHTML.slice(0, 100))"""


def names(site):
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("*.html"))


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits_asks_for_nothing_elsewhere_and_complains_of_nothing(tab, site, width):
    found = {}
    for name in names(site):
        tab.look(width, "dark" if width == 390 else "light")
        tab.open(site / name)
        elsewhere = [url for url in tab.requests() if not url.startswith((site.as_uri(), "data:"))]
        wide = tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        outside = tab.evaluate(TOO_WIDE)
        if elsewhere or wide or outside or tab.complaints():
            found[name] = (elsewhere, wide, outside[:2], tab.complaints())
    assert found == {}


@pytest.mark.parametrize("width, cut", [(1280, ".highlight-sh pre, .highlight-python pre"), (390, ".highlight-sh pre")])
def test_no_line_of_code_is_cut(tab, site, width, cut):
    """On a phone Python scrolls, as it would be hard to read in pieces."""
    found = {}
    for name in ("index", "tutorial", "owners", "maintainers", "researchers", "comparison", "requests", "budget"):
        tab.look(width)
        tab.open(site / f"{name}.html")
        beyond = f"[...document.querySelectorAll('{cut}')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
        if tab.evaluate(beyond):
            found[name] = tab.evaluate(beyond)
    assert found == {}


@pytest.mark.parametrize("theme", way_picture.COLOURS)
def test_the_way_of_a_number_is_as_drawn(tab, site, theme):
    """And the page shows it in its own theme, large enough to read on a phone."""
    assert (ROOT / "docs" / "pictures" / f"way-{theme}.svg").read_text() == way_picture.draw(theme)
    tab.look(390, theme)
    tab.open(site / "verification.html")
    shown = "[...document.querySelectorAll('article img')].filter(e => e.offsetWidth)"
    ((name, width),) = tab.evaluate(f"{shown}.map(e => [e.className, e.offsetWidth])")
    assert name == f"only-{theme}"
    assert width * way_picture.SIZE / way_picture.WIDTH >= 9


def test_the_way_of_a_number_tells_how_many_answers_are_stored():
    said = {count for rows in way_picture.WAY.values() for _, count, _ in rows}
    assert f"{len(json.loads(STORED.read_text()))} answers each" in said


def test_what_the_browser_sees_would_be_noticed(tab, site, tmp_path):
    odd = tmp_path / "odd.html"
    odd.write_text('<article><p style="width: 3000px">x</p></article><script>missing()</script>')
    tab.look(320)
    tab.open(odd)
    assert tab.evaluate(TOO_WIDE)
    assert tab.complaints()


@pytest.mark.parametrize("word, page", [("sensitivity", "grid"), ("max_groups", "Statistics"), ("ledger", "budget")])
def test_a_word_is_found_by_searching(tab, site, word, page):
    tab.look(1280)
    tab.call("Page.navigate", url=f"{(site / 'search.html').as_uri()}?q={word}")
    tab.evaluate(
        "new Promise(done => { const look = () => document.querySelector('#search-results li a') && "
        "document.querySelector('#search-results p:not(:empty)') "
        "? setTimeout(done, 500) : setTimeout(look, 50); look() })"
    )
    results = tab.evaluate("[...document.querySelectorAll('#search-results li')].map(e => e.innerText)")
    assert any(page.lower() in result.lower() for result in results), results


def test_every_public_name_and_command_has_its_place(site):
    index = (site / "genindex.html").read_text()
    for name in set(soundsum.__all__) - {"__version__"}:
        assert f"#soundsum.{name}" in index, name
    commands = (site / "reference" / "commands.html").read_text()
    for name, command in typer.main.get_command(app).commands.items():
        for full in [f"soundsum {name} {inner}" for inner in getattr(command, "commands", {})] or [f"soundsum {name}"]:
            assert f"<h2>{full}<" in commands, full


def test_a_name_without_a_place_in_the_reference_is_an_error(monkeypatch):
    monkeypatch.setattr(reference, "GROUPS", {"plans": reference.GROUPS["plans"]})
    with pytest.raises(ValueError, match=r"public names without a place in the reference: .*Attack"):
        reference.pages()


def test_a_warning_is_an_error(tmp_path):
    (tmp_path / "index.md").write_text("# A page\n\n[nowhere](nowhere.md)\n")
    command = [sys.executable, "-c", "import sys, website.__main__ as w; sys.exit(w.build(*map(w.Path, sys.argv[1:])))"]
    run = partial(subprocess.run, [*command, tmp_path, tmp_path / "out"], cwd=ROOT, capture_output=True, text=True)
    assert "'nowhere.md'" in (failed := run()).stderr
    assert failed.returncode == 1
    (tmp_path / "index.md").write_text("# A page\n\n[here](index.md)\n")
    assert run().returncode == 0


def test_what_is_not_disclosed_is_not_on_the_site(site):
    assert not [name for name in names(site) if "undisclosed" in name]
    with pytest.raises(ValueError, match="not on the site"):
        pages.target_of("docs/audits.md", "../undisclosed/README.md")
    hidden = [path for path in (ROOT / "undisclosed").rglob("*.py") if path.stat().st_size > 200]
    shown = "\n".join(path.read_text() for path in (ROOT / "build" / "docs").rglob("*.md"))
    assert hidden or not (ROOT / "undisclosed").exists()  # a published repository has none
    for path in hidden:
        assert path.read_text().strip() not in shown, path


def test_every_page_is_in_the_contents(site):
    built, listed = ROOT / "build" / "docs", {"index.md"}
    for index in ("index.md", *pages.FOLDERS):
        for block in re.findall(r"^```{toctree}\n(.*?)^```$", (built / index).read_text(), re.MULTILINE | re.DOTALL):
            entries = re.findall(r"^(?:.*<)?([^<>\n]+\.md)>?$", block, re.MULTILINE)
            listed |= {posixpath.normpath(posixpath.join(posixpath.dirname(index), entry)) for entry in entries}
    for path in (ROOT / "docs").rglob("*.md"):
        assert pages.page_of(path.relative_to(ROOT).as_posix()) in listed, path


def test_notebooks_are_shown_with_what_they_printed(site):
    for notebook in (ROOT / "examples").glob("*.ipynb"):
        printed = [
            output["text"][0]
            for cell in json.loads(notebook.read_text())["cells"]
            for output in cell.get("outputs", ())
            if output["output_type"] == "stream"
        ]
        assert printed
        shown = (ROOT / "build" / "docs" / "notebooks" / f"{notebook.stem}.md").read_text()
        assert all(text in shown for text in printed)
