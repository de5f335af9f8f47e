"""docs/reproduction.md says what the command computes."""

import re
from pathlib import Path

from soundsum.arithmetic.words import chance
from soundsum.reproduce import SECTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()


def test_every_section_is_on_the_page_in_order():
    assert re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE) == list(SECTIONS)


def test_the_table_of_libraries_is_what_the_models_give(all_experiments):
    for e in all_experiments:
        left, right = ("" if side.printed is None else f" {side.printed:,}" for side in (e.left, e.right))
        chances = chance(e.left.probability), chance(e.right.probability)
        assert f"| {e.name} | {e.runs:,} |{left} | {chances[0]} |{right} | {chances[1]} |" in PAGE
