"""Sums by year, month, week, day and hour, and of dates as they are, from every kind of table."""

import datetime as dt
import itertools
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.releases.ledger_check import compare_with_ledger
from soundsum.releases.release_check import compare_release
from tests.engines.model import lot
from tests.refusing import refused

RNG = np.random.default_rng(8)
ROWS = 400
SECONDS = RNG.integers(1_700_000_000, 1_720_000_000, ROWS)
NAIVE = [dt.datetime(1970, 1, 1) + dt.timedelta(seconds=int(s)) for s in SECONDS]
NAIVE[7] = NAIVE[11] = None
AWARE = [None if moment is None else moment.replace(tzinfo=dt.UTC) for moment in NAIVE]
DAYS = [None if moment is None else moment.date() for moment in NAIVE]
X = RNG.integers(0, 9, ROWS).astype(float)
WARDS = RNG.choice(["a", "b", "c"], ROWS)
IDS = RNG.integers(0, 40, ROWS)
TABLE = pa.table(
    {
        "x": X,
        "ward": WARDS,
        "id": IDS,
        "seen": pa.array(NAIVE, pa.timestamp("us")),
        "sent": pa.array(AWARE, pa.timestamp("ms", "Asia/Tokyo")),
        "day": pa.array(DAYS, pa.date32()),
    }
)
MONTHS = [dt.date(2023, 12, 1), *(dt.date(2024, month, 1) for month in range(1, 5))]
FIRST, LAST = "2023-12", "2024-04"


def values(releases):
    return [round(r.value, 2) for r in releases.values()]


def model(test):
    """The sums of records whose date or time passes, for each of several tests."""
    return sum(x for x, moment in zip(X, NAIVE, strict=True) if moment is not None and test(moment))


BY_MONTH = [model(lambda m, start=start: (m.year, m.month) == (start.year, start.month)) for start in MONTHS]


@pytest.mark.parametrize("column", ["seen", "sent", "day"])
@pytest.mark.parametrize("kind", ["arrow", "dict", "pandas", "objects", "polars", "lazy", "parquet", "feather", "csv"])
def test_sums_by_month_from_every_table(silent, kind, column, tmp_path):
    plain = TABLE.to_pydict()
    if kind == "csv":
        pa.csv.write_csv(TABLE, tmp_path / "t.csv")
        broken = (tmp_path / "t.csv").read_bytes() + b'9,a,1,"no date",2024-02-30,\xff\n'
        (tmp_path / "t.csv").write_bytes(broken)
    pq.write_table(TABLE, tmp_path / "t.parquet")
    pa.feather.write_feather(TABLE, tmp_path / "t.feather")
    table = {
        "arrow": lambda: TABLE,
        "dict": lambda: plain,
        "pandas": lambda: TABLE.to_pandas(),
        "objects": lambda: {name: pd.Series(values, dtype=object) for name, values in plain.items()},
        "polars": lambda: pl.from_arrow(TABLE),
        "lazy": lambda: pl.from_arrow(TABLE).lazy(),
        "parquet": lambda: tmp_path / "t.parquet",
        "feather": lambda: tmp_path / "t.feather",
        "csv": lambda: tmp_path / "t.csv",
    }[kind]()
    found = ss.sum(table, 0, 10, 1, column="x", by=ss.month(column, FIRST, LAST))
    assert list(found) == MONTHS
    assert values(found) == BY_MONTH
    listed = ss.sum(table, 0, 10, 1, column="x", by=ss.month(column), groups=["2024-02", MONTHS[0]])
    assert list(listed) == [MONTHS[2], MONTHS[0]]
    assert values(listed) == [BY_MONTH[2], BY_MONTH[0]]
    both = ss.sum(table, 0, 10, 1, column="x", by=ss.month(column, FIRST, LAST), groups=["2024-02", MONTHS[0]])
    assert values(both) == values(listed)  # groups= lists some of the range


