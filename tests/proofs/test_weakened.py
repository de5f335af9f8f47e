"""The list of weakenings fits proofs and code as they are, and proofs/README.md has a row for each."""

import pytest

from .weakened import ROOT, WEAKENINGS, weaken


@pytest.mark.parametrize("one", WEAKENINGS, ids=lambda one: f"{one['file']}: {one['what']}")
def test_each_can_still_be_made_and_its_result_is_on_the_page(one):
    assert weaken(one) != (ROOT / one["file"]).read_text()
    rows = (ROOT / "proofs" / "README.md").read_text().splitlines()
    (row,) = [row for row in rows if row.startswith(f"| {one['what']} | `{one['file']}` | ")]
    assert one.get("test", "") in row
    assert "nothing" not in row
