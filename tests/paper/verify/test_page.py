"""docs/verification/methods.md has a row for every method, without an empty cell, and names theorems that there are."""

import re
from pathlib import Path

from soundsum.methods import METHODS

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "verification"
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in re.findall(r"^\|.*\|$", (PAGES / "methods.md").read_text(), re.MULTILINE)[2:]
]


def test_every_method_has_a_row_without_an_empty_cell():
    named = {label for row in ROWS for label in re.findall(r"`([\w*]+)`", row[0])}
    assert named - {"shifted_*", "grid_*"} == {label for label in METHODS if not label.startswith("shifted_")}
    for row in ROWS:
        assert len(row) == 3
        assert all(row), row


def test_the_theorems_named_are_stored():
    stored = {line.split(":")[0] for line in (ROOT / "proofs" / "assumptions.txt").read_text().splitlines()}
    for row in ROWS:
        theorems = re.findall(r"`(\w+\.\w+)`", row[1])
        assert theorems
        assert set(theorems) <= stored, row[0]


def test_the_full_run_looked_at_every_method():
    page = (PAGES / "enumeration.md").read_text()
    looked_at = re.findall(r"^\| (\w+) \| [\d,]+ \| [\d,]+ \| 0 \|", page, re.MULTILINE)
    assert set(METHODS) <= set(looked_at)
