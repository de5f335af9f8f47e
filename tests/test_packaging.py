"""What a release is made of: one wheel for the stable ABI, the systems it is built for, nothing that must stay out."""

import re
import tomllib
from pathlib import Path

import soundsum

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text()
EXPLORE = (ROOT / ".github" / "workflows" / "explore.yml").read_text()


def test_one_wheel_serves_3_12_and_later_and_3_11_has_its_own():
    assert SETTINGS["tool"]["scikit-build"]["wheel"]["py-api"] == "cp312"
    assert SETTINGS["tool"]["cibuildwheel"]["build"] == ["cp311-*", "cp312-*"]
    assert "STABLE_ABI" in (ROOT / "CMakeLists.txt").read_text()


def test_every_system_has_a_machine_that_builds_for_it():
    machines = re.search(r"on: \[(.*)\]", WORKFLOW)[1]
    for system in ("ubuntu-24.04,", "ubuntu-24.04-arm", "macos-14", "macos-15-intel", "windows-2022"):
        assert system in f"{machines},"
    assert {"linux", "macos", "windows"} <= SETTINGS["tool"]["cibuildwheel"].keys()


def test_nothing_is_published_unless_exploring_found_nothing():
    """In the commit that is published, and in the last run on main, which the schedule starts."""
    needed = re.search(r"\n  publish:\n    needs: \[(.*)\]\n", WORKFLOW)[1].split(", ")
    assert {"explore", "explored"} <= set(needed)
    assert "\n  explore:\n    uses: ./.github/workflows/explore.yml\n" in WORKFLOW
    assert "--workflow explore.yml --branch main" in WORKFLOW
    assert re.search(r'\n  schedule:\n    - cron: "[0-9* ]+"\n', EXPLORE)
    assert 'run: make explore ARGS="--minutes ' in EXPLORE


def test_the_version_has_its_changes():
    assert f"\n## {soundsum.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert "deprecat" in (ROOT / "VERSIONS.md").read_text()


def test_it_can_be_cited_by_its_version():
    told = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert (told["version"], told["license"]) == (soundsum.__version__, SETTINGS["project"]["license"])
    assert told["cff-version"] == "1.2.0"


def test_every_system_is_said_to_have_been_tried_or_not():
    page = (ROOT / "docs" / "installing.md").read_text()
    for system in ("Linux, x86-64", "Linux, arm64", "macOS", "Windows", "Clang"):
        assert re.search(rf"\| {system}.*\|.*(run|used|checks|built).*\|", page), system
