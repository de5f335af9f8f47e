"""Periods against the obvious model: what a clock in the zone shows at an instant, by Python's datetime."""

import datetime as dt
import random
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import soundsum as ss
from soundsum.numbers.quoting import say_kind
from soundsum.tables.period_groups import Periods
from soundsum.tables.timestamps import PER_SECOND, Wanted, second_of, seconds_of_text
from tests.refusing import refused

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
KINDS = {"year": ss.year, "month": ss.month, "week": ss.week, "day": ss.day, "hour": ss.hour}
ZONES = [
    "UTC", "Europe/Vienna", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia",
    "America/Sao_Paulo", "America/Havana", "Africa/Cairo", "Antarctica/Troll",
]  # fmt: skip
RANDOM = random.Random(11)


def label(moment, kind):
    """Which period a clock is in while it shows this."""
    week = moment.isocalendar()
    hour = moment.year, moment.month, moment.day, moment.hour, moment.utcoffset()
    labels = {"year": hour[:1], "month": hour[:2], "week": (week.year, week.week), "day": hour[:3], "hour": hour}
    return labels[kind]


def label_of_name(name, kind):
    return label(name if kind == "hour" else dt.datetime(name.year, name.month, name.day), kind)


def seconds_near(groups):
    """Where the periods begin and end, the seconds around, and others at random."""
    edges = [int((edge - EPOCH).total_seconds()) for span in groups.spans for edge in span]
    far = [RANDOM.randint(min(edges) - 10**6, max(edges) + 10**6) for _ in range(300)]
    return [edge + step for edge in edges for step in (-1, 0, 1)] + far


def in_units(seconds, unit):
    """Each second's first and last instant in a unit."""
    return [second * PER_SECOND[unit] + more for second in seconds for more in (0, PER_SECOND[unit] - 1)]


RANGES = [
    ("year", 1957, 2024),
    ("year", 1893, 1902),
    ("month", "1969-10", "1970-03"),
    ("month", "2023-12", "2025-01"),
    ("week", "2015-W52", "2016-W02"),  # 2015 has a week 53
    ("week", "2020-W50", "2021-W13"),
    ("day", "2024-02-27", "2024-04-02"),
    ("day", "2100-02-27", "2100-03-02"),  # no leap year
    ("day", "2011-12-28", "2012-01-02"),  # Apia skipped the 30th
    ("day", "2018-10-28", "2018-11-10"),  # where midnight is skipped in Sao Paulo
    ("day", "2024-10-20", "2024-11-05"),
    ("hour", "2024-03-10T01", "2024-04-08T00"),
    ("hour", "2024-10-26T20", "2024-11-03T20"),
    ("hour", "1969-12-31T20", "1970-01-01T05"),
]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind, first, last", RANGES)
def test_every_instant_is_in_the_period_that_the_clock_shows(kind, first, last, zone):
    groups = Periods(KINDS[kind]("t", first, last, zone))
    places = {label_of_name(name, kind): place for place, name in enumerate(groups.names)}
    assert len(places) == len(groups)
    seconds = seconds_near(groups)
    shown = [dt.datetime.fromtimestamp(s, dt.UTC).astimezone(ZoneInfo(zone)) for s in seconds]
    expected = [places.get(label(moment, kind), len(groups)) for moment in shown]
    assert len(set(expected)) == len(groups) + 1 - (kind == "day" and zone == "Pacific/Apia" and first == "2011-12-28")
    assert groups.codes(shown).tolist() == expected
    assert groups.codes([moment.isoformat() for moment in shown]).tolist() == expected
    assert groups.codes(pa.array([moment.isoformat() for moment in shown])).tolist() == expected
    twice = [place for place in expected for _ in range(2)]
    for unit in PER_SECOND:
        for column_zone in ("UTC", "Asia/Tokyo", "-03:30"):
            keys = pa.array(in_units(seconds, unit), pa.int64()).cast(pa.timestamp(unit, column_zone))
            assert groups.codes(keys).tolist() == twice


