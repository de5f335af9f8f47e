"""Groups that nobody listed: what a release claims and costs, that sums over them follow, and what stays private."""

import datetime
import gc
import json
import pickle
from collections import Counter
from fractions import Fraction

import duckdb
import matplotlib
import matplotlib.pyplot as pyplot
import polars as pl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import soundsum as ss
from soundsum.budget.ledger import read
from soundsum.cli import app
from soundsum.cli.refusal_text import CommandLine
from soundsum.refusals import Reason
from soundsum.releases import pipeline
from soundsum.releases.ledger_check import compare_with_ledger
from soundsum.releases.release_check import list_releases
from soundsum.releases.stored import read_releases
from tests.refusing import refused

matplotlib.use("Agg")

SURE = 1000
"""An epsilon at which the noise is 0 and the threshold 2, but with a chance below 10^-400."""

DELTA = "1e-9"


def shop(people=60):
    """Everybody buys tea once, half of them coffee twice; two products have one buyer each."""
    rows = [("tea", i, 2.0) for i in range(people)]
    rows += [("coffee", i, 3.0) for i in range(0, people, 2) for _ in range(2)]
    rows += [("=cmd()", 1, 1.0), ("rare disease of J. Doe", 3, 1.0), (None, 2, 1.0)]
    products, persons, prices = zip(*rows, strict=True)
    return {"product": list(products), "person": list(persons), "price": list(prices)}


SHOP = shop()
PERSONS = {"privacy_unit": "person", "max_groups": 2}


def test_a_release_names_the_groups_of_enough_persons():
    found = ss.groups(SHOP, "product", SURE, DELTA, **PERSONS)
    assert {name: release.value for name, release in found.items()} == {"coffee": 30, "tea": 60}
    assert found.threshold == found["tea"].threshold == ss.plan_groups(SURE, DELTA, 2).threshold
    assert found["tea"].interval(0.5) == (60 - found.threshold + 1, 60 + found.threshold - 1)
    assert found["tea"].guarantee.delta <= Fraction(DELTA)
    assert ss.check(found) == []


def test_intervals_are_certain_and_hold_at_least_one_person(same_draws):
    """Whatever the confidence: noise never goes further than the threshold less one."""
    for _ in range(200):
        found = ss.groups(SHOP, "product", "1/2", "1/10", **PERSONS)
        for name, release in found.items():
            low, high = release.interval(1e-9 + 0.5)
            count = {"tea": 60, "coffee": 30}.get(name, 1)
            assert low >= 1
            assert low <= count <= high
            assert release.value >= found.threshold


def test_with_gaussian_noise_the_release_says_that_no_interval_holds():
    found = ss.groups(SHOP, "product", SURE, DELTA, noise="gaussian", **PERSONS)
    assert list(found) == ["coffee", "tea"]
    low, high = found["tea"].interval()
    assert (low, high) == (1, float("inf"))
    assert "no interval" in repr(found)
    assert "no interval for a group that was found" in repr(found["tea"])
    assert json.loads(found.to_json())["releases"][0]["interval_95"] == [1.0, None]
    assert found.to_arrow()["high"].to_pylist() == [float("inf")] * 2
    assert ss.check(found) == ss.check(found.to_json()) == []


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_sums_over_found_groups_cost_one_charge_and_the_certificate_has_both(noise):
    budget = ss.Budget(epsilon=2, delta="1e-6", privacy_unit="person")
    options = {} if noise == "laplace" else {"noise": "gaussian", "delta": "1e-7"}
    table = shop(4000)
    total, count = ss.release(
        table, [ss.Sum("price", 0, 5), ss.Count(weight=2)], 2, by="product", groups=ss.Found(DELTA, weight=1),
        budget=budget, max_rows=2, **options, **PERSONS,
    )  # fmt: skip
    assert list(total) == list(count) == ["coffee", "tea"]
    assert (total["tea"].epsilon, count["tea"].epsilon) == (Fraction(1, 2), Fraction(1))
    search = total["tea"].certificate["search"]
    assert (search["epsilon"], search["asked_delta"]) == ("1/2", "1/1000000000")
    (entry,) = budget.entries()
    own = sum(one.guarantee.delta for one in (total["tea"], count["tea"]))
    assert entry.cost == ss.Cost(2, Fraction(search["delta"]) + own)
    assert own == (Fraction("1e-7") if noise == "gaussian" else 0)
    assert entry.cost.delta <= Fraction(DELTA) + own
    assert ss.check(total) == ss.check(count.to_json()) == []
    assert total.threshold == int(search["threshold"])


