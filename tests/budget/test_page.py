"""The examples of docs/budget.md give what they say."""

import doctest
from pathlib import Path


def test_the_page_s_examples_run():
    page = Path(__file__).parents[2] / "docs" / "budget.md"
    results = doctest.testfile(str(page), module_relative=False)
    assert results.attempted > 5
    assert results.failed == 0
