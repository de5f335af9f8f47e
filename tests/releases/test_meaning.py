"""Numbers mean what their labels say: which rows were found, what they were clamped to, what was left out."""

import datetime as dt

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from tests.refusing import refused

AGES = [5, 5, 5, 6, 6, 17, 18, 100]
FRAME = pd.DataFrame({"age": AGES, "cost": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]})
DAYS = [dt.date(2024, 1, day) for day in (4, 5, 5, 6, 7, 7, 7, 8)]
SURE = 10**6


def values(releases):
    return [r.value for r in releases.values()]


@pytest.fixture(params=["pandas", "polars", "lazy", "arrow", "parquet", "private"])
def counted(request, tmp_path):
    """Counts by a column of integers, for some groups."""
    FRAME.to_parquet(tmp_path / "t.parquet")
    tables = {
        "pandas": FRAME,
        "polars": pl.from_pandas(FRAME),
        "lazy": pl.from_pandas(FRAME).lazy(),
        "arrow": pa.Table.from_pandas(FRAME),
        "parquet": tmp_path / "t.parquet",
    }
    if request.param == "private":
        owner = ss.Private(FRAME, budget=ss.Budget(epsilon=10**9))
        return lambda groups: owner.count(SURE, by="age", groups=groups)
    return lambda groups: ss.count(tables[request.param], SURE, by="age", groups=groups)


def test_groups_that_are_no_values_of_an_integer_column_are_refused(counted):
    for groups in ([5.5, 5, 6], [-0.5, 6], [5.5]):
        with refused("groups", Reason.MISMATCH, ValueError):
            counted(groups)
    assert values(counted([5.0, 6])) == [3, 2]


def test_categories_that_are_none_are_refused():
    with refused("categories", Reason.MISMATCH, ValueError):
        ss.histogram(FRAME, categories=[5.5, 6], epsilon=1, column="age")


def test_whole_numbers_are_found_in_text_however_they_are_spelled(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    for groups in ([5.0, 6], [5, 6], [5.0, 6.0]):
        for data in (tmp_path / "t.csv", {"age": list(map(str, AGES))}):
            assert values(ss.count(data, SURE, by="age", groups=groups)) == [3, 2]


@pytest.mark.parametrize(
    "day", ["2024-01-05", dt.date(2024, 1, 5), dt.datetime(2024, 1, 5), pd.Timestamp("2024-01-05")]
)
def test_days_in_columns_without_a_type_are_found(day):
    """As pandas reads a column of dates from Parquet."""
    frame = FRAME.assign(day=pd.Series(DAYS, dtype=object))
    assert values(ss.count(frame, SURE, by="day", groups=[day])) == [2]
    for sign, found in (("==", 2), ("!=", 6), ("<", 1), ("<=", 3), (">", 5), (">=", 7)):
        assert ss.count(frame, SURE, where=[("day", sign, day)]).value == found


def test_moments_in_columns_without_a_type_are_compared_with_days():
    moments = [dt.datetime(2024, 1, 5, hour) for hour in (0, 1, 23)] + [dt.datetime(2024, 1, 4, 23)]
    frame = pd.DataFrame({"at": pd.Series(moments, dtype=object)})
    for sign, found in (("<", 1), (">=", 3), (">", 2), ("==", 1)):
        assert ss.count(frame, SURE, where=[("at", sign, dt.date(2024, 1, 5))]).value == found


def test_numbers_are_not_ordered_as_texts(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    for data in (tmp_path / "t.csv", FRAME.astype(object)):
        for sign in ("<", "<=", ">", ">="):
            with refused("where", Reason.WRONG_TYPE, ValueError, number="18"):
                ss.count(data, 1, where=[("age", sign, "18")])
        assert ss.count(data, SURE, where=[("age", ">=", 18)]).value == 2
        assert ss.count(data, SURE, where=[("age", "==", "18")]).value == 1
    names = pa.table({"zip": ["01000", "20000"]})  # a column that says it has texts
    assert ss.count(names, SURE, where=[("zip", ">=", "10000")]).value == 1


def test_bounds_of_integers_are_shown_as_they_are_used():
    r = ss.sum(FRAME, 0, 49.5, SURE, column="age")
    assert r.value == sum(min(age, 49) for age in AGES)
    assert "clamped to [0, 49]" in repr(r)
    assert "missing values as 2" in repr(ss.sum(FRAME, 1.5, 9.5, 1, column="age"))
    assert "clamped to [0, 49.5]" in repr(ss.sum(FRAME, 0, 49.5, 1, column="cost"))


def test_a_histogram_says_that_rows_outside_its_cells_are_left_out():
    found = ss.histogram(FRAME, [0, 10, 20], SURE, column="age")
    assert values(found) == [5, 2]
    assert "rows outside the cells or without a value left out" in " ".join(repr(found).split())


@pytest.mark.parametrize("noise", [{"epsilon": 1}, {"rho": 1, "noise": "gaussian"}])
def test_an_interval_that_does_not_follow_is_noticed(noise):
    sums = (
        ss.sum(FRAME, 0, 100, column="cost", **noise),
        ss.count(FRAME, **noise),
        ss.sum(FRAME, 0, 9, column="age", **noise),
    )
    for r in sums:
        said = r.to_dict()
        assert ss.check(said) == []
        low, high = said["interval_95"]
        for wrong in ([low + 1, high], [low, high - 1], [r.value - 0.5, r.value + 0.5], None):
            assert any(line.startswith("interval_95") for line in ss.check({**said, "interval_95": wrong}))
