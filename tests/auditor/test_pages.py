"""The auditor's pages: their Python runs, their commands end as they say, every rule and verdict is known to them."""

import re
import shlex
from pathlib import Path

import pytest

from soundsum.attacks import FAMILIES
from soundsum.auditor.finding import Verdict
from soundsum.auditor.plain_pairs import STATEMENTS
from soundsum.auditor.rules import RULES
from soundsum.auditor.target_attacks import FURTHER
from tests import processes

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["auditor.md", "adapters.md"])
def test_the_pages_python_runs(page):
    namespace = {"__name__": "page"}
    for block in blocks(page, "python"):
        exec(compile(block, page, "exec"), namespace)
    assert namespace


@pytest.mark.slow
def test_the_commands_end_as_the_page_says(tmp_path):
    (block,) = blocks("auditor.md", "sh")
    codes = []
    for line in block.splitlines():
        words = shlex.split(line, comments=True)
        codes.append(processes.run([processes.COMMAND, *words[1:]], cwd=tmp_path).returncode)
    assert codes == [1, 0]


def test_every_verdict_is_explained_and_every_family_has_a_rule():
    page = (DOCS / "auditor.md").read_text()
    assert all(f"`{verdict}`" in page for verdict in Verdict)
    assert {*FAMILIES, *STATEMENTS, *FURTHER} - {"special_values"} <= RULES.keys()