@pytest.mark.parametrize("kind, first, last", RANGES)
def test_times_without_a_zone_are_taken_as_they_are(kind, first, last):
    groups = Periods(KINDS[kind]("t", first, last))
    places = {label_of_name(name, kind): place for place, name in enumerate(groups.names)}
    edges = [edge.replace(tzinfo=dt.UTC) for span in groups.spans for edge in span]
    seconds = [int((edge - EPOCH).total_seconds()) + step for edge in edges for step in (-1, 0, 1)]
    shown = [(EPOCH + dt.timedelta(seconds=s)).replace(tzinfo=None) for s in seconds]
    expected = [places.get(label(moment, kind), len(groups)) for moment in shown]
    assert groups.codes(shown).tolist() == expected
    assert groups.codes(pa.array([str(moment) for moment in shown])).tolist() == expected
    for unit in PER_SECOND:
        keys = pa.array(in_units(seconds, unit), pa.int64()).cast(pa.timestamp(unit))
        assert groups.codes(keys).tolist() == [place for place in expected for _ in range(2)]
    if kind != "hour":
        days = [moment.date() for moment in shown]
        places_of_days = [places.get(label_of_name(day, kind), len(groups)) for day in days]
        for keys in (pa.array(days, pa.date32()), pa.array(days, pa.date64()), days, pa.array(map(str, days))):
            assert groups.codes(keys).tolist() == places_of_days


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), *(pa.timestamp(unit) for unit in PER_SECOND)], ids=str)
def test_comparisons_are_exact_to_the_last_integer_of_the_type(kind):
    """Against fractions: an integer x of a unit is at x / units seconds, and in a period that holds that."""
    whole = Periods(ss.year("t", 1670, 1680))
    some = Periods(
        ss.year("t"), [1677, 2262, 1969, 1970, 9998, 2]
    )  # 64 bits of nanoseconds begin and end in the first two
    units = {pa.date32(): Fraction(1, 86400), pa.date64(): Fraction(1000)}.get(kind) or PER_SECOND[kind.unit]
    bits = kind.bit_width
    limits = [-(1 << bits - 1), (1 << bits - 1) - 1]
    for groups in (whole, some):
        spans = [tuple(int((edge.replace(tzinfo=dt.UTC) - EPOCH).total_seconds()) for edge in s) for s in groups.spans]
        points = [int(edge * units) + step for span in spans for edge in span for step in (-1, 0, 1)]
        points += [limit + step for limit in limits for step in range(-3, 4)] + [0, -1, 1]
        values = [x for x in points if limits[0] <= x <= limits[1]]
        stored = np.array(values, f"i{bits // 8}")
        keys = pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(stored)])
        expected = [_model(Fraction(x) / units, spans) for x in values]
        assert groups.codes(keys).tolist() == expected


def _model(second, spans):
    found = [place for place, (start, end) in enumerate(spans) if start <= second < end]
    return found[0] if found else len(spans)


def test_nulls_are_in_no_group_whatever_lies_under_them():
    groups = Periods(ss.year("t", 1970, 1970))
    stored = pa.py_buffer(np.array([0, 0, 0, 5], np.int64))
    keys = pa.Array.from_buffers(pa.timestamp("s"), 4, [pa.py_buffer(b"\x0a"), stored])
    assert groups.codes(keys).tolist() == [1, 0, 1, 0]
    assert groups.codes(keys[1:]).tolist() == [0, 1, 0]
    assert groups.codes(pa.nulls(2)).tolist() == [1, 1]
    offsets, data = pa.py_buffer(np.array([0, 10, 20], np.int32)), pa.py_buffer(b"1970-01-011970-01-01")
    texts = pa.Array.from_buffers(pa.string(), 2, [pa.py_buffer(b"\x02"), offsets, data])
    assert groups.codes(texts).tolist() == [1, 0]
    assert groups.codes(pa.array(np.array(["NaT", "1970-05-05"], "M8[ns]"))).tolist() == [1, 0]