@pytest.mark.parametrize("kind", ["arrow", "dict", "csv"])
def test_hours_and_zones(silent, kind, tmp_path):
    pa.csv.write_csv(TABLE, tmp_path / "t.csv")
    table = {"arrow": TABLE, "dict": TABLE.to_pydict(), "csv": tmp_path / "t.csv"}[kind]
    found = ss.sum(table, 0, 10, 1, column="x", by=ss.day("sent", "2024-03-29", "2024-04-02", zone="Asia/Kathmandu"))
    later = dt.timedelta(hours=5, minutes=45)
    assert values(found) == [model(lambda m, d=day: (m + later).date() == d) for day in found]
    begin = dt.datetime(2024, 3, 1)
    hours = ss.sum(table, 0, 10, 1, column="x", by=ss.hour("seen", begin, begin + dt.timedelta(hours=99)))
    assert list(hours) == [begin + dt.timedelta(hours=i) for i in range(100)]
    assert values(hours) == [model(lambda m, h=h: h <= m < h + dt.timedelta(hours=1)) for h in hours]
    assert sum(values(hours))
    zoned = ss.sum(table, 0, 10, 1, column="x", by=ss.hour("sent", "2024-03-01T00", "2024-03-05T03", zone="UTC"))
    assert values(zoned) == values(hours)
    assert [str(name) for name in zoned][:2] == ["2024-03-01 00:00:00+00:00", "2024-03-01 01:00:00+00:00"]
    assert zoned.to_arrow().schema.field("sent_hour").type == pa.timestamp("us", "UTC")
    if kind == "arrow":  # whose type says that it has a zone
        in_utc = ss.sum(table, 0, 10, 1, column="x", by=ss.hour("sent", "2024-03-01T00", "2024-03-05T03"))
        assert list(in_utc) == list(zoned)
        assert values(in_utc) == values(hours)


def test_an_hour_that_comes_twice_is_released_twice(silent):
    moments = [dt.datetime(2024, 10, 27, hour, 30, tzinfo=dt.UTC) for hour in (0, 0, 1)]
    by = ss.hour("t", "2024-10-27T02", "2024-10-27T02", zone="Europe/Vienna")
    for column in (moments, pa.array(moments, pa.timestamp("s", "Europe/Vienna"))):
        found = ss.count({"t": column}, 1, by=by)
        assert {str(name): r.value for name, r in found.items()} == {
            "2024-10-27 02:00:00+02:00": 2,
            "2024-10-27 02:00:00+01:00": 1,
        }
        assert found[dt.datetime(2024, 10, 27, 0, tzinfo=dt.UTC)].value == 2
    assert json.loads(next(iter(found.values())).to_json())["group"] == "2024-10-27 02:00:00+02:00"
    assert found.to_arrow()["t_hour"].type == pa.timestamp("us", "UTC")
    assert found.to_arrow()["t_hour"].to_pylist() == [moments[0].replace(minute=0), moments[2].replace(minute=0)]


def test_crossed_with_others_and_with_each_other(silent):
    by = ["ward", ss.month("seen", FIRST, LAST)]
    crossed = list(itertools.product(["a", "z"], MONTHS))
    expected = [
        sum(x for x, w, m in zip(X, WARDS, NAIVE, strict=True) if m and (w, m.year, m.month) == (ward, s.year, s.month))
        for ward, s in crossed
    ]
    found = ss.sum(TABLE, 0, 10, 1, column="x", by=by, groups=[["a", "z"], None])
    assert list(found) == crossed
    assert values(found) == expected
    some = [("a", "2024-03"), ("z", MONTHS[0]), ("a", "2023-12")]
    tuples = ss.sum(TABLE, 0, 10, 1, column="x", by=by, groups=some)
    assert list(tuples) == [("a", MONTHS[3]), ("z", MONTHS[0]), ("a", MONTHS[0])]
    assert values(tuples) == [expected[crossed.index(name)] for name in tuples]
    assert found.to_arrow().column_names[:2] == ["ward", "seen_month"]
    # Two of one column, without groups=, as both have a range.
    twice = ss.sum(TABLE, 0, 10, 1, column="x", by=[ss.year("seen", 2023, 2024), ss.month("seen", FIRST, LAST)])
    assert values(twice) == [
        b if m.year == y else 0 for y in (2023, 2024) for b, m in zip(BY_MONTH, MONTHS, strict=True)
    ]
    assert twice.to_arrow().column_names[:2] == ["seen_year", "seen_month"]
    renamed = TABLE.rename_columns(["x", "seen_month", "id", "seen", "sent", "day"])
    named = ss.count(renamed, 1, by=["seen_month", ss.month("seen", FIRST, LAST)], groups=[["a"], None])
    assert named.to_arrow().column_names[:2] == ["seen_month", "seen_month_group"]
    with refused("by", Reason.REPEATED, ValueError, name="'month(seen)'"):
        ss.count(TABLE, 1, by=[ss.month("seen"), ss.month("seen")], groups=[["2024-01"], ["2024-01"]])


