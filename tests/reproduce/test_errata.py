"""Every erratum is one by computation, and every one on the page is computed."""

import re
from pathlib import Path

from soundsum.reproduce import Verdict
from soundsum.reproduce.errata_elsewhere import errata

ERRATA_PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text()


def test_every_erratum_is_one_by_computation():
    found = list(errata())
    assert [e.what for e in found if e.verdict != Verdict.ERRATUM] == []
    assert len(found) >= 30


def test_every_heading_of_the_errata_page_is_computed_here():
    page = ERRATA_PAGE.split("### Without code")[0]
    labels = {
        label
        for heading in re.findall(r"^### (.+)$", page, re.MULTILINE)
        for label in re.findall(r"`([a-z]+:[^`]+)`", heading)
    }
    assert len(labels) > 20
    assert labels <= {e.reference for e in errata()}
