"""docs/attacks.md names every family, and its examples and commands run."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from soundsum.attacks import FAMILIES
from soundsum.cli.app import app

PAGE = (Path(__file__).parents[2] / "docs" / "attacks.md").read_text()
COMMANDS = re.findall(r"(?:^|`)soundsum (attack (?:show|deliver) [^`\n]+?)(?:`|$)", PAGE, re.MULTILINE)


def test_every_family_is_on_the_page_with_a_command():
    shown = [command.split()[2] for command in COMMANDS]
    assert set(FAMILIES) <= set(shown)


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
def test_the_python_on_the_page_runs(code):
    exec(compile(code, "docs/attacks.md", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_on_the_page_run(command):
    done = CliRunner().invoke(app, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert done.output