class Broken(dt.tzinfo):
    def utcoffset(self, moment):
        raise RuntimeError("SECRET")


ODD = [
    None, float("nan"), pd.NaT, pd.NA, np.datetime64("NaT"), np.datetime64("NaT", "ns"), "", "2024", "2024-05", "x",
    b"2024-05-05", 5, 1715000000, True, [], {}, object(), dt.time(5), dt.timedelta(5), "2024-02-30", "2024-05-05T25",
    "2024-05-05T05:60", "2024-05-05 05:05:60", "2024-05-05T05+24:00", "２０２４-05-05", "2024-05-05\n.", "\ud800",
    dt.datetime(2024, 5, 5, tzinfo=Broken()), dt.datetime.max, dt.datetime.min, dt.date.max,
    dt.datetime.max.replace(tzinfo=dt.timezone(-dt.timedelta(hours=23))),
    dt.datetime.min.replace(tzinfo=dt.timezone(dt.timedelta(hours=23))), np.datetime64(2**62, "s"),
    np.datetime64(-(2**62), "D"), np.datetime64("9999-12-31T23"), "9999-12-31T23:59:59-23:59", "0001-01-01T00+23:59",
]  # fmt: skip


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_date_is_in_no_group_and_nothing_raises(kind, zone):
    first, last = {"hour": ("2024-05-05T00", "2024-05-05T23"), "year": (2024, 2024)}.get(
        kind, (dt.date(2024, 5, 5), dt.date(2024, 5, 5)) if kind == "day" else (None, None)
    )
    names = {"month": ["2024-05"], "week": ["2024-W18"]}.get(kind)
    groups = Periods(KINDS[kind]("t", first, last, zone), names)
    assert groups.codes(ODD).tolist() == [len(groups)] * len(ODD)
    texts = [text for text in ODD if isinstance(text, str) and text.isprintable()]
    assert groups.codes(pa.array(texts)).tolist() == [len(groups)] * len(texts)
    is_one = dt.datetime(2024, 5, 5, 12, tzinfo=None if zone is None else dt.UTC)
    assert groups.codes([*ODD, is_one])[-1] < len(groups)


def test_of_objects_without_a_type_those_of_the_right_kind_count():
    aware, naive, day = dt.datetime(2024, 5, 5, 23, tzinfo=dt.UTC), dt.datetime(2024, 5, 5, 23), dt.date(2024, 5, 5)
    texts = ["2024-05-05T23:00Z", "2024-05-05 23:00", "2024-05-05"]
    arrays = [np.datetime64("2024-05-05T23"), np.datetime64("2024-05-05T23:00:00.5", "ns"), pd.Timestamp(aware)]
    everything = [aware, naive, day, *texts, *arrays]
    as_they_are = Periods(ss.day("t", "2024-05-05", "2024-05-06"))
    in_vienna = Periods(ss.day("t", "2024-05-05", "2024-05-06", "Europe/Vienna"))  # where it is the 6th
    hours = Periods(ss.hour("t", "2024-05-05T23", "2024-05-05T23"))
    assert as_they_are.codes(everything).tolist() == [0] * 9
    ahead = dt.timezone(dt.timedelta(microseconds=5))  # by which the sixth begins while it is the fifth in UTC
    moments = [dt.datetime(2024, 5, 6, 0, 0, 0, microsecond, ahead) for microsecond in (4, 5)]
    assert as_they_are.codes(moments).tolist() == [0, 1]
    assert in_vienna.codes(everything).tolist() == [1, 2, 2, 1, 2, 2, 2, 2, 1]
    assert hours.codes(everything).tolist() == [0, 0, 1, 0, 0, 1, 0, 0, 0]


