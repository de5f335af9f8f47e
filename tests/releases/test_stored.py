"""Releases that are made again from what they wrote are the same releases."""

import datetime as dt
import json

import pytest

import soundsum as ss
from soundsum.refusals import Reason
from soundsum.releases.certificates import Unreadable
from soundsum.releases.stored import read_releases
from tests.refusing import refused

TABLE = {
    "pay": [1.5, 2.5, 7.0, None],
    "dept": ["a", "b", "a", "b"],
    "value": [1, 2, 2, 1],
    "day": [dt.date(2024, 1, 3), dt.date(2024, 2, 3), None, dt.date(2024, 1, 9)],
    "at": [dt.datetime(2024, 1, 3, 5, tzinfo=dt.UTC), None, None, dt.datetime(2024, 1, 3, 6, tzinfo=dt.UTC)],
    "who": [1, 1, 2, 3],
}
ASKED = {
    "total": ss.Sum("pay", 0, 10),
    "mean": ss.Mean("pay", 0, 10),
    "spread": ss.Variance("pay", 0, 10),
    "staff": ss.Count(),
    "cells": ss.Histogram("pay", [0, 3, 10]),
    "kinds": ss.Histogram("dept", categories=["a", "b"]),
    "lower quarter": ss.Quantile("pay", "1/4", 0, 10, weight=5),
    "upper quarter": ss.Quantile("pay", "3/4", 0, 10),
    "deviation": ss.Std("pay", 0, 10),
}
FEWER = {
    "lower quarter": ss.Quantile("pay", "1/4", 0, 10, weight=5, candidates=50),
    "upper quarter": ss.Quantile("pay", "3/4", 0, 10, candidates=50),
}
"""For zCDP, under which scales have denominators too large for the kernels, and draws take long."""
MONTH, HOUR = ss.month("day", "2024-01", "2024-03"), ss.hour("at", "2024-01-03T05", "2024-01-03T07")
WAYS = {
    "one number": {},
    "groups": {"by": "dept", "groups": ["a", "b"]},
    "a column called value": {"by": "value", "groups": [1, 2]},
    "months": {"by": MONTH},
    "hours": {"by": HOUR},
    "two columns": {"by": [MONTH, "dept"], "groups": [["2024-01", "2024-02"], ["a", "b"]]},
    "persons": {"privacy_unit": "who", "max_rows": 2, "by": "dept", "groups": ["a", "b"], "max_groups": 2},
    "a known number of rows": {"relation": "change_one"},
    "gaussian noise": {"epsilon": None, "rho": "1/10", "noise": "gaussian"},
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_they_are_the_same(way):
    asked = ASKED | FEWER if "rho" in way else ASKED
    several = ss.release(TABLE, asked, **{"epsilon": 5, **way})
    by = way.get("by")
    periods = [one for one in (by if isinstance(by, list) else [by]) if one in (MONTH, HOUR)]
    again = read_releases(several.to_json(), periods)
    assert again.to_json() == several.to_json()
    assert repr(again) == repr(several)
    assert again.to_arrow(0.8) == several.to_arrow(0.8)


def test_what_contradicts_itself_is_refused():
    said = ss.release(TABLE, ASKED, epsilon=5, by="dept", groups=["a", "b"]).to_dict()["releases"]
    for changed in (
        [{**said[0], "value": 7.5}, *said[1:]],
        [said[0], {**said[1], "noisy": ["x"]}, *said[2:]],
        [said[0], {name: value for name, value in said[1].items() if name != "group"}, *said[2:]],
        said[2:],
        [*said, said[0]],
    ):
        with refused("release", Reason.UNREADABLE, Unreadable):
            read_releases(json.dumps(changed))


def test_advice_is_made_again_with_the_coverage_that_was_asked_for():
    x = [1e6] * 5 + [21.5, 32.0, 18.25, 44.0] * 500
    table = {"x": x, "who": list(range(len(x)))}
    asked = {"wide": ss.Bounds("x", coverage="0.999"), "usual": ss.Bounds("x"), "cut": ss.Clipped("x", 0, 40)}
    several = ss.release(table, asked, 1000)
    again = read_releases(several.to_json())
    assert tuple(again["wide"]) == tuple(several["wide"]) == (0, 10**6)
    assert tuple(again["usual"]) == tuple(several["usual"]) == (0, 50) == tuple(read_releases(several)["usual"])
    assert again["cut"].exact == several["cut"].exact
    assert again.to_json() == several.to_json()
    alone = ss.suggest_bounds(table, 1000, column="x", coverage="0.999")
    (one,) = read_releases(alone.to_json())
    assert (tuple(one), one.coverage) == ((0, 10**6), alone.coverage)
    rows = ss.suggest_max_rows(table, "who", 1000, coverage=0.5)
    assert read_releases(rows.to_dict())[0].to_json() == rows.to_json()


@pytest.mark.parametrize("spoilt", [5, ["0.9"], {"wide": 0.9}, {"wide": "2"}, {"wide": "x"}])
def test_a_coverage_that_is_none_is_refused(spoilt):
    several = ss.release([1.0], {"wide": ss.Bounds(None)}, 1).to_dict()
    with pytest.raises((ValueError, TypeError), match="coverage"):
        read_releases(several | {"coverage": spoilt})
