"""Phrases that readers stumbled over are gone from what they see: README, pages, help, report, public docstrings."""

import inspect
import re
from pathlib import Path

from website import reference

import soundsum

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
)


def texts():
    paths = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "VERSIONS.md")]
    paths += [*(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").iterdir()]
    paths += [*(ROOT / "src/soundsum/cli").glob("*.py"), *(ROOT / "src/soundsum/report/templates").iterdir()]
    for path in paths:
        yield path.relative_to(ROOT).as_posix(), path.read_text()
    yield "help", reference.pages()["reference/commands.md"]
    for name in soundsum.__all__:
        yield name, inspect.getdoc(getattr(soundsum, name)) or ""


def test_phrases_that_readers_stumbled_over_are_gone():
    found = [(place, phrase) for place, text in texts() for phrase in GONE if re.search(_loosely(phrase), text)]
    assert found == []


def _loosely(phrase):
    """Over the ends of lines too."""
    return phrase.replace(" ", r"\s+")