def test_year_and_hour_of_one_column_of_csv(silent, tmp_path):
    (tmp_path / "t.csv").write_text("t,x\n2024-01-01T07:30,1\n2024-01-01 07:59:59.9,2\n2023-01-01T07:00,4\nlater,8\n")
    by = [ss.year("t", 2023, 2024), ss.hour("t")]
    groups = [None, ["2024-01-01T07", "2023-01-01T07"]]
    found = ss.sum(tmp_path / "t.csv", 0, 10, 1, column="x", by=by, groups=groups)
    assert values(found) == [0, 4, 3, 0]


def test_histograms_and_filters_and_persons(silent):
    by = ss.month("seen", FIRST, LAST)
    cells = ss.histogram(TABLE, [0, 5, 9], 1, column="x", by=by)
    assert list(cells)[:2] == [(MONTHS[0], (0, 5)), (MONTHS[0], (5, 9))]
    assert sum(values(cells)) == sum(values(ss.count(TABLE, 1, by=by)))
    late = ss.sum(TABLE, 0, 10, 1, column="x", by=by, where=[("seen", ">=", dt.datetime(2024, 2, 10))])
    assert values(late)[:2] == [0, 0]
    assert values(late)[3:] == BY_MONTH[3:]
    # A person counts in so many months: by brute force those with most rows, of equals those with the lowest lots.
    totals = dict.fromkeys(MONTHS, 0)
    for person in range(40):
        mine = {s: [m for m, i in zip(NAIVE, IDS, strict=True) if m and i == person and m.date().replace(day=1) == s]
                for s in MONTHS}  # fmt: skip
        kept = sorted((s for s in MONTHS if mine[s]), key=lambda s: (-len(mine[s]), lot(person, MONTHS.index(s))))[:2]
        for start in kept:
            totals[start] += min(2, len(mine[start]))
    found = ss.count(TABLE, 1, by=by, privacy_unit="id", max_rows=2, max_groups=2)
    assert {name: r.value for name, r in found.items()} == totals


def test_the_ledger_and_the_release_say_by_what(tmp_path):
    from soundsum.budget.ledger import read

    budget = ss.Budget(epsilon=9, path=tmp_path / "l.db")
    by = ["ward", ss.month("sent", FIRST, LAST, zone="Europe/Vienna")]
    one = ss.count(TABLE, 1, by=ss.week("seen", "2024-W01", "2024-W02"), budget=budget)
    two = ss.count(TABLE, 1, by=by, groups=[["a"], None], budget=budget)
    three = ss.count(TABLE, 1, by=ss.month("sent", FIRST, LAST), budget=budget)
    first, second, third = [entry.what for entry in budget.entries()]
    assert ", by week(seen), " in first
    assert ", by ward, month(sent, Europe/Vienna), " in second
    assert ", by month(sent, UTC), " in third  # which is where times with a zone are cut
    for releases in (three, one, two):
        written = json.loads(next(iter(releases.values())).to_json())
        assert compare_release(written) == []
        assert compare_with_ledger([written], read(tmp_path / "l.db")) == [[]]
    assert written["by"] == ["ward", "month(sent, Europe/Vienna)"]
    assert written["group"] == ["a", "2023-12-01"]


