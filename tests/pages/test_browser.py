"""Without a browser, a test that needs one fails in one line that says what to install, and the others run."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_without_a_browser_there_is_one_clear_line(tmp_path):
    (tmp_path / "bin").mkdir()
    asked = [
        "tests/pages/test_page.py::test_the_themes_differ",
        "tests/pages/test_report.py::test_an_empty_reproduction_is_still_a_page",
    ]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *asked]
    environment = {**os.environ, "PATH": str(tmp_path / "bin")}
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 1
    errors = [line for line in ran.stdout.splitlines() if line.startswith("no browser: install one of chromium")]
    assert len(errors) == 1, ran.stdout
    assert "Traceback" not in ran.stdout
    assert " passed" in ran.stdout.splitlines()[-1]
    assert "1 error" in ran.stdout.splitlines()[-1] or "1 failed" in ran.stdout.splitlines()[-1]
