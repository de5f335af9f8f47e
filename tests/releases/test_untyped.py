"""Containers without a type: each item is read on its own, as a cell of CSV; what can be refused is refused by type."""

import io
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import soundsum as ss
from soundsum.releases.prepare import prepare
from soundsum.releases.request import Request
from soundsum.tables.cells import read_number, read_truth, read_whole
from soundsum.tables.keys import Groups
from tests.tables.test_cells import CELLS, as_float, as_integer


@given(CELLS)
def test_texts_are_read_as_cells_are(cells):
    for text in [cell.decode(errors="replace") for cell in cells if cell is not None]:
        expected, found = as_float(text.encode()), read_number(text)
        assert math.isnan(found) if expected is None or math.isnan(expected) else found == expected
        assert read_whole(text) == as_integer(text.encode(), -math.inf, math.inf)


@given(st.text())
def test_no_text_raises(text):
    assert read_truth(text) in (True, False, None)
    assert isinstance(read_number(text), float)


@pytest.mark.parametrize(
    "data",
    [
        ["12.50", " 7.5 ", "1e1", None, "n/a", b"3"],
        ["12.50", 7.5, 10, math.nan, "", [5]],
        pd.Series(["12.50", 7.5, "10", None, "1,000"], dtype=object),
        np.array(["12.50", 7.5, "10", None, "1_000"], dtype=object),
        iter(["12.50", "7.5", "10", "0x10"]),
    ],
    ids=["texts", "mixed", "pandas", "numpy", "iterator"],
)
def test_text_that_spells_a_number_is_that_number(silent, data):
    assert ss.sum(data, 0, 100, epsilon=1).value == 30
    if not hasattr(data, "__next__"):
        assert ss.mean(data, 0, 100, epsilon=1).value == 10


def test_columns_of_text_by_type_are_refused(tmp_path):
    budget = ss.Budget(epsilon=1)
    for column in (np.array(["1", "2"]), pd.Series(["1", "2"], dtype="string")):
        with pytest.raises(TypeError):
            ss.sum(column, 0, 9, epsilon=1, budget=budget)
    assert budget.entries() == []


@pytest.mark.parametrize(
    "data, message",
    [
        (io.StringIO("1\n2\n"), r"an open file \(StringIO\) is not data; give its path"),
        (io.BytesIO(b"1"), "an open file"),
        ({"x": io.StringIO("1")}, "an open file"),
        ({1, 2}, "a set holds each value once, and a column all of them; pass a list"),
        ({"x": frozenset([1])}, "a frozenset holds each value once"),
        (np.array(["1", "2"]), "data is text; convert it with astype"),
    ],
    ids=[
        "text file",
        "file",
        "file as column",
        "set",
        "keys",
        "text array",
    ],
)
def test_what_is_no_column_is_refused_before_it_is_charged(data, message):
    budget = ss.Budget(epsilon=1)
    with pytest.raises(TypeError, match=message):
        ss.sum(data, 0, 9, epsilon=1, column="x" if isinstance(data, dict) else None, budget=budget)
    assert budget.entries() == []


def test_an_open_file_on_disk_is_refused(tmp_path):
    (tmp_path / "x.csv").write_text("x\n1\n")
    with (tmp_path / "x.csv").open() as file, pytest.raises(TypeError, match="give its path"):
        ss.sum(file, 0, 9, epsilon=1, column="x")


@pytest.mark.parametrize(
    "data",
    [[[1, 2], [3, 4]], ((1, 2), (3, 4)), [np.array([1, 2]), np.array([3, 4])], [{"pay": 1}, {"pay": 2}], [[1], 7]],
    ids=["lists", "tuples", "arrays", "dicts", "a list"],
)
def test_lists_in_a_column_are_missing_even_if_it_holds_nothing_else(silent, data):
    """Whether it does is in its records, which nobody looks at before they are charged for."""
    missing = sum(not isinstance(item, int) for item in data)
    assert ss.sum(data, 5, 9, epsilon=1).value == 5 * missing + sum(item for item in data if isinstance(item, int))


class Sealed(list):
    """A column that says how long it is, and nothing of what is in it."""

    def __iter__(self):
        raise AssertionError("a record was looked at")

    __getitem__ = __contains__ = __reversed__ = index = count = __iter__