def test_how_many_groups_there_are_is_said_before_anything_is_spent():
    budget = ss.Budget(epsilon=1)
    owner = ss.Private(TABLE, budget=budget, schema={"ward": ["a", "b"], "x": ("float64", 0, 10)})
    by = ["ward", ss.hour("seen", "2024-01-01T00", "2024-12-31T23"), ss.year("seen", 2024, 2024)]
    assert owner.plan("x", by=by).unit.groups == 2 * 366 * 24
    assert "one record (in one of 17,568 groups)" in owner.plan("x", by=by).explain()
    several = [ss.hour(column, "2024-01-01T00", "2024-12-31T23") for column in ("seen", "sent", "day")]
    with refused("groups", Reason.TOO_MANY, ValueError, count="677,761,634,304"):
        owner.plan("x", by=several)
    assert budget.entries() == []


@pytest.mark.parametrize("relation", list(ss.Relation))
@pytest.mark.parametrize("column_kind", ["objects", "text", "s", "ns"])
def test_one_record_moves_one_group_or_leaves_one_for_another(silent, relation, column_kind):
    """By enumeration through ss.sum: all rows that matter, added or changed into all others."""
    moments = [dt.datetime(2024, 1, 1), dt.datetime(2024, 1, 31, 23, 59, 59), dt.datetime(2024, 2, 1), None]
    moments += [dt.datetime(2023, 12, 31, 23, 59, 59), dt.datetime(2262, 1, 1), dt.datetime(1969, 12, 31)]
    rows = list(itertools.product(moments, (-2.0, 0.0, 3.0)))
    others = [(moments[0], 1.0), (moments[2], 1.0)]
    options = {"column": "x", "by": ss.month("t", "2024-01", "2024-02"), "relation": relation}

    def sums(rows):
        keys = [moment for moment, _ in rows]
        if column_kind == "text":
            keys = [str(key) for key in keys]
        elif column_kind != "objects":
            keys = pa.array(keys, pa.timestamp(column_kind))
        found = ss.sum({"x": np.array([x for _, x in rows]), "t": keys}, -2, 3, 1, **options)
        certificate = next(iter(found.values())).certificate
        return np.array([r.exact for r in found.values()]), Fraction(certificate["released"][0]["sensitivity"])

    whole = [sums([*others, row]) for row in rows]
    neighbours = [made for made, _ in whole] if relation.sized else [sums(others)[0]]
    differences = [left - right for left, _ in whole for right in neighbours]
    assert max(np.count_nonzero(difference) for difference in differences) == 1 + relation.sized
    assert {max(np.abs(difference).sum() for difference in differences)} == {claimed for _, claimed in whole}