def test_sums_over_found_groups_are_those_of_the_same_groups_listed():
    statistics = {
        "total": ss.Sum("price", 0, 5), "mean": ss.Mean("price", 0, 5), "variance": ss.Variance("price", 0, 5),
        "cells": ss.Histogram("price", [0, 2.5, 5]), "rows": ss.Count(),
    }  # fmt: skip
    options = {"by": "product", "max_rows": 2, **PERSONS}
    found = ss.release(SHOP, statistics, 10**9, groups=ss.Found(DELTA), **options)
    listed = ss.release(SHOP, statistics, 10**9, groups=["coffee", "tea"], **options)
    for one, other in zip(found, listed, strict=True):
        assert list(one) == list(other)
        assert [round(r.value, 3) for r in one.values()] == [round(r.value, 3) for r in other.values()]
    assert ss.check(found) == []
    assert read_releases(found.to_json()).to_json() == found.to_json()


def test_each_function_takes_found_groups():
    common = {"by": "product", "groups": ss.Found(DELTA), **PERSONS}
    bounded = {"column": "price", "lower": 0, "upper": 5, "epsilon": SURE, **common}
    for ask in (ss.sum, ss.mean, ss.variance):
        assert list(ask(SHOP, **bounded)) == ["coffee", "tea"]
    assert list(ss.count(SHOP, SURE, **common)) == ["coffee", "tea"]
    assert len(ss.histogram(SHOP, [0, 2, 5], SURE, column="price", **common)) == 4


def test_what_was_found_is_a_public_list():
    found = ss.groups(SHOP, "product", SURE, DELTA, **PERSONS)
    total = ss.sum(SHOP, 0, 5, SURE, column="price", by="product", groups=found, max_rows=2, **PERSONS)
    assert list(total) == ["coffee", "tea"]
    assert total.threshold is None
    assert "search" not in total["tea"].certificate
    years = {"seen": [datetime.date(2024, 1, 5)] * 50 + [datetime.date(2023, 2, 5)] * 50, "ward": ["a", "b"] * 50}
    by = [ss.year("seen"), "ward"]
    crossed = ss.groups(years, by, SURE, DELTA)
    assert list(ss.count(years, SURE, by=by, groups=crossed)) == list(crossed)


def test_no_group_found_is_an_empty_result():
    for table in (
        shop(3),
        {"product": [], "person": [], "price": []},
        {**SHOP, "product": [None] * len(SHOP["price"])},
    ):
        budget = ss.Budget(epsilon=1, delta="1e-8", privacy_unit="person")
        found = ss.groups(table, "product", "1/2", DELTA, budget=budget, **PERSONS)
        total = ss.sum(
            table, 0, 5, "1/2", column="price", by="product", groups=ss.Found(DELTA), budget=budget, **PERSONS
        )
        for one in (found, total):
            assert len(one) == 0
            assert one.to_arrow().num_rows == len(one.to_pandas()) == 0
            assert "0 groups" in repr(one)
            assert "0 groups" in one._repr_html_()
            assert ss.check(one) == ss.check(one.to_json()) == []
            (again,) = read_releases(json.dumps({"releases": [], "empty": one.to_dict()["empty"]}))
            assert (len(again), repr(again)) == (0, repr(one))
            altered = one.to_dict()
            altered["empty"][0]["certificate"]["search"]["threshold"] += 1
            assert ss.check(altered) != []
        assert [entry.state for entry in budget.entries()] == ["released"] * 2