def check_text(texts):
    """The kernel against the model, cell by cell; and against Python's own reader where it takes the cell."""
    for wanted in (Wanted(False, False), Wanted(True, False), Wanted(False, True), Wanted(True, True)):
        expected = [second_of(text, wanted) for text in texts]
        for keys in (pa.array(texts), pa.array(texts, pa.large_string()), pa.array([*"ab", *texts])[2:]):
            seconds, there = seconds_of_text(keys, wanted)
            assert [s if is_there else None for s, is_there in zip(seconds.tolist(), there, strict=True)] == expected
    read = 0
    for text, second in zip(texts, (second_of(text, Wanted(False, False)) for text in texts), strict=True):
        if second is not None:
            try:
                moment = dt.datetime.fromisoformat(text.strip())
            except ValueError:  # it wants a colon everywhere or nowhere
                continue
            moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
            assert second == (moment - EPOCH) // dt.timedelta(seconds=1)
            read += 1
    return read


WELL_SPELLED = [
    "2024-02-29", "2023-12-31T23", "1969-12-31 23:59", "2024-02-29T07:30:59", "1900-01-01T00:00:00.999999999Z",
    "2024-02-29 07:30:59,5+01:30", "2024-02-29T07-0330", "0001-01-01T00:00:00+23:59:59", "9999-12-31T23:59-23",
]  # fmt: skip


def test_text_is_read_as_its_model_reads_it():
    """What is spelled well, and whatever comes of it where a character is changed, left out or put in."""
    texts = list(WELL_SPELLED)
    for text in WELL_SPELLED:
        for at in range(len(text) + 1):
            texts.append(text[:at] + text[at + 1 :])
            for more in "0123459TtZz+-:., \t\n\x00\x1f\xa0é２\u3000":
                texts += [text[:at] + more + text[at:], text[:at] + more + text[at + 1 :]]
    assert check_text(texts) > 500
    pieces = [
        "2024-02-29",
        "1969-12-31",
        "2023-02-29",
        "T",
        " ",
        "23",
        "07",
        ":59",
        ":5",
        ".123456",
        "Z",
        "+01:30",
        "-23",
    ]
    assert check_text(["".join(RANDOM.choice(pieces) for _ in range(RANDOM.randint(1, 7))) for _ in range(9000)]) > 100
    numbers = [(RANDOM.randint(0, 9999), RANDOM.randint(0, 13), RANDOM.randint(0, 32)) for _ in range(5000)]
    assert check_text([f"{year:04}-{month:02}-{day:02}" for year, month, day in numbers]) > 3000
    assert seconds_of_text(pa.array([], pa.string()), Wanted(False, False))[0].tolist() == []
    assert seconds_of_text(pa.array([None, ""], pa.string()), Wanted(False, False))[1].tolist() == [False, False]


def test_every_day_there_is():
    days = np.arange(dt.date.min.toordinal(), dt.date.max.toordinal() + 1) - dt.date(1970, 1, 1).toordinal()
    texts = pa.array(days.astype(np.int32)).cast(pa.date32()).cast(pa.string())
    seconds, there = seconds_of_text(texts, Wanted(False, False))
    assert there.all()
    assert (seconds == days * 86400).all()


def test_text_that_is_no_utf8_is_no_date():
    data = b"\xff\xfe2024-05-05\xff2024-05-05"
    keys = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 2, 12, 23], np.int32)), pa.py_buffer(data)]
    )
    assert Periods(ss.day("t", "2024-05-05", "2024-05-05")).codes(keys).tolist() == [1, 0, 1]


def test_days_of_23_and_25_hours():
    lengths = [end - start for start, end in Periods(ss.day("t", "2024-03-31", "2024-03-31", "Europe/Vienna")).spans]
    lengths += [end - start for start, end in Periods(ss.day("t", "2024-10-27", "2024-10-27", "Europe/Vienna")).spans]
    assert lengths == [dt.timedelta(hours=23), dt.timedelta(hours=25)]


