"""One quick reproduction, its page on disk, and one browser, for all tests of the report in a worker."""

import pytest

from soundsum.paper.page import write_page
from soundsum.paper.reproduce import reproduce

from .browser import chromium


@pytest.fixture(scope="session")
def result(fix_draws):
    with fix_draws("reproduction"):
        return reproduce()


@pytest.fixture(scope="session")
def page(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    write_page(result, path)
    return path


@pytest.fixture(scope="session")
def tab(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as tab:
        yield tab
