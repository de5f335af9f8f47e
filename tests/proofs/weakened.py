"""`python -m tests.proofs.weakened [word ...]`: weakens definitions and code, one place at a time; something must fail.

The changes are those of weakened.toml. A definition is changed in a copy of the compiled proofs (`make -C proofs check`
compiles them), code in place, for as long as its test runs. Prints the table of proofs/README.md, and exits with 1 if a
change goes unnoticed. Words choose the weakenings that have one of them in their file or description.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
WEAKENINGS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["weakening"]

STATEMENT = re.compile(r"^(?:Theorem|Lemma|Corollary|Definition|Fixpoint) (\w+)", re.MULTILINE)


def main(chosen: list[str]) -> int:
    weakenings = [one for one in WEAKENINGS if any(word in f"{one['what']} {one['file']}" for word in chosen or [""])]
    for file in sorted({one["test"] for one in weakenings if "test" in one}):
        assert run_tests(file) is None, f"{file} fails as it is"
    unnoticed = 0
    print("| what is weakened | where | what fails |\n|---|---|---|", flush=True)
    for one in weakenings:
        noticed = find_failed_test(one) if "test" in one else find_broken_proof(one)
        unnoticed += noticed is None
        print(f"| {one['what']} | `{one['file']}` | {noticed or '**nothing**'} |", flush=True)
    return 1 if unnoticed else 0


def weaken(one: dict[str, str]) -> str:
    """The text of its file, changed."""
    text = (ROOT / one["file"]).read_text()
    assert text.count(one["old"]) == 1, f"{one['old']!r} is {text.count(one['old'])} times in {one['file']}"
    return text.replace(one["old"], one["new"])


def find_broken_proof(one: dict[str, str]) -> str | None:
    """Find the first statement that Coq no longer accepts, in the changed file or in one that needs it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(ROOT / "proofs", Path(folder) / "proofs"))
        (Path(folder) / one["file"]).write_text(weaken(one))
        ran = subprocess.run(["make", "-f", "Makefile.coq"], cwd=copy, capture_output=True, text=True)
        if ran.returncode == 0:
            return None
        found = re.search(r'File "\./(\w+)\.v", line (\d+), [^\n]*\nError', ran.stderr)
        assert found is not None, ran.stderr
        lines = (copy / f"{found[1]}.v").read_text().splitlines(keepends=True)[: int(found[2])]
        return f"`{found[1]}.{STATEMENT.findall(''.join(lines))[-1]}`"


def find_failed_test(one: dict[str, str]) -> str | None:
    """Find the first of its tests that fails."""
    path = ROOT / one["file"]
    kept = path.read_text()
    try:
        path.write_text(weaken(one))
        failed = run_tests(one["test"])
    finally:
        path.write_text(kept)
    return failed and f"`{one['test']}::{failed}`"


def run_tests(file: str) -> str | None:
    """The name of the first test that fails."""
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-x", "-rf", "--tb=short", file]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if ran.returncode == 0:
        return None
    failed = re.search(r"^FAILED \S+?::(\w+)", ran.stdout, re.MULTILINE)
    assert failed is not None, ran.stdout
    return failed[1]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
