"""The page of an audit in a real browser: from disk, in both themes, on a phone."""

from pathlib import Path

import pytest

import soundsum as ss
from soundsum.auditor import audit_page

pytestmark = pytest.mark.xdist_group("browser")

CONTRAST = (Path(__file__).parent / "contrast.js").read_text()


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    done = ss.audit("numpy.sum[float32]", ["rounding", "path", "special_values"], runs=300, seconds=60, memory=1 << 24)
    path = tmp_path_factory.mktemp("audit") / "audit.html"
    path.write_text(audit_page.page(done), encoding="utf-8")
    return done, path


def test_it_asks_for_nothing_else_and_shows_every_finding(tab, audited):
    done, path = audited
    tab.look(1280)
    tab.open(path)
    assert tab.requests() == [path.as_uri()]
    assert tab.complaints() == []
    shown = tab.evaluate("[...document.querySelectorAll('article')].map(e => e.querySelector('code').innerText)")
    assert shown == [finding.rule_id for finding in done.violations]
    assert tab.evaluate("document.querySelectorAll('article pre').length") == len(done.violations)
    assert tab.evaluate("[...document.links].every(a => document.getElementById(a.hash.slice(1)))")


@pytest.mark.parametrize("width", [320, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_both_themes_and_no_wider_than_the_screen(tab, audited, width, scheme):
    tab.look(width, scheme)
    tab.open(audited[1])
    assert tab.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert tab.evaluate(CONTRAST)["weak"] == []
