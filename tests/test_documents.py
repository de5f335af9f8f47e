"""What the documents say runs: their Python from top to bottom, then their commands, in a folder of their own."""

import inspect
import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from website.arguments import list_arguments

import soundsum as ss
from soundsum.engines import ENGINES
from tests import processes
from tests.processes import COMMAND

ROOT = Path(__file__).parent.parent
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
            ran = processes.run([COMMAND, *shlex.split(command, comments=True)[1:]], text=True)
            assert ran.returncode == 0, (command, ran.stderr)
    assert commands or namespace
    if document == "README.md":  # the numbers in its comments
        a = namespace["a"]
        assert (a.records, a.measure() / a.ideal, a.measure("grid") / a.ideal) == (129, 128, 1)
        assert a.measure(math.fsum) / a.ideal == 128  # a correctly rounded sum does no better


@pytest.mark.parametrize("document", ["docs/engines/duckdb.md", "docs/engines/polars.md", "docs/engines/sqlite.md"])
def test_pages_of_engines_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(document, "python")
    exec(compile(block, document, "exec"), {})


def test_the_page_on_partials_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in blocks("docs/partials.md", "python"):
        exec(compile(block, "partials", "exec"), namespace)
    assert namespace["budget"].left.epsilon == 0
    assert list(namespace["rows"]) == ["eye", "skin"]


def test_the_page_on_writing_an_engine_runs():
    namespace = {}
    try:
        for block in blocks("docs/engines/writing.md", "python"):
            exec(compile(block, "writing", "exec"), namespace)
    finally:
        ENGINES.forget("rows")


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


def test_the_tutorial_plans_for_persons_and_shows_what_is_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in blocks("docs/tutorial.md", "python"):
        exec(compile(block, "tutorial", "exec"), namespace)
    plan, persons, owner = namespace["plan"], namespace["persons"], namespace["owner"]
    assert abs(persons.error(epsilon=1) / plan.error(epsilon=1) - 20) < 0.01
    assert owner.plan("cost", by="ward", max_groups=4).error(epsilon=1) == persons.error(epsilon=1)
    shown, found = blocks("docs/tutorial.md", "text")
    printed = ss.sum(
        namespace["visits"], 0, 2_000, 1, column="cost", by="ward", groups=["eye", "heart", "skin", "rare"]
    )
    fixed = [0, 1, -2, -1]  # the lines without noise
    assert [shown.splitlines()[i].split() for i in fixed] == [repr(printed).splitlines()[i].split() for i in fixed]
    plan = ss.plan_groups(epsilon="1/2", delta="1e-9", max_groups=2)
    printed_plan, _, heading, *_ = f"{plan}\n{namespace['found']!r}".splitlines()
    assert found.split()[: len(printed_plan.split()) + len(heading.split())] == f"{printed_plan} {heading}".split()


def test_numbers_in_comments_of_when_not_are_those_of_its_plans():
    (block,) = blocks("docs/when-not.md", "python")
    namespace = {}
    exec(block, namespace)
    said = [float(x.replace(",", "")) for x in re.findall(r"\d+,\d{3}", block)]
    assert said == [int(namespace[name].error(epsilon=1)) for name in ("plan", "persons")]


@pytest.mark.parametrize("described", [ss.Private, ss.Private.release, ss.sum], ids=lambda thing: thing.__qualname__)
def test_each_cap_and_each_place_has_a_text_of_its_own_in_the_reference(described):
    lines = inspect.getdoc(described).splitlines()
    list_arguments(None, "class", "", described, None, lines)
    fields = re.findall(r"^:param (\w+): (.*(?:\n   .*)*)", "\n".join(lines), re.MULTILINE)
    texts = [text for name, text in fields if name in ("max_rows", "max_groups", "table", "engine")]
    assert len(texts) >= 2
    assert len(set(texts)) == len(texts)


def test_the_commands_in_the_researchers_table_are_commands():
    found = re.findall(r"`soundsum ([a-z]+)", (ROOT / "docs/researchers.md").read_text())
    help_text = processes.run([COMMAND, "--help"], text=True).stdout
    assert len(found) > 5
    assert all(re.search(rf"\b{name}\b", help_text) for name in found)
