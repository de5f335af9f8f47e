"""Groups of several columns: tuples that are listed, or all combinations of a list for each column."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.tables.rows import CrossedGroups
from tests.engines.model import lot
from tests.refusing import refused

RNG = np.random.default_rng(5)
ROWS = 500
TABLE = pa.table(
    {
        "x": RNG.integers(0, 9, ROWS).astype(float),
        "ward": RNG.choice(["a", "b", "c", "d"], ROWS),
        "year": RNG.integers(2019, 2023, ROWS),
        "late": RNG.integers(0, 2, ROWS).astype(bool),
        "id": RNG.integers(0, 60, ROWS),
    }
)
LISTS = [["a", "b", "z"], [2020, 2021], [True, False]]
BY = ["ward", "year", "late"]


def model(groups):
    """The sums, row by row."""
    rows = TABLE.to_pylist()
    return [sum(row["x"] for row in rows if tuple(row[c] for c in BY) == group) for group in groups]


def values(releases):
    return [round(r.value, 2) for r in releases.values()]


@pytest.mark.parametrize("kind", ["arrow", "dict", "pandas", "polars", "objects", "csv"])
def test_sums_of_combinations(silent, kind, tmp_path):
    pa.csv.write_csv(TABLE, tmp_path / "t.csv")
    table = {
        "arrow": TABLE,
        "dict": TABLE.to_pydict(),
        "pandas": pd.DataFrame(TABLE.to_pydict()),
        "polars": pl.DataFrame(TABLE.to_pydict()),
        "objects": {name: pd.Series(column, dtype=object) for name, column in TABLE.to_pydict().items()},
        "csv": tmp_path / "t.csv",
    }[kind]
    crossed = list(itertools.product(*LISTS))
    found = ss.sum(table, 0, 10, 1, column="x", by=BY, groups=LISTS)
    assert list(found) == crossed
    assert values(found) == model(crossed)
    some = [("b", 2021, False), ("a", 2020, True), ("nobody", 1, False)]
    assert values(ss.sum(table, 0, 10, 1, column="x", by=BY, groups=some)) == model(some)


def test_one_name_in_a_list_is_one_column(silent):
    one = ss.count(TABLE, 1, by=["ward"], groups=["a", "b"])
    assert values(one) == values(ss.count(TABLE, 1, by="ward", groups=["a", "b"]))


def test_cells_within_them_and_their_table(silent):
    made = ss.histogram(TABLE, [0, 5, 9], 1, column="x", by=["ward", "year"], groups=[["a"], [2020, 2021]])
    assert list(made)[:2] == [("a", 2020, (0, 5)), ("a", 2020, (5, 9))]
    table = made.to_arrow()
    assert table.column_names == ["ward", "year", "from", "to", "value", "low", "high", "informative"]
    renamed = TABLE.rename_columns(["x", "value", "low", "late", "id"])
    assert ss.count(renamed, 1, by=["value", "low"], groups=[["a"], [2020]]).to_arrow().column_names[:2] == [
        "value_group",
        "low_group",
    ]


def test_a_person_counts_in_so_many_combinations(silent):
    """By brute force: of each person the combinations with most rows, of equals those with the lowest lots."""
    crossed = list(itertools.product(LISTS[0], LISTS[1]))
    totals = dict.fromkeys(crossed, 0)
    rows = TABLE.to_pylist()
    for person in range(60):
        mine = {g: [r for r in rows if r["id"] == person and (r["ward"], r["year"]) == g] for g in crossed}
        kept = sorted((g for g in crossed if mine[g]), key=lambda g: (-len(mine[g]), lot(person, crossed.index(g))))[:2]
        for group in kept:
            totals[group] += min(2, len(mine[group]))
    options = {"privacy_unit": "id", "max_rows": 2, "max_groups": 2}
    found = ss.count(TABLE, 1, by=["ward", "year"], groups=LISTS[:2], **options)
    assert {group: r.value for group, r in found.items()} == totals
    assert found["a", 2020].plan.unit.groups == len(crossed)


def test_the_owner_lists_categories_of_each_column(silent):
    schema = {"ward": ["a", "b"], "year": [2020, 2021], "x": ("float64", 0, 10)}
    owner = ss.Private(TABLE, budget=ss.Budget(epsilon=2), schema=schema)
    assert list(owner.sum("x", epsilon=1, by=["ward", "year"])) == list(itertools.product(["a", "b"], [2020, 2021]))
    assert ", by ward, year, " in owner.budget.entries()[0].what
    with refused("groups", Reason.MISSING, ValueError):
        owner.sum("x", epsilon=1, by=["ward", "late"])


@pytest.mark.parametrize(
    "groups, message",
    [
        (["a", "b"], "a list of tuples, such as"),
        ([("a",)], "a list of tuples"),
        ([["a"], [2020], [True]], "or 2 lists to combine"),
        ([["a"], []], "has an empty list in it"),
        ([("a", 2020), ("a", 2020)], "names .* twice"),
        ([("a", "b")], "cannot be looked up in a column of int64"),
        ([("a", None)], "None in it"),
        (5, "a list of tuples"),
    ],
)
def test_what_is_not_a_list_of_combinations(groups, message):
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ValueError, match=message):
        ss.count(TABLE, 1, by=["ward", "year"], groups=groups, budget=budget)
    assert not budget.entries()


def test_unknown_columns():
    with refused("by", Reason.UNKNOWN, ValueError, column="'yaer'"):
        ss.count(TABLE, 1, by=["ward", "yaer"], groups=[["a"], [2020]])


def test_many_values_in_many_columns():
    """More combinations than 32 bits count, of which few are listed."""
    listed = [(i, 7 * i % 100_000, i) for i in range(1000)]
    groups = CrossedGroups(["a", "b", "c"], listed)
    keys = [pa.array(column) for column in zip(*listed, (5, 5, 5), strict=True)]
    assert groups.codes(keys).tolist() == [*range(1000), 1000]


def test_more_combinations_than_64_bits_count(silent):
    rows, columns = 1200, 7
    table = {f"c{i}": np.random.default_rng(i).permutation(rows) for i in range(columns)}
    listed = [tuple(int(table[c][j]) for c in table) for j in range(rows)]
    found = ss.count(table, 1, by=list(table), groups=listed)
    assert [r.value for r in found.values()] == [1] * rows


def test_lists_of_arrow_and_numpy(silent):
    table = {"a": ["x", "x", "y"], "b": [1, 2, 2]}
    for lists in ([pa.array(["x", "y"]), pa.array([1, 2])], [np.array(["x", "y"]), np.array([1, 2])]):
        found = ss.count(table, 1, by=["a", "b"], groups=lists)
        assert {group: r.value for group, r in found.items()} == {("x", 1): 1, ("x", 2): 1, ("y", 1): 0, ("y", 2): 1}


def test_columns_whose_names_are_taken_or_given_twice(silent):
    table = {"value": ["x", "x", "y"], "value_group": [1, 2, 2]}
    found = ss.count(table, 1, by=list(table), groups=[["x", "y"], [1, 2]])
    assert [r.value for r in found.values()] == [1, 1, 0, 1]
    assert found.to_arrow().column_names[:2] == ["value_group", "value_group_group"]
    with refused("by", Reason.REPEATED, ValueError, name="'value'"):
        ss.count(table, 1, by=["value", "value"], groups=[["x"], ["x"]])
