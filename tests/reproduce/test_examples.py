"""Every numbered Example Attack has the size and the difference the paper prints."""

from soundsum.reproduce import examples


def test_every_example_has_its_size_and_difference():
    cells = list(examples.examples())
    assert {cell.reference for cell in cells} == set(examples.SIZES)
    assert [cell.reference for cell in cells if cell.verdict != "matches"] == ["ea:64-nonassoc"]
    smaller = {cell.reference for cell in cells if "smaller than the paper's" in cell.at}
    assert smaller == set(examples.SMALLER)
