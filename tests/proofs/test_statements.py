"""No statement is weakened unnoticed, and none rests on more than the standard library's reals."""

import re

import pytest

from .statements import ASSUMPTIONS, PAGES, PROOFS, STATEMENTS, axioms, every_theorem, named, statements, untold

AXIOMS = {
    "Classical_Prop.classic",
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
SOURCES = sorted(PROOFS.glob("*.v"))
COMMENT = r"\(\*.*?\*\)"


def test_the_statements_are_the_stored_ones():
    assert statements() == STATEMENTS.read_text()


def test_what_the_statements_speak_of_is_stored_too():
    """A theorem can be weakened through what it uses as well: a hypothesis that nothing meets, a larger bound."""
    assert untold(STATEMENTS.read_text()) == set()
    assert untold("A.b\nTrees.mags_of = Trees.mags + Trees.leaf") == {"Trees.mags_of", "Trees.leaf"}


def test_no_theorem_rests_on_more_than_the_stored_axioms():
    """Each of them has its line; those with the same axioms are asked together, which takes a fraction of the time."""
    stored = dict(line.split(": ", 1) for line in ASSUMPTIONS.read_text().splitlines())
    assert list(stored) == every_theorem()
    groups = {told: [name for name in stored if stored[name] == told] for told in dict.fromkeys(stored.values())}
    assert axioms(list(groups.values())) == list(groups)


def test_nothing_is_assumed_but_the_reals():
    lists = (line.split(": ")[1].split(", ") for line in ASSUMPTIONS.read_text().splitlines())
    assert {axiom for axioms in lists for axiom in axioms} <= AXIOMS | {"nothing"}


@pytest.mark.parametrize("page", [page for page in PAGES if page.parent.name == "theorems"], ids=lambda page: page.stem)
def test_every_page_names_its_theorems(page):
    assert len(named()[page.stem]) >= 2


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_nothing_is_left_open(file):
    code = re.sub(COMMENT, "", file.read_text(), flags=re.DOTALL)
    assert not re.search(r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|bypass_check)\b", code)
    assert not re.search(r"\bUnset (Guard|Positivity|Universe) Checking\b", code)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: file.stem)
def test_a_file_says_what_it_proves(file):
    """An opening comment, and every file that is checked is listed."""
    assert file.read_text().startswith("(** ")
    assert file.name in (PROOFS / "_CoqProject").read_text() or file.name == "Oracle.v"
