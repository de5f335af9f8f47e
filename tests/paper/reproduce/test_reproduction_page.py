"""docs/reproduction.md says what the command computes."""

import re
from pathlib import Path

from soundsum.numbers.formatting import chance
from soundsum.paper.reproduce import SECTIONS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reproduction.md").read_text()


def test_every_section_is_on_the_page_in_order():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(SECTIONS)


def test_the_table_of_libraries_is_what_the_models_give(all_experiments):
    for e in all_experiments:
        left, right = ("" if side.printed is None else f" {side.printed:,}" for side in (e.left, e.right))
        chances = chance(e.left.probability), chance(e.right.probability)
        assert f"| {e.name} | {e.runs:,} |{left} | {chances[0]} |{right} | {chances[1]} |" in PAGE


ITEMS = re.findall(r"^\| (\d+) \| ([\w ]+) \| (.+?) \| (.*?) \| (.+) \|$", PAGE, re.MULTILINE)


def test_the_items_of_the_paper_are_listed_in_order_each_with_files_that_exist():
    assert len(ITEMS) == 146
    assert f"All {len(ITEMS)} definitions" in PAGE
    lines = [int(line) for line, *_ in ITEMS]
    assert lines == sorted(set(lines))
    for _, _, what, _, where in ITEMS:
        links = re.findall(r"\]\(([^)]+)\)", where)
        assert links, what
        for link in links:
            assert (ROOT / "docs" / link).resolve().is_file(), link


def test_every_item_the_code_refers_to_is_on_the_list():
    labels = {label for *_, named, _ in ITEMS for label in re.findall(r"`([^`]+)`", named)}
    kinds = ("thrm", "thm", "lemma", "prop", "cor", "defn", "def", "ea", "al", "table", "fig", "rem", "method", "note")
    referred = {
        label
        for folder in ("src/soundsum", "docs")
        for file in (ROOT / folder).rglob("*.[pm][yd]")
        for label in re.findall(rf"`((?:{'|'.join(kinds)}):[\w-]+)`", file.read_text())
    }
    assert len(referred) > 50
    assert referred <= labels