def test_an_owner_says_between_which_dates(silent):
    schema = {
        "ward": ["a", "z"],
        "x": ("float64", 0, 10),
        "seen": {"lower": "2023-12-24", "upper": dt.date(2024, 4, 30)},
    }
    budget = ss.Budget(epsilon=9)
    owner = ss.Private(TABLE, budget=budget, schema=schema)
    assert values(owner.sum("x", epsilon=1, by=ss.month("seen"))) == BY_MONTH
    crossed = owner.sum("x", epsilon=1, by=["ward", ss.month("seen")])
    assert list(crossed) == list(itertools.product(["a", "z"], MONTHS))
    assert list(owner.count(1, by=ss.month("seen", "2024-01", "2024-01"))) == [dt.date(2024, 1, 1)]
    assert list(owner.count(1, by=[ss.year("seen")])) == [dt.date(2023, 1, 1), dt.date(2024, 1, 1)]
    assert next(iter(owner.count(1, by=ss.week("seen")))) == dt.date(2023, 12, 18)
    hours = list(owner.count(1, by=ss.hour("seen")))
    assert (hours[0], hours[-1]) == (dt.datetime(2023, 12, 24), dt.datetime(2024, 4, 30, 23))
    first, second = [entry.what for entry in budget.entries()][:2]
    assert ", by month(seen), " in first
    assert ", by ward, month(seen), " in second
    for by in (ss.month("day"), ["ward", ss.month("day")], ss.month("x")):
        with refused("groups", Reason.MISSING, ValueError):
            owner.count(1, by=by)
    zoned = ss.Private(
        TABLE, budget=ss.Budget(epsilon=9), schema={"sent": {"lower": "2024-03-31", "upper": "2024-03-31"}}
    )
    assert len(zoned.count(1, by=ss.hour("sent", zone="Europe/Vienna"))) == 23
    assert list(zoned.count(1, by=ss.day("sent", zone="Europe/Vienna"))) == [dt.date(2024, 3, 31)]
    times = {"lower": "2024-03-31T05:30Z", "upper": dt.datetime(2024, 3, 31, 9, 30)}
    by_time = ss.Private(TABLE, budget=ss.Budget(epsilon=9), schema={"sent": times})
    assert [f"{hour:%H%z}" for hour in by_time.count(1, by=ss.hour("sent", zone="Europe/Vienna"))] == [
        "07+0200", "08+0200", "09+0200",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "by, groups, message",
    [
        (ss.month("seen"), None, "groups= is missing"),
        (["ward", ss.month("seen", FIRST, LAST)], None, "groups= is missing"),
        (["ward", ss.month("seen")], [["a"], None], "lists to combine"),
        (["ward", ss.month("seen", FIRST, LAST)], [None, None], "lists to combine"),
        (ss.month("saen", FIRST, LAST), None, "column 'saen' is not in the table"),
        (ss.month("ward", FIRST, LAST), ["2025-01"], "not from first to last"),
        (["ward", ss.month("seen", FIRST, LAST)], [["a"], ["2025-01"]], "not from first to last"),
        (["ward", ss.month("seen")], [("a", "2024-01-05")], "is not a month"),
        (ss.month("seen"), ["2024-01", float("nan")], "nan is not a month"),
        (["ward", ss.month("seen")], [("a", "2024-01"), ("a", "2024-01")], "twice"),
        (["ward", ss.month("seen")], [("a", "2024-01"), ("a", MONTHS[1])], "twice"),
    ],
)
def test_refused_uncharged(by, groups, message):
    budget = ss.Budget(epsilon=1)
    with pytest.raises(ValueError, match=message):
        ss.count(TABLE, 1, by=by, groups=groups, budget=budget)
    assert not budget.entries()


def test_periods_are_of_tables():
    with refused("by", Reason.UNKNOWN, ValueError):
        ss.sum([1.0], 0, 1, 1, by=ss.month("t", FIRST, LAST))
    assert hash(ss.month("t", FIRST, LAST)) == hash(ss.month("t", "2023-12-01", "2024-04-01"))


# Dates and times as they are.

