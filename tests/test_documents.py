"""What the documents say runs: their Python from top to bottom, then their commands, in a folder of their own."""

import math
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
COMMAND = Path(sys.executable).with_name("soundsum")
SLOW = ("make", "soundsum verify", "soundsum reproduce")  # other tests run these


DOCUMENTS = [
    "README.md",
    "docs/README.md",
    "docs/tutorial.md",
    "docs/owners.md",
    "docs/maintainers.md",
    "docs/when-not.md",
]


def blocks(document, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in blocks(document, "python"):
        exec(compile(block, document, "exec"), namespace)
    commands = [line for block in blocks(document, "sh") for line in block.splitlines() if line.strip()]
    for command in commands:
        if not command.startswith(SLOW):
            ran = subprocess.run([COMMAND, *shlex.split(command, comments=True)[1:]], capture_output=True, text=True)
            assert ran.returncode == 0, (command, ran.stderr)
    assert commands or namespace
    if document == "README.md":  # the numbers in its comments
        a, ss = namespace["a"], namespace["ss"]
        assert (a.records, a.measure() / a.ideal, a.measure("grid") / a.ideal) == (129, 128, 1)
        assert a.measure(math.fsum) / a.ideal == 128
        assert ss.attack("tree_rounding").measure(np.sum) == 16 * ss.attack("tree_rounding").ideal
        assert ss.attack("path", target=np.sum).ratio == 65536


@pytest.mark.parametrize("document", ["docs/engines/duckdb.md", "docs/engines/polars.md"])
def test_pages_of_engines_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(document, "python")
    exec(compile(block, document, "exec"), {})


def test_the_tutorial_is_right_about_its_numbers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in blocks("docs/tutorial.md", "python"):
        exec(compile(block, "tutorial", "exec"), namespace)
    total = float(np.clip(namespace["visits"]["cost"].to_numpy(), 0, 2000).sum())
    assert abs(namespace["r"].value - total) < 30 * 2000  # e^-30 of the time it is further off
    assert len(namespace["by_ward"]) == 4
    assert namespace["budget"].spent.epsilon == 2
    assert abs(namespace["age"].value - namespace["visits"]["age"].to_numpy().mean()) < 15


def test_the_commands_in_the_researchers_table_are_commands():
    found = re.findall(r"`soundsum ([a-z]+)", (ROOT / "docs/researchers.md").read_text())
    help_text = subprocess.run([COMMAND, "--help"], capture_output=True, text=True).stdout
    assert len(found) > 5
    assert all(re.search(rf"\b{name}\b", help_text) for name in found)
