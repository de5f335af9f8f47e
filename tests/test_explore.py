"""`make test` tries the same examples every time and everywhere; `make explore` tries others and says what fails."""

import os
import sys
from pathlib import Path

import pytest

from tests import processes

ROOT = Path(__file__).parent.parent
PROBE = """
{imports}
from hypothesis import given, settings, strategies as st

@settings(max_examples=100)
@given(st.integers(), st.floats(), st.text())
def test_probe(x, y, z):
    with open("drawn", "a") as out:
        print(ascii((x, y, z)), file=out)
    assert x < {limit}
"""


@pytest.fixture
def probe(tmp_path, monkeypatch):
    """Runs a module on one property test, with this suite's settings: what it said, and the examples it tried."""
    monkeypatch.setenv("PYTEST_PLUGINS", "tests.conftest")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(tmp_path)]))
    (tmp_path / "odd.py").write_text("ODD = [1234567891011, 0.1234567891011, 'a constant of a module']\n")
    drawn = tmp_path / "drawn"

    def run(*arguments, imports="", limit=10**99):
        (tmp_path / "test_probe.py").write_text(PROBE.format(imports=imports, limit=limit))
        drawn.write_text("")
        command = [sys.executable, "-m", *arguments, "test_probe.py"]
        result = processes.run(command, cwd=tmp_path, text=True)
        return result, drawn.read_text().splitlines()

    return run


def test_examples_depend_on_the_test_alone(probe):
    """Not on the run, and not on what other tests have imported, where Hypothesis would find constants to try."""
    drawn = []
    for imports in ("", "import odd, soundsum.privacy.planner"):
        result, examples = probe("pytest", "-p", "no:cacheprovider", imports=imports)
        assert result.returncode == 0, result.stdout
        drawn.append(examples)
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) >= 100


def test_a_seed_has_its_own_examples(probe, monkeypatch):
    """In CI too, where Hypothesis would fix the examples by itself and nothing new would ever be explored."""
    drawn = []
    for ci, seed in (("", "1"), ("true", "1"), ("true", "2")):
        monkeypatch.setenv("CI", ci) if ci else monkeypatch.delenv("CI", raising=False)
        result, examples = probe("tests.explore", "--processes", "0", "--seed", seed)
        assert result.returncode == 0, result.stdout
        drawn.append(examples)
    first, again, other = drawn
    assert first == again != other
    assert len(first) >= 100


def test_exploring_says_which_example_fails_and_how_to_keep_it(probe):
    result, _ = probe("tests.explore", "--processes", "1", "--minutes", "0", limit=1000)
    assert result.returncode == 1, result.stdout
    assert "fails with seed" in result.stdout
    assert "x=1000" in result.stdout
    assert "@example(" in result.stdout
    assert result.stdout.endswith("failed: test_probe.py::test_probe\n")


def test_exploring_nothing_does_not_end_well(probe):
    result, examples = probe(
        *("tests.explore", "--processes", "0", "--minutes", "0"),
        imports="import pytest; pytestmark = pytest.mark.skip",
    )
    assert (result.returncode, examples) == (2, [])
    assert "no property test was tried" in result.stderr
