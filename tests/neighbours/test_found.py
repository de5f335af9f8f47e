"""Pairs that were found once, by name: each broke a promise, and none may again."""

from decimal import Decimal

import numpy as np
import pytest

from tests.neighbours.cells import ODD
from tests.neighbours.judging import judge
from tests.neighbours.queries import Ask, Query
from tests.neighbours.relations import Pair

TOTAL = Ask("Sum", "x", (("lower", 0), ("upper", 3)))

FOUND = {
    "a number of a class that raises failed the read": Pair(
        Query((TOTAL,)), "lists", {"x": "number objects"}, (("both", (1,)), ("left", (ODD["a"],)))
    ),
    "a value that cannot be compared with itself failed the read": Pair(
        Query((Ask("Count", "x"),), missing="drop"), "lists", {"x": "objects"}, (("both", (1,)), ("left", (ODD["c"],)))
    ),
    "a key that cannot be looked up failed the read": Pair(
        Query((Ask("Count"),), by=("k",), groups=("a", "b")),
        "object frame",
        {"k": "objects"},
        (("both", ("a",)), ("right", (ODD["c"],))),
    ),
    "NumPy's bytes were read as a number, and Python's were not": Pair(
        Query((TOTAL,)), "lists", {"x": "number objects"}, (("both", (b"2",)), ("left", (np.bytes_(b"2"),)))
    ),
    "a filter on whole hundreds failed the read of any row": Pair(
        Query((TOTAL,), where=(("f", "==", Decimal("2E+2")),)),
        "arrow",
        {"x": "int64", "f": "decimal128(5, -2)"},
        (("left", (1, Decimal("1E+2"))),),
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_neighbours_are_not_told_apart(name, tmp_path):
    assert judge(FOUND[name], tmp_path / "data").finding is None
