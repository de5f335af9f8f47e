"""The site, built once, and one browser to look at it with."""

import subprocess
import sys

import pytest
from website.__main__ import SITE
from website.pages import ROOT

from tests.pages.browser import chromium


@pytest.fixture(scope="session")
def site():
    built = subprocess.run([sys.executable, "-m", "website"], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return SITE


@pytest.fixture(scope="session")
def tab(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as tab:
        yield tab
