"""`make docs`: lays the pages out in build/docs and builds the site in build/site. A warning is an error."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

from website.pages import ROOT, lay_out

SOURCE, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"


def main() -> int:
    lay_out(SOURCE)
    failed = build(SOURCE, SITE)
    if not failed:
        print(f"{sum(1 for _ in SITE.rglob('*.html'))} pages; open {(SITE / 'index.html').relative_to(ROOT)}")
    return failed


def build(source: Path, site: Path) -> int:
    options = ["--fail-on-warning", "--keep-going", "--quiet", "--jobs", "2"]
    return sphinx_build([*options, "--conf-dir", str(ROOT / "website"), str(source), str(site)])


if __name__ == "__main__":
    sys.exit(main())
