"""docs/paper/reproduction.md says what the command computes; items.csv beside it lists each item of the paper."""

import csv
import re
from pathlib import Path

from soundsum.numbers.formatting import chance
from soundsum.paper.reproduce import SECTIONS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "paper" / "reproduction.md").read_text()


def test_every_section_is_on_the_page_in_order():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(SECTIONS)


def test_the_table_of_libraries_is_what_the_models_give(all_experiments):
    for e in all_experiments:
        left, right = ("" if side.printed is None else f" {side.printed:,}" for side in (e.left, e.right))
        chances = chance(e.left.probability), chance(e.right.probability)
        assert f"| {e.name} | {e.runs:,} |{left} | {chances[0]} |{right} | {chances[1]} |" in PAGE


with (ROOT / "docs" / "paper" / "items.csv").open() as file:
    ITEMS = list(csv.DictReader(file))


def test_the_items_of_the_paper_are_listed_in_order_each_with_files_that_exist():
    assert len(ITEMS) == 146
    assert f"all {len(ITEMS)} definitions" in PAGE
    lines = [int(item["line"]) for item in ITEMS]
    assert lines == sorted(set(lines))
    for item in ITEMS:
        files = item["files"].split()
        assert files, item
        assert [path for path in files if not (ROOT / path).is_file()] == []


def test_every_item_the_code_refers_to_is_on_the_list():
    labels = {label for item in ITEMS for label in item["label"].split()}
    kinds = ("thrm", "thm", "lemma", "prop", "cor", "defn", "def", "ea", "al", "table", "fig", "rem", "method", "note")
    referred = {
        label
        for folder in ("src/soundsum", "docs")
        for file in (ROOT / folder).rglob("*.[pm][yd]")
        for label in re.findall(rf"`((?:{'|'.join(kinds)}):[\w-]+)`", file.read_text())
    }
    assert len(referred) > 50
    assert referred <= labels