def test_several_statistics_without_a_group_keep_their_names():
    asked = {"total": ss.Sum("price", 0, 5), "cells": ss.Histogram("price", [0, 1]), "mean": ss.Mean("price", 0, 5)}
    several = ss.release(shop(3), asked, 1, by="product", groups=ss.Found(DELTA), **PERSONS)
    again = read_releases(several.to_json())
    assert again.names == several.names == ("total", "cells", "mean")
    assert again.to_json() == several.to_json()
    assert ss.check(several) == []
    assert several.to_arrow().num_rows == 0
    assert "0 groups" in repr(several)
    assert "0 groups" in several._repr_html_()


def test_pictures_of_groups_with_odd_names_without_intervals_and_without_any():
    table = {"name": [name for name in ("$x^$", "$\\frac{", "a\nb", "=cmd") for _ in range(50)]}
    for epsilon, noise in ((SURE, "laplace"), (SURE, "gaussian"), ("1/100", "laplace")):
        found = ss.groups(table, "name", epsilon, DELTA, noise=noise)
        axes = found.plot()
        axes.figure.canvas.draw()
        assert max(map(abs, axes.get_xlim())) < 1000
        assert ("no group was found" in [text.get_text() for text in axes.texts]) == (not found)
        pyplot.close(axes.figure)


def test_tables_ratios_and_simultaneous_intervals_of_groups():
    found = ss.groups(SHOP, "product", SURE, DELTA, **PERSONS)
    assert "certain interval" in found.to_markdown()
    assert "95" not in found.to_latex()
    assert found.interval(0.95, all_groups=True) == {name: one.interval() for name, one in found.items()}
    low, high = found["tea"].ratio(found["coffee"]).interval()
    assert low <= 2 <= high
    gaussian = ss.groups(SHOP, "product", SURE, DELTA, noise="gaussian", **PERSONS)
    assert "1 or more" in gaussian.to_markdown()
    with refused("noise", Reason.UNSUPPORTED):
        found["tea"].ratio(gaussian["tea"])


def test_few_keys_one_value_and_other_types():
    assert dict(ss.groups({"a": ["x"] * 50}, "a", SURE, DELTA)).keys() == {"x"}
    assert list(ss.groups({"a": ["x"] * 50, "id": list(range(50))}, "a", SURE, DELTA, privacy_unit="id", max_groups=9))
    day = datetime.date(2024, 2, 29)
    typed = {
        "int": pa.array([3, -1] * 50), "flag": pa.array([True, False] * 50), "day": pa.array([day, None] * 50),
        "large": pa.array([2**63 + 5, 1] * 50, pa.uint64()), "text": pa.array(["b", "a"] * 50).dictionary_encode(),
    }  # fmt: skip
    table = pa.table(typed)
    expected = {"int": [-1, 3], "flag": [False, True], "day": [day], "large": [1, 2**63 + 5], "text": ["a", "b"]}
    for column, names in expected.items():
        assert list(ss.groups(table, column, SURE, DELTA)) == names
        counted = ss.count(table, SURE, by=column, groups=ss.Found(DELTA))
        assert {name: round(r.value) for name, r in counted.items()} == dict.fromkeys(names, 50)
    with refused("by", Reason.UNSUPPORTED):
        ss.groups({"a": pa.array([1.5, 2.5])}, "a", 1, DELTA)


def test_keys_of_two_types_in_one_column_are_groups_apart():
    table = {"key": ["3"] * 50 + [3] * 50 + [datetime.date(2024, 1, 1)] * 50 + [1.5, None, b"x", object()]}
    found = ss.groups(table, "key", SURE, DELTA)
    assert {str(type(name).__name__) for name in found} == {"str", "int", "date"}
    assert {round(r.value) for r in found.values()} == {50}
    assert len(ss.count(table, SURE, by="key", groups=ss.Found(DELTA))) == 3
    assert found.to_arrow().num_rows == 3


NASTY = [
    "=cmd|' /C calc'!A0",
    "two\nlines",
    "\x1b[31mred",
    "<script>alert(1)</script>",
    "2024-01..2024-12",
    "@a,b",
    "+A1",
]