def test_an_hour_that_comes_twice_is_two_groups_and_one_that_is_skipped_none():
    groups = Periods(ss.hour("t", "2024-10-27T01", "2024-10-27T03", "Europe/Vienna"))
    assert [str(name) for name in groups.names] == [
        "2024-10-27 01:00:00+02:00",
        "2024-10-27 02:00:00+02:00",
        "2024-10-27 02:00:00+01:00",
        "2024-10-27 03:00:00+01:00",
    ]
    assert len(set(groups.names)) == 4
    vienna = ZoneInfo("Europe/Vienna")
    both = [dt.datetime(2024, 10, 27, 2, 30, tzinfo=vienna, fold=fold) for fold in (0, 1)]
    assert groups.codes(both).tolist() == [1, 2]
    skipped = Periods(ss.hour("t", "2024-03-31T01", "2024-03-31T03", "Europe/Vienna"))
    assert [name.hour for name in skipped.names] == [1, 3]
    # The first and last of a range are the first and last that are shown so.
    assert len(Periods(ss.hour("t", "2024-10-27T02", "2024-10-27T02", "Europe/Vienna"))) == 2
    # In a list, one that comes twice is named by how far it is from UTC.
    one = Periods(ss.hour("t", zone="Europe/Vienna"), ["2024-10-27T02+01:00"])
    also = [dt.datetime(2024, 10, 27, 1, tzinfo=dt.UTC), dt.datetime(2024, 10, 27, 2, tzinfo=vienna, fold=1)]
    for name in also:
        assert Periods(ss.hour("t", zone="Europe/Vienna"), [name]).spans == one.spans
    assert one.codes(both).tolist() == [1, 0]
    both = "2024-10-27T02:00+02:00 and 2024-10-27T02:00+01:00"
    with refused("groups", "repeated", ValueError, given="'2024-10-27T02'", both=both):
        Periods(ss.hour("t", zone="Europe/Vienna"), ["2024-10-27T02"])


def test_clocks_that_are_put_back_by_half_an_hour_or_over_midnight():
    howe = Periods(ss.hour("t", "2024-04-07T01", "2024-04-07T02", "Australia/Lord_Howe"))
    assert [f"{name:%H:%M%z}" for name in howe.names] == ["01:00+1100", "01:30+1030", "02:00+1030"]
    assert [end - start for start, end in howe.spans] == [dt.timedelta(minutes=m) for m in (60, 30, 60)]
    # In St. John's at 00:01 on 2006-10-29 it was 23:01 on the 28th again. A day that has begun goes on.
    zone = "America/St_Johns"
    (day,) = Periods(ss.day("t", "2006-10-29", "2006-10-29", zone)).spans
    assert [str(edge.astimezone(ZoneInfo(zone))) for edge in day] == [
        "2006-10-29 00:00:00-02:30", "2006-10-30 00:00:00-03:30",
    ]  # fmt: skip
    assert ss.day("t", zone=zone).between("2006-10-29T02:45Z", "2006-10-29T02:45Z").first == dt.date(2006, 10, 29)
    hours = Periods(ss.hour("t", "2006-10-28T23", "2006-10-29T00", zone))
    assert [f"{name:%d %H:%M%z}" for name in hours.names] == [
        "28 23:00-0230", "29 00:00-0230", "28 23:01-0330", "29 00:00-0330",
    ]  # fmt: skip
    assert [end - start for start, end in hours.spans] == [dt.timedelta(minutes=m) for m in (60, 1, 59, 60)]
    # In Toronto 23:30 on 1919-03-30 was half past midnight on the 31st, which began with that.
    (day,) = Periods(ss.day("t", "1919-03-31", "1919-03-31", "America/Toronto")).spans
    assert day[0].astimezone(ZoneInfo("America/Toronto")).strftime("%d %H:%M") == "31 00:30"
    # A day that was never there is an empty group.
    apia = Periods(ss.day("t", "2011-12-29", "2011-12-31", "Pacific/Apia"))
    assert [end - start for start, end in apia.spans] == [dt.timedelta(hours=h) for h in (24, 0, 24)]


