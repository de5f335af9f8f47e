"""What is exported for publication holds neither withheld findings nor history, or nothing is exported."""

import subprocess
from pathlib import Path

import pytest
from audits.export import ExportRefused, export, leaks, withheld_names

ROOT = Path(__file__).parents[2]


def git(place, *arguments):
    name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", "-C", place, *name, *arguments], check=True, capture_output=True)


def commit(place, files):
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    git(place, "add", "--all")
    git(place, "commit", "--quiet", "--message", "more")


@pytest.fixture
def repository(tmp_path):
    place = tmp_path / "repository"
    place.mkdir()
    git(place, "init", "--quiet")
    commit(place, {"src/a.py": "print(1)\n", "undisclosed/lib/programs/sum.f.rounding.py": "print(2)\n"})
    return place


def test_an_export_has_every_file_but_what_is_withheld_and_no_history(repository, tmp_path):
    assert export(repository, tmp_path / "out") == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["src"]
    assert (tmp_path / "out" / "src" / "a.py").read_text() == "print(1)\n"


@pytest.mark.parametrize("text", ["see sum.f.rounding", "sum.f.rounding.py shows it"])
def test_a_file_that_names_a_withheld_finding_is_refused(repository, tmp_path, text):
    commit(repository, {"docs/page.md": text})
    with pytest.raises(ExportRefused, match=r"page\.md names sum\.f\.rounding"):
        export(repository, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_not_committed_or_would_be_mixed_up_is_refused(repository, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    with pytest.raises(ExportRefused, match="not empty"):
        export(repository, tmp_path / "out")
    (repository / "src" / "a.py").write_text("print(3)\n")
    with pytest.raises(ExportRefused, match="commit or undo"):
        export(repository, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(ExportRefused, match="not a git repository"):
        export(tmp_path, tmp_path / "new")


def test_a_folder_of_that_name_anywhere_is_a_leak(tmp_path):
    (tmp_path / "docs" / "undisclosed").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert list(leaks(tmp_path, ())) == [".git", "docs/undisclosed"]


def test_nothing_that_is_published_names_a_withheld_finding():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = withheld_names(ROOT / "undisclosed")
    for file in tracked.splitlines():
        path = ROOT / file
        if not file.startswith("undisclosed/") and path.is_file():
            text = path.read_bytes()
            assert not [name for name in names if name.encode() in text], file