def test_names_that_data_chose_are_shown_and_written_safely(tmp_path):
    table = {"product": [name for name in NASTY for _ in range(50)]}
    file = tmp_path / "nasty.parquet"
    pq.write_table(pa.table(table), file)
    found = ss.groups(table, "product", SURE, DELTA)
    assert set(found) == set(NASTY)
    assert "<script>" not in found._repr_html_()
    for text in (repr(found), found._repr_html_()):
        assert "\x1b" not in text
        assert "two\nlines" not in text
    assert set(ss.count(table, SURE, by="product", groups=ss.Found(DELTA))) == set(NASTY)
    assert set(ss.count(table, SURE, by="product", groups=found)) == set(NASTY)
    command = ["groups", str(file), "--by", "product", "--epsilon", "1000", "--delta", "1e-9"]
    written = CliRunner().invoke(app, [*command, "--csv"])
    for text in (found.to_csv(), written.output):
        assert [line for line in text.splitlines() if line.lstrip('"')[:1] in ("=", "+", "@", "-")] == []
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0
    assert "\x1b[31mred" not in shown.output


def test_nothing_but_a_release_carries_a_name():
    """Not the object, not its pickle, not what it is written as, and not what is still alive afterwards."""
    secret = "rare disease of J. Doe"
    for table in (SHOP, pa.table(SHOP), pl.DataFrame(SHOP), pa.table(SHOP).to_pandas()):
        found = ss.groups(table, "product", 20, DELTA, **PERSONS)
        total = ss.sum(table, 0, 5, 20, column="price", by="product", groups=ss.Found(DELTA), max_rows=2, **PERSONS)
        for one in (found, total):
            assert len(one)
            assert secret.encode() not in pickle.dumps(one)
            assert secret not in one.to_json()
            arrow = one.to_arrow()
            buffers = [
                b for column in arrow.columns for chunk in column.chunks for b in chunk.buffers() if b is not None
            ]
            assert all(secret.encode() not in b.to_pybytes() for b in buffers)
    reachable, left = set(), [found]
    while left:
        one = left.pop()
        if id(one) not in reachable and not isinstance(one, type) and type(one).__name__ not in ("module", "function"):
            reachable.add(id(one))
            assert one != secret if isinstance(one, str) else True
            left += [x for x in gc.get_referents(one) if not isinstance(x, type)]


def test_groups_come_in_their_own_order():
    for order in ([3, 1, 2], [1, 2, 3]):
        assert list(ss.groups({"k": [x for x in order for _ in range(50)]}, "k", SURE, DELTA)) == [1, 2, 3]