@pytest.mark.parametrize("zone", [None, *ZONES, "America/St_Johns", "America/Toronto", "Africa/Monrovia"])
@pytest.mark.parametrize("first, last", [("1918-01-01", "1919-12-31"), ("1971-01-01", "1972-12-31")])
def test_periods_follow_each_other_without_gaps(zone, first, last):
    """So that a record is in one at most, whatever clocks do."""
    days = Periods(ss.day("t", first, last, zone)).spans
    assert all(end == start for (_, end), (start, _) in pairwise(days))
    assert all(start <= end for start, end in days)
    hours = Periods(ss.hour("t", f"{last[:4]}-01-01T00", f"{last[:4]}-12-31T23", zone))
    assert all(end == start for (_, end), (start, _) in pairwise(hours.spans))
    assert len(set(hours.names)) == len(hours)


def test_names_can_be_given_back():
    for kind, first, last in RANGES:
        for zone in (None, "UTC", "Australia/Lord_Howe", "Europe/Vienna"):
            groups = Periods(KINDS[kind]("t", first, last, zone))
            again = Periods(KINDS[kind]("t", zone=zone), groups.names)
            assert (again.names, again.spans) == (groups.names, groups.spans)
            spelled = Periods(KINDS[kind]("t", zone=zone), [str(name) for name in groups.names])
            assert spelled.names == groups.names
    typed = Periods(ss.hour("t", "2024-01-01T00", "2024-01-01T02"))
    typed.codes(pa.array([], pa.timestamp("us", "Asia/Tokyo")))
    assert [name.utcoffset() for name in typed.names] == [dt.timedelta(0)] * 3  # the column has a zone
    assert typed.spans[0][0].tzinfo is dt.UTC
    assert Periods(ss.hour("t"), typed.names).names == typed.names


