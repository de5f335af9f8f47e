"""Every numbered Example Attack has the size and the difference the paper prints."""

from soundsum.paper.reproduce import example_attacks

SMALLER = {label for label, printed in example_attacks.PRINTED.items() if printed.smaller}


def test_every_example_has_its_size_and_difference():
    cells = list(example_attacks.examples())
    assert {cell.reference for cell in cells} == set(example_attacks.PRINTED)
    assert [cell.reference for cell in cells if cell.verdict == "erratum"] == ["ea:64-nonassoc"]
    assert {cell.reference for cell in cells if cell.verdict == "checked"} == SMALLER
    assert [cell for cell in cells if cell.verdict == "differs"] == []
    smaller = {cell.reference for cell in cells if "smaller than the paper's" in cell.at}
    assert smaller == SMALLER


def test_both_ideals_are_compared_where_both_are_printed():
    printed = {
        (cell.reference, cell.at): cell.printed
        for cell in example_attacks.examples()
        if cell.what == "idealised sensitivity" and "nonassoc" in cell.reference
    }
    assert len(printed) == 4
    assert printed["ea:32-nonassoc", "change_one"] == 1
    assert printed["ea:32-nonassoc", "symmetric"] == 2
