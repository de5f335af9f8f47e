"""What readers see has no phrase that they stumbled over and no label of LaTeX: README, pages, help, docstrings."""

import inspect
import re
from pathlib import Path

from website import reference

import soundsum as ss
from soundsum.attacks import FAMILIES

ROOT = Path(__file__).parent.parent

GONE = (
    r"times its due|at most its due",
    r"that may ever be let out",
    r"nobody shall be able",
    r"what is no number is missing",
    r"a ledger there is",
    r"by so many ideals",
    r"works: does not",
    r"rounding II?\b",
    r"is no (number|double|float|date|value|condition|setting|power)\b",
    r"lets out|that (is|was|are|were) let out",
    r"(added|clipped|taken|bounded|truncated) apart\b",
    r"beside data that is|fulfil all|[Nn]umbers that go up|as many cells of one",
    r"Gaps? mended|holding never increases|sums? (is|are) held",
    r"most telling|gravest|as machines do unasked",
    r"(holds|applies) as it stands|(writes|makes|made) (it )?anew",
    r"what is none is in no group",
)

LABEL = re.compile(r"\b(thrm|thm|prop|sec|rem|lemma|cor|ea|al):")
"""Of the paper's LaTeX source, which a reader of it does not see."""


def texts():
    paths = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "VERSIONS.md")]
    paths += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]
    paths += [*(ROOT / "src/soundsum/cli").rglob("*.py"), *(ROOT / "src/soundsum/pages/templates").iterdir()]
    for path in paths:
        yield path.relative_to(ROOT).as_posix(), path.read_text()
    yield "help", reference.pages()["reference/commands.md"]
    for name in ss.__all__:
        yield name, inspect.getdoc(getattr(ss, name)) or ""


def test_phrases_that_readers_stumbled_over_are_gone():
    found = [(place, phrase) for place, text in texts() for phrase in GONE if re.search(_loosely(phrase), text)]
    assert found == []


def test_plans_and_attacks_name_places_in_the_paper_in_words():
    problems = [ss.Problem("float64", -1, 1, max_size=9), ss.Problem("int8", 0, 1, "change_one", size=9)]
    plans = [plan.explain() for problem in problems for plan in ss.plans(problem)]
    attacks = [ss.attack(name).explain() for name in FAMILIES]
    assert [said for said in plans + attacks if LABEL.search(said)] == []


def _loosely(phrase):
    """Over the ends of lines too."""
    return phrase.replace(" ", r"\s+")