def test_spellings():
    same = ["2024-01", "2024-01-01", dt.date(2024, 1, 1), dt.datetime(2024, 1, 1), np.datetime64("2024-01")]
    assert len({ss.month("t", one, one) for one in [*same, pd.Timestamp("2024-01-01")]}) == 1
    assert ss.year("t", 2024, "2025") == ss.year("t", "2024-01-01", dt.date(2025, 1, 1))
    assert ss.week("t", "2024-W05", "2024-W05").first == dt.date(2024, 1, 29)
    assert ss.hour("t", "2024-01-31T07", "2024-01-31 08:00").last == dt.datetime(2024, 1, 31, 8)
    assert ss.day("t", zone=ZoneInfo("Europe/Vienna")).zone == "Europe/Vienna"
    in_utc = ss.hour("t", dt.datetime(2024, 1, 31, 7, tzinfo=dt.UTC), "2024-01-31T09+01:00")
    assert in_utc.zone == "UTC"
    assert in_utc.last == dt.datetime(2024, 1, 31, 8, tzinfo=dt.UTC)
    months = Periods(ss.month("t"), np.array(["2024-03", "2024-01"], "M8[M]").astype("M8[D]"))
    assert months.names == [dt.date(2024, 3, 1), dt.date(2024, 1, 1)]
    assert months.codes([dt.date(2024, 1, 31), dt.date(2024, 3, 31), dt.date(2024, 2, 1)]).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    "make, option, reason, facts",
    [
        (lambda: ss.month(5), "column", "wrong-type", {"given": "5"}),
        (lambda: ss.month("t", "2024-01"), "last", "missing", {}),
        (lambda: ss.month("t", "2024-02", "2024-01"), "last", "swapped", {}),
        (
            lambda: ss.month("t", "2024-01-15", "2024-02"),
            "first",
            "malformed",
            {"given": "'2024-01-15'", "example": "'2024-01'"},
        ),
        (lambda: ss.month("t", "2024", "2025"), "first", "malformed", {"one": "a month"}),
        (lambda: ss.month("t", "2024-13", "2025-01"), "first", "malformed", {"one": "a month"}),
        (
            lambda: ss.week("t", "2024-W53", "2024-W53"),
            "first",
            "malformed",
            {"one": "a week", "example": "'2024-W05'"},
        ),
        (lambda: ss.week("t", dt.date(2024, 1, 30), dt.date(2024, 1, 30)), "first", "malformed", {"one": "a week"}),
        (lambda: ss.day("t", "2023-02-29", "2023-03-01"), "first", "malformed", {"one": "a day"}),
        (lambda: ss.day("t", dt.datetime(2024, 1, 1, 5), "2024-01-02"), "first", "malformed", {"one": "a day"}),
        (lambda: ss.day("t", None, None, "Europe/Wien"), "zone", "unknown", {}),
        (lambda: ss.day("t", zone="../secret"), "zone", "unknown", {}),
        (
            lambda: ss.hour("t", "2024-01-01", "2024-01-02"),
            "first",
            "malformed",
            {"one": "an hour", "example": "'2024-01-31T07'"},
        ),
        (lambda: ss.hour("t", "2024-01-01T07:30", "2024-01-02T00"), "first", "malformed", {"one": "an hour"}),
        (
            lambda: ss.hour("t", "2024-03-31T02", "2024-03-31T03", "Europe/Vienna"),
            "first",
            "malformed",
            {"given": "'2024-03-31T02'"},
        ),
        (lambda: ss.year("t", True, True), "first", "malformed", {"one": "a year"}),
        (lambda: ss.year("t", 1, 5), "first", "malformed", {"one": "a year"}),
        (lambda: ss.day("t", "0001-01-01", "2024-01-01"), "first", "unsupported", {"earliest": 2, "latest": 9998}),
        (lambda: ss.hour("t", "9999-12-31T23", "9999-12-31T23"), "first", "unsupported", {}),
        (lambda: Periods(ss.hour("t", "1000-01-01T00", "2000-01-01T00")), "last", "too-many", {"most": "100,000"}),
        (lambda: Periods(ss.month("t"), ["2024-01", "2024-01-01"]), "groups", "repeated", {"given": "2024-01-01"}),
        (
            lambda: Periods(ss.month("t", "2024-01", "2024-03"), ["2024-04"]),
            "groups",
            "conflict",
            {"given": "'2024-04'"},
        ),
        (lambda: Periods(ss.month("t"), "2024-04"), "groups", "wrong-type", {}),
        (lambda: Periods(ss.month("t"), []), "groups", "empty", {}),
        (lambda: Periods(ss.month("t"), [None]), "groups", "malformed", {"one": "a month"}),
    ],
)
def test_what_names_no_period(make, option, reason, facts):
    with refused(option, reason, **facts):
        make()


@pytest.mark.parametrize(
    "period, kind, option",
    [
        (ss.hour("t"), pa.date32(), "by"),
        (ss.day("t", zone="UTC"), pa.date64(), "zone"),
        (ss.day("t", zone="UTC"), pa.timestamp("us"), "zone"),
        (ss.day("t"), pa.int64(), "by"),
        (ss.day("t"), pa.time32("s"), "by"),
        (ss.day("t"), pa.duration("s"), "by"),
    ],
)
def test_types_without_such_periods_are_refused(period, kind, option):
    name = "2024-01-01T00" if period.kind == "hour" else "2024-01-01"
    table, budget = pa.table({"t": pa.array([], kind)}), ss.Budget(epsilon=1)
    with refused(option, "mismatch", ValueError, kind=say_kind(kind)):
        ss.count(table, 1, by=period, groups=[name], budget=budget)
    assert not budget.entries()