@pytest.mark.parametrize("engine", ["memory", "duckdb", "polars"])
def test_one_more_person_changes_nobody_else_s_groups(engine, tmp_path):
    """Their keys come before all others, and are in all places between; with noise 0 the counts are theirs and ours."""
    rows = [(i % 40, "abcdefgh"[(i * i + i // 7) % 8]) for i in range(400)]
    added = [(99, key) for key in ("0", "a", "zz", "h", "h", "c5")]

    def find(rows):
        file = tmp_path / "rows.parquet"
        ids, keys = zip(*rows, strict=True)
        pq.write_table(pa.table({"id": ids, "key": keys}), file)
        found = ss.groups(file, "key", 10**6, "1/2", privacy_unit="id", max_groups=2, engine=engine)
        return Counter({name: round(release.value) for name, release in found.items()})

    threshold = ss.plan_groups(10**6, "1/2", 2).threshold
    before, after = find(rows), find(added + rows)
    assert threshold == 2
    changed = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    assert sum(changed.values()) <= 2
    assert set(changed.values()) <= {1}
    assert before.keys() <= after.keys()


def test_every_source_finds_and_adds_the_same(tmp_path):
    table, file, text = pa.table(SHOP), tmp_path / "shop.parquet", tmp_path / "shop.csv"
    pq.write_table(table, file)
    pc.write_csv(table, text)
    options = {"by": "product", "max_rows": 2, "column": "price", **PERSONS}

    def ask(data, **more):
        total = ss.sum(data, 0, 5, 10**9, groups=ss.Found(DELTA), **options, **more)
        return {name: round(release.value) for name, release in total.items()}

    expected = {"coffee": 180, "tea": 120}
    assert ask(SHOP) == ask(table) == ask(file) == ask(pl.from_arrow(table).lazy()) == expected
    assert ask(text, dtype="float64") == expected
    assert ask(file, engine="duckdb") == ask(file, engine="polars") == expected
    with duckdb.connect() as connection:
        connection.register("shop", table)
        assert ask(connection, table="shop") == expected
    columns = {name: SHOP[name] for name in ("product", "person")}
    beside = ss.sum(
        SHOP["price"], 0, 5, 10**9, by=columns["product"], groups=ss.Found(DELTA), max_rows=2, max_groups=2,
        privacy_unit=columns["person"],
    )  # fmt: skip
    assert {name: round(release.value) for name, release in beside.items()} == expected


def test_periods_several_columns_filters_and_records():
    days = [datetime.date(2024, month, 3) for month in (1, 1, 2) for _ in range(40)]
    wards = ["a", "b", "a"] * 40
    table = pa.table({"seen": days, "ward": wards, "cost": [1.0] * 120})
    month = ss.month("seen")
    january, february = datetime.date(2024, 1, 1), datetime.date(2024, 2, 1)
    found = ss.groups(table, month, SURE, DELTA)
    assert list(found) == [january, february]
    assert found["2024-01"].value == 80
    assert ss.check(found) == []
    both = ss.sum(table, 0, 1, SURE, column="cost", by=[month, "ward"], groups=ss.Found(DELTA))
    assert {key: round(r.value) for key, r in both.items()} == {
        (january, "a"): 53, (january, "b"): 27, (february, "a"): 27, (february, "b"): 13,
    }  # fmt: skip
    assert ss.check(both) == []
    assert list(ss.groups(table, [month, "ward"], SURE, DELTA, where=[("ward", "==", "b")])) == [
        (january, "b"), (february, "b"),
    ]  # fmt: skip
    for relation in ss.Relation:
        one = ss.groups(table, "ward", SURE, DELTA, relation=relation)
        total = ss.sum(table, 0, 1, SURE, column="cost", by="ward", groups=ss.Found(DELTA), relation=relation)
        assert {name: round(r.value) for name, r in total.items()} == {"a": 80, "b": 40}
        assert {name: r.value for name, r in one.items()} == {"a": 80, "b": 40}
        assert ss.check(one) == ss.check(total) == []
        moved = one["a"].certificate["released"][0]
        assert (moved["l1_steps"], moved["l2_squared_steps"]) == ((2, 2) if relation.sized else (1, 1))


def test_instants_are_cut_in_a_zone_and_named_with_it():
    moments = [datetime.datetime(2024, 1, 1, 23, 30, tzinfo=datetime.UTC)] * 50
    table = pa.table({"at": moments})
    for by in (ss.day("at", zone="Europe/Vienna"), ss.hour("at"), ss.day("at")):
        found = ss.groups(table, by, SURE, DELTA)
        counted = ss.count(table, SURE, by=by, groups=ss.Found(DELTA))
        assert list(found) == list(counted)
        assert len(found) == 1
        assert ss.check(found) == ss.check(counted) == []
        assert found.headings == counted.headings == ss.count(table, SURE, by=by, groups=found).headings
        assert found["2024-01-02" if by.zone else "2024-01-01T23" if by.kind == "hour" else "2024-01-01"].value == 50


# What is refused, and when


@pytest.mark.parametrize(
    "delta, reason",
    [
        (None, Reason.MISSING),
        (1, Reason.TOO_LARGE),
        (2, Reason.TOO_LARGE),
        (0, Reason.TOO_SMALL),
        (-1, Reason.TOO_SMALL),
        (float("nan"), Reason.NOT_A_NUMBER),
    ],
)
def test_a_delta_is_needed_and_below_one(delta, reason):
    with refused("delta", reason):
        ss.groups(SHOP, "product", 1, delta)
    with refused("delta", reason):
        ss.Found(delta)


def test_rho_and_pure_epsilon_are_refused_before_anything_is_charged(tmp_path):
    budget = ss.Budget(rho=1, path=tmp_path / "rho.db")
    with refused("delta", Reason.MISMATCH):
        ss.groups(SHOP, "product", 1, DELTA, budget=budget)
    with refused("delta", Reason.MISMATCH):
        ss.count(SHOP, 1, by="product", groups=ss.Found(DELTA), budget=budget)
    with refused("rho", Reason.UNSUPPORTED):
        ss.count(SHOP, rho=1, noise="gaussian", by="product", groups=ss.Found(DELTA), budget=budget)
    with refused("rho", Reason.UNKNOWN, TypeError):
        ss.groups(SHOP, "product", rho=1, budget=budget)
    assert budget.entries() == []
    pure = ss.Budget(epsilon=1)
    with refused("delta", Reason.MISMATCH):
        ss.groups(SHOP, "product", 1, DELTA, budget=pure)
    mixed = ss.Budget(epsilon=5, delta="1e-6")
    ss.count(SHOP, rho="1/1000", noise="gaussian", budget=mixed)
    with refused("delta", Reason.MISMATCH):
        ss.groups(SHOP, "product", 1, DELTA, budget=mixed)
    assert len(mixed.entries()) == 1
    assert pure.entries() == []


@pytest.mark.parametrize(
    "options, option, reason",
    [
        ({"noise": "none"}, "noise", Reason.UNSUPPORTED),
        ({"weight": 0}, "weight", Reason.TOO_SMALL),
        ({"weight": "many"}, "weight", None),
    ],
)
def test_other_terms_of_a_search_are_refused_uncharged(options, option, reason):
    budget = ss.Budget(epsilon=5, delta="1e-6")
    with pytest.raises((ValueError, TypeError), match=option):
        ss.count(SHOP, 1, by="product", groups=ss.Found(DELTA, **options), budget=budget)
    assert budget.entries() == []


def test_a_search_needs_columns_and_data_that_can_be_read_twice():
    with refused("groups", Reason.NEEDS):
        ss.count(SHOP, 1, groups=ss.Found(DELTA))
    with refused("by", Reason.UNKNOWN):
        ss.groups(SHOP, ["product", "nothing"], 1, DELTA)
    reader = pa.table(SHOP).to_reader()
    with refused("data", Reason.UNSUPPORTED, TypeError):
        ss.count(reader, 1, by="product", groups=ss.Found(DELTA))
    assert list(ss.groups(pa.table(SHOP).to_reader(), "product", SURE, DELTA, **PERSONS)) == ["coffee", "tea"]


@pytest.mark.parametrize("size", [len(SHOP["price"]), 5])
def test_a_size_would_tell_for_nothing_whether_a_group_was_found(size):
    """It is checked in the second pass, and a charge for a wrong one is taken back."""
    budget = ss.Budget(epsilon=5, delta="1e-6", relation="change_one")
    with refused("size", Reason.CONFLICT):
        ss.sum(
            SHOP, 0, 5, 1, column="price", by="product", groups=ss.Found(DELTA), relation="change_one", size=size,
            budget=budget,
        )  # fmt: skip
    assert budget.entries() == []


def test_it_is_charged_before_anything_is_read_and_a_failed_read_keeps_its_charge(tmp_path):
    file = tmp_path / "shop.parquet"
    pq.write_table(pa.table(SHOP), file)
    broken = bytearray(file.read_bytes())
    broken[4:400] = bytes(396)
    file.write_bytes(broken)
    budget = ss.Budget(epsilon=5, delta="1e-6", path=tmp_path / "ledger.db")
    for ask in (
        lambda: ss.groups(file, "product", 1, DELTA, budget=budget),
        lambda: ss.count(file, 1, by="product", groups=ss.Found(DELTA), budget=budget),
    ):
        with pytest.raises(ss.ReadFailed):
            ask()
        budget.reopen()
    assert [entry.state for entry in budget.entries()] == ["failed"] * 2
    assert budget.spent.epsilon == 2
    assert 0 < budget.spent.delta <= 2 * Fraction(DELTA)


def test_a_crash_loses_the_release_and_not_the_charge(monkeypatch):
    budget = ss.Budget(epsilon=5, delta="1e-6")

    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline.Releases, "__init__", crash)
    with pytest.raises(KeyboardInterrupt):
        ss.count(SHOP, 1, by="product", groups=ss.Found(DELTA), budget=budget)
    assert [entry.state for entry in budget.entries()] != ["released"]
    assert budget.spent.epsilon == 1


def test_too_small_a_budget_refuses_and_reads_nothing():
    budget = ss.Budget(epsilon=1, delta="1e-10")
    with pytest.raises(ss.BudgetExceeded):
        ss.groups(SHOP, "product", 1, DELTA, budget=budget)
    assert budget.entries() == []


# The ledger and the check


def test_a_ledger_confirms_both_passes_and_contradictions_are_found(tmp_path):
    budget = ss.Budget(epsilon=3 * SURE, delta="1e-6", path=tmp_path / "ledger.db", privacy_unit="person")
    found = ss.groups(SHOP, "product", SURE, DELTA, budget=budget, **PERSONS)
    total = ss.sum(
        SHOP, 0, 5, SURE, column="price", by="product", groups=ss.Found(DELTA), max_rows=2, budget=budget, **PERSONS
    )
    ledger = read(tmp_path / "ledger.db")
    for one in (found, total):
        assert compare_with_ledger(list_releases(one.to_json()), ledger) == [[], []]
    query = ledger.entries[1].query
    assert query.to_json()["groups"] == {"found": {"delta": "1/1000000000", "noise": "laplace"}}
    assert "by product, groups found" in str(query)
    assert "in at most 2 groups" in str(query)

    def alter(change):
        plain = json.loads(total.to_json())
        for release in plain["releases"]:
            change(release)
        return ss.check(plain)

    changes = {
        "threshold": lambda r: r["certificate"]["search"].update(threshold=3),
        "delta": lambda r: r["certificate"]["search"].update(delta="0"),
        "reach": lambda r: r["certificate"]["search"].update(reach=5),
        "no search": lambda r: r["certificate"].pop("search"),
        "a list": lambda r: r["certificate"]["unit"].update(groups=2),
        "asked for less": lambda r: r["ledger"]["query"]["groups"]["found"].update(delta="1/10"),
        "paid less": lambda r: r["ledger"]["cost"].update(delta="0"),
        "paid more": lambda r: r["ledger"]["cost"].update(delta="1/1000"),
        "another share": lambda r: [
            one.update(share=share)
            for one, share in zip(r["ledger"]["query"]["statistics"], ("3/4", "1/4"), strict=True)
        ],
    }
    assert {name: alter(change) for name, change in changes.items() if not alter(change)} == {}
    assert alter(lambda r: None) == []


# The owner's table and the command line


@pytest.mark.parametrize("pad", [None, "2s"])
def test_an_owner_s_table_finds_groups_too(pad, tmp_path):
    file = tmp_path / "shop.parquet"
    pq.write_table(pa.table(SHOP), file)
    budget = ss.Budget(epsilon=10**4, delta="1e-6", privacy_unit="person", data="shop")
    owner = ss.Private(file, budget=budget, privacy_unit="person", max_rows=2, max_groups=2, name="shop", pad=pad)
    found = owner.groups("product", SURE, DELTA)
    assert {name: release.value for name, release in found.items()} == {"coffee": 30, "tea": 60}
    total = owner.sum("price", 0, 5, SURE, by="product", groups=ss.Found(DELTA))
    assert {name: round(release.value) for name, release in total.items()} == {"coffee": 180, "tea": 120}
    listed = owner.sum("price", 0, 5, SURE, by="product", groups=found)
    assert list(listed) == list(found)
    nothing = owner.count("1/100", by="product", groups=ss.Found(DELTA))
    assert len(nothing) == 0
    assert [entry.cost.epsilon for entry in budget.entries()] == [SURE, SURE, SURE, Fraction(1, 100)]
    with refused("rho", Reason.UNKNOWN, TypeError):
        owner.groups("product", rho=1)
    with refused("privacy_unit", Reason.MISMATCH, TypeError):
        owner.groups("product", 1, DELTA, privacy_unit="product")


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


@pytest.fixture
def shop_file(tmp_path):
    file = tmp_path / "shop.parquet"
    pq.write_table(pa.table(SHOP), file)
    return file


WHOM = ("--privacy-unit", "person", "--max-groups", 2)


def test_commands_find_groups(shop_file):
    asked = ("--by", "product", "--delta", DELTA, "--epsilon", SURE, *WHOM)
    found = run("groups", shop_file, *asked, "--json")
    assert [one["group"] for one in json.loads(found.output)] == ["coffee", "tea"]
    assert "certain interval" in " ".join(run("groups", shop_file, *asked).output.split())
    total = run("sum", shop_file, "--column", "price", "--bounds", 0, 5, "--groups", "found", *asked, "--json")
    plain = json.loads(total.output)
    assert [one["group"] for one in plain] == ["coffee", "tea"]
    assert plain[0]["certificate"]["search"]["asked_delta"] == "1/1000000000"
    gaussian = run("count", shop_file, "--groups", "found", *asked, "--noise", "gaussian", "--json")
    plain = json.loads(gaussian.output)
    assert plain[0]["certificate"]["search"]["asked_delta"] == "1/2000000000"
    assert Fraction(plain[0]["certificate"]["privacy"]["delta"]) == Fraction(DELTA) / 2
    listed = run("count", shop_file, "--by", "product", "--groups", '"found"', "--epsilon", 1, *WHOM, "--json")
    assert [one["group"] for one in json.loads(listed.output)] == ["found"]
    few = run("count", shop_file, "--groups", "found", "--by", "product", "--delta", DELTA, "--epsilon", "0.01", *WHOM)
    assert few.exit_code == 0
    assert "no group" in few.output


def test_commands_say_what_is_missing(shop_file):
    without = run("count", shop_file, "--by", "product", "--groups", "found", "--epsilon", 1)
    assert (without.exception.option, without.exception.reason) == ("delta", Reason.MISSING)
    unlisted = run("count", shop_file, "--by", "product", "--epsilon", 1)
    assert unlisted.exception.say(CommandLine({})).endswith("or find them: groups found delta 1e-9")


def test_a_request_file_finds_groups(shop_file, tmp_path):
    request = tmp_path / "request.toml"
    asked = (
        'epsilon = 1000\nby = "product"\ngroups = "found"\ndelta = "1e-9"\nprivacy_unit = "person"\nmax_groups = 2\n'
    )
    request.write_text(f'{asked}[statistics.total]\nstatistic = "sum"\ncolumn = "price"\nbounds = [0, 5]\n')
    answer = run("release", shop_file, request, "--json")
    assert answer.exit_code == 0, answer.output
    assert [one["group"] for one in json.loads(answer.output)["releases"]] == ["coffee", "tea"]
    request.write_text(request.read_text().replace('delta = "1e-9"\n', ""))
    refusal = run("release", shop_file, request)
    assert (refusal.exception.option, refusal.exception.reason) == ("delta", Reason.MISSING)


def test_a_person_alone_in_a_group_is_found_with_a_chance_of_at_most_delta(same_draws):
    """And hardly less often: the delta charged is that chance, for a person in one group."""
    table = {"product": ["rare"], "person": [1]}
    runs, plan = 1500, ss.plan_groups(1, "1/4")
    times = sum(len(ss.groups(table, "product", 1, "1/4", privacy_unit="person")) for _ in range(runs))
    spread = (runs * float(plan.delta * (1 - plan.delta))) ** 0.5
    assert abs(times - runs * float(plan.delta)) < 6.2 * spread
    assert Fraction(1, 10) < plan.delta <= Fraction(1, 4)
