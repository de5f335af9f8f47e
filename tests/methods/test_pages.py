"""Every method's theorem has its page, every page its method, and links lead somewhere."""

import re
from pathlib import Path

import pytest

from soundsum.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
APART = {"attack_proofs", "gradients", "groups", "lemmas", "noise", "quantiles", "statistics", "README"}
PAGES = {page.stem: page.read_text() for page in sorted((DOCS / "theorems").glob("*.md")) if page.stem not in APART}
"""One for each summation method; lemmas, attacks, and statistics built from sums have pages of their own."""
THEOREMS = {method.theorem.name: method.theorem for method in METHODS.values()}


def headings(text):
    return set(re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE))


def anchors(text):
    """The names GitHub gives to a page's headings."""
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings(text)}


def test_every_theorem_has_a_page_and_every_page_a_theorem():
    assert PAGES.keys() == THEOREMS.keys()


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_a_page_says_what_where_and_why(name):
    page = PAGES[name]
    assert {"Statement", "Conditions", "Proof"} <= headings(page)
    assert f"`{THEOREMS[name].reference}`" in page
    assert page.startswith(f"# {name}\n")


@pytest.mark.parametrize("label", METHODS)
def test_a_page_names_each_of_its_methods(label):
    assert f"`{label}`" in PAGES[METHODS[label].theorem.name]


@pytest.mark.parametrize("name", sorted(THEOREMS))
def test_the_index_lists_every_page(name):
    assert f"]({name}.md)" in (DOCS / "theorems" / "README.md").read_text()


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\((?!https://)([^)#:]*)#?([^)]*)\)", page.read_text()):
        found = (page.parent / target) if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), f"{target}#{anchor}"