@pytest.mark.parametrize(
    "statistic, options",
    [
        (ss.Sum("x", 0, 9), {}),
        (ss.Mean("x", 0, 9), {"relation": ss.Relation.CHANGE_ONE}),
        (ss.Variance("x", 0, 9), {"by": "k", "groups": ["a"]}),
        (ss.Histogram("x", [0, 1, 9]), {"where": ("k", "==", 5)}),
        (ss.Histogram("x", categories=[1, 2]), {"where": ("x", "<", 5)}),
        (ss.Count("x"), {"privacy_unit": "k", "max_rows": 2}),
        (ss.Count(), {"by": ss.month("k", "2024-01", "2024-12")}),
    ],
    ids=str,
)
def test_no_record_is_looked_at_before_it_is_charged_for(statistic, options):
    table = {"x": Sealed([1, [2]]), "k": Sealed(["a", {}])}
    opened, _ = prepare(table, Request((statistic,), **options))
    assert opened.schema.rows() == 2


def test_two_dimensions_are_refused_with_the_way_to_sum_their_columns(silent):
    x = np.arange(6.0).reshape(3, 2)
    with pytest.raises(ValueError, match="data has 2 dimensions") as refused:
        ss.sum(x, 0, 9, epsilon=1)
    way = str(refused.value)[str(refused.value).index("ss.release") :]
    assert [r.value for r in eval(way, {"ss": ss, "x": x})] == [6, 9]


def test_a_list_of_paths_is_a_table_and_a_list_of_texts_a_column(silent, tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x\n1\n2\n")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert ss.sum(paths, 0, 9, epsilon=1, column="x").value == 6
    with pytest.raises(ValueError, match="a list of texts is a column, too; files are pathlib paths"):
        ss.sum([str(path) for path in paths], 0, 9, epsilon=1, column="x")
    assert isinstance(paths[0], Path)


@pytest.mark.parametrize(
    "keys, groups",
    [
        (["1", 2, " 1", 1.0, "x", None, "2.0"], [1, 2]),
        (["1", 2, 1, "1", "x", None], ["1", "2"]),
        (["1.0", 2.0, "1", 1, "x"], [1.0, 2.0]),
        (["true", False, True, "1", "x"], [True, False]),
        ([1, "b", "1", "1", None], [1, "b"]),
    ],
)
def test_keys_match_a_group_as_cells_of_csv_do(silent, tmp_path, keys, groups):
    found = ss.count({"k": keys}, epsilon=1, by="k", groups=groups)
    assert [r.value for r in found.values()] == [3, 1]
    (tmp_path / "t.csv").write_text("k,x\n" + "".join(f"{'' if key is None else key},0\n" for key in keys))
    for group, release in ss.count(tmp_path / "t.csv", epsilon=1, by="k", groups=groups).items():
        spelled_otherwise = sum(
            isinstance(key, float) and not isinstance(group, float) and key == group for key in keys
        )
        assert release.value == found[group].value - spelled_otherwise  # 1.0 is 1 in Python and no whole number in CSV


def test_codes_of_keys_that_nobody_listed():
    assert Groups([1, 2]).codes(["3", "1x", [1], {}, object(), b"1", math.nan]).tolist() == [2] * 7


def test_filters_read_items_as_cells_too(silent):
    table = {"age": ["17", 18, "41", None, "x"], "pay": [1, 10, 100, 1000, 10_000]}
    assert ss.sum(table, 0, 10**5, epsilon=1, column="pay", where=[("age", ">=", 18)]).value == 110
    assert ss.sum(table, 0, 10**5, epsilon=1, column="pay", where=[("age", "==", "18")]).value == 10


class Hostile:
    """An item that fails whatever is done with it."""

    def _fail(self, *_):
        raise RuntimeError("SECRET")

    __float__ = __index__ = __eq__ = __ne__ = __lt__ = __hash__ = __str__ = __bool__ = _fail


def test_no_item_makes_a_read_fail(silent):
    items = {"x": [1, Hostile(), 2], "k": ["a", Hostile(), "a"]}
    assert ss.sum(items, 5, 9, epsilon=1, column="x").value == 15
    assert ss.count(items, epsilon=1, where=("x", "<", 9)).value == 2
    assert next(iter(ss.count(items, epsilon=1, by="k", groups=["a"]).values())).value == 2
    assert ss.histogram(items, [0, 5], epsilon=1, column="x")[(0, 5)].value == 2
