"""Environments for libraries: made from pins with hashes, used again, removed; and clear words where that fails."""

import hashlib
import subprocess
import zipfile

import pytest

from soundsum.auditor import environments
from soundsum.auditor.adapters import HERE, NAMES, open_adapter, split_name
from soundsum.refusals import Reason
from tests.refusing import refused


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """A folder with one wheel, which is all that pip can find, and an empty cache."""
    wheel = tmp_path / "shelf" / "tiny-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as files:
        files.writestr("tiny.py", "answer = 42\n")
        files.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        files.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        files.writestr("tiny-1.0.dist-info/RECORD", "")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    monkeypatch.setenv("SOUNDSUM_CACHE", str(tmp_path / "cache"))
    return wheel


def pins(wheel, digest=None):
    path = wheel.parent / "tiny.txt"
    path.write_text(f"tiny==1.0 --hash=sha256:{digest or hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    return path


@pytest.mark.slow
def test_an_environment_is_made_once_and_removed(shelf):
    python = environments.install("tiny", pins(shelf))
    said = subprocess.run([python, "-c", "import tiny; print(tiny.answer)"], capture_output=True, text=True)
    assert said.stdout == "42\n"
    made = python.stat().st_ino
    assert environments.install("tiny", pins(shelf)).stat().st_ino == made
    (removed,) = environments.clean()
    assert removed[0] == python.parent.parent
    assert removed[1] > 1 << 20
    assert not python.exists()
    assert environments.clean() == []


@pytest.mark.slow
def test_a_wheel_that_is_not_the_pinned_one_is_refused(shelf):
    with refused("install", Reason.ABSENT, environments.NotInstalled, library="tiny") as error:
        environments.install("tiny", pins(shelf, "0" * 64))
    assert "HASHES" in error.value.facts["said"]
    assert environments.environments() == []


@pytest.mark.slow
def test_without_a_network_it_says_so(shelf, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf.parent.parent))
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with refused("install", Reason.ABSENT, environments.NotInstalled, library="tiny") as error:
        environments.install("tiny", pins(shelf))
    assert "said" not in error.value.facts  # pip's words would not help


@pytest.mark.parametrize("spec", ["--index-url=x", "git+ssh://host/tiny", "tiny @ file:///x", "./tiny", "-r x", "a b"])
def test_a_spec_is_a_name_with_a_version(shelf, spec):
    with refused("spec", Reason.MALFORMED, environments.NotInstalled, given=repr(spec)):
        environments.install("tiny", pins(shelf), spec)


def test_another_version_is_held_to_the_other_pins(shelf):
    path = shelf.parent / "more.txt"
    path.write_text("--only-binary :all:\nTiny==1.0 \\\n    --hash=sha256:00\nnumpy==2.0 \\\n    --hash=sha256:00\n")
    assert environments._constraints(path, "tiny") == "numpy==2.0\n"


def test_other_pins_are_another_place(shelf):
    one = environments.environment_for("tiny", pins(shelf)).path
    assert environments.environment_for("tiny", pins(shelf), "tiny==2").path != one
    assert environments.environment_for("tiny", pins(shelf, "0" * 64)).path != one


@pytest.mark.parametrize("name", NAMES)
def test_every_adapter_pins_its_library_with_hashes(name):
    lines = (HERE / f"{name.replace('-', '_')}.txt").read_text().replace("\\\n", " ").splitlines()
    pinned = [line for line in lines if not line.startswith("--")]
    assert all(" --hash=sha256:" in line and "==" in line for line in pinned)
    assert any(f"{name}-".startswith(f"{environments._project(line)}-") for line in pinned)


def test_names_of_libraries_and_functions():
    assert split_name("tmlt.analytics.sum.float64") == ("tmlt-analytics", "sum.float64")
    assert split_name("pipeline_dp") == ("pipeline-dp", None)
    assert split_name("numpy.sum") is None
    with refused("name", Reason.UNKNOWN, ValueError, given="'opendpp'") as error:
        open_adapter("opendpp")
    assert error.value.facts["near"].startswith("opendp ")
    with refused("name", Reason.UNKNOWN, ValueError, known=", ".join(NAMES)):
        open_adapter("qqqqqqq")