MOMENT = dt.datetime(2024, 1, 1, 7, 30)
TYPES = [pa.date32(), pa.date64()] + [
    pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Europe/Vienna", "+01:00")
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_dates_and_times_as_they_are(silent, kind, tmp_path):
    zone = getattr(kind, "tz", None)
    one = MOMENT.date() if pa.types.is_date(kind) else MOMENT.replace(tzinfo=dt.UTC if zone else None)
    other = one + dt.timedelta(days=1)
    column = pa.array([one, None, other, one, one - dt.timedelta(days=999)], kind)
    table = pa.table({"x": [1.0, 2.0, 4.0, 8.0, 16.0], "t": column})
    pq.write_table(table, tmp_path / "t.parquet")
    tables = [table, table.to_pandas(), tmp_path / "t.parquet", table.to_pydict()]
    if zone != "+01:00" and kind != pa.date64():  # Polars does not know the one, and makes times of the other
        tables += [pl.from_arrow(table), pl.from_arrow(table).lazy()]
    west = dt.timezone(dt.timedelta(hours=-5))
    elsewhere = [one, other] if zone is None else [moment.astimezone(west) for moment in (one, other)]
    for data in tables:
        for groups in ([one, other], elsewhere, pa.array([one, other], kind)):
            assert values(ss.sum(data, 0, 20, 1, column="x", by="t", groups=groups)) == [9, 4]
        assert values(ss.sum(data, 0, 20, 1, column="x", by=["t", "x"], groups=[(one, 8.0), (other, 8.0)])) == [8, 0]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_what_a_type_cannot_hold_is_refused_and_not_cut_off(kind):
    """Arrow would cut parts of a second, or times of day, off, and take times without a zone for UTC."""
    table = pa.table({"t": pa.array([], kind)})
    day, naive, aware = MOMENT.date(), MOMENT, MOMENT.replace(tzinfo=dt.UTC)
    is_date, zone = pa.types.is_date(kind), getattr(kind, "tz", None)
    fine = naive.replace(microsecond=500_001, tzinfo=None if zone is None else dt.UTC)
    finest = pd.Timestamp(fine) + pd.Timedelta(1, "ns")
    wrong = [naive, aware, fine, finest] if is_date else [day, naive if zone else aware]
    if not is_date:
        wrong += {"s": [fine, finest], "ms": [fine, finest], "us": [finest], "ns": []}[kind.unit]
    for group in [*wrong, "2024-01-01", 5]:
        with refused("groups", Reason.MISMATCH, ValueError):
            ss.count(table, 1, by="t", groups=[group])


def test_a_group_that_is_not_there_is_said_beside_some_that_are(silent):
    by_month = ss.count(TABLE, 1, by=ss.month("seen", "2024-01", "2024-02"))
    with pytest.raises(KeyError, match=r"there is no group '2024-03'; there are 2024-01; 2024-02"):
        by_month["2024-03"]
    assert by_month.get("2024-03") is None
    assert "2024-03" not in by_month


KINDS = {
    ss.year: ("2023", "2025", ["2023", "2024", "2025"], 2024),
    ss.month: ("2023-12", "2024-02", ["2023-12", "2024-01", "2024-02"], "2024-01-01"),
    ss.week: ("2020-W52", "2021-W01", ["2020-W52", "2020-W53", "2021-W01"], dt.date(2020, 12, 28)),
    ss.day: ("2024-02-28", "2024-03-01", ["2024-02-28", "2024-02-29", "2024-03-01"], dt.date(2024, 2, 29)),
    ss.hour: ("2024-01-01T22", "2024-01-02T00", ["2024-01-01 22:00", "2024-01-01 23:00", "2024-01-02 00:00"],
              "2024-01-01T23"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_period_is_found_as_it_is_printed_and_as_groups_are_given(kind):
    first, last, printed, second = KINDS[kind]
    table = {"seen": np.array(["2024-01-01T07:00"], "M8[s]"), "ward": ["a"]}
    counts = ss.count(table, 1, by=kind("seen", first, last))
    assert [counts.label(name) for name in counts] == printed
    assert [counts[text].group for text in printed] == list(counts)
    assert counts[second].group == list(counts)[1]
    assert all(text in repr(counts) for text in printed)
    assert "datetime" not in repr(counts)
    both = ss.count(table, 1, by=["ward", kind("seen", first, last)], groups=[["a", "b"], None])
    assert both["b", printed[1]].group == ("b", list(counts)[1])
    assert both["b", second] == both["b", printed[1]]
    with pytest.raises(KeyError, match="there is no group"):
        both["c", printed[1]]
    with pytest.raises(KeyError, match="there is no group"):
        both[printed[1]]


def test_an_hour_that_comes_twice_is_printed_and_found_with_its_offset():
    table = {"at": pa.array([dt.datetime(2024, 10, 27, tzinfo=dt.UTC)], pa.timestamp("s", "UTC"))}
    hours = ss.count(table, 1, by=ss.hour("at", "2024-10-27T02", "2024-10-27T03", zone="Europe/Vienna"))
    printed = ["2024-10-27 02:00+02:00", "2024-10-27 02:00+01:00", "2024-10-27 03:00+01:00"]
    assert [hours.label(name) for name in hours] == printed
    assert [hours.label(hours[text].group) for text in printed] == printed
    assert hours["2024-10-27T03"].group == list(hours)[2]
    with pytest.raises(KeyError):  # either of two
        hours["2024-10-27T02"]
    in_utc = ss.count(table, 1, by=ss.hour("at", "2024-10-27T00", "2024-10-27T01"))
    assert in_utc["2024-10-27 01:00+00:00"].group == list(in_utc)[1]
